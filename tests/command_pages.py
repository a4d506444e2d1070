"""The page of commands, `docs/cli.md`, and the table of results in `docs/python-api.md`.

    python -m tests.command_pages

What stands before the first command is written by hand; the commands are made here. So is the
table of the tables and figures of results.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import EnumType
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

import coupled_arena
from coupled_arena.cli.main import app
from coupled_arena.views.figures.registry import figures_of
from coupled_arena.views.tables.declared import TABLES
from tests.installed import REPOSITORY

PYTHON = REPOSITORY / "docs" / "python-api.md"
_OF_RESULTS = "| of | tables | figures for `ca.plot` |\n|---|---|---|\n"
_ALSO = {"leaderboard": "`leaderboard`, `rank`"}  # functions with the same results
_MORE = {"risk": "; one by the name of each metric"}  # tables that only data name
_ALONE = {"generate": "replies", "reproduce": "items"}  # their one table, of results without JSON
PAGE = REPOSITORY / "docs" / "cli.md"
OF_MANY_COMMANDS = {"--config", "--preset", "--db", "--json"}
_FIRST = "\n## serve\n"


def all_commands(command: Any = None, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its full name, the program's own aside."""
    command = command or get_command(app)
    if name:
        yield name, command
    for part, inner in getattr(command, "commands", {}).items():
        yield from all_commands(inner, f"{name} {part}".strip())


def page() -> str:
    """Return the page, with all commands as they are now."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(_FIRST)
    told = dict(all_commands())
    ordered = {"serve": told.pop("serve"), **told}
    return head + "".join(f"\n{section(name, each)}" for name, each in ordered.items())


def section(name: str, command: Any) -> str:
    """Return what the page says of a command."""
    parts = [f"## {name}", (command.help or "").strip()]
    rows = [row(each) for each in command.params if each.opts[0] not in OF_MANY_COMMANDS]
    if rows:
        parts.append("\n".join(["| option | default | meaning |", "|---|---|---|", *rows]))
    shared = [each.opts[0] for each in command.params if each.opts[0] in OF_MANY_COMMANDS]
    if shared:
        parts.append(f"Also: {', '.join(f'`{each}`' for each in shared)}.")
    return "\n\n".join(parts) + "\n"


def row(option: Any) -> str:
    """Return the line of an option."""
    argument = option.param_type_name == "argument"
    names = [option.metavar or option.name.upper()] if argument else option.opts
    taken = option.metavar if option.metavar and not argument else ""
    names = [f"{names[0]} {taken}".strip(), *names[1:], *option.secondary_opts]
    meaning = " ".join([(option.help or "").strip(), *choices(option)])
    return f"| {', '.join(f'`{each}`' for each in names)} | {default(option)} | {meaning} |"


def default(option: Any) -> str:
    """Return what an option is where it is not given."""
    if option.required:
        return "required"
    if isinstance(option.show_default, str):
        return option.show_default
    if option.default is None or option.default is False or option.default == "":
        return ""
    value = getattr(option.default, "value", option.default)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def choices(option: Any) -> list[str]:
    """Return the words that an option may have, where they are few."""
    kind = option.type_descriptor.annotation
    words = get_args(kind) if get_origin(kind) is Literal else ()
    words = [each.value for each in kind] if isinstance(kind, EnumType) else words
    return [", ".join(f"`{each}`" for each in words)] if words else []


def python_page() -> str:
    """Return the page of the Python API, with the table of tables and figures as they are now."""
    head, _, tail = PYTHON.read_text(encoding="utf-8").partition(_OF_RESULTS)
    _, _, tail = tail.partition("\n\n")
    found = [_of_result(name) for name in TABLES if name in coupled_arena.__all__]
    found += [f"| `{name}` | `{table}` | none |" for name, table in _ALONE.items()]
    return head + _OF_RESULTS + "\n".join(found) + "\n\n" + tail


def _of_result(name: str) -> str:
    tables = [each for each, table in TABLES[name].items() if table.framed]
    figures = [each.name for each in figures_of(name)]
    parts = [", ".join(f"`{each}`" for each in names) or "none" for names in (tables, figures)]
    return f"| {_ALSO.get(name, f'`{name}`')} | {parts[0]}{_MORE.get(name, '')} | {parts[1]} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    PYTHON.write_text(python_page(), encoding="utf-8")
