"""What scores or votes say of each candidate at one margin and one error level.

Prompts come in an order that a seed draws, so that a look after each of them is fair. Prompts that
depend on each other are one unit and come together. Each unit counts once, whatever its size. In a
mean over prompts a rare, huge group may decide, and data without one show nothing of it. With a
declared bound a unit counts by its prompts, as a share of the bound. A share of the largest group
here would not do, for a larger one may be still to come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from coupled_arena.analysis.gate.order import drawn_order
from coupled_arena.analysis.gate.paired import Pair, PairedScores
from coupled_arena.analysis.gate.worth import NoiseWorth, noise_worth
from coupled_arena.core.choices import Look, Measure
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _
from coupled_arena.stats.closeness import Mean
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.gate import fixed
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.stats.gate.expected import further
from coupled_arena.stats.gate.fixed import Sample
from coupled_arena.stats.gate.walks import interval, walk
from coupled_arena.stats.intervals import check_alpha

_LOOKS = 200  # of a figure
BETTING, BOARD = "betting", "board"


@dataclass(frozen=True)
class GateSettings:
    """How candidates are judged.

    Attributes
    ----------
    margin : float
        How much worse is as good, as a share of the scores' range; of votes, of the win rate.
    alpha : float
        Error level of each kind of claim, for all candidates together.
    look : Look
    seed : int
        Of the order of the prompts.
    largest_group : int, optional
        Prompts that no group has more of, here or elsewhere. Then each prompt counts the same; by
        default each group does.
    most_missing : float
        Share of the prompts that base or candidate may lack; beyond it nothing is concluded.
    """

    margin: float = 0.02
    alpha: float = 0.05
    look: Look = Look.ALWAYS
    seed: int = 0
    largest_group: int | None = None
    most_missing: float = 0.05

    def check(self) -> None:
        """Refuse numbers out of range.

        Raises
        ------
        ScoreError
            A number is out of range, or both bounds together hold with no chance.
        """
        if not 0 < self.margin < 1:
            text = _("The margin is a share between 0 and 1, such as 0.02, not {margin:g}.")
            raise ScoreError(text.format(margin=self.margin))
        check_alpha(self.alpha)
        if self.alpha >= 0.5:
            text = _("The error level of a gate is below 0.5, such as 0.05, not {alpha:g}.")
            raise ScoreError(text.format(alpha=self.alpha))
        if not 0 <= self.most_missing <= 1:
            text = _("The share that may be missing is between 0 and 1, not {share:g}.")
            raise ScoreError(text.format(share=self.most_missing))
        if self.largest_group is not None and self.look is Look.ONCE:
            raise ScoreError(
                _(
                    "`largest_group` goes with `look` always. One look trusts large numbers, and "
                    "a few large groups are not many: it counts each group once."
                )
            )
        if self.largest_group is not None and self.largest_group < 1:
            raise ScoreError(_("The largest group has at least one prompt."))


@dataclass(frozen=True)
class Flip:
    """A prompt on which a candidate scores otherwise than the base.

    Attributes
    ----------
    base_score, candidate_score : float
        Means over the answers.
    difference : float
        Less than 0 where the candidate is worse; a share of the scores' range.
    battle : str
        The first battle behind it, "" where there is none.
    """

    candidate: str
    prompt: str
    category: str
    base_score: float
    candidate_score: float
    difference: float
    battle: str = ""


@dataclass(frozen=True)
class CategoryGap:
    """How a candidate differs from the base on the prompts of one category.

    Attributes
    ----------
    low, high : float
        Bounds that hold for all candidates and categories together.
    lost, gained : int
        Prompts on which the candidate is worse, and better.
    """

    candidate: str
    category: str
    prompts: int
    difference: float
    low: float
    high: float
    lost: int
    gained: int


@dataclass(frozen=True, eq=False)
class Closing:
    """The interval on the way through the prompts, arrays of one length."""

    prompts: IntArray
    difference: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Churn:
    """How often a candidate's answer differs from the base's, whatever the scores.

    Attributes
    ----------
    answers : int
        Pairs of answers that read one noise stream.
    measured : bool
        Whether independent noise was measured, or follows from repetitions.
    text, read : Mean
        Share whose words differ; and in which the benchmark has read another answer.
    text_alone, read_alone : Mean or None
        The same where each answer has noise of its own; None where nobody knows.
    """

    answers: int
    measured: bool
    text: Mean
    read: Mean
    text_alone: Mean | None
    read_alone: Mean | None


@dataclass(frozen=True)
class Cost:
    """What a model takes; None where nobody knows.

    Attributes
    ----------
    bytes_per_weight : float or None
        As loaded, with scales and what is kept in full precision.
    memory : float or None
        Bytes of all tensors.
    tokens_per_second : float or None
        Written in a second of its own, all answers together.
    """

    bytes_per_weight: float | None = None
    memory: float | None = None
    tokens_per_second: float | None = None


@dataclass(frozen=True, eq=False)
class CandidateGate:
    """What is known of one candidate.

    Attributes
    ----------
    verdict : Verdict
    method : str
        "betting", "tango", "t", "exact", or "board" of votes.
    base_score, score : float
        Mean scores on the common prompts; of votes the two win rates.
    difference, low, high : float
        The candidate less the base, as a share of the scores' range. Each bound is wrong with a
        probability of alpha, for all candidates together.
    prompts, units, answers : int
        Common prompts; prompts and groups of them that do not depend on each other; answers of a
        model to a prompt. Of votes, these and the voters that they are worth.
    uneven : bool
        Whether the groups have different numbers of prompts, so that it matters what counts once.
    missing : float
        Share of the prompts that base or candidate lacks.
    known_after : int or None
        After how many units the verdict was known.
    further : int or None
        How many more units would probably tell; 0 of what is known, None if hardly any number.
    lost, gained : int
        Prompts on which the candidate is worse, and better.
    repeated : int
        Prompts with two answers or more of both.
    worth : NoiseWorth or None
        None of one answer to each prompt, and where the answers to a prompt vary too little.
    independent_after : int or None
        After how many units answers with noise of their own, which were there as well, said so.
    independent : bool
        Whether there were such answers.
    churn : Churn or None
        None where the answers themselves are not known.
    cost : Cost or None
    """

    model: str
    verdict: Verdict
    method: str
    base_score: float
    score: float
    difference: float
    low: float
    high: float
    prompts: int
    units: int
    answers: int
    known_after: int | None
    further: int | None
    lost: int
    gained: int
    uneven: bool = False
    missing: float = 0.0
    repeated: int = 0
    worth: NoiseWorth | None = None
    independent_after: int | None = None
    independent: bool = False
    closing: Closing | None = None
    flips: tuple[Flip, ...] = ()
    categories: tuple[CategoryGap, ...] = ()
    churn: Churn | None = None
    cost: Cost | None = None


@dataclass(frozen=True, eq=False)
class GateReport:
    """What is known of all candidates, with what it was made of.

    Attributes
    ----------
    measure : Measure
    metric : str
        What the scores are, or whose votes.
    scale : tuple of float
        The least and the greatest score.
    coupled : bool
        Whether the models are known to have shared their noise.
    together : int, optional
        How many candidates were judged together; by default those that are here.
    """

    base: str
    candidates: tuple[CandidateGate, ...]
    settings: GateSettings
    measure: Measure
    metric: str
    bounds: tuple[float, float]
    coupled: bool
    notes: tuple[str, ...] = ()
    base_cost: Cost | None = None
    together: int | None = None

    @property
    def judged(self) -> int:
        """How many candidates were judged together."""
        return self.together or len(self.candidates)

    def only(self, model: str) -> GateReport:
        """Return what is known of one candidate, judged with the others."""
        return replace(self, candidates=(self.of(model),), together=self.judged)

    @property
    def width(self) -> float:
        """The range of the scores."""
        return self.bounds[1] - self.bounds[0]

    def of(self, model: str) -> CandidateGate:
        """Return what is known of one candidate."""
        return next(each for each in self.candidates if each.model == model)

    def lacks(self, candidate: CandidateGate) -> bool:
        """Return whether more is missing of a candidate than the settings allow."""
        return candidate.missing > self.settings.most_missing


def gate_scores(
    scores: PairedScores, settings: GateSettings, measure: Measure = Measure.SCORES
) -> GateReport:
    """Judge the candidates by their scores.

    Raises
    ------
    ScoreError
        The margin is out of range, or a candidate has fewer than two prompts with the base.
    """
    settings.check()
    pairs = [scores.pair(at) for at in range(1, len(scores.models))]
    order = _Order(scores, settings)
    units = [order.units(pair) for pair in pairs]
    judged = _always if settings.look is Look.ALWAYS else _once
    found = judged(units, settings)
    candidates = tuple(
        _candidate(scores, at, pair, order, settings, len(pairs), each)
        for at, (pair, each) in enumerate(zip(pairs, found, strict=True), 1)
    )
    bounds = scores.scale.low, scores.scale.high
    return GateReport(
        *(scores.models[0], candidates, settings, measure, scores.metric, bounds, scores.coupled),
        notes=scores.notes,
    )


@dataclass(frozen=True, eq=False)
class _Units:
    """Units of a pair in their order, of those that any pair has; NaN where it lacks one.

    Attributes
    ----------
    differences, weights : ndarray of float64, shape (units,)
    prompt_weights : ndarray of float64, shape (prompts,)
        What each prompt counts in a mean.
    uneven, binary : bool
    """

    differences: FloatArray
    weights: FloatArray
    prompt_weights: FloatArray
    uneven: bool
    binary: bool

    @property
    def there(self) -> FloatArray:
        """The differences of units that the pair has."""
        return self.differences[np.isfinite(self.differences)]

    @property
    def sample(self) -> Sample:
        """Those at one look, where each counts once."""
        return Sample(self.there, self.binary)


class _Order:
    """The order in which a seed draws the units, the same for all candidates."""

    def __init__(self, scores: PairedScores, settings: GateSettings) -> None:
        self._unit = scores.groups
        names = list(dict.fromkeys(scores.clusters or scores.prompts))
        order = np.arange(len(names)) if scores.drawn else drawn_order(names, settings.seed)
        self._place = np.argsort(order)
        self._largest = settings.largest_group
        size = int(np.bincount(self._unit).max(initial=0))
        if self._largest is not None and size > self._largest:
            text = _("A group has {n:,} prompts: `largest_group` {largest:,} is too small.")
            raise ScoreError(text.format(n=size, largest=self._largest))

    def units(self, pair: Pair, some: np.ndarray | None = None) -> _Units:
        """Return the differences of units; of some prompts of a pair, if they are named."""
        kept = slice(None) if some is None else some
        n, unit = len(self._place), self._unit[pair.places][kept]
        place, each = self._place[unit], pair.differences[kept]
        count = np.bincount(place, minlength=n)
        total = np.bincount(place, each, n)
        with np.errstate(invalid="ignore"):
            mean = np.where(count > 0, total / count, np.nan)
        sizes = count[count > 0]
        alone = bool(sizes.max(initial=0) <= 1)
        return _Units(
            mean,
            weights=np.ones(n) if self._largest is None else count / self._largest,
            prompt_weights=np.ones(len(each)) if self._largest else 1 / count[place],
            uneven=bool(np.ptp(sizes) > 0) if sizes.size else False,
            binary=pair.binary and alone,
        )


@dataclass(frozen=True)
class _Judged:
    """What a test says of a candidate."""

    verdict: Verdict
    method: str
    low: float
    high: float
    known_after: int | None
    further: int | None
    closing: Closing | None = None


def _always(units: Sequence[_Units], settings: GateSettings) -> list[_Judged]:
    """Judge by betting, unit by unit, all candidates together."""
    differences = np.stack([each.differences for each in units], axis=1)
    weights = np.stack([np.maximum(each.weights, 1e-9) for each in units], axis=1)
    found = walk(differences, weights, settings.margin, settings.alpha, _LOOKS)
    verdicts, known, more = found.gate.verdicts, found.gate.known_after, further(found.gate)
    return [
        _Judged(
            verdicts[at],
            BETTING,
            float(found.low[-1, at]),
            float(found.high[-1, at]),
            known[at],
            more[at],
            Closing(found.seen, found.difference[:, at], found.low[:, at], found.high[:, at]),
        )
        for at in range(len(units))
    ]


def _once(units: Sequence[_Units], settings: GateSettings) -> list[_Judged]:
    """Judge by one test at the end; of several candidates by Holm's steps."""
    samples = [each.sample for each in units]
    margin, alpha = settings.margin, settings.alpha
    good, worse, better = (
        fixed.holm(np.array([test(sample, mean) for sample in samples])) <= alpha
        for test, mean in (
            (fixed.p_above, -margin),
            (fixed.p_below, -margin),
            (fixed.p_above, 0.0),
        )
    )
    found: list[_Judged] = []
    for at, sample in enumerate(samples):
        low, high = fixed.bounds(sample, alpha / len(samples))
        verdict = _verdict(good=bool(good[at]), worse=bool(worse[at]), better=bool(better[at]))
        known = verdict is not Verdict.UNKNOWN
        further = 0 if known else _more_of(sample, margin, alpha / len(samples))
        n = len(sample.differences) if known else None
        found.append(_Judged(verdict, sample.method.value, low, high, n, further))
    return found


