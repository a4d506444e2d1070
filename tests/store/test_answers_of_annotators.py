"""Answers of annotators that only look like a vote, and what somebody says of their files."""

from __future__ import annotations

import copy

import pytest

from coupled_arena.core.errors import StoreError
from coupled_arena.store.transfer.foreign_rows import ColumnMap
from coupled_arena.store.transfer.importing import import_files
from tests.store.foreign_files import (
    controls,
    exported,
    record,
    scored,
    write_array,
    write_csv,
    write_lines,
)
from tests.stored import rows


def winners(store):
    return [
        model
        for (model,) in rows(
            store,
            "select if(ranks[1] = ranks[2], 'tie', models[list_position(ranks, 1)]) "
            "from votes join battles using (battle) order by votes.seq",
        )
    ]


def test_several_labels_are_no_order(store, tmp_path):
    both = ["response1", "response2"]
    given = [record(n, good=picked) for n, picked in enumerate([both[:1], both, both[::-1]])]
    write_array(tmp_path / "votes", given)
    done = import_files(store, [tmp_path / "votes"])
    assert winners(store) == ["red"]
    assert [(fault.line, fault.reason[:15]) for fault in done.rejected] == [
        (2, "unknown winner "),
        (3, "unknown winner "),
    ]


def test_lists_of_one_length_are_an_order(store, tmp_path):
    both = ["response1", "response2"]
    write_array(tmp_path / "votes", [record(1, good=both), record(2, good=both[::-1])])
    assert import_files(store, [tmp_path / "votes"]).rejected == ()
    assert winners(store) == ["red", "blue"]


@pytest.mark.parametrize(("made", "told"), [(exported, True), (controls, False)])
def test_where_nothing_tells_which_answer_stood_left_it_is_said(store, tmp_path, made, told):
    write_array(tmp_path / "votes", [made(1, better="LEFT"), made(2, better="RIGHT")])
    notes = import_files(store, [tmp_path / "votes"]).notes
    assert any("The left answer is taken for the first one." in note for note in notes) is told


def test_a_column_with_the_name_of_a_model_is_no_vote_beside_an_unknown_one(store, tmp_path):
    path = tmp_path / "votes"
    given = [exported(n, baseline="red", choice=f"answer {n % 2}") for n in range(4)]
    write_csv(path, given)
    with pytest.raises(StoreError, match=r"could be the vote: baseline, choice\. Choose one"):
        import_files(store, [path])
    columns = ColumnMap.of(["winner=choice", "answer 0=model_a", "answer 1=model_b"])
    assert import_files(store, [path], columns=columns).votes == 4
    assert winners(store) == ["red", "blue"] * 2


def test_the_name_of_a_model_alone_is_a_vote(store, tmp_path):
    write_csv(tmp_path / "votes", [exported(1, choice="red"), exported(2, choice="blue")])
    import_files(store, [tmp_path / "votes"])
    assert winners(store) == ["red", "blue"]


def test_a_control_that_tells_ties_beside_a_side_is_named(store, tmp_path):
    given = [controls(1, better="LEFT"), controls(2, better="RIGHT"), controls(3, alike="equal")]
    write_array(tmp_path / "votes", given)
    done = import_files(store, [tmp_path / "votes"])
    assert winners(store) == ["red", "blue", "tie"]
    assert "Votes are the answers to better and alike." in done.notes


@pytest.mark.parametrize("made", [controls, record])
def test_the_fields_with_the_models_may_be_named(store, tmp_path, made):
    place, *sides, second = (
        ("data", "model1", "model2", "answer2")
        if made is controls
        else ("metadata", "model_a", "model_b", "response2")
    )
    given = [copy.deepcopy(made(n, better=word)) for n, word in ((1, "red"), (2, second))]
    for row in given:
        row[place] |= {"first": row[place].pop(sides[0]), "second": row[place].pop(sides[1])}
    path = tmp_path / "votes"
    write_array(path, given)
    with pytest.raises(StoreError, match="nothing names the two models"):
        import_files(store, [path])
    said = [f"model_a={place}.first", f"model_b={place}.second"]
    for more in ([], ["winner=better"]):
        done = import_files(store, [path], columns=ColumnMap.of([*said, *more]))
        assert done.rejected == ()
    assert winners(store) == ["red", "blue"]


def test_scores_of_two_people_in_one_group_are_not_mixed(store, tmp_path):
    given = [
        scored("g", score, model) | {"feedback_source": {"user_id": person}}
        for person, of in (("ann", {"red": 1, "blue": 0}), ("bob", {"red": 0, "blue": 1}))
        for model, score in of.items()
    ]
    write_lines(tmp_path / "votes", given)
    done = import_files(store, [tmp_path / "votes"])
    assert (done.votes, done.rejected) == (2, ())
    assert sorted(winners(store)) == ["blue", "red"]


def test_headers_in_other_case_are_read_beside_named_columns(store, tmp_path):
    given = [{"Model_A": "red", "Model_B": "blue", "Winner": "model_a", "ID": 1, "Who": "ann"}]
    write_csv(tmp_path / "votes", given)
    import_files(store, [tmp_path / "votes"], columns=ColumnMap.of(["voter=Who"]))
    assert rows(store, "select voter from votes") == [("ann",)]
    given = [{"Model_A": "red", "Model_B": "blue", "label": 1, "ID": 2}]
    write_csv(tmp_path / "votes", given)
    said = ColumnMap.of(["winner=label", "1=model_b"])
    import_files(store, [tmp_path / "votes"], dataset="other", columns=said)
    assert winners(store) == ["red", "blue"]


@pytest.mark.parametrize("judge", ["['gpt-4', 'pair-v2']", '["gpt-4", "pair-v2"]'])
def test_a_listed_judge_in_a_table_of_pandas_gives_a_verdict(store, tmp_path, judge):
    row = {"question_id": 1, "model_a": "red", "model_b": "blue", "winner": "model_a", "turn": 1}
    write_csv(tmp_path / "votes", [row | {"judge": judge}])
    done = import_files(store, [tmp_path / "votes"])
    assert (done.votes, done.verdicts) == (0, 1)
    assert rows(store, "select judge from verdicts") == [("gpt-4",)]


def test_texts_of_two_questions_under_one_id_are_told_apart_by_any_row(store, tmp_path):
    row = {"question_id": 1, "model_a": "red", "model_b": "blue", "winner": "model_a"}
    given = [
        row | {"voter": "ann", "response_a": "Hello", "response_b": "Hey"},
        row | {"voter": "bob", "prompt": "One?"},
        row | {"voter": "cleo", "prompt": "Two?"},
    ]
    write_lines(tmp_path / "votes", given)
    done = import_files(store, [tmp_path / "votes"])
    assert done.votes == 2
    assert [(fault.line, "another question" in fault.reason) for fault in done.rejected] == [
        (3, True)
    ]


def test_one_record_whose_values_are_objects_is_no_table_by_columns(store, tmp_path):
    given = record(1, better="response1")
    given["responses"] = {"better": [{"value": "response1", "user_id": "ann"}]}
    write_lines(tmp_path / "votes", [{k: given[k] for k in ("fields", "metadata", "responses")}])
    assert import_files(store, [tmp_path / "votes"]).votes == 1
