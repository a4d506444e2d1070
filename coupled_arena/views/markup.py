"""The few kinds of markup that tabs and reports are made of: all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape


def shown(value: object) -> Markup:
    """Return a value as markup: text escaped, whole numbers with separators."""
    return Markup(f"{value:,}") if isinstance(value, int) else escape(value)


def joined(parts: Iterable[object]) -> Markup:
    """Return markup one after the other."""
    return Markup("\n").join(shown(part) for part in parts)


def heading(text: str, level: int) -> Markup:
    """Return a heading."""
    return Markup("<h{0}>{1}</h{0}>").format(level, text)


def paragraph(text: str, kind: str = "") -> Markup:
    """Return a paragraph."""
    return Markup("<p{}>{}</p>").format(_class(kind), text)


def bold(text: str) -> Markup:
    """Return a text that stands out."""
    return Markup("<b>{}</b>").format(text)


def broken(text: str) -> Markup:
    """Return a text with its line breaks."""
    return Markup("<br>").join(text.split("\n"))


def listed(items: Iterable[str], kind: str = "") -> Markup:
    """Return a list; nothing without items."""
    inside = Markup("").join(Markup("<li>{}</li>").format(item) for item in items)
    return Markup("<ul{}>{}</ul>").format(_class(kind), inside) if inside else inside


def table(names: Sequence[str], rows: Iterable[Sequence[object]], kind: str = "") -> Markup:
    """Return a table, the first cell of each row its name; nothing without rows."""
    body = joined(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            shown(first), Markup("").join(Markup("<td>{}</td>").format(shown(x)) for x in rest)
        )
        for first, *rest in rows
    )
    if not body:
        return body
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in names)
    return Markup(
        '<div class="scroll"><table class="{}"><thead><tr>{}</tr></thead><tbody>{}</tbody>'
        "</table></div>"
    ).format(f"board {kind}".strip(), head, body)


def facts(pairs: Iterable[tuple[str, object]]) -> Markup:
    """Return names with their values."""
    inside = (Markup("<dt>{}</dt><dd>{}</dd>").format(name, shown(x)) for name, x in pairs)
    return Markup("<dl>{}</dl>").format(Markup("").join(inside))


def _class(kind: str) -> Markup:
    return Markup(' class="{}"').format(kind) if kind else Markup("")
