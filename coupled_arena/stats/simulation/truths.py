"""Simulated truths with a known ranking, and votes and verdicts drawn from them.

Of two models with strengths s and t, the first is preferred with probability (1 - ties) / (1 +
exp(t - s)). It does not matter which is shown first: this is the model of Bradley and Terry with
ties. A `SimulatedTruth` draws votes by one of several designs. In a `Campaign` few people vote
often, on shared prompts: the strength of a model is shifted for each voter, and for each prompt.

This module knows nothing of estimates; `coupled_arena.stats.simulation.coverage` compares them
with the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray
from scipy.special import expit

from coupled_arena.core.choices import Design, TieScore
from coupled_arena.core.verdicts import MOST_JUDGES
from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, JudgedCounts
from coupled_arena.stats.simulation.rankings import Rankings

_FIRST, _SECOND, _TIE = range(3)  # of OUTCOMES
_SAME = 1e-9  # win rates as near as this are equal: the error of `SimulatedTruth.theta` is smaller
_NODES = 200  # of the quadrature: fewer leave an error above `_SAME` at a prompt effect of 2
RANKED = 4  # models of a clustered battle
VOTES = 10  # rankings of one prompt in the clustered design


@dataclass(frozen=True)
class SimulatedTruth:
    """What is true of models, and how comparisons of them come about.

    Attributes
    ----------
    strengths : tuple of float
        One for each of the k models, in log-odds.
    ties : float
        Probability that a vote is a tie.
    human : int
        Comparisons with a vote and a verdict. The clustered design rounds it up to whole
        rankings, the one of several voters to as many battles of every pair.
    judge_only : int
        Comparisons with a verdict alone; likewise.
    judge_quality : float
        Probability that the verdict repeats the vote. Otherwise the judge judges by itself, by
        the same law (in the clustered design, as another voter on the same prompt).
    toward_first, toward_last : float
        Probability that the verdict, whatever else it would be, goes to the model shown first.
        Then, that it goes to the last one in `strengths` if it takes part.
    prompt_effect : float
        Standard deviation, in log-odds, of what a prompt adds to each strength in the clustered
        design and in that of several voters.
    voters : int
        How many vote on each battle in the design of several voters.
    more_judges : tuple of float
        The quality of further judges, as `judge_quality`. Given the vote they judge apart from one
        another; not in the clustered designs.
    silent : float
        Probability that the judge says nothing where the last one in `strengths` loses by a vote,
        whether it is cast or not. Not in the clustered designs.
    alone_shift : float
        What the last one gains in log-odds where nobody votes; likewise.

    Raises
    ------
    ValueError
        A number is out of its range.
    """

    strengths: tuple[float, ...]
    human: int
    judge_only: int
    ties: float = 0.2
    judge_quality: float = 0.5
    toward_first: float = 0.0
    toward_last: float = 0.0
    design: Design = Design.BALANCED
    prompt_effect: float = 1.0
    voters: int = 10
    more_judges: tuple[float, ...] = ()
    silent: float = 0.0
    alone_shift: float = 0.0

    def __post_init__(self) -> None:
        if len(self.strengths) < 2:
            raise ValueError("There must be two models at least.")
        if self.human < 1 or self.judge_only < 0:
            raise ValueError("There must be a human comparison, and no negative number of others.")
        for name in ("ties", "judge_quality", "toward_first", "toward_last", "silent"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a probability, not {getattr(self, name)}.")
        if len(self.more_judges) >= MOST_JUDGES:
            raise ValueError(f"There are at most {MOST_JUDGES} judges.")
        if not all(0 <= quality <= 1 for quality in self.more_judges):
            raise ValueError(f"Qualities of judges are probabilities, not {self.more_judges}.")
        if self.more_judges and self.design in (Design.CLUSTERED, Design.VOTERS):
            raise ValueError(f"The {self.design} design has one judge.")
        if (self.silent or self.alone_shift) and self.design in (Design.CLUSTERED, Design.VOTERS):
            raise ValueError(f"The judge of the {self.design} design is never silent, nor shifted.")
        if self.ties == 1:
            raise ValueError("Where all comparisons are ties there is nothing to rank.")
        if self.prompt_effect < 0:
            raise ValueError("The prompt effect is a standard deviation, never negative.")
        if self.voters < 1:
            raise ValueError("There must be a voter at least.")

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(f"model {i + 1}" for i in range(len(self.strengths)))

    @property
    def theta(self) -> FloatArray:
        """Probability to be preferred, mean over opponents, shape (k,).

        Where prompts have an effect it is integrated out by Gauss-Hermite
        quadrature, with an error below 1e-9 up to a `prompt_effect` of 2.
        """
        preferred = self._preferred()
        np.fill_diagonal(preferred, 0)
        return preferred.sum(1) / (len(preferred) - 1)

    def win_rates(self, ties: TieScore) -> FloatArray:
        """Return the true win rates, shape (k,): `theta`, and half of all ties where they count."""
        return self.theta + (self.ties / 2 if ties is TieScore.HALF else 0.0)

    @property
    def ranks(self) -> IntArray:
        """Best and worst true position of each model, shape (2, k): equal models share them."""
        theta = self.theta
        ahead = theta[:, None] - theta > _SAME
        return np.stack([1 + ahead.sum(0), len(theta) - ahead.sum(1)]).astype(np.int64)

    def draw(self, rng: np.random.Generator) -> JudgedCounts | Rankings:
        """Draw votes and verdicts: counts, or where prompts are shared comparisons in clusters."""
        if self.design is Design.CLUSTERED:
            return _draw_rankings(self, rng)
        if self.design is Design.VOTERS:
            return _draw_battles(self, rng)
        known = self.compare(rng, self._sizes(rng, self.human))
        elsewhere = replace(self, strengths=_shifted(self.strengths, self.alone_shift))
        alone = elsewhere.compare(rng, self._sizes(rng, self.judge_only))
        labelled, unlabelled = (each - self._unsaid(rng, each) for each in (known, alone))
        counts = JudgedCounts(self.models, labelled, unlabelled.sum(2))
        return counts.with_silent(known.sum(3))

    def _unsaid(self, rng: np.random.Generator, counts: IntArray) -> IntArray:
        """Return how many of some comparisons the judge says nothing on."""
        unsaid = np.zeros_like(counts)
        if self.silent:
            for lost in ((slice(None), -1, _FIRST), (-1, slice(None), _SECOND)):
                unsaid[lost] = rng.binomial(counts[lost], self.silent)
        return unsaid

    def compare(self, rng: np.random.Generator, sizes: IntArray) -> IntArray:
        """Draw votes and verdicts that share no prompts, so many of each ordered pair.

        Returns
        -------
        ndarray of int64, shape (k, k, 4, 4**judges)
            As in `JudgedCounts.labelled`.
        """
        law = self._law()
        shape = (*law.shape[:2], len(OUTCOMES), len(OUTCOMES) ** (1 + len(self.more_judges)))
        return rng.multinomial(sizes, law).reshape(shape)

    def _preferred(self) -> FloatArray:
        """Return the probability that the row is preferred to the column, shape (k, k)."""
        strengths = np.asarray(self.strengths, dtype=np.float64)
        gaps = strengths[:, None] - strengths
        if self.design not in (Design.CLUSTERED, Design.VOTERS):
            return (1 - self.ties) / (1 + np.exp(-gaps))
        nodes, weights = hermegauss(_NODES)
        shifts = np.sqrt(2) * self.prompt_effect * nodes
        preferred = 1 / (1 + np.exp(-gaps[..., None] - shifts))
        return (1 - self.ties) * np.average(preferred, axis=-1, weights=weights)

    def _law(self) -> FloatArray:
        """Return the joint law of vote and verdicts, shape (k, k, 4**(1 + judges))."""
        vote = np.zeros((*self._preferred().shape, len(OUTCOMES)))
        vote[..., _FIRST] = self._preferred()
        vote[..., _SECOND] = vote[..., _FIRST].T
        vote[..., _TIE] = self.ties
        joint = self._verdict(vote, self.judge_quality)
        for quality in self.more_judges:
            verdict = self._verdict(vote, quality) / np.where(vote > 0, vote, 1)[..., None]
            joint = (joint[..., None] * verdict[..., None, :]).reshape(*vote.shape, -1)
        return joint.reshape(*vote.shape[:2], -1)

    def _verdict(self, vote: FloatArray, quality: float) -> FloatArray:
        """Return the joint law of the vote and one judge's verdict, shape (k, k, 4, 4)."""
        repeated = vote[..., :, None] * np.eye(len(OUTCOMES))
        apart = vote[..., :, None] * vote[..., None, :]
        joint = quality * repeated + (1 - quality) * apart
        joint = _biased(joint, self.toward_first, _FIRST)
        joint[:-1, -1] = _biased(joint[:-1, -1], self.toward_last, _SECOND)
        joint[-1, :-1] = _biased(joint[-1, :-1], self.toward_last, _FIRST)
        return joint

    def _sizes(self, rng: np.random.Generator, n: int) -> IntArray:
        """Return how many comparisons each ordered pair gets, shape (k, k)."""
        k = len(self.strengths)
        first, second = np.nonzero(~np.eye(k, dtype=np.bool_))
        sizes = np.zeros((k, k), dtype=np.int64)
        if self.design is Design.BALANCED:
            extra = rng.permutation(len(first))[: n % len(first)]
            sizes[first, second] = n // len(first)
            sizes[first[extra], second[extra]] += 1
            return sizes
        weight = np.ones(k)
        if self.design is Design.UNBALANCED:
            weight[np.argsort(self.strengths, kind="stable")] = np.geomspace(1, 3, k)
        share = weight[first] * weight[second]
        sizes[first, second] = rng.multinomial(n, share / share.sum())
        return sizes


