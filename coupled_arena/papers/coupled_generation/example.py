"""The paper's worked example: coupling flips a ranking by win-rates (its section 4, appendix E).

Three models answer two prompts, which are equally likely, with one of two tokens; one token of each
prompt is the better answer. A model with probability p of it beats one with p' with probability
p (1 - p') where answers are independent. Where they share their noise, whoever has the larger p
answers rightly whenever the other does: (p - p')₊. Both are computed, and drawn by Gumbel-max.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from coupled_arena.core.records import Mode
from coupled_arena.papers.item import Made
from coupled_arena.papers.source import PaperSource
from coupled_arena.stats.counts import FloatArray
from coupled_arena.views.figures.rows import axis_title
from coupled_arena.views.figures.theme import Head, finish, key, theme_for
from coupled_arena.views.tables.table import Column, Table, table_of

_Row = dict[str, Any]
_MODELS = ("m1", "m2", "m3")
_RIGHT = np.array([[0.4, 1.0], [0.48, 0.9], [0.5, 0.89]])  # of each model on each prompt
_MODES = (Mode.INDEPENDENT, Mode.COUPLED)
_STATED: Mapping[Mode, tuple[float, ...]] = {
    Mode.INDEPENDENT: (0.1545, 0.15675, 0.16225),
    Mode.COUPLED: (0.0525, 0.0225, 0.03),
}
_REPEATS = 100_000
_BAR = "\N{BLACK RECTANGLE}"


def _named(model: str, mode: Mode) -> str:
    return f"{model}, {mode}: average win rate"


PUBLISHED = {
    _named(model, mode): rate
    for mode, rates in _STATED.items()
    for model, rate in zip(_MODELS, rates, strict=True)
}


def win_rates(right: FloatArray, *, coupled: bool) -> FloatArray:
    """Return the average win-rate of each model against the others.

    Parameters
    ----------
    right : ndarray of float64, shape (k, prompts)
        Probability of the better of two answers of one token.

    Raises
    ------
    ValueError
        These are no probabilities.
    """
    if not ((right >= 0) & (right <= 1)).all():
        raise ValueError("Probabilities lie between 0 and 1.")
    own, other = right[:, None], right[None, :]
    wins = np.maximum(own - other, 0) if coupled else own * (1 - other)
    return _over_opponents(wins.mean(axis=2))


def drawn_win_rates(
    right: FloatArray, repeats: int, rng: np.random.Generator, *, coupled: bool
) -> FloatArray:
    """Return the same from so many answers to each prompt, drawn as the arena draws tokens.

    Independent models read noise of their own in each comparison, coupled ones share it.
    """
    k, prompts = right.shape
    with np.errstate(divide="ignore"):  # what is certain leaves the other answer no chance
        logits = np.log(np.stack([right, 1 - right], axis=-1))
    wins = np.zeros((k, k))
    for i in range(k):
        for j in (j for j in range(k) if j != i):
            noise = rng.gumbel(size=(2, repeats, prompts, 2))
            mine = (logits[i] + noise[0]).argmax(-1) == 0
            theirs = (logits[j] + noise[0 if coupled else 1]).argmax(-1) == 0
            wins[i, j] = (mine & ~theirs).mean()
    return _over_opponents(wins)


def _over_opponents(wins: FloatArray) -> FloatArray:
    """Return means of a square table less its diagonal."""
    k = len(wins)
    return (wins.sum(axis=1) - np.diag(wins)) / (k - 1)


WORKED_EXAMPLE: tuple[Column[_Row], ...] = (
    Column("model", str, "Name of the model", heading="model"),
    *(
        Column(f"{mode}{end}", kind, meaning.format(mode=mode), heading=heading.format(mode=mode))
        for mode in _MODES
        for end, kind, meaning, heading in (
            ("", float, "Average win-rate of {mode} answers, in closed form", "{mode}"),
            ("_drawn", float, "The same of answers that were drawn", "{mode},\ndrawn"),
        )
    ),
    *(
        Column(
            f"rank_{mode}", int, f"Rank by the {mode} win-rate, 1 is best", heading=f"rank,\n{mode}"
        )
        for mode in _MODES
    ),
)


def worked_example(source: PaperSource) -> Made:
    """Return both protocols' average win-rates of the three models, and their ranks."""
    rng = np.random.default_rng(source.settings.seed)
    repeats = source.settings.repeats or _REPEATS
    rates = {mode: win_rates(_RIGHT, coupled=mode is Mode.COUPLED) for mode in _MODES}
    drawn = {
        mode: drawn_win_rates(_RIGHT, repeats, rng, coupled=mode is Mode.COUPLED) for mode in _MODES
    }
    rows = [
        {
            "model": model,
            **{f"{mode}": rates[mode][at] for mode in _MODES},
            **{f"{mode}_drawn": drawn[mode][at] for mode in _MODES},
            **{f"rank_{mode}": 1 + int((rates[mode] > rates[mode][at]).sum()) for mode in _MODES},
        }
        for at, model in enumerate(_MODELS)
    ]
    table = table_of(WORKED_EXAMPLE, rows)
    values = {_named(row["model"], mode): float(row[f"{mode}"]) for row in rows for mode in _MODES}
    note = f"Drawn: {repeats:,} answers to each prompt in each comparison."
    return Made({"win-rates": table}, {"win-rates": _figure(rows, table)}, values, (note,))


def _figure(rows: list[_Row], table: Table[_Row]) -> go.Figure:
    theme = theme_for(dark=False)
    colours = {Mode.COUPLED: theme.accent, Mode.INDEPENDENT: theme.other}
    traces = [
        {
            "type": "bar",
            "x": [row["model"] for row in rows],
            "y": [row[f"{mode}"] for row in rows],
            "text": [f"rank {row[f'rank_{mode}']}" for row in rows],
            "textposition": "outside",
            "cliponaxis": False,
            "marker": {"color": colour},
        }
        for mode, colour in colours.items()
    ]
    head = Head(
        file="worked-example",
        title="Coupling flips a ranking by win-rates",
        lines=(
            "three models, two prompts, answers of one token; in closed form",
            key(*((_BAR, colour, f"{mode}") for mode, colour in colours.items())),
        ),
        numbers=table,
    )
    layout = {
        "width": 640,
        "barmode": "group",
        "bargap": 0.35,
        "xaxis": {"automargin": True},
        "yaxis": {
            "automargin": True,
            "tickformat": ".0%",
            "gridcolor": theme.grid,
            "zeroline": False,
            "title": axis_title("Average win rate", theme),
        },
    }
    return finish(traces, theme, head, height=320, layout=layout)
