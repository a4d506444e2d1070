"""Files as people and pandas write them: ids that begin again, tables by columns, other headers."""

from __future__ import annotations

import gzip
import json

import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.core.errors import ArenaError, StoreError, VoteError
from coupled_arena.store.transfer.foreign_rows import ColumnMap
from coupled_arena.store.transfer.importing import import_files
from tests.stored import rows

WON = {"model_a": "red", "model_b": "blue", "winner": "model_a"}
ALPACA = {"instruction": "Why?", "generator_1": "red", "generator_2": "blue"}
KAGGLE = {"model_a": "red", "model_b": "blue"}
KAGGLE |= {"winner_model_a": 0, "winner_model_b": 1, "winner_tie": 0}
PAIRS = {"question_id": 1, "model_1": "red", "model_2": "blue"}
PAIRS |= {"g1_winner": "model_2", "g2_winner": "model_2"}


@pytest.fixture
def lines(tmp_path):
    """Write rows a line each."""

    def write(*table, name="rows.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in table))
        return path

    return write


def reasons(done):
    return [row.reason for row in done.rejected]


def wins_of(paths, **options):
    """Return how often each model won, by a ranking without a database."""
    return {row["model"]: row["wins"] for row in ca.rank(paths, **options).to_dict()["models"]}


def won(store):
    """Return the winners by the name of the voter."""
    found = rows(store, "select voter, models, ranks from votes join battles using (battle)")
    return {voter: models[0] if ranks == [1, 2] else models[1] for voter, models, ranks in found}


# Ids that begin again in another project.


@pytest.mark.parametrize("apart", [False, True], ids=["at once", "one after the other"])
def test_an_id_of_another_question_meets_no_vote(store, lines, apart):
    one = lines({"id": 1, **WON, "voter": "ann", "prompt": "2 + 2?"}, name="one.jsonl")
    other = lines(
        {"id": 1, **WON, "voter": "ann", "prompt": "Write a poem."},
        {"id": 2, **WON, "voter": "ann", "prompt": "Sort a list."},
        name="other.jsonl",
    )
    if apart:
        import_files(store, [one])
    done = import_files(store, [other] if apart else [one, other])
    assert [row.line for row in done.rejected] == [1]
    assert "another question" in reasons(done)[0]
    assert rows(store, "select count(*) from votes") == [(2,)]
    assert import_files(store, [other], dataset="other").votes == 2


def test_blanks_make_no_other_question(store, lines):
    one = lines({"id": 1, **WON, "voter": "ann", "prompt": "Say\r\nhello. "}, name="one.jsonl")
    other = lines({"id": 1, **WON, "voter": "bob", "prompt": "Say\nhello."}, name="other.jsonl")
    done = import_files(store, [one, other])
    assert (done.battles, done.votes, done.rejected) == (1, 2, ())


def test_a_gap_in_a_column_of_ids_makes_no_other_question(store, tmp_path):
    pd.DataFrame([{"id": 81, **WON, "voter": "ann"}]).to_csv(tmp_path / "one.csv", index=False)
    gap = pd.DataFrame([{"id": 81, **WON, "voter": "bob"}, {**WON, "voter": "eve", "prompt": "?"}])
    gap.to_csv(tmp_path / "other.csv", index=False)
    assert "81.0" in (tmp_path / "other.csv").read_text()
    done = import_files(store, [tmp_path / "one.csv", tmp_path / "other.csv"])
    assert (done.battles, done.votes) == (2, 3)


# What somebody says of columns comes before what a file looks like.


@pytest.mark.parametrize("row", [KAGGLE, ALPACA | {"preference": 2}, PAIRS], ids=str)
def test_a_named_winner_counts_in_a_file_of_any_format(store, lines, row):
    path = lines({**row, "expert": "red", "voter": "ann", "first": "red", "second": "blue"})
    named = ["model_a=first", "model_b=second", "winner=expert"]
    done = import_files(store, [path], columns=ColumnMap.of(named))
    assert (done.votes, done.verdicts) == (1, 0)
    assert won(store) == {"ann": "red"}
    assert wins_of(path, map=named) == {"red": 1, "blue": 0}


def test_another_named_column_leaves_a_file_its_form(store, lines):
    row = {"id": 1, "left": "red", "right": "blue", "rater": "ann"}
    path = lines({**row, "winner": "right"}, {**row, "winner": "left", "rater": "bob"})
    done = import_files(store, [path], columns=ColumnMap.of(["voter=rater"]))
    assert done.notes == ("Read as evalica.",)
    assert won(store) == {"ann": "blue", "bob": "red"}


@pytest.mark.parametrize(
    ("words", "said", "tied"),
    [
        (["A=B=tie"], "A=B", True),
        (["1.0=model_a"], "1.0", False),
        (["1=model_a"], "1.0", False),
        (["identical=tie"], "identical", True),
    ],
)
def test_words_as_they_are(store, lines, words, said, tied):
    path = lines({"id": 1, "a": "red", "b": "blue", "label": said})
    columns = ["model_a=a", "model_b=b", "winner=label"]
    done = import_files(store, [path], columns=ColumnMap.of(columns + words))
    assert (done.votes, done.rejected) == (1, ())
    assert rows(store, "select ranks from votes") == [([1, 1] if tied else [1, 2],)]


def test_one_name_with_two_meanings_is_refused():
    with pytest.raises(StoreError, match="map names 'A' twice: model_a and model_b"):
        ColumnMap.of(["A=model_a", "A=model_b"])


def test_what_is_missing_is_told_without_columns_that_the_file_lacks(store, lines):
    path = lines({"score": 1, "rater": "ann"})
    with pytest.raises(StoreError, match=r"Its columns: rater, score\. Votes need model_a"):
        import_files(store, [path], columns=ColumnMap.of(["voter=rater"]))


@pytest.mark.parametrize(
    "header",
    [
        "Model_A,Model_B,Winner,Voter",
        "MODEL A,MODEL B,WINNER,VOTER",
        " model-a ,model_b ,winner,voter",
    ],
)
def test_headers_in_other_case(store, tmp_path, header):
    path = tmp_path / "votes.csv"
    path.write_text(f"{header}\nred,blue,model_a,ann\n")
    import_files(store, [path])
    assert won(store) == {"ann": "red"}
    assert wins_of(path) == wins_of(pd.read_csv(path)) == {"red": 1, "blue": 0}


# Rows that are none.


@pytest.mark.parametrize("orient", ["columns", "index"])
def test_a_table_by_columns_is_refused(store, tmp_path, orient):
    path = tmp_path / "votes.json"
    pd.DataFrame([{"id": n, **WON} for n in range(3)]).to_json(path, orient=orient)
    with pytest.raises(StoreError, match="orient='records'"):
        import_files(store, [path])
    with pytest.raises(ArenaError, match=r"orient='records'|no name"):
        ca.rank(path)


@pytest.mark.parametrize("name", [["red"], {"name": "red"}, []], ids=str)
def test_a_list_is_no_name(store, lines, name):
    path = lines({**WON, "model_a": name}, {"id": 2, **WON})
    done = import_files(store, [path])
    assert done.votes == 1
    assert "no name" in reasons(done)[0]
    with pytest.raises(VoteError, match="no name"):
        ca.rank(path)


def test_a_model_that_meets_itself_is_rejected(store, lines):
    path = lines({**WON, "model_b": "red"}, {"id": 2, **WON})
    done = import_files(store, [path])
    assert (done.votes, reasons(done)) == (1, ["a model meets itself"])


@pytest.mark.parametrize("blank", ["\n", "\t", "\N{NO-BREAK SPACE}", " "])
def test_blanks_make_no_other_model(store, lines, blank):
    path = lines({**WON, "model_a": f"red{blank}", "winner": f"{blank}red"}, {"id": 2, **WON})
    assert import_files(store, [path]).rejected == ()
    assert rows(store, "select distinct models from battles") == [(["red", "blue"],)]


@pytest.mark.parametrize(
    ("column", "value", "identical"),
    [
        ("source", "1", False),
        ("source", "true", False),
        ("source", "identical", True),
        ("identical", "true", True),
        ("identical", "False", False),
        ("identical", 1.0, True),
    ],
)
def test_a_source_of_another_program_makes_no_identical_answers(
    store, lines, column, value, identical
):
    path = lines({"id": 1, **WON, "winner": "tie", column: value}, {"id": 2, **WON})
    import_files(store, [path])
    assert rows(store, "select count(*) from votes where source = 'identical'") == [(identical,)]
    ties = {row["model"]: row["ties"] for row in ca.rank(path).to_dict()["models"]}
    assert ties == {"red": not identical, "blue": not identical}


def test_an_input_is_a_part_of_the_question(store, lines):
    path = lines(
        *({**ALPACA, "input": name, "preference": 1, "annotator": 3} for name in ("one", "two", ""))
    )
    assert import_files(store, [path]).battles == 3
    prompts = {text for (text,) in rows(store, "select prompt from turns")}
    assert prompts == {"Why?\n\none", "Why?\n\ntwo", "Why?"}


@pytest.mark.parametrize("missing", ["NaN", "nan", "", None])
def test_a_missing_preference_is_no_verdict(store, lines, missing):
    path = lines(*({**ALPACA, "preference": each, "annotator": "gpt"} for each in (missing, 1)))
    done = import_files(store, [path])
    assert (done.verdicts, done.unvoted, done.rejected) == (1, 1, ())


def test_a_listed_judge_is_no_person(store, lines):
    path = lines({"id": 1, **WON, "judge": ["gpt-4", "pair-v2"]}, {"id": 1, **WON, "judge": "ann"})
    done = import_files(store, [path])
    assert (done.verdicts, done.votes) == (1, 1)
    assert rows(store, "select judge from judges") == [("gpt-4",)]


def test_a_model_is_an_assistant(store, lines):
    said = [{"role": "user", "content": "Why?"}, {"role": "model", "content": "So."}]
    path = lines({**WON, "conversation_a": said, "conversation_b": said})
    assert import_files(store, [path]).unread_texts == 0
    assert {text for (text,) in rows(store, "select text from replies")} == {"So."}


def test_answers_at_left_and_right_are_no_models(store, lines):
    sides = {"left": "Hello", "right": "Hey", "left_model": "red", "right_model": "blue"}
    path = lines(
        {"task": 1, **sides, "label": "Hey", "worker": "ann"},
        {"task": 1, **sides, "label": "left", "worker": "bob"},
    )
    import_files(store, [path])
    assert won(store) == {"ann": "blue", "bob": "red"}
    texts = set(rows(store, "select model, text from replies"))
    assert texts == {("red", "Hello"), ("blue", "Hey")}


def test_a_time_that_cannot_be_read_names_the_remedy(store, lines):
    done = import_files(store, [lines({**WON, "tstamp": "18.03.2025 16:39"})])
    assert reasons(done)[0].endswith("write it as 2026-01-31 09:30")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (json.dumps({"id": 1, **WON}, indent=2).encode(), "one JSON object over many lines"),
        (b"SQLite format 3\0", "database of SQLite"),
        (gzip.compress(b"id,model_a,model_b,winner\n1,red,blue,tie\n"), "with .gz at its end"),
    ],
    ids=["pretty", "sqlite", "gzip"],
)
def test_files_that_are_no_tables_say_so(store, tmp_path, content, said):
    path = tmp_path / "votes.csv"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=said):
        import_files(store, [path])


