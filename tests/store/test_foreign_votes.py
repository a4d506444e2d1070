"""Votes in the forms of other tools: small files as these write them, and who wins by them.

In every case the wins are counted by hand, of three models. Exchanged names must exchange the wins:
so no side is taken for the other.
"""

from __future__ import annotations

import copy
import json
import math
import random
from collections import Counter

import pytest

import coupled_arena as ca
from coupled_arena.core.errors import StoreError, VoteError
from coupled_arena.store.transfer.foreign_rows import FORMS, ColumnMap
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.store.transfer.vote_form import Ballot, Said
from tests.families import first_of
from tests.store.foreign_files import (
    ARGILLA,
    ARGILLA_1,
    ARGILLA_FLAT,
    CASES,
    CHOSEN,
    COMPARIA,
    EVALICA,
    FASTCHAT,
    FEEDBACK,
    LABEL_STUDIO,
    LABEL_STUDIO_MIN,
    LANGSMITH,
    OPEN_WEBUI,
    PANDA_LM,
    REACTIONS,
    SEARCH,
    alpaca,
    controls,
    exported,
    record,
    scored,
    state,
    write_array,
    write_arrays,
    write_csv,
    write_flat,
    write_lines,
    write_repr,
)
from tests.stored import rows


def wins(store):
    """Count the wins of each model, a tie for half."""
    found = Counter()
    for models, ranks in rows(store, "select models, ranks from votes join battles using (battle)"):
        for place, model in enumerate(models):
            tied = ranks[0] == ranks[1]
            found[model] += 0.5 if tied else float(ranks[place] == 1)
    return dict(found)


def test_every_form_has_a_case():
    assert set(CASES) - {""} == {form.title for form in FORMS}


def with_names_exchanged(table):
    turned = json.dumps(table).replace("red", "?").replace("blue", "red").replace("?", "blue")
    return json.loads(turned)


@pytest.mark.parametrize("write", first_of(write_lines, write_csv))
@pytest.mark.parametrize("title", CASES)
def test_votes_of_other_tools(store, tmp_path, title, write):
    given, expected, votes, unvoted = CASES[title]
    if write is write_csv:
        given = with_names_exchanged(given)
        exchanged = {"red": "blue", "blue": "red"}
        expected = {exchanged.get(model, model): n for model, n in expected.items()}
    path = tmp_path / "votes"
    write(path, given)
    done = import_files(store, [path])
    assert (done.votes, done.unvoted, done.rejected) == (votes, unvoted, ()), done.notes
    assert done.rows == len(given)
    assert wins(store) == expected
    assert bool(title) == (f"Read as {title}." in done.notes)


NESTED = (
    *("Open WebUI, feedback export", "Argilla 2, records", "Label Studio, JSON"),
    *("FastChat, raw logs", "Argilla 2, flat records", "Argilla 1, data set"),
    *("Label Studio, JSON-MIN and CSV", "LangSmith, feedback"),
)


@pytest.mark.parametrize("write", [write_repr, write_arrays, write_flat])
@pytest.mark.parametrize("title", first_of(*NESTED, keep=3))
def test_nested_values_are_read_as_pandas_writes_them(store, tmp_path, title, write):
    given, expected, votes, _ = CASES[title]
    write(tmp_path / "votes", given)
    done = import_files(store, [tmp_path / "votes"])
    assert (done.votes, done.rejected) == (votes, ()), done.notes
    assert wins(store) == expected


def test_a_flattened_object_may_be_missing_in_some_rows(store, tmp_path):
    write_flat(tmp_path / "votes", [*OPEN_WEBUI[:2], OPEN_WEBUI[2] | {"data": None}])
    done = import_files(store, [tmp_path / "votes"])
    assert (done.votes, done.unvoted) == (2, 1)
    assert wins(store) == {"red": 1, "blue": 1}


@pytest.mark.parametrize(
    "title", first_of("Open WebUI, feedback export", "evalica", "Search Arena", "")
)
def test_tables_of_other_tools_are_ranked(tmp_path, title):
    import pandas as pd

    given, expected, *_ = CASES[title]
    path = tmp_path / "votes.json"
    write_array(path, given)
    found = ca.rank(path).to_dict()
    assert found["read"] == "votes"
    assert {row["model"] for row in found["models"]} == set(expected)
    assert ca.rank(pd.DataFrame(given)).to_dict()["models"] == found["models"]


