"""The results of a report, section by section; where there are none, what they would need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from coupled_arena.audit.report import Audit
from coupled_arena.evidence import BoardSource
from coupled_arena.leaderboard import Leaderboard
from coupled_arena.report.collect import MetricReport, Report
from coupled_arena.report.embed import figure, figures
from coupled_arena.report.markup import Html, heading, html, joined, listed, paragraph, table
from coupled_arena.stats.score_tables import PairSavings
from coupled_arena.ui.audit_tables import audit_table, difference_table, said
from coupled_arena.ui.board_words import board_table, judge_words, mode_words
from coupled_arena.ui.figures.audit import (
    agreement_figure,
    bias_figure,
    efficiency_figure,
    powered_figure,
)
from coupled_arena.ui.figures.matrices import mode_pairs_figure, pair_heatmap
from coupled_arena.ui.figures.modes import mode_figure
from coupled_arena.ui.figures.reading import AUDIT, BOARD
from coupled_arena.ui.figures.rows import rank_figure, size_figure, win_rate_figure

_AUDIT_FIGURES = {
    "efficiency": efficiency_figure,
    "bias": bias_figure,
    "agreement": agreement_figure,
    "powered": powered_figure,
}
_UNKNOWN = "-"


def leaderboards(report: Report) -> Html:
    """Return who is better, by people and with each judge."""
    if not report.boards:
        return paragraph(
            "This needs votes or verdicts on the battles selected: vote in the app, or on stored "
            "battles with serve --annotate, or import votes."
        )
    return joined(part for board in report.boards for part in _board(board))


def modes(report: Report) -> Html:
    """Return how coupling changes win rates."""
    board = report.modes
    if board is None:
        return paragraph(
            "This needs votes, or verdicts, on coupled and on independent battles of the same "
            "models, and a report on all modes."
        )
    return joined(
        [
            Html(mode_words(board)),
            figures(
                figure(partial(mode_figure, board), BOARD["modes"]),
                figure(partial(mode_pairs_figure, board), BOARD["mode_pairs"]),
            ),
        ]
    )


def savings(report: Report) -> Html:
    """Return accuracies, and the samples that coupling saves."""
    if not report.metrics:
        return paragraph(
            "This needs scores: run benchmark, which scores the answers of all models under both "
            "protocols."
        )
    return joined(part for each in report.metrics for part in _metric(each, report.wanted.alpha))


def audits(report: Report) -> Html:
    """Return what each judge's verdicts are worth beside people's votes."""
    if not report.audits:
        return paragraph(
            "This needs a judge's verdicts: run judge, or import verdicts with import --judge NAME."
        )
    return joined(part for each in report.audits for part in _audit(each, each.judge))


def gradings(report: Report) -> Html:
    """Return what each judge's grades are worth beside a benchmark's key."""
    if not report.gradings:
        return paragraph(
            "This needs a judge's grades of answers that a benchmark has scored: run benchmark, "
            "then judge --grade."
        )
    return joined(part for each in report.gradings for part in _audit(each, each.judge))


SECTIONS: dict[str, tuple[str, Callable[[Report], Html]]] = {
    "leaderboard": ("Leaderboard", leaderboards),
    "modes": ("Coupled against independent", modes),
    "coupling": ("What coupling saves on benchmarks", savings),
    "audit": ("Judges against people", audits),
    "grades": ("Judges against benchmarks", gradings),
}


def _board(board: Leaderboard) -> Iterator[Html]:
    judge = board.evidence.selection.judge or ""
    yield heading(
        {
            BoardSource.HUMAN: "People's votes",
            BoardSource.PPR: f"Votes with verdicts of {judge} (prediction-powered)",
            BoardSource.JUDGE: f"Verdicts of {judge} alone",
        }[board.source],
        3,
    )
    yield Html(board_table(board))
    drawn = [
        figure(partial(rank_figure, board), BOARD["ranks"]),
        figure(partial(win_rate_figure, board), BOARD["rates"]),
    ]
    if board.source is BoardSource.PPR:
        yield Html(judge_words(board))
        drawn.append(figure(partial(size_figure, board), BOARD["sizes"]))
    else:
        drawn.append(figure(partial(pair_heatmap, board), BOARD["pairs"]))
    yield figures(*drawn)


def _metric(found: MetricReport, alpha: float) -> Iterator[Html]:
    yield heading(f"Scores by {found.metric}", 3)
    yield table(
        ("Model", "Mode", "Answers", "Mean score", "Without an answer"),
        [
            (each.model, each.mode, each.answers, f"{each.mean:.4f}", each.unread)
            for each in found.accuracies
        ],
    )
    if found.stored is None:
        yield paragraph(found.why_not, "hint")
        return
    prompts, seeds, _ = found.stored.table.coupled.shape
    yield paragraph(
        f"{prompts:,} prompts, {seeds} answers of each model under each protocol. Savings are the "
        "share of samples that coupling makes needless for the same error, with an interval "
        f"clustered by prompt (alpha {alpha:g})."
    )
    yield table(
        (
            *("Pair", "Savings", f"{100 * (1 - alpha):.4g}% interval", "Covariance"),
            *("Variance coupled", "Variance independent", "Difference coupled"),
            *("Difference independent", "Independent - coupled - 2 covariance"),
        ),
        [_pair(pair) for pair in found.pairs],
    )
    yield paragraph(
        "The last column is zero but for chance: variances within prompts, with standard errors.",
        "hint",
    )
    yield listed(_left_out(found), "hint")


def _left_out(found: MetricReport) -> Iterator[str]:
    if found.stored and found.stored.left_out:
        yield f"Left out, for they lack repetitions: {found.stored.left_out:,} prompts."
    if unclear := [f"{p.model_a} and {p.model_b}" for p in found.pairs if p.savings != p.savings]:
        yield (
            f"The scores of {'; '.join(unclear)} never differed under independent generation, so "
            "that there is nothing to save."
        )


def _pair(pair: PairSavings) -> tuple[object, ...]:
    return (
        Html(f"{html(pair.model_a)} | {html(pair.model_b)}"),
        Html(f"<b>{_share(pair.savings)}</b>"),
        f"{_share(pair.savings_low)} to {_share(pair.savings_high)}",
        _with_error(pair.mean_covariance, pair.mean_covariance_error),
        f"{pair.pooled_variance_coupled:.4f}",
        f"{pair.pooled_variance_independent:.4f}",
        _with_error(pair.difference_coupled, pair.difference_error_coupled),
        _with_error(pair.difference_independent, pair.difference_error_independent),
        _with_error(pair.identity_gap, pair.identity_gap_error),
    )


def _share(value: float) -> str:
    return f"{value:.1%}" if value == value else _UNKNOWN


def _with_error(value: float, error: float) -> str:
    return f"{value:+.4f} ± {error:.4f}"


def _audit(audit: Audit, title: str) -> Iterator[Html]:
    yield heading(title, 3)
    yield Html(said(audit))
    if not audit.comparisons:
        return
    yield figures(
        *(figure(partial(draw, audit), AUDIT[name]) for name, draw in _AUDIT_FIGURES.items())
    )
    yield Html(audit_table(audit))
    yield heading("Differences between neighbours", 4)
    yield Html(difference_table(audit))
