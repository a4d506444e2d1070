from __future__ import annotations

import evalica
import numpy as np
import pytest
from scipy.optimize import minimize

from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.bradley_terry import bradley_terry


def table(seed, k, n, spread=1.0):
    rng = np.random.default_rng(seed)
    strength = spread * rng.normal(size=k)
    counts = np.zeros((k, k, 4), dtype=np.int64)
    for i in range(k):
        for j in range(k):
            p = 0.8 / (1 + np.exp(strength[j] - strength[i]))
            counts[i, j] = rng.multinomial(n * (i != j), [p, 0.8 - p, 0.15, 0.05])
    return PairCounts(tuple(f"m{i:02}" for i in range(k)), counts), strength


@pytest.mark.parametrize("k", [2, 3, 12])
def test_scores_maximise_the_likelihood(k):
    """A second route: the likelihood with half a win for each of a tie, by BFGS."""
    counts, _ = table(k, k, 40)
    won = counts.wins + (counts.ties + counts.both_bad) / 2

    def loss(x):
        return (won * np.log1p(np.exp(x[None, :] - x[:, None]))).sum()

    x = minimize(loss, np.zeros(k), options={"gtol": 1e-6}).x
    found = bradley_terry(counts, resamples=10)
    assert found.score == pytest.approx(1000 + 400 * (x - x.mean()) / np.log(10), abs=1e-2)


@pytest.mark.parametrize("k", [2, 5, 20])
def test_scores_are_those_of_evalica(k):
    """A third route: the same iteration in another program."""
    counts, _ = table(k, k, 30)
    first, second, outcome = np.nonzero(counts.counts)
    winners = [evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw, evalica.Winner.Draw]
    theirs = evalica.bradley_terry(
        first.tolist(),
        second.tolist(),
        [winners[o] for o in outcome],
        weights=counts.counts[first, second, outcome].astype(float).tolist(),
        tolerance=1e-9,
        limit=10_000,
    ).scores.sort_index()
    scores = 400 * np.log10(theirs.to_numpy())
    found = bradley_terry(counts, resamples=1).score
    assert found == pytest.approx(1000 + scores - scores.mean(), abs=1e-9)


@pytest.mark.slow
def test_intervals_cover_the_truth():
    repeats, k, covered = 40, 7, 0
    for seed in range(repeats):
        counts, strength = table(seed, k, 60, spread=0.3)
        # ties as half a win: the score's truth is where expected half-wins put it
        found = bradley_terry(counts, 0.1, resamples=100)
        share = 0.8 / (1 + np.exp(strength[None, :] - strength[:, None])) + 0.1
        truth = _population(share)
        covered += ((found.low <= truth) & (truth <= found.high)).mean()
    error = (0.1 * 0.9 / (repeats * (k - 1))) ** 0.5  # the scores have one sum
    assert covered / repeats == pytest.approx(0.9, abs=3 * error + 0.02)  # 100 resamples: .02


def _population(share):
    x = minimize(
        lambda x: (share * np.log1p(np.exp(x[None, :] - x[:, None]))).sum(), np.zeros(len(share))
    ).x
    return 1000 + 400 * (x - x.mean()) / np.log(10)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [("a", "b", "first", 9)],
        [("a", "b", "first", 9), ("a", "b", "second", 1), ("c", "a", "first", 3)],
    ],
)
def test_no_scores_where_somebody_stands_apart(rows):
    found = bradley_terry(PairCounts.from_rows(rows))
    assert np.isnan(found.score).all()
    assert "won and lost" in found.warnings[0]


def test_a_circle_of_wins_has_scores():
    """Nobody has won and lost against the same model, but there is a way round."""
    rows = [(*pair, "first", 9) for pair in ("ab", "bc", "cd", "de", "ea")]
    assert bradley_terry(PairCounts.from_rows(rows), resamples=9).score == pytest.approx(1000)


def test_resamples_without_scores_are_told():
    rows = [("a", "b", "first", 9), ("a", "b", "second", 1)]
    found = bradley_terry(PairCounts.from_rows(rows))
    assert found.resamples < found.asked
    assert "too narrow" in found.warnings[0]
    with pytest.raises(ValueError, match="alpha"):
        bradley_terry(PairCounts.from_rows(rows), 1.0)
