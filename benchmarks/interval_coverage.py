"""Do the intervals of coupling, audits and judges hold the truth? Against known laws.

    python -m benchmarks.interval_coverage [--repeats 2000] [--only WORD]

Each law is drawn again and again; what is counted is how often an interval holds what it is about,
which follows from the law: from its formula, or from a sample of a million. What is below the
nominal level by more than three binomial errors is marked.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from tqdm import tqdm

from coupled_arena.analysis.audit.grades import graded_estimates
from coupled_arena.analysis.audit.result import audit
from coupled_arena.stats.counts import FloatArray, PairCounts
from coupled_arena.stats.coupling.modes import compare_modes
from coupled_arena.stats.coupling.score_tables import ScoreTable, compare_scores
from coupled_arena.stats.judges.judge_probabilities import probability_means
from coupled_arena.stats.judges.powered_means import difference
from coupled_arena.stats.judges.quality import calibration, self_preference
from coupled_arena.stats.judges.samples import GradedAnswers
from coupled_arena.stats.judges.voter_tastes import CastRows
from coupled_arena.stats.simulation.rank_set_runs import binomial_error
from coupled_arena.store.queries.comparisons import Selection

Interval = tuple[float, float, float]
"""Low, high, and the truth."""
Draw = Callable[[np.random.Generator], Interval]
MANY = 1_000_000


@dataclass(frozen=True)
class Setting:
    """An interval on some law."""

    what: str
    data: str
    level: float
    draw: Draw


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--only", default="", help="settings whose interval has this word")
    given = parser.parse_args()
    print("| interval | data | promised | holds |\n|---|---|---|---|")
    for each in settings():
        if given.only in each.what:
            share = covered(each, given.repeats)
            low = share < each.level - 3 * binomial_error(each.level, given.repeats)
            cells = (each.what, each.data, f"{each.level:.2f}", f"{share:.3f}")
            print(f"| {' | '.join(cells)}{' **low**' if low else ''} |", flush=True)


def covered(setting: Setting, repeats: int) -> float:
    """Return how often an interval holds the truth; one without bounds does."""
    held = 0
    for repeat in tqdm(range(repeats), desc=setting.what, leave=False):
        low, high, truth = setting.draw(np.random.default_rng([17, repeat]))
        held += not (truth < low or truth > high)
    return held / repeats


def settings() -> Iterator[Setting]:
    """Yield all intervals, each with little data and with as much as people have."""
    for prompts, answers in ((20, 3), (60, 3), (200, 10)):
        data = f"{prompts} prompts, {answers} answers each"
        yield Setting(
            "samples saved", data, 0.95, lambda rng, p=prompts, a=answers: saved(rng, p, a)
        )
    for tails, sizes in (
        (False, ((5, 3), (10, 5), (30, 3))),
        (True, ((30, 3), (100, 3), (500, 2))),
    ):
        for prompts, answers in sizes:
            yield Setting(
                "samples saved, lognormal scores" if tails else "samples saved, normal scores",
                f"{prompts} prompts, {answers} answers each",
                0.95,
                lambda rng, p=prompts, a=answers, t=tails: saved_of_numbers(rng, p, a, tails=t),
            )
    for prompts, answers in ((60, 1), (500, 1), (60, 3), (200, 3)):
        data = f"{prompts} prompts, {answers} answer{'s' * (answers > 1)} each"
        for soft in (False, True):
            yield Setting(
                f"worth of one label, by {'probability' if soft else 'verdict'}",
                data,
                0.9,
                lambda rng, p=prompts, a=answers, s=soft: worth(rng, p, a, soft=s),
            )
        yield Setting(
            "share right with probabilities",
            data,
            0.95,
            lambda rng, p=prompts, a=answers: powered(rng, p, a),
        )
    for prompts, answers in ((15, 1), (15, 5), (40, 1), (40, 3)):
        data = f"rates .9, {prompts} prompts, {answers} answer{'s' * (answers > 1)} each"
        yield Setting(
            "worth of one label, few checked",
            data,
            0.9,
            lambda rng, p=prompts, a=answers: easy_worth(rng, p, a),
        )
        yield Setting(
            "difference with the judge",
            data,
            0.95,
            lambda rng, p=prompts, a=answers: easy_difference(rng, p, a),
        )
    for prompts in (10, 40, 200):
        data = f"{prompts} prompts, 1 to 4 comparisons each"
        yield Setting("self-preference", data, 0.95, lambda rng, p=prompts: preference(rng, p))
    for prompts in (40, 200, 1000):
        data = f"{prompts} prompts, 2 comparisons each"
        for error in (False, True):
            yield Setting(
                "expected calibration error" if error else "Brier score",
                data,
                0.95,
                lambda rng, p=prompts, e=error: calibrated(rng, p, error=e),
            )
    for battles in (40, 200, 1000):
        data = f"{battles} battles under each protocol"
        yield Setting("change of ties", data, 0.95, lambda rng, b=battles: ties(rng, b))


def scores(rng: np.random.Generator, prompts: int, answers: int) -> ScoreTable:
    """Two models of which one is a little better, on easy and hard prompts."""
    better = rng.beta(1, 1, (prompts, 1, 1))
    right = np.clip(better + rng.normal(0, 0.1, (prompts, 1, 2)) - [0.0, 0.05], 0, 1)
    luck = rng.random((prompts, answers, 1)), rng.random((prompts, answers, 2))
    return ScoreTable(("a", "b"), *((each < right).astype(np.float64) for each in luck))


@cache
def true_savings() -> float:
    table = scores(np.random.default_rng(1), MANY // 2, 2)
    one, two = ((each[..., 0] - each[..., 1]).var() for each in (table.coupled, table.independent))
    return float(1 - one / two)


def saved(rng: np.random.Generator, prompts: int, answers: int) -> Interval:
    (pair,) = compare_scores(scores(rng, prompts, answers))
    return pair.savings_low, pair.savings_high, true_savings()


def saved_of_numbers(
    rng: np.random.Generator, prompts: int, answers: int, *, tails: bool
) -> Interval:
    """Draw normal scores that share half of their variance under coupling, or lognormal ones."""
    ease = rng.normal(0, 0.5, (prompts, 1, 1))
    own, alone = rng.normal(size=(2, prompts, answers, 2))
    luck = rng.normal(size=(prompts, answers, 1))
    both = np.stack([ease + (own + luck) * 0.5**0.5, ease + alone])
    (pair,) = compare_scores(ScoreTable(("a", "b"), *(np.exp(both) if tails else both)))
    truth = 1 - (np.e - np.e**0.5) / (np.e - 1) if tails else 0.5
    return pair.savings_low, pair.savings_high, truth


def graded(rng: np.random.Generator, prompts: int, answers: int, hidden: int = 0) -> GradedAnswers:
    """One model's answers, each prompt easier or harder, and a judge who errs more on some.

    Of the first prompts the truth is known, of `hidden` more the judge's word alone.
    """
    every = prompts + hidden
    easy, sharp = rng.uniform(0.3, 0.9, (every, 1)), rng.uniform(0.6, 0.95, (every, 1))
    right = (rng.random((every, answers)) < easy).astype(np.int64)
    heard = rng.random((every, answers)) < sharp
    called = np.where(heard, right, 1 - right)
    likely = np.where(called == 1, sharp, 1 - sharp) + rng.uniform(-0.05, 0.05, right.shape)
    prompt = np.repeat(np.arange(every), answers)
    known = right.ravel().copy()
    known[prompts * answers :] = -1
    nobody = np.zeros_like(prompt)
    return GradedAnswers(
        *(("a",), nobody, prompt, prompt, known, called.ravel().astype(np.int64), likely.ravel())
    )


@cache
def true_worth(*, soft: bool) -> float:
    drawn = graded(np.random.default_rng(2), MANY, 1)
    said = drawn.probability if soft else drawn.called_right
    assert said is not None
    return float(1 / (1 - np.corrcoef(drawn.right, said)[0, 1] ** 2))


def worth(rng: np.random.Generator, prompts: int, answers: int, *, soft: bool) -> Interval:
    drawn = graded(rng, prompts, answers)
    if soft:
        (row,) = probability_means(drawn, 0.1)
        return row.tau_max_low, row.tau_max_high, true_worth(soft=True)
    (row,) = audit(graded_estimates(drawn, Selection(judge="judge"), "quiz"), 0.1).models
    low, high = (np.nan if end is None else end for end in (row.tau_max_low, row.tau_max_high))
    return low, high, true_worth(soft=False)


def powered(rng: np.random.Generator, prompts: int, answers: int) -> Interval:
    (row,) = probability_means(graded(rng, prompts, answers, hidden=4 * prompts), 0.05)
    return row.powered_low, row.powered_high, 0.6  # the mean of `easy`


def easy(rng: np.random.Generator, prompts: int, answers: int) -> GradedAnswers:
    """Two equal models that are right in .9, on easier and harder prompts, and a judge likewise.

    Of the first prompts the truth is known, of four times as many the judge's word alone.
    """
    every, size = 5 * prompts, 5 * prompts * answers
    easy, sharp = rng.beta(3.6, 0.4, (2, every)), rng.uniform(0.82, 0.98, (2, every))
    right = (rng.random((answers, 2, every)) < easy).astype(np.int64)
    called = np.where(rng.random(right.shape) < sharp, right, 1 - right)
    prompt = np.broadcast_to(np.arange(every), right.shape).ravel()
    model = np.broadcast_to(np.arange(2)[:, None], right.shape).ravel()
    known = np.where(prompt < prompts, right.ravel(), -1)
    battle = np.arange(2 * size)
    return GradedAnswers(("a", "b"), model, battle, prompt, known, called.ravel())


def easy_worth(rng: np.random.Generator, prompts: int, answers: int) -> Interval:
    row = audit(graded_estimates(easy(rng, prompts, answers), Selection(judge="j"), "quiz"), 0.1)
    one = next(each for each in row.models if each.model == "a")
    low, high = (np.nan if end is None else end for end in (one.tau_max_low, one.tau_max_high))
    right, wrong = 0.9 * 0.9, 0.1 * 0.1  # both say right; the judge alone does
    rho = (right - 0.9 * (right + wrong)) / np.sqrt(
        0.9 * 0.1 * (right + wrong) * (1 - right - wrong)
    )
    return low, high, 1 / (1 - rho**2)


def easy_difference(rng: np.random.Generator, prompts: int, answers: int) -> Interval:
    means = graded_estimates(easy(rng, prompts, answers), Selection(judge="j"), "quiz").means
    found = difference(means, 0, 1, 0.05)
    return found.powered_low, found.powered_high, 0.0


def preference(rng: np.random.Generator, prompts: int) -> Interval:
    """Draw a judge who prefers itself the more often, the oftener people do."""
    n = rng.integers(1, 5, prompts)
    good = rng.beta(2, 2, prompts)
    people, judge = rng.binomial(n, good), rng.binomial(n, 0.1 + 0.8 * good)
    rows = CastRows(np.arange(prompts), n)
    found = self_preference(("a",), rows, judge / n, people / n, 0.05)
    assert found is not None
    return found.low, found.high, 0.1 + 0.8 * 0.5 - 0.5


def likelihoods(rng: np.random.Generator, prompts: int) -> tuple[FloatArray, FloatArray, CastRows]:
    """Draw probabilities of a judge who is too sure, and what people said."""
    true = rng.dirichlet([1.5, 1.5, 0.7], prompts).repeat(2, axis=0)
    told = true**1.6
    told /= told.sum(axis=1, keepdims=True)
    place = (rng.random((2 * prompts, 1)) > true.cumsum(axis=1)[:, :2]).sum(axis=1)
    return told, np.eye(3)[place], CastRows.each(np.arange(prompts).repeat(2))


@cache
def true_calibration() -> tuple[float, float]:
    found = calibration(*likelihoods(np.random.default_rng(3), MANY // 10))
    assert found is not None
    return found.error, found.brier


def calibrated(rng: np.random.Generator, prompts: int, *, error: bool) -> Interval:
    found = calibration(*likelihoods(rng, prompts))
    assert found is not None
    low, high = found.error_interval(0.05) if error else found.brier_interval(0.05)
    return low, high, true_calibration()[0 if error else 1]


def ties(rng: np.random.Generator, battles: int) -> Interval:
    """Draw ties, .45 under coupling and .3 without it."""
    both = [rng.multinomial(battles, [0.6 * won, 0.4 * won, 1 - won, 0]) for won in (0.55, 0.7)]
    counts = []
    for drawn in both:
        cells = np.zeros((2, 2, 4), dtype=np.int64)
        cells[0, 1] = drawn
        counts.append(PairCounts(("a", "b"), cells))
    return *compare_modes(*counts).tie_interval(0.05), 0.45 / 0.3 - 1


if __name__ == "__main__":
    main()
