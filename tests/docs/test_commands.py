"""Command lines in the documents are understood; the page of commands tells every option."""

from __future__ import annotations

import enum
import re
import shlex
import typing
from pathlib import Path

import pytest
from typer.exceptions import TyperException
from typer.main import get_command

from coupled_arena.cli.main import app
from tests.docs.pages import TEXTS, blocks, prose, sections

COMMANDS = "docs/cli.md"
OF_MANY_COMMANDS = {"--config", "--preset", "--db", "--json"}


def commands():
    """Yield the words of every command line, in blocks and within sentences."""
    for page, text in TEXTS.items():
        for block in blocks(text, "bash"):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("coupled-arena "):
                    yield page, shlex.split(line, comments=True)[1:]
        for line in re.findall(r"`coupled-arena\s([a-z][^`]*)`", prose(text)):
            words = shlex.split(line)
            if len(words) > 1 or words[0] not in get_command(app).commands:  # else only its name
                yield page, words


def command_of(words):
    """Return the command that some words name, and the words after it."""
    command = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    if hasattr(command, "commands") and words and not words[0].startswith("-"):
        raise ValueError(f"there is no command {words[0]}")
    return command, list(words)


def parse(words):
    """Read a command line as the program does, without doing what it says."""
    command, rest = command_of(words)
    command.make_context(command.name, rest)


@pytest.mark.parametrize(
    ("page", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_commands_are_understood(page, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("experiment.toml").write_text('task = "quiz"\nmodels = ["A", "B"]\n')
    parse(command)


@pytest.mark.parametrize(
    "command",
    ["exprot --out x", "models fetsh x", "export --out x --formt csv", "export", "judge --swap up"],
)
def test_a_wrong_command_would_be_noticed(command):
    with pytest.raises((ValueError, TyperException)):
        parse(command.split())


# The page of commands, against the program.


def all_commands(command=None, name=""):
    """Yield every command with its full name, the program's own aside."""
    command = command or get_command(app)
    if name:
        yield name, command
    for part, inner in getattr(command, "commands", {}).items():
        yield from all_commands(inner, f"{name} {part}".strip())


def choices(option):
    """Return the words that an option may have, where they are few."""
    kind = option.type_descriptor.annotation
    if isinstance(kind, enum.EnumType):
        return [member.value for member in kind]
    return list(typing.get_args(kind)) if typing.get_origin(kind) is typing.Literal else []


def documented_options(section):
    """Return the rows of a command's table by the first name of an option."""
    rows = re.findall(r"^\| (`[^|]+`) \| ([^|]*) \| (.*) \|$", section, flags=re.MULTILINE)
    return {re.findall(r"`([^`]+)`", names)[0]: (names, *rest) for names, *rest in rows}


def test_every_command_has_its_section():
    told = sections(TEXTS[COMMANDS]).keys() - {"Options of many commands"}
    assert told == {name for name, _ in all_commands()}


@pytest.mark.parametrize(("name", "command"), list(all_commands()), ids=lambda v: str(v)[:20])
def test_every_option_is_told(name, command):
    section = sections(TEXTS[COMMANDS])[name]
    rows = documented_options(section)
    shared = set(re.findall(r"`(--[a-z]+)`", section.rpartition("Also:")[2]))
    there, common = {}, set()
    for option in command.params:
        if option.param_type_name == "argument":
            there[option.metavar or option.name.upper()] = option
        elif option.opts[0] in OF_MANY_COMMANDS:
            common.add(option.opts[0])
        else:
            there[option.opts[0]] = option
    assert (rows.keys(), shared) == (there.keys(), common)
    for first, option in there.items():
        names, default, meaning = rows[first]
        assert re.findall(r"`([^`]+)`", names)[1:] == [*option.opts[1:], *option.secondary_opts]
        assert (default == "required") == option.required
        assert not (missing := [word for word in choices(option) if f"`{word}`" not in meaning]), (
            missing
        )
        if option.default not in (None, False):
            value = getattr(option.default, "value", option.default)
            assert default == f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def test_options_of_many_commands_are_told():
    told = sections(TEXTS[COMMANDS])["Options of many commands"]
    assert set(re.findall(r"^\| `(--[a-z]+)`", told, re.MULTILINE)) == OF_MANY_COMMANDS | {"--help"}
