"""The fields of the analyses' tabs: those of options as these are declared, and what all share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr

from coupled_arena.api.declared import Option, options
from coupled_arena.core.choices import Choice
from coupled_arena.core.language import _
from coupled_arena.views.addresses import listed_among

IS_DARK = "() => document.body.classList.contains('dark')"
"""Script that says which background figures have."""


class Fields:
    """The fields of an analysis, by the names of its options.

    Parameters
    ----------
    function : callable
        Of the Python API: its options with a `Field` are those that the page offers.
    prefix : str
        A field's id is this, a hyphen, and the option's name.
    """

    def __init__(self, function: Callable[..., Any], prefix: str) -> None:
        self._prefix = prefix
        self._offered = {each.name: each for each in options(function) if each.field}
        self._built: dict[str, Any] = {}
        self._first: dict[str, Any] = {}

    def build(self, name: str, kind: Any = None, **changes: Any) -> Any:
        """Lay out the field of an option inside the current Blocks, and return it.

        Parameters
        ----------
        kind : type, optional
            Of the component, where it is not the usual one of such an option.
        **changes
            Of the component's own options.
        """
        kind, asked = _component(self._offered[name], kind)
        asked |= {"elem_id": f"{self._prefix}-{name.replace('_', '-')}"}
        self._built[name] = kind(**asked | changes)
        self._first[name] = self._built[name].value
        return self._built[name]

    def build_others(self, *later: str) -> None:
        """Lay out the fields of all options that have none yet, but those that come later."""
        for name in self._offered:
            if name not in self._built and name not in later:
                self.build(name)

    def __getitem__(self, name: str) -> Any:
        return self._built[name]

    @property
    def names(self) -> list[str]:
        """The options of the fields that are laid out."""
        return list(self._built)

    @property
    def all(self) -> list[Any]:
        """All fields that are laid out."""
        return list(self._built.values())

    def changes(self, *but: str) -> list[Any]:
        """Return the events after which the analysis may have to be made again."""
        return [
            each.release if isinstance(each, gr.Slider) else each.input
            for name, each in self._built.items()
            if name not in but
        ]

    def read(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        """Return what the visitor chose, as the function takes it.

        Raises
        ------
        ArenaError
            A request has what no field offers.
        """
        return {
            name: _read(self._offered[name], values[built]) for name, built in self._built.items()
        }

    def told(self, values: Mapping[Any, Any]) -> dict[str, str]:
        """Return what differs from what the fields have at first, as texts for an address."""
        return {
            name: _text(values[built])
            for name, built in self._built.items()
            if not _same(values[built], self._first[name])
        }

    def filled(self, asked: Mapping[str, str], known: Mapping[str, list[Any]]) -> dict[Any, Any]:
        """Return the values of all fields by an address: what it leaves open is as at first.

        Parameters
        ----------
        asked : mapping of str to str
            By the names of options. What no field offers is left out.
        known : mapping of str to list
            The values of fields that the data offer.
        """
        return {
            built: _asked(built, asked.get(name), known.get(name), self._first[name])
            for name, built in self._built.items()
        }

    def offering(self, name: str, known: list[str], chosen: Any = None, **changes: Any) -> Any:
        """Return the change of a field to values that the data have now.

        Parameters
        ----------
        chosen : optional
            What the visitor chose: it stays so where it is still known. Else the field has its
            first value.
        """
        choices = _listed(self._offered[name], known)
        return gr.Dropdown(choices, value=self.still(name, known, chosen), **changes)

    def still(self, name: str, known: list[str], chosen: Any) -> Any:
        """Return what is chosen of values that the data have now: see `offering`."""
        there = [value for _, value in _listed(self._offered[name], known)]
        return chosen if chosen in there else there[0] if there else None


def _same(value: Any, first: Any) -> bool:
    return value == first or (value in (None, "", []) and first in (None, "", []))


def _text(value: Any) -> str:
    """Return a field's value as the text of an address; of several values, commas between them."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _asked(built: Any, text: str | None, known: list[Any] | None, first: Any) -> Any:
    """Return a field's value by the text of an address; what it has at first for anything else."""
    if text is None:
        return first
    if isinstance(built, gr.Slider | gr.Number):
        try:
            number = float(text)
        except ValueError:
            return first
        bounds = built.minimum, built.maximum
        low, high = (number if end is None else end for end in bounds)
        return min(max(number, low), high) if math.isfinite(number) else first
    offered = known if known is not None else [value for _, value in built.choices]
    values = {str(value): value for value in offered}
    if getattr(built, "multiselect", False):
        return [values[each] for each in listed_among(text, values)]
    return values.get(text, first)


def _component(option: Option, kind: Any = None) -> tuple[Any, dict[str, Any]]:
    """Return the component of an option, and what to make it with."""
    assert option.field, f"{option.name} is not on the page"
    field = option.field
    first = option.default if field.first is None else field.first
    asked: dict[str, Any] = {"label": _(field.label), "min_width": 220}
    asked |= {"info": _(field.info)} if field.info else {}
    if option.kind is bool:
        return kind or gr.Checkbox, asked | {"value": bool(first)}
    if option.kind in (int, float) and not option.many and kind is not gr.Dropdown:
        asked |= {"value": first, "minimum": _least(option), "step": field.step or 1}
        if field.most is not None:
            return kind or gr.Slider, asked | {"maximum": field.most, "min_width": 280}
        whole = {"precision": 0} if option.kind is int else {}
        return kind or gr.Number, asked | whole | {"min_width": 160}
    if option.many and not option.alone:
        return kind or gr.Dropdown, asked | {"choices": [], "multiselect": True}
    known = offered(option.kind) if issubclass(option.kind, Choice) else []
    choices = [*_nothing(option), *known]
    value = str(first) if first is not None else choices[0][1] if choices else None
    asked |= {"choices": choices, "value": value}
    if kind is gr.Radio:
        return kind, asked | {"min_width": 280}
    return kind or gr.Dropdown, asked | {"filterable": not choices}


def _read(option: Option, value: Any) -> Any:
    """Return a field's value as the function takes it; a request may hold any number."""
    assert option.field, f"{option.name} is not on the page"
    if option.optional and value in (None, "", []):
        return None
    if option.kind in (int, float) and not option.many:
        least, value = _least(option), value or 0
        value = value if least is None else max(value, least)
        value = value if option.field.most is None else min(value, option.field.most)
        value = option.kind(value)
    return option.checked(value)


def _least(option: Option) -> float | None:
    """Return the smallest number of a field; an empty one sends 0, which is then no refusal."""
    if option.field and option.field.least is not None:
        return option.field.least
    return None if option.optional else option.least


def _nothing(option: Option) -> list[tuple[str, str]]:
    return [(_(option.field.nothing), "")] if option.field and option.field.nothing else []


def _listed(option: Option, known: list[str]) -> list[tuple[str, str]]:
    return [*_nothing(option), *((each, each) for each in known)]


def translated(choices: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return choices of (label, value) with their labels in the language in force."""
    return [(_(label), value) for label, value in choices]


def offered(kind: type[Choice]) -> list[tuple[str, str]]:
    """Return the values of an option that a page offers, with their labels."""
    return [(_(each.label), each.value) for each in kind if each.label]
