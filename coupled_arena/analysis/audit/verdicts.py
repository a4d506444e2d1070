"""Counts of votes and verdicts from the store, and the estimates from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse import csr_array

from coupled_arena.analysis.leaderboard.clusters import judged_counts, stacked
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
from coupled_arena.stats.judges.samples import Compared, GradedAnswers, ModelCounts, OwnInfluence
from coupled_arena.stats.judges.voters import (
    Ballots,
    CastRows,
    Tasted,
    cells_of_models,
    for_people,
    shares_of,
)
from coupled_arena.stats.ranking.voters import Shares
from coupled_arena.store.database import Store
from coupled_arena.store.queries import clusters, comparisons, judge_quality
from coupled_arena.store.queries.benchmark_scores import reworded
from coupled_arena.store.queries.clusters import blocks, number_voters
from coupled_arena.store.queries.comparisons import Counts, Selection
from coupled_arena.store.queries.judge_quality import JudgeUse, Lengths, Orders, judge_use

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
class Voted:
    """Who voted beside verdicts, where it matters.

    Attributes
    ----------
    people, votes : int
        Votes of nobody known are one person's each.
    worth : float or None
        As many votes, each by a person of its own, tell as much of how often people prefer models.
        None where intervals do not depend on who voted: one person did, or each vote is another's.
    """

    people: int
    votes: int
    worth: float | None

    @property
    def alone(self) -> bool:
        """Whether one person cast all votes: then nothing is known of other people."""
        return self.people < 2


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
        errors = _with_errors(cursor, selection, judged, means, found, people=people)
        orders = judge_quality.orders(cursor, selection)
        lengths = judge_quality.lengths(cursor, selection)
        use, itself = judge_use(cursor, selection), _own(cursor, selection, own, voters=people > 0)
        *said, cast = judge_quality.probabilities(cursor, selection, voters=people > 0)
        likely = calibration(*said, _rows(cast))
        several = reworded(cursor, selection, compared=True)
        cursor.execute("commit")
    return AuditEstimates(
        selection=selection,
        ties=ties,
        benchmark=None,
        judged=judged,
        votes=votes,
        outcomes=judged.labelled.sum((0, 1)),
        alone=int(judged.unlabelled.sum()),
        tables=tables,
        means=errors.means,
        bias_variance=errors.variances[0],
        rho_variance=errors.variances[1],
        bias_degrees=errors.degrees and errors.degrees[0],
        rho_degrees=errors.degrees and errors.degrees[1],
        voters=voters,
        voted=errors.voted,
        silent=silent,
        orders=orders,
        lengths=lengths,
        mixed=_mixed(counts),
        version=version,
        use=use,
        own=itself,
        calibration=likely,
        reworded=several,
    )


@dataclass(frozen=True, eq=False)
class _Errors:
    """Means that know which comparisons depend on each other, and the rest of an audit likewise.

    `variances` and `degrees` are of the bias, and of artanh ρ; degrees None where there are many.
    """

    means: PoweredMeans
    variances: tuple[FloatArray, FloatArray]
    degrees: tuple[FloatArray, FloatArray] | None
    voted: Voted | None


def _with_errors(
    cursor: Cursor,
    selection: Selection,
    judged: JudgedCounts,
    means: PoweredMeans,
    bias_and_rho: Sequence[OwnInfluence],
    *,
    people: int,
) -> _Errors:
    """Return what is known where comparisons on one prompt, or by one voter, share something."""
    plain = np.diag(np.concatenate([np.diag(Compared(judged).gram(x, x)) for x in bias_and_rho]))
    prompts = bool(judged.models) and clusters.clusters_overlap(cursor)
    people = people if judged.models else 0
    if not prompts and not people:
        return _errors(means, plain, None, None)
    ties, by_verdict = means.ties, replace(selection, judge_score=JudgeScore.VERDICT)
    summed = [
        _summed(cursor, of, means.models, influences, ties, prompts=prompts, people=people)
        for of, influences in (
            (selection, [means.human_influence, means.judge_influence]),
            (by_verdict, bias_and_rho),
        )
    ]
    powered, own = summed
    these, variance = means, plain
    if prompts:
        these = means.clustered(powered.gram.sum, powered.gram.clusters)
        variance = own.gram.sum * these.inflation
    if not people:
        return _errors(these, variance, None, None)
    cell = np.tile(np.arange(len(means.models)), 2)
    tasted = for_people(own.ballots, own.adds, cell, plain, variance, own.prompts)
    made = these.of_people(powered.ballots, powered.adds, powered.prompts)
    voted = Voted(powered.ballots.voters, int(judged.votes.counts.sum()), made.votes_worth)
    return _errors(made, variance, tasted, voted)


def _errors(
    means: PoweredMeans, variance: FloatArray, tasted: Tasted | None, voted: Voted | None
) -> _Errors:
    k = len(means.models)
    degrees = means.degrees_of(np.eye(k, 2 * k))
    halves = None if degrees is None else (degrees, degrees)
    if tasted is not None:
        variance = tasted.covariance
        every = np.array([tasted.degrees(row, means.degrees) for row in np.eye(2 * k)])
        halves = every[:k], every[k:]
    own = np.diag(variance)
    return _Errors(means, (own[:k], own[k:]), halves, voted)


@dataclass(frozen=True, eq=False)
class _Summed:
    """What comparisons add up to by prompt, and by voter where people voted.

    `adds` is what a vote of a kind adds to each number, `prompts` how votes are spread over them.
    """

    gram: clusters.Gram
    ballots: Ballots
    adds: csr_array
    prompts: Shares | None


def _summed(
    cursor: Cursor,
    selection: Selection,
    models: tuple[str, ...],
    influences: Sequence[OwnInfluence],
    ties: Ties,
    *,
    prompts: bool,
    people: int,
) -> _Summed:
    of_pairs = [each.of_pairs for each in influences]
    cells, k = stacked(of_pairs), len(models)
    gram, counted = clusters.Gram(cells, 2 * k), clusters.VoterCounts(cells, people)
    counts_in = cells_of_models(k, of_pairs[0].labelled.shape[3], ties)
    total, on_prompts = np.zeros(len(counted.kinds)), list[csr_array]()
    for block in blocks(cursor, selection, models, cells, voters=people > 0):
        found = block.by_prompt
        if prompts:
            gram.add(found)
        if people:
            counted.add(block)
            voted = csr_array(found[:, counted.kinds])
            total += np.asarray(voted.sum(axis=0), dtype=np.float64).ravel()
            on_prompts.append(voted)
    ballots = Ballots(counted.by_voter, counted.repeated, counts_in, total)
    spread: Shares | None = None
    for voted in on_prompts if prompts else []:
        more = shares_of(voted, counts_in, ballots.size)
        spread = more if spread is None else spread + more
    adds = csr_array(cells.by_model(2 * k)[counted.kinds])
    return _Summed(gram, ballots, adds, spread)


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
