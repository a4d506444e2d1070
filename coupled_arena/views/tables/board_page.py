"""The board as visitors see it: a row a model, with its interval as a bar and its rate over time.

Below it stands what the board cannot say yet. `leaderboard.py` has the same columns for all faces.
"""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from coupled_arena.analysis.leaderboard.by_category import ByCategory, CategoryBoard
from coupled_arena.analysis.leaderboard.result import BoardRow, Leaderboard
from coupled_arena.analysis.leaderboard.trend import Trend
from coupled_arena.core.language import N_, _, ngettext
from coupled_arena.views.inline_figures import Scale, interval_bar, over_time
from coupled_arena.views.levels import interval_at, level
from coupled_arena.views.markup import UNKNOWN, Cell, joined, listed, paragraph, table
from coupled_arena.views.tables.leaderboard import standings
from coupled_arena.views.tables.table import Address, Column, span
from coupled_arena.views.words.leaderboard import board_warnings
from coupled_arena.views.words.names import rank_range
from coupled_arena.views.words.verdict import board_advice

_FIRST = ("rank_low", "model", "win_rate", "low")
_COUNTED = ("judge_verdicts", "human_votes")


def board_table(
    board: Leaderboard,
    address: Address[BoardRow] | None = None,
    trend: Trend | None = None,
    *,
    lines: bool = False,
) -> Markup:
    """Return the standings as markup, and what the board cannot say yet.

    Parameters
    ----------
    address : callable, optional
        Where cells lead: see `Table.html`.
    trend : Trend, optional
        The board's win rates over time.
    lines : bool
        Whether there is a column for them, also while they are not known.
    """
    notes = listed([*board_advice(board), *board_warnings(board)], "hint")
    if board.estimate is None:
        return notes if board.standings else Markup("")
    scale = Scale.of((row.place.low, row.place.high) for row in board.standings if row.place)
    found = standings(board)
    columns = [
        replace(each, drawn=lambda row: _bar(row, scale)) if each.name == "low" else each
        for each in found.columns
    ]
    others = [name for name in found.shown if name not in (*_FIRST, *_COUNTED)]
    shown = [*_FIRST, *(name for name in _COUNTED if name in found.shown)]
    if lines:
        columns.append(_over_time(trend, scale))
        shown.append(columns[-1].name)
    page = replace(found, columns=tuple(columns), shown=(*shown, *others))
    return joined([page.html("ranked", address, name="model"), notes])


def _bar(row: BoardRow, scale: Scale) -> Markup:
    place = row.place
    if place is None:
        return Markup(UNKNOWN)
    bar = interval_bar(place.likely_rate, place.low, place.high, scale)
    return Markup('{}<span class="ends">{}</span>').format(bar, span(place.low, place.high, ".1%"))


def _over_time(trend: Trend | None, scale: Scale) -> Column[BoardRow]:
    def change(row: BoardRow) -> float | None:
        points = trend.of(row.model) if trend else ()
        return points[-1][1] - points[0][1] if len(points) > 1 else None

    def drawn(row: BoardRow) -> Markup:
        points = trend.of(row.model) if trend else ()
        if trend is None or len(points) < 2:
            return Markup("")
        (n, before, *_rest), (now, rate, low, high) = points[0], points[-1]
        label = _(
            "Win rate over time: {before:.1%} after {n:,} comparisons, {rate:.1%} after {now:,} "
            "({low:.1%} to {high:.1%}, {level}, however often you look)"
        )
        values = {"before": before, "n": n, "rate": rate, "now": now, "low": low, "high": high}
        return over_time(points, scale, label.format(level=level(trend.alpha), **values))

    return Column("trend", float, "Of the page alone", change, N_("Over time"), drawn=drawn)


def category_table(board: Leaderboard, found: ByCategory) -> Markup:
    """Return models by categories: rank-set and win rate, with the rate as a colour."""
    if not found.boards:
        return paragraph(_("No category has enough votes yet."), "hint")

    def cell(model: str, of: CategoryBoard) -> Cell:
        place = of.places.get(model)
        if place is None:
            return Cell(UNKNOWN, None)
        told = _("{model}, {category}: {rate:.1%} ({low:.1%} to {high:.1%})").format(
            model=model, category=of.name, rate=place.likely_rate, low=place.low, high=place.high
        )
        shown = Markup(
            '<span class="heat" style="--rate:{:.3f}" title="{}"><b>{}</b> {:.0%}</span>'
        ).format(place.likely_rate, told, rank_range(place), place.likely_rate)
        return Cell(shown, place.win_rate)

    rows = [
        [row.model, *(cell(row.model, each) for each in found.boards)] for row in board.standings
    ]
    notes = [
        _(
            "Ranks and win rates hold for all {n} categories together, {level}. Deeper colour is "
            "a higher win rate."
        ).format(n=len(found.boards), level=interval_at(found.alpha))
    ]
    if found.more:
        text = ngettext(
            "{n} category with fewer votes is left out.",
            "{n} categories with fewer votes are left out.",
            found.more,
        )
        notes.append(text.format(n=found.more))
    heads = [_("Model"), *(each.name for each in found.boards)]
    return joined([table(heads, rows, "heated"), listed(notes, "hint")])
