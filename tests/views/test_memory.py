"""Quality against memory, drawn: sizes on a log axis, names that cover nothing, hostile texts."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from coupled_arena.analysis.leaderboard.memory import against_memory
from coupled_arena.analysis.model_sizes import ModelSize
from coupled_arena.views.figures.drawing import board_drawings
from coupled_arena.views.figures.memory import _LONGEST, _PLOT, _box, _named, _ticks, memory_figure
from coupled_arena.views.figures.registry import BOARD_MEMORY
from coupled_arena.views.model_sizes import memory_words, size_facts, weights_words
from coupled_arena.views.tables.memory import memory_table
from tests.views import drawn
from tests.views.rubbish import ENDING
from tests.views.test_verdicts import NAMES, board_of, duels


def few(*sizes):
    """Return a board of models that cannot be told apart, with these sizes in gigabytes."""
    names = NAMES[: max(len(sizes), 2)]
    board = board_of(duels(*((a, b, 6, 5) for a in names for b in names if a < b)))
    known = {
        name: ModelSize(weights=int(1e9), bytes_per_weight=each)
        for name, each in zip(names, sizes, strict=False)
        if each
    }
    return replace(board, model_sizes=known)


def test_a_mark_has_its_numbers():
    board = drawn.sized()
    found = against_memory(board)
    figure = memory_figure(board, found).to_dict()
    *lines, dots = figure["data"]
    assert list(dots["x"]) == [
        row.size.weights * row.size.bytes_per_weight / 1e9 for row in found.models
    ]
    for at, row in enumerate(found.models):
        place = next(each.place for each in board.standings if each.model == row.model)
        assert dots["y"][at] == place.likely_rate
        assert dots["y"][at] + dots["error_y"]["array"][at] == pytest.approx(place.high)
        assert dots["y"][at] - dots["error_y"]["arrayminus"][at] == pytest.approx(place.low)
        assert f"{place.likely_rate:.1%}" in dots["hovertext"][at]
    assert figure["layout"]["xaxis"]["type"] == "log"
    low, high = (10**end for end in figure["layout"]["xaxis"]["range"])
    assert low < min(dots["x"]) < max(dots["x"]) < high
    assert figure["layout"]["meta"]["csv"] == memory_table(board).csv()
    subtitle = figure["layout"]["title"]["subtitle"]["text"]
    assert "1 model of unknown size is left out" in subtitle
    assert "another is better and no larger" in subtitle
    # ochre at 2 GB and mauve at 4 GB are a front; plum at 8 GB is behind both.
    (line,) = lines
    assert list(line["x"]) == [2.0, 4.0]
    pale = {
        row.model
        for row, colour in zip(found.models, dots["marker"]["color"], strict=True)
        if colour != dots["marker"]["color"][0]
    }
    assert pale == {"plum"}


def test_models_that_cannot_be_told_apart_have_no_front():
    figure = memory_figure(board := few(2, 4, 8), against_memory(board)).to_dict()
    assert len(figure["data"]) == 1
    assert len(set(figure["data"][0]["marker"]["color"])) == 1


def test_it_is_there_with_two_sizes_and_not_with_one():
    assert BOARD_MEMORY in board_drawings(few(2, 4))
    assert BOARD_MEMORY not in board_drawings(few(2))
    assert BOARD_MEMORY not in board_drawings(few(2, None))
    assert BOARD_MEMORY not in board_drawings(board_of([]))


@pytest.mark.parametrize("sizes", [(4, 4), (1e-4, 3e-4), (0.27, 0.54, 700), (1, 1.01)])
def test_an_axis_has_ticks_within_it(sizes):
    board = few(*sizes)
    axis = memory_figure(board, against_memory(board)).to_dict()["layout"]["xaxis"]
    low, high = (10**end for end in axis["range"])
    assert all(low <= tick <= high for tick in axis["tickvals"])
    assert len(axis["tickvals"]) >= 2
    assert len(axis["ticktext"]) == len(axis["tickvals"])


def test_more_ticks_where_a_decade_would_have_few():
    assert _ticks(0.9, 22) == [1, 2, 5, 10, 20]
    assert _ticks(1.2, 4.4) == [1.5, 2, 3, 4]


def test_names_never_cover_each_other():
    board = few(1, 1.05, 1.1, 1.2, 3, 3.1)
    rows = against_memory(board).models
    sizes, ends, heights = [row.large / 1e9 for row in rows], (0.9, 3.5), (0.3, 0.7)
    width = math.log10(ends[1] / ends[0])
    boxes = []
    for row, size, place in zip(rows, sizes, _named(rows, sizes, ends, heights), strict=True):
        if place:
            x = _PLOT[0] * math.log10(size / ends[0]) / width
            y = _PLOT[1] * (row.place.likely_rate - heights[0]) / (heights[1] - heights[0])
            boxes.append(_box(row.model, (x, y), *place))
    assert len(boxes) > 1
    for at, (left, right, lower, upper) in enumerate(boxes):
        assert 0 <= left < right <= _PLOT[0]
        for other in boxes[:at]:
            assert right <= other[0] or left >= other[1] or upper <= other[2] or lower >= other[3]


def test_hostile_names_are_text():
    board = board_of(duels((ENDING, "b" * 400, 9, 3)))
    sizes = {row.model: ModelSize(weights=9, bytes_per_weight=1.0) for row in board.standings}
    figure = memory_figure(board := replace(board, model_sizes=sizes), against_memory(board))
    dots = figure.to_dict()["data"][-1]
    assert all("<img" not in text for text in (*dots["text"], *dots["hovertext"]))
    assert max(map(len, dots["text"])) <= _LONGEST + len("&lt;&lt;&gt;&gt;&amp;")


@pytest.mark.parametrize(
    ("weights", "said"),
    [(7, "7e-06 million"), (134_515_008, "135 million"), (8_030_000_000, "8.03 billion")],
)
def test_weights_have_three_digits(weights, said):
    assert weights_words(weights) == said


def test_memory_is_in_the_unit_that_suits_it():
    assert [memory_words(n) for n in (2.69e8, 5.38e8, 1.24e9, 1.4e11)] == [
        *("269 MB", "538 MB", "1.24 GB", "140 GB"),
    ]


def test_what_is_not_known_is_left_out():
    assert [*size_facts(ModelSize())] == []
    assert [*size_facts(ModelSize(source="/home/ann/m", quantization="none"))] == [("Source", "m")]
    assert dict(size_facts(ModelSize(dtype="float16", bytes_per_weight=2.0))) == {
        "Precision": "float16",
        "Bits per weight": "16.0",
    }
