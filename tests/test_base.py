"""A base install: analysis works, and what needs an extra says in one line which one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from coupled_arena.core import extras
from coupled_arena.core.errors import ArenaError, JudgeError
from tests.installed import COMMANDS, REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
# Modules that this finder does not find are not installed, for the program as for its libraries.
BLOCKED = """
import json, sys
from importlib.machinery import PathFinder

class Base(PathFinder):
    absent = set(json.loads(sys.argv[2]))

    @classmethod
    def find_spec(cls, name, *where):
        return None if name.partition(".")[0] in cls.absent else super().find_spec(name, *where)

sys.meta_path[:] = [Base if finder is PathFinder else finder for finder in sys.meta_path]
"""
NEED = {
    "arena": (
        *(("serve",), ("models",), ("models", "fetch", "SmolLM2-135M"), ("models", "check")),
        ("generate", "--prompts", "prompts.txt", "--models", "a,b"),
        ("benchmark", "--task", "quiz", "--models", "a,b"),
        *(("replay", "0123"), ("explain", "0123")),
    ),
    "judge": (("judge", "--judge", "ann", "--base-url", "http://127.0.0.1:1/v1"),),
    "datasets": (("export", "--out", "out", "--format", "flat", "--to-hub", "lab/votes"),),
}


def base():
    """Return the distributions that the base needs, with all that these need in turn."""
    found, waiting = set(), [Requirement(text) for text in PROJECT["dependencies"]]
    while waiting:
        name = canonicalize_name((need := waiting.pop()).name)
        if name in found or (need.marker and not need.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        waiting += [Requirement(text) for text in requires(name) or ()]
    return found


def blocked():
    """Return the modules that only extras, or tests, bring."""
    kept = base() | {"coupled-arena"}
    homes = packages_distributions()
    others = {
        module
        for module, names in homes.items()
        if module.isidentifier() and not kept & set(map(canonicalize_name, names))
    }
    return sorted(others - {"_distutils_hack", "coupled_arena"})


def commands(tree, words=()):
    """Yield the words of every command and group."""
    yield words
    for name, inner in getattr(tree, "commands", {}).items():
        yield from commands(inner, (*words, name))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a program, or several commands, without the packages of the extras."""
    folder, names = tmp_path_factory.mktemp("base"), json.dumps(blocked())

    def program(code, argument=""):
        ran = subprocess.run(
            [sys.executable, "-c", BLOCKED + code, argument, names],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def each(*given):
        return json.loads(program(COMMANDS, json.dumps(given)))

    program.each = each
    rows = "prompt,model,score\n" + "".join(
        f"{n},{model},{(n * 7 + place * 3) % 5}\n"
        for n in range(20)
        for place, model in enumerate("abc")
    )
    (folder / "scores.csv").write_text(rows)
    (folder / "votes.csv").write_text((REPOSITORY / "docs" / "votes.csv").read_text())
    return program


def test_what_is_blocked_is_what_extras_bring():
    assert {"torch", "gradio", "openai", "numba", "kaleido", "tqdm"} <= set(blocked())
    assert not {"numpy", "pandas", "typer", "rich", "jinja2"} & set(blocked())


def test_votes_become_a_ranking_and_a_figure(run):
    run(
        "import coupled_arena as ca, pandas as pd\n"
        "board = ca.rank(pd.read_csv('votes.csv'))\n"
        "assert len(board.to_frame()) == 5\n"
        "ca.plot(board, 'rank_sets').write_html('rank_sets.html')\n"
        "try: ca.load('SmolLM2-135M')\n"
        "except ca.ArenaError as error: assert 'coupled-arena[arena]' in str(error)\n"
    )


def test_every_command_has_its_help(run):
    from coupled_arena.cli.main import _command

    asked = [[*words, "--help"] for words in commands(_command())]
    assert len(asked) > 30
    for words, (code, out, error) in zip(asked, run.each(*asked), strict=True):
        assert (code, error) == (0, ""), words
        assert "Usage" in out


@pytest.mark.slow
def test_what_needs_no_model_works(run):
    db = ("--db", "arena.duckdb")
    asked = [
        ("leaderboard", "--scores", "scores.csv", "--json"),
        ("risk", "scores.csv", "--bootstraps", "50", "--json"),
        ("import", "votes.csv", *db),
        ("leaderboard", "--bradley-terry", "--json", *db),
        *(("audit", "--json", *db), ("plan", "aster", "--json", *db)),
        *(("agreement", "--json", *db), ("doctor", "--json", *db), ("voters", "--json", *db)),
        ("resample", "--repeats", "2", "--json", *db),
        ("simulate", "--models", "3", "--repeats", "2", "--json"),
        *(("report", "--out", "report", *db), ("export", "--out", "out", *db)),
        ("coupling", "--scores", str(REPOSITORY / "data" / "quiz_scores.csv"), "--json"),
        ("reproduce", "risk", "--list"),
    ]
    for words, (code, _, error) in zip(asked, run.each(*asked), strict=True):
        assert code == 0, (words, error)


def test_what_needs_an_extra_names_it_in_one_line(run):
    run.each(("import", "votes.csv", "--db", "arena.duckdb"))
    asked = [
        (extra, (*words, *(() if words[0] == "models" else ("--db", "arena.duckdb"))))
        for extra, each in NEED.items()
        for words in each
    ]
    found = run.each(*(words for _, words in asked))
    for (extra, words), (code, out, error) in zip(asked, found, strict=True):
        assert (code, out, error.count("\n")) == (1, "", 1), (words, error)
        assert error.endswith(f" needs more packages: pip install 'coupled-arena[{extra}]'.\n")


def test_extras_are_declared_once_more_by_their_modules():
    """The modules of an extra are imported under names that its packages have."""
    declared = PROJECT["optional-dependencies"]
    assert extras.MODULES.keys() == declared.keys()

    def packages(extra):
        for need in map(Requirement, declared[extra]):
            yield need.name.replace("-", "_")
            for inner in need.extras:
                yield from packages(inner)

    for extra, modules in extras.MODULES.items():
        assert set(modules) <= set(packages(extra)), extra


def test_a_missing_extra_is_an_error_of_the_kind_that_is_asked_for(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    with pytest.raises(JudgeError, match=r"^A judge needs more packages: pip install '.*'\.$"):
        extras.require("judge", "A judge", JudgeError)
    with pytest.raises(ArenaError):
        extras.require("arena", "The app")


def test_sentences_of_extras_are_written_in_one_place():
    package = REPOSITORY / "coupled_arena"
    told = {path.name for path in package.rglob("*.py") if "pip install '" in path.read_text()}
    assert told == {"extras.py"}
    for path in package.rglob("*.py"):
        for extra in re.findall(r"coupled-arena\[([\w-]+)\]", path.read_text()):
            assert extra in extras.MODULES
