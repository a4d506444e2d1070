"""The few kinds of markup that tabs and reports are made of: all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Html(str):
    """What is markup already; any other text is escaped before it becomes some."""

    __slots__ = ()


def html(value: object) -> Html:
    """Return a value as markup: text escaped, whole numbers with separators."""
    if isinstance(value, Html):
        return value
    return Html(f"{value:,}" if isinstance(value, int) else escape(str(value)))


def joined(parts: Iterable[Html]) -> Html:
    """Return markup one after the other."""
    return Html("\n".join(parts))


def heading(text: str, level: int) -> Html:
    """Return a heading."""
    return Html(f"<h{level}>{html(text)}</h{level}>")


def paragraph(text: str, kind: str = "") -> Html:
    """Return a paragraph."""
    return Html(f"<p{_class(kind)}>{html(text)}</p>")


def bold(text: str) -> Html:
    """Return a text that stands out."""
    return Html(f"<b>{html(text)}</b>")


def listed(items: Iterable[str], kind: str = "") -> Html:
    """Return a list; nothing without items."""
    inside = "".join(f"<li>{html(item)}</li>" for item in items)
    return Html(f"<ul{_class(kind)}>{inside}</ul>" if inside else "")


def table(names: Sequence[str], rows: Iterable[Sequence[object]], kind: str = "") -> Html:
    """Return a table, the first cell of each row its name; nothing without rows."""
    body = joined(
        Html(
            f'<tr><th scope="row">{html(first)}</th>'
            f"{''.join(f'<td>{html(cell)}</td>' for cell in rest)}</tr>"
        )
        for first, *rest in rows
    )
    return framed(names, body, kind) if body else Html("")


def framed(names: Sequence[str], body: Html, kind: str = "") -> Html:
    """Return a table of rows that are markup already."""
    head = "".join(f'<th scope="col">{html(name)}</th>' for name in names)
    return Html(
        f'<div class="scroll"><table class="{f"board {kind}".strip()}">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def facts(pairs: Iterable[tuple[str, object]]) -> Html:
    """Return names with their values."""
    inside = "".join(f"<dt>{html(name)}</dt><dd>{html(value)}</dd>" for name, value in pairs)
    return Html(f"<dl>{inside}</dl>")


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