@pytest.mark.slow
def test_a_second_import_adds_nothing(store, tmp_path):
    some = [
        case for title, case in CASES.items() if title.endswith(("reactions", "logs", "export"))
    ]
    for number, (given, *_) in enumerate(some):
        write_array(tmp_path / f"{number}.json", given)
    files = sorted(tmp_path.glob("*.json"))
    first = [import_files(store, [file], dataset=file.stem) for file in files]
    again = [import_files(store, [file], dataset=file.stem) for file in files]
    assert sum(done.votes for done in first) == sum(votes for _, _, votes, _ in some)
    assert {(done.votes, done.battles) for done in again} == {(0, 0)}


def texts(store):
    return rows(
        store,
        "select prompt, place, text from turns left join replies using (battle, turn) "
        "where text <> '' order by all",
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    first_of(
        (OPEN_WEBUI[:1], [("Hi?", 0, "Hey."), ("Hi?", 1, "Hello.")]),  # blue comes first by name
        (COMPARIA[:1], [("Ça va ?", 0, "Oui."), ("Ça va ?", 1, "Non.")]),
        (REACTIONS[3:5], [("Ça va ?", 0, "Par a."), ("Ça va ?", 1, "Par b.")]),
        (FASTCHAT[:2], [("Hi", 0, "A1"), ("Hi", 1, "B1")]),
        (SEARCH[:1], [("Q0", 0, "Hello"), ("Q0", 1, "Hey")]),
        (LABEL_STUDIO[:1], [("Q1?", 0, "Hello"), ("Q1?", 1, "Hey")]),
        (ARGILLA[:1], [("Q0?", 0, "Hello"), ("Q0?", 1, "Hey")]),
        (PANDA_LM[1:], [("Do 1.\n\nThis.", 0, "A"), ("Do 1.\n\nThis.", 1, "B")]),
        (CHOSEN[:1], [("Q0?", 0, "Poor."), ("Q0?", 1, "Good.")]),
        keep=4,
    ),
)
def test_their_texts_come_along(store, tmp_path, given, expected):
    write_array(tmp_path / "votes", given)
    import_files(store, [tmp_path / "votes"])
    assert texts(store) == expected


@pytest.mark.parametrize("answer", ["[1, 2]", "['a', 'b']"])
def test_an_answer_that_is_a_list_stays_a_text(store, tmp_path, answer):
    logs = copy.deepcopy(FASTCHAT[1])
    logs["states"][0]["messages"][-1][1] = answer
    for name, given in (("logs", logs), ("chosen", CHOSEN[0] | {"chosen": answer})):
        write_array(tmp_path / name, [given])
        import_files(store, [tmp_path / name], dataset=name)
    assert [text for *_, text in texts(store)].count(answer) == 2


def test_our_own_columns_come_before_those_of_others(store, tmp_path):
    row = {"model_a": "red", "model_b": "blue", "winner": "model_a", "left": "blue", "right": "red"}
    write_lines(tmp_path / "votes", [row | {"id": 1}])
    assert not any("Read as" in note for note in import_files(store, [tmp_path / "votes"]).notes)
    assert wins(store) == {"red": 1, "blue": 0}


def test_a_log_may_begin_with_many_conversations_without_a_vote(store, tmp_path):
    write_lines(tmp_path / "log", [FASTCHAT[0]] * 2500 + FASTCHAT[1:])
    done = import_files(store, [tmp_path / "log"])
    assert (done.rows, done.votes, done.unvoted) == (2504, 4, 2500)


def test_rows_without_a_vote_are_counted_over_all_files(store, tmp_path):
    for number, unvoted in enumerate((2, 3)):
        write_lines(tmp_path / f"{number}", FASTCHAT[:1] * unvoted + FASTCHAT[1:2])
    done = import_files(store, [tmp_path / "0", tmp_path / "1"])
    assert done.unvoted == 5
    assert "5 rows without a vote: left out." in done.notes


def test_no_address_of_the_network_is_stored(store, tmp_path):
    write_lines(tmp_path / "log", FASTCHAT)
    import_files(store, [tmp_path / "log"])
    ((voter,),) = rows(store, "select distinct voter from votes")
    assert "192" not in voter
    assert len(voter) == 16


