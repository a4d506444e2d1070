"""Tables and figures in German: no English text is left; what is saved stays as it was."""

from __future__ import annotations

import re

import pytest

from coupled_arena.core.language import ENGLISH, install
from tests.views import drawn, rubbish

# The same in both languages, or letters of the field.
SAME = {"alpha", "b", "p", "q", "n", "λ", "ρ²", "max-t", "portfolio", "position", "in"}
SAME |= {"benchmark"}
MODELS, JUDGE, METRIC = ("mauve", "ochre", "plum"), "sepia", "teal"
NAMES = {*MODELS, JUDGE, METRIC, "sums", "u", "v", "so", *"abcd"}
SPOKEN = {"text", "hovertext", "hovertemplate", "ticktext", "name", "method", "x"}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return all figures and tables in English and in German."""
    rates = dict(zip(MODELS, (0.8, 0.6, 0.3), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("MODELS", MODELS), ("JUDGE", JUDGE), ("METRIC", METRIC)):
            patch.setattr(rubbish, name, value)
        patch.setattr(rubbish, "RATES", rates)
        path = rubbish.made(tmp_path_factory.mktemp("stored") / "arena.duckdb")
        found = drawn.results(path)
    experiment = drawn.experiment()
    languages = []
    for name in (ENGLISH, "de"):
        install(name)
        try:
            languages.append((drawn.figures(found, experiment), drawn.tables(found)))
        finally:
            install(ENGLISH)
    return languages


def strings(value, key=""):
    """Return the texts of a figure that people read."""
    if isinstance(value, str) and key in SPOKEN:
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from strings(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each, key)


def said(text):
    """Return the parts of a text that are words: without markup and numbers."""
    text = re.sub(r"%\{[^}]*\}|<[^>]*>|[-+±]?\d[^\s<]*", " | ", text)
    parts = re.split(r"[|·;:,.()]", text)
    return {" ".join(re.findall(r"[^\W\d_][\w'-]*", part)) for part in parts} - {""}


def left(english, german):
    """Return what is said in both languages."""
    both = said(english) & said(german)
    return {part for part in both if set(part.lower().split()) - SAME - NAMES}


def test_no_text_of_a_figure_is_english(both):
    (english, _), (german, _) = both
    assert english.keys() == german.keys()
    escaped = {}
    for name, figure in german.items():
        texts = [" ; ".join(strings(one)) for one in (english[name], figure)]
        assert len(said(texts[0])) > 3, name
        if found := left(*texts):
            escaped[name] = found
    assert escaped == {}


def test_no_text_of_a_table_is_english(both):
    (_, english), (_, german) = both
    escaped = {name: left(english[name], text) for name, text in german.items()}
    assert {name: found for name, found in escaped.items() if found} == {}


def test_what_is_saved_of_a_figure_is_the_same(both):
    (english, _), (german, _) = both
    metas = [
        [figure["layout"]["meta"] for figure in figures.values()] for figures in (english, german)
    ]
    for one, other in zip(*metas, strict=True):
        assert one.get("csv") == other.get("csv")
        assert one.get("file") == other.get("file")
    assert any("csv" in meta for meta in metas[0])
