"""The experiments of the ranking paper on anybody's votes: how many to draw, and how to rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coupled_arena.core.choices import Covariance, Cutoff, Weighting
from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.ranking.published import is_papers_own
from coupled_arena.papers.shared import judges_of, pooled_notes, read_shared
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.simulation.resampling import Resampling, ResamplingPlan, resample_judges
from coupled_arena.stats.simulation.shared import SharedComparisons
from coupled_arena.stats.simulation.subsets import fitting_sizes

LEVELS = (0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.025, 0.01)
"""The paper's error levels."""
REPEATS = 1000
_A_PAIR = 96  # comparisons of each pair of models in a draw of the paper
SOME, NINE = (15,), (1, 2, 3, 7, 15, 22, 30, 37, 45)
"""How many of these keep their vote: in most figures, and where the number is what matters."""
_DRAWS = 2000  # for max-t: the error on a repeat, .0049 of alpha = .05, averages out over repeats

PUBLISHED: Mapping[str, Any] = {
    "weighting": Weighting.COUNT,
    "covariance": Covariance.PUBLISHED,
    "cutoff": Cutoff.CHI2,
}
CORRECTED: Mapping[str, Any] = {"draws": _DRAWS}
SETTINGS = {"published": PUBLISHED, "corrected": CORRECTED}
"""How to rank: as the paper does, and so that rank-sets cover what they promise."""


@dataclass(frozen=True)
class Subsets:
    """How many comparisons each repeat draws.

    Attributes
    ----------
    total : int
    human : tuple of int
        How many of them keep their vote.
    balanced : bool
        The same number in every pair.
    notes : tuple of str
        Where this differs from the paper, and why.
    """

    total: int
    human: tuple[int, ...]
    balanced: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """An experiment by how it was ranked and by judge.

    Attributes
    ----------
    results : mapping of str to mapping of str to Resampling
        By the names of `SETTINGS`, then by the judge's.
    notes : tuple of str
    papers_own : bool
        Whether models and comparisons are those of the paper.
    """

    results: Mapping[str, Mapping[str, Resampling]]
    notes: tuple[str, ...]
    papers_own: bool = False


def run_experiment(source: PaperSource, kept: Sequence[int], alphas: Sequence[float]) -> Experiment:
    """Draw random subsets of the comparisons that all judges have judged, and rank them.

    Parameters
    ----------
    kept : sequence of int
        How many of the paper's 96 comparisons a pair keep their vote, each an experiment.
    alphas : sequence of float
        Error levels, where the settings have none.

    Raises
    ------
    ArenaError
        There is no judge, or no comparison that all of them have judged.
    """
    if not judges_of(source):
        raise ArenaError("No judge has a verdict here: give --verdicts NAME=FILE, or run `judge`.")
    shared, chosen = read_shared(source), source.settings
    subsets = subsets_of(shared, kept, chosen.sizes)
    results: dict[str, dict[str, Resampling]] = {}
    try:
        for name, how in SETTINGS.items():
            plan = ResamplingPlan(
                total=subsets.total,
                human=subsets.human,
                repeats=chosen.repeats or REPEATS,
                alphas=tuple(chosen.alpha or alphas),
                balanced=subsets.balanced,
                seed=chosen.seed,
                **how,
            )
            results[name] = resample_judges(shared, plan, source.track)
    except ValueError as error:
        raise ArenaError(str(error)) from error
    warned = {text for found in results.values() for one in found.values() for text in one.warnings}
    notes = (*pooled_notes(source), *subsets.notes, *sorted(warned))
    return Experiment(results, notes, is_papers_own(shared))


def subsets_of(
    shared: SharedComparisons, kept: Sequence[int], sizes: Sequence[int] = ()
) -> Subsets:
    """Return as many comparisons as there are of every pair; on the paper's data its own numbers.

    Parameters
    ----------
    kept : sequence of int
        As in `run_experiment`; scaled to what there is.
    sizes : sequence of int
        How many keep their vote, whatever the pairs, in place of `kept`.

    Raises
    ------
    ArenaError
        A size is more than there is to draw.
    """
    met = shared.votes.comparisons[np.triu_indices(len(shared.models), 1)]
    least = int(met.min())
    balanced = least > 1
    pairs = len(met) if balanced else 1
    each = least if balanced else fitting_sizes(shared, balanced=False).total
    if sizes and not 0 < max(sizes) <= pairs * each:
        raise ArenaError(f"--sizes {max(sizes)}: at most {pairs * each} can keep their vote here.")
    wanted = [n // pairs for n in sizes] or [round(each * n / _A_PAIR) for n in kept]
    human = sorted({pairs * min(max(n, 1), each) for n in wanted})
    notes: list[str] = []
    if not balanced:
        pair = _worst(shared)
        notes.append(
            f"{pair[0]} and {pair[1]} have {least} comparison{'s' * (least != 1)} with a vote and "
            f"a verdict of each judge: subsets of {each} are drawn as they fall, not evenly from "
            "all pairs as in the paper."
        )
    elif each != _A_PAIR:
        notes.append(
            f"The pair with the fewest comparisons has {each}, the paper's {_A_PAIR}: each draw "
            f"has {each} of every pair, of which {', '.join(str(n // pairs) for n in human)} keep "
            "their vote."
        )
    return Subsets(pairs * each, tuple(human), balanced, tuple(notes))


def _worst(shared: SharedComparisons) -> tuple[str, str]:
    first, second = np.triu_indices(len(shared.models), 1)
    worst = int(shared.votes.comparisons[first, second].argmin())
    return shared.models[int(first[worst])], shared.models[int(second[worst])]