@pytest.mark.parametrize(
    ("whole", "place", "change", "reason"),
    [
        (LABEL_STUDIO, 0, {"data": {"text1": "A"}}, "nothing names the two models; its data are"),
        (PANDA_LM, 0, {"cmp_key": "red"}, "cmp_key must be two models with _ between them"),
        (PANDA_LM, 0, {"annotator2": 3}, "annotator2 is 3 (0, 1 and 2 are known)"),
        (LANGSMITH, 0, {"pairwise_preference": 7}, "preference 7 is not from 0 to 1"),
        (FASTCHAT, 1, {"states": [state("red", "Hi")]}, "states must be two"),
        (REACTIONS, 0, {"model_pos": "left"}, "model_pos is neither a nor b"),
        (EVALICA, 0, {"winner": "first"}, "unknown winner 'first'"),
    ],
)
def test_rows_that_make_no_sense_are_rejected_and_the_others_read(
    store, tmp_path, whole, place, change, reason
):
    write_lines(tmp_path / "votes", [whole[place] | change, *whole])
    done = import_files(store, [tmp_path / "votes"])
    assert [(fault.line, reason in fault.reason) for fault in done.rejected] == [(1, True)]
    assert done.votes


# Annotation tools: questions and controls have names of their own


@pytest.mark.parametrize("made", [controls, exported, record])
def test_words_of_annotators_are_understood_or_rejected(store, tmp_path, made):
    unknown = ["neither", "the first one"]
    first, second = ("response1", "response2") if made is record else ("answer1", "answer2")
    words = ["Left", "B", first.title(), "Equal", "Both are equally good", "Both bad", second]
    words.append("red")
    given = [made(n, better=word) for n, word in enumerate([*words, *unknown])]
    write_array(tmp_path / "votes", [*given, made(20), made(21, better="skip")])
    done = import_files(store, [tmp_path / "votes"])
    assert [fault.reason for fault in done.rejected] == [f"unknown winner '{w}'" for w in unknown]
    assert (done.votes, done.unvoted) == (8, 2)
    assert wins(store) == {"red": 3 + 1.5, "blue": 2 + 1.5}
    assert rows(store, "select count(*) from votes where both_bad") == [(1,)]


@pytest.mark.parametrize(
    "given",
    [
        [record(1, better="neither"), record(2, better="response1")],
        [exported(1, better="neither"), exported(2, better="left")],
        [EVALICA[0] | {"winner": "neither"}, EVALICA[0] | {"id": 2}],
    ],
)
def test_words_of_a_known_form_may_be_given_a_meaning(store, tmp_path, given):
    write_array(tmp_path / "votes", given)
    done = import_files(store, [tmp_path / "votes"], columns=ColumnMap.of(["Neither=both_bad"]))
    assert (done.votes, done.rejected) == (2, ())
    assert rows(store, "select both_bad from votes order by seq") == [(True,), (False,)]


@pytest.mark.parametrize(
    ("models", "word"), [(("b", "a"), "a"), (("tie", "a"), "tie"), (("red", "answer1"), "answer1")]
)
@pytest.mark.parametrize("made", [controls, record])
def test_a_word_with_two_meanings_is_rejected(store, tmp_path, made, models, word):
    given = made(1, better=word)
    names = dict(zip(("model_a", "model_b"), models, strict=True))
    given |= {"metadata": names, "fields": {"prompt": "Q?", "answer1": "Hello", "answer2": "Hey"}}
    given |= {"data": names | given["fields"]} if made is controls else {}
    write_array(tmp_path / "votes", [given, made(2, better="tie")])
    done = import_files(store, [tmp_path / "votes"])
    assert done.votes == 1
    assert [fault.reason for fault in done.rejected] == [
        f"winner '{word}' names one model, and the side of the other"
    ]


@pytest.mark.parametrize("write", [write_lines, write_csv])
@pytest.mark.parametrize("made", [controls, exported])
def test_a_tie_beside_a_pairwise_control_counts_where_no_side_is_picked(
    store, tmp_path, made, write
):
    given = [
        made(1, pw="LEFT", topic="sums"),
        made(2, pw="RIGHT", topic="words"),
        made(3, draw="Tie", topic="sums"),
        made(4, topic="sums"),
        made(5, pw="RIGHT", draw="Tie"),
    ]
    write(tmp_path / "votes", given)
    done = import_files(store, [tmp_path / "votes"])
    assert (done.votes, done.unvoted, done.rejected) == (4, 1, ())
    assert wins(store) == {"red": 1.5, "blue": 2.5}


