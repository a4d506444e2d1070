from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from coupled_arena.analysis.leaderboard.board_estimates import Method, read_estimates
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.core.choices import BoardSource
from coupled_arena.core.records import Mode, Origin
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.coupling.modes import compare_modes
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.ui.parts.figure_panel import drawn
from coupled_arena.views.figures.leaderboard import (
    mode_figure,
    mode_pairs_figure,
    pair_heatmap,
    rank_figure,
    size_figure,
    win_rate_figure,
)
from coupled_arena.views.tables.board_page import board_table
from coupled_arena.views.words.leaderboard import _ties, judge_words, mode_words
from coupled_arena.views.words.verdict import board_verdict
from tests.batches import at_once, judge
from tests.store.conftest import make_battle, make_vote

BEST, WORSE, NEW = "best <8-bit>", "worse", "new"
BOARD_FIGURES = [win_rate_figure, rank_figure, pair_heatmap]
MODE_FIGURES = [mode_figure, mode_pairs_figure]


@pytest.fixture(scope="module")
def store():
    with Store.in_memory() as opened:
        yield opened


def vote(store, models, ranks, times, *, mode=Mode.COUPLED, origin=Origin.ARENA, both_bad=False):
    with at_once(store) as batch:
        for _ in range(times):
            battle = make_battle(*models, mode=mode, origin=origin, prompts=(), replies=())
            batch.add_battle(battle)
            if ranks:
                batch.cast(make_vote(battle, *ranks, both_bad=both_bad))


@pytest.fixture(scope="module")
def filled(store):
    with at_once(store) as batch:
        vote(batch, (BEST, WORSE), (1, 2), 13)
        vote(batch, (WORSE, BEST), (1, 2), 5)
        vote(batch, (BEST, WORSE), (1, 1), 2)
        vote(batch, (BEST, WORSE), (1, 1), 1, both_bad=True)
        vote(batch, (WORSE, BEST), (1, 2), 12, mode=Mode.INDEPENDENT)
        vote(batch, (BEST, WORSE), (1, 2), 4, mode=Mode.INDEPENDENT)
        vote(batch, (BEST, NEW), (), 1, origin=Origin.GENERATE)
    return store


@pytest.fixture(scope="module")
def coupled(filled):
    return leaderboard(read_estimates(filled, Selection(mode=Mode.COUPLED)), alpha=0.1)


@pytest.fixture(scope="module")
def both(filled):
    return leaderboard(read_estimates(filled))


@pytest.fixture(scope="module")
def judged():
    with Store.in_memory() as store:
        rng = np.random.default_rng(1)
        with at_once(store) as batch:
            for i in range(60):
                battle = make_battle(BEST, WORSE, prompts=(), replies=())
                batch.add_battle(battle)
                best = rng.random() < 0.8
                if i < 20:
                    batch.cast(make_vote(battle, *((1, 2) if best else (2, 1))))
                judge(batch, "<gpt>", battle, 0, 1, "first" if best else "second")
        yield store


def of_judge(store, source=BoardSource.PPR):
    return leaderboard(read_estimates(store, Selection(judge="<gpt>")), source=source)


def texts(figure):
    return [annotation.text for annotation in figure.layout.annotations]


def numbers(figure):
    return list(csv.DictReader(io.StringIO(figure.layout.meta["csv"])))


