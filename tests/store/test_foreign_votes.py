"""Votes in the forms of other tools: small files as these write them, and who wins by them.

In every case the wins are counted by hand, of three models. Exchanged names must exchange the wins:
so no side is taken for the other.
"""

from __future__ import annotations

import copy
import csv
import json
import math
import random
from collections import Counter

import pytest

import coupled_arena as ca
from coupled_arena.core.errors import StoreError, VoteError
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.foreign_rows import FORMS, ColumnMap
from coupled_arena.store.transfer.importing import import_files
from tests.stored import rows


def said(*texts):
    return [{"role": ("user", "assistant")[n % 2], "content": each} for n, each in enumerate(texts)]


def feedback(number, rating, model, *siblings, **more):
    return {
        "id": f"f{number}",
        "user_id": f"u{number}",
        "type": "rating",
        "data": {"rating": rating, "model_id": model, "sibling_model_ids": list(siblings) or None},
        "meta": {"arena": True, "chat_id": f"c{number}", "message_id": "m2"},
        "created_at": 1731000000 + number,
        **more,
    }


CHAT = {
    "chat": {
        "chat": {
            "history": {
                "messages": {
                    "m1": {"role": "user", "content": "Hi?", "childrenIds": ["m2", "m3"]},
                    "m2": {"parentId": "m1", "model": "red", "content": "Hello."},
                    "m3": {"parentId": "m1", "model": "blue", "content": "Hey."},
                }
            }
        }
    }
}
OPEN_WEBUI = [
    feedback(1, 1, "red", "blue", snapshot=CHAT),
    feedback(2, "-1", "red", "blue"),
    feedback(3, "1", "blue", "red", "green"),
    feedback(4, 1, "blue"),  # nothing to compare with
    feedback(5, None, "blue", "red"),
]


def comparia(number, a, b, chosen, **more):
    return {
        "id": number,
        "timestamp": f"2025-01-05 10:11:1{number}.5",
        "model_a_name": a,
        "model_b_name": b,
        "model_pair_name": sorted([a, b]),
        "chosen_model_name": chosen,
        "both_equal": chosen is None,
        "opening_msg": "Ça va ?",
        "conversation_a": said("Ça va ?", "Oui."),
        "conversation_b": said("Ça va ?", "Non."),
        "system_prompt_a": "Sois bref.",
        "conversation_pair_id": f"pair-{number}",
        "visitor_id": f"v{number}",
        **more,
    }


COMPARIA = [
    comparia(1, "red", "blue", "red"),
    comparia(2, "blue", "red", "red"),
    comparia(3, "green", "blue", None),
    comparia(4, "green", "blue", None, both_equal=False),
]
RENAMED = [
    {
        **{
            key: value
            for key, value in row.items()
            if key not in ("model_a_name", "model_b_name", "chosen_model_name")
        },
        "model_a": row["model_a_name"],
        "model_b": row["model_b_name"],
        "winner": row["chosen_model_name"],
    }
    for row in COMPARIA
]


def reaction(pair, side, liked, **more):
    return {
        "timestamp": "2025-01-05 10:11:12",
        "model_a_name": "red",
        "model_b_name": "blue",
        "refers_to_model": {"a": "red", "b": "blue"}[side],
        "model_pos": side,
        "msg_index": 1,
        "msg_rank": 0,
        "conversation_pair_id": pair,
        "question_content": "Ça va ?",
        "response_content": f"Par {side}.",
        "liked": liked is True,
        "disliked": liked is False,
        "visitor_id": "v1",
        **more,
    }


REACTIONS = [
    reaction("p1", "a", True),
    reaction("p2", "a", False),
    reaction("p3", "b", None),
    reaction("p3", "a", True, question_id="p3-0"),
    reaction("p3", "b", True, question_id="p3-0"),
    reaction("p4", "b", False),
    reaction("p4", "a", False),
    reaction("p5", "a", None),
]


def state(model, *texts):
    roles = ["USER", "ASSISTANT"]
    return {
        "template_name": model,
        "system_message": "",
        "roles": roles,
        "messages": [["USER", "an example"], *([roles[n % 2], t] for n, t in enumerate(texts))],
        "offset": 1,
        "conv_id": f"conv-{model}-{texts[-1]}",
        "model_name": model,
    }


def logged(kind, a, b, text="1", shown=("", "")):
    return {
        "tstamp": 1716000009.5,
        "type": kind,
        "models": list(shown),
        "states": [state(a, "Hi", f"A{text}"), state(b, "Hi", f"B{text}")],
        "ip": "192.0.2.7",
    }


FASTCHAT = [
    {"tstamp": 1716000000.1, "type": "chat", "model": "red", "state": state("red", "Hi", "A1")},
    logged("leftvote", "red", "blue"),
    logged("rightvote", "red", "blue", "2", ("### Model A: red", "### Model B: blue")),
    logged("tievote", "green", "blue", "3"),
    logged("bothbad_vote", "green", "red", "4"),
]


