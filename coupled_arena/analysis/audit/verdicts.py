"""Counts of votes and verdicts from the store, and the estimates from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from coupled_arena.analysis.audit.errors import Voted, with_errors
from coupled_arena.analysis.leaderboard.clusters import judged_counts
from coupled_arena.analysis.live import Kept
from coupled_arena.analysis.style.judge import JudgeStyleEstimates, read_judge_style
from coupled_arena.core.choices import Control, JudgeScore, Ties, Truth, Voters
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode
from coupled_arena.core.sql import Cursor
from coupled_arena.stats.counts import OUTCOMES, FloatArray, IntArray, JudgedCounts, PairCounts
from coupled_arena.stats.judges.agreement import Agreement
from coupled_arena.stats.judges.powered_means import PoweredMeans
from coupled_arena.stats.judges.quality import (
    Calibration,
    SelfPreference,
    calibration,
    self_preference,
)
from coupled_arena.stats.judges.samples import GradedAnswers, ModelCounts, OwnInfluence
from coupled_arena.stats.judges.voter_tastes import CastRows
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, judge_quality
from coupled_arena.store.queries.benchmark_scores import reworded
from coupled_arena.store.queries.comparisons import Counts, Selection
from coupled_arena.store.queries.judge_quality import JudgeUse, Lengths, Orders, judge_use
from coupled_arena.store.queries.matched_comparisons import number_voters

_TIES = (
    "Probabilities, and flips that abstain, go with ties that count as wins for neither: leave "
    "ties as they are."
)


@dataclass(frozen=True, eq=False)
class OwnCounts:
    """How often models are preferred to others: by rows of comparisons that are alike."""

    models: tuple[str, ...]
    rows: CastRows
    judge: IntArray
    people: IntArray

    def preference(self, alpha: float) -> SelfPreference | None:
        """Return how much more often the judge prefers these models than people do."""
        return self_preference(self.models, self.rows, self.judge, self.people, alpha)


@dataclass(frozen=True, eq=False)
class AuditEstimates:
    """What the comparisons of one selection say of a judge, before an error level is chosen.

    Attributes
    ----------
    selection : Selection
        With a judge.
    benchmark : str or None
        Whose key the judge is held against; None where votes are the truth.
    judged : JudgedCounts or None
        Of the k models that the judge has said anything of, where votes are the truth.
    votes : PairCounts or None
        All people's votes on these models, with and without a verdict.
    outcomes : ndarray of int64, shape (4, 4)
        Comparisons by vote and verdict; where a benchmark is the truth, answers: the first
        outcome is "right", the second "wrong".
    alone : int
        Comparisons with a verdict and no vote.
    tables : mapping of Ties to Agreement
        The 2x2 tables, with ties as losses and dropped.
    bias_variance, rho_variance : ndarray of float64, shape (k,)
        Of the judge's bias and of artanh ρ.
    bias_degrees, rho_degrees : ndarray of float64, shape (k,), or None
        Degrees of freedom of these variances; None where they are many.
    voters : Voters
        Whom all intervals are for.
    voted : Voted or None
        Who voted; None where a benchmark is the truth, or nobody asked.
    majority : bool
        Whether the majority of several voters counts as one vote.
    silent : tuple of str
        Models with votes that the judge has said nothing of.
    orders, lengths, style, use
        What sways the judge, `style` where that is to be held fixed; how the judge is heard.
    own : OwnCounts or None
        Of the models that the judge is itself; None where it is none of them.
    calibration : Calibration or None
        None without probabilities.
    reworded : int
        Questions of a benchmark that were put in several ways, which are counted together.
    only : Mode or None
        The mode of the answers that count alone, where nobody chose one and there are others.
    mixed : tuple of Mode
        The modes that the comparisons come from.
    version : tuple of int
        `Store.version` before anything was read.
    answers : GradedAnswers or None
        Those that a benchmark's key is held against one by one.
    """

    selection: Selection
    ties: Ties
    benchmark: str | None
    judged: JudgedCounts | None
    votes: PairCounts | None
    outcomes: IntArray
    alone: int
    tables: Mapping[Ties, Agreement]
    means: PoweredMeans
    bias_variance: FloatArray
    rho_variance: FloatArray
    silent: tuple[str, ...]
    orders: Orders
    lengths: Lengths
    mixed: tuple[Mode, ...]
    version: tuple[int, ...]
    answers: GradedAnswers | None = None
    use: JudgeUse = field(default_factory=JudgeUse)
    own: OwnCounts | None = None
    calibration: Calibration | None = None
    reworded: int = 0
    only: Mode | None = None
    style: JudgeStyleEstimates | None = None
    bias_degrees: FloatArray | None = None
    rho_degrees: FloatArray | None = None
    voters: Voters = Voters.LIKE
    voted: Voted | None = None
    majority: bool = False

    @property
    def truth(self) -> Truth:
        """What the judge is held against."""
        return Truth.VOTES if self.benchmark is None else Truth.BENCHMARK

    @property
    def models(self) -> tuple[str, ...]:
        """The k models that the judge has said anything of."""
        return self.means.models

    @property
    def table(self) -> Agreement:
        """The 2x2 tables in force."""
        return self.tables[self.ties]


def read_audit_estimates(
    store: Store,
    selection: Selection,
    ties: Ties = Ties.LOSS,
    own: Sequence[str] | None = None,
    voters: Voters = Voters.LIKE,
) -> AuditEstimates:
    """Count votes and verdicts as they are now.

    Parameters
    ----------
    own : sequence of str, optional
        The models that the judge is itself; by default those of its name.
    voters : Voters
        Whom intervals are for.

    Raises
    ------
    StoreError
        The selection names a judge or model that the store does not know.
    ArenaError
        Ties are to be dropped, where verdicts do not count as they are.
    """
    if ties is Ties.DROP and selection != selection.plain:
        raise ArenaError(_TIES)
    version = store.version()
    by_verdict = replace(selection, judge_score=JudgeScore.VERDICT)
    with store.cursor() as cursor:
        cursor.execute("begin")  # counts and cluster sums of one moment
        scored = comparisons.count(cursor, selection)
        plain = scored if selection == by_verdict else comparisons.count(cursor, by_verdict)
        counts = _plainly(plain)
        votes, judged, silent = _models_with_verdicts(counts)
        tables = {kind: Agreement.of(ModelCounts.of(judged), kind) for kind in Ties}
        means = PoweredMeans.of(judged_counts(scored.of(judged.models)), ties)
        found = influences(tables[ties], ties)
        people = number_voters(cursor) if voters is Voters.LIKE else 0
        errors = with_errors(cursor, selection, judged, means, found, people=people)
        of_verdicts = _of_verdicts(cursor, selection)
        itself = _own(cursor, selection, own, voters=people > 0)
        likely = _calibration(cursor, selection, voters=people > 0)
        several = reworded(cursor, selection, compared=True)
        cursor.execute("commit")
    return AuditEstimates(
        *(selection, ties, None),
        judged=judged,
        votes=votes,
        outcomes=judged.labelled.sum((0, 1)),
        alone=int(judged.unlabelled.sum()),
        tables=tables,
        **vars(errors),
        voters=voters,
        silent=silent,
        **of_verdicts,
        mixed=_mixed(counts),
        version=version,
        own=itself,
        calibration=likely,
        reworded=several,
    )


def _own(
    cursor: Cursor, selection: Selection, named: Sequence[str] | None, *, voters: bool
) -> OwnCounts | None:
    models = judge_quality.own_models(cursor, selection) if named is None else tuple(named)
    known = comparisons.model_numbers(cursor, replace(selection, models=None))
    if unknown := [model for model in models if model not in known]:
        raise ArenaError(f"No battle has {', '.join(unknown)}. Known models: {', '.join(known)}.")
    models = tuple(m for m in models if selection.models is None or m in selection.models)
    if not models:
        return None
    cast, judge, people = judge_quality.own_preference(cursor, selection, models, voters=voters)
    return OwnCounts(models, _rows(cast), judge, people)


def _of_verdicts(cursor: Cursor, selection: Selection) -> dict[str, Any]:
    """Return what verdicts alone say of their judge, and how it is heard."""
    return {
        "orders": judge_quality.orders(cursor, selection),
        "lengths": judge_quality.lengths(cursor, selection),
        "use": judge_use(cursor, selection),
    }


def _calibration(cursor: Cursor, selection: Selection, *, voters: bool) -> Calibration | None:
    likely, outcomes, cast = judge_quality.probabilities(cursor, selection, voters=voters)
    return calibration(likely, outcomes, _rows(cast))


def _rows(cast: judge_quality.Cast) -> CastRows:
    return CastRows(cast.prompt, cast.times, cast.voter)


def _models_with_verdicts(counts: Counts) -> tuple[PairCounts, JudgedCounts, tuple[str, ...]]:
    """Return votes and verdicts of the models that have a verdict, and the other models."""
    every = judged_counts(counts)
    spoken = every.verdicts.comparisons.any(axis=1)
    at = np.flatnonzero(spoken)
    judged = every.of([counts.models[i] for i in at])
    votes = counts.votes.sum((0, 1))[np.ix_(at, at)]
    silent = tuple(counts.models[i] for i in np.flatnonzero(~spoken))
    return PairCounts(judged.models, votes), judged, silent


def _plainly(counts: Counts) -> Counts:
    """Return counts of compared models without verdicts that the judge abstains from."""
    counts, codes = counts.of(counts.compared), slice(len(OUTCOMES))
    labelled, unlabelled = counts.labelled[..., codes], counts.unlabelled[..., codes]
    return replace(
        counts, labelled=labelled.astype(np.int64), unlabelled=unlabelled.astype(np.int64)
    )


def influences(table: Agreement, ties: Ties) -> list[OwnInfluence]:
    """Return what a comparison adds to the errors of the bias and of artanh ρ."""
    nothing = np.zeros((len(table.n), 3))
    return [
        OwnInfluence(table.bias_influence(ties), nothing),
        OwnInfluence(table.rho_influence(ties), nothing),
    ]


def _mixed(counts: Counts) -> tuple[Mode, ...]:
    sizes = counts.labelled.sum((1, 2, 3, 4)) + counts.unlabelled.sum((1, 2, 3))
    return tuple(mode for mode, n in zip(Mode, sizes, strict=True) if n)


# Audits that follow the store.


class LiveAudits:
    """Audits that are made again only when the store has changed; for any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: Kept[tuple[Selection, Ties, Voters], AuditEstimates] = Kept(store)
        self._styled: Kept[tuple[Selection, Ties, Voters, Control], AuditEstimates] = Kept(store)

    def get(
        self,
        selection: Selection,
        ties: Ties,
        control: Control = Control.NONE,
        voters: Voters = Voters.LIKE,
    ) -> AuditEstimates:
        """Return what `read_audit_estimates` does; the same object until the store changes.

        With `control` also what `read_judge_style` says with that held fixed.
        """
        plain = self._kept.get(
            (selection, ties, voters),
            lambda: read_audit_estimates(self._store, selection, ties, voters=voters),
        )
        if control is Control.NONE:
            return plain
        return self._styled.get(
            (selection, ties, voters, control),
            lambda: replace(plain, style=read_judge_style(self._store, selection, control, voters)),
        )
