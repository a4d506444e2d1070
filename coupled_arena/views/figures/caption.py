"""Which settings a figure was made with, in lines that fit a phone."""

from __future__ import annotations

from html import escape

from coupled_arena.analysis.audit.result import Audit
from coupled_arena.analysis.leaderboard.result import Leaderboard
from coupled_arena.analysis.risk.result import PORTFOLIO, RiskReport, RiskView
from coupled_arena.core.choices import (
    BoardSource,
    Copula,
    Correction,
    Covariance,
    Cutoff,
    PValues,
    Scope,
    Ties,
    TieScore,
    Truth,
    Voters,
    Weighting,
)
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Mode
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.figures.theme import shortened
from coupled_arena.views.words.audit_texts import by_truth
from coupled_arena.views.words.names import comparisons_counted

WEIGHTINGS = {
    Weighting.STRATIFIED: N_("stratified weighting"),
    Weighting.POSITION: N_("position weighting"),
    Weighting.COUNT: N_("count weighting"),
}
COVARIANCES = {
    Covariance.CORRECTED: N_("corrected covariance"),
    Covariance.PUBLISHED: N_("published covariance"),
}
CUTOFFS = {
    Cutoff.MAX_T: N_("max-t cut-off"),
    Cutoff.STEP_DOWN: N_("step-down cut-off"),
    Cutoff.ANY_TIME: N_("any-time cut-off"),
    Cutoff.BONFERRONI: N_("bonferroni cut-off"),
    Cutoff.CHI2: N_("chi2 cut-off"),
}
TIES = {
    TieScore.HALF: N_("ties as half a win"),
    TieScore.LOSS: N_("ties as a win for neither"),
}
CUTOFF_NAMES = {
    Cutoff.MAX_T: N_("max-t"),
    Cutoff.STEP_DOWN: N_("step-down"),
    Cutoff.ANY_TIME: N_("any-time"),
    Cutoff.BONFERRONI: N_("bonferroni"),
    Cutoff.CHI2: N_("chi2"),
}
P_VALUES = {
    PValues.SWAP: N_("swap p-values"),
    PValues.PERCENTILE: N_("percentile p-values"),
    PValues.APPROXIMATE: N_("approximate p-values"),
    PValues.PUBLISHED: N_("published p-values"),
}
CORRECTIONS = {
    Correction.BONFERRONI: N_("bonferroni correction"),
    Correction.HOLM: N_("holm correction"),
    Correction.FDR: N_("fdr correction"),
    Correction.NONE: N_("none correction"),
}
COPULAS = {Copula.INDEPENDENT: N_("independent copula"), Copula.EMPIRICAL: N_("empirical copula")}


_LINE = 50  # characters
_MODES = {
    Mode.COUPLED: N_("coupled battles"),
    Mode.INDEPENDENT: N_("independent battles"),
    Mode.UNKNOWN: N_("imported battles"),
    None: N_("all battles"),
}


def caption(board: Leaderboard) -> tuple[str, ...]:
    """Return what a board counts, as plotly's markup."""
    return _lines([*_whose(board), _(_MODES[board.mode]), *_filters(board.estimates.selection)])


def board_method(board: Leaderboard) -> tuple[str, ...]:
    """Return how a board is computed from what it counts."""
    weighting = board.estimate.weighting if board.estimate else board.estimates.method.weighting
    covariance = board.estimate.kind if board.estimate else board.estimates.method.covariance
    return _lines(
        [
            _("alpha {alpha:g}").format(alpha=board.alpha),
            _(WEIGHTINGS[weighting]),
            _(COVARIANCES[covariance]),
            _(CUTOFFS[board.cutoff]),
            *([_("marginal rank-sets")] if board.scope is Scope.MARGINAL else []),
            _(TIES[board.estimates.method.tie_score]),
            *([_("for exactly these voters")] if board.voters is Voters.THESE else []),
        ]
    )


def mode_caption(board: Leaderboard) -> tuple[str, ...]:
    """Return what a comparison of the modes counts."""
    voted = board.estimates.votes.comparisons.any()
    whose = _("people's votes") if voted else _verdicts_of(board)
    surer = _("stars: not by chance; more stars, surer")
    return _lines([whose, _number(board), *_filters(board.estimates.selection), surer])


def mode_method(board: Leaderboard) -> tuple[str, ...]:
    """Return how the modes are compared."""
    covariance = _(COVARIANCES[board.estimates.method.covariance])
    return _lines([covariance, _("stars: p < .05 * .01 ** .001 *** .0001 ****")])