def _verdict(*, good: bool, worse: bool, better: bool) -> Verdict:
    if worse:
        return Verdict.WORSE
    if good:
        return Verdict.BETTER if better else Verdict.AS_GOOD
    return Verdict.UNKNOWN


_POWER = 0.842  # standard deviations for four times in five


def _more_of(sample: Sample, margin: float, alpha: float) -> int | None:
    """Return how many more units one test would take, four times in five."""
    n, away = len(sample.differences), sample.mean + margin
    if sample.method is fixed.Method.EXACT:
        needed = fixed.alike_needed(sample.mean, -margin, alpha)
        return max(int(np.ceil(needed)) - n, 1) if needed < 1e7 else None
    variance = float(sample.differences.var(ddof=1))
    z = float(fixed.critical_value(2 * alpha)) + _POWER
    needed = z**2 * variance / away**2 if away else np.inf
    return max(int(np.ceil(needed)) - n, 1) if needed < 1e7 else None


def _candidate(
    scores: PairedScores,
    at: int,
    pair: Pair,
    order: _Order,
    settings: GateSettings,
    candidates: int,
    judged: _Judged,
) -> CandidateGate:
    """Return what a test says, and why."""
    model, each = scores.models[at], pair.differences
    units = order.units(pair)
    base, own = np.average(pair.means, axis=0, weights=units.prompt_weights)
    missing = scores.missing(at)
    alone = _alone(scores, at, order, settings) if scores.independent is not None else None
    lacking = missing > settings.most_missing
    return CandidateGate(
        model=model,
        verdict=Verdict.UNKNOWN if lacking else judged.verdict,
        method=judged.method,
        base_score=float(base),
        score=float(own),
        difference=float(np.average(each, weights=units.prompt_weights)),
        low=judged.low,
        high=judged.high,
        prompts=len(each),
        units=len(units.there),
        answers=pair.repetitions,
        known_after=None if lacking else judged.known_after,
        further=None if lacking else judged.further,
        lost=int((each < 0).sum()),
        gained=int((each > 0).sum()),
        uneven=units.uneven,
        missing=missing,
        repeated=pair.repeated,
        worth=noise_worth(pair, scores.groups),
        independent_after=alone,
        independent=scores.independent is not None,
        closing=judged.closing,
        flips=_flips(scores, model, pair),
        categories=_categories(scores, model, pair, order, settings, candidates),
    )


