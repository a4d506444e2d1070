"""What a model is, of stored facts alone; and which model a smaller one surely beats."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
from coupled_arena.analysis.leaderboard.memory import against_memory, with_sizes
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.analysis.model_sizes import LiveSizes, ModelSize, read_sizes, size_of
from coupled_arena.core.records import Origin
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.model_pages import newest_facts
from coupled_arena.store.transfer.snapshots import snapshot
from coupled_arena.views.tables.memory import memory_table
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote
from tests.stored import rows
from tests.views.test_verdicts import board_of, duels

NAMES = ("m", "m/x", "n", "o#1")


def facts_of(model, **facts):
    return {f"{model}/{name.replace('_', ' ')}": str(value) for name, value in facts.items()}


@pytest.mark.parametrize(
    ("facts", "size"),
    [
        ({}, ModelSize()),
        ({"weights": "", "bytes per weight": " "}, ModelSize()),
        ({"weights": "many", "bytes per weight": "nan"}, ModelSize()),
        ({"weights": "-3", "bytes per weight": "-1.5"}, ModelSize()),
        ({"weights": "1e9", "bytes per weight": "inf"}, ModelSize()),
        ({"weights": "0", "bytes per weight": "0.00"}, ModelSize()),
        ({"weights": "\N{FULLWIDTH DIGIT NINE}", "bytes per weight": "1,5"}, ModelSize()),
        ({"weights": "9" * 400, "bytes per weight": "9" * 400}, ModelSize()),
        ({"weights": "7", "bytes per weight": "x"}, ModelSize(weights=7)),
        ({"bytes per weight": "1.29"}, ModelSize(bytes_per_weight=1.29)),
        ({"source": "hub", "dtype": "float16"}, ModelSize(source="hub", dtype="float16")),
    ],
)
def test_what_is_no_number_is_unknown(facts, size):
    assert size_of(facts) == size
    assert size.memory is None


def test_memory_is_weights_times_bytes():
    assert size_of({"weights": "1000", "bytes per weight": "1.50"}).memory == 1500


@pytest.fixture(scope="module")
def store():
    """Battles in which models are loaded anew, and which hold facts of some of their models."""
    rng = np.random.default_rng(3)
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            for number in range(80):
                pair = [str(name) for name in rng.choice(NAMES, 2, replace=False)]
                facts = {"torch": "2.13.0"}
                for model in pair:
                    if rng.random() < 0.5:
                        facts |= facts_of(model, weights=1000 + number, bytes_per_weight="2.50")
                    if rng.random() < 0.3:
                        facts |= facts_of(model, commit=f"c{number}")
                origin = Origin.GENERATE if number % 2 else Origin.ARENA
                battle = make_battle(*pair, arithmetic=facts, origin=origin, id=f"{number:032}")
                batch.add_battle(battle)
                if rng.random() < 0.5:
                    batch.cast(make_vote(battle))
        yield opened


@pytest.mark.parametrize("hidden", ["nothing", "rounds", "stored"])
def test_facts_are_of_the_newest_battle_that_may_be_shown(store, hidden):
    """The same by going through all rows, the newest first."""
    told = {battle for (battle,) in rows(store, "select battle from reveals")}
    expected = {}
    query = "select battle, origin, models, arithmetic from battles order by battle_no desc"
    for battle, origin, models, arithmetic in rows(store, query):
        arena, revealed = origin == "arena", battle in told
        shown = {"nothing": True, "rounds": not arena or revealed, "stored": arena and revealed}
        for model in models if shown[hidden] else ():
            if f"{model}/weights" in arithmetic and model not in expected:
                expected[model] = arithmetic[f"{model}/weights"]
    with store.cursor() as cursor:
        found = newest_facts(cursor, NAMES, hidden)
    assert {model: facts["weights"] for model, facts in found.items()} == expected
    assert set(expected) == set(NAMES)  # else it compares nothing


def test_sizes_are_what_sql_says_of_their_battles(store):
    sizes = read_sizes(store, NAMES, "nothing")
    for model in NAMES:
        query = f"""
            select arithmetic['{model}/weights']::double
                * arithmetic['{model}/bytes per weight']::double
            from battles
            where arithmetic['{model}/weights'] is not null
            order by battle_no desc
            limit 1
        """
        assert rows(store, query) == [(sizes[model].memory,)]


def test_an_open_round_tells_no_size():
    """Were it told, a board would say who answers there as soon as a model is loaded anew."""
    with Store.in_memory() as opened:
        old, new = (facts_of("m", weights=n, bytes_per_weight="4.00") for n in (100, 200))
        shown = make_battle("m", "n", arithmetic=old)
        opened.add_battle(shown)
        opened.cast(make_vote(shown))
        live = LiveSizes(opened, "rounds")
        assert live.get(["m"])["m"].weights == 100
        blind = make_battle("m", "n", arithmetic=new)
        opened.add_battle(blind)
        assert live.get(["m"])["m"].weights == 100
        opened.cast(make_vote(blind))
        opened.add_battle(make_battle("n", "o"))
        assert live.get(["m"])["m"].weights == 200


def test_stored_battles_that_people_vote_on_blind_tell_no_size():
    with Store.in_memory() as opened:
        facts = facts_of("m", weights=100, bytes_per_weight="4.00")
        battle = make_battle("m", "n", arithmetic=facts, origin=Origin.GENERATE)
        opened.add_battle(battle)
        opened.cast(make_vote(battle))
        assert read_sizes(opened, ["m"], "stored") == {}
        assert read_sizes(opened, ["m"], "rounds")["m"].weights == 100


# Which model a smaller one surely beats.


def ladder():
    """Return a board whose models are surely apart: ant, bee, cow; dog is as good as cow."""
    clear = [(a, b, 380, 20) for a, b in (("ant", "bee"), ("bee", "cow"), ("bee", "dog"))]
    wide = [("ant", "cow", 395, 5), ("ant", "dog", 395, 5), ("cow", "dog", 200, 200)]
    return board_of(duels(*clear, *wide))


def sized(board, **bytes_of):
    """Return a board whose models take so many gigabytes."""
    sizes = {name: ModelSize(weights=int(1e9), bytes_per_weight=n) for name, n in bytes_of.items()}
    return replace(board, model_sizes=sizes)


def standing(found):
    return {row.model: (row.front, row.behind) for row in found.models}


def test_a_front_of_models_that_are_surely_apart():
    found = against_memory(sized(ladder(), ant=8, bee=4, cow=2))
    assert standing(found) == dict.fromkeys(("ant", "bee", "cow"), (True, False))
    assert found.unknown == ("dog",)
    turned = against_memory(sized(ladder(), ant=2, bee=4, cow=8))
    assert standing(turned) == {
        "ant": (True, False),
        "bee": (False, True),
        "cow": (False, True),
    }


def test_nothing_is_claimed_of_models_that_cannot_be_told_apart():
    found = against_memory(sized(ladder(), cow=2, dog=4))
    assert standing(found) == {"cow": (True, False), "dog": (False, False)}
    equal = against_memory(sized(ladder(), cow=2, dog=2))
    assert standing(equal) == {"cow": (False, False), "dog": (False, False)}
    few = board_of(duels(("ant", "bee", 7, 3)))
    assert standing(against_memory(sized(few, ant=2, bee=4)))["bee"] == (False, False)


def test_rank_sets_that_overlap_claim_nothing_though_intervals_do_not():
    board = sized(ladder(), ant=2, bee=4)
    unsure = tuple(
        replace(row, place=replace(row.place, rank_low=1, rank_high=4)) for row in board.standings
    )
    first, second = (row.place for row in unsure[:2])
    assert first.low > second.high
    assert standing(against_memory(replace(board, standings=unsure)))["bee"] == (False, False)


@pytest.mark.parametrize("sizes", [*permutations((1.0, 2.0, 2.0, 3.5))][::3])
def test_front_and_behind_are_what_the_table_s_rows_say(sizes):
    names = ("ant", "bee", "cow", "dog")
    rows = memory_table(sized(ladder(), **dict(zip(names, sizes, strict=True)))).records()
    for row in rows:
        others = [each for each in rows if each is not row and each["memory"] <= row["memory"]]
        beaten = [
            each["rank_low"] > row["rank_high"] and each["high"] < row["low"] for each in others
        ]
        beating = [
            each["rank_high"] < row["rank_low"] and each["low"] > row["high"] for each in others
        ]
        assert (row["front"], row["behind"]) == (all(beaten), any(beating))


def test_sizes_in_bytes_per_weight_compare_models_of_the_same_weights_alone():
    board = board_of(duels(("ant", "bee", 9, 3)))

    def packed(source, other):
        sizes = (("ant", source, 4.0), ("bee", other, 1.3))
        return replace(
            board,
            model_sizes={n: ModelSize(source=s, bytes_per_weight=b) for n, s, b in sizes},
        )

    assert against_memory(packed("hub/a", "hub/a")).unit == "bytes_per_weight"
    assert against_memory(packed("hub/a", "hub/b")) is None
    assert against_memory(packed("", "")) is None
    assert against_memory(board) is None
    assert against_memory(sized(board, ant=2)) is None
    assert against_memory(sized(board, ant=2, bee=3)).unit == "memory"


def test_one_answer_has_them_on_every_face(tmp_path):
    path = tmp_path / "arena.duckdb"
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            for number in range(12):
                facts = facts_of("ant", weights=2_000_000, bytes_per_weight="2.00", source="a")
                facts |= facts_of("bee", weights=1_000_000, bytes_per_weight="4.10", source="b")
                battle = make_battle("ant", "bee", arithmetic=facts, origin=Origin.GENERATE)
                batch.add_battle(battle)
                batch.cast(make_vote(battle, *((1, 2) if number % 4 else (2, 1))))
        board = leaderboard(read_estimates(opened, Selection()))
        read = with_sizes(board, lambda models: read_sizes(opened, models, "rounds"))
        sizes = [row.size.memory for row in against_memory(read).models]
        assert sizes == pytest.approx([4e6, 4.1e6])
        snapshot(opened, path)
    found = ca.leaderboard(ca.open(path))
    frame = found.to_frame("memory")
    assert frame["memory"].tolist() == [4e6, pytest.approx(4.1e6)]
    assert frame["weights"].tolist() == [2_000_000, 1_000_000]
    assert found.to_dict()["memory"] == found.tables["memory"].records()
    models = {row["model"]: row for row in found.to_dict()["models"]}
    for row in found.to_dict()["memory"]:
        assert {name: models[row["model"]][name] for name in ("win_rate", "low", "high")} == {
            name: row[name] for name in ("win_rate", "low", "high")
        }
    assert ca.plot(found, "memory").layout.meta["file"] == "leaderboard-memory"


def test_imported_votes_have_no_sizes_and_no_figure():
    votes = [{"model_a": "ant", "model_b": "bee", "winner": "a"}] * 8
    found = ca.rank(pd.DataFrame(votes))
    assert found.to_dict()["memory"] == []
    assert "memory" not in found.tables
    with pytest.raises(ca.ArenaError, match="has no figure"):
        ca.plot(found, "memory")
