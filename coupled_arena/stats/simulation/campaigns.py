"""A made-up campaign: few people vote often, each by a taste of their own, on shared prompts.

As in `coupled_arena.stats.simulation.truths` a vote follows Bradley and Terry with ties; the
strength of a model is shifted for each voter, and for each prompt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from coupled_arena.core.choices import Design
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.simulation.rankings import Rankings
from coupled_arena.stats.simulation.truths import SimulatedTruth, say

_FIRST, _SECOND, _TIE = range(3)  # of OUTCOMES


@dataclass(frozen=True)
class Campaign:
    """What is true, and how votes come about.

    Attributes
    ----------
    strengths : tuple of float
        One for each of the k models, in log-odds.
    voters : int
    votes : int
        Of all voters together; each vote is on a pair and a prompt by lot.
    taste, prompt_effect : float
        Standard deviations, in log-odds, of what a voter and a prompt add to each strength.
    prompts : int or None
        How many there are; None: a prompt for each vote.
    uneven : bool
        Whether the second busiest voter votes half as often as the first, the third a third as
        often (Zipf); else all vote as often.
    judge_only : int
        Comparisons with a verdict alone, on the same prompts, or on as many of their own.
    judge_quality : float
        Probability that the verdict repeats what the voter would say without a taste; else the
        judge votes like one more person without.
    ties : float
        Probability that a vote is a tie.
    first_slot : float
        What being shown first adds, in log-odds.
    by_name : float
        Probability that the models of a comparison are shown in the order of their names; else
        they are in any order.
    """

    strengths: tuple[float, ...]
    voters: int
    votes: int
    taste: float = 0.7
    prompt_effect: float = 0.0
    prompts: int | None = None
    uneven: bool = False
    judge_only: int = 0
    judge_quality: float = 0.5
    ties: float = 0.3
    first_slot: float = 0.0
    by_name: float = 0.0

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return self._alike.models

    @property
    def theta(self) -> FloatArray:
        """Probability to be preferred, for any voter and prompt, in both orders as often."""
        return self._alike.theta

    @property
    def ranks(self) -> IntArray:
        """Best and worst true position of each model, shape (2, k)."""
        return self._alike.ranks

    @property
    def _alike(self) -> SimulatedTruth:
        """A truth with the same win rates: tastes and prompts shift both models of a pair."""
        both = float(np.hypot(self.taste, self.prompt_effect))
        truth = SimulatedTruth(self.strengths, 1, 0, self.ties, prompt_effect=both)
        return replace(truth, design=Design.VOTERS)

    def draw(self, rng: np.random.Generator) -> Rankings:
        """Draw the votes, and verdicts on all comparisons."""
        k, n = len(self.strengths), self.votes + self.judge_only
        busy = 1 / np.arange(1, self.voters + 1) if self.uneven else np.ones(self.voters)
        voter = rng.permutation(np.arange(n) % self.voters)
        if self.uneven:
            voter = rng.choice(self.voters, n, p=busy / busy.sum())
        prompt = np.arange(n) if self.prompts is None else rng.integers(0, self.prompts, n)
        first = rng.integers(0, k, n)
        second = (first + rng.integers(1, k, n)) % k
        turned = (rng.random(n) < self.by_name) & (first > second)
        first, second = np.where(turned, second, first), np.where(turned, first, second)
        of_prompt = rng.normal(0, self.prompt_effect, (int(prompt.max()) + 1, k))
        of_prompt += np.asarray(self.strengths)
        gap = of_prompt[prompt, first] - of_prompt[prompt, second] + self.first_slot
        taste = rng.normal(0, self.taste, (self.voters, k))
        luck, tie = rng.random(n), rng.random(n) < self.ties
        vote = _outcome(gap + taste[voter, first] - taste[voter, second], luck, tie)
        repeated = _outcome(gap, luck, tie)
        own = say(rng, gap, self.ties)
        verdict = np.where(rng.random(n) < self.judge_quality, repeated, own)
        shown = np.arange(n) < self.votes
        return Rankings(self.models, prompt, first, second, vote, verdict, shown, voter)


def _outcome(gap: FloatArray, luck: FloatArray, tie: NDArray[np.bool_]) -> IntArray:
    return np.where(tie, _TIE, np.where(luck < expit(gap), _FIRST, _SECOND))
