"""No CSV file has a cell that a spreadsheet runs; what an import reads is what was there."""

from __future__ import annotations

import csv
import re
import unicodedata

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coupled_arena.analysis.coupling.score_tables import read_subject_scores, write_score_table
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.formulas import ESCAPED, FORMULA, as_text, as_written
from coupled_arena.core.records import Prompt
from coupled_arena.stats.coupling.score_tables import ScoreTable
from coupled_arena.store.annotators import add_annotators, annotators_path, write_names
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.export import export, fingerprint
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.views.tables.table import Column, table_of
from tests.store.conftest import make_battle, make_vote

TEXTS = (
    *("=1+1", "+1", "-1", "@a", "\tx", "\rx", "\nx", "'=1", "''@", "'", "'a", "", "a=1", " =1"),
    *("\u00a0=1", "\u3000\r=1", "\u200b=1", "\ufeff\u2060-1", "\u00ad@a", " ' =1", "' =1", "' a"),
    *(
        "\uff1d1+1",
        "\uff0b1",
        " \uff0d1",
        "\uff20a",
        "\ufe661",
        "a\uff1d1",
        "\u200b",
        " ",
        " a",
        "x\0=1",
    ),
)
HARMFUL = tuple("=+-@\t\r\n")
BLANKS = {"Zs", "Zl", "Zp", "Cc", "Cf"}  # categories of what is blank or is not seen


def harmful(text):
    """Whether a spreadsheet may run it: without what is not seen it begins with a sign."""
    begin = next((c for c in text if unicodedata.category(c) not in BLANKS), "")
    return unicodedata.normalize("NFKC", begin) in {*"=+-@"} or text.startswith(("\t", "\r", "\n"))


@pytest.mark.parametrize("text", TEXTS)
def test_it_comes_back(text):
    written = str(as_text(text))
    assert not harmful(written)
    assert re.sub(ESCAPED, r"\1", written) == as_written(written) == text


@given(
    st.text(
        st.sampled_from(
            "'=+-@\uff1d\ufe63 \t\r\n\0\u00a0\u200b\u2028\u3000\ufeff\U000e0041ab\u00e9"
        )
    )
)
def test_any_text_comes_back_and_none_is_run(text):
    written = str(as_text(text))
    assert not harmful(written)
    assert as_written(written) == text


def test_every_blank_and_sign_counts():
    everything = map(chr, (*range(0xD800), *range(0xE000, 0x110000)))
    first = [c for c in everything if unicodedata.category(c) in BLANKS or harmful(c)]
    assert len(first) > 250
    for character in first:
        assert as_text(f"{character}=1") == f"'{character}=1", hex(ord(character))


def test_databases_and_python_agree():
    texts = [*TEXTS, *(f"{c}{sign}1" for c in TEXTS for sign in ("\uff1d", "\u3000-", "a"))]
    found = duckdb.execute(
        "select regexp_matches(t, $f), regexp_replace(t, $e, '\\1') from (select unnest($t) as t)",
        {"f": FORMULA, "e": ESCAPED, "t": texts},
    ).fetchall()
    assert found == [(as_text(text) != text, as_written(text)) for text in texts]


def test_numbers_are_left_alone():
    assert [as_text(value) for value in (-1.5, -2, None)] == [-1.5, -2, None]


def cells(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [cell for row in list(csv.reader(file))[1:] for cell in row]


@pytest.mark.slow
def test_exports_and_back(tmp_path):
    with Store.in_memory() as store:
        for text in TEXTS:
            model = text or "none"
            asked = Prompt(text, model, text, text, text, text)
            battle = make_battle(model, "other", prompts=(asked,))
            store.add_battle(battle)
            store.cast(make_vote(battle, voter=model))
        files = export(store, tmp_path, "csv")
        for file in (*files, *export(store, tmp_path, "flat-csv")):
            wrong = [cell for cell in cells(file) if harmful(cell)]
            assert wrong == [], file.name
        with Store.in_memory() as copy:
            assert import_files(copy, files).rejected == ()
            assert fingerprint(copy) == fingerprint(store)


def test_results_and_names(tmp_path):
    rows = [{"name": text, "number": -1.0} for text in TEXTS]
    path = tmp_path / "table.csv"
    table_of((Column("name", str, ""), Column("number", float, "")), rows).to_csv(path)
    assert {cell for cell in cells(path) if cell.startswith(HARMFUL)} == {"-1.0"}
    db = tmp_path / "arena.duckdb"
    add_annotators(annotators_path(db), ["=cmd", "Ann"])
    assert "'=cmd" in cells(write_names(annotators_path(db), tmp_path))


def test_scores_and_back(tmp_path):
    models = ("=a", "+b", "-c", "@d", "'=e", "'f", "g")
    scores = np.random.default_rng(0).random((2, 3, 2, len(models)))
    write_score_table(ScoreTable(models, *scores), tmp_path / "scores.csv")
    read = read_subject_scores(tmp_path / "scores.csv", 2).table
    assert read.models == models
    assert np.array_equal([read.coupled, read.independent], scores)


@pytest.mark.parametrize("name", ["Noise", "subject", "Prompt", "Temperature", " a", "b\n"])
def test_a_name_that_would_be_read_as_something_else_is_refused(name, tmp_path):
    table = ScoreTable((name, "other"), *np.ones((2, 3, 2, 2)))
    with pytest.raises(ScoreError, match="is no model's column"):
        write_score_table(table, tmp_path / "scores.csv")
    assert list(tmp_path.iterdir()) == []
