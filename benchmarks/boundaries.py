"""How soon is the best model told apart? The any-time cut-off beside exact bets.

    python -m benchmarks.boundaries [--repeats 100] [--votes 3000] [--only WORD]

Votes on pairs at random, a look after every 20. Beside the any-time cut-off, as a board shows it
at each look, stand confidence sequences that hold exactly, whatever the law of the votes: two
models are separated where the capital of a gambler who bets on one of them has ever reached
k (k - 1) / alpha. The bets are a mixture, aGRAPA [1]_ and the predictable plug-in empirical
Bernstein [1]_ [2]_, on what a vote is worth less what the votes on its pair so far let expect.
Printed are the votes until the best is separated from all (median of all boards) and the share of
boards where ever one model was put ahead of another that is as good or better.

References
----------
.. [1] I. Waudby-Smith & A. Ramdas, "Estimating means of bounded random variables by betting",
   Journal of the Royal Statistical Society B 86, 1-27 (2024).
.. [2] S. R. Howard, A. Ramdas, J. McAuliffe & J. Sekhon, "Time-uniform, nonparametric,
   nonasymptotic confidence sequences", Annals of Statistics 49, 1055-1080 (2021).
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from benchmarks.coverage import EVERY, LEVEL, bar, head, row
from coupled_arena.core.choices import Cutoff
from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, PairCounts
from coupled_arena.stats.ranking.estimates import estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation
from coupled_arena.stats.simulation.truths import evenly

ALPHA, TIES, SEED = 1 - LEVEL, 0.3, 16
SETTINGS = {
    "k=2, .40 against .30": (2, 0.2877),
    "k=3, spread 1": (3, 1.0),
    "k=5, spread 2": (5, 2.0),
    "k=2, equal": (2, 0.0),
    "k=3, equal": (3, 0.0),
    "k=5, equal": (5, 0.0),
}
FRACTIONS = np.geomspace(0.02, 0.9, 14)  # of what can be bet at most, with equal weights
MOST_AGRAPA, MOST_BERNSTEIN = 0.75, 0.5  # likewise, as in the paper
SIDES = np.array([1.0, -1.0])
Ahead = NDArray[np.bool_]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--votes", type=int, default=3000)
    parser.add_argument("--only", default="", help="settings whose name has this word")
    given = parser.parse_args()
    head("setting: votes, false separations", "any-time", "mixture of bets", "aGRAPA", "Bernstein")
    for name, (k, spread) in SETTINGS.items():
        if given.only in name:
            rng = np.random.default_rng([SEED, k, round(100 * spread)])
            pair, outcome = draw(k, spread, (given.repeats, given.votes), rng)
            found = [shown(name, k, pair, outcome), *betted(name, k, pair, outcome)]
            print(row(name, *(told(ahead, spread) for ahead in found)), flush=True)


def draw(
    k: int, spread: float, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw which pair each vote is on, and what it says: the first, the second, a tie."""
    one, other = np.triu_indices(k, 1)
    strengths = np.array(evenly(k, spread))
    first = (1 - TIES) / (1 + np.exp(strengths[other] - strengths[one]))
    pair, chance = rng.integers(len(one), size=shape), rng.random(shape)
    return pair, np.where(chance < first[pair], 0, np.where(chance < 1 - TIES, 1, 2))


def told(ahead: Ahead, spread: float) -> str:
    """Return the median votes until the best is separated, if any is, and the share in error.

    Parameters
    ----------
    ahead : ndarray of bool, shape (looks, boards, k, k)
        Whether the model of the row is put ahead of that of the column; the first is the best.
    """
    k = ahead.shape[-1]
    wrong = ahead & (np.tri(k, dtype=np.bool_) if spread else True)
    false = f"{wrong.any(axis=(0, 2, 3)).mean():.3f}"
    if not spread:
        return false
    first = ahead[:, :, 0, 1:].all(axis=2)
    votes = np.where(first.any(axis=0), EVERY * (1.0 + first.argmax(axis=0)), np.inf)
    median = float(np.quantile(votes, 0.5, method="inverted_cdf"))
    return f"{median:,.0f}, {false}" if np.isfinite(median) else f"none, {false}"


def shown(name: str, k: int, pair: IntArray, outcome: IntArray) -> Ahead:
    """Return what boards with the any-time cut-off show, shape (looks, boards, k, k)."""
    one, other = np.triu_indices(k, 1)
    names = tuple(f"model {i + 1}" for i in range(k))
    looks = pair.shape[1] // EVERY
    ahead = np.zeros((looks, len(pair), k, k), dtype=np.bool_)
    for board in bar(name)(range(len(pair))):
        votes = np.zeros((k, k, len(OUTCOMES)), dtype=np.int64)
        for look in range(looks):
            new = slice(look * EVERY, (look + 1) * EVERY)
            at = pair[board, new]
            np.add.at(votes, (one[at], other[at], outcome[board, new]), 1)
            estimate = estimate_from_votes(PairCounts(names, votes.copy()))
            if estimate.models == names:  # else a model has no vote yet
                sets = Separation(estimate, LIVE_DRAWS).rank_sets(ALPHA, Cutoff.ANY_TIME)
                ahead[look, board] = sets.ahead
    return ahead


