from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coupled_arena.stats.closed_form import single_token_win_rates


def test_the_ranking_of_the_paper_flips():
    found = single_token_win_rates([[0.4, 0.48, 0.5], [1.0, 0.9, 0.89]])
    assert found.independent_average == pytest.approx([0.1545, 0.15675, 0.16225], abs=1e-12)
    assert found.coupled_average == pytest.approx([0.0525, 0.0225, 0.03], abs=1e-12)


def test_prompts_may_weigh_differently():
    found = single_token_win_rates([[0.5, 0.0], [0.0, 0.5]], [0.75, 0.25])
    assert found.coupled[0, 1] == pytest.approx(0.375)
    assert found.independent[1, 0] == pytest.approx(0.125)


@given(arrays(float, (3, 4), elements=st.floats(0, 1)))
def test_coupling_keeps_the_difference_and_has_fewer_wins(success):
    """Luck cancels in the difference of two win-rates, and only there."""
    found = single_token_win_rates(success)
    coupled, independent = found.coupled, found.independent
    assert coupled - coupled.T == pytest.approx(independent - independent.T, abs=1e-12)
    assert (coupled <= independent + 1e-12).all()


def test_simulated_answers_agree():
    """Each answer is right if a uniform number is below p: one number for both, or one each."""
    p, q, n = 0.7, 0.55, 200_000
    rng = np.random.default_rng(1)
    ours, theirs = rng.random((2, n))
    found = single_token_win_rates([[p, q]])
    for first, second, rate in (
        (ours, ours, found.coupled[0, 1]),
        (ours, theirs, found.independent[0, 1]),
    ):
        won = ((first < p) & (second >= q)).mean()
        assert won == pytest.approx(rate, abs=4 * (rate * (1 - rate) / n) ** 0.5)


@pytest.mark.parametrize(
    ("success", "weights"),
    [([[0.5]], None), ([[0.5, 1.1]], None), ([[0.5, np.nan]], None), ([[0, 1]], [0.5])],
)
def test_what_are_no_probabilities_is_refused(success, weights):
    with pytest.raises(ValueError, match="Give"):
        single_token_win_rates(success, weights)
