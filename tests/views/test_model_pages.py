"""A model's own page: it counts what the board counts, and each number leads to what it counts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from coupled_arena.analysis.battles import OpenedBattle, read_battles
from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
from coupled_arena.analysis.leaderboard.one_model import ModelSummary, Strength, read_model
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.analysis.leaderboard.trend import LiveTrends
from coupled_arena.core.choices import TieScore
from coupled_arena.core.errors import BattleError
from coupled_arena.core.records import Finish, Mode, Origin, Prompt, Reply
from coupled_arena.store.database import Store
from coupled_arena.store.queries.battle_record import BattleRecord
from coupled_arena.store.queries.battle_search import BattleFilter
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.addresses import model_address, read_address
from coupled_arena.views.battle_pages import battle_page
from coupled_arena.views.model_pages import (
    category_words,
    headline,
    history,
    model_page,
    trend,
)
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote
from tests.views.test_addresses import MODELS, behind, store

__all__ = ["store"]  # a fixture


def page_of(store, model, hidden="nothing"):
    some = read_battles(store, BattleFilter(model=model), hidden, size=5)
    return model_page(read_model(store, model, hidden), some)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_each_count_is_the_board_s_and_leads_to_as_many(store, model):
    found, page = read_model(store, model, "nothing"), page_of(store, model)
    board = leaderboard(read_estimates(store, Selection(), draws=10))
    names = [row.model for row in board.standings]
    at = names.index(model)
    row = board.standings[at]
    overall = found.overall
    assert (overall.comparisons, overall.wins) == (row.comparisons, row.wins)
    assert (overall.win_rate, overall.low, overall.high) == pytest.approx(
        (row.place.win_rate, row.place.low, row.place.high)
    )
    assert behind(store, page["votes"]) == overall.comparisons
    assert sum(day.comparisons for day in found.days) == overall.comparisons
    assert sum(day.wins for day in found.days) == overall.wins
    met = {each.name: each for each in found.opponents}
    assert set(met) == {*names} - {model}
    for name, pair in zip(names, board.head_to_head[at], strict=True):
        if name != model:
            each = met[name]
            assert (each.wins, each.comparisons) == (pair.wins, pair.comparisons)
            assert each.win_rate == pytest.approx(pair.win_rate(TieScore.HALF))
    for strengths in ("categories", "opponents"):
        for each, cells in zip(getattr(found, strengths), page[strengths]["rows"], strict=True):
            assert each.low <= each.win_rate <= each.high
            assert behind(store, cells[3]["href"]) == each.comparisons
    assert {each.name for each in found.categories} == {"art", "maths"}
    assert sum(each.comparisons for each in found.categories) == overall.comparisons


@pytest.mark.slow
def test_intervals_hold_together(store):
    wide = read_model(store, MODELS[0], "nothing")
    alone = read_estimates(store, Selection(category="art"), draws=10)
    row = next(row for row in leaderboard(alone).standings if row.model == MODELS[0])
    (art,) = (each for each in wide.categories if each.name == "art")
    assert art.low < row.place.low < row.place.high < art.high


def test_a_model_of_blind_rounds_alone_has_no_page():
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            batch.add_battle(make_battle("shy", "bold", id="blind"))
            open_too = make_battle("bold", "calm", id="open")
            batch.add_battle(open_too)
            batch.cast(make_vote(open_too, 1, 2))
        said = []
        for name in ("shy", "nobody"):
            with pytest.raises(BattleError) as refused:
                read_model(opened, name, "rounds")
            said.append(str(refused.value))
        assert said[0] == said[1]
        page = page_of(opened, "bold", "rounds")
        assert [row["href"] for row in page["battles"]] == ["?battle=open"]
        assert "shy" not in str(page)
        assert "few" in page["headline"]


def test_facts_are_those_of_battles_that_may_be_shown():
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            shown = {"m/x/dtype": "float32", "m/dtype": "int8", "m/source": "/home/ann/m"}
            batch.add_battle(make_battle("m", "m/x", origin=Origin.GENERATE, arithmetic=shown))
            batch.add_battle(make_battle("m", "n", arithmetic={"m/commit": "secret"}))
        facts = dict(page_of(opened, "m", "rounds")["facts"])
        assert {name: facts[name] for name in ("dtype", "source")} == {
            "dtype": "int8",
            "source": "m",
        }
        assert "commit" not in facts
        assert "temperature 1.3" in facts["Sampling"]
        assert dict(page_of(opened, "m/x", "rounds")["facts"])["dtype"] == "float32"


def test_a_battle_does_not_tell_where_weights_lie():
    battle = make_battle("m", "n", arithmetic={"m/source": "folder:/home/ann/m", "torch": "2.13.0"})
    page = battle_page(OpenedBattle(battle, BattleRecord((), (), ())))
    assert page["fingerprints"] == [["m/source", "folder:m"], ["torch", "2.13.0"]]


def test_it_says_at_a_glance_what_the_newest_answers_were_computed_with():
    facts = {"source": "hub/m", "dtype": "float16", "quantization": "bnb-4bit"}
    numbers = {"weights": "1235814400", "bytes per weight": "0.66"}
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            old = {"m/dtype": "float32", "m/weights": "5", "m/bytes per weight": "4.00"}
            new = {f"m/{name}": value for name, value in (facts | numbers).items()}
            for arithmetic in (old, new, {"n/dtype": "float32"}):
                made = make_battle("m", "n", origin=Origin.GENERATE, arithmetic=arithmetic)
                batch.add_battle(made)
        page = page_of(opened, "m", "rounds")
    large = 1235814400 * 0.66 / 1e6
    assert page["glance"] == [
        ["Source", "hub/m"],
        ["Precision", "bnb-4bit, computed in float16"],
        ["Weights", "1.24 billion"],
        ["Memory of the weights", f"{large:.0f} MB"],
        ["Bits per weight", f"{8 * 0.66:.1f}"],
    ]


def test_nothing_is_said_at_a_glance_of_imported_votes(store):
    page = page_of(store, MODELS[0])
    assert (page["glance"], page["trend"]) == ([], None)


def test_the_win_rate_over_time_is_that_of_the_first_battles():
    """With two models it is the share of the votes, ties as half a win."""
    ranks = [[(1, 2), (2, 1), (1, 1), (1, 2)][number % 4] for number in range(64)]
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            for each in ranks:
                made = make_battle("ant", "bee", replies=(), prompts=())
                batch.add_battle(made)
                batch.cast(make_vote(made, *each))
        found = read_model(opened, "ant", "rounds", trends=LiveTrends(opened))
    drawn = trend(found)
    won = [{(1, 2): 1.0, (1, 1): 0.5, (2, 1): 0.0}[each] for each in ranks]
    assert len(found.trend) == 16
    for n, rate, low, high in found.trend:
        assert rate == pytest.approx(sum(won[:n]) / n)
        assert low < rate < high
    assert found.trend[-1][:2] == (64, pytest.approx(found.overall.win_rate))
    assert [row[0] for row in drawn["rows"]] == [str(n) for n, *_rest in found.trend]
    assert drawn["last"] == "64 comparisons on the board"
    dots = drawn["dots"]
    assert (dots[0]["x"], dots[-1]["x"]) == (0, 100)
    ends = [float(drawn[end].rstrip("%")) / 100 for end in ("low", "high")]
    for dot, (_n, rate, *_rest) in zip(dots, found.trend, strict=True):
        assert ends[1] - dot["y"] / 100 * (ends[1] - ends[0]) == pytest.approx(rate, abs=1e-9)


def test_one_moment_is_no_line():
    found = SimpleNamespace(trend=((3, 0.5, 0.1, 0.9),), alpha=0.05)
    assert trend(found) is None


def strength(name, low, rate, high, n=100):
    return Strength(name, round(rate * n), n, rate, low, high)


def test_words_do_not_outrun_intervals():
    overall = strength("all", 0.45, 0.5, 0.55, 400)
    near, far = strength("near", 0.5, 0.6, 0.7), strength("far", 0.56, 0.8, 0.9)
    made = ("m", 0.05, overall)
    rest = ((), (), {}, (), ())
    unclear = ModelSummary(*made, (near,), 0, *rest)
    clear = ModelSummary(*made, (near, far), 2, *rest)
    assert category_words(unclear) == "No category differs clearly from the overall win rate yet."
    assert category_words(clear).startswith(
        "Different from the overall win rate, because the intervals do not meet: far."
    )
    assert "2 intervals hold together" in category_words(clear)
    assert category_words(clear).endswith("2 more with fewer votes are left out.")
    assert headline(unclear) == (
        "People prefer it in 50.0% of comparisons with all others, each weighing the same "
        "(45.0% to 55.0%, 95% interval; 400 comparisons)."
    )


def test_long_histories_have_few_bars():
    from datetime import date, timedelta

    from coupled_arena.store.queries.model_pages import Day

    start = date(2025, 1, 1)
    days = tuple(Day(start + timedelta(at), 2, 1) for at in (*range(0, 300, 3), 399))
    drawn = history(days)
    assert len(drawn["bars"]) == 40
    assert sum(bar["votes"] for bar in drawn["bars"]) == 2 * len(days)
    assert sum(bar["wins"] for bar in drawn["bars"]) == len(days)
    assert history(days[:1])["bars"] == [{"from": "2025-01-01", "votes": 2, "wins": 1}]
    assert history(())["bars"] == []


def test_a_hostile_name_is_a_value_like_others():
    name = '"><img src=x onerror=1>&model=${1}'
    assert read_address(model_address(name)).model == name
    assert "<" not in model_address(name)
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            reply = Reply(0, 0, "x", (), Finish.STOP), Reply(0, 1, "y", (), Finish.STOP)
            prompts = (Prompt("?", None, None, None),)
            batch.add_battle(
                make_battle(
                    name,
                    "m",
                    mode=Mode.UNKNOWN,
                    origin=Origin.IMPORT,
                    replies=reply,
                    prompts=prompts,
                )
            )
        page = page_of(opened, name)
    assert (page["model"], page["headline"]) == (name, "Nobody has voted on this model yet.")