def betted(name: str, k: int, pair: IntArray, outcome: IntArray) -> tuple[Ahead, ...]:
    """Return whom gamblers have separated: by a mixture of bets, aGRAPA, empirical Bernstein."""
    bets, looks = Bets(k, len(pair)), []
    for vote in tqdm(range(pair.shape[1]), desc=f"{name}, bets", leave=False):
        bets.see(pair[:, vote], outcome[:, vote])
        if (vote + 1) % EVERY == 0:
            looks.append(bets.ahead())
    return tuple(np.array(each) for each in zip(*looks, strict=True))


class Bets:
    """Capitals of gamblers, two for each pair of models, on many boards at once.

    A vote is worth k/2 to a model that it prefers, so that the difference of two models' worth has
    the mean of that of their win rates. Each bet is made before its vote.
    """

    def __init__(self, k: int, boards: int) -> None:
        self._k, self._limit = k, np.log(k * (k - 1) / ALPHA)
        self._one, self._other = np.triu_indices(k, 1)
        pairs = len(self._one)
        preferred = np.stack([self._one, self._other, np.full(pairs, -1)], axis=1)
        one, other = self._one[:, None, None], self._other[:, None, None]
        self._worth = k / 2 * np.subtract(preferred == one, preferred == other, dtype=np.float64)
        self._sums = np.zeros((boards, pairs, pairs))  # what was seen of each, pair by pair
        self._votes = np.zeros((boards, 1, pairs))
        self._total = np.zeros((boards, pairs))
        self._squares = np.full((boards, pairs), k**2 / 4)  # the largest variance, once
        self._seen = 1
        self._mixed = np.zeros((boards, pairs, len(SIDES), len(FRACTIONS)))
        self._logs = np.zeros((2, boards, pairs, len(SIDES)))  # of aGRAPA, empirical Bernstein
        self._highest = np.full((3, boards, pairs, len(SIDES)), -np.inf)

    def see(self, pair: IntArray, outcome: IntArray) -> None:
        """Settle the bets on one more vote on each board."""
        boards = np.arange(len(pair))
        expected = self._sums / (self._votes + 1)
        expected -= expected.mean(axis=2, keepdims=True)  # pairs are equally likely: 0 in the mean
        most = self._k / 2 + np.abs(expected).max(axis=2)
        worth = self._worth[:, pair, outcome].T
        value = worth - expected[boards, :, pair]
        self._bet(value[..., None] * SIDES, value, most)
        self._sums[boards, :, pair] += worth
        self._votes[boards, 0, pair] += 1
        self._total += value
        self._seen += 1
        self._squares += (value - self._total / self._seen) ** 2

    def _bet(self, won: FloatArray, value: FloatArray, most: FloatArray) -> None:
        mean, variance = self._total / self._seen, self._squares / self._seen
        self._mixed += np.log1p(FRACTIONS / most[..., None, None] * won[..., None])
        growth = mean[..., None] * SIDES / (variance + mean**2)[..., None]
        self._logs[0] += np.log1p(np.clip(growth, 0, MOST_AGRAPA / most[..., None]) * won)
        width = 2 * most  # so that values differ by 1 at most, as the inequality wants
        spread = variance / width**2 * self._seen * np.log(self._seen + 1)
        share = np.minimum(np.sqrt(2 * self._limit / spread), MOST_BERNSTEIN)
        far = (value - np.clip(mean, -most, most)) / width
        paid = (-np.log1p(-share) - share) * far**2
        self._logs[1] += (share / width)[..., None] * won - paid[..., None]

    def ahead(self) -> Ahead:
        """Return who has been put ahead of whom at any look, shape (3, boards, k, k)."""
        mixed = np.logaddexp.reduce(self._mixed, axis=-1) - np.log(len(FRACTIONS))
        np.maximum(self._highest, [mixed, *self._logs], out=self._highest)
        passed = self._highest >= self._limit
        ahead = np.zeros((*passed.shape[:2], self._k, self._k), dtype=np.bool_)
        ahead[:, :, self._one, self._other] = passed[..., 0]
        ahead[:, :, self._other, self._one] = passed[..., 1]
        return ahead


if __name__ == "__main__":
    main()
