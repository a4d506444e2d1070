"""Command lines in the documents are understood; the page of commands tells every option."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from typer.exceptions import TyperException
from typer.main import get_command

from coupled_arena.cli.main import app
from tests import command_pages
from tests.docs.pages import TEXTS, blocks, prose, sections

COMMANDS = "docs/cli.md"
program = cache(lambda: get_command(app))


def commands():
    """Yield the words of every command line, in blocks and within sentences."""
    for page, text in TEXTS.items():
        for block in blocks(text, "bash"):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("coupled-arena "):
                    yield page, shlex.split(line, comments=True)[1:]
        for line in re.findall(r"`coupled-arena\s([a-z][^`]*)`", prose(text)):
            words = shlex.split(line)
            if len(words) > 1 or words[0] not in program().commands:  # else only its name
                yield page, words


def command_of(words):
    """Return the command that some words name, and the words after it."""
    command = program()
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


def test_the_page_is_what_the_program_tells():
    told = "docs/cli.md is not what the program tells: run python -m tests.command_pages"
    assert TEXTS[COMMANDS] == command_pages.page(), told


def test_options_of_many_commands_are_told():
    told = sections(TEXTS[COMMANDS])["Options of many commands"]
    assert set(re.findall(r"^\| `(--[a-z]+)`", told, re.MULTILINE)) == {
        *command_pages.OF_MANY_COMMANDS,
        "--help",
    }


def test_help_has_no_links(call):
    _, out, _ = call("battles", "--help")
    assert "address of the page" in " ".join(out.replace("│", " ").split())
    assert "battles.md" not in out
