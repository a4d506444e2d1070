"""The paper's gain: its golden values, plain loops over samples that pandas draws, its bias."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from coupled_arena.stats.coupling.error_curves import Gain, published_curves, published_sizes
from coupled_arena.stats.coupling.score_tables import ScoreTable, compare_scores
from tests.families import first_of
from tests.stats.test_score_tables import DIGITS, drawn, golden, needs_real_scores, real


@needs_real_scores
@pytest.mark.parametrize("models", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_golden_gains(models):
    """All pairs have the same draws, so that those of fewer models are not drawn otherwise."""
    table = real()
    few = (each[..., :models] for each in (table.coupled, table.independent))
    curves = published_curves(ScoreTable(table.models[:models], *few))
    assert len(curves.pairs) == models * (models - 1) // 2
    for at, names in enumerate(curves.pairs):
        wanted = golden()["pairs"][" | ".join(names)]
        found = curves.gain(at)
        sizes = {"n_coupled": found.coupled, "n_indep": found.independent}
        one = wanted["paper_max_gain_thr.01"]
        assert sizes == {name: one[name] for name in sizes}
        assert found.gain == pytest.approx(one["gain"], abs=DIGITS)
        for tolerance, name in ((0.005, "thr0.005"), (0.05, "thr0.05")):
            gain = curves.gain(at, tolerance).gain
            assert gain == pytest.approx(wanted[f"paper_max_gain_{name}"], abs=DIGITS)


def by_loops(table, repeats, seed, tolerance):
    """Return sizes, errors by protocol and size, and the gain of the first two models."""
    samples = table.coupled.shape[0] * table.coupled.shape[1]
    both = np.stack([table.coupled, table.independent]).reshape(2, samples, -1)
    rows = pd.DataFrame({"noise": np.repeat(["C", "I"], samples)})
    rows["difference"] = (both[..., 0] - both[..., 1]).ravel()
    truth = rows.groupby("noise")["difference"].mean()
    sizes, errors = range(20, samples, 20), {}
    for size in sizes:
        missed = []
        for repeat in range(repeats):
            part = rows.groupby("noise").sample(size, random_state=seed * repeats + repeat)
            missed.append((part.groupby("noise")["difference"].mean() - truth).abs())
        errors[size] = pd.DataFrame(missed)
    mean = {size: part.mean() for size, part in errors.items()}
    best = Gain(0.0)
    for m in sizes[1:]:
        for n in sizes:
            c, i = mean[m]["C"], mean[n]["I"]
            if abs(c - i) <= tolerance * min(c, i) and 1 - m / n > best.gain:
                best = Gain(1 - m / n, m, n, c)
    return list(sizes), errors, best


@pytest.mark.parametrize(("seed", "tolerance"), first_of((0, 0.05), (0, 0.2), (3, 0.2)))
def test_curves_and_gain_are_those_of_loops(seed, tolerance):
    table = drawn(np.random.default_rng(8), 50, 10, 0.6)
    repeats = 12
    curves = published_curves(table, seed, repeats)
    sizes, errors, best = by_loops(table, repeats, seed, tolerance)
    assert curves.sizes.tolist() == sizes
    for at, size in enumerate(sizes):
        mean, deviation = errors[size].mean(), errors[size].std()
        assert curves.mean[:, 0, at] == pytest.approx(mean.to_numpy(), rel=1e-10)
        wanted = deviation.to_numpy() / repeats**0.5
        assert curves.mean_error[:, 0, at] == pytest.approx(wanted, rel=1e-7)
    found = curves.gain(0, tolerance)
    assert (found.coupled, found.independent) == (best.coupled, best.independent)
    assert found.gain == pytest.approx(best.gain, abs=1e-12)
    assert best.gain > 0


def test_the_gain_reports_savings_where_there_are_none():
    table = drawn(np.random.default_rng(2), 200, 10, 0.0)
    gains = [published_curves(table, seed, 300).gain(0).gain for seed in range(5)]
    assert np.mean(gains) > 0.04
    (pair,) = compare_scores(table)
    assert pair.savings_low < 0 < pair.savings_high


def test_a_gain_is_never_negative():
    """With the protocols exchanged nothing is saved: no sizes at all, rather than a loss."""
    table = drawn(np.random.default_rng(8), 100, 10, 0.9)
    exchanged = ScoreTable(table.models, table.independent, table.coupled)
    assert published_curves(exchanged, repeats=200).gain(0) == Gain(0.0)


@pytest.mark.parametrize(
    ("samples", "first", "step"), [(13190, 20, 20), (400, 20, 20), (100, 5, 5), (8, 1, 1)]
)
def test_the_grid_ends_before_all_samples(samples, first, step):
    sizes = published_sizes(samples)
    assert sizes[0] == first
    assert (np.diff(sizes) == step).all()
    assert samples - step <= sizes[-1] < samples


def test_one_repeat_has_no_error():
    with pytest.raises(ValueError, match="two repeats"):
        published_curves(drawn(np.random.default_rng(1), 10, 2, 0.0), repeats=1)
