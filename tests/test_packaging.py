"""What the package says of itself: its version, and what it needs of others."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from coupled_arena import __version__

REPOSITORY = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
CORE = [Requirement(text) for text in PROJECT["dependencies"]]
PARTS = [Requirement(text) for part in PROJECT["optional-dependencies"].values() for text in part]
EXTRAS = list({need.name: need for need in PARTS if need.name != PROJECT["name"]}.values())


def pins():
    lines = (REPOSITORY / "requirements.txt").read_text().splitlines()
    stated = [line.partition("#")[0].strip() for line in lines]
    return dict(line.split("==") for line in stated if line)


def imported():
    """Return other people's packages by the name they are imported under."""
    names = set()
    for path in (REPOSITORY / "coupled_arena").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"coupled_arena"}


def test_the_changelog_begins_with_this_version():
    text = (REPOSITORY / "CHANGELOG.md").read_text()
    newest, *_ = re.findall(r"^## \[(.+)\] - \d{4}-\d\d-\d\d$", text, flags=re.MULTILINE)
    assert newest == __version__


def test_all_that_is_imported_is_declared():
    declared = {each.name.replace("-", "_") for each in (*CORE, *EXTRAS)}
    # Modules that vLLM and lm_eval load by themselves; vLLM brings Triton along.
    assert imported() - declared == {"vllm", "triton", "lm_eval"}


@pytest.mark.parametrize("need", [*CORE, *EXTRAS], ids=lambda need: need.name)
def test_what_is_tested_is_accepted_and_nothing_older(need):
    tested = pins()[need.name]
    assert tested in need.specifier
    (least,) = (each for each in need.specifier if each.operator in (">=", "~="))
    assert tested.startswith(least.version)


def test_others_are_not_pinned():
    """Whoever has a version a little newer for another package keeps it."""
    assert not [need for need in (*CORE, *EXTRAS) if "==" in str(need)]


def test_every_tested_version_is_of_something_declared():
    assert pins().keys() == {need.name for need in (*CORE, *EXTRAS)}
