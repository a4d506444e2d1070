"""A voter may see a pair in either order: imports, exports and all figures on sides keep it."""

from __future__ import annotations

import json
import random

import duckdb
import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.core.records import Source
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.connection import MIGRATIONS, migrate
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.votes_by_voter import shared_votes
from coupled_arena.store.transfer.export import export
from coupled_arena.store.transfer.importing import import_files
from tests.families import first_of
from tests.stored import rows

PAIRS = (("a", "b"), ("a", "c"), ("b", "c"))
FIRST = 0.62  # how often the answer shown first wins


def campaign(prompts=12, voters=5):
    """Return votes of people on the same questions in both orders, with a judge's verdicts."""
    draw = random.Random(4)
    rows = []
    for prompt in range(prompts):
        for pair in PAIRS:
            for voter in range(voters):
                first, second = draw.sample(pair, 2)
                won = "model_a" if draw.random() < FIRST else "model_b"
                rows.append(
                    {
                        "question_id": f"q{prompt}",
                        "model_a": first,
                        "model_b": second,
                        "winner": "tie" if draw.random() < 0.1 else won,
                        "voter": f"v{voter}",
                        "verdict": draw.choice(["model_a", "model_b", "tie"]),
                    }
                )
    return rows


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("orders") / "votes.csv"
    pd.DataFrame(campaign()).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def stored(csv):
    with Store.open(csv.with_suffix(".duckdb")) as store:
        import_files(store, [csv])
    return csv.with_suffix(".duckdb")


def kept(store):
    """Return all comparisons by name, as they follow from the votes."""
    query = """
        select battle, a.model, b.model, human, verdict, voter, judge_no
        from comparisons
        join battles using (battle_no)
        join models as a on a.model_no = model_a join models as b on b.model_no = model_b
    """
    return sorted(rows(store, query), key=repr)


def wrong(store):
    with store.cursor() as cursor:
        return [finding.check for finding in examine(cursor) if finding.wrong]


@pytest.mark.parametrize("options", first_of({}, {"weighting": "position"}, {"voters": "these"}))
def test_import_and_rank_agree_on_the_first_slot(csv, stored, options):
    """The counts are the same, so the figures are: but for the order in which they are added."""
    ranked = ca.rank(pd.read_csv(csv).drop(columns="verdict"), **options).to_dict()
    board = ca.leaderboard(ca.open(stored), **options).to_dict()
    one, other = board["first_slot"], ranked["first_slot"]
    assert one["effect"] == other["effect"]
    assert one["by_lot"] == other["by_lot"]
    assert [one["low"], one["high"]] == pytest.approx([other["low"], other["high"]], rel=1e-12)
    for one, other in zip(board["models"], ranked["models"], strict=True):
        assert one == {
            column: pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
            for column, value in other.items()
        }


def test_the_first_slot_is_that_of_a_count_by_hand(stored):
    """The mean of both orders of each pair; pairs weigh as one over the variance of that mean."""
    won = {"model_a": 1, "model_b": -1, "tie": 0}
    votes = pd.DataFrame(campaign()).assign(won=lambda frame: frame["winner"].map(won))
    found = votes.groupby(["model_a", "model_b"])["won"].agg(["mean", "count"])
    both = [(found.loc[pair], found.loc[pair[::-1]]) for pair in PAIRS]
    weights = [1 / (1 / one["count"] + 1 / other["count"]) for one, other in both]
    means = [(one["mean"] + other["mean"]) / 2 for one, other in both]
    effect = ca.leaderboard(ca.open(stored)).to_dict()["first_slot"]["effect"]
    assert effect == pytest.approx(np.average(means, weights=weights), rel=1e-12)


def test_a_battle_has_votes_in_both_orders_and_passes_the_checks(stored):
    with Store.open(stored) as store:
        assert wrong(store) == []
        counted = dict(rows(store, "select shown::text, count(*) from votes group by 1"))
        assert set(counted) == {None, "[1, 0]"}
        both = "select count(*) from (select battle from votes group by 1 having count(shown) > 0)"
        assert rows(store, both)[0][0] > 1


@pytest.mark.parametrize(
    "format",
    [
        "csv",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("parquet", "jsonl", "arena")),
    ],
)
def test_an_export_brings_the_orders_back(stored, tmp_path, format):
    with Store.open(stored) as store, Store.in_memory() as copy:
        files = export(store, tmp_path, format)
        done = import_files(copy, files)
        assert not done.rejected
        assert import_files(copy, files).votes == 0
        arena = format == "arena"  # these rows hold no verdicts
        assert kept(copy) == [row for row in kept(store) if not (arena and row[-1])]
        assert wrong(copy) == []


