"""The glossary: one sentence a term, in each language; its page says the same."""

from __future__ import annotations

import re

import pytest

from coupled_arena.core.language import ENGLISH, install, languages
from coupled_arena.views.words.glossary import GLOSSARY, glossary
from tests.dictionary import TERMS, terms


@pytest.fixture(params=languages())
def told(request):
    install(request.param)
    yield glossary()
    install(ENGLISH)


def test_each_term_has_one_sentence_and_a_form_that_is_found(told):
    assert len({each["name"] for each in told}) == len(GLOSSARY)
    forms = [form for each in told for form in each["forms"].lower().split("|")]
    assert len(set(forms)) == len(forms)
    for each in told:
        assert len(each["meaning"].split()) <= 20, each["name"]
        assert each["meaning"].endswith(".")
        assert not re.search(r"[.!?] ", each["meaning"]), each["name"]


def test_the_terms_that_tabs_use_are_explained():
    names = {each.name for each in GLOSSARY}
    asked = {"rank-set", "coupled", "independent", "lambda", "rho", "any-time", "margin"}
    assert asked | {"alpha", "win-rate", "prediction-powered"} <= names


def test_the_page_of_the_glossary_is_made_from_it():
    """Run `python -m tests.dictionary`."""
    assert TERMS.read_text(encoding="utf-8") == terms()