# Rankings without a database.


def test_files_of_several_forms_are_ranked_together(lines):
    evalica = lines({"left": "red", "right": "blue", "winner": "left"}, name="one.jsonl")
    kaggle = lines({"id": 5, **KAGGLE}, name="two.jsonl")
    own = lines({"id": 7, **WON}, name="three.jsonl")
    assert wins_of([evalica, kaggle, own]) == {"red": 2, "blue": 1}
    assert wins_of([kaggle, own]) == {"red": 1, "blue": 1}


def test_nobody_is_one_person_only_to_an_import_which_says_so(store, lines):
    table = [{"id": n, **WON, "a": "red", "b": "blue"} for n in range(4)]
    path = lines(*table)
    (note,) = import_files(store, [path]).notes[-1:]
    assert note.startswith("4 rows without a voter: all count as votes of one person, import.")
    assert rows(store, "select count(distinct voter) from votes") == [(1,)]
    named = ["model_a=a", "model_b=b"]
    others = [ca.rank(path), ca.rank(path, map=named), ca.rank(pd.DataFrame(table))]
    intervals = [[(r["low"], r["high"]) for r in each.to_dict()["models"]] for each in others]
    assert intervals[0] == intervals[1] == intervals[2]


def test_pictures_beside_votes_do_not_matter(tmp_path):
    picture = [{"bytes": b"\x89PNG\xff", "path": None}]
    table = pd.DataFrame([{"id": 1, **WON, "images": picture, "icon": b"\xff"}])
    table.to_parquet(tmp_path / "votes.parquet")
    assert wins_of(tmp_path / "votes.parquet") == wins_of(table) == {"red": 1, "blue": 0}


@pytest.mark.parametrize(
    ("shown", "winner"),
    [
        ("answer1,answer2", "red"),
        ("answer2,answer1", "blue"),
        ("answer2, answer1", "blue"),
        ("one,two", "red"),
        ("answer1", "red"),
        (None, "red"),
    ],
)
def test_the_left_answer_is_the_one_that_the_control_names_first(store, lines, shown, winner):
    data = {"prompt": "Why?", "answer1": "So.", "answer2": "No."}
    picked = {"type": "pairwise", "value": {"selected": "left"}, "from_name": "pw"}
    result = picked | ({"to_name": shown} if shown else {})
    vote = {"completed_by": "ann", "was_cancelled": False, "result": [result]}
    path = lines(
        {"id": 1, "data": data | {"model1": "red", "model2": "blue"}, "annotations": [vote]}
    )
    import_files(store, [path])
    assert won(store) == {"ann": winner}
