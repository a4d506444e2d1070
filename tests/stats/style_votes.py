"""Votes that length moves, of people with tastes for models and for length: what scores hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from coupled_arena.stats.counts import FloatArray
from coupled_arena.stats.simulation.truths import say
from coupled_arena.stats.style import PairRows, PairScores, fit


@dataclass(frozen=True)
class StyleCampaign:
    """Equal models of replies whose length moves votes; people vote often.

    Attributes
    ----------
    k, voters, votes : int
    taste, for_length : float
        Standard deviations, in log-odds, of what a voter adds to strengths, and to the length's.
    length : float
        Log-odds for one unit of the covariate, by somebody without a taste.
    prompts : int or None
        How many there are; None: a prompt for each vote.
    prompt_effect : float
        Standard deviation of what a prompt adds to strengths.
    uneven : bool
        Whether voters are busy by Zipf's law.
    """

    k: int
    voters: int
    votes: int
    taste: float = 0.7
    for_length: float = 0.3
    length: float = 0.5
    prompts: int | None = None
    prompt_effect: float = 0.0
    uneven: bool = False
    ties: float = 0.2

    def draw(self, rng: np.random.Generator, *, voters: bool = True) -> PairRows:
        """Draw the votes; without `voters` nothing is known of them."""
        n, k = self.votes, self.k
        voter = rng.permutation(np.arange(n) % self.voters)
        if self.uneven:
            busy = 1 / np.arange(1, self.voters + 1)
            voter = rng.choice(self.voters, n, p=busy / busy.sum())
        prompt = np.arange(n) if self.prompts is None else rng.integers(0, self.prompts, n)
        first = rng.integers(0, k, n)
        second = (first + rng.integers(1, k, n)) % k
        x = rng.normal(size=n)
        own = rng.normal(0, self.taste, (self.voters, k))
        of_prompt = rng.normal(0, self.prompt_effect, (int(prompt.max()) + 1, k))
        gap = own[voter, first] - own[voter, second]
        gap = gap + of_prompt[prompt, first] - of_prompt[prompt, second]
        gap = gap + (self.length + rng.normal(0, self.for_length, self.voters))[voter] * x
        outcome = np.array([1.0, 0.0, 0.5])[say(rng, gap, self.ties)]
        return PairRows(k, first, second, outcome, x[:, None], prompt, voter if voters else None)

    @property
    def coefficient(self) -> float:
        """What the fit finds of the length with no end of people: tastes pull it to zero."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        weights = weights / weights.sum()
        both = 2 * (self.taste**2 + self.prompt_effect**2)
        x, z = nodes[:, None], nodes[None, :]
        won = expit(self.length * x + np.sqrt(both + self.for_length**2 * x**2) * z) @ weights
        score = self.ties / 2 + (1 - self.ties) * won
        low, high = 0.0, self.length
        for _ in range(60):  # where the mean of x times the residual is zero
            at = (low + high) / 2
            short = (weights * nodes * (score - expit(at * nodes))).sum()
            low, high = (at, high) if short > 0 else (low, at)
        return low


def held(
    truth: StyleCampaign, repeats: int, *, voters: bool, alpha: float = 0.05, seed: int = 0
) -> FloatArray:
    """Return how often rank-sets hold, and intervals of scores and of the length; and a width."""
    found, wanted = np.zeros(4), truth.coefficient
    for repeat in range(repeats):
        rows = truth.draw(np.random.default_rng([seed, repeat]), voters=voters)
        scores = PairScores.of(fit(rows))
        low, high = scores.score.interval(alpha)
        ends = scores.coefficient.interval(alpha)
        ranks = scores.ranks(alpha)
        held = (
            bool((ranks.low == 1).all() and (ranks.high == truth.k).all()),
            np.mean((low <= 1000) & (high >= 1000)),
            ends[0][0] <= wanted <= ends[1][0],
            np.mean(high - low),
        )
        found += np.array(held, float)
    return found / repeats