@pytest.mark.slow
def test_votes_of_an_older_export_meet_those_with_an_order(stored, tmp_path):
    with Store.open(stored) as store:
        files = {path.stem: path for path in export(store, tmp_path, "jsonl")}
        lines = [json.loads(line) for line in files["votes"].read_text().splitlines()]
        older = [{key: value for key, value in line.items() if key != "shown"} for line in lines]
        files["votes"].write_text("".join(json.dumps(line) + "\n" for line in older))
        done = import_files(store, list(files.values()))
        assert (done.votes, done.rejected) == (0, ())
        with Store.in_memory() as copy:
            assert not import_files(copy, list(files.values())).rejected
            assert rows(copy, "select count(shown) from votes") == [(0,)]


@pytest.mark.parametrize("shown", first_of([0], [0, 0], [1, 2]))
def test_an_order_that_is_none_is_rejected(stored, tmp_path, shown):
    with Store.open(stored) as store, Store.in_memory() as copy:
        files = {path.stem: path for path in export(store, tmp_path, "jsonl")}
        first, *others = files["votes"].read_text().splitlines()
        bad = json.dumps(json.loads(first) | {"shown": shown})
        files["votes"].write_text("\n".join([bad, *others]) + "\n")
        done = import_files(copy, list(files.values()))
        assert {row.reason for row in done.rejected} == {"shown is not an order of its places"}


def test_the_flat_table_begins_with_the_model_that_was_shown_first(csv, stored):
    flat = ca.open(stored).flat()
    found = flat[["model_a", "model_b", "winner", "voter"]].astype(str)
    given = pd.read_csv(csv)[["model_a", "model_b", "winner", "voter"]]
    assert sorted(found.itertuples(index=False)) == sorted(given.itertuples(index=False))
    assert set(flat["place_a"]) == {0}
    assert set(flat["place_b"]) == {1}
    # One verdict of the judge on a battle: it stands in the column of its order, whoever voted.
    said = flat.dropna(subset=["judge_verdict_ab"])
    turned = flat.dropna(subset=["judge_verdict_ba"])
    assert len(said) + len(turned) >= len(flat)


def test_several_voters_of_a_pair_agree_in_whatever_order_they_saw_it(tmp_path):
    same = [("a", "b", "model_a"), ("b", "a", "model_b"), ("a", "b", "model_a")]
    path = tmp_path / "same.csv"
    given = [
        {"question_id": "q", "model_a": a, "model_b": b, "winner": winner, "voter": f"v{n}"}
        for n, (a, b, winner) in enumerate(same)
    ]
    pd.DataFrame(given).to_csv(path, index=False)
    with Store.in_memory() as store:
        import_files(store, [path])
        with store.cursor() as cursor:
            assert shared_votes(cursor, Selection()).counts.tolist() == [[3, 0, 0]]
            assert comparisons.count(cursor, Selection()).votes.sum() == 3


def test_rank_takes_the_store_s_own_comparisons_as_the_board_does(store, new_battle, new_vote):
    """Two answers of one model are two pairs of a vote; a tie of equal answers is nobody's vote."""
    for number in range(6):
        battle = new_battle("a", "a", "b", id=f"{number:032x}")
        store.add_battle(battle)
        store.cast(new_vote(battle, 1, 1, 1 + number % 2, voter="x"))
    equal = new_battle("a", "b", id="f" * 32)
    store.add_battle(equal)
    store.cast(new_vote(equal, 1, 1, source=Source.IDENTICAL))
    with store.cursor() as cursor:
        frame = comparisons.relation(cursor, None).df()
    counted = ["model", "human_votes", "wins", "losses", "ties", "identical", "comparisons"]
    found = ca.rank(frame).to_frame()[counted]
    with store.cursor() as cursor:
        votes = comparisons.count(cursor, Selection()).votes
    assert found.set_index("model").loc["b", "losses"] == 6
    assert found.set_index("model").loc["a", ["human_votes", "identical"]].tolist() == [12, 1]
    assert found["comparisons"].sum() // 2 == votes[:, :, 0, 1].sum() + votes[:, :, 1, 0].sum()


def test_votes_of_an_older_database_have_the_battle_s_order():
    connection = duckdb.connect()
    migrate(connection, MIGRATIONS[:12])
    connection.execute(
        "insert into votes (vote, battle, voter, ranks, both_bad, source, early, cast_at) "
        "values ('v', 'b', 'ann', [1, 2], false, 'human', false, now())"
    )
    migrate(connection)
    assert connection.execute("select vote, shown from counted_votes").fetchall() == [("v", None)]
