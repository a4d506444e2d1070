from __future__ import annotations

import numpy as np
import pytest

from coupled_arena.stats.counts import OUTCOMES, PairCounts

ROWS = [
    ("A", "B", "first", 6),
    ("A", "B", "second", 2),
    ("A", "B", "tie", 2),
    ("B", "A", "first", 1),
    ("B", "A", "second", 3),
    ("B", "A", "both_bad", 1),
    ("C", "B", "tie", 4),
    ("C", "C", "first", 9),
]


def test_rows_become_counts():
    counts = PairCounts.from_rows(ROWS)
    assert counts.models == ("A", "B", "C")
    assert OUTCOMES == ("first", "second", "tie", "both_bad")
    assert counts.counts[0, 1].tolist() == [6, 2, 2, 0]
    assert counts.counts[1, 0].tolist() == [1, 3, 0, 1]
    assert counts.counts.sum() == sum(row[-1] for row in ROWS)


def test_merging_forgets_the_order_and_a_model_against_itself():
    counts = PairCounts.from_rows(ROWS)
    assert counts.wins.tolist() == [[0, 9, 0], [3, 0, 0], [0, 0, 0]]
    assert counts.ties.tolist() == [[0, 2, 0], [2, 0, 4], [0, 4, 0]]
    assert counts.both_bad.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert counts.comparisons.tolist() == [[0, 15, 0], [15, 0, 4], [0, 4, 0]]


def test_models_may_be_given_in_another_order_and_without_votes():
    counts = PairCounts.from_rows(ROWS, ["D", "C", "B", "A"])
    assert counts.models == ("D", "C", "B", "A")
    assert counts.wins[3, 2] == 9
    assert not counts.comparisons[0].any()


def test_repeated_rows_are_added():
    assert PairCounts.from_rows(ROWS + ROWS).wins[0, 1] == 18


def test_counts_of_the_same_models_can_be_added():
    counts = PairCounts.from_rows(ROWS)
    assert (counts + counts).wins[0, 1] == 18
    with pytest.raises(ValueError, match="same models"):
        _ = counts + PairCounts.from_rows(ROWS, "CBA")


def test_counts_cannot_be_changed_from_outside():
    mine = np.zeros((2, 2, 4), dtype=np.int64)
    counts = PairCounts(("A", "B"), mine)
    mine[0, 1, 0] = 7
    assert not counts.counts.any()
    with pytest.raises(ValueError, match="read-only"):
        counts.counts[0, 1, 0] = 7


def test_no_votes_at_all():
    counts = PairCounts.from_rows([])
    assert counts.models == ()
    assert counts.comparisons.shape == (0, 0)


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([("A", "B", "draw", 1)], "draw"),
        ([("A", "B", "tie", -1)], "negative"),
    ],
)
def test_bad_rows_are_refused(rows, error):
    with pytest.raises(ValueError, match=error):
        PairCounts.from_rows(rows)


@pytest.mark.parametrize(
    ("models", "counts", "error"),
    [
        (("A", "A"), np.zeros((2, 2, 4), int), ValueError),
        (("A", "B"), np.zeros((3, 3, 4), int), ValueError),
        (("A", "B"), np.zeros((2, 2, 3), int), ValueError),
        (("A", "B"), np.full((2, 2, 4), 0.5), TypeError),
    ],
)
def test_bad_arrays_are_refused(models, counts, error):
    with pytest.raises(error):
        PairCounts(models, counts)