def _alone(scores: PairedScores, at: int, order: _Order, settings: GateSettings) -> int | None:
    """Return after how many units answers with noise of their own tell, in the same order."""
    try:
        pair = scores.pair(at, scores.independent)
    except ScoreError:
        return None
    units = order.units(pair)
    judged = _always if settings.look is Look.ALWAYS else _once
    return judged([units], settings)[0].known_after


def _flips(scores: PairedScores, model: str, pair: Pair) -> tuple[Flip, ...]:
    """Return the prompts on which the two differ, the worst for the candidate first."""
    found: list[Flip] = []
    each, means = pair.differences, pair.means
    for row in np.lexsort((np.arange(len(each)), each)).tolist():
        if each[row] == 0:
            continue
        at = int(pair.places[row])
        found.append(
            Flip(
                candidate=model,
                prompt=scores.prompts[at],
                category=scores.categories[at] if scores.categories else "",
                base_score=float(means[row, 0]),
                candidate_score=float(means[row, 1]),
                difference=float(each[row]),
                battle=scores.battles[at] if scores.battles else "",
            )
        )
    return tuple(found)


def _categories(
    scores: PairedScores,
    model: str,
    pair: Pair,
    order: _Order,
    settings: GateSettings,
    candidates: int,
) -> tuple[CategoryGap, ...]:
    """Return each category of the prompts, that of the largest loss first."""
    if not scores.categories:
        return ()
    own = np.array(scores.categories)[pair.places]
    names = sorted(set(own.tolist()) - {""})
    alpha = settings.alpha / (candidates * max(len(names), 1))
    found: list[CategoryGap] = []
    for name in names:
        some = own == name
        units, each = order.units(pair, some), pair.differences[some]
        mean = float(np.average(each, weights=units.prompt_weights))
        counted = int((each < 0).sum()), int((each > 0).sum())
        bounds = _bounds(units, alpha, settings)
        found.append(CategoryGap(model, name, len(each), mean, *bounds, *counted))
    return tuple(sorted(found, key=lambda gap: gap.difference))


def _bounds(units: _Units, alpha: float, settings: GateSettings) -> tuple[float, float]:
    if settings.look is Look.ONCE:
        return fixed.bounds(units.sample, alpha)
    weights = units.weights[np.isfinite(units.differences)]
    return interval(units.there, weights, settings.margin, alpha)