def _shifted(strengths: tuple[float, ...], shift: float) -> tuple[float, ...]:
    return (*strengths[:-1], strengths[-1] + shift)


def evenly(k: int, spread: float) -> tuple[float, ...]:
    """Return k strengths at equal distances, best first; they span `spread` log-odds."""
    return tuple(float(x) for x in np.linspace(spread / 2, -spread / 2, k))


def _biased(joint: FloatArray, share: float, verdict: int) -> FloatArray:
    """Move a share of every vote's verdicts to one of them."""
    moved = (1 - share) * joint
    moved[..., verdict] += share * joint.sum(-1)
    return moved


def _draw_rankings(truth: SimulatedTruth, rng: np.random.Generator) -> Rankings:
    """Draw ten rankings to a prompt; which of them show their vote is up to chance."""
    k = len(truth.strengths)
    ranked = min(RANKED, k)
    pairs = np.array(list(combinations(range(ranked), 2))).T
    known, alone = (-(-n // pairs.shape[1]) for n in (truth.human, truth.judge_only))
    battles = known + alone
    prompt = np.arange(battles, dtype=np.int64) // VOTES
    models = rng.permuted(np.tile(np.arange(k), (battles, 1)), axis=1)[:, :ranked]
    effects = rng.normal(0, truth.prompt_effect, (-(-battles // VOTES), k))
    merit = np.asarray(truth.strengths)[models] + effects[prompt[:, None], models]
    vote, own = (_rank(rng, merit, pairs, truth.ties) for _ in range(2))
    verdict = np.where(rng.random(vote.shape) < truth.judge_quality, vote, own)
    first, second = models[:, pairs[0]], models[:, pairs[1]]
    verdict = np.where(rng.random(vote.shape) < truth.toward_first, _FIRST, verdict)
    favoured = rng.random(vote.shape) < truth.toward_last
    verdict = np.where(favoured & (first == k - 1), _FIRST, verdict)
    verdict = np.where(favoured & (second == k - 1), _SECOND, verdict)
    return Rankings(
        models=truth.models,
        prompt=np.repeat(prompt, pairs.shape[1]),
        first=first.ravel(),
        second=second.ravel(),
        vote=vote.ravel(),
        verdict=verdict.ravel(),
        shown=np.repeat(rng.permutation(battles) < known, pairs.shape[1]),
    )


def _rank(rng: np.random.Generator, merit: FloatArray, pairs: IntArray, ties: float) -> IntArray:
    """Rank the models of each battle and return the outcomes of its pairs.

    The order of merit plus Gumbel noise is Plackett and Luce's, in which every pair follows
    Bradley and Terry.
    """
    score = merit + rng.gumbel(size=merit.shape)
    outcome = np.where(score[:, pairs[0]] > score[:, pairs[1]], _FIRST, _SECOND)
    return np.where(rng.random(outcome.shape) < ties, _TIE, outcome)


def _draw_battles(truth: SimulatedTruth, rng: np.random.Generator) -> Rankings:
    """Draw battles of two, each on its own prompt, with several votes or none, and a verdict."""
    pairs = np.array(list(combinations(range(len(truth.strengths)), 2)))
    known = -(-truth.human // (len(pairs) * truth.voters))
    alone = -(-truth.judge_only // len(pairs))
    first, second = rng.permuted(np.repeat(pairs, known + alone, axis=0), axis=1).T
    shown = np.tile(np.arange(known + alone) < known, len(pairs))
    gap = np.subtract(*np.asarray(truth.strengths)[np.stack([first, second])])
    gap = gap + rng.normal(0, 2**0.5 * truth.prompt_effect, len(gap))
    once = partial(say, rng, gap, truth.ties)
    votes = np.stack([once() for _ in range(truth.voters)], axis=1)
    verdict = np.where(rng.random(len(gap)) < truth.judge_quality, votes[:, 0], once())
    verdict = np.where(rng.random(len(gap)) < truth.toward_first, _FIRST, verdict)
    last, favoured = len(truth.strengths) - 1, rng.random(len(gap)) < truth.toward_last
    verdict = np.where(favoured & (first == last), _FIRST, verdict)
    verdict = np.where(favoured & (second == last), _SECOND, verdict)
    times = np.where(shown, truth.voters, 1)
    battle = np.repeat(np.arange(len(gap), dtype=np.int64), times)
    voter = np.arange(len(battle)) - np.repeat(np.cumsum(times) - times, times)
    return Rankings(
        models=truth.models,
        prompt=battle,
        first=first[battle],
        second=second[battle],
        vote=votes[battle, voter],
        verdict=verdict[battle],
        shown=shown[battle],
    )


def say(rng: np.random.Generator, gap: FloatArray, ties: float) -> IntArray:
    """Return an outcome for each gap in log-odds between the model shown first and the other."""
    outcome = np.where(rng.random(len(gap)) < 1 / (1 + np.exp(-gap)), _FIRST, _SECOND)
    return np.where(rng.random(len(gap)) < ties, _TIE, outcome)


@dataclass(frozen=True)
class Campaign:
    """What is true, and how votes come about.

    Attributes
    ----------
    strengths : tuple of float
        One for each of the k models, in log-odds.
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
    more_judges : tuple of float
        The quality of further judges, likewise.
    ties : float
        Probability that a vote is a tie.
    first_slot : float
        What being shown first adds, in log-odds.
    by_name : float
        Probability that the models of a comparison are shown in the order of their names; else
        they are in any order.
    silent, alone_shift : float
        As in `SimulatedTruth`; all judges are silent at once.
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
    silent: float = 0.0
    alone_shift: float = 0.0
    more_judges: tuple[float, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return self._alike.models

    @property
    def theta(self) -> FloatArray:
        """Probability to be preferred, for any voter and prompt, in both orders as often."""
        return self._alike.theta

    def win_rates(self, ties: TieScore) -> FloatArray:
        """Return the true win rates, as `SimulatedTruth.win_rates`."""
        return self._alike.win_rates(ties)

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
        shown, last = np.arange(n) < self.votes, k - 1
        gap = of_prompt[prompt, first] - of_prompt[prompt, second] + self.first_slot
        gap += np.where(shown, 0, self.alone_shift) * (1.0 * (first == last) - (second == last))
        taste = rng.normal(0, self.taste, (self.voters, k))
        luck, tie = rng.random(n), rng.random(n) < self.ties
        vote = _outcome(gap + taste[voter, first] - taste[voter, second], luck, tie)
        repeated = _outcome(gap, luck, tie)
        verdict, qualities = np.zeros(n, dtype=np.int64), (self.judge_quality, *self.more_judges)
        for quality in qualities:
            own = say(rng, gap, self.ties)
            said = np.where(rng.random(n) < quality, repeated, own)
            verdict = len(OUTCOMES) * verdict + said
        judges = len(qualities)
        if self.silent:
            lost = ((first == last) & (vote == _SECOND)) | ((second == last) & (vote == _FIRST))
            unsaid = lost & (rng.random(n) < self.silent)
            verdict = np.where(unsaid, len(OUTCOMES) ** judges, verdict)
        rows = Rankings(self.models, prompt, first, second, vote, verdict, shown, voter, judges)
        return rows.said


def _outcome(gap: FloatArray, luck: FloatArray, tie: NDArray[np.bool_]) -> IntArray:
    return np.where(tie, _TIE, np.where(luck < expit(gap), _FIRST, _SECOND))
