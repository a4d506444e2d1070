"""The command that tells whether two servers share noise."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from coupled_arena.cli.shared import Json, show
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.extras import require

if TYPE_CHECKING:
    from coupled_arena.generation.server_check import CheckedServer, ServerCheck

_Url = Annotated[
    str, typer.Argument(metavar="URL", help="Address of a server, such as http://gpu-1:8000.")
]
AMBIENT = "coupled_arena.generation.vllm_plugin:AmbientNoise"


def server_check(
    first: _Url,
    second: _Url,
    prompt: Annotated[
        str | None,
        typer.Option(help="Text that both continue.", show_default="the beginning of a tale"),
    ] = None,
    seeds: Annotated[int, typer.Option(min=4, max=1000, help="Number of answers of each.")] = 16,
    tokens: Annotated[int, typer.Option(min=1, max=1000, help="Length of an answer.")] = 16,
    key_variable: Annotated[
        list[str] | None,
        typer.Option(
            help="Environment variable with the server's --api-key: once for both, or twice."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check whether two vLLM servers draw from one noise, by their own draws.

    Both continue one prompt with several seeds. The log-probabilities that they tell, with the
    noise, give the token that must come. The exit code is 1 where the servers do not share noise.
    [How to start such servers](any-client.md)
    """
    require("server", "A server's answer")
    keys = _keys(key_variable or [])
    from coupled_arena.generation.server_check import PROMPT, check_servers

    found = check_servers(
        (first, second), keys, prompt=prompt or PROMPT, seeds=seeds, tokens=tokens
    )
    show({"shared": found.shared, **asdict(found)}, as_json, lambda: _text(found))
    if not found.shared:
        raise typer.Exit(1)


def _keys(variables: list[str]) -> list[str]:
    """Return the keys of both servers."""
    if len(variables) > 2:
        raise typer.BadParameter("--key-variable is given once for both servers, or twice.")
    missing = [name for name in variables if not os.environ.get(name)]
    if missing:
        raise ArenaError(f"The variable {missing[0]} holds no key.")
    keys = [os.environ[name] for name in variables] or [""]
    return [keys[0], keys[-1]]


def _text(found: ServerCheck) -> str:
    lines = [_line(server) for server in found.servers]
    pairs = found.seeds * (found.seeds - 1)
    lines.append(
        f"The same answers: {found.same} of {found.seeds} with one seed, {found.same_otherwise} of "
        f"{pairs} with different seeds (p = {found.p_value:.2g} that seeds play no part)."
    )
    lines.append(
        "The servers share noise." if found.shared else "The servers do not share this noise."
    )
    return "\n".join(lines)


def _line(server: CheckedServer) -> str:
    version = f", vLLM {server.version}" if server.version else ""
    weights = f", weights {server.weights}" if server.weights else ""
    return f"{server.url}: {server.model}{version}{weights}\n  {_finding(server)}"


def _finding(server: CheckedServer) -> str:
    if not server.tokens:
        return (
            "tells no log-probabilities: only its answers are compared. Start it with "
            "--max-logprobs 20 or more"
        )
    counts = f"{server.as_noise:,} of {server.tokens:,} draws are those of the noise"
    if server.proven:
        return f"{counts} (other noise: chance {server.chance:.0e})"
    if server.noise == "own requests":
        return f"{counts}: it couples only the arena's requests. Start it with {AMBIENT}"
    return f"{counts}. Start it with --logits-processors {AMBIENT}"
