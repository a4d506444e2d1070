"""Which rows of files meet, which are rejected, and what an import leaves; the real data, too."""

from __future__ import annotations

import json

import pytest

from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Mode, Source
from coupled_arena.store.database import Store
from coupled_arena.store.tables import derived_rows
from coupled_arena.store.transfer import merge_staged
from coupled_arena.store.transfer.export import export
from coupled_arena.store.transfer.file_rows import Rejected
from coupled_arena.store.transfer.importing import import_files
from tests.families import first_of
from tests.store.given_rows import (
    ARENA,
    FIRST,
    PUBLISHED,
    SECOND,
    TIE,
    WRITERS,
    conversation,
    counts,
    pair,
    ranking,
    reasons,
    told,
    write_lines,
)
from tests.stored import rows


@pytest.mark.parametrize("write", first_of(*WRITERS))
def test_ranking_rows_of_people_and_judge_meet(store, tmp_path, write):
    human, judge = tmp_path / "human", tmp_path / "judge"
    said = ["model_a", "model_b", "tie", "tie (bothbad)", "both_bad", "bothbad"]
    write(human, [ranking(n, winner=winner) for n, winner in enumerate(said)])
    write(judge, [ranking(n, winner="model_b") for n in range(7)])
    assert told(import_files(store, [human])) == (6, 6, 6, 0, 0, 0)
    assert told(import_files(store, [judge], judge="gpt-4")) == (7, 1, 0, 7, 0, 0)
    found = counts(store, "gpt-4")
    assert found.labelled[2, 0, 1, :, SECOND].tolist() == [1, 1, 1, 3]
    assert found.unlabelled[2, 0, 1, SECOND] == 1
    assert rows(store, "select * exclude (judge_no) from judges") == [("gpt-4", "imported", "", "")]


@pytest.mark.parametrize("num", [True, False])
def test_the_order_of_the_models_is_heeded(store, lines, num):
    def row(*said):
        made = ranking(1, *said)
        return made if num else {key: value for key, value in made.items() if key != "num"}

    import_files(store, [lines(row("x", "y", "model_a"), name="h")])
    import_files(store, [lines(row("y", "x", "model_a"), name="j")], judge="gpt-4")
    import_files(store, [lines(row("y", "x", "model_b"), name="g")], dataset="import")
    assert counts(store, "gpt-4").labelled[2, 0, 1, FIRST, SECOND] == 1
    assert rows(store, "select first_place, second_place, outcome from verdicts") == [
        (1, 0, "first")
    ]
    assert store.version() == (1, 1, 1, 0)


def test_a_judge_in_both_orders_on_one_num_gives_one_judgement(store, lines):
    path = lines(ranking(1, "x", "y", "model_a"), ranking(1, "y", "x", "model_a"))
    assert told(import_files(store, [path], judge="gpt-4")) == (2, 1, 0, 2, 0, 0)
    assert counts(store, "gpt-4").unlabelled[2, 0, 1].tolist() == [0, 0, 1, 0]


def test_repeated_keys_of_one_voter_are_rows_of_their_own_and_still_meet(store, lines):
    def row(winner, voter):
        made = {"question_id": "q", "model_a": "x", "model_b": "y", "winner": winner}
        return made | ({"judge": voter} if voter else {})

    human = lines(
        row("model_a", "ann"), row("model_a", "bob"), row("tie", "ann"), name="human.jsonl"
    )
    judge = lines(row("model_b", ""), row("model_a", ""), name="judge.jsonl")
    assert told(import_files(store, [human])) == (3, 2, 3, 0, 0, 0)
    assert told(import_files(store, [judge], judge="j")) == (2, 0, 0, 2, 0, 0)
    labelled = counts(store, "j").labelled[2, 0, 1]
    assert (labelled[FIRST, SECOND], labelled[TIE, FIRST]) == (2, 1)


def test_repeated_keys_meet_when_one_of_the_rows_is_left_out(store, lines):
    made = {"question_id": "q", "model_a": "x", "model_b": "y"}
    human = lines(made | {"winner": "?"}, made | {"winner": "model_b"}, name="human")
    judge = lines(made | {"winner": "tie"}, made | {"winner": "model_a"}, name="judge")
    assert told(import_files(store, [human])) == (2, 1, 1, 0, 0, 1)
    assert told(import_files(store, [judge], judge="j")) == (2, 1, 0, 2, 0, 0)
    found = counts(store, "j")
    assert (found.labelled[2, 0, 1, SECOND, FIRST], found.unlabelled[2, 0, 1, TIE]) == (1, 1)


