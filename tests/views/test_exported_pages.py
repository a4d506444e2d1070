"""Pages that are written to files run nothing that a name, a question or an answer says."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import plotly.graph_objects as go
import pytest

from coupled_arena.views.figures.images import write_page
from tests.ui.hostile_texts import OUTSIDE, hostile_texts
from tests.views import rubbish

_LOADING = {"iframe", "object", "embed", "base", "form", "frame", "applet", "template"}

_HARMLESS = ("#", "data:image/", "data:text/csv", "data:,")


class Parsed(HTMLParser):
    """What a page would run, or ask others for."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.policies, self.wrong, self._script = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(given["content"])
        elif tag == "meta" and "http-equiv" in given:
            self.wrong.append((tag, given))
        if tag == "script":
            self._script = given.get("type", "")
        if tag in _LOADING or any(name.startswith("on") or name == "srcdoc" for name in given):
            self.wrong.append((tag, given))
        for name in ("src", "href", "action", "data", "xlink:href", "style"):
            address = (given.get(name) or "").strip().lower()
            if address and not address.startswith(_HARMLESS) and name != "style":
                self.wrong.append((tag, given))
            if "url(" in address:
                self.wrong.append((tag, given))

    def handle_data(self, data):
        if self._script is not None:
            self.scripts.append((self._script, data))
            self._script = None


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    from coupled_arena.cli import main

    folder = tmp_path_factory.mktemp("report")
    db = rubbish.made(folder / "arena.duckdb")
    with pytest.raises(SystemExit) as stopped:
        main(["report", "--out", str(folder), "--db", str(db)])
    assert not stopped.value.code
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_report_runs_its_own_scripts_alone(report):
    page = Parsed(report)
    code = [text for kind, text in page.scripts if kind != "application/json"]
    (policy,) = page.policies
    assert page.wrong == []
    assert len(code) == policy.count("sha256-") == 3
    assert not [text for text in code if "document.title" in text]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    for kind, text in page.scripts:
        if kind == "application/json":
            json.loads(text)
    assert "&lt;script&gt;document.title" in report  # the names are in it, as texts


def test_a_figure_is_a_page_that_runs_nothing_of_its_data(tmp_path):
    """As many scripts as with a harmless name, and none has the end of an element in its data."""
    names = [text[:2000] for text in hostile_texts(120)]
    pages = []
    for labels in (["plain"] * len(names), names):
        figure = go.Figure(go.Bar(x=[1] * len(labels), y=labels, text=labels, name=labels[0]))
        figure.update_layout(title=labels[1])
        path = write_page(figure, tmp_path / "figure.html")
        pages.append(Parsed(path.read_text(encoding="utf-8")))
    plain, hostile = pages
    assert plain.wrong == hostile.wrong == []
    assert len(plain.scripts) == len(hostile.scripts)
    assert len(hostile.policies) == 1
    assert "default-src 'none'" in hostile.policies[0]
    drawn = hostile.scripts[-1][1]
    assert OUTSIDE in drawn.replace("\\u002f", "/")
    assert "<img" not in drawn
