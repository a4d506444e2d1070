"""Panels whose content a script of ours draws, see ``assets``, and what formats their texts."""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import cache
from typing import Any

import gradio as gr
from fastapi import APIRouter, Header, HTTPException
from starlette.responses import Response

from coupled_arena.core.settings import resource

# What formats texts in the browser: scripts of ours and others' libraries, from this server.

_OURS = ("texts.js", "formulas.js", "colours.js", "texts.css")
_TABLE = "vendor/libraries.json"
_TYPES = {"js": "text/javascript", "css": "text/css", "woff2": "font/woff2"}
# Of one browser alone: with a visitor's first answer comes the cookie, which no cache may share.
_FOREVER = "private, max-age=31536000, immutable"


@cache
def texts_path() -> str:
    """Return where the page finds its script; the address changes with what lies there."""
    digest = hashlib.sha256()
    for name in (*_OURS, _TABLE):  # the table has the digests of the libraries
        digest.update(resource(f"assets/{name}").read_bytes())
    return f"/texts/{digest.hexdigest()[:16]}/texts.js"


def texts() -> APIRouter:
    """Return the route under which the page finds its script, style and libraries."""
    router = APIRouter()
    folder = texts_path().rpartition("/")[0]

    @router.get(f"{folder}/{{name:path}}")
    def file(name: str, accept_encoding: str = Header("")) -> Response:
        kind = name.rpartition(".")[2]
        if name not in _served() or kind not in _TYPES:
            raise HTTPException(404)
        headers = {"cache-control": _FOREVER, "vary": "accept-encoding"}
        small = kind != "woff2" and "gzip" in accept_encoding
        if small:
            headers["content-encoding"] = "gzip"
        content = _compressed(name) if small else _content(name)
        return Response(content, headers=headers, media_type=_TYPES[kind])

    return router


@cache
def _served() -> frozenset[str]:
    """Return the names of all files there are, below ``assets``."""
    table = json.loads(resource(f"assets/{_TABLE}").read_text(encoding="utf-8"))
    libraries = (f"vendor/{each['name']}/{file}" for each in table for file in each["files"])
    return frozenset((*_OURS, *libraries))


def _content(name: str) -> bytes:
    return resource(f"assets/{name}").read_bytes()


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(_content(name), mtime=0)


def panel(name: str, *scripts: str, value: dict[str, Any] | None = None) -> gr.HTML:
    """Return a panel that is drawn anew from its value whenever that changes.

    Parameters
    ----------
    name : str
        Its id on the page, and the class of the element that the scripts draw into.
    scripts : str
        Files ``assets/*.js`` that make one script, in this order.
    value : dict, optional
        What it shows at first.
    """
    files = (resource(f"assets/{script}.js") for script in scripts)
    script = [
        f"const TEXTS = {json.dumps(texts_path()[1:])};",
        f"const PANEL = {json.dumps(name)};",
    ]
    script += [file.read_text(encoding="utf-8") for file in files]
    return gr.HTML(
        value=value,
        # No answer may pass through the template: Gradio evaluates what it renders.
        html_template=f'<div class="{name}"></div>',
        js_on_load="\n".join(script),
        apply_default_css=False,
        elem_id=name,
    )


def comparison_panel(value: dict[str, Any] | None = None) -> gr.HTML:
    """Return the panel that draws named answers side by side."""
    scripts = "patch", "remembered", "reading", "tables"
    scripts += "first_divergence", "judgement", "compare"
    return panel("comparison", *scripts, value=value)
