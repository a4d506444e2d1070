"""Controls that several tabs have, and what they are read as."""

from __future__ import annotations

from typing import Any

import gradio as gr

from coupled_arena.core.choices import Choice
from coupled_arena.core.language import _

IS_DARK = "() => document.body.classList.contains('dark')"
"""Script that says which background figures have."""

_LOWEST_ALPHA, _HIGHEST_ALPHA = 0.01, 0.4


def translated(choices: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return choices of (label, value) with their labels in the language in force."""
    return [(_(label), value) for label, value in choices]


def offered(kind: type[Choice]) -> list[tuple[str, str]]:
    """Return the values of an option that a page offers, with their labels."""
    return [(_(each.label), each.value) for each in kind if each.label]


def alpha_slider(elem_id: str, **options: Any) -> gr.Slider:
    """Return a slider for an error level; read it with `error_level`."""
    return gr.Slider(
        _LOWEST_ALPHA,
        _HIGHEST_ALPHA,
        value=0.05,
        step=0.01,
        label=_("Error level alpha"),
        min_width=280,
        elem_id=elem_id,
        **options,
    )


def error_level(value: float) -> float:
    """Return the level of a slider, within its range: a request may hold any number."""
    return min(max(float(value), _LOWEST_ALPHA), _HIGHEST_ALPHA)


def dropdown(
    choices: list[tuple[str, str]], label: str, elem_id: str, chosen: str | None = None
) -> gr.Dropdown:
    """Return a choice of (label, value); without `chosen` the first one is chosen."""
    return gr.Dropdown(
        choices,
        value=choices[0][1] if chosen is None else chosen,
        label=label,
        elem_id=elem_id,
        min_width=220,
        filterable=False,
    )


def with_any(what: str, values: list[str]) -> list[tuple[str, str]]:
    """Return choices that begin with one for all of them."""
    return [(what, ""), *((value, value) for value in values)]
