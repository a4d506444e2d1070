"""A report as one page that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path
from string import Template

from plotly.offline import get_plotlyjs

from coupled_arena.core.errors import StoreError
from coupled_arena.core.settings import resource
from coupled_arena.views.markup import Html, html, joined
from coupled_arena.views.report.collect import Report
from coupled_arena.views.report.overview import basis, summary
from coupled_arena.views.report.sections import SECTIONS

NAME = "report.html"


def page(report: Report) -> str:
    """Return the report as HTML; two of one store differ in the date alone."""
    parts = {name: (title, made(report)) for name, (title, made) in SECTIONS.items()}
    parts["basis"] = ("What this rests on", basis(report))
    scripts = {"plotly": get_plotlyjs(), "script": _asset("report.js")}
    return Template(_asset("report.html")).substitute(
        policy=_policy(scripts.values()),
        style=_asset("report.css"),
        title=f"Coupled Arena: {html(report.store)}",
        date=f"{report.made:%F %R} UTC",
        summary=summary(report),
        contents=joined(
            Html(f'<a href="#{name}">{html(title)}</a>') for name, (title, _) in parts.items()
        ),
        sections=joined(
            Html(f'<section id="{name}"><h2>{html(title)}</h2>\n{body}</section>')
            for name, (title, body) in parts.items()
        ),
        **scripts,
    )


def folder_for(out: Path) -> Path:
    """Create the folder of a report.

    Raises
    ------
    StoreError
        It cannot be created.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _refused(out, error) from error
    return out


def write(text: str, out: Path) -> Path:
    """Write the page whole, or leave what was there before.

    Raises
    ------
    StoreError
        The folder cannot be written.
    """
    target = out / NAME
    try:
        with tempfile.TemporaryDirectory(prefix=".report-", dir=out) as partial:
            written = Path(partial) / NAME
            written.write_text(text, encoding="utf-8", newline="\n")
            written.replace(target)
    except OSError as error:
        raise _refused(out, error) from error
    return target


def _policy(scripts: Iterable[str]) -> str:
    """Return what the page may do: run its own scripts, and ask nobody for anything."""
    hashes = " ".join(f"'sha256-{_digest(text)}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    return resource(f"assets/{name}").read_text(encoding="utf-8")


def _refused(out: Path, error: OSError) -> StoreError:
    return StoreError(f"Nothing can be written to {out}: {error.strerror}. Choose another folder.")
