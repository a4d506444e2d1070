"""Coupled against independent battles, voted on by people with tastes of their own: what is found.

Both protocols are the same in truth, so a test that keeps its level is wrong that often. Tastes
shift strengths, and tendencies the odds of a tie; each is drawn anew with the voters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, logit

from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, PairCounts
from coupled_arena.stats.coupling.modes import ModeComparison, compare_modes
from coupled_arena.stats.simulation.rankings import table_of_clusters


@dataclass(frozen=True, eq=False)
class ModeVotes:
    """Votes, n of them, shape (n,) each; in mode 0 battles are coupled."""

    k: int
    mode: IntArray
    first: IntArray
    second: IntArray
    outcome: IntArray
    voter: IntArray
    prompt: IntArray

    @property
    def kind(self) -> IntArray:
        """Place of ``[mode, a, b, outcome]``."""
        shape = 2, self.k, self.k, len(OUTCOMES)
        at = self.mode, self.first, self.second, self.outcome
        return np.asarray(np.ravel_multi_index(at, shape), dtype=np.int64)

    def compared(self, *, voters: bool) -> ModeComparison:
        """Compare the modes, for people like the voters or for exactly these."""
        k, models = self.k, tuple(f"model {i}" for i in range(self.k))
        counts = np.bincount(self.kind, minlength=2 * k * k * len(OUTCOMES))
        tables = counts.reshape(2, k, k, len(OUTCOMES))
        plain = compare_modes(*(PairCounts(models, each) for each in tables))
        on_prompt = self._by_kind(self.prompt)
        these = plain
        if on_prompt.shape[0] < len(self.mode):
            these = plain.clustered(*self._on_prompts(plain, on_prompt))
        if not voters:
            return these
        both = self._by_kind(self.voter * (int(self.prompt.max()) + 1) + self.prompt)
        several = np.asarray(both.sum(axis=1)).ravel() > 1
        return these.of_people(plain, self._by_kind(self.voter), both[several])

    def _by_kind(self, cluster: IntArray) -> csr_array:
        n, kinds = len(self.kind), 2 * self.k**2 * len(OUTCOMES)
        of = csr_array((np.ones(n), (np.arange(n), self.kind)), (n, kinds))
        return csr_array(table_of_clusters(cluster) @ of)

    def _on_prompts(
        self, plain: ModeComparison, found: csr_array
    ) -> tuple[tuple[FloatArray, IntArray], tuple[FloatArray, int], tuple[float, int]]:
        k, of = self.k, plain.influence
        mode, a, b, _ = (x.ravel() for x in np.indices((2, k, k, len(OUTCOMES))))
        rows, prompts = np.arange(len(mode)), found.shape[0]

        def sums(values: FloatArray, at: tuple[IntArray, IntArray], q: int) -> FloatArray:
            table = np.zeros((len(mode), q))
            for role in (0, 1):
                table[rows, at[role]] += values.reshape(-1, 2)[:, role]
            return np.asarray(((found @ table) ** 2).sum(axis=0), dtype=np.float64)

        pairs = sums(of.pairs, (a * k + b, b * k + a), k * k).reshape(k, k)
        compared = np.zeros((len(mode), k * k))
        compared[rows, a * k + b] = compared[rows, b * k + a] = 1
        met = ((found @ compared) > 0).sum(axis=0).reshape(k, k)
        ties = float(sums(of.ties, (np.zeros_like(a), np.zeros_like(a)), 1)[0])
        return (pairs, met), (sums(of.models, (a, b), k), prompts), (ties, prompts)


@dataclass(frozen=True)
class ModeCampaign:
    """Equal models, compared under both protocols by people who vote often.

    Attributes
    ----------
    k, voters, votes : int
        Models; people; votes of all people together.
    taste, tendency : float
        Standard deviations, in log-odds, of what a voter adds to a strength, and to ties.
    coupled : float
        Share of the voters who see coupled battles alone, while the others see independent ones;
        0: each sees both, by lot.
    prompts : int or None
        How many there are; None: a prompt for each vote.
    prompt_effect : float
        Standard deviation, in log-odds, of what a prompt adds to a strength, in both modes alike.
    ties : float
        Probability of a tie for a voter without a tendency.
    """

    k: int
    voters: int
    votes: int
    taste: float = 0.7
    tendency: float = 0.7
    coupled: float = 0.5
    prompts: int | None = None
    prompt_effect: float = 0.0
    ties: float = 0.3

    def draw(self, rng: np.random.Generator) -> ModeVotes:
        """Draw the votes."""
        n, k = self.votes, self.k
        voter = rng.permutation(np.arange(n) % self.voters)
        mode = rng.integers(0, 2, n)
        if self.coupled:
            mode = (voter >= round(self.coupled * self.voters)).astype(np.int64)
        prompt = np.arange(n) if self.prompts is None else rng.integers(0, self.prompts, n)
        first = rng.integers(0, k, n)
        second = (first + rng.integers(1, k, n)) % k
        own = rng.normal(0, self.taste, (self.voters, k))
        of_prompt = rng.normal(0, self.prompt_effect, (int(prompt.max()) + 1, k))
        gap = own[voter, first] - own[voter, second]
        gap = gap + of_prompt[prompt, first] - of_prompt[prompt, second]
        often = expit(logit(self.ties) + rng.normal(0, self.tendency, self.voters))
        outcome = np.where(rng.random(n) < expit(gap), 0, 1)
        outcome = np.where(rng.random(n) < often[voter], 2, outcome)
        return ModeVotes(k, mode, first, second, outcome, voter, prompt)


def wrong(
    truth: ModeCampaign, repeats: int, *, voters: bool, alpha: float = 0.05, seed: int = 0
) -> FloatArray:
    """Return how often the test of a pair, of a model, and the change of ties are wrong."""
    found = np.zeros(3)
    for repeat in range(repeats):
        made = truth.draw(np.random.default_rng([seed, repeat])).compared(voters=voters)
        low, high = made.tie_interval(alpha)
        pair = made.pairs.p_value[0, 1]
        model = made.averages.p_value
        found += np.array([pair < alpha, np.mean(model < alpha), not low <= 0 <= high], float)
    return found / repeats
