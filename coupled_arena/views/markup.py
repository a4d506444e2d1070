"""The few kinds of markup that tabs and reports are made of: all text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from markupsafe import EscapeFormatter, Markup, escape

from coupled_arena.core.language import localised, number

# Embeddings, overrides and isolates of Unicode's bidirectional algorithm: in a model's name they
# would turn around the rest of the sentence that it stands in.
_TURNING = dict.fromkeys(
    [*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\N{REPLACEMENT CHARACTER}"
)


def straight(text: str) -> str:
    """Return a text with signs in the place of characters that turn around what follows them."""
    return text.translate(_TURNING)


# A minus before a number that stands by itself: the hyphen in a name or a date is none.
_MINUS = re.compile(r"(?<![^\s(>])-(?=\.?\d[\d.,]*%?(?:[\s),;:<]|\.(?:\s|$)|$))")


def typeset(text: str) -> str:
    """Return a text for people on a page, with a minus sign before negative numbers."""
    found = _MINUS.sub("\N{MINUS SIGN}", text)
    return Markup(found) if isinstance(text, Markup) else found


def shown(value: object) -> Markup:
    """Return a value as markup: text escaped, whole numbers with separators."""
    if isinstance(value, int):
        return Markup(number(value, ","))
    return escape(straight(value) if isinstance(value, str) else value)


class _Filling(EscapeFormatter):
    """Formats as `Markup.format`, with numbers in the language in force."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Real):
            return localised(format(value, format_spec))
        return super().format_field(value, format_spec)


def worded(text: str, **values: object) -> Markup:
    """Return a text as markup with its places filled: numbers as the language has them."""
    return Markup(_Filling(escape).vformat(text, (), values))


def joined(parts: Iterable[object]) -> Markup:
    """Return markup one after the other."""
    return Markup("\n").join(shown(part) for part in parts)


def heading(text: str, level: int) -> Markup:
    """Return a heading."""
    return Markup("<h{0}>{1}</h{0}>").format(level, straight(text))


def paragraph(text: str, kind: str = "") -> Markup:
    """Return a paragraph."""
    return Markup("<p{}>{}</p>").format(_class(kind), typeset(straight(text)))


def bold(text: str) -> Markup:
    """Return a text that stands out."""
    return Markup("<b>{}</b>").format(straight(text))


def link(address: str, shown: Markup) -> Markup:
    """Return what leads somewhere."""
    return Markup('<a href="{}">{}</a>').format(address, shown)


def broken(text: str) -> Markup:
    """Return a text with its line breaks."""
    return Markup("<br>").join(straight(text).split("\n"))


def listed(items: Iterable[str], kind: str = "") -> Markup:
    """Return a list; nothing without items."""
    lines = (Markup("<li>{}</li>").format(typeset(straight(item))) for item in items)
    inside = Markup("").join(lines)
    return Markup("<ul{}>{}</ul>").format(_class(kind), inside) if inside else inside


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is sorted by something else than it shows; None where unknown."""

    shown: object
    value: float | None


def table(
    names: Sequence[str], rows: Iterable[Sequence[object]], kind: str = "", named: int = 0
) -> Markup:
    """Return a table; nothing without rows.

    A cell is sorted as a number where it is one or a `Cell`, else by its text.

    Parameters
    ----------
    named : int
        Which cell is the name of its row.
    """
    body = joined(
        Markup("<tr>{}</tr>").format(
            Markup("").join(
                _cell(each, "th", Markup(' scope="row"'))
                if place == named
                else _cell(each, "td", Markup())
                for place, each in enumerate(row)
            )
        )
        for row in rows
    )
    if not body:
        return body
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in names)
    return Markup(
        '<div class="scroll"><table class="{}"><thead><tr>{}</tr></thead><tbody>{}</tbody>'
        "</table></div>"
    ).format(f"board {kind}".strip(), head, body)


def row_action(does: str, text: str, **row: str) -> Markup:
    """Return a button of a table's row.

    Parameters
    ----------
    does : str
        What a script is told that it does.
    **row
        What says which row it is.
    """
    told = Markup("").join(Markup(' data-{}="{}"').format(*each) for each in row.items())
    return Markup('<button type="button" class="row-action" data-does="{}"{}>{}</button>').format(
        does, told, text
    )


def facts(pairs: Iterable[tuple[str, object]]) -> Markup:
    """Return names with their values."""
    inside = (Markup("<dt>{}</dt><dd>{}</dd>").format(name, shown(x)) for name, x in pairs)
    return Markup("<dl>{}</dl>").format(Markup("").join(inside))


UNKNOWN = "\N{EN DASH}"
"""What stands for a value that nobody knows."""


def _cell(cell: object, tag: str, more: Markup) -> Markup:
    inside = cell.shown if isinstance(cell, Cell) else cell
    value = cell.value if isinstance(cell, Cell) else cell
    if value is None:
        inside = UNKNOWN if inside is None else inside
        more += Markup(' data-value=""')
    elif isinstance(value, int | float):
        # Digits that change with the order of a sum are left out.
        more += Markup(' data-value="{:.10g}"').format(value)
    return Markup("<{0}{1}>{2}</{0}>").format(tag, more, shown(inside))


def _class(kind: str) -> Markup:
    return Markup(' class="{}"').format(kind) if kind else Markup("")


_FOLDERS = re.compile(r"(^|(?<=:))(~|[A-Za-z]:)?[/\\].*[/\\](?=[^/\\])")


def nameless(path: str) -> str:
    """Return a source without the folders of the machine it lies on."""
    return _FOLDERS.sub(r"\1", path.rstrip("/\\"))
