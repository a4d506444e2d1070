"""What a function's signature declares of its options: the one place where an option stands.

Each keyword has a type, a default and a sentence (`annotated_doc.Doc`). From these come the checks
before anything is read, and the numpydoc section of the docstring. So do the command of the same
name with its help, the page of commands, and the `settings` of the answer. With a `Field` the
option has a field on the tab of the analysis, too. In a sentence other options stand in backticks,
and links lead from the folder `docs`. Nothing here knows any analysis.
"""

from __future__ import annotations

import inspect
import math
import re
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, wraps
from numbers import Real
from pathlib import Path
from types import SimpleNamespace
from typing import (
    Annotated,
    Any,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_doc import Doc
from annotated_types import Ge, Le

from coupled_arena.api.results import Result
from coupled_arena.core.errors import ArenaError

P = ParamSpec("P")
T = TypeVar("T")

REQUIRED = inspect.Parameter.empty
_DOUBTFUL = 0.5  # nobody wants intervals that are wrong more often than right
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


@dataclass(frozen=True)
class Opposite:
    """The flag that says no, of an option that is neither by default."""

    name: str


@dataclass(frozen=True)
class Field:
    """The field of an option on the page: what it says, and what it offers.

    Attributes
    ----------
    label : str
        Marked for translation.
    info : str
        A sentence below the label, marked for translation.
    nothing : str
        What it offers for None, marked for translation.
    first : object
        What it has at first, where that is not the option's default.
    least, most, step : float or None
        Bounds of a number; with `most` it is a slider.
    """

    label: str
    info: str = ""
    nothing: str = ""
    first: Any = None
    least: float | None = None
    most: float | None = None
    step: float | None = None


class Level:
    """An error level: between 0 and 1, and in doubt from one half on."""


@dataclass(frozen=True)
class Pairs:
    """Texts ``NAME=VALUE``, or a mapping; a command takes one a time, as often as it is given.

    Attributes
    ----------
    form : str
        What a command's help shows of one.
    """

    form: str = "OURS=THEIRS"


class Tracked:
    """No option: a callable that shows how far a computation is."""


@dataclass(frozen=True)
class Option:
    """One keyword of a function.

    Attributes
    ----------
    name : str
    kind : type
        bool, int, float, str, Path or a `StrEnum`; of each value, where there may be several.
    many : bool
        Whether it takes several.
    alone : bool
        Whether, of what takes several, one may be given as it is.
    optional : bool
        Whether it may be None, which is its default then.
    default : object
        `REQUIRED` where it has none.
    text : str
        The sentence, as Markdown.
    least, most : int or None
        The smallest and the largest number that is taken.
    opposite : str
        See `Opposite`.
    level : bool
        Whether it is an error level.
    field : Field or None
        None where the page does not offer it.
    pairs : str
        The form of its `Pairs`; empty where it takes none.
    """

    name: str
    kind: type
    many: bool
    alone: bool
    optional: bool
    default: Any
    text: str
    least: int | None
    most: int | None
    opposite: str
    level: bool
    field: Field | None
    pairs: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have, where they are few."""
        return tuple(self.kind) if issubclass(self.kind, StrEnum) else ()

    @property
    def plain_text(self) -> str:
        """The sentence without its links."""
        return without_links(self.text)

    def checked(self, value: Any) -> Any:
        """Return a value as the function takes it.

        Raises
        ------
        ArenaError
            It is none of those it may be.
        """
        if value is None and self.optional:
            return None
        if self.pairs and isinstance(value, Mapping):
            return tuple(f"{name}={each}" for name, each in value.items())
        if not self.many:
            return self._one(value)
        if isinstance(value, str):
            if not self.alone:
                raise ArenaError(f"Give several {self.name}, not one text: [{value!r}, ...].")
            return value
        several = cast("Sequence[Any]", value if isinstance(value, Sequence) else [value])
        return tuple(self._one(each) for each in several)

    def _in_range(self, value: Any) -> None:
        """Refuse a number beyond the bounds."""
        if not isinstance(value, Real) or isinstance(value, bool):
            return
        if self.least is not None and float(value) < self.least:
            raise ArenaError(f"`{self.name}` is {self.least} or more, not {value}.")
        if self.most is not None and float(value) > self.most:
            raise ArenaError(f"`{self.name}` is {self.most} or less, not {value}.")

    def _one(self, value: Any) -> Any:
        if self.level:
            check_level(value, f"`{self.name}`")
        self._in_range(value)
        if not self.choices:
            return value
        try:
            return self.kind(value)
        except ValueError:
            known = ", ".join(self.choices)
            raise ArenaError(f"`{self.name}` is one of {known}, not {value!r}.") from None


def check_level(alpha: Any, name: str) -> None:
    """Refuse what is no error level, and doubt what looks like a confidence."""
    level = float(alpha) if isinstance(alpha, Real) else math.nan
    if not 0 < level < 1:
        given = f"{level:g}" if isinstance(alpha, Real) else repr(alpha)
        raise ArenaError(f"{name} is an error level between 0 and 1, such as 0.05, not {given}.")
    if level >= _DOUBTFUL:
        warnings.warn(
            f"{name} is the error level: {level:g} makes {1 - level:.0%} intervals. For intervals "
            f"of {level:.0%} give {1 - level:.2g}.",
            stacklevel=5,
        )


def without_links(text: str) -> str:
    """Return Markdown whose links are their words."""
    return _LINK.sub(r"\1", text)


def analysis(function: Callable[P, Result[T]]) -> Callable[P, Result[T]]:
    """Check a function's options when it is called, and tell of them in its docstring.

    The result's settings are what it was called with, and in their place what it says was used;
    its answer has them, too.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Result[T]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        asked = {
            option.name: option.checked(bound.arguments[option.name])
            for option in options(function)
        }
        bound.arguments.update(asked)
        found = function(*bound.args, **bound.kwargs)
        used = {**asked, **found.settings}
        texts = StrEnum, Path
        values = {name: str(x) if isinstance(x, texts) else x for name, x in used.items()}
        as_json = {name: list(x) if isinstance(x, tuple) else x for name, x in values.items()}
        added = {} if "settings" in found.answer else {"settings": as_json}
        return replace(found, settings=values, answer={**found.answer, **added})

    checked.__doc__ = _documented(function)
    return checked


@cache
def options(function: Callable[..., Any]) -> tuple[Option, ...]:
    """Return the options of a function, in their order."""
    function = inspect.unwrap(function)
    parameters = inspect.signature(function).parameters.values()
    keywords = {each.name: each for each in parameters if each.kind is each.KEYWORD_ONLY}
    values = {name: _evaluated(each.annotation, function) for name, each in keywords.items()}
    return tuple(
        _option(keywords[name], kind, metadata)
        for name, (kind, metadata) in values.items()
        if not any(isinstance(each, Tracked) for each in metadata)
    )


def refuse(
    function: Callable[..., Any], given: Mapping[str, Any], where: str, about: str = "a store"
) -> None:
    """Refuse options that are about something else than what there is.

    Parameters
    ----------
    given : mapping of str to object
        Options of the function, and what each was given.
    where : str
        What there is: "with scores".
    about : str
        What the options are for.
    """
    defaults = {option.name: option.default for option in options(function)}
    for name, value in given.items():
        if value != defaults[name]:
            raise ArenaError(f"`{name}` is for {about}: leave it out {where}.")


def _evaluated(annotation: Any, function: Callable[..., Any]) -> tuple[Any, tuple[Any, ...]]:
    """Return the type of an annotation, and what it is annotated with.

    One by one, for those of other parameters may name what only a type checker imports.
    """
    alone = SimpleNamespace(__annotations__={"it": annotation})
    annotation = get_type_hints(alone, function.__globals__, include_extras=True)["it"]
    if get_origin(annotation) is Annotated:
        kind, *metadata = get_args(annotation)
        return kind, tuple(metadata)
    raise TypeError(f"{annotation} of {function.__name__} has no sentence: annotate it with Doc.")


def _option(parameter: inspect.Parameter, annotated: Any, metadata: Sequence[Any]) -> Option:
    union = get_origin(annotated) in (Union, types.UnionType)
    kinds = list(get_args(annotated)) if union else [annotated]
    optional = type(None) in kinds
    kinds = [kind for kind in kinds if kind is not type(None)]
    sequence = next((kind for kind in kinds if get_origin(kind) is not None), None)
    if sequence is not None:
        (kind,) = get_args(sequence)
    else:  # of a choice or its text the choice says more
        kind = next((kind for kind in kinds if issubclass(kind, StrEnum)), kinds[0])
    found = {type(each): each for each in metadata}
    return Option(
        name=parameter.name,
        kind=kind,
        many=sequence is not None,
        alone=str in kinds or (sequence is not None and kind in kinds),
        optional=optional,
        default=parameter.default,
        text=found[Doc].documentation,
        least=found[Ge].ge if Ge in found else None,
        most=found[Le].le if Le in found else None,
        opposite=found[Opposite].name if Opposite in found else "",
        level=Level in found,
        field=found.get(Field),
        pairs=found[Pairs].form if Pairs in found else "",
    )


def _documented(function: Callable[..., Any]) -> str:
    """Return a function's docstring with its options below its other parameters."""
    text = inspect.getdoc(function) or ""
    entries = "\n".join(_entry(option) for option in options(function))
    before, returns, after = text.partition("\nReturns\n-------\n")
    if "\nParameters\n----------\n" not in before:
        before = f"{before.rstrip()}\n\nParameters\n----------\n"
    return f"{before.rstrip()}\n{entries}\n{returns}{after}"


def _entry(option: Option) -> str:
    choices = ", ".join(f'"{each}"' for each in option.choices)
    kind = f"{{{choices}}}" if choices else option.kind.__name__
    if option.many:
        kind = f"{f'{kind} or ' if option.alone else ''}sequence of {kind}"
        kind += ", or mapping of str to str" if option.pairs else ""
    optional = ", optional" if option.optional else f", default {option.default!r}"
    optional = "" if option.default is REQUIRED else optional
    return f"{option.name} : {kind}{optional}\n    {option.plain_text}"