def mteb(number, kind, a, b):
    return {
        "tstamp": 1722222732.5 + number,
        "task_type": "retrieval",
        "type": kind,
        "models": ["", ""],
        "ip": "192.0.2.7",
        "0_conv_id": f"c{number}",
        "0_model_name": a,
        "1_model_name": b,
        "0_prompt": f"Question {number}?",
    }


MTEB = [
    mteb(1, "leftvote", "red", "blue"),
    mteb(2, "rightvote", "red", "blue"),
    mteb(3, "rightvote", "green", "blue"),
    mteb(4, "bothbadvote", "green", "red"),
    mteb(5, "share", "green", "red"),
]
CLEAN = [
    {"model_a": a, "model_b": b, "winner": winner, "judge": "arena_user_", "anony": True}
    | {"tstamp": 1722222732.5}
    for a, b, winner in [
        ("red", "blue", "model_a"),
        ("red", "blue", "model_a"),  # the same again, without an id: a vote of its own
        ("blue", "green", "model_b"),
        ("green", "red", "tie (bothbad)"),
        ("green", "red", "tie"),
    ]
]
SEARCH = [
    {
        "model_a": a,
        "model_b": b,
        "winner": winner,
        "judge": "v1",
        "turn": 1,
        "timestamp": f"2025-03-18T16:39:0{n}.550000",
        "messages_a": said(f"Q{n}", "Hello"),
        "messages_b": said(f"Q{n}", "Hey"),
        "languages": ["English"],
    }
    for n, (a, b, winner) in enumerate(
        [
            ("red", "blue", "model_a"),
            ("blue", "red", "tie (bothbad)"),
            ("blue", "green", "model_b"),
            ("red", "blue", None),
        ]
    )
]
EVALICA = [
    {"left": a, "right": b, "winner": winner, "id": n, "prompt": f"p{n}", "worker": f"w{n}"}
    for n, (a, b, winner) in enumerate(
        [
            ("red", "blue", "left"),
            ("blue", "red", "left"),
            ("blue", "green", "right"),
            ("green", "red", "tie"),
            ("green", "red", "ignore"),
        ]
    )
]
CROWD_KIT = [
    {"task": f"t{n}", "worker": f"w{n}", "left": a, "right": b, "label": label}
    for n, (a, b, label) in enumerate(
        [("red", "blue", "red"), ("blue", "red", "red"), ("blue", "green", "right")]
    )
]
GENAI = [
    {"id": n, "left_model": a, "right_model": b, "vote_type": kind, "judge": "u"}
    for n, (a, b, kind) in enumerate(
        [
            ("red", "blue", "leftvote"),
            ("red", "blue", "rightvote"),
            ("green", "red", "tievote"),
            ("green", "red", "bothbad_vote"),
        ]
    )
]


def task(number, selected, *, data=None, kind="pairwise", **more):
    value = {"selected": selected} if kind == "pairwise" else {"choices": [selected]}
    return {
        "id": number,
        "data": data
        or {
            "prompt": f"Q{number}?",
            "answer1": "Hello",
            "answer2": "Hey",
            "model1": "red",
            "model2": "blue",
        },
        "annotations": [
            {
                "id": 10 + number,
                "completed_by": {"id": 7, "email": "ann@example.org"},
                "was_cancelled": False,
                "created_at": "2025-03-18T16:39:00.123456Z",
                "result": [{"type": kind, "value": value, "from_name": "pw", "to_name": "answer1"}],
                **more,
            }
        ],
    }


