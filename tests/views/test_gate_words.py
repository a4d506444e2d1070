"""The sentence of a gate states the difference in its own direction, and what is ruled out."""

from __future__ import annotations

import pytest

from coupled_arena.analysis.gate.result import CandidateGate, GateReport, GateSettings
from coupled_arena.core.choices import Measure
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.views.words.gate import gate_verdict


def report(difference, bounds=(0.0, 1.0)):
    row = CandidateGate(
        *("small", Verdict.AS_GOOD, "t", 0.5, 0.5, difference, -0.02, 0.07, 9, 9, 2, 5, 5, 1, 1)
    )
    settings = GateSettings(margin=0.1)
    return GateReport("large", (row,), settings, Measure.SCORES, "quiz", bounds, True)


@pytest.mark.parametrize(
    ("difference", "bounds", "said"),
    [
        (1 / 30, (0.0, 1.0), "it is 0.0333 better, and a loss of 0.1 or more"),
        (-1 / 30, (0.0, 1.0), "it is 0.0333 worse, and a loss of 0.1 or more"),
        (1 / 30, (0.0, 10.0), "it is 0.333 better, and a loss of 1 or more"),
        (0.0, (0.0, 1.0), "the two are equal, and a loss of 0.1 or more"),
        (-1e-17, (0.0, 1.0), "the two are equal, and a loss of 0.1 or more"),
    ],
)
def test_as_good_states_the_difference_in_its_own_direction(difference, bounds, said):
    found = report(difference, bounds)
    words = gate_verdict(found, found.candidates[0])
    assert words == f"small is as good as large. By quiz {said} is ruled out."
