"""The flat table of votes: what other programs read, against the store and the leaderboard."""

from __future__ import annotations

import csv
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings

import coupled_arena as ca
from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Mode, Origin, Outcome, Prompt, Source
from coupled_arena.core.verdicts import Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import relation
from coupled_arena.store.tables import judges
from coupled_arena.store.transfer import flat
from coupled_arena.store.transfer.export import export
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.views.tables.flat import FLAT
from tests.batches import at_once
from tests.store.made_up import stores

CATEGORIES = (
    *("category", "language", "origin", "mode", "model_a", "model_b", "winner", "source"),
)
HARMFUL = ("=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "\n=1")


def flat_of(store, folder, **options):
    (path,) = export(store, Path(folder), "flat", **options)
    return pd.read_parquet(path)


@pytest.fixture
def three(store, new_battle, new_vote):
    """A battle of three, with a vote and what two judges say of it."""
    for judge in ("gpt", "GPT"):
        store.write(lambda cursor, judge=judge: judges.bind(cursor, judge, "m", "hash", "{}"))
    battle = new_battle("alpha", "beta", "gamma", turns=2)
    at = datetime(2026, 3, 1, 2, 3, 4, 567891, tzinfo=UTC)
    said = [
        *((0, 1, Outcome.FIRST), (1, 0, Outcome.FIRST), (2, 0, Outcome.SECOND)),
        *((1, 2, Outcome.BOTH_BAD), (2, 1, None)),
    ]
    with at_once(store) as batch:
        batch.add_battle(battle)
        batch.cast(new_vote(battle, 2, 1, 2, cast_at=at))
        batch.verdicts += [
            Verdict(f"v{n}", battle.id, "gpt", i, j, outcome, "", judged_at=at)
            for n, (i, j, outcome) in enumerate(said)
        ]
        batch.verdicts += [Verdict("w", battle.id, "GPT", 0, 2, Outcome.TIE, "", judged_at=at)]
    return battle


def test_a_row_for_each_pair_of_a_vote(store, three, tmp_path):
    table = flat_of(store, tmp_path)
    pairs = ["model_a", "model_b", "place_a", "place_b", "winner", "counted"]
    assert table[pairs].to_numpy().tolist() == [
        ["alpha", "beta", 0, 1, "model_b", True],
        ["alpha", "gamma", 0, 2, "tie", True],
        ["beta", "gamma", 1, 2, "model_a", True],
    ]
    assert table.vote.nunique() == 1
    first = table.iloc[0]
    assert first.cast_at == pd.Timestamp("2026-03-01T02:03:04.567891Z")
    plain = ["battle", "turns", "prompt_id", "prompt", "category", "language", "origin", "mode"]
    assert first[plain].tolist() == [
        *(three.id, 2, "p0", "Why 0?", "math", "en", "arena", "coupled"),
    ]
    drawn = ["seed", "temperature", "top_k", "top_p", "max_new_tokens", "tokens_a", "tokens_b"]
    assert first[drawn].tolist() == ["f" * 16, 1.3, 40, 0.5, 99, 4, 4]
    assert first[["source", "early", "voter"]].tolist() == ["human", False, "ann"]


def test_two_columns_a_judge_say_what_it_said_in_each_order(store, three, tmp_path):
    """Judges that differ in case alone are two; what none can read is missing."""
    table = flat_of(store, tmp_path)
    said = table.filter(like="judge_").astype(object)
    assert said.where(said.notna(), None).to_dict("list") == {
        "judge_GPT_ab": [None, "tie", None],
        "judge_GPT_ba": [None, None, None],
        "judge_gpt_ab": ["model_a", None, "both_bad"],
        "judge_gpt_ba": ["model_b", "model_a", None],
    }


def test_pandas_has_times_with_a_zone_categories_and_whole_numbers(store, three, tmp_path):
    table = flat_of(store, tmp_path)
    assert str(table.cast_at.dtype) == "datetime64[us, UTC]"
    kinds = {name: str(dtype) for name, dtype in table.dtypes.items()}
    assert {name for name, kind in kinds.items() if kind == "category"} == {
        *CATEGORIES,
        *table.filter(like="judge_").columns,
    }
    wanted = dict.fromkeys(("top_k", "max_new_tokens", "tokens_a", "tokens_b"), "Int32")
    assert {name: kinds[name] for name in wanted} == wanted
    assert not (table.model_a == table.model_b).any()  # of one dtype, else pandas refuses


def test_the_columns_are_those_of_the_dictionary(store, three, tmp_path):
    table = flat_of(store, tmp_path)
    assert list(table.columns[:-4]) == [column.name for column in FLAT[:-2]]
    assert [column.name for column in FLAT[-2:]] == ["judge_NAME_ab", "judge_NAME_ba"]


@pytest.mark.slow
@settings(max_examples=8)
@given(made=stores())
def test_counted_rows_are_the_comparisons_of_the_statistics(made):
    """Of any store, ties of equal answers and models against themselves in it, and in CSV too."""
    columns = ["battle", "model_a", "model_b", "winner", "mode", "voter"]
    with Store.in_memory() as store, tempfile.TemporaryDirectory() as folder:
        made.fill(store)
        table = flat_of(store, folder)
        (path,) = export(store, Path(folder), "flat-csv")
        with store.cursor() as cursor:
            wanted = relation(cursor, None).to_arrow_table().to_pandas()
            flat.note_standing(cursor, "nothing")
            held = flat.flat_counts(cursor)
        text = pd.read_csv(path, dtype=str, keep_default_na=False, lineterminator=None)
    own = table[table.counted][columns].astype(object).to_numpy().tolist()
    assert sorted(own) == sorted(wanted[columns].to_numpy().tolist())
    assert (held.rows, held.votes, held.voters) == (
        *(len(table), table.vote.nunique(), table.voter.nunique()),
    )
    assert text.vote.tolist() == table.vote.tolist()
    assert text.winner.tolist() == table.winner.tolist()


def test_a_preference_between_the_same_words_and_a_model_against_itself_do_not_count(
    store, new_battle, new_vote, tmp_path
):
    battle = new_battle("alpha", "beta", "alpha")
    first, second, third = battle.replies
    same, other = replace(second, text=first.text), replace(third, text="other")
    battle = replace(battle, replies=(first, same, other))
    store.add_battle(battle)
    for voter, ranks, bad in (("ann", (1, 2, 3), False), ("bob", (1, 1, 1), True)):
        store.cast(new_vote(battle, *ranks, both_bad=bad, voter=voter))
    table = flat_of(store, tmp_path)
    found = zip(table.voter, table.place_a, table.place_b, table.counted, strict=True)
    assert list(found) == [
        *(("ann", 0, 1, False), ("ann", 0, 2, False), ("ann", 1, 2, True)),
        *(("bob", 0, 1, True), ("bob", 0, 2, False), ("bob", 1, 2, True)),
    ]


def test_win_rates_and_votes_are_the_leaderboards(tmp_path, new_battle, new_vote):
    """By plain counting with pandas; and `ca.rank` on the table ranks as the store does."""
    db = tmp_path / "arena.duckdb"
    models = ("alpha", "beta", "gamma")
    with Store.open(db) as store, at_once(store) as batch:
        for n in range(60):
            shown = models if n % 5 == 0 else (models[n % 3], models[(n + 1 + n % 2) % 3])
            prompt = Prompt(f"Why {n}?", f"p{n}")
            battle = new_battle(*shown, id=f"{n:032}", prompts=(prompt,), mode=list(Mode)[n % 2])
            batch.add_battle(battle)
            ranks = [1 + (n + 2 * i) % 3 for i in range(len(shown))]
            ranks = [rank - min(ranks) + 1 for rank in ranks]
            batch.cast(new_vote(battle, *ranks, voter=f"v{n % 7}"), reveal=False)
            if n % 4 == 0:  # another mind: the first vote no longer stands
                batch.cast(new_vote(battle, *[1] * len(shown), both_bad=True, voter=f"v{n % 7}"))
    opened = ca.open(db)
    table = opened.flat()
    board = ca.leaderboard(opened)
    sides = [("model_a", "model_b"), ("model_b", "model_a")]
    long = pd.concat(
        pd.DataFrame({"model": table[own], "opponent": table[other], "won": table.winner == own})[
            table.counted
        ]
        for own, other in sides
    )
    mine = long.groupby(["model", "opponent"], observed=True).won.agg(["sum", "count", "mean"])
    pairs = board.to_frame("pairs").set_index(["model", "opponent"]).loc[mine.index]
    assert mine["sum"].tolist() == pairs.wins.tolist()
    assert mine["count"].tolist() == pairs.comparisons.tolist()
    # A tie is half a win for both: the mean of the share won and of the share not lost.
    lost = mine["mean"].swaplevel().loc[mine.index].to_numpy()
    share = (mine["mean"] + 1 - lost) / 2
    assert share.tolist() == pytest.approx(pairs.win_rate.tolist())
    theirs = board.to_frame().set_index("model")
    votes = long.groupby("model", observed=True).size()
    assert votes.to_dict() == theirs.human_votes.to_dict()
    ranked = ca.rank(table[table.counted]).to_frame()
    pd.testing.assert_frame_equal(ranked, board.to_frame())


def test_csv_runs_nothing_in_a_spreadsheet(store, new_battle, new_vote, tmp_path):
    """What a visitor wrote as a formula is text there, and as it was in Parquet."""
    for text in (*HARMFUL, "a=1", "'quoted"):
        battle = new_battle("=model", prompts=(Prompt(text, text, text, text),), replies=())
        battle = replace(battle, models=("=model", "-other"))
        store.add_battle(battle)
        store.cast(new_vote(battle, voter="+ann"))
    assert flat_of(store, tmp_path).prompt.tolist() == [*HARMFUL, "a=1", "'quoted"]
    (path,) = export(store, tmp_path, "flat-csv")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cells = [value for row in rows for value in row.values()]
    assert not [cell for cell in cells if cell.startswith(tuple("=+-@\t\r\n"))]
    assert [row["prompt"] for row in rows] == [*(f"'{text}" for text in HARMFUL), "a=1", "'quoted"]
    assert {row["model_a"] for row in rows} == {"'=model"}
    assert all(row["cast_at"].endswith("Z") for row in rows)


def test_many_votes_come_in_pages_of_one_order(store, new_battle, new_vote, tmp_path, monkeypatch):
    with at_once(store) as batch:
        cast = []
        for n in range(7):
            battle = new_battle("alpha", f"model {9 - n}")
            batch.add_battle(battle)
            cast.append(new_vote(battle))
            batch.cast(cast[-1])
    monkeypatch.setattr(flat, "_PAGE", 2)
    with store.cursor() as cursor:
        flat.note_standing(cursor, "nothing")
        assert len(flat._page_spans(cursor)) == 4
    table = flat_of(store, tmp_path)
    assert table.vote.tolist() == [vote.id for vote in cast]
    assert table.model_b.tolist() == [f"model {9 - n}" for n in range(7)]


def test_what_is_unknown_is_missing(store, tmp_path):
    """An import tells no seed, no sampling and no tokens: zeros would be believed."""
    rows = tmp_path / "rows.csv"
    rows.write_text("model_a,model_b,winner,question_id\na,b,model_a,1\n")
    import_files(store, [rows])
    (row,) = flat_of(store, tmp_path).itertuples()
    unknown = ("seed", "temperature", "top_k", "top_p", "max_new_tokens", "tokens_a", "prompt")
    assert {name: getattr(row, name) for name in unknown if not pd.isna(getattr(row, name))} == {}
    assert (row.origin, row.winner, row.mode) == ("import", "model_a", "unknown")


def test_replies_without_tokens_are_of_unknown_length_and_empty_ones_of_none(
    store, new_battle, new_vote, tmp_path
):
    battle = new_battle()
    first, second = battle.replies
    silent = replace(second, text="", tokens=())
    battle = replace(battle, replies=(replace(first, tokens=()), silent))
    store.add_battle(battle)
    store.cast(new_vote(battle))
    (row,) = flat_of(store, tmp_path).itertuples()
    assert pd.isna(row.tokens_a)
    assert row.tokens_b == 0


def test_battles_that_somebody_may_vote_on_stay_out(store, new_battle, new_vote, tmp_path):
    shown, early = new_battle(), new_battle()
    batch = new_battle(origin=Origin.GENERATE)
    for battle, told in ((shown, True), (early, False), (batch, False)):
        store.add_battle(battle)
        store.cast(new_vote(battle), reveal=told)
    found = {
        hidden: set(flat_of(store, tmp_path, hidden=hidden).battle)
        for hidden in ("nothing", "rounds", "stored")
    }
    assert found == {
        "nothing": {shown.id, early.id, batch.id},
        "rounds": {shown.id, batch.id},
        "stored": {shown.id},
    }


def test_models_and_judges_of_hidden_battles_are_not_told(store, new_battle, new_vote, tmp_path):
    store.write(lambda cursor: judges.bind(cursor, "secret", "m", "hash", "{}"))
    shown, early = new_battle(), new_battle("hidden", "gone", id="early")
    with at_once(store) as batch:
        for battle, told in ((shown, True), (early, False)):
            batch.add_battle(battle)
            batch.cast(new_vote(battle), reveal=told)
        now = datetime.now(UTC)
        batch.verdicts.append(Verdict("v", "early", "secret", 0, 1, Outcome.TIE, "", judged_at=now))
    (path,) = export(store, tmp_path, "flat", hidden="rounds")
    held = path.read_bytes()
    assert [word for word in (b"hidden", b"gone", b"secret") if word in held] == []
    assert b"alpha" in held


@pytest.mark.parametrize("format", ["flat", "flat-csv"])
def test_an_empty_store_has_all_columns_and_no_rows(store, tmp_path, format):
    (path,) = export(store, tmp_path, format)
    read = pd.read_parquet if format == "flat" else pd.read_csv
    table = read(path)
    assert (len(table), list(table.columns)) == (0, [column.name for column in FLAT[:-2]])
    with store.cursor() as cursor:
        flat.note_standing(cursor, "nothing")
        held = flat.flat_counts(cursor)
    assert (held.rows, held.votes, held.first, held.models) == (0, 0, None, ())


def test_identical_answers_are_ties_that_nobody_was_asked_about(
    store, new_battle, new_vote, tmp_path
):
    battle = new_battle()
    store.add_battle(battle)
    store.cast(new_vote(battle, 1, 1, source=Source.IDENTICAL))
    (row,) = flat_of(store, tmp_path).itertuples()
    assert (row.winner, row.source, row.counted) == ("tie", "identical", True)


@pytest.mark.parametrize("format", ["flat", "flat-csv"])
def test_a_folder_that_cannot_be_written_is_told(store, three, tmp_path, format):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"Nothing can be written to .*Choose another folder"):
        export(store, tmp_path / "file" / "below", format)
    taken = tmp_path / "out"
    (taken / ("flat.parquet" if format == "flat" else "flat.csv")).mkdir(parents=True)
    with pytest.raises(StoreError, match="Is a directory"):
        export(store, taken, format)
    assert len(list(taken.iterdir())) == 1


@pytest.mark.parametrize("format", ["flat", "flat-csv"])
def test_a_flat_table_does_not_come_back_as_other_votes(store, three, tmp_path, format):
    (path,) = export(store, tmp_path, format)
    before = store.version()
    with pytest.raises(StoreError, match="is a flat table of votes"):
        import_files(store, [path])
    assert store.version() == before