def luminance(colour):
    """Return the relative luminance of a colour, by WCAG 2."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares]
    return sum(x * weight for x, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize("dark", [False, True])
def test_what_is_written_in_cells_is_readable(dark, both):
    """A contrast of 4.5 at least, on both ends and the middle of the colours."""
    cells = pair_heatmap(both, dark=dark).data[0]
    ink = luminance(cells.textfont.color)
    for _, colour in cells.colorscale:
        pale, deep = sorted((ink, luminance(colour)), reverse=True)
        assert (pale + 0.05) / (deep + 0.05) >= 4.5


@pytest.mark.parametrize("draw", [*BOARD_FIGURES, *MODE_FIGURES])
@pytest.mark.parametrize("dark", [False, True])
class TestAll:
    def test_the_page_paints_the_background(self, draw, dark, both):
        layout = draw(both, dark=dark).layout
        assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
        assert layout.width is None

    def test_it_travels_as_json_and_names_are_no_markup(self, draw, dark, both):
        figure = draw(both, dark=dark)
        assert figure.layout.meta["csv"].count(BEST)
        figure.layout.meta = None
        text = drawn(figure).plot
        json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are not JSON
        assert "nan" not in text.lower()
        assert "<8-bit>" not in text

    def test_pictures_on_paper_have_the_colours_of_light_pages(self, draw, dark, both):
        pairs = draw(both, dark=dark).layout.meta["paper"]
        assert all(here == there for here, there in pairs) == (not dark)

    def test_the_numbers_behind_it_are_finite_or_absent(self, draw, dark, both):
        rows = numbers(draw(both, dark=dark))
        assert rows
        assert "nan" not in str(rows).lower()


def test_counts_say_the_settings_that_they_depend_on(coupled):
    said = pair_heatmap(coupled).layout.title.subtitle.text.replace("<br>", " · ")
    assert said.startswith("People's votes · 21 comparisons · coupled battles · <span")
    assert pair_heatmap(coupled).layout.meta["method"] == []


@pytest.mark.parametrize("draw", [win_rate_figure, rank_figure])
def test_settings_are_said(draw, coupled):
    layout = draw(coupled).layout
    assert layout.title.subtitle.text.startswith(
        "People's votes · 21 comparisons · coupled battles<br>"
    )
    assert "90%" in layout.title.subtitle.text
    said = " · ".join(layout.meta["method"])  # in the field's terms, beside the figure
    for setting in ("Alpha 0.1", "stratified weighting", "corrected covariance", "max-t cut-off"):
        assert setting in said
        assert setting not in layout.title.subtitle.text
    assert max(map(len, draw(coupled).layout.title.subtitle.text.split("<br>")[:-1])) <= 50


def test_filters_and_the_method_in_force_are_said(filled):
    selection = Selection(voter="ann", category="<math>")
    empty = leaderboard(read_estimates(filled, selection, Method()))
    assert "category &lt;math&gt;" in win_rate_figure(empty).layout.title.subtitle.text
    assert "my votes only" in win_rate_figure(empty).layout.title.subtitle.text


def test_dots_stand_on_their_intervals(coupled):
    dots = win_rate_figure(coupled).data[0]
    place = coupled.standings[0].place
    # 13 won, 5 lost, 3 ties, each half a win.
    assert dots.x == pytest.approx((14.5 / 21, 6.5 / 21))
    assert dots.y == (0, 1)
    assert dots.error_x.array[0] == pytest.approx(place.high - 14.5 / 21)
    assert dots.error_x.arrayminus[0] == pytest.approx(14.5 / 21 - place.low)


def test_rows_say_the_rate_and_the_number_of_comparisons(coupled):
    said = texts(win_rate_figure(coupled))
    assert said[0] == "best &lt;8-bit&gt;"
    assert said[1].startswith("<b>69%</b>")
    assert "n = 21" in said[1]
    assert len(said) == 4  # a model without votes has no line


def test_rank_sets_are_bars_with_the_rank_marked(coupled):
    bars, dots = rank_figure(coupled).data
    first, second = (standing.place for standing in coupled.standings[:2])
    assert dots.x == (1, 2)
    assert [round(x) for x in bars.x if x is not None] == [
        *(first.rank_low, first.rank_high),
        *(second.rank_low, second.rank_high),
    ]
    row = numbers(rank_figure(coupled))[0]
    assert row == {
        "model": BEST,
        "rank": "1",
        "rank_low": f"{first.rank_low}",
        "rank_high": f"{first.rank_high}",
    }


def test_long_names_keep_both_ends(store):
    name = "SmolLM2-135M-Instruct in eight bits, threshold 0"
    with Store.in_memory() as other:
        vote(other, (name, "short"), (1, 2), 5)
        said = texts(win_rate_figure(leaderboard(read_estimates(other))))[0]
    assert len(said) <= 26
    assert (said[:8], said[-8:]) == (name[:8], name[-8:])


def test_cells_say_fraction_and_counts(coupled):
    heatmap = pair_heatmap(coupled).data[0]
    assert heatmap.text[0][1] == "69%<br>n = 21"  # 13 won and 3 tied
    assert heatmap.text[1][0] == "31%<br>n = 21"
    assert "13 won, 5 lost, 3 tied" in heatmap.hovertext[0][1]
    assert heatmap.z[0][1] == pytest.approx(14.5 / 21)
    assert heatmap.z[0][1] + heatmap.z[1][0] == pytest.approx(1)  # centred at one half
    assert (heatmap.zmin, heatmap.zmid, heatmap.zmax) == (0, 0.5, 1)


def test_pairs_that_never_met_have_a_dash():
    with Store.in_memory() as other:
        vote(other, "AB", (1, 2), 2)
        vote(other, "BC", (1, 2), 2)
        board = leaderboard(read_estimates(other))
    dashes = pair_heatmap(board).data[1]
    a, c = (i for i, s in enumerate(board.standings) if s.model in "AC")
    assert sorted(zip(dashes.x, dashes.y, strict=True)) == sorted([(a, c), (c, a)])
    assert set(dashes.text) == {"–"}


@pytest.mark.parametrize(("k", "text"), [(7, "100"), (40, "")])
def test_many_models_leave_room_for_less(k, text):
    with Store.in_memory() as other:
        vote(other, [f"m{i:02}" for i in range(k)], range(1, k + 1), 1)
        board = leaderboard(read_estimates(other))
        heatmap = pair_heatmap(board).data[0]
        assert len(win_rate_figure(board).data[0].x) == k
    assert heatmap.text[0][1] == text
    assert "1 won, 0 lost" in heatmap.hovertext[0][1]


class TestModes:
    def test_win_rates_stand_side_by_side(self, both):
        _, independent, coupled = mode_figure(both).data
        places = [standing.model for standing in both.standings[:2]]
        assert dict(zip(places, coupled.x, strict=True))[BEST] == pytest.approx(13 / 21)
        assert dict(zip(places, independent.x, strict=True))[BEST] == pytest.approx(4 / 16)

    def test_stars_say_how_sure_the_difference_is(self, both):
        said = mode_figure(both)
        assert any("62%</b> | 25%" in text and text.endswith("*") for text in texts(said))
        cells = mode_pairs_figure(both).data[0]
        assert any("62 | 25<br>*" in text for row in cells.text for text in row)
        assert not any(text.endswith("<br>") for row in cells.text for text in row)

    def test_flips_and_ties_are_said(self, both):
        said = mode_words(both)
        assert "<b>best &lt;8-bit&gt;</b> is above <b>worse</b> in coupled battles" in said
        assert "Only coupled battles ended in ties: too few to say how frequent they are." in said

    @pytest.mark.parametrize(
        ("times", "said"),
        [
            (1, "Too early to say whether ties are more or less frequent in coupled battles: -38%"),
            (20, "Ties are <b>38% less frequent</b> in coupled battles (-4"),
        ],
    )
    def test_ties_are_said_with_their_interval(self, times, said):
        """Five ties in 16 coupled battles and eight in 16 independent ones; then 20 times each."""
        coupled, independent = (
            PairCounts.from_rows([("A", "B", "tie", n), ("A", "B", "first", 16 - n)])
            for n in (5, 8)
        )
        modes = compare_modes(
            *(PairCounts(c.models, times * c.counts) for c in (coupled, independent))
        )
        assert modes.tie_change == pytest.approx(-0.375)
        words = _ties(modes, 0.05)
        assert words.startswith(said)
        assert words.endswith("95% interval).")

    def test_one_mode_alone_says_nothing(self, coupled):
        assert mode_words(coupled) == ""


class TestJudge:
    def test_sizes_of_rank_sets_stand_side_by_side(self, judged):
        rows = numbers(size_figure(of_judge(judged)))
        assert [row["model"] for row in rows] == [BEST, WORSE]
        assert all(row["size_human"] and row["size_prediction_powered"] for row in rows)

    def test_what_the_judge_saves_is_said(self, judged):
        said = judge_words(of_judge(judged))
        assert "λ = " in said
        assert "more comparisons</b> by people, besides its 20." in said

    def test_the_judge_is_named_and_its_name_is_no_markup(self, judged):
        subtitle = win_rate_figure(of_judge(judged, BoardSource.JUDGE)).layout.title.subtitle.text
        assert subtitle.startswith("Verdicts of &lt;gpt&gt; · 60 verdicts")

    def test_verdicts_have_a_column_only_with_a_judge(self, judged, coupled):
        assert ">Verdicts<" in board_table(of_judge(judged))
        assert ">Verdicts<" not in board_table(coupled)


def test_the_table_says_rank_ranges_and_escapes_names(coupled):
    table = board_table(coupled)
    assert "best &lt;8-bit&gt;" in table
    assert "<8-bit>" not in table
    assert re.search(r"<td[^>]*>1(–2)?</td>", table)
    assert "No votes yet: new." in table
    assert table.count("<tr>") == 3


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        (Selection(), "No votes yet."),
        (Selection(voter="ann"), "You have not voted"),
        (Selection(category="x"), "Nothing fits"),
    ],
)
def test_an_empty_board_says_why(selection, said):
    with Store.in_memory() as empty:
        assert board_verdict(leaderboard(read_estimates(empty, selection))).startswith(said)


def test_a_rate_beyond_what_is_possible_is_shown_as_the_nearest(both):
    first, *others = both.standings
    place = replace(first.place, win_rate=1.05)
    beyond = replace(both, standings=(replace(first, place=place), *others))
    figure = win_rate_figure(beyond)
    assert any("<b>100%</b>" in text for text in texts(figure))
    assert "<b>100.0%</b>" in board_table(beyond)
    assert "105" not in board_table(beyond) + "".join(texts(figure))
    assert float(numbers(figure)[0]["win_rate"]) == 1.05
