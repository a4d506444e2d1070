"""Names that would turn around the sentence they stand in, or crowd a figure."""

from __future__ import annotations

import pytest

from coupled_arena.views.figures.leaderboard import pair_heatmap
from coupled_arena.views.figures.rows import FigureRow, idle_lines
from coupled_arena.views.figures.theme import shortened, wrapped
from coupled_arena.views.markup import (
    bold,
    broken,
    heading,
    listed,
    paragraph,
    shown,
    table,
    typeset,
)
from coupled_arena.views.tables.table import Column, table_of
from coupled_arena.views.words.names import without_data
from tests.views.test_verdicts import board_of

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@pytest.mark.parametrize("sign", TURNING)
def test_no_name_turns_around_what_follows_it(sign):
    name = f"a{sign}b"
    said = [
        *(shown(name), heading(name, 2), paragraph(name), bold(name), broken(name), listed([name])),
        *(table(["Model"], [[name]]), shortened(name), wrapped(name)),
        *idle_lines([FigureRow(name, "")], without_data),
    ]
    for text in said:
        assert sign not in text
        assert "a\N{REPLACEMENT CHARACTER}b" in text


def test_what_is_not_known_is_a_dash():
    assert "None" not in (written := str(table(["Model", "Score"], [["a", None]])))
    assert '<td data-value="">\N{EN DASH}</td>' in written


def test_right_to_left_words_stay_as_they_are():
    assert "מודל" in paragraph("מודל")
    assert "مدل" in shortened("مدل")


def test_a_name_of_many_lines_is_shortened_below_a_column():
    """There it stands on end on a phone, and its lines would lie upon those of the next."""
    long = "a-name-that-somebody-gave-it/with-a-path-and-8bit-quantization-really"
    board = board_of([(long, "ant", "first", 9), ("ant", "bee", "second", 9)])
    layout = pair_heatmap(board).layout
    assert set(layout.xaxis.ticktext) == {shortened(long), "ant", "bee"}
    assert set(layout.yaxis.ticktext) == {wrapped(long), "ant", "bee"}


def test_names_are_broken_where_words_end():
    name = "meta-llama/Meta-Llama-3.1-70B_Instruct bnb"
    lines = ["meta-llama/", "Meta-Llama-", "3.1-70B_", "Instruct bnb"]
    assert wrapped(name, 14).split("<br>") == lines
    assert wrapped("mistralai/Mixtral", 14) == "mistralai/<br>Mixtral"
    assert wrapped("x" * 30, 14).split("<br>") == ["x" * 14, "x" * 14, "xx"]
    assert wrapped("a < b", 14) == "a &lt; b"
    assert wrapped("", 14) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-4.5% (-18.0% to +9.0%)", "−4.5% (−18.0% to +9.0%)"),
        ("-0.2", "−0.2"),
        ("by -3.", "by −3."),
        ("llama-3-8b", "llama-3-8b"),
        ("model -4bit", "model -4bit"),
        ("2026-11-26", "2026-11-26"),
        ("1-2", "1-2"),
    ],
)
def test_a_minus_is_no_hyphen(text, said):
    assert typeset(text) == said
    assert paragraph(text) == f"<p>{said}</p>"
    assert listed([text]) == f"<ul><li>{said}</li></ul>"


def test_a_table_for_the_page_has_minus_signs_and_one_for_a_terminal_hyphens():
    column = Column("x", float, "Some number", heading="X", text="+.1%")
    found = table_of([column], [{"x": -0.041}])
    assert "−4.1%" in found.html()
    assert "-4.1%" in found.text()
    assert "-0.041" in found.csv()
