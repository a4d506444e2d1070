"""The figures of a leaderboard: rank-sets, win rates, pairs, both modes, and what style does."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.analysis.leaderboard.result import BoardRow, HeadToHead, Leaderboard, Standing
from coupled_arena.analysis.style.result import StyleBoard
from coupled_arena.core.choices import BoardSource, Scope, TieScore
from coupled_arena.core.language import _, number
from coupled_arena.stats.coupling.modes import ModeComparison, stars
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.caption import board_method, caption, mode_caption, mode_method
from coupled_arena.views.figures.matrices import CROWDED, FULL, finite, matrix_figure
from coupled_arena.views.figures.rows import (
    DASH,
    FigureRow,
    axis_title,
    bar_lines,
    interval_dots,
    italic,
    marks,
    rate_axis,
    row_figure,
)
from coupled_arena.views.figures.theme import Theme, head_of, key, theme_for
from coupled_arena.views.levels import interval_at, level
from coupled_arena.views.tables.leaderboard import (
    head_to_head,
    mode_models,
    mode_pairs,
    rank_set_sizes,
    standings,
)
from coupled_arena.views.tables.style import TRAITS, style_effects
from coupled_arena.views.tables.table import Table
from coupled_arena.views.words.names import (
    comparisons_counted,
    rank_range,
    verdicts_counted,
    without_both,
)

_DOT, _BAR = "\N{BLACK CIRCLE}", "\N{BLACK RECTANGLE}"
_SQUARE = "\N{BLACK SQUARE}"


def win_rate_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw each model's win rate as a dot on its interval, best on top.

    A model without votes has its line, but no dot.
    """
    theme = theme_for(dark)
    known = _known(board.standings)
    dots = interval_dots(
        [(row, place.likely_rate, place.low, place.high) for row, _, place in known], theme
    )
    dots["hovertext"] = [_describe(standing, place) for _, standing, place in known]
    head = head_of(
        registry.WIN_RATES,
        lines=(
            *caption(board),
            *_size_words(board),
            key(
                (_DOT, theme.accent, _("win rate")),
                (_BAR, theme.pale, interval_at(board.alpha)),
            ),
        ),
        numbers=_placed(board).only(
            "model", "win_rate", "standard_error", "low", "high", "comparisons"
        ),
        method=board_method(board),
    )
    labels = [_rate_label(board, standing, theme) for standing in board.standings]
    return row_figure([dots], labels, theme, head, rate_axis(theme))


def rank_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw each model's rank-set as a bar over the ranks, its rank by the estimates as a dot."""
    theme = theme_for(dark)
    known = _known(board.standings)
    rows = [row for row, _, _ in known]
    bars = {**bar_lines([(row, p.rank_low, p.rank_high) for row, _, p in known], theme.pale, 12)}
    possible = _("still possible, at {level}")
    if board.scope is Scope.MARGINAL:
        possible = _("still possible, at {level}, each model alone")
    possible = possible.format(level=level(board.alpha))
    dots = {
        **marks([place.rank for _, _, place in known], rows, theme.accent),
        "hovertext": [_describe(standing, place) for _, standing, place in known],
    }
    head = head_of(
        registry.RANK_SETS,
        lines=(*caption(board), key((_DOT, theme.accent, _("rank")), (_BAR, theme.pale, possible))),
        numbers=_placed(board).only("model", "rank", "rank_low", "rank_high"),
        method=board_method(board),
    )
    labels = [
        FigureRow(
            s.model,
            f"<b>{rank_range(s.place)}</b>" if s.place else italic(_("no rank")),
            bool(s.place),
        )
        for s in board.standings
    ]
    return row_figure([bars, dots], labels, theme, head, _rank_axis(len(known), theme))


