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
    """Check whether two servers of vLLM or SGLang draw from one noise, by their own draws.

    Both continue one prompt with several seeds. The log-probabilities that they tell, with the
    arena's noise, give the token that must come. Servers without the plugin may share noise of
    their own: their answers with one seed are then more alike than answers with two. The exit code
    is 1 where the servers do not share noise.
    [How to start such servers](any-client.md)
    """
    require("server", "A server's answer")
    keys = _keys(key_variable or [])
    from coupled_arena.generation.server_check import PROMPT, check_servers

    found = check_servers(
        (first, second), keys, prompt=prompt or PROMPT, seeds=seeds, tokens=tokens
    )
    answer = {"shared": found.shared, "noise_of": found.noise_of, **asdict(found)}
    show(answer, as_json, lambda: _text(found))
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
    lines = [_line(server, own=found.noise_of == "servers") for server in found.servers]
    pairs = found.seeds * (found.seeds - 1)
    lines.append(
        f"The same answers: {found.same} of {found.seeds} with one seed, {found.same_otherwise} of "
        f"{pairs} with different seeds (p = {found.p_value:.2g} that seeds play no part)."
    )
    lines.append(_verdict(found))
    return "\n".join(lines)


def _verdict(found: ServerCheck) -> str:
    if not found.shared:
        return _not_shared(found)
    if found.noise_of != "servers":
        return "The servers share noise."
    return (
        "The servers share noise of their own, by seed: requests to both with one seed are "
        "coupled.\n"
        "  It needs a seed in each request, one vocabulary, and prompts of the same number of "
        "tokens; it needs no plugin.\n"
        "  It is not the arena's noise: replay cannot check it, and models in the arena's process "
        "are not coupled with these."
    )


def _not_shared(found: ServerCheck) -> str:
    from coupled_arena.generation.server_check import FEWEST

    if all(server.tokens and not server.draws_otherwise for server in found.servers):
        return "It is not proven that the servers share noise. More --seeds and --tokens may do."
    if found.seedless:
        return (
            "Nothing shows that the servers share noise: most answers are the same with any seed. "
            "Take a --prompt that may go on in many ways; if that changes nothing, they ignore "
            "seeds."
        )
    own = all(server.draws_otherwise or not server.tokens for server in found.servers)
    if own and found.seeds < FEWEST:
        return (
            "The servers do not share the arena's noise. Whether they share noise of their own, "
            f"only {FEWEST} or more --seeds can show."
        )
    return "The servers do not share noise."


def _line(server: CheckedServer, *, own: bool) -> str:
    version = f", vLLM {server.version}" if server.version else ""
    weights = f", weights {server.weights}" if server.weights else ""
    return f"{server.url}: {server.model}{version}{weights}\n  {_finding(server, own=own)}"


def _finding(server: CheckedServer, *, own: bool) -> str:
    if not server.tokens:
        return (
            "tells no log-probabilities: only its answers are compared. Start it with "
            "--max-logprobs 20 or more"
        )
    counts = f"{server.as_noise:,} of {server.tokens:,} draws are those of the arena's noise"
    if server.proven:
        return f"{counts} (other noise: chance {server.chance:.0e})"
    if server.noise == "many draws":
        return f"{counts}: more than chance gives, but not all, so nothing is proven"
    if own:
        return counts
    from coupled_arena.generation.served_draw import option

    only = ": it couples only the arena's requests" if server.noise == "own requests" else ""
    return f"{counts}{only}. Start it with {option('AmbientNoise')}"
