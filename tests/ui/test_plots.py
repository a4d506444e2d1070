from __future__ import annotations

import json

import pytest

from coupled_arena.leaderboard import HeadToHead, Leaderboard, Standing
from coupled_arena.records import Mode
from coupled_arena.ui.plots import pair_heatmap, win_rate_figure

NOBODY = HeadToHead(0, 0, 0)


def standing(model, win_rate=None, low=None, high=None):
    return Standing(model, win_rate, win_rate, low, high, 1, 13, 5, 2, 1, 4)


def board(standings=(), head_to_head=(), mode=Mode.COUPLED):
    return Leaderboard(standings, head_to_head, mode, 0.1, 4, (), (mode,), (1, 1, 1))


@pytest.fixture
def three():
    return board(
        (
            standing("best <8-bit>", 0.62, 0.4, 0.8),
            standing("worse", 0.2, 0.1, 0.5),
            standing("new"),
        ),
        (
            (NOBODY, HeadToHead(13, 5, 3), NOBODY),
            (HeadToHead(5, 13, 3), NOBODY, NOBODY),
            (NOBODY, NOBODY, NOBODY),
        ),
    )


def texts(figure):
    return [annotation.text for annotation in figure.layout.annotations]


@pytest.mark.parametrize("draw", [win_rate_figure, pair_heatmap])
@pytest.mark.parametrize("dark", [None, False, True])
class TestBoth:
    def test_nothing_to_show_is_said(self, draw, dark):
        assert texts(draw(board(), dark=dark)) == ["No votes yet"]

    def test_the_page_paints_the_background(self, draw, dark, three):
        layout = draw(three, dark=dark).layout
        assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
        assert layout.width is None

    def test_the_title_says_the_mode(self, draw, dark, three):
        assert draw(three, dark=dark).layout.title.text.endswith("in coupled battles")

    def test_it_travels_as_json_and_names_are_no_markup(self, draw, dark, three):
        text = draw(three, dark=dark).to_json()
        json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are not JSON
        assert "<8-bit>" not in text.replace(r"\u003c", "<").replace(r"\u003e", ">")


def test_dots_stand_on_their_intervals(three):
    dots = win_rate_figure(three).data[0]
    assert dots.x == (0.62, 0.2)
    assert dots.y == (0, 1)
    assert dots.error_x.array == pytest.approx([0.18, 0.3])
    assert dots.error_x.arrayminus == pytest.approx([0.22, 0.1])


def test_rows_say_the_rate_and_the_number_of_comparisons(three):
    said = texts(win_rate_figure(three))
    assert said[0] == "best &lt;8-bit&gt;"
    assert said[1].startswith("<b>62%</b>")
    assert "n = 25" in said[1]
    assert "too few votes" in said[5]


def test_the_error_level_is_said(three):
    assert "90% intervals (alpha 0.1)" in win_rate_figure(three).layout.title.subtitle.text


def test_long_names_keep_both_ends():
    name = "SmolLM2-135M-Instruct in eight bits, threshold 0"
    said = texts(win_rate_figure(board((standing(name, 0.5, 0.4, 0.6),))))[0]
    assert len(said) <= 26
    assert (said[:8], said[-8:]) == (name[:8], name[-8:])


def test_cells_say_fraction_and_counts(three):
    heatmap = pair_heatmap(three).data[0]
    assert heatmap.text[0][1] == "62%<br>13 of 21"
    assert heatmap.text[1][0] == "24%<br>5 of 21"
    assert "13 won, 5 lost, 3 tied" in heatmap.hovertext[0][1]
    assert heatmap.z[0][1] == pytest.approx(14.5 / 21)
    assert heatmap.z[0][1] + heatmap.z[1][0] == pytest.approx(1)  # centred at one half
    assert (heatmap.zmin, heatmap.zmid, heatmap.zmax) == (0, 0.5, 1)


def test_pairs_that_never_met_have_a_dash(three):
    dashes = [(a.x, a.y) for a in pair_heatmap(three).layout.annotations if a.text == "–"]
    assert sorted(dashes) == [(0, 2), (1, 2), (2, 0), (2, 1)]


def test_many_models_leave_room_for_the_percentage_only():
    models = tuple(standing(f"m{i}", 0.5, 0.4, 0.6) for i in range(7))
    full = tuple(
        tuple(NOBODY if i == j else HeadToHead(1, 1, 0) for j in range(7)) for i in range(7)
    )
    heatmap = pair_heatmap(board(models, full)).data[0]
    assert heatmap.text[0][1] == "50"
    assert "1 won, 1 lost" in heatmap.hovertext[0][1]


def test_all_battles_are_named_so(three):
    everything = board(three.standings, three.head_to_head, mode=None)
    assert win_rate_figure(everything).layout.title.text == "Win rates in all battles"
