"""The language of what visitors read: one for a whole arena, from a gettext catalog.

The texts in the program are English and name their translations. Nothing else is translated:
the command line, logs, keys, exports and stored values. Numbers that fill a translated text have
the marks of its language; a number that stands alone is written by `number`.
"""

from __future__ import annotations

import gettext
import json
from collections.abc import Iterable
from functools import reduce
from numbers import Real
from pathlib import Path
from string import Formatter
from typing import Any

from coupled_arena.core.errors import SettingsError

DOMAIN = "arena"
ENGLISH = "en"
FOLDER = Path(__file__).parents[1] / "locale"


class _Installed:
    """The language in force, which is set once, before a page is built."""

    name = ENGLISH
    texts: gettext.NullTranslations = gettext.NullTranslations()


def languages() -> list[str]:
    """Return the languages there are."""
    return sorted([ENGLISH, *(path.parents[1].name for path in FOLDER.glob("*/*/*.mo"))])


def install(name: str) -> None:
    """Have texts in a language from here on.

    Raises
    ------
    SettingsError
        There is no such language.
    """
    if name not in languages():
        there = ", ".join(languages())
        raise SettingsError(f"There is no language {name!r}. Choose from: {there}.")
    found = gettext.NullTranslations()
    if name != ENGLISH:
        found = gettext.translation(DOMAIN, FOLDER, [name])
    _Installed.name, _Installed.texts = name, found


def language() -> str:
    """Return the language in force."""
    return _Installed.name


def _(text: str) -> str:
    """Return a text in the language in force; call it when the text is used, not on import."""
    return _Text(_Installed.texts.gettext(text))


def N_(text: str) -> str:
    """Return the text itself: marks what is translated where it is used."""
    return text


def ngettext(one: str, many: str, count: int) -> str:
    """Return a text for this many, in the language in force."""
    return _Text(_Installed.texts.ngettext(one, many, count))


def chained(text: str, parts: Iterable[str]) -> str:
    """Return parts as one text, by a text with the places ``one`` and ``other``.

    The first two are put into it, what comes of that and the third again, and so on.
    """
    return reduce(lambda one, other: text.format(one=one, other=other), parts)


def localised(digits: str) -> str:
    """Return a number that was written in English with the marks of the language in force."""
    marks = separators()
    return digits.translate({ord("."): marks[0], ord(","): marks[1]})


def separators() -> str:
    """Return the decimal mark and that of thousands, as plotly's `separators` has them."""
    example = _("1,234.5")
    return example[-2] + example[1]


def number(value: float, form: str = "") -> str:
    """Return a number, formatted as `format` does, in the language in force."""
    return localised(format(value, form))


class _Filling(Formatter):
    """Formats as `str.format`, with numbers in the language in force."""

    def format_field(self, value: Any, format_spec: str) -> str:
        text = super().format_field(value, format_spec)
        return localised(text) if isinstance(value, Real) else text


class _Text(str):
    """A text whose `format` writes numbers in the language in force."""

    __slots__ = ()

    def format(self, *given: Any, **values: Any) -> str:
        """Return the text with its places filled."""
        return _Filling().vformat(self, given, values)


def filled(text: str, /, **values: Any) -> str:
    """Return a text with its places filled, and its numbers in the language in force.

    What is no number stays as it is: the point in the name of a model is no decimal mark.
    """
    return _Filling().vformat(text, (), values)


def script_texts() -> dict[str, str | list[str]]:
    """Return the texts of the page's scripts in the language in force; nothing for English."""
    if _Installed.name == ENGLISH:
        return {}
    path = FOLDER / _Installed.name / "scripts.json"
    return json.loads(path.read_text(encoding="utf-8"))
