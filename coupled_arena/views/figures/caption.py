"""Which settings a figure was made with, in lines that fit a phone."""

from __future__ import annotations

from html import escape

from coupled_arena.analysis.audit.read import Truth
from coupled_arena.analysis.audit.result import Audit
from coupled_arena.analysis.leaderboard.read import BoardSource
from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.analysis.risk.result import PORTFOLIO, RiskReport, RiskView
from coupled_arena.core.records import Mode
from coupled_arena.stats.judges.model_counts import Ties
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.figures.theme import shortened
from coupled_arena.views.words.symbols import symbols

_LINE = 50  # characters
_MODES = {
    Mode.COUPLED: "coupled battles",
    Mode.INDEPENDENT: "independent battles",
    Mode.UNKNOWN: "imported battles",
    None: "all battles",
}


def caption(board: Leaderboard) -> tuple[str, ...]:
    """Return the settings of a board, as plotly's markup."""
    return _lines(
        [*_whose(board), _MODES[board.mode], *_filters(board.estimates.selection), *_method(board)]
    )


def count_caption(board: Leaderboard) -> tuple[str, ...]:
    """Return the settings that counts depend on: no method, no error level."""
    return _lines(
        [*_whose(board), _MODES[board.mode], *_filters(board.estimates.selection), "plain counts"]
    )


def mode_caption(board: Leaderboard) -> tuple[str, ...]:
    """Return the settings of a comparison of the modes."""
    voted = board.estimates.votes.comparisons.any()
    whose = "people's votes" if voted else f"verdicts of {_judge(board)}"
    clustered = f"{board.estimates.method.covariance} covariance"
    stars = "stars: p < .05 * .01 ** .001 *** .0001 ****"
    return _lines([whose, _number(board), *_filters(board.estimates.selection), clustered, stars])


_TRUTHS = {Truth.VOTES: "people's votes", Truth.BENCHMARK: "a benchmark"}


def audit_caption(audit: Audit) -> tuple[str, ...]:
    """Return the settings of an audit."""
    estimates = audit.estimates
    ties = "ties as losses" if estimates.ties is Ties.LOSS else "ties dropped"
    return _lines(
        [
            f"judge {shortened(audit.judge)} against {_TRUTHS[estimates.truth]}",
            f"{audit.comparisons:,} {symbols(audit).many} with both",
            _MODES[estimates.selection.mode],
            *_filters(estimates.selection),
            *([ties] if estimates.truth is Truth.VOTES else []),
            f"alpha {audit.alpha:g}",
        ]
    )


def risk_caption(report: RiskReport, view: RiskView) -> tuple[str, ...]:
    """Return the scores that are ranked and how many of them there are."""
    return _lines(_scores(report, view))


def dominance_caption(report: RiskReport, view: RiskView) -> tuple[str, ...]:
    """Return the settings that tests of dominance depend on."""
    plan = report.plan
    return _lines(
        [
            *_scores(report, view),
            f"alpha {plan.alpha:g}",
            f"{plan.bootstraps:,} bootstrap samples",
            f"{plan.p_values} p-values",
            f"{plan.correction} correction",
        ]
    )


def _scores(report: RiskReport, view: RiskView) -> list[str]:
    copula = report.settings.copula
    joined = view.name == PORTFOLIO and copula is not None
    size, repetitions = f"{report.scores.size:,} prompts", report.scores.repetitions
    return [
        f"portfolio of {len(report.scores.metrics)} metrics, {copula} copula"
        if joined
        else shortened(view.name),
        *_direction(report, view),
        *([f"{repetitions} replies each"] if repetitions > 1 else []),
        f"{size}, paired" if report.paired else f"{size} or more, not paired",
    ]


def _direction(report: RiskReport, view: RiskView) -> list[str]:
    if view.name not in report.scores.lower_is_better:
        return []
    return ["lowest first" if view.name in report.scores.unjudged else "lower is better"]


def _whose(board: Leaderboard) -> list[str]:
    counted = {
        BoardSource.HUMAN: "people's votes",
        BoardSource.JUDGE: f"verdicts of {_judge(board)}",
        BoardSource.PPR: f"votes with verdicts of {_judge(board)}",
    }[board.source]
    return [counted, _number(board)]


def _number(board: Leaderboard) -> str:
    votes = f"{board.human_votes:,} vote{'' if board.human_votes == 1 else 's'}"
    if board.source is BoardSource.HUMAN:
        return votes
    verdicts = sum(standing.judge_verdicts for standing in board.standings) // 2
    return (
        f"{verdicts:,} verdicts"
        if board.source is BoardSource.JUDGE
        else (f"{votes}, {verdicts:,} verdicts")
    )


def _judge(board: Leaderboard) -> str:
    return shortened(board.estimates.selection.judge or "the judge")


def _filters(selection: Selection) -> list[str]:
    return [
        *([f"category {escape(selection.category)}"] if selection.category else []),
        *([f"language {escape(selection.language)}"] if selection.language else []),
        *(["my votes only"] if selection.voter else []),
    ]


def _method(board: Leaderboard) -> list[str]:
    weighting = board.estimate.weighting if board.estimate else board.estimates.method.weighting
    covariance = board.estimate.kind if board.estimate else board.estimates.method.covariance
    return [
        f"alpha {board.alpha:g}",
        f"{weighting} weighting",
        f"{covariance} covariance",
        f"{board.cutoff} cut-off",
    ]


def _lines(parts: list[str]) -> tuple[str, ...]:
    lines = [parts[0][0].upper() + parts[0][1:]]
    for part in parts[1:]:
        longer = f"{lines[-1]} · {part}"
        if len(longer) > _LINE:
            lines.append(part)
        else:
            lines[-1] = longer
    return tuple(lines)