LABEL_STUDIO = [
    task(1, "left"),
    task(2, "right"),
    task(3, "right"),
    task(4, "left", was_cancelled=True),
    task(5, "tie", kind="choices"),
    {"id": 6, "data": {}, "annotations": []},
]
LABEL_STUDIO_MIN = [
    {
        "id": n,
        "prompt": f"Q{n}?",
        "model_a": "red",
        "model_b": "blue",
        "pw": [{"selected": side}],
        "annotator": 7,
        "annotation_id": 10 + n,
        "lead_time": 3.5,
        "created_at": "2025-03-18T16:39:00.123456Z",
    }
    for n, side in enumerate(["left", "right", "right"])
]
NAMED = {"model_a": "red", "model_b": "blue"}
ARGILLA = [
    {
        "id": f"r{n}",
        "status": "completed",
        "fields": {"prompt": f"Q{n}?", "response1": "Hello", "response2": "Hey"},
        "metadata": NAMED,
        "suggestions": {},
        "responses": {"preference": [{"value": value, "user_id": "ann"}]},
    }
    for n, value in enumerate(
        ["response1", "response2", ["response2", "response1"], "no idea", "tie"]
    )
]
ARGILLA_FLAT = [
    {
        "id": f"r{n}",
        "prompt": f"Q{n}?",
        "response1": "Hello",
        "response2": "Hey",
        **NAMED,
        "better.responses": values,
        "better.responses.users": ["ann", "bob"],
        "better.responses.status": ["submitted", "discarded"],
    }
    for n, values in enumerate([["response1", "response2"], ["blue", "red"], ["response2", "x"]])
]
ARGILLA_1 = [
    {
        "prompt": f"Q{n}?",
        "response-1": "Hello",
        "response-2": "Hey",
        "ranking": [
            {
                "user_id": "ann",
                "status": "submitted",
                "value": [
                    {"value": "response-1", "rank": ranks[0]},
                    {"value": "response-2", "rank": ranks[1]},
                ],
            },
            {"user_id": "bob", "status": "discarded", "value": None},
        ],
        "external_id": f"x{n}",
        "metadata": json.dumps(NAMED),
    }
    for n, ranks in enumerate([(1, 2), (2, 1), (1, 1)])
]
LANGSMITH = [
    {"example_id": f"e{n}", "experiment_a": "red", "experiment_b": "blue", "comment": ""}
    | {"pairwise_preference": score}
    for n, score in enumerate([1, 0, 0, 0.5, None])
]


def scored(group, score, model):
    return {
        "id": f"{group}-{model}",
        "run_id": f"run-{group}-{model}",
        "key": "ranked_preference",
        "score": score,
        "session_id": model,
        "comparative_experiment_id": "cmp",
        "feedback_group_id": group,
        "feedback_source": {"type": "model"},
        "created_at": "2025-03-18T16:39:00Z",
    }


FEEDBACK = [
    *(scored("g1", 1, "red"), scored("g1", 0, "blue")),
    *(scored("g2", 0, "red"), scored("g2", 1, "blue")),
    *(scored("g3", 1, "blue"), scored("g3", 0, "red")),
    *(scored("g4", 0, "red"), scored("g4", 0, "blue")),
    scored("g5", None, "red"),
]
PANDA_LM = [
    {
        "idx": n,
        "cmp_key": "red_blue",
        "instruction": f"Do {n}.",
        "input": "This." if n else "",
        "response1": "A",
        "response2": "B",
        **{f"annotator{k + 1}": mark for k, mark in enumerate(marks)},
    }
    for n, marks in enumerate([(1, 1, 2), (0, 2, 2)])
]
CHOSEN = [
    {
        "prompt_id": f"p{n}",
        "prompt": f"Q{n}?",
        "chosen": said(f"Q{n}?", "Good."),
        "chosen_model": chosen,
        "rejected": said(f"Q{n}?", "Poor."),
        "rejected_model": rejected,
        "tie_is_common": n == 2,
    }
    for n, (chosen, rejected) in enumerate([("red", "blue"), ("blue", "red"), ("red", "blue")])
]

# By form: its rows, wins with half of each tie, votes, rows without a vote.
CASES = {
    "Open WebUI, feedback export": (OPEN_WEBUI, {"red": 1, "blue": 3, "green": 0}, 4, 2),
    "compar:IA, votes": (COMPARIA, {"red": 2, "blue": 0.5, "green": 0.5}, 3, 1),
    "compar:IA, votes with other names": (RENAMED, {"red": 2, "blue": 0.5, "green": 0.5}, 3, 1),
    "compar:IA, reactions": (REACTIONS, {"red": 2, "blue": 2}, 4, 1),
    "FastChat, raw logs": (FASTCHAT, {"red": 1.5, "blue": 1.5, "green": 1}, 4, 1),
    "MTEB Arena, raw logs": (MTEB, {"red": 1.5, "blue": 2, "green": 0.5}, 4, 1),
    "": (CLEAN, {"red": 3, "blue": 0, "green": 2}, 5, 0),
    "Search Arena": (SEARCH, {"red": 1.5, "blue": 0.5, "green": 1}, 3, 1),
    "evalica": (EVALICA, {"red": 1.5, "blue": 1, "green": 1.5}, 4, 1),
    "crowd-kit": (CROWD_KIT, {"red": 2, "blue": 0, "green": 1}, 3, 0),
    "GenAI-Arena": (GENAI, {"red": 2, "blue": 1, "green": 1}, 4, 0),
    "Label Studio, JSON": (LABEL_STUDIO, {"red": 1.5, "blue": 2.5}, 4, 2),
    "Label Studio, JSON-MIN and CSV": (LABEL_STUDIO_MIN, {"red": 1, "blue": 2}, 3, 0),
    "Argilla 2, records": (ARGILLA, {"red": 1.5, "blue": 2.5}, 4, 1),
    "Argilla 2, flat records": (ARGILLA_FLAT, {"red": 1, "blue": 2}, 3, 0),
    "Argilla 1, data set": (ARGILLA_1, {"red": 1.5, "blue": 1.5}, 3, 0),
    "LangSmith, pairs of experiments": (LANGSMITH, {"red": 1.5, "blue": 2.5}, 4, 1),
    "LangSmith, feedback": (FEEDBACK, {"red": 1.5, "blue": 2.5}, 4, 1),
    "PandaLM, people's labels": (PANDA_LM, {"red": 2.5, "blue": 3.5}, 6, 0),
    "Preferences with models": (CHOSEN, {"red": 1.5, "blue": 1.5}, 3, 0),
}
assert set(CASES) - {""} == {form.title for form in FORMS}


