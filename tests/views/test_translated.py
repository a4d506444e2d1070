"""Tables, figures and sentences in German: no English is left; what is saved stays as it was."""

from __future__ import annotations

import re
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from coupled_arena.core import language
from coupled_arena.core.language import ENGLISH, install
from tests import catalog
from tests.analysis import styled
from tests.views import drawn, rubbish, spoken, spoken_boards

# The same in both languages, or letters of the field.
SAME = {"alpha", "b", "p", "q", "n", "λ", "ρ²", "max-t", "portfolio", "position", "in"}
SAME |= {"benchmark", "bradley-terry", "bonferroni", "nominal", "seeds", "md"}
SAME |= {"prediction-powered", "inference", "token", "tokens", "mb", "gb", "bootstrap", "copula"}
MODELS, JUDGE, METRIC = spoken.COLOURS[:3], spoken_boards.JUDGE, spoken.METRICS[0]
NAMES = {*spoken.COLOURS, *styled.MODELS, JUDGE, *spoken.METRICS, "sums", "u", "v", "so", *"abcd"}
NAMES |= {"maths", "code"}  # categories
SENTENCES = ("coupled_arena/views/words/", "coupled_arena/stats/ranking/")
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
            with heard() as asked:
                words = dict(spoken.spoken(found))
                shown = drawn.figures(found, experiment), drawn.tables(found), words
            languages.append((*shown, asked))
        finally:
            install(ENGLISH)
    return languages


@contextmanager
def heard():
    """Take down which texts are asked for: those for one or several by which of these."""
    asked, texts = set(), language._Installed.texts

    def gettext(text):
        asked.add((text, None))
        return texts.gettext(text)

    def ngettext(one, many, n):
        asked.add((one, n == 1))
        return texts.ngettext(one, many, n)

    with pytest.MonkeyPatch.context() as patch:
        listening = SimpleNamespace(gettext=gettext, ngettext=ngettext)
        patch.setattr(language._Installed, "texts", listening)
        yield asked


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


@pytest.mark.slow
def test_no_text_of_a_figure_is_english(both):
    (english, *_), (german, *_) = both
    assert english.keys() == german.keys()
    escaped = {}
    for name, figure in german.items():
        texts = [" ; ".join(strings(one)) for one in (english[name], figure)]
        assert len(said(texts[0])) > 3, name
        if found := left(*texts):
            escaped[name] = found
    assert escaped == {}


def test_no_text_of_a_table_is_english(both):
    (_, english, *_), (_, german, *_) = both
    escaped = {name: left(english[name], text) for name, text in german.items()}
    assert {name: found for name, found in escaped.items() if found} == {}


def test_no_sentence_is_english(both):
    (*_, english, _), (*_, german, _) = both
    assert english.keys() == german.keys()
    escaped = {name: left(english[name], text) for name, text in german.items()}
    assert {name: found for name, found in escaped.items() if found} == {}


def english_numbers(text):
    """Return numbers with a decimal point, and those with a comma between thousands."""
    text = re.sub(r"%\{[^}]*\}|<[^>]*>", " | ", text)
    points = re.findall(r"(?<![\d.])\d+\.\d+(?![\d.])", text)
    return {each for each in points if not re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", each)}


def test_no_number_is_english(both):
    """A German table, sentence or figure has 0,05 and 1.234."""
    (*_, english, _), (figures, tables, german, _) = both
    assert any(english_numbers(text) for text in english.values())
    texts = {**german, **{f"table {name}": text for name, text in tables.items()}}
    texts |= {f"figure {name}": " ; ".join(strings(one)) for name, one in figures.items()}
    escaped = {name: english_numbers(text) for name, text in texts.items()}
    assert {name: found for name, found in escaped.items() if found} == {}
    assert {one["layout"]["separators"] for one in figures.values()} == {",."}


def test_every_sentence_there_is_was_said(both):
    """In singular and plural: else nobody would see that one of them is English."""
    *_, asked = both[1]
    there = {
        (one, count)
        for each in catalog.extracted()
        if any(path.startswith(SENTENCES) for path, _ in each.locations)
        for one, counts in [
            (each.id, [None]) if isinstance(each.id, str) else (each.id[0], [True, False])
        ]
        for count in counts
    }
    assert len(there) > 200
    assert there - asked == set()


def test_what_is_saved_of_a_figure_is_the_same(both):
    (english, *_), (german, *_) = both
    metas = [
        [figure["layout"]["meta"] for figure in figures.values()] for figures in (english, german)
    ]
    for one, other in zip(*metas, strict=True):
        assert one.get("csv") == other.get("csv")
        assert one.get("file") == other.get("file")
    assert any("csv" in meta for meta in metas[0])
