"""Leaderboards straight from a store, with style beside them where a test asks for it."""

from __future__ import annotations

from dataclasses import replace

from coupled_arena.analysis.leaderboard.board_estimates import Method, read_estimates
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.analysis.style.result import read_style, style_board
from coupled_arena.core.choices import BoardSource, Control
from coupled_arena.store.queries.comparisons import Selection


def read_leaderboard(
    store, selection=Selection(), method=Method(), *, alpha=0.05, control=Control.NONE, **settings
):
    board = leaderboard(read_estimates(store, selection, method), alpha=alpha, **settings)
    if control is Control.NONE:
        return board
    by_judge = board.source is BoardSource.JUDGE
    return replace(
        board, style=read_style_board(store, selection, control, by_judge=by_judge, alpha=alpha)
    )


def read_style_board(store, selection, control, *, by_judge=False, alpha=0.05):
    return style_board(read_style(store, selection, control, by_judge=by_judge), alpha)
