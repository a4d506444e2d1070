"""The style of the page: what no rule may do, whatever it is for."""

from __future__ import annotations

import re

import pytest

from coupled_arena.core.settings import resource

STYLES = ("arena.css", "texts.css", "plain.css", "report.css")
SCRIPTS = sorted(path.name for path in resource("assets").glob("*.js"))


@pytest.mark.parametrize("name", STYLES)
def test_no_text_is_pale_in_any_moment(name):
    """Contrast holds while something fades, too: so nothing does, by opacity."""
    style = resource(f"assets/{name}").read_text(encoding="utf-8")
    assert re.findall(r"[^{};]*(?<!-)\bopacity\s*:(?!\s*1\s*[;}])[^;}]*", style) == []
    for property_ in re.findall(r"\b(?:transition|animation)(?:-\w+)?\s*:([^;}]*)", style):
        assert "opacity" not in property_
        assert "all" not in property_.split()


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_fades_a_text(name):
    code = resource(f"assets/{name}").read_text(encoding="utf-8")
    assert not re.search(r"\.opacity\s*=|\bopacity\s*:|fadeIn|fadeOut", code)


def test_each_select_has_an_arrow():
    style = resource("assets/arena.css").read_text(encoding="utf-8")
    (rule,) = re.findall(r"\.gradio-container select \{([^}]*)\}", style)
    assert "background-image" in rule


def test_no_key_is_hinted_at_where_there_are_none():
    style = resource("assets/arena.css").read_text(encoding="utf-8")
    assert re.search(r"@media \(hover: none\) \{[^}]*kbd[^}]*display: none", style)


def test_a_query_of_the_window_reaches_the_frame_of_the_page():
    """Gradio puts rules of a media query inside the page's content, so these name no frame."""
    style = resource("assets/arena.css").read_text(encoding="utf-8")
    inside = re.findall(r"@media[^{]*\{((?:[^{}]|\{[^{}]*\})*)\}", style)
    assert inside
    assert not [rule for rule in inside if ".gradio-container" in rule]


def test_no_background_in_short_is_lost():
    """Gradio writes each rule anew; a short form with variables, and a long one, become nothing."""
    style = resource("assets/arena.css").read_text(encoding="utf-8")
    for rule in re.findall(r"\{([^{}]*)\}", style):
        short = re.search(r"\bbackground\s*:[^;]*\bvar\(", rule)
        assert not (short and re.search(r"\bbackground-\w+\s*:", rule)), rule