def test_numbers_with_a_point_are_the_same_numbers(store, lines):
    import_files(store, [lines(ranking(7), name="human")])
    done = import_files(store, [lines(ranking(7.0), name="judge")], judge="j")
    assert told(done) == (1, 0, 0, 1, 0, 0)


def test_several_voters_on_one_battle_are_several_votes(store, lines):
    path = lines(*(ranking(1, judge=f"expert_{n}", winner="tie") for n in range(3)))
    assert told(import_files(store, [path])) == (3, 1, 3, 0, 0, 0)
    assert counts(store).votes[2, 0, 0, 1, TIE] == 3


def test_importing_again_adds_nothing(store, lines):
    path = lines(*(ranking(n) for n in range(5)), ARENA)
    judged = lines(*(pair("tie", "model_1", question_id=n) for n in range(5)), name="pairs")
    import_files(store, [path])
    import_files(store, [judged], judge="gpt-4")
    before = store.version()
    assert told(import_files(store, [path, path])) == (12, 0, 0, 0, 0, 0)
    assert told(import_files(store, [judged], judge="gpt-4")) == (5, 0, 0, 0, 0, 0)
    assert store.version() == before
    more = lines(*(ranking(n) for n in range(7)), name="more")
    assert told(import_files(store, [more])) == (7, 2, 2, 0, 0, 0)
    assert told(import_files(store, [more], dataset="another")) == (7, 7, 7, 0, 0, 0)


def test_wrong_lines_are_told_and_the_others_taken(store, lines):
    path = lines(
        "oops, no JSON",
        ranking(0),
        "",
        '{"num": 1, "model_a": "x"',
        "   ",
        ranking(2, winner="modal_a"),
        ranking(3, winner=None),
        ranking(4, model_a=None),
        ranking(5, model_b=" "),
        "[1, 2]",
        '{"model_a": "x", "model_b": "y", "winner": "tie"}',
        ranking(6, winner="tie (inconsistent)" + "!" * 99),
        ranking(0, model_b="z"),
        ranking(7),
    )
    path.write_bytes(path.read_bytes() + b'\n{"num": 8, "model_a": "\xff"}\n' + b'{"num": 9}\n')
    done = import_files(store, [path])
    assert (done.rows, done.battles, done.votes) == (14, 3, 3)
    assert {row.file for row in done.rejected} == {str(path)}
    assert reasons(done) == {
        1: "not valid JSON",
        4: "not valid JSON",
        6: "unknown winner 'modal_a'",
        7: "winner is missing",
        8: "model_a is missing",
        9: "model_b is missing",
        10: "not a JSON object",
        12: "unknown winner 'tie (inconsistent)" + "!" * 22 + "…'",
        13: "its key is of x and y in this dataset already: use another --dataset",
        15: "not valid UTF-8: save the file as UTF-8",
        16: "model_a is missing",
    }


