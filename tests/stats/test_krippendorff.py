"""Krippendorff's alpha: his own examples, another program's, and whether its interval covers."""

from __future__ import annotations

from dataclasses import dataclass

import krippendorff
import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import t as student

from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.krippendorff import Said, agreement


@dataclass(frozen=True)
class AnnotatorCampaign:
    """How votes come about.

    Attributes
    ----------
    annotators : int
        Who all vote on each unit, or `each` of them by lot.
    units : int
    tendency : float
        Standard deviation, in log-odds, of what an annotator adds to each outcome.
    clear : float
        Standard deviation of what a unit adds to each outcome.
    each : int or None
    """

    annotators: int
    units: int
    tendency: float = 0.7
    clear: float = 1.5
    each: int | None = None

    def draw(self, rng: np.random.Generator) -> tuple[IntArray, Said]:
        """Return counts, shape (units, 3), and the votes."""
        own = rng.normal(0, self.tendency, (self.annotators, 3))
        unit = rng.normal(0, self.clear, (self.units, 1, 3))
        score = unit + own + rng.gumbel(size=(self.units, self.annotators, 3))
        said = score.argmax(axis=2)
        there = np.ones(said.shape, dtype=np.bool_)
        if self.each is not None:
            there = np.argsort(rng.random((self.units, self.annotators)), axis=1) < self.each
        at, who = np.nonzero(there)
        outcome = said[at, who]
        counts = np.zeros((self.units, 3), dtype=np.int64)
        np.add.at(counts, (at, outcome), 1)
        return counts, Said(at, who, outcome)

    def alpha(self, draws: int = 400_000) -> float:
        """Return the truth for any two people like these, from many pairs of them."""
        rng = np.random.default_rng(123)
        unit = rng.normal(0, self.clear, (draws, 1, 3))
        own = rng.normal(0, self.tendency, (draws, 2, 3))
        law = softmax(unit + own, axis=2)
        alike = float((law[:, 0] * law[:, 1]).sum(axis=1).mean())
        often = law.mean(axis=(0, 1))
        return 1 - (1 - alike) / (1 - float((often**2).sum()))


def held(
    truth: AnnotatorCampaign, repeats: int, *, people: bool, level: float = 0.05
) -> FloatArray:
    """Return how often the interval holds alpha, and its mean width."""
    wanted, found = truth.alpha(), np.zeros(2)
    for repeat in range(repeats):
        counts, said = truth.draw(np.random.default_rng([11, repeat]))
        at = agreement(counts, np.arange(len(counts)), level, said if people else None)
        if at.low is None or at.high is None:
            found += 1, 2
            continue
        found += at.low <= wanted <= at.high, at.high - at.low
    return found / repeats


NOTHING = np.nan
# Krippendorff (2011), example C: four observers, twelve units, five values; nominal alpha .743.
FOUR_OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NOTHING, NOTHING, NOTHING],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NOTHING, 3],
        [NOTHING, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NOTHING],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NOTHING],
    ]
)


def counts(said, values):
    """Return how many observers gave each value to each unit."""
    return np.stack([(said == value).sum(0) for value in values], axis=1)


def nominal(said, level=0.05):
    return agreement(np.asarray(said), np.arange(len(said)), level)


def test_the_published_example():
    """Its coincidences: 40 votes that can be paired; values 9, 13, 10, 5 and 3 times."""
    found = nominal(counts(FOUR_OBSERVERS, range(1, 6)))
    assert round(found.alpha, 3) == 0.743
    assert (found.units, found.votes) == (11, 40)  # the last unit has one vote
    # By hand: three units differ. 3 of 4 the same in two of them (2 of 4 * 3 ordered pairs are
    # twice 3, over 4 - 1), and all four differ in one (12, over 3).
    assert found.observed == pytest.approx((6 / 3 + 6 / 3 + 12 / 3) / 40)
    assert found.expected == pytest.approx(1 - (9 * 8 + 13 * 12 + 10 * 9 + 5 * 4 + 3 * 2) / 1560)


def test_two_observers_by_hand():
    """Krippendorff (2011), example B: twelve units, four values; nominal alpha .692."""
    said = np.array([list("aabbddcccedd"), list("babbbccceedd")])[:, :12]
    values = sorted(set(said.ravel()))
    same = (said[0] == said[1]).mean()
    often = np.array([(said == value).sum() for value in values])
    by_chance = (often * (often - 1)).sum() / (24 * 23)
    found = nominal(counts(said, values))
    assert found.alpha == pytest.approx((same - by_chance) / (1 - by_chance))


@pytest.mark.parametrize("seed", range(5))
def test_another_program_says_the_same(seed):
    rng = np.random.default_rng(seed)
    said = rng.choice([0.0, 1.0, 2.0, NOTHING], size=(4, 60), p=[0.4, 0.2, 0.1, 0.3])
    expected = krippendorff.alpha(reliability_data=said, level_of_measurement="nominal")
    assert nominal(counts(said, range(3))).alpha == pytest.approx(expected, abs=1e-12)


