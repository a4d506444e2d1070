"""Scores from elsewhere: read in any form, written once, refused line by line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coupled_arena.core.errors import ScoreError, StoreError
from coupled_arena.core.records import Score
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.store.transfer.export import export
from coupled_arena.store.transfer.importing_scores import import_scores
from tests.batches import at_once
from tests.store.conftest import make_battle


def add_battles(store):
    made = [
        make_battle("alpha", "beta", id="one", turns=2),
        make_battle("beta", "alpha", id="two"),
        make_battle("self", "self", id="twice"),
    ]
    with at_once(store) as batch:
        for battle in made:
            batch.add_battle(battle)
    return made


@pytest.fixture
def battles(store):
    return add_battles(store)


@pytest.fixture
def bring(store, battles, tmp_path):
    def into(text, *arguments, name="table.csv", **options):
        (tmp_path / name).write_text(text)
        return import_scores(store, [tmp_path / name], *arguments, **options)

    return into


def stored(store):
    with store.cursor() as cursor:
        return cursor.execute(
            "select battle, turn, place, metric, score from scores order by all"
        ).fetchall()


def meanings(store):
    with store.cursor() as cursor:
        return dict(cursor.execute("select metric, higher_is_better from metrics").fetchall())


WIDE = """battle,model,toxicity,wit,note
one,alpha,0.25,True,x
one,beta,0.5,,x
two,alpha,1e-3,False,x
"""
ROWS = [
    ("one", 0, 0, "toxicity", 0.25),
    ("one", 0, 0, "wit", 1.0),
    ("one", 0, 1, "toxicity", 0.5),
    ("two", 0, 1, "toxicity", 0.001),
    ("two", 0, 1, "wit", 0.0),
]


def test_wide_and_long_say_the_same(store, bring):
    done = bring(WIDE, ["toxicity", "wit"], ["toxicity"])
    assert (done.rows, done.scores, done.metrics, done.rejected) == (3, 5, ("toxicity", "wit"), ())
    assert stored(store) == ROWS
    assert meanings(store) == {"toxicity": False, "wit": True}
    lines = [
        {"battle": battle, "place": place, "metric": metric, "score": score}
        for battle, _, place, metric, score in ROWS
    ]
    again = bring("\n".join(map(json.dumps, lines)), None, ["toxicity"], name="rows.jsonl")
    assert (again.rows, again.scores, again.rejected) == (5, 0, ())
    assert stored(store) == ROWS


def test_turns_and_places(store, bring):
    done = bring("battle,place,turn,x\none,1,1,7\ntwice,0.0,,8\ntwice,1,,9\n")
    assert done.rejected == ()
    assert stored(store) == [
        ("one", 1, 1, "x", 7),
        ("twice", 0, 0, "x", 8),
        ("twice", 0, 1, "x", 9),
    ]


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_an_export_comes_back_as_it_was(store, bring, tmp_path, format):
    bring(WIDE, ["toxicity", "wit"], ["toxicity"])
    export(store, tmp_path / "out", format)
    exported = tmp_path / "out" / f"scores.{format}"
    again = import_scores(store, [exported])
    assert (again.rows, again.scores, again.rejected) == (5, 0, ())
    store.write(lambda cursor: cursor.execute("delete from scores; delete from metrics"))
    back = import_scores(store, [exported])
    assert (back.scores, back.rejected) == (5, ())
    assert stored(store) == ROWS
    assert meanings(store) == {"toxicity": False, "wit": True}


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_replies_come_back_with_a_column_more(store, battles, tmp_path, format):
    export(store, tmp_path, format)
    path = tmp_path / f"replies.{format}"
    rows = pd.read_csv(path) if format == "csv" else pd.read_json(path, lines=True)
    rows["poison"] = np.arange(len(rows)) / 8
    rows["text"] = 'it\'s\n"said", ñ'  # a CSV file with \0 in it is none
    if format == "csv":
        rows.to_csv(path, index=False)
    else:
        rows.to_json(path, orient="records", lines=True)
    done = import_scores(store, [path])
    assert (done.metrics, done.scores, done.rejected) == (("poison",), 8, ())
    assert [score for *_, score in stored(store)] == [at / 8 for at in range(8)]


NO_SCORE = (
    "in column 'x' is not a score. Write a number, True or False, or leave the column out: "
    "--metrics names the columns to read"
)


def test_a_line_that_cannot_be_used_is_told(store, bring):
    wrong = [
        (",alpha,,1,", "battle is missing"),
        ("nine,alpha,,1,", "there is no battle nine"),
        ("one,gamma,,1,", "gamma is not in battle one"),
        ("one,,,1,", "model and place are missing"),
        ("one,,2,1,", "there is no such place in battle one"),
        ("one,,0.5,1,", "there is no such place in battle one"),
        ("one,,first,1,", "there is no such place in battle one"),
        ("one,beta,0,1,", "place 0 of battle one is not beta"),
        ("twice,self,,1,", "self is twice in battle twice: give the place"),
        ("one,alpha,,1,2", "there is no such turn in battle one"),
        ("one,alpha,,1,x", "there is no such turn in battle one"),
        ("one,alpha,,high,", f"'high' {NO_SCORE}"),
        ("one,alpha,,nan,", f"'nan' {NO_SCORE}"),
        ("one,alpha,,-inf,", f"'-inf' {NO_SCORE}"),
        ("one,alpha,,,", "it has no score"),
        ("two,beta,,2,", "there is another x of this reply before"),
    ]
    text = "\n".join(line for line, _ in wrong)
    done = bring(f"battle,model,place,x,turn\ntwo,beta,,1,\n{text}\none,beta,1,3,0\n")
    assert [(row.line, row.reason) for row in done.rejected] == [
        (number, reason) for number, (_, reason) in enumerate(wrong, start=3)
    ]
    assert (done.rows, done.scores) == (len(wrong) + 2, 2)
    assert stored(store) == [("one", 0, 1, "x", 3), ("two", 0, 0, "x", 1)]


def test_a_line_is_taken_whole_or_not(store, bring):
    done = bring("battle,model,x,y\none,alpha,1,high\none,beta,1,2\n")
    assert [row.line for row in done.rejected] == [2]
    assert done.scores == 2


def test_a_score_that_is_there_stays(store, bring):
    bring("battle,model,x\none,alpha,1\n")
    done = bring("battle,model,x\none,alpha,2\none,beta,2\n")
    assert [(row.line, row.reason) for row in done.rejected] == [
        (2, "there is another x of this reply already")
    ]
    assert stored(store) == [("one", 0, 0, "x", 1), ("one", 0, 1, "x", 2)]


def test_a_metric_with_another_meaning_writes_nothing(store, bring, battles):
    bring("battle,model,x\none,alpha,1\n")
    before = stored(store), meanings(store)
    with pytest.raises(ScoreError, match="'x' is known already, from an import, higher is better"):
        bring("battle,model,new,x\none,beta,1,2\n", None, ["x"])
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    store.add_battle(battles[0], [Score(0, 0, "quiz", 1.0, "4")])
    with pytest.raises(ScoreError, match="from a benchmark"):
        bring("battle,model,quiz,x\none,beta,1,2\n")
    assert stored(store) == sorted([*before[0], ("one", 0, 0, "quiz", 1.0)])
    assert meanings(store) == {**before[1], "quiz": True}


@pytest.fixture(scope="module")
def untouched():
    with Store.in_memory() as store:
        add_battles(store)
        yield store


@pytest.mark.parametrize(
    ("text", "arguments", "complaint"),
    [
        ("model,x\nalpha,1\n", (), "must have the columns battle and model"),
        ("battle,x\none,1\n", (), "must have the columns battle and model"),
        ("", (), "must have the columns battle and model"),
        ("battle,model\none,alpha\n", (), "give it a column for each metric"),
        ("battle,model,x\none,alpha,1\n", (["y"],), "There is no metric 'y'"),
        ("battle,model,x\none,alpha,1\n", (None, ["y"]), "There is no metric 'y'; there is x"),
        ("battle,model,length\none,alpha,1\n", (), "length is computed"),
        (
            "battle,model,metric,score,higher_is_better\none,alpha,x,1,true\none,beta,x,1,false\n",
            (),
            "Higher x cannot be both better and worse",
        ),
        (
            "battle,model,metric,score,higher_is_better\none,alpha,x,1,true\n",
            (None, ["x"]),
            "Higher x cannot be both better and worse",
        ),
    ],
)
def test_tables_that_make_no_sense(untouched, tmp_path, text, arguments, complaint):
    (tmp_path / "table.csv").write_text(text)
    with pytest.raises(ScoreError, match=complaint):
        import_scores(untouched, [tmp_path / "table.csv"], *arguments, reserved=["length"])
    assert stored(untouched) == []
    assert meanings(untouched) == {}


def test_a_file_that_is_not_there(store):
    with pytest.raises(StoreError, match="cannot be read"):
        import_scores(store, [Path("absent.csv")])


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_a_file_that_breaks_off_is_read_up_to_there_or_refused(store, bring, tmp_path, format):
    bring(WIDE, ["toxicity", "wit"], ["toxicity"])
    export(store, tmp_path / "out", format)
    path = tmp_path / "out" / f"scores.{format}"
    whole = path.read_bytes()
    for end in range(0, len(whole), len(whole) // 12):
        path.write_bytes(whole[:end])
        store.write(lambda cursor: cursor.execute("delete from scores; delete from metrics"))
        try:
            import_scores(store, [path])
            said = ""
        except (ScoreError, StoreError) as error:
            said = str(error).lower()
        assert "constraint" not in said
        assert not (said and stored(store))
        assert set(stored(store)) <= set(ROWS)