# Rows in which both questions may be the vote, and who won by `better`.
SEVERAL = [
    *(
        ([made(1, worse=a, better=b), made(2, worse=c, better=d)], ["blue", "red"])
        for made, a, b, c, d in [
            (controls, "left", "right", "right", "left"),
            (controls, "LEFT", "RIGHT", "RIGHT", "LEFT"),
            (controls, "left", "RIGHT", "right", "LEFT"),
            (exported, "LEFT", "RIGHT", "RIGHT", "LEFT"),
            (exported, "left", "right", "answer2", "answer1"),
            (record, "A", "response2", "response2", "A"),
        ]
    ),
    (
        [
            row | {"key": key, "score": abs(row["score"] - (key == "worse"))}
            for row in FEEDBACK[:4]
            for key in ("worse", "better")
        ],
        ["red", "blue"],
    ),
]


@pytest.mark.parametrize(("given", "won"), SEVERAL)
def test_one_of_several_questions_must_be_chosen(store, tmp_path, given, won):
    path = tmp_path / "votes"
    write_array(path, given)
    with pytest.raises(StoreError) as error:
        import_files(store, [path])
    assert str(error.value) == (
        f"{path} has several questions that could be the vote: worse, better. "
        "Choose one, as in --map winner=worse."
    )
    done = import_files(store, [path], columns=ColumnMap.of(["winner=better"]))
    assert (done.votes, done.rejected) == (2, ())
    assert "Votes are the answers to better." in done.notes
    found = rows(
        store,
        "select models[list_position(ranks, 1)] from votes join battles using (battle) "
        "order by votes.seq",
    )
    assert [model for (model,) in found] == won


def test_a_question_that_is_not_there_is_told(store, tmp_path):
    write_array(tmp_path / "votes", SEVERAL[5][0])
    with pytest.raises(StoreError, match=r"no column 'best'\. .* Its questions: worse, better\.$"):
        import_files(store, [tmp_path / "votes"], columns=ColumnMap.of(["winner=best"]))


def test_free_text_is_no_vote(store, tmp_path):
    comments = ["B", "I like the first one more.", "Both are fine, but A is shorter.", "no idea"]
    given = [record(n, better="response1", comment=text) for n, text in enumerate(comments)]
    write_array(tmp_path / "votes", given)
    done = import_files(store, [tmp_path / "votes"])
    assert (done.votes, done.rejected) == (4, ())
    assert wins(store) == {"red": 4, "blue": 0}
    # One comment is a word for a side, and all answers to the question are unknown.
    given = [record(n, better="1st") for n in range(4)] + [record(5, better="1st", comment="B")]
    write_array(tmp_path / "votes", given)
    with pytest.raises(StoreError, match="could be the vote: better, comment"):
        import_files(store, [tmp_path / "votes"])


def test_only_what_was_submitted_to_argilla_counts(store, tmp_path):
    states = ["submitted", "draft", "discarded", None]
    given = [record(n, status=status, better="response1") for n, status in enumerate(states)]
    write_array(tmp_path / "votes", given)
    done = import_files(store, [tmp_path / "votes"])
    assert (done.votes, done.unvoted) == (2, 2)


def test_argilla_as_its_server_and_its_data_sets_write_it(store, tmp_path):
    served = record(1) | {
        "responses": [
            {"values": {"better": {"value": word}}, "status": status, "user_id": user}
            for word, status, user in [
                ("response2", "submitted", "ann"),
                ("response1", "draft", "bob"),
            ]
        ]
    }
    turned = copy.deepcopy(ARGILLA_1[1])
    answers = turned.pop("ranking")
    answers[0]["value"] = {"value": ["response-1", "response-2"], "rank": [2, 1]}
    turned["ranking"] = {name: [each[name] for each in answers] for name in answers[0]}
    for name, given in (("served", served), ("turned", turned)):
        write_lines(tmp_path / name, [given])
        done = import_files(store, [tmp_path / name], dataset=name)
        assert (done.votes, done.rejected) == (1, ())
    assert wins(store) == {"red": 0, "blue": 2}


@pytest.mark.parametrize("order", [0, 1, 2])
def test_each_pair_of_experiments_is_a_vote(store, tmp_path, order):
    scores = [("red", 0), ("blue", 1), ("green", 0.5)]
    given = [scored("g", score, model) for model, score in scores[order:] + scores[:order]]
    write_lines(tmp_path / "votes", given)
    assert import_files(store, [tmp_path / "votes"]).votes == 3
    assert wins(store) == {"red": 0, "blue": 2, "green": 1}