def size_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw the size of each rank-set, from people's votes alone and with the judge.

    Only for estimates that has both estimates.
    """
    theme = theme_for(dark)
    human, powered = (board.sizes(source) for source in (BoardSource.HUMAN, BoardSource.PPR))
    models = [s.model for s in board.standings if s.model in human or s.model in powered]
    lines = [
        bar_lines(
            [(row + shift, 0, of[model]) for row, model in enumerate(models) if model in of],
            colour,
            7,
            round_ends=False,
        )
        for of, shift, colour in ((human, -0.09, theme.other), (powered, 0.13, theme.accent))
    ]
    head = head_of(
        registry.RANK_SET_SIZES,
        lines=(
            *caption(board),
            key((_BAR, theme.other, _("people alone")), (_BAR, theme.accent, _("with the judge"))),
        ),
        numbers=rank_set_sizes(board),
        method=board_method(board),
    )
    labels = [
        FigureRow(
            model,
            f"<b>{human.get(model, DASH)} \N{RIGHTWARDS ARROW} {powered.get(model, DASH)}</b>",
        )
        for model in models
    ]
    axis = {**_rank_axis(max([*human.values(), *powered.values()], default=1), theme)}
    axis["range"] = [0, axis["range"][1]]
    axis["title"] = axis_title(_("Ranks still possible"), theme)
    return row_figure(lines, labels, theme, head, axis)


def mode_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw each model's win rate under both protocols; for a board that compares the modes."""
    theme = theme_for(dark)
    modes = board.estimates.modes
    assert modes is not None, "the board does not compare the modes"
    of_model = {row["model"]: row for row in mode_models(modes).records()}
    models = [standing.model for standing in board.standings]
    rates = [(of_model[model]["coupled"], of_model[model]["independent"]) for model in models]
    found = [
        (row, coupled, independent)
        for row, (coupled, independent) in enumerate(rates)
        if coupled is not None and independent is not None
    ]
    rows = [row for row, _, _ in found]
    traces = [
        bar_lines([(row, i, c) for row, c, i in found], theme.grid, 4, round_ends=False),
        marks(
            [i for _, _, i in found],
            rows,
            "rgba(0,0,0,0)",
            line={"width": 2.5, "color": theme.other},
        ),
        marks([c for _, c, _ in found], rows, theme.accent),
    ]
    sentence = (_("independent {rate:.1%}"), _("coupled {rate:.1%}"))
    for trace, text, values in zip(traces[1:], sentence, (2, 1), strict=True):
        trace["hovertext"] = [text.format(rate=each[values]) for each in found]
    labels = [FigureRow(model, italic(_("too few in both")), known=False) for model in models]
    for row, c, i in found:
        p = of_model[models[row]]["p_value"]
        starred = f"  {stars(p)}" if p is not None and stars(p) else ""
        both = f"<b>{number(c, '.0%')}</b> | {number(i, '.0%')}"
        labels[row] = FigureRow(models[row], both + starred)
    head = head_of(
        registry.MODES,
        lines=(
            *mode_caption(board),
            key(
                ("\N{BLACK CIRCLE}", theme.accent, _("coupled")),
                ("\N{WHITE CIRCLE}", theme.other, _("independent")),
            ),
        ),
        numbers=mode_models(modes),
        method=mode_method(board),
    )
    return row_figure(traces, labels, theme, head, rate_axis(theme), without_both)


