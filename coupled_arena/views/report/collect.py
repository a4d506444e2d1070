"""Everything that a report says, read from a store of one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from coupled_arena.analysis.audit.grades import read_benchmark_estimates
from coupled_arena.analysis.audit.result import Audit, audit, read_audit
from coupled_arena.analysis.coupling.savings import (
    Coupling,
    coupling,
    curves_of,
    read_protocol_scores,
)
from coupled_arena.analysis.gate.stored import GateStanding, read_standing
from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
from coupled_arena.analysis.leaderboard.memory import with_sizes
from coupled_arena.analysis.leaderboard.result import Leaderboard, leaderboard
from coupled_arena.analysis.model_sizes import read_sizes
from coupled_arena.analysis.risk.replies import read_stored_scores
from coupled_arena.analysis.risk.result import RiskReport, RiskSettings, risk_report
from coupled_arena.core.choices import BoardSource, Copula
from coupled_arena.core.errors import ScoreError, StoreError
from coupled_arena.core.records import Mode
from coupled_arena.stats.coupling.error_curves import ErrorCurves
from coupled_arena.store.connection import schema_version
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.inventory import Inventory, inventory
from coupled_arena.store.tables import gates, scores
from coupled_arena.store.tables.scores import Accuracy
from coupled_arena.store.transfer.export import Hidden, fingerprint

SEED = 0
"""Of what is drawn at random for the sections on scores."""
SUB_SAMPLINGS = 1_000
"""Behind each point of a curve."""


@dataclass(frozen=True)
class ReportSettings:
    """What a report is to be about; None is everything.

    Attributes
    ----------
    mode : Mode or None
        Which battles the leaderboards and audits count; savings always compare both modes.
    alpha : float
        Error level of all intervals.
    hidden : {"nothing", "rounds", "stored"} or None
        Whose seeds are not told, see `coupled_arena.store.queries.inventory.inventory`.
    """

    judge: str | None = None
    metric: str | None = None
    models: tuple[str, ...] | None = None
    mode: Mode | None = None
    alpha: float = 0.05
    hidden: Hidden | None = None

    def selection(self, judge: str | None = None) -> Selection:
        """Return the comparisons that count."""
        return Selection(judge=judge, mode=self.mode, models=self.models)


@dataclass(frozen=True, eq=False)
class MetricReport:
    """One metric's scores, what coupling saves on it, and who fails least badly by it.

    Attributes
    ----------
    savings : Coupling or None
        None where the protocols cannot be compared, for the reason `why_not`.
    curves : ErrorCurves or None
        Of the same pairs.
    risk : RiskReport or None
        None where models cannot be ranked by risk, for the reason `unranked`.
    """

    metric: str
    accuracies: tuple[Accuracy, ...]
    savings: Coupling | None = None
    curves: ErrorCurves | None = None
    why_not: str = ""
    risk: RiskReport | None = None
    unranked: str = ""


@dataclass(frozen=True, eq=False)
class Report:
    """A report's content; what there is no data for is empty.

    Attributes
    ----------
    store : str
        Name of the database file, without its folder.
    made : datetime
        When, in UTC.
    fingerprint : str
        SHA-256 of all that the store holds.
    boards : tuple of Leaderboard
        By people, then for each judge prediction-powered and by itself.
    modes : Leaderboard or None
        A board whose estimates compares coupled with independent battles.
    gates : tuple of GateStanding
        The newest first; those of which anything can be said.
    audits, gradings : tuple of Audit
        Judges against people's votes, and against benchmarks.
    """

    store: str
    made: datetime
    wanted: ReportSettings
    schema: int
    inventory: Inventory
    fingerprint: str
    boards: tuple[Leaderboard, ...]
    modes: Leaderboard | None
    gates: tuple[GateStanding, ...]
    metrics: tuple[MetricReport, ...]
    audits: tuple[Audit, ...]
    gradings: tuple[Audit, ...]


def collect(store: Store, name: str, wanted: ReportSettings, made: datetime) -> Report:
    """Read everything that a report says.

    The same store and wishes give the same numbers to the last digit.

    Parameters
    ----------
    name : str
        What to call the store.
    made : datetime
        In UTC.

    Raises
    ------
    StoreError
        A judge, metric or model is asked for that the store does not know.
    ValueError
        The error level is not between 0 and 1.
    """
    with store.cursor() as cursor:
        cursor.execute("set threads to 1")  # sums of several threads differ in their last digits
        counted = inventory(cursor, wanted.hidden)
        schema = schema_version(cursor)
        benchmarks = scores.benchmarks(cursor)
        stored_gates = gates.stored(cursor)
    _check(wanted, counted)
    boards = tuple(_boards(store, wanted, counted))
    return Report(
        store=name,
        made=made,
        wanted=wanted,
        schema=schema,
        inventory=counted,
        fingerprint=fingerprint(store),
        boards=boards,
        modes=next((board for board in boards if board.estimates.modes), None),
        gates=tuple(
            standing
            for gate in stored_gates
            if wanted.metric in (None, gate.metric)
            and (wanted.models is None or {gate.base, gate.candidate} <= set(wanted.models))
            and (standing := read_standing(store, gate)).report
        ),
        metrics=tuple(
            _metric(store, each.metric, wanted)
            for each in counted.metrics
            if wanted.metric in (None, each.metric)
        ),
        audits=tuple(
            read_audit(store, wanted.selection(each.judge), alpha=wanted.alpha)
            for each in counted.judges
            if wanted.judge in (None, each.judge) and each.verdicts
        ),
        gradings=tuple(
            audit(
                read_benchmark_estimates(store, wanted.selection(each.judge), metric), wanted.alpha
            )
            for each in counted.judges
            if wanted.judge in (None, each.judge) and each.grades
            for metric in benchmarks
            if wanted.metric in (None, metric)
        ),
    )


def _check(wanted: ReportSettings, counted: Inventory) -> None:
    """Refuse names that the store does not know."""
    kinds: list[tuple[str, Sequence[str], list[str]]] = [
        ("judge", _asked(wanted.judge), [each.judge for each in counted.judges]),
        ("metric", _asked(wanted.metric), [each.metric for each in counted.metrics]),
        ("model", wanted.models or (), [each.model for each in counted.models]),
    ]
    for kind, asked, known in kinds:
        if absent := [name for name in asked if name not in known]:
            raise StoreError(
                f"There is no {kind} {', '.join(absent)} here; known: {', '.join(known) or 'none'}."
            )


def _asked(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _boards(store: Store, wanted: ReportSettings, counted: Inventory) -> Iterator[Leaderboard]:
    """Yield the boards that there are data for."""
    judges = [
        each.judge
        for each in counted.judges
        if wanted.judge in (None, each.judge) and each.verdicts
    ]
    wishes: list[tuple[str | None, tuple[BoardSource, ...]]] = [(None, (BoardSource.HUMAN,))]
    wishes += [(judge, (BoardSource.PPR, BoardSource.JUDGE)) for judge in judges]
    for judge, sources in wishes:
        estimates = read_estimates(store, wanted.selection(judge))
        for source in sources:
            if source in estimates.by_source:
                board = leaderboard(estimates, source=source, alpha=wanted.alpha)
                # A report may be read by those who vote on rounds that are still blind.
                yield with_sizes(
                    board, partial(read_sizes, store, hidden=wanted.hidden or "rounds")
                )


def _metric(store: Store, metric: str, wanted: ReportSettings) -> MetricReport:
    with store.cursor() as cursor:
        found = MetricReport(
            metric,
            tuple(
                each
                for each in scores.accuracies(cursor, metric)
                if wanted.models is None or each.model in wanted.models
            ),
        )
    return _with_risk(_with_savings(found, store, wanted), store, wanted)


def _with_savings(found: MetricReport, store: Store, wanted: ReportSettings) -> MetricReport:
    try:
        stored = read_protocol_scores(store, found.metric, wanted.models)
    except ScoreError as error:
        return replace(found, why_not=str(error))
    return replace(
        found,
        savings=coupling(stored, wanted.alpha),
        curves=curves_of(stored.table, SUB_SAMPLINGS, SEED),
    )


def _with_risk(found: MetricReport, store: Store, wanted: ReportSettings) -> MetricReport:
    settings = RiskSettings(alpha=wanted.alpha, copula=Copula.NONE, seed=SEED)
    try:
        # A report may be read by those who vote on rounds that are still blind.
        table = read_stored_scores(store, wanted.selection(), [found.metric], revealed_only=True)
        return replace(found, risk=risk_report(table, settings))
    except ScoreError as error:
        return replace(found, unranked=str(error))