def drawn(rng, prompts, battles, people, share):
    """Draw votes whose true alpha is the square of `share`.

    Each prompt has one truth. Each vote is the truth with probability `share`, else drawn anew from
    the law that truths have: two agree beyond chance where both are the truth.
    """
    law = [0.4, 0.35, 0.25]
    truth = rng.choice(3, size=(prompts, 1, 1), p=law)
    anew = rng.choice(3, size=(prompts, battles, people), p=law)
    said = np.where(rng.random(anew.shape) < share, truth, anew)
    shape = (prompts * battles, 3)
    return np.stack([(said == value).sum(-1) for value in range(3)], -1).reshape(shape)


@pytest.mark.parametrize(
    ("prompts", "battles", "people", "share"),
    [(12, 4, 3, 0.7), (40, 1, 2, 0.8), (30, 3, 4, 0.5), (25, 2, 3, 0.95)],
)
def test_the_interval_covers(prompts, battles, people, share):
    """A cautious one is no fault: at high agreement few prompts disagree at all."""
    rng, repeats, level = np.random.default_rng(5), 600, 0.1
    hits = 0
    for _ in range(repeats):
        said = drawn(rng, prompts, battles, people, share)
        found = agreement(said, np.arange(prompts).repeat(battles), level)
        hits += found.low <= share**2 <= found.high
    error = (level * (1 - level) / repeats) ** 0.5
    # Of so few prompts the quantiles hold to about a hundredth.
    assert 1 - level - 3 * error - 0.01 < hits / repeats


def test_battles_of_one_prompt_are_not_so_many_prompts():
    """On some prompts all agree, on others nobody: what varies is from prompt to prompt."""
    said = np.array([[3, 0, 0], [1, 1, 1], [0, 3, 0]] * 5).repeat(8, axis=0)
    together = agreement(said, np.arange(15).repeat(8))
    apart = agreement(said, np.arange(120))
    assert together.alpha == apart.alpha
    assert together.high - together.low > 2.5 * (apart.high - apart.low)  # the root of 8, and t


def test_what_cannot_be_told():
    none = nominal(np.zeros((0, 3), dtype=int))
    assert (none.alpha, none.low, none.observed, none.units) == (None, None, None, 0)
    alone = nominal([[1, 0, 0], [0, 1, 0]])  # one vote each
    assert (alone.alpha, alone.units, alone.votes) == (None, 0, 0)
    habit = nominal([[2, 0, 0], [3, 0, 0]])
    assert (habit.alpha, habit.low, habit.observed, habit.expected) == (None, None, 0, 0)
    one = nominal([[2, 1, 0]])
    assert (round(one.alpha, 9), one.low, one.high) == (0, None, None)


def test_that_nobody_ever_differed_is_no_certainty():
    few, many = (nominal([[2, 0, 0], [0, 2, 0]] * n) for n in (3, 300))
    assert few.alpha == many.alpha == few.high == many.high == 1
    # Of six pairs .541 may differ that did not (.025 ** (1 / 6) is .459), of half by chance.
    assert few.low == pytest.approx(1 - (1 - 0.025 ** (1 / 6)) / (6 / 11))
    assert few.low < 0.2 < 0.98 < many.low < 1


def test_what_annotators_add_by_plain_loops():
    """The derivative of alpha by each vote, whose pairs count on both sides."""
    counts, said = AnnotatorCampaign(4, 40, 1.0, each=3).draw(np.random.default_rng(1))
    found = agreement(counts, np.arange(40), said=said)
    n = len(said.unit)
    often = counts.sum(0) / n
    sums = np.zeros(4)
    for unit, who, outcome in zip(said.unit, said.annotator, said.outcome, strict=True):
        differ = (3 - counts[unit, outcome]) / 2
        part = 2 * (differ - found.observed) / (1 - (often**2).sum())
        drift = 2 * found.observed * (often[outcome] - (often**2).sum())
        sums[who] += (part + drift / (1 - (often**2).sum()) ** 2) / n
    these = agreement(counts, np.arange(40))
    variance = (sums**2).sum() * 4 / 3
    # Half of the width, upwards, is a multiple of the error: Student's t by both kinds of clusters.
    error = (these.high - these.alpha) / student.ppf(0.975, 39)
    total = error**2 + variance
    degrees = total**2 / (error**4 / 39 + variance**2 / 3)
    assert found.high - found.alpha == pytest.approx(
        student.ppf(0.975, degrees) * total**0.5, rel=1e-9
    )
    assert (found.annotators, these.annotators) == (4, None)


@pytest.mark.parametrize(
    ("truth", "today"),
    [
        (AnnotatorCampaign(3, 300), 0.85),
        (AnnotatorCampaign(5, 300), 0.9),
        (AnnotatorCampaign(30, 200, each=2), 1.0),
    ],
)
def test_intervals_hold_for_people_like_the_annotators(truth, today):
    repeats = 150
    error = (0.05 * 0.95 / repeats) ** 0.5
    like, width = held(truth, repeats, people=True)
    assert like > 0.95 - 3 * error
    these, narrow = held(truth, repeats, people=False)
    assert these <= today
    assert width < (1.2 if truth.annotators > 20 else 4) * narrow