def pair_heatmap(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw how often each model, in a row, beat each other, in a column.

    Cells say "62%" and "n = 21", or only "62" where there are more than five models; all of it
    is in the hover text. The colour is that of the number in the cell: neutral at one half.
    """
    theme = theme_for(dark)
    models = [standing.model for standing in board.standings]
    pairs, ties = board.head_to_head, board.estimates.method.tie_score
    cells = {
        "z": [[pair.win_rate(ties) for pair in row] for row in pairs],
        "text": [[_cell_text(pair, ties, len(models)) for pair in row] for row in pairs],
        "hovertext": [
            [_describe_pair(this, that, pair) for that, pair in zip(models, row, strict=True)]
            for this, row in zip(models, pairs, strict=True)
        ],
        "zmin": 0,
        "zmid": 0.5,
        "zmax": 1,
    }
    unmet = [
        (i, j)
        for i, row in enumerate(pairs)
        for j, pair in enumerate(row)
        if i != j and not pair.comparisons
    ]
    head = head_of(
        registry.PAIRS,
        lines=(
            *caption(board),
            key(
                (_SQUARE, theme.ahead, _("more than half")),
                (_SQUARE, theme.behind, _("less than half")),
            ),
        ),
        numbers=head_to_head(board),
    )
    return matrix_figure(models, cells, unmet, theme, head)


def mode_pairs_figure(board: Leaderboard, *, dark: bool = False) -> go.Figure:
    """Draw how coupling changes each pair's win rate; for a board that compares the modes."""
    theme = theme_for(dark)
    modes = board.estimates.modes
    assert modes is not None, "the board does not compare the modes"
    models = [standing.model for standing in board.standings]
    order = [modes.models.index(name) for name in models]
    change = modes.pairs.difference[np.ix_(order, order)]
    p = modes.pairs.p_value
    met = np.isfinite(change)
    largest = float(np.abs(change[met]).max(initial=0.01))
    grid = [[(i, j) for j in order] for i in order]
    cells = {
        "z": [[finite(value) for value in row] for row in change],
        "text": [[_change_text(modes, p[at], *at, len(models)) for at in row] for row in grid],
        "hovertext": [[_describe_change(modes, p[at], *at) for at in row] for row in grid],
        "zmin": -largest,
        "zmid": 0,
        "zmax": largest,
    }
    k = len(models)
    unmet = [(i, j) for i in range(k) for j in range(k) if i != j and not met[i, j]]
    head = head_of(
        registry.MODE_PAIRS,
        lines=(
            *mode_caption(board),
            _("Percent won by the row: coupled | independent"),
            key(
                (_SQUARE, theme.ahead, _("more when coupled")),
                (_SQUARE, theme.behind, _("less when coupled")),
            ),
        ),
        numbers=mode_pairs(modes),
        method=mode_method(board),
    )
    return matrix_figure(models, cells, unmet, theme, head)


def style_figure(board: StyleBoard, *, dark: bool = False) -> go.Figure:
    """Draw how often the reply with a standard deviation more of a trait wins, all else equal."""
    theme = theme_for(dark)
    effects = board.effects
    dots = interval_dots(
        [(at, e.typical.rate, e.typical.low, e.typical.high) for at, e in enumerate(effects)], theme
    )
    dots["hovertext"] = [
        _("coefficient {value:+.3f}").format(value=effect.coefficient) for effect in effects
    ]
    ends = [abs(end - 0.5) for e in effects for end in (e.typical.low, e.typical.high)]
    reach = 1.1 * max([0.05, *ends])
    rule = {
        "type": "scatter",
        "mode": "lines",
        "x": [0.5, 0.5],
        "y": [-0.6, len(effects) - 0.6],
        "line": {"width": 1, "color": theme.faint, "dash": "dot"},
        "hoverinfo": "skip",
    }
    counted = verdicts_counted if board.estimates.by_judge else comparisons_counted
    interval = interval_at(board.alpha)
    head = head_of(
        registry.STYLE_EFFECTS,
        lines=(
            counted(board.comparisons),
            key((_DOT, theme.accent, _("wins")), (_BAR, theme.pale, interval)),
        ),
        numbers=style_effects(board),
        method=(_("alpha {alpha:g}").format(alpha=board.alpha), _("ties as half a win")),
    )
    labels = [
        FigureRow(_(TRAITS[effect.trait]), f"<b>{number(effect.typical.rate, '.1%')}</b>")
        for effect in effects
    ]
    axis = {
        "range": [0.5 - reach, 0.5 + reach],
        "tickformat": ".0%",
        "title": axis_title(_("Wins of the reply with a standard deviation more"), theme),
    }
    return row_figure([rule, dots], labels, theme, head, axis)


def _rank_axis(k: int, theme: Theme) -> dict[str, Any]:
    step = 1 if k <= 10 else 5
    ticks = [1, *range(step if step > 1 else 2, k + 1, step)]
    return {
        "range": [0.6, max(k, 2) + 0.4],
        "tickvals": ticks,
        "title": axis_title(_("Rank, 1 is best"), theme),
    }


def _known(standings: Sequence[BoardRow]) -> list[tuple[int, BoardRow, Standing]]:
    return [(row, s, s.place) for row, s in enumerate(standings) if s.place]


def _placed(board: Leaderboard) -> Table[BoardRow]:
    table = standings(board)
    return Table(table.columns, tuple(row for row in table.rows if row.place))


def _size(board: Leaderboard, standing: BoardRow) -> str:
    """Return the numbers that the table has: identical replies are no votes."""
    if board.source is BoardSource.JUDGE:
        return number(standing.judge_verdicts, ",")
    identical = f" + {number(standing.identical, ',')}" if standing.identical else ""
    return f"{number(standing.human_votes, ',')}{identical}"


def _size_words(board: Leaderboard) -> tuple[str, ...]:
    added = board.source is not BoardSource.JUDGE and any(s.identical for s in board.standings)
    return (_("n: votes + identical replies"),) if added else ()


def _rate_label(board: Leaderboard, standing: BoardRow, theme: Theme) -> FigureRow:
    size = f'<span style="color:{theme.faint}">n = {_size(board, standing)}</span>'
    if standing.place is None:
        none = italic(_("no win rate"))
        return FigureRow(standing.model, f"{none}  {size}", known=False)
    return FigureRow(standing.model, f"<b>{number(standing.place.likely_rate, '.0%')}</b>  {size}")


def _describe(standing: BoardRow, place: Standing) -> str:
    return _(
        "<b>{model}</b><br>{rate:.1%}, between {low:.1%} and {high:.1%}<br>"
        "Rank {rank}, possible: {ranks}<br>"
        "{wins} won, {losses} lost, {ties} tied, {both_bad} both bad<br>"
        "{identical} identical replies, which nobody was asked about"
    ).format(
        model=escape(standing.model),
        rate=place.likely_rate,
        low=place.low,
        high=place.high,
        rank=place.rank,
        ranks=rank_range(place),
        wins=standing.wins,
        losses=standing.losses,
        ties=standing.ties,
        both_bad=standing.both_bad,
        identical=standing.identical,
    )


def _cell_text(pair: HeadToHead, ties: TieScore, k: int) -> str:
    share = pair.win_rate(ties)
    if share is None or k > FULL:
        return ""
    if k > CROWDED:
        return number(100 * share, ".0f")
    return f"{number(share, '.0%')}<br>n = {pair.comparisons}"


def _describe_pair(this: str, that: str, pair: HeadToHead) -> str:
    return _(
        "<b>{model}</b> against <b>{other}</b><br>{wins} won, {losses} lost, "
        "{ties} tied or both bad"
    ).format(
        model=escape(this), other=escape(that), wins=pair.wins, losses=pair.losses, ties=pair.ties
    )


def _change_text(modes: ModeComparison, p: float, i: int, j: int, k: int) -> str:
    pairs = modes.pairs
    if not _met(modes, i, j) or k > FULL:
        return ""
    starred = stars(p)
    if k > CROWDED:
        change = pairs.coupled[i, j] - pairs.independent[i, j]
        return _with_stars(number(100 * change, "+.0f"), starred)
    both = " | ".join(
        number(100 * share, ".0f") for share in (pairs.coupled[i, j], pairs.independent[i, j])
    )
    return _with_stars(both, starred)


def _with_stars(text: str, starred: str) -> str:
    """Return lines of a cell; without stars the first stands in the middle."""
    return f"{text}<br>{starred}" if starred else text


def _describe_change(modes: ModeComparison, p: float, i: int, j: int) -> str:
    pairs = modes.pairs
    if not _met(modes, i, j):
        return ""
    described = _(
        "<b>{model}</b> against <b>{other}</b><br>"
        "coupled {coupled:.1%}, independent {independent:.1%}<br>"
        "ties: coupled {coupled_ties:.1%}, independent {independent_ties:.1%}<br>"
    ).format(
        model=escape(modes.models[i]),
        other=escape(modes.models[j]),
        coupled=pairs.coupled[i, j],
        independent=pairs.independent[i, j],
        coupled_ties=modes.coupled_ties[i, j],
        independent_ties=modes.independent_ties[i, j],
    )
    return described + (
        f"p = {number(p, '.2g')}" if np.isfinite(p) else _("too few votes for a test")
    )


def _met(modes: ModeComparison, i: int, j: int) -> bool:
    return bool(np.isfinite(modes.pairs.coupled[i, j] - modes.pairs.independent[i, j]))
