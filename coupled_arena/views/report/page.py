"""A report as one page that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from coupled_arena.core.errors import StoreError
from coupled_arena.core.files import reason
from coupled_arena.core.settings import resource
from coupled_arena.views.report.collect import Report
from coupled_arena.views.report.overview import basis, summary
from coupled_arena.views.report.sections import SECTIONS

NAME = "report.html"


def page(report: Report) -> str:
    """Return the report as HTML; two of one store differ in the date alone."""
    parts = {name: (title, made(report)) for name, (title, made) in SECTIONS.items()}
    parts["basis"] = ("What this rests on", basis(report))
    scripts = {"plotly": get_plotlyjs(), "script": _asset("report.js"), "sort": _asset("sort.js")}
    template = Environment(autoescape=True).from_string(_asset("report.html"))
    return template.render(
        policy=Markup(_policy(scripts.values())),
        style=Markup(_asset("report.css")),
        store=report.store,
        date=f"{report.made:%F %R} UTC",
        summary=summary(report),
        parts=parts,
        **{name: Markup(text) for name, text in scripts.items()},
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
    return StoreError(f"Nothing can be written to {out}: {reason(error)}. Choose another folder.")
