"""A gate at one look: the test at the end, Holm's steps, and what is exact where nothing flips."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.stats.gate import fixed
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.stats.gate.fixed import Sample
from tests.analysis.test_gate import table


def test_the_order_does_not_matter_at_one_look():
    frame, base, other = table()
    one, two = (ca.gate("base", "cand", frame, look="once", seed=seed) for seed in (1, 2))
    assert one.to_dict()["candidates"] == two.to_dict()["candidates"]
    (row,) = one.analysis.candidates
    counted = Sample(other - base, binary=True)
    assert (row.low, row.high) == fixed.bounds(counted, 0.05)
    assert row.method == "tango"
    assert one.analysis.candidates[0].closing is None


def test_without_a_flip_the_bound_is_exact_and_says_when_it_is_enough():
    frame, *_ = table(n=149, lost=0, gained=0)
    found = ca.gate("base", "cand", frame, look="once", margin=0.02)
    assert found.analysis.candidates[0].low == pytest.approx(0.05 ** (1 / 149) - 1)
    assert found.analysis.candidates[0].verdict == Verdict.AS_GOOD  # .98^149 = .049
    fewer, *_ = table(n=147, lost=0, gained=0)
    few = ca.gate("base", "cand", fewer, look="once", margin=0.02)
    assert few.analysis.candidates[0].verdict == Verdict.UNKNOWN


def test_where_nothing_flips_one_look_says_how_many_more_it_takes():
    frame, *_ = table(n=60, lost=0, gained=0)
    (row,) = ca.gate("base", "cand", frame, look="once", margin=0.02).analysis.candidates
    assert row.further == 149 - 60


@pytest.mark.parametrize(
    ("flips", "expected"),
    [
        ({"same": 0, "few": 2}, {"same": Verdict.AS_GOOD, "few": Verdict.AS_GOOD}),
        ({"few": 2, "many": 30}, {"few": Verdict.UNKNOWN, "many": Verdict.UNKNOWN}),
    ],
    ids=["the other is surer", "the other is not sure"],
)
def test_one_look_at_several_candidates_takes_holms_steps(flips, expected):
    """At .05: of two the surer one must be under .025, and then .05 is enough for the other."""
    rows = [{"model": "base", "prompt": n, "acc": n % 2} for n in range(160)]
    for name, turned in flips.items():
        scores = [(n + (n < turned)) % 2 for n in range(160)]
        rows += [{"model": name, "prompt": n, "acc": score} for n, score in enumerate(scores)]
    found = ca.gate("base", [*flips], pd.DataFrame(rows), look="once", margin=0.0275)
    few = Sample(np.repeat([-1.0, 1, 0], [1, 1, 158]), binary=True)
    assert 0.025 < fixed.p_above(few, -0.0275) < 0.05
    assert {row.model: row.verdict for row in found.analysis.candidates} == expected
    (bounds,) = ((x.low, x.high) for x in found.analysis.candidates if x.model == "few")
    assert bounds == fixed.bounds(few, 0.025)


def test_a_p_value_that_is_the_level_is_enough():
    """Four alike, of which half might be lost: .5^4 = .0625; of three one more is needed."""
    for n, verdict, further in ((4, Verdict.AS_GOOD, 0), (3, Verdict.UNKNOWN, 1)):
        frame, *_ = table(n=n, lost=0, gained=0)
        found = ca.gate("base", "cand", frame, look="once", margin=0.5, alpha=0.0625)
        (row,) = found.analysis.candidates
        assert (row.verdict, row.further) == (verdict, further)