def audit_caption(audit: Audit) -> tuple[str, ...]:
    """Return what an audit holds against what."""
    estimates = audit.estimates
    return _lines(
        [
            by_truth(audit, "against", judge=shortened(audit.judge)),
            by_truth(audit, "counted", n=audit.comparisons),
            _(_MODES[estimates.selection.mode]),
            *_filters(estimates.selection),
        ]
    )


def audit_method(audit: Audit) -> tuple[str, ...]:
    """Return how an audit is computed."""
    ties = _("ties as losses") if audit.estimates.ties is Ties.LOSS else _("ties dropped")
    voted = audit.estimates.truth is Truth.VOTES
    these = voted and audit.estimates.voters is Voters.THESE
    return _lines(
        [
            *([ties] if voted else []),
            _("alpha {alpha:g}").format(alpha=audit.alpha),
            *([_("for exactly these voters")] if these else []),
        ]
    )


def risk_caption(report: RiskReport, view: RiskView) -> tuple[str, ...]:
    """Return the scores that are ranked and how many of them there are."""
    return _lines(_scores(report, view))


def risk_method(report: RiskReport, view: RiskView) -> tuple[str, ...]:
    """Return how metrics are joined; nothing for one metric."""
    return _lines(_copula(report, view))


def dominance_method(report: RiskReport, view: RiskView) -> tuple[str, ...]:
    """Return the settings that tests of dominance depend on."""
    plan = report.plan
    return _lines(
        [
            *_copula(report, view),
            _("alpha {alpha:g}").format(alpha=plan.alpha),
            _("{n:,} bootstrap samples").format(n=plan.bootstraps),
            _(P_VALUES[plan.p_values]),
            _(CORRECTIONS[plan.correction]),
        ]
    )


def _scores(report: RiskReport, view: RiskView) -> list[str]:
    joined = bool(_copula(report, view))
    repetitions = report.scores.repetitions
    metrics = _("portfolio of {n} metrics").format(n=len(report.scores.metrics))
    size = _("{n:,} prompts, paired") if report.paired else _("{n:,} prompts or more, not paired")
    return [
        metrics if joined else shortened(view.name),
        *_direction(report, view),
        *([_("{n} replies each").format(n=repetitions)] if repetitions > 1 else []),
        size.format(n=report.scores.size),
    ]


def _copula(report: RiskReport, view: RiskView) -> list[str]:
    copula = report.settings.copula
    return [_(COPULAS[copula])] if view.name == PORTFOLIO and copula in COPULAS else []


def _direction(report: RiskReport, view: RiskView) -> list[str]:
    if view.name not in report.scores.lower_is_better:
        return []
    return [_("lowest first") if view.name in report.scores.unjudged else _("lower is better")]


def _whose(board: Leaderboard) -> list[str]:
    counted = {
        BoardSource.HUMAN: _("people's votes"),
        BoardSource.JUDGE: _verdicts_of(board),
        BoardSource.PPR: _("votes with verdicts of {judge}").format(judge=_judge(board)),
    }[board.source]
    return [counted, _number(board)]


def _number(board: Leaderboard) -> str:
    voted = comparisons_counted(board.human_votes)
    if board.source is BoardSource.HUMAN:
        return voted
    verdicts = sum(standing.judge_verdicts for standing in board.standings) // 2
    judged = _("{n:,} verdicts").format(n=verdicts)
    return judged if board.source is BoardSource.JUDGE else f"{voted}, {judged}"


def _verdicts_of(board: Leaderboard) -> str:
    return _("verdicts of {judge}").format(judge=_judge(board))


def _judge(board: Leaderboard) -> str:
    judges = board.estimates.selection.judges
    return ", ".join(shortened(judge) for judge in judges) or _("the judge")


def _filters(selection: Selection) -> list[str]:
    return [
        *(
            [_("category {name}").format(name=escape(selection.category))]
            if selection.category
            else []
        ),
        *(
            [_("language {name}").format(name=escape(selection.language))]
            if selection.language
            else []
        ),
        *([_("my votes only")] if selection.voter else []),
    ]


def _lines(parts: list[str]) -> tuple[str, ...]:
    if not parts:
        return ()
    lines = [parts[0][0].upper() + parts[0][1:]]
    for part in parts[1:]:
        longer = f"{lines[-1]} · {part}"
        if len(longer) > _LINE:
            lines.append(part)
        else:
            lines[-1] = longer
    return tuple(lines)
