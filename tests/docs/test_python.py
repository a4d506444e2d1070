"""Python in the documents runs, and its page tells what there is."""

from __future__ import annotations

import ast
import importlib
import random
import re

import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.api.figures import drawings_of
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing import import_files
from tests.command_pages import python_page
from tests.docs.pages import README, REPOSITORY, TEXTS, blocks, sections

PYTHON = [(page, code) for page, text in TEXTS.items() for code in blocks(text, "python")]
NEEDS_MODELS = "ca.load("


def used(tree):
    """Yield the modules that code imports, and the names that it takes from them."""
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                aliases[each.asname or each.name] = each.name
                yield each.name, None
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module, each.name) for each in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            module = aliases.get(getattr(node.value, "id", None))
            if module:
                yield module, node.attr


@pytest.mark.parametrize(("page", "code"), PYTHON, ids=[page for page, _ in PYTHON])
def test_python_names_what_is_there(page, code):
    for module, name in used(ast.parse(code)):
        there = importlib.import_module(module)
        assert name is None or hasattr(there, name), f"{module} has no {name}"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with what the examples read: votes, scores, a database with a judge's verdicts."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "data").symlink_to(REPOSITORY / "data")
    draw = random.Random(1)
    rows = [
        {
            "num": number,
            "model_a": (pair := draw.sample(["ann", "bob", "cas"], 2))[0],
            "model_b": pair[1],
            "winner": draw.choice(["model_a", "model_b", "tie"]),
            "mode": draw.choice(["coupled", "independent"]),
            "seed": f"{number:016x}",
        }
        for number in range(300)
    ]
    votes = pd.DataFrame(rows)
    votes.to_csv(folder / "votes.csv", index=False)
    votes.assign(winner=votes.winner.sample(frac=1, random_state=1).to_numpy()).to_csv(
        folder / "verdicts.csv", index=False
    )
    with Store.open(folder / "arena.duckdb") as store:
        for file, judge in (("votes", None), ("verdicts", "gpt-4")):
            done = import_files(store, [folder / f"{file}.csv"], judge=judge)
            assert not done.rejected
    replies = [(model, prompt, draw.random()) for model in "abc" for prompt in range(60)]
    table = pd.DataFrame(replies, columns=["model", "prompt", "toxicity"])
    table.to_csv(folder / "scores.csv", index=False)
    return folder


@pytest.mark.parametrize(
    "code",
    [code for _, code in PYTHON if NEEDS_MODELS not in code],
    ids=[page for page, code in PYTHON if NEEDS_MODELS not in code],
)
def test_python_runs(code, desk, monkeypatch):
    monkeypatch.chdir(desk)
    exec(code.replace(".show()", ""), {})  # a figure that is shown opens a browser


def test_tables_and_figures_of_results_are_told(desk):
    store = ca.open(desk / "arena.duckdb")
    board = ca.leaderboard(store, judge="gpt-4", bradley_terry=True)
    scores = pd.read_csv(desk / "data" / "quiz_scores.csv")
    results = {
        "leaderboard": board,
        "audit": ca.audit(store, judge="gpt-4"),
        "coupling": ca.coupling(scores),
        "gate": ca.gate("SmolLM2-135M", "SmolLM2-135M-bnb-8bit", scores),
        "risk": ca.risk(pd.read_csv(desk / "scores.csv"), lower_is_better=["toxicity"]),
        "voters": ca.voters(store),
        "plan": ca.plan(store, "bob", judge="gpt-4"),
        "resample": ca.resample(store, judge="gpt-4", repeats=2),
        "simulate": ca.simulate(human=[100], repeats=2),
    }
    told = sections(TEXTS["docs/python-api.md"])["Results"]
    rows = re.findall(r"^\| `(\w+)`[^|]*\| ([^|]*) \| ([^|]*) \|$", told, re.MULTILINE)
    assert {name for name, *_ in rows} == {
        *results,
        "generate",
        "closeness",
        "agreement",
        "reproduce",
    }
    for name, tables, figures in rows:
        if name in results:
            there = set(results[name].tables) - {"toxicity"}
            assert there <= set(re.findall(r"`(\w+)`", tables))
            drawn = {each.name for each in drawings_of(results[name])}
            assert drawn <= set(re.findall(r"`(\w+)`", figures))
    assert python_page() == TEXTS["docs/python-api.md"], "run python -m tests.command_pages"


def test_every_call_is_told():
    told = set(re.findall(r"`ca\.(\w+)", TEXTS["docs/python-api.md"]))
    functions = {name for name in dir(ca) if name[0].islower()}
    assert functions <= told <= set(dir(ca))


def test_votes_become_rank_sets_in_five_lines(desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    code = blocks(README, "python")[0]
    assert len(code.split("\n\n")[0].splitlines() + code.split("\n\n")[1].splitlines()) == 5
    exec(code, {})
    printed = capsys.readouterr().out
    assert "rank_low" in printed
    assert all(model in printed for model in ("ann", "bob", "cas"))