def write_array(path, given):
    path.write_text(json.dumps(given, indent=2), encoding="utf-8")


def write_lines(path, given):
    path.write_text("".join(json.dumps(row) + "\n" for row in given), encoding="utf-8")


def write_csv(path, given):
    names = list(dict.fromkeys(name for row in given for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for row in given:
            nested = {k: json.dumps(v) for k, v in row.items() if isinstance(v, list | dict)}
            writer.writerow({**row, **nested})


def wins(store):
    """Count the wins of each model, a tie for half."""
    found = Counter()
    for models, ranks in rows(store, "select models, ranks from votes join battles using (battle)"):
        for place, model in enumerate(models):
            tied = ranks[0] == ranks[1]
            found[model] += 0.5 if tied else float(ranks[place] == 1)
    return dict(found)


@pytest.mark.parametrize("title", CASES)
def test_votes_of_other_tools(tmp_path, title):
    given, expected, votes, unvoted = CASES[title]
    exchanged = {"red": "blue", "blue": "red"}
    turned = json.dumps(given).replace("red", "?").replace("blue", "red").replace("?", "blue")
    for write, table, names in (
        (write_lines, given, {}),
        (write_csv, json.loads(turned), exchanged),
    ):
        path = tmp_path / write.__name__
        write(path, table)
        with Store.in_memory() as store:
            done = import_files(store, [path])
            assert (done.votes, done.unvoted, done.rejected) == (votes, unvoted, ()), done.notes
            assert done.rows == len(given)
            assert wins(store) == {names.get(model, model): n for model, n in expected.items()}
        assert bool(title) == (f"Read as {title}." in done.notes)


@pytest.mark.parametrize("title", ["Open WebUI, feedback export", "evalica", "Search Arena", ""])
def test_tables_of_other_tools_are_ranked(tmp_path, title):
    import pandas as pd

    given, expected, *_ = CASES[title]
    path = tmp_path / "votes.json"
    write_array(path, given)
    found = ca.rank(path).to_dict()
    assert found["read"] == "votes"
    assert {row["model"] for row in found["models"]} == set(expected)
    assert ca.rank(pd.DataFrame(given)).to_dict()["models"] == found["models"]


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
    [
        (OPEN_WEBUI[:1], [("Hi?", 0, "Hey."), ("Hi?", 1, "Hello.")]),  # blue comes first by name
        (COMPARIA[:1], [("Ça va ?", 0, "Oui."), ("Ça va ?", 1, "Non.")]),
        (REACTIONS[3:5], [("Ça va ?", 0, "Par a."), ("Ça va ?", 1, "Par b.")]),
        (FASTCHAT[:2], [("Hi", 0, "A1"), ("Hi", 1, "B1")]),
        (SEARCH[:1], [("Q0", 0, "Hello"), ("Q0", 1, "Hey")]),
        (LABEL_STUDIO[:1], [("Q1?", 0, "Hello"), ("Q1?", 1, "Hey")]),
        (ARGILLA[:1], [("Q0?", 0, "Hello"), ("Q0?", 1, "Hey")]),
        (PANDA_LM[1:], [("Do 1.\n\nThis.", 0, "A"), ("Do 1.\n\nThis.", 1, "B")]),
        (CHOSEN[:1], [("Q0?", 0, "Poor."), ("Q0?", 1, "Good.")]),
    ],
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


def alpaca(number, preference, annotator="weighted_judge"):
    return {
        "instruction": f"Add {number}.",
        "output_1": "4",
        "generator_1": "base",
        "output_2": "5",
        "generator_2": "new",
        "annotator": annotator,
        "preference": preference,
    }


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
    write_array(path, [alpaca(n, 2, n % 2) for n in range(4)])  # their people are numbers
    done = import_files(store, [path])
    assert (done.votes, done.verdicts) == (4, 0)
    write_array(path, [alpaca(n, 2, f"judge {n % 2}") for n in range(4)])
    with pytest.raises(ca.ArenaError, match="verdicts of judge 0, judge 1, and no votes"):
        ca.rank(path)


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
