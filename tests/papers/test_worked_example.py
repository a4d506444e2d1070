"""The first paper's worked example: three models, two prompts, and a ranking that flips."""

from __future__ import annotations

import json

import numpy as np
import pytest

from coupled_arena.papers.coupled_generation.example import win_rates
from coupled_arena.papers.item import beside_published
from coupled_arena.papers.making import item_of, paper_of
from coupled_arena.papers.source import PaperSettings, PaperSource

ITEM = item_of(paper_of("coupled-generation"), "worked-example")
INDEPENDENT, COUPLED = (0.1545, 0.15675, 0.16225), (0.0525, 0.0225, 0.03)


def no_store():
    raise AssertionError("It needs no data.")


def made(**chosen):
    return ITEM.make(PaperSource(PaperSettings(**chosen), no_store, has_store=False))


def test_the_closed_form_has_the_papers_digits():
    found = {row["model"]: row for row in made(repeats=10).tables["win-rates"].records()}
    assert [row["independent"] for row in found.values()] == pytest.approx(INDEPENDENT, abs=1e-12)
    assert [row["coupled"] for row in found.values()] == pytest.approx(COUPLED, abs=1e-12)
    assert [row["rank_independent"] for row in found.values()] == [3, 2, 1]
    assert [row["rank_coupled"] for row in found.values()] == [1, 3, 2]


def test_each_number_stands_beside_the_published_one():
    rows = beside_published((ITEM,), made(repeats=10))
    assert len(rows) == 6
    assert all(abs(row.difference) < 1e-12 for row in rows)


def test_answers_that_are_drawn_win_as_often():
    """Another route: tokens by Gumbel-max, whose noise is shared or not."""
    repeats = 20_000
    rows = made(repeats=repeats).tables["win-rates"].records()
    for mode, wanted in (("independent", INDEPENDENT), ("coupled", COUPLED)):
        for row, rate in zip(rows, wanted, strict=True):
            # The mean of two opponents on two prompts varies less than one answer's.
            error = np.sqrt(rate * (1 - rate) / repeats)
            assert abs(row[f"{mode}_drawn"] - rate) < 4 * error


def test_draws_depend_on_the_seed_alone():
    one, again, other = (
        made(repeats=50, seed=seed).tables["win-rates"].records() for seed in (1, 1, 2)
    )
    assert one == again != other


def test_it_is_made_without_any_data(call, tmp_path):
    code, text, err = call(
        *("reproduce", "coupled-generation", "worked-example", "--db", tmp_path / "none.duckdb"),
        *("--figures", "html", "--out", tmp_path / "out", "--repeats", 50, "--json"),
    )
    assert code == 0, err
    answer = json.loads(text)
    assert answer["needs"] == "nothing: it is simulated"
    assert len(answer["tables"]["win-rates"]) == 3


def test_shares_of_two_answers_are_probabilities():
    with pytest.raises(ValueError, match="between 0 and 1"):
        win_rates(np.array([[0.5, 1.2]]), coupled=True)
