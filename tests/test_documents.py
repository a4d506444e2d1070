"""The README stays true: its commands, its settings, its tree."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.exceptions import TyperException
from typer.main import get_command

from coupled_arena.cli.main import app
from coupled_arena.core.settings import load_settings

REPOSITORY = Path(__file__).resolve().parents[1]
README = (REPOSITORY / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands():
    """Yield the words of every command line, in blocks and within sentences."""
    for block in blocks("bash"):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("coupled-arena "):
                yield shlex.split(line, comments=True)[1:]
    prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    for line in re.findall(r"`coupled-arena\s([^`]+)`", prose):
        yield shlex.split(line)


def parse(words):
    """Read a command line as the program does, without doing what it says."""
    command = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    if hasattr(command, "commands") and words:
        raise ValueError(f"there is no command {words[0]}")
    command.make_context(command.name, list(words))


def test_the_checks_of_every_change_are_the_command_of_the_readme():
    start, test = blocks("bash")[:2]
    tested = '-c requirements.txt -e ".[judge]"'
    assert start.strip().endswith(f".venv/bin/pip install {tested} && .venv/bin/python app.py")
    assert test.strip() in (REPOSITORY / ".ci" / "run").read_text()


@pytest.mark.parametrize("command", list(commands()), ids=" ".join)
def test_commands_are_understood(command, tmp_path, monkeypatch):
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


def test_the_example_configuration_is_right(tmp_path):
    judge, example = blocks("toml")
    path = tmp_path / "arena.toml"
    path.write_text(judge)
    assert load_settings(path).judge.name == "gpt"
    path.write_text(example)
    catalog = load_settings(path).catalog
    assert catalog.problems == ()
    assert [spec.name for spec in catalog.models] == [
        model["name"] for model in tomllib.loads(example)["models"]
    ]


def test_the_tree_names_what_is_there():
    tree = README.split("## The tree")[1].split("```")[1]
    folders: list[str] = []
    for line in filter(str.strip, tree.splitlines()):
        depth = (len(line) - len(line.lstrip())) // 2
        names = re.split(r" {2,}", line.strip())[0].split(", ")
        for name in names:
            assert (REPOSITORY / "/".join([*folders[:depth], name])).exists(), name
        folders[depth:] = [names[0].rstrip("/")]


def test_pictures_are_there():
    for path in re.findall(r"!\[[^]]*\]\(([^)]+)\)", README):
        assert (REPOSITORY / path).is_file()


def test_the_front_matter_is_what_spaces_read():
    front = yaml.safe_load(README.split("---")[1])
    assert (front["sdk"], front["app_port"]) == ("docker", 7860)
    assert (REPOSITORY / "Dockerfile").is_file()