@pytest.mark.parametrize(
    ("given", "unread"),
    [
        (LABEL_STUDIO_MIN, ""),
        (ARGILLA_FLAT, ""),
        (ARGILLA_1, ""),
        (FEEDBACK, "id, run_id"),
        ([row | {"topic": "sums"} for row in ARGILLA_FLAT], "topic"),
    ],
)
def test_only_columns_that_are_not_read_are_told(store, tmp_path, given, unread):
    write_array(tmp_path / "votes", given)
    notes = import_files(store, [tmp_path / "votes"]).notes
    assert [note for note in notes if "not read" in note] == (
        [f"Columns that are not read: {unread}."] if unread else []
    )


def places(value, before=()):
    """Yield where a value stands within others."""
    inside = value if isinstance(value, dict) else {}
    inside = dict(enumerate(value)) if isinstance(value, list) else inside
    for key, each in inside.items():
        yield (*before, key)
        yield from places(each, (*before, key))


def reader(form, given):
    """Return what reads rows of a form, of all questions that they answer."""
    if not isinstance(form.read, Ballot):
        return form.read
    return form.read.read(form.read.tally(enumerate(given), Said({})), Said({}))


def test_no_value_in_any_place_breaks_a_reader():
    draw = random.Random(1)
    odd = [None, -1, 0.5, "x", "", [], {}, [1], {"a": 1}, "[1]", '{"a": null}', True, math.nan]
    for _ in range(60):
        for form in FORMS:
            given = copy.deepcopy(CASES[form.title][0])
            *path, last = draw.choice([at for at in places(given) if len(at) > 1])
            inside = given
            for key in path:
                inside = inside[key]
            inside[last] = copy.deepcopy(draw.choice(odd))
            assert all(
                isinstance(row, dict | str) for _, row in reader(form, given)(enumerate(given))
            )


ALPACA = [1.0000211125, 1.9902915215, 2.0, 0, 1.5, 1.25, None, 3]
"""Of base and new: base .99998, new .9903, new, draw, draw, base .75, none, nonsense."""


def test_preferences_of_alpaca_eval_are_verdicts_of_its_annotator(store, tmp_path):
    write_array(tmp_path / "a.json", [alpaca(n, value) for n, value in enumerate(ALPACA)])
    done = import_files(store, [tmp_path / "a.json"])
    assert (done.votes, done.verdicts, done.unvoted, len(done.rejected)) == (0, 6, 1, 1)
    assert done.rejected[0].reason == "preference '3' is neither from 1 to 2 nor 0"
    found = rows(
        store,
        "select judge, outcome, round(p_first, 4), round(p_second, 4), p_tie from verdicts "
        "order by seq",
    )
    assert found == [
        ("weighted_judge", "first", 1.0, 0.0, 0.0),
        ("weighted_judge", "second", 0.0097, 0.9903, 0.0),
        ("weighted_judge", "second", None, None, None),
        ("weighted_judge", "tie", None, None, None),
        ("weighted_judge", "tie", None, None, None),
        ("weighted_judge", "first", 0.75, 0.25, 0.0),
    ]
    # As AlpacaEval counts: the mean of preference - 1, where 0 is 1.5.
    counted = [value for value in ALPACA if value is not None and value < 3]
    theirs = sum((value or 1.5) - 1 for value in counted) / len(counted)
    by_outcome = {"first": 0.0, "tie": 0.5, "second": 1.0}
    ours = sum(by_outcome[outcome] if p is None else p for _, outcome, _, p, _ in found) / 6
    assert ours == pytest.approx(theirs, abs=1e-4)


def test_alpaca_eval_ranks_by_verdicts_and_people_are_voters(tmp_path, store):
    path = tmp_path / "a.json"
    write_array(path, [alpaca(n, value) for n, value in enumerate([1.1, 1.2, 1.9, 0])])
    board = ca.rank(path)
    assert board.settings["source"] == "judge"
    rates = {row["model"]: row["win_rate"] for row in board.to_dict()["models"]}
    assert rates == pytest.approx({"base": 2.5 / 4, "new": 1.5 / 4})  # discrete, as theirs
    # Their win rate is the mean of preference - 1, where 0 is 1.5: (.1 + .2 + .9 + .5) / 4.
    said = (
        "The judge gave a probability for 3 of 4 verdicts. A board of verdicts alone counts each "
        "as a win, a loss or a tie. Mean probabilities: base 57.50%, new 42.50%."
    )
    assert said in board.warnings
    write_array(path, [alpaca(n, 2, n % 2) for n in range(4)])  # their people are numbers
    done = import_files(store, [path])
    assert (done.votes, done.verdicts) == (4, 0)
    write_array(path, [alpaca(n, 2, f"judge {n % 2}") for n in range(4)])
    with pytest.raises(
        ca.ArenaError, match="verdicts of judge 0, judge 1, and no votes: choose one"
    ):
        ca.rank(path)
    board = ca.leaderboard(path, judge="judge 1")
    assert board.settings["judge"] == "judge 1"
    assert {row["model"]: row["judge_verdicts"] for row in board.to_dict()["models"]} == {
        "base": 2,
        "new": 2,
    }
    with pytest.raises(StoreError, match="nobody"):
        ca.leaderboard(path, judge="nobody")


