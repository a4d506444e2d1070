"""The table of the Leaderboard tab without an app: bars, lines, and its settings as an address."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import gradio as gr
import pytest

from coupled_arena.analysis.leaderboard.board_estimates import LiveEstimates, read_estimates
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.analysis.leaderboard.trend import LiveTrends
from coupled_arena.analysis.style.result import LiveStyle
from coupled_arena.core.choices import BoardSource, Cutoff
from coupled_arena.core.records import Outcome
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.ui.tabs.leaderboard import BoardControls, LeaderboardTab
from coupled_arena.views.addresses import read_settings_address, settings_address
from coupled_arena.views.inline_figures import Scale, interval_bar, over_time
from coupled_arena.views.tables.board_page import board_table
from coupled_arena.views.words.verdict import board_advice, board_headline, board_verdict
from tests.batches import at_once, judge
from tests.store.conftest import make_battle, make_vote


@pytest.fixture
def store():
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            for number in range(61):
                battle = make_battle("ant", "bee", replies=(), prompts=())
                batch.add_battle(battle)
                batch.cast(make_vote(battle, *((1, 2) if number % 3 else (2, 1))))
        yield opened


def board_of(store, **settings):
    return leaderboard(read_estimates(store, Selection()), **settings)


def test_a_scale_has_round_ends_and_holds_every_interval():
    scale = Scale.of([(0.41, 0.52), (0.48, 0.66)])
    assert (scale.low, scale.high) == (pytest.approx(0.4), pytest.approx(0.7))
    assert scale.place(0.4) == pytest.approx(0)
    assert scale.place(0.9) == 1
    assert scale.even == pytest.approx(1 / 3)
    assert Scale.of([(0.6, 0.7)]).even is None
    assert Scale.of([(0.5, 0.5)]).high > 0.5


def test_a_bar_has_its_interval_on_the_scale():
    svg = ElementTree.fromstring(interval_bar(0.5, 0.4, 0.6, Scale(0.3, 0.8)))
    rect, circle = svg.find("rect"), svg.find("circle")
    assert (rect.get("x") or rect.get("low"), rect.get("width")) == ("20.00%", "40.00%")
    assert circle.get("cx") == "40.00%"


def test_a_line_has_a_point_for_each_moment_and_its_label_is_text():
    drawn = over_time([(1, 0.4, 0.1, 0.9), (5, 0.5, 0.3, 0.7)], Scale(0, 1), "<b>")
    svg = ElementTree.fromstring(drawn)
    assert svg.get("aria-label") == "<b>"
    ribbon, line = (svg.findall("path")[n].get("d") for n in (0, 1))
    assert len(re.findall(r"[ML]", line)) == 2
    assert len(re.findall(r"[ML]", ribbon)) == 4
    assert over_time([(1, 0.4, 0.1, 0.9)], Scale(0, 1), "") == ""


def test_ranks_lead_and_models_name_their_rows(store):
    board = board_of(store)
    trend = LiveTrends(store).get(board.estimates, BoardSource.HUMAN, 0.05)
    table = board_table(board, trend=trend, lines=True)
    heads = re.findall(r'<th scope="col">(.*?)</th>', table)
    assert heads[:6] == ["Rank", "Model", "Win rate", "95% interval", "Comparisons", "Over time"]
    assert re.findall(r'<th scope="row"[^>]*>(.*?)</th>', table) == ["ant", "bee"]
    assert table.count('class="interval"') == table.count('class="sparkline"') == 2
    assert 'class="sparkline"' not in board_table(board, lines=True)
    assert "Over time" not in board_table(board)


def test_the_last_point_of_a_line_is_the_board_and_any_time_intervals_are_wider(store):
    board = board_of(store)
    trend = LiveTrends(store).get(board.estimates, BoardSource.HUMAN, 0.05)
    for row in board.standings:
        n, rate, low, high = trend.of(row.model)[-1]
        assert (n, rate) == (61, pytest.approx(row.place.win_rate))
        assert low < row.place.low <= row.place.high < high
    assert [n for n, *_ in trend.of("ant")] == sorted(n for n, *_ in trend.of("ant"))


def test_a_line_is_the_board_of_the_first_battles(store):
    estimates = LiveEstimates(store).get()
    trend = LiveTrends(store).get(estimates, BoardSource.HUMAN, 0.05)
    n, rate, _, _ = trend.of("ant")[3]
    first = board_of(store).estimates
    until = read_estimates(store, Selection(until=n))
    assert int(until.votes.comparisons.sum()) // 2 == n < int(first.votes.comparisons.sum()) // 2
    assert rate == pytest.approx(float(until.by_source[BoardSource.HUMAN].theta[0]))


def test_what_is_known_of_a_line_is_not_computed_again(store, monkeypatch):
    trends, live = LiveTrends(store), LiveEstimates(store)
    before = trends.get(live.get(), BoardSource.HUMAN, 0.05)
    called = []
    monkeypatch.setattr(
        "coupled_arena.analysis.leaderboard.trend.read_estimate",
        lambda *given: called.append(given),
    )
    battle = make_battle("ant", "bee", replies=(), prompts=())
    store.add_battle(battle)
    store.cast(make_vote(battle, 1, 2))
    after = trends.get(live.get(), BoardSource.HUMAN, 0.1)
    assert called == []
    assert [point.votes for point in after.points[:-1]] == [
        point.votes for point in before.points[:-1]
    ]
    assert after.points[-1].votes == before.points[-1].votes + 1


@pytest.mark.parametrize("cutoff", [Cutoff.MAX_T, Cutoff.ANY_TIME])
def test_the_headline_has_at_most_twenty_words_and_the_verdict_has_all(store, cutoff):
    board = board_of(store, cutoff=cutoff)
    said = board_headline(board)
    assert len(said.split()) <= 20
    assert board_verdict(board) == " ".join([said, *board_advice(board)])


class TestAddress:
    @pytest.fixture
    def controls(self, store):
        with gr.Blocks():
            controls = BoardControls(store)
            controls.build()
            controls.build_method()
            controls.build_mix()
        return controls

    def first(self, controls):
        return {field: field.value for field in controls.settings}

    def test_the_first_board_has_a_plain_address(self, controls):
        assert controls.told(self.first(controls)) == {}
        assert settings_address("leaderboard", {}) == "?tab=leaderboard"

    def test_every_setting_survives_the_way_there_and_back(self, controls):
        asked = read_settings_address(
            "?tab=leaderboard&mode=coupled&alpha=0.1&cutoff=max-t&sets=marginal&ties=loss"
            "&voters=these&weighting=count&covariance=published&control=length&mine=1&named=1"
        )
        chosen = controls.filled(asked)
        told = controls.told({**self.first(controls), **chosen})
        assert told == {name: value for name, value in asked.items() if name in told}
        assert set(told) == set(asked)

    def test_what_no_field_offers_is_as_at_first(self, controls):
        asked = {"mode": "x", "alpha": "nan", "judge": "nobody", "category": "<b>", "tab": "y"}
        assert controls.told(controls.filled(asked)) == {}
        assert controls.filled({"alpha": "7"})[controls._fields["alpha"]] <= 0.5


class OpenBoard:
    """The tab as a visitor has it open: each look may change what is on show."""

    def __init__(self, store):
        with gr.Blocks():
            parts = LiveEstimates(store), LiveStyle(store), "nothing", LiveTrends(store)
            self.tab = LeaderboardTab(store, *parts)
            self.tab.build()
        self.values = {each: each.value for each in self.tab._inputs}
        self.has_controls = False

    def look(self):
        for shown in self.tab._refresh(self.values, gr.Request()):
            if isinstance(shown.get(self.tab._seen), tuple):
                self.values[self.tab._seen] = shown[self.tab._seen]
            if self.tab._chosen in shown:
                self.has_controls = shown[self.tab._chosen].visible


def test_the_controls_come_with_the_first_verdict_also_where_nobody_votes():
    """A judge decides for visitors: its board is chosen with the controls."""
    with Store.in_memory() as store:
        board = OpenBoard(store)
        board.look()
        assert not board.has_controls
        store.add_battle(battle := make_battle("ant", "bee"))
        board.look()
        assert not board.has_controls  # nobody has compared its answers
        judge(store, "strict", battle, 0, 1, Outcome.FIRST)
        board.look()
        assert board.has_controls
