"""Figures as files: pages that need nothing else, and pictures, which a browser draws."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from coupled_arena.core.errors import ArenaError
from coupled_arena.core.extras import command_for, is_installed

FORMATS = ("svg", "png", "pdf")
"""The kinds of pictures that a browser draws."""
PAGE = "html"
_WIDTH, _HEIGHT = 900, 500  # pixels, of a figure that does not say
_SCALE = 2  # of pixels in a PNG, so that print is sharp

_log = logging.getLogger(__name__)


# All of the page's scripts are Plotly's, in which data are JSON without `<` and `>`.
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; script-src '
    "'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'\">"
)


def write_page(figure: go.Figure, path: Path) -> Path:
    """Write a figure as a page that needs no network.

    Raises
    ------
    OSError
        It cannot be written.
    """
    page = figure.to_html(include_plotlyjs=True, config={"displaylogo": False})
    path.write_text(page.replace("<head>", f"<head>{_POLICY}", 1), encoding="utf-8")
    return path


def write_pictures(
    figures: Mapping[Path, go.Figure], formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write figures as pictures, all in one start of the browser; return the files.

    Without a browser, or the extra `pictures`, a page of each figure is written instead, and a
    warning says so.

    Parameters
    ----------
    figures : mapping of Path to plotly Figure
        By their files, without an ending.
    formats : sequence of str
        Some of `FORMATS`, or `PAGE`.

    Raises
    ------
    ArenaError
        The browser is there, but it did not draw them.
    OSError
        A file cannot be written.
    """
    kinds = [form for form in formats if form != PAGE]
    wanted = {_file(stem, kind): (kind, each) for stem, each in figures.items() for kind in kinds}
    files = _drawn(wanted)
    if PAGE in formats or len(files) < len(wanted):
        files += [write_page(figure, _file(stem, PAGE)) for stem, figure in figures.items()]
    return files


def _drawn(wanted: Mapping[Path, tuple[str, go.Figure]]) -> list[Path]:
    if not wanted:
        return []
    if not is_installed("pictures"):
        _log.warning("Pictures need more packages: %s. Wrote pages.", command_for("pictures"))
        return []
    import kaleido
    from kaleido.errors import BrowserFailedError, ChromeNotFoundError, KaleidoError

    pictures = [
        {"fig": figure, "path": path, "opts": _options(figure, kind)}
        for path, (kind, figure) in wanted.items()
    ]
    try:
        # Without `mathjax` it would ask a host outside for it.
        kaleido.write_fig_from_object_sync(pictures, cancel_on_error=True, kopts={"mathjax": False})
    except ChromeNotFoundError:
        _log.warning("There is no browser to draw pictures with: install chromium. Wrote pages.")
        return []
    except (BrowserFailedError, KaleidoError) as error:
        text = str(error).splitlines() or [type(error).__name__]
        raise ArenaError(
            f"The browser that draws pictures failed ({text[0]}): take --figures html."
        ) from error
    return list(wanted)


def _options(figure: go.Figure, form: str) -> dict[str, Any]:
    layout: dict[str, Any] = figure.to_dict()["layout"]
    size = {"width": layout.get("width") or _WIDTH, "height": layout.get("height") or _HEIGHT}
    return {"format": form, **size, **({"scale": _SCALE} if form == "png" else {})}


def _file(stem: Path, form: str) -> Path:
    return stem.with_name(f"{stem.name}.{form}")
