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
from tests.families import first_of
from tests.store.foreign_files import (
    ARGILLA,
    CASES,
    CHOSEN,
    COMPARIA,
    EVALICA,
    FASTCHAT,
    LABEL_STUDIO,
    LANGSMITH,
    OPEN_WEBUI,
    PANDA_LM,
    REACTIONS,
    SEARCH,
    alpaca,
    state,
    write_array,
    write_csv,
    write_lines,
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


def places(value, before=()):
    """Yield where a value stands within others."""
    inside = value if isinstance(value, dict) else {}
    inside = dict(enumerate(value)) if isinstance(value, list) else inside
    for key, each in inside.items():
        yield (*before, key)
        yield from places(each, (*before, key))


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
            assert all(isinstance(row, dict | str) for _, row in form.read(enumerate(given)))


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