def test_wrong_records_of_csv_keep_their_line(store, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes(
        b'num,model_a,model_b,winner,note\n1,x,y,tie,"two\nlines"\n2,x,y,tie\n3,x,y,tie,a,b\n'
        b'4,x,y,what,\n5,x,\xff,tie,\n6,x,y,tie,"a ""b"", c"\n'
    )
    done = import_files(store, [path])
    assert told(done) == (6, 2, 2, 0, 0, 4)
    assert reasons(done) == {
        4: "it has 4 columns, the first line 5",
        5: "it has 6 columns, the first line 5",
        6: "unknown winner 'what'",
        7: "not valid UTF-8: save the file as UTF-8",
    }


def test_a_record_of_many_cells_too_many_is_one_rejected_line(store, tmp_path):
    path = tmp_path / "commas.csv"
    path.write_bytes(
        b"num,model_a,model_b,winner\n1,x,y,model_a\n2,x,y,model_a,so,many,more,cells\n"
        b'3,x,y,what\n\xff,\xff,y,tie\n5,x\n"six\n",x,y,tie,"and\n",more\n7,x,y,model_b\n'
    )
    done = import_files(store, [path])
    assert told(done) == (7, 2, 2, 0, 0, 5)
    assert reasons(done) == {
        3: "it has 8 columns, the first line 4",
        4: "unknown winner 'what'",
        5: "not valid UTF-8: save the file as UTF-8",
        6: "it has 2 columns, the first line 4",
        7: "it has 6 columns, the first line 4",
    }


def test_a_wrong_half_rejects_the_pair(store, lines):
    path = lines(pair("model_1", "model_3"), pair(None, "tie"), pair("tie", "tie", model_2=""))
    done = import_files(store, [path], judge="j")
    assert told(done) == (3, 0, 0, 0, 0, 3)
    assert reasons(done) == {
        1: "unknown g2_winner 'model_3'",
        2: "g1_winner is missing",
        3: "model_2 is missing",
    }
    assert rows(store, "from judges") == []


def test_other_models_under_a_stored_key_are_rejected(store, lines):
    import_files(store, [lines(ranking(0), name="one")])
    two = lines(ranking(0, "v", "w"), ranking(1, "v", "w"), name="two")
    done = import_files(store, [two], judge="j")
    assert done.rejected == (
        Rejected(
            str(two), 1, "its key is of x and y in this dataset already: use another --dataset"
        ),
    )
    assert (done.battles, done.verdicts) == (1, 1)
    assert told(import_files(store, [two], dataset="two")) == (2, 2, 2, 0, 0, 0)


def test_a_second_opinion_under_one_name_is_rejected(store, lines):
    one, two = lines(ranking(0), name="one"), lines(ranking(0, winner="tie"), name="two")
    done = import_files(store, [one, two])
    assert done.rejected == (Rejected(str(two), 1, "import has voted otherwise on this already"),)
    import_files(store, [one], judge="j")
    done = import_files(store, [two], judge="j")
    assert done.rejected == (Rejected(str(two), 1, "j has judged otherwise on this already"),)
    assert store.version() == (1, 1, 1, 0)


def test_filters_leave_out_and_count(store, lines):
    short = {**ARENA, "question_id": "s", "turn": 1, "toxic_chat_tag": None}
    short["conversation_a"] = short["conversation_b"] = conversation("Hi?", "Yes.")
    unmarked = {**ARENA, "question_id": "u"}
    del unmarked["turn"]
    flagged = {**short, "question_id": "f", "openai_moderation": {"flagged": True}}
    python = {**short, "question_id": "p", "toxic_chat_tag": "{'t5-large': {'flagged': True}}"}
    path = lines(ARENA, short, unmarked, flagged, python, ranking(0), ranking(1, winner="?"))
    for filters, expected in {
        ("single_turn", "no_toxic"): (7, 2, 2, 0, 4, 1),
        ("single_turn",): (7, 2, 2, 0, 2, 1),
        ("no_toxic",): (7, 0, 0, 0, 4, 1),
        (): (7, 2, 2, 0, 0, 1),
    }.items():
        assert told(import_files(store, [path], **dict.fromkeys(filters, True))) == expected


@pytest.fixture(scope="module")
def empty():
    with Store.in_memory() as store:
        yield store


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"bad has no rows\.$"),
        (b"\n \n", "has no rows"),
        (b"[]", "has no rows"),
        (b'{"a": 1}\n', "is in no form that is known. Its columns: a. Votes need model_a"),
        (b"a,b\n1,2\n", "--map model_a=COLUMN --map model_b=COLUMN --map winner=COLUMN"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not valid UTF-8"),
        (b'[{"num": 1}, {]', "cannot be read: .*Malformed JSON"),
        (b"PAR1 not really", "cannot be read"),
        (None, "cannot be read: No such file"),
    ],
    ids=str,
)
def test_what_is_no_data_fails_and_leaves_nothing(empty, lines, tmp_path, content, message):
    good, bad = lines(ranking(0)), tmp_path / "bad"
    if content is not None:
        bad.write_bytes(content)
    with pytest.raises(StoreError, match=message) as failed:
        import_files(empty, [good, bad])
    assert len(str(failed.value).splitlines()) == 1
    assert str(bad) in str(failed.value)
    assert empty.version() == (0, 0, 0, 0)
    assert rows(empty, "from models") == []


def test_a_failure_half_way_leaves_nothing(store, lines, monkeypatch):
    path = lines(ARENA)

    def fail(*_):
        raise RuntimeError("half-way")

    monkeypatch.setattr(derived_rows, "refresh", fail)
    with pytest.raises(RuntimeError, match="half-way"):
        import_files(store, [path])
    for table in ("battles", "turns", "replies", "votes", "models", "comparisons"):
        assert rows(store, f"from {table}") == []
    monkeypatch.undo()
    assert told(import_files(store, [path])) == (1, 1, 1, 0, 0, 0)


