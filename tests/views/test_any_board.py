"""Whatever people voted, every face of the leaderboard ends with a board or one sentence."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coupled_arena as ca
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.core.choices import Covariance, Cutoff
from coupled_arena.stats.counts import PairCounts
from coupled_arena.views.figures.leaderboard import pair_heatmap, rank_figure, win_rate_figure
from coupled_arena.views.tables.leaderboard import board_answer, board_text
from coupled_arena.views.words.leaderboard import board_warnings
from coupled_arena.views.words.verdict import board_verdict
from tests.families import first_of
from tests.views.test_verdicts import NAMES, board_of, duels

# Few, as pairs begin; or many, as perfect records of long campaigns have them.
VOTES = st.sampled_from([0, 1, 2, 5, 40, 1000])
LEVELS = st.sampled_from([0.001, 0.05, 0.5])


@st.composite
def rows(draw):
    models = draw(st.integers(2, 6))
    outcomes = [
        (a, b, outcome, times)
        for a, b in combinations(NAMES[:models], 2)
        for outcome in ("first", "second", "tie")
        if (times := draw(VOTES))
    ]
    return outcomes or [(NAMES[0], NAMES[1], "tie", 1)]


def show(board):
    """Go through all that the page, the terminal and JSON tell of a board; return its sentence."""
    for table in (board_text(board), *board_warnings(board)):
        assert table.strip()
    answer = json.loads(json.dumps(board_answer(board)))
    for figure in (win_rate_figure, rank_figure, pair_heatmap):
        figure(board).to_json()
    places = [row.place for row in board.standings if row.place]
    for place in places:
        assert math.isfinite(place.win_rate)
        assert 1 <= place.rank_low <= place.rank_high <= len(places)
    said = board_verdict(board)
    assert said == answer["verdict"]
    return said


@given(rows(), st.sampled_from(Cutoff), st.sampled_from(Covariance), LEVELS)
@settings(max_examples=20)
def test_any_counts(found, cutoff, covariance, alpha):
    board = board_of(found, cutoff=cutoff, covariance=covariance, alpha=alpha)
    said = show(board)
    assert said.endswith(".")
    assert "\n" not in said
    assert "nan" not in said


@pytest.mark.parametrize("cutoff", Cutoff)
@pytest.mark.parametrize("won", first_of(1, 1000, 5, 20, keep=2))
@pytest.mark.parametrize("models", first_of(2, 3, 6, 4, keep=3))
def test_every_pair_wholly_won(models, won, cutoff):
    pairs = combinations(NAMES[:models], 2)
    show(board_of(duels(*((a, b, won, 0) for a, b in pairs)), cutoff=cutoff))


@pytest.mark.parametrize("cutoff", ["max-t", "step-down", "any-time", "bonferroni", "chi2"])
def test_three_perfect_records_from_python(cutoff):
    votes = pd.DataFrame(
        [(a, b, "model_a") for a, b in combinations(NAMES[:3], 2) for _ in range(20)],
        columns=["model_a", "model_b", "winner"],
    )
    board = ca.rank(votes, cutoff=cutoff)
    assert board.to_dict()["verdict"].endswith(".")
    assert list(board.to_frame()["model"]) == list(NAMES[:3])


def test_the_figure_counts_votes_as_the_table_does():
    """Identical replies are no votes: the figure adds them, and says so."""
    rows = duels(("ant", "bee", 5, 3), ("ant", "cow", 2, 2), ("bee", "cow", 4, 1))
    found = board_of([*rows, ("ant", "bee", "tie", 1)])
    votes, others = found.estimates.votes, PairCounts.from_rows(rows)
    tie = PairCounts(votes.models, votes.counts - others.counts)
    same = replace(found.estimates, identical=tie)
    board = leaderboard(same, alpha=0.05)
    table = {row["model"]: row["human_votes"] for row in board_answer(board)["models"]}
    shown = win_rate_figure(board).to_json()
    for model, more in (("ant", " + 1"), ("bee", " + 1"), ("cow", "")):
        assert f"n = {table[model]}{more}\\u003c" in shown
    assert "n: votes + identical replies" in shown
    assert "identical replies" not in win_rate_figure(found).layout.title.subtitle.text