OTHER = [
    {"q": "q1", "one": "red", "two": "blue", "label": "one", "who": "ann"},
    {"q": "q2", "one": "red", "two": "blue", "label": 2, "who": "ann"},
    {"q": "q3", "one": "blue", "two": "red", "label": "0", "who": "bob"},
]
SAID = {"winner": "label", "model_a": "one", "model_b": "two", "question_id": "q", "voter": "who"}
MEANT = {"2": "model_b", "0": "tie"}


@pytest.mark.parametrize("write", [write_lines, write_csv])
def test_columns_may_be_named(store, tmp_path, write):
    path = tmp_path / "votes"
    write(path, OTHER)
    with pytest.raises(StoreError) as error:
        import_files(store, [path])
    assert str(error.value) == (
        f"{path} is in no form that is known. Its columns: label, one, q, two, who. Votes need "
        "model_a, model_b, winner: --map model_a=COLUMN --map model_b=COLUMN --map winner=COLUMN."
    )
    done = import_files(store, [path], columns=ColumnMap.of({**SAID, **MEANT}))
    assert (done.votes, done.rejected) == (3, ())
    assert wins(store) == {"red": 1.5, "blue": 1.5}
    assert rows(store, "select count(distinct voter) from votes") == [(2,)]
    assert not any("not read" in note for note in done.notes)


def test_columns_may_be_named_for_a_board(tmp_path):
    import pandas as pd

    path = tmp_path / "votes"
    write_csv(path, OTHER)
    found = ca.rank(path, map={**SAID, **MEANT}).to_dict()
    assert found["settings"]["map"] == [f"{a}={b}" for a, b in {**SAID, **MEANT}.items()]
    frame = ca.rank(pd.DataFrame(OTHER), map=[f"{a}={b}" for a, b in {**SAID, **MEANT}.items()])
    assert frame.to_dict()["models"] == found["models"]
    with pytest.raises(VoteError, match=r"The table, line 2: unknown winner '2'"):
        ca.rank(pd.DataFrame(OTHER), map=SAID)


def test_a_field_within_another_may_be_named(store, tmp_path):
    write_lines(tmp_path / "v", [{"m": {"a": "red", "b": "blue"}, "won": "blue", "n": 1}])
    said = ["model_a=m.a", "model_b=m.b", "winner=won", "question_id=n"]
    import_files(store, [tmp_path / "v"], columns=ColumnMap.of(said))
    assert wins(store) == {"red": 0, "blue": 1}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (["winner"], "map 'winner' is not OURS=THEIRS, as in winner=label"),
        (["foo=bar"], "map foo=bar names no column of ours, such as winner or prompt, and no"),
        (["winner=bar"], r"has no column 'bar'\. Its columns: q, one, two, label, who"),
    ],
)
def test_a_column_that_is_not_there_is_named(store, tmp_path, said, message):
    write_lines(tmp_path / "votes", OTHER)
    with pytest.raises(StoreError, match=message):
        import_files(store, [tmp_path / "votes"], columns=ColumnMap.of(said))


def test_a_foreign_mode_is_kept_as_a_category(store, tmp_path):
    row = {"id": 1, "model_a": "red", "model_b": "blue", "winner": "A", "source": "native"}
    write_lines(
        tmp_path / "votes",
        [row | {"mode": "arena"}, row | {"id": 2, "mode": "arena", "category": {"a": [1]}}],
    )
    done = import_files(store, [tmp_path / "votes"])
    assert (done.votes, done.rejected) == (2, ())
    assert rows(store, "select distinct mode from battles") == [("unknown",)]
    assert rows(store, "select category from turns order by prompt_id") == [
        ("arena",),
        ('{"a":[1]}',),
    ]
