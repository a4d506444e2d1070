"""Small files as other tools write them: three models, and the wins counted by hand."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd


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


def controls(number, **picked):
    """Return a task with a control of each name: Pairwise for `left` and `right` in upper case."""
    found = task(number, "")
    found["annotations"][0]["result"] = [
        {"from_name": name, "value": {"selected": word.lower()}}
        if word.isupper()
        else {"from_name": name, "value": {"choices": [word]}}
        for name, word in picked.items()
    ]
    return found


LABEL_STUDIO = [
    task(1, "left"),
    task(2, "right"),
    task(3, "right"),
    task(4, "left", was_cancelled=True),
    task(5, "tie", kind="choices"),
    {"id": 6, "data": {}, "annotations": []},
]
LABEL_STUDIO_0 = [
    {("completions" if name == "annotations" else name): each for name, each in row.items()}
    for row in LABEL_STUDIO
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


def exported(number, **picked):
    """Return a row of JSON-MIN with a control of each name, as `controls` does."""
    own = {name: value for name, value in LABEL_STUDIO_MIN[0].items() if name != "pw"}
    return {
        **own,
        "id": number,
        "prompt": f"Q{number}?",
        "answer1": "Hello",
        "answer2": "Hey",
        **{
            name: [{"selected": word.lower()}] if word.isupper() else word
            for name, word in picked.items()
        },
    }


NAMED = {"model_a": "red", "model_b": "blue"}


def record(number, *, status=None, **answers):
    """Return a record of Argilla 2 with one person's answer to each question."""
    more = {"status": status} if status else {}
    return {
        "id": f"r{number}",
        "fields": {"prompt": f"Q{number}?", "response1": "Hello", "response2": "Hey"},
        "metadata": NAMED,
        "responses": {
            name: [{"value": value, "user_id": "ann", **more}] for name, value in answers.items()
        },
    }


ARGILLA = [
    {
        "id": f"r{n}",
        "status": "completed",
        "fields": {"prompt": f"Q{n}?", "response1": "Hello", "response2": "Hey"},
        "metadata": NAMED,
        "suggestions": {},
        "responses": {"preference": [{"value": value, "user_id": "ann"}]},
    }
    for n, value in enumerate(["response1", "response2", ["response2", "response1"], None, "tie"])
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
    "Label Studio, JSON before 1.0": (LABEL_STUDIO_0, {"red": 1.5, "blue": 2.5}, 4, 2),
    "Label Studio, JSON-MIN and CSV": (LABEL_STUDIO_MIN, {"red": 1, "blue": 2}, 3, 0),
    "Argilla 2, records": (ARGILLA, {"red": 1.5, "blue": 2.5}, 4, 1),
    "Argilla 2, flat records": (ARGILLA_FLAT, {"red": 1, "blue": 2}, 3, 0),
    "Argilla 1, data set": (ARGILLA_1, {"red": 1.5, "blue": 1.5}, 3, 0),
    "LangSmith, pairs of experiments": (LANGSMITH, {"red": 1.5, "blue": 2.5}, 4, 1),
    "LangSmith, feedback": (FEEDBACK, {"red": 1.5, "blue": 2.5}, 4, 1),
    "PandaLM, people's labels": (PANDA_LM, {"red": 2.5, "blue": 3.5}, 6, 0),
    "Preferences with models": (CHOSEN, {"red": 1.5, "blue": 1.5}, 3, 0),
}


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


def write_repr(path, given):
    """Write a CSV with nested values in Python's spelling, as pandas does."""
    pd.DataFrame(given).astype(object).to_csv(path, index=False)


def write_arrays(path, given):
    """Write a CSV with lists of objects as arrays, which print no commas."""
    spelled = [
        {k: str(np.array(v)) if isinstance(v, list) else v for k, v in row.items()} for row in given
    ]
    write_repr(path, spelled)


def write_flat(path, given):
    """Write columns `a.b` in the place of objects."""
    path.write_text(pd.json_normalize(given).to_json(orient="records"), encoding="utf-8")
