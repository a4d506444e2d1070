"""Files of an export that somebody has changed, cut off, or made up."""

from __future__ import annotations

import csv
import io
import json
import shutil

import pytest

from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Outcome, Score
from coupled_arena.core.verdicts import Probabilities, Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.tables import judges, scores
from coupled_arena.store.transfer.export import export, fingerprint
from coupled_arena.store.transfer.importing import import_files
from tests.families import first_of


@pytest.fixture(scope="module")
def source(new_battle, new_vote):
    """A store with a row in each table but grades; the tests only read it."""
    with Store.in_memory() as store:
        store.write(lambda cursor: judges.bind(cursor, "gpt", "gpt-4o", "ab", "{}"))
        store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
        battle = new_battle(id="b1")
        store.add_battle(battle, [Score(0, 0, "quiz", 1.0, "4")])
        store.cast(new_vote(battle, 1, 2, id="v1"))
        halves = Probabilities(0.5, 0.5, 0.0)
        store.write(
            lambda cursor: judges.add_verdicts(
                cursor, [Verdict("j1", "b1", "gpt", 0, 1, Outcome.FIRST, "A", 0.5, halves)]
            )
        )
        yield store


@pytest.fixture(scope="module")
def exported(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    export(source, folder, "jsonl")
    export(source, folder, "arena")
    return folder


@pytest.fixture
def whole(exported, tmp_path):
    """A folder with what the store is exported to."""
    return shutil.copytree(exported, tmp_path / "whole")


def changed(path, *rows):
    """Write the first row of a file anew, once with each of some other values."""
    row = json.loads(path.read_text("utf-8").splitlines()[0])
    path.write_text("".join(json.dumps({**row, **values}) + "\n" for values in rows), "utf-8")
    return path


WRONG = [
    ("battles", {"chance": 1.5}, "chance is not between 0 and 1"),
    ("battles", {"told_to": "eve"}, "told_to and told_at belong together"),
    ("battles", {"mode": "cupled"}, "mode 'cupled' is not one of coupled, independent, unknown"),
    ("battles", {"seed": "12"}, "seed '12' is not of 16 hexadecimal digits"),
    ("battles", {"seed": 10**30}, f"seed '{10**30}' is not of 16 hexadecimal digits"),
    ("battles", {"seed": None}, "seed is missing"),
    ("battles", {"seed": "0" * 16}, "its commitment is not that of its seed and nonce"),
    ("battles", {"models": "alpha"}, "models 'alpha' is not a list of names"),
    ("battles", {"models": []}, "models is empty"),
    ("battles", {"nonce": "xyz"}, "nonce 'xyz' is not hexadecimal"),
    ("battles", {"temperature": "warm"}, "temperature 'warm' is not a number"),
    ("battles", {"temperature": "NaN"}, "temperature 'NaN' is not a number"),
    ("battles", {"top_k": 2**31}, "top_k '2147483648' is not a whole number from 0 on"),
    ("battles", {"created_at": "soon"}, "created_at 'soon' is not a time"),
    ("battles", {"created_at": "infinity"}, "created_at 'infinity' is not a time"),
    ("battles", {"prompts": ["a", "b"]}, "its lists differ in length"),
    ("battles", {"prompts": [None]}, "a prompt is missing"),
    ("battles", {"arithmetic": [1]}, "arithmetic '[1]' is not an object of texts"),
    ("battles", {"battle": ""}, "battle '' is not a name"),
    ("replies", {"tokens": [1, -2]}, "tokens '[1,-2]' is not a list of whole numbers"),
    ("replies", {"tokens": [2**40]}, "tokens '[1099511627776]' is not a list of whole numbers"),
    ("replies", {"tokens": None}, "tokens is missing"),
    ("replies", {"finish": "tired"}, "finish 'tired' is not one of stop, length, cancelled"),
    ("replies", {"place": 2}, "there is no such place in battle b1"),
    ("replies", {"model": "gamma"}, "place 0 of battle b1 is not gamma"),
    ("replies", {"turn": 1}, "there is no such turn in battle b1"),
    ("replies", {"battle": "b2"}, "there is no battle b2"),
    ("votes", {"ranks": [1]}, "it ranks 1 models, the battle has 2"),
    ("votes", {"ranks": [2, 2]}, "the best rank must be 1"),
    ("votes", {"ranks": [1, 2.5]}, "ranks '[1,2.5]' is not a list of whole numbers"),
    (
        "votes",
        {"both_bad": True},
        "a vote that finds all replies bad cannot rank one above another",
    ),
    ("votes", {"both_bad": "perhaps"}, "both_bad 'perhaps' is not true or false"),
    ("votes", {"models": ["beta", "alpha"]}, "battle b1 has other models here"),
    ("votes", {"source": "dog"}, "source 'dog' is not one of human, identical"),
    ("verdicts", {"outcome": "A"}, "outcome 'A' is not one of first, second, tie, both_bad"),
    ("verdicts", {"probability": 1.5}, "probability '1.5' is not from 0 to 1"),
    ("verdicts", {"p_tie": 0.5}, "p_first, p_second and p_tie do not sum to 1"),
    ("verdicts", {"p_tie": None}, "p_first, p_second and p_tie do not sum to 1"),
    ("verdicts", {"second_place": 0}, "there are no such two places in battle b1"),
    ("scores", {"score": "nan"}, "score 'nan' is not a number"),
    ("scores", {"source": "hearsay"}, "unknown source 'hearsay'"),
    ("arena", {"winner": "model_b"}, "its winner is not what its ranks say"),
    ("arena", {"place_b": 5}, "there are no such two places in its battle"),
    ("arena", {"tstamp": "NaN"}, "tstamp 'NaN' is not a time in seconds"),
]


@pytest.mark.parametrize("table", first_of(*dict.fromkeys(table for table, *_ in WRONG), keep=3))
def test_a_wrong_value_rejects_its_line(whole, table):
    wrong = [(values, reason) for name, values, reason in WRONG if name == table]
    path = changed(whole / f"{table}.jsonl", *(values for values, _ in wrong))
    before = ["battles", "replies"] if table not in ("battles", "arena") else []
    files = [whole / f"{name}.jsonl" for name in before if name != table]
    with Store.in_memory() as copy:
        done = import_files(copy, [*files, path])
        assert [(row.file, row.line, row.reason) for row in done.rejected] == [
            (str(path), line, reason) for line, (_, reason) in enumerate(wrong, start=1)
        ]


@pytest.mark.parametrize(
    ("table", "values", "reason"),
    first_of(
        ("battles", {"seed": "f" * 15 + "e", "commitment": ""}, "battle b1"),
        ("battles", {"prompts": ["Another?"]}, "turn 0 of battle b1"),
        ("replies", {"text": "another"}, "the reply at turn 0 and place 0 of battle b1"),
        ("votes", {"voter": "bob"}, "vote v1"),
        ("verdicts", {"outcome": "tie"}, "verdict j1"),
        ("verdicts", {"verdict": "j2", "model": "gpt-3"}, "the judge gpt"),
        ("scores", {"score": 0.5}, "the quiz of turn 0 and place 0 of battle b1"),
        ("scores", {"higher_is_better": False}, "the metric quiz"),
        ("arena", {"mode": "independent"}, "battle b1"),
        ("arena", {"early": True}, "vote v1"),
        keep=3,
    ),
)
def test_what_contradicts_the_store_is_rejected(source, whole, table, values, reason):
    before = fingerprint(source)
    done = import_files(source, [changed(whole / f"{table}.jsonl", values)])
    assert [row.reason for row in done.rejected] == [f"{reason} is known with other content"]
    assert fingerprint(source) == before


def test_two_rows_that_contradict_each_other_leave_the_first(whole):
    path = whole / "votes.jsonl"
    row = json.loads(path.read_text())
    path.write_text(json.dumps(row) + "\n" + json.dumps({**row, "ranks": [2, 1]}) + "\n")
    with Store.in_memory() as copy:
        done = import_files(copy, [whole / "battles.jsonl", path])
        assert [(row.line, row.reason) for row in done.rejected] == [
            (2, "vote v1 is known with other content")
        ]
        assert done.votes == 1


def test_a_file_that_is_cut_off_leaves_nothing(source, whole):
    files = export(source, whole / "parquet", "parquet")
    files[2].write_bytes(files[2].read_bytes()[:-20])
    lines = whole / "replies.jsonl"
    lines.write_text(lines.read_text()[:-30])
    with Store.in_memory() as copy:
        with pytest.raises(StoreError, match=r"votes\.parquet cannot be read"):
            import_files(copy, files)
        assert copy.version() == (0, 0, 0, 0)
        done = import_files(copy, [whole / "battles.jsonl", lines])
        assert [(row.line, row.reason) for row in done.rejected] == [(2, "not valid JSON")]


@pytest.mark.slow
def test_csv_that_a_spreadsheet_has_saved(source, whole):
    """With a mark of byte order, other line ends, and every field in quotes."""
    files = export(source, whole / "csv", "csv")
    for path in files:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        written = io.StringIO()
        csv.writer(written, lineterminator="\r\n").writerows(rows)
        path.write_bytes(b"\xef\xbb\xbf" + written.getvalue().encode())
    with Store.in_memory() as copy:
        assert import_files(copy, files).rejected == ()
        assert fingerprint(copy) == fingerprint(source)


@pytest.mark.parametrize("options", [{"judge": "other"}, {"single_turn": True}, {"no_toxic": True}])
def test_options_for_other_formats_are_refused(source, exported, options):
    with pytest.raises(StoreError, match="part of an export"):
        import_files(source, [exported / "votes.jsonl"], **options)
