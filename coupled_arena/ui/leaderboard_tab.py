"""The leaderboard tab: who wins how often, live."""

from __future__ import annotations

from html import escape
from typing import Any

import gradio as gr

from coupled_arena.evidence import LiveEvidence
from coupled_arena.leaderboard import Leaderboard, Standing, leaderboard
from coupled_arena.records import Mode
from coupled_arena.store.comparisons import Selection
from coupled_arena.ui.events import FREE, QUIET
from coupled_arena.ui.plots import pair_heatmap, win_rate_figure

_REFRESH = 1.0  # seconds between looks at the store's version while the tab is shown
_NARROW = 340  # pixels; below twice this the figures stand one above the other
_MODES = [
    ("All battles", ""),
    ("Coupled", Mode.COUPLED.value),
    ("Independent", Mode.INDEPENDENT.value),
]
_HOW_TO_READ = """
**Win rate**: how often people preferred the model, averaged over its opponents, each weighing the
same. A tie is a win for neither side, and "both are bad" counts as a tie, so two equal models
that tie often both have a low win rate. **Interval**: Wilson's, at the stated confidence; where two
intervals overlap widely, the votes do not tell the models apart. A pair counts from its fifth
vote on. **Identical**: answers that were equal, recorded as ties without asking anybody.
"""
_HEAD = ("Model", "Win rate", "{:.0%} interval", "Votes", "Wins", "Ties", "Both bad", "Identical")


class LeaderboardTab:
    """Components and handlers of the tab."""

    def __init__(self, live: LiveEvidence) -> None:
        self._live = live

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        self._seen = gr.State(None)  # (mode, version) on show in this session
        self._timer = gr.Timer(_REFRESH, active=False)
        self._mode = gr.Radio(_MODES, value="", label="Battles", elem_id="board-mode")
        table = gr.HTML(elem_id="board", apply_default_css=False)
        with gr.Row():
            with gr.Column(min_width=_NARROW):
                rates = gr.Plot(show_label=False, elem_id="board-rates")
            with gr.Column(min_width=_NARROW):
                pairs = gr.Plot(show_label=False, elem_id="board-pairs")
        with gr.Accordion("How to read this", open=False):
            gr.Markdown(_HOW_TO_READ)
        wiring: dict[str, Any] = {
            "inputs": [self._mode, self._seen],
            "outputs": [self._seen, table, rates, pairs],
        }
        self._timer.tick(self._refresh, **wiring, **FREE)
        self._mode.change(self._refresh, **wiring, **FREE)

    def live_only_while_shown(self, tabs: gr.Tabs) -> None:
        """Let the timer run only while this tab is the one on show."""
        tabs.select(_timer_for_tab, None, self._timer, **QUIET)

    def _refresh(self, mode: str, seen: Any) -> tuple[Any, ...]:
        board = leaderboard(self._live.get(Selection(mode=Mode(mode) if mode else None)))
        current = (mode, board.version)
        if current == seen:
            return (gr.skip(),) * 4
        return current, board_table(board), win_rate_figure(board), pair_heatmap(board)


def _timer_for_tab(event: gr.SelectData) -> gr.Timer:
    return gr.Timer(_REFRESH, active=event.value == "Leaderboard")


def board_table(board: Leaderboard) -> str:
    """Return the standings as an HTML table, and what the board cannot say yet."""
    if not board.standings:
        return '<p class="hint">No votes yet. Cast the first one in the Battle tab.</p>'
    head = "".join(f"<th>{name.format(1 - board.alpha)}</th>" for name in _HEAD)
    body = "".join(f"<tr>{_row(standing)}</tr>" for standing in board.standings)
    notes = "".join(f"<li>{escape(message)}</li>" for message in board.messages)
    return (
        f'<div class="scroll"><table class="board"><thead><tr>{head}</tr></thead>'
        f'<tbody>{body}</tbody></table></div><ul class="hint">{notes}</ul>'
    )


def _row(standing: Standing) -> str:
    if (place := standing.place) is None:
        rate = '<td class="few" colspan="2">too few votes</td>'
    else:
        rate = f"<td>{place.win_rate:.1%}</td><td>{place.low:.1%} to {place.high:.1%}</td>"
    counts = (
        standing.human_votes,
        standing.wins,
        standing.ties,
        standing.both_bad,
        standing.identical,
    )
    return f"<td>{escape(standing.model)}</td>{rate}" + "".join(f"<td>{n:,}</td>" for n in counts)