def test_a_judge_of_another_kind_keeps_its_name(store, lines):
    with store.cursor() as cursor:
        cursor.execute(
            "insert into judges (judge, model, prompt_hash, sampling) values ('j', 'm', 'h', 's')"
        )
    with pytest.raises(StoreError, match=r"'j' is m here.*another name"):
        import_files(store, [lines(ranking(0))], judge="j")
    assert merge_staged.BINDING == ("imported", "", "")


def test_odd_file_names_and_steps_of_progress(store, lines):
    steps = []
    path = lines(ranking(0), name="it's [1] *.jsonl")
    import_files(store, [path], progress=steps.append)
    assert steps == ["reading it's [1] *.jsonl", "storing"]


def test_arena_rows_bring_back_the_same_counts(store, tmp_path, new_battle, new_vote):
    battles = [
        new_battle("a", "b", turns=2),
        new_battle("b", "a"),
        new_battle("a", "c", "b", turns=0),
        new_battle("c", "a", mode=Mode.INDEPENDENT),
    ]
    for battle in battles:
        store.add_battle(battle)
    store.cast(new_vote(battles[0], 2, 1), reveal=False)
    store.cast(new_vote(battles[0], 1, 2))
    store.cast(new_vote(battles[0], 1, 1, both_bad=True, voter="bob"))
    store.cast(new_vote(battles[1], 1, 2, voter="bob"))
    store.cast(new_vote(battles[2], 2, 1, 2))
    store.cast(new_vote(battles[3], 1, 1, source=Source.IDENTICAL))
    (path,) = export(store, tmp_path, "arena")
    assert path == tmp_path / "arena.jsonl"
    exported = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(exported) == 7
    system, *said = exported[0]["conversation_b"]
    assert system == {"role": "system", "content": "Be brief."}
    assert said == [
        {"role": role, "content": text}
        for turn in range(2)
        for role, text in (
            ("user", f"Why {turn}?"),
            ("assistant", "Well, " + battles[0].replies[2 * turn + 1].text),
        )
    ]
    assert (exported[0]["question_id"], exported[0]["turn"]) == ("p0", 2)
    with Store.in_memory() as copy:
        assert told(import_files(copy, [path])) == (7, 4, 5, 0, 0, 0)
        assert counts(copy).votes.sum(axis=0).tolist() == counts(store).votes.sum(axis=0).tolist()
        (again,) = export(copy, tmp_path / "again", "arena")
        with Store.in_memory() as third:
            import_files(third, [again])
            assert counts(third).votes.tolist() == counts(copy).votes.tolist()


def test_arena_rows_of_unrevealed_battles_are_left_out(store, tmp_path, new_battle, new_vote):
    battle = new_battle()
    store.add_battle(battle)
    store.cast(new_vote(battle), reveal=False)
    (path,) = export(store, tmp_path, "arena", hidden="rounds")
    assert path.read_text() == ""


@pytest.mark.slow
@pytest.mark.skipif(not PUBLISHED.exists(), reason="the ranking paper's data are not here")
@pytest.mark.parametrize("by_num", [True, False])
def test_the_published_people_and_judge_meet_on_every_row(store, tmp_path, by_num):
    human, judge = PUBLISHED / "human.json", PUBLISHED / "gpt-4-0125-preview.json"
    if not by_num:
        for path in (human, judge):
            found = [json.loads(line) for line in path.read_text().splitlines()]
            for row in found:
                del row["num"]
            write_lines(tmp_path / path.name, found)
        human, judge = tmp_path / human.name, tmp_path / judge.name
    assert told(import_files(store, [human])) == (26919, 26919, 26919, 0, 0, 0)
    assert told(import_files(store, [judge], judge="gpt-4")) == (26919, 0, 0, 26919, 0, 0)
    found = counts(store, "gpt-4")
    assert found.labelled.sum() == found.votes.sum() == 26919
    assert found.unlabelled.sum() == 0
    assert found.labelled.sum(axis=(0, 1, 2)).tolist() == [
        [6325, 977, 2214, 0],
        [1431, 5664, 2296, 0],
        [781, 534, 1565, 0],
        [2195, 1559, 1378, 0],
    ]
    assert told(import_files(store, [judge], judge="gpt-4")) == (26919, 0, 0, 0, 0, 0)
