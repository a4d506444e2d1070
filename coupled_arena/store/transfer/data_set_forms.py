"""Votes in published data sets and in what packages for pairwise comparisons take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from coupled_arena.store.transfer.vote_form import (
    PROMPTS,
    Row,
    VoteForm,
    at,
    each,
    first_of,
    flag,
    items,
    number,
    ordered,
    renamed,
    text_of,
)


def _panda_lm(row: Row) -> Iterator[Row]:
    names = text_of(row.get("cmp_key")).split("_")
    if len(names) != 2:
        raise ValueError("cmp_key must be two models with _ between them")
    asked = [text_of(row.get(name)) for name in ("instruction", "input")]
    for name, value in row.items():
        if re.fullmatch(r"annotator\d+|label_\d+", name) and (mark := number(value)) is not None:
            if mark not in (0, 1, 2):
                raise ValueError(f"{name} is {value!r} (0, 1 and 2 are known)")
            yield {
                "question_id": first_of(row, "idx", "index"),
                "model_a": names[0],
                "model_b": names[1],
                "winner": ("tie", "model_a", "model_b")[int(mark)],
                "voter": name,
                "prompt": "\n\n".join(filter(None, asked)),
                "response_a": row.get("response1"),
                "response_b": row.get("response2"),
            }


def _chosen(row: Row) -> Iterator[Row]:
    for way in ("chosen", "rejected"):
        if isinstance(row.get(f"{way}_model"), (list, dict)):
            raise ValueError(f"{way}_model is no name")
    better, worse = (text_of(row.get(f"{way}_model")) for way in ("chosen", "rejected"))
    if not better or not worse:
        return
    texts = {better: _last(row.get("chosen")), worse: _last(row.get("rejected"))}
    shared = {
        "question_id": first_of(row, "prompt_id", "id"),
        "prompt": first_of(row, *PROMPTS),
        "voter": first_of(row, "annotator", "voter"),
    }
    tied = flag(row.get("tie_is_common"))
    found = ordered(shared, better, worse, texts)
    yield {**found, "winner": "tie"} if tied else found


def _last(answer: Any) -> Any:
    """Return an answer, or what was said last where it is a conversation."""
    said = items(answer)
    return at(said[-1], "content") if said and isinstance(said[-1], dict) else answer


def _sided(columns: Mapping[str, str]) -> Callable[[Row], Iterator[Row]]:
    """Return what reads rows of `left` and `right`: models, or answers of models named beside."""
    read = renamed(columns)

    def with_answers(row: Row) -> Iterator[Row]:
        answers = row.get("left"), row.get("right")
        for found in read(row):
            if (found["model_a"], found["model_b"]) != answers:
                found |= {"response_a": answers[0], "response_b": answers[1]}
                if answers.count(found["winner"]) == 1:
                    found["winner"] = ("model_a", "model_b")[answers.index(found["winner"])]
            yield found

    return with_answers


_EVALICA = {
    "question_id": "id",
    "model_a": "left_model or model_left or left",  # else `left` is an answer
    "model_b": "right_model or model_right or right",
    "winner": "winner",
    "voter": "worker",
    "prompt": "prompt",
}
_CROWD_KIT = {
    "question_id": "task or question",
    "model_a": "left_model or model_left or left",
    "model_b": "right_model or model_right or right",
    "winner": "label",
    "voter": "worker",
}

FORMS = (
    VoteForm(
        "evalica",
        ("left", "right", "winner"),
        _EVALICA,
        each(_sided(_EVALICA)),
        "A vote has a winner: left, right or tie.",
    ),
    VoteForm(
        "crowd-kit",
        ("left", "right", "label"),
        _CROWD_KIT,
        each(_sided(_CROWD_KIT)),
        "A vote has a label: left, right, or one of the two names there.",
    ),
    VoteForm(
        "PandaLM, people's labels",
        ("cmp_key", "response1", "response2"),
        {
            "question_id": "idx",
            "model_a": "cmp_key",
            "model_b": "cmp_key",
            "winner": "annotator1, annotator2, annotator3",
            "voter": "annotator1, annotator2, annotator3",
            "prompt": "instruction and input",
            "response_a": "response1",
            "response_b": "response2",
        },
        each(_panda_lm),
        "A vote is 0, 1 or 2 in annotator1 or another column of that name and a number.",
    ),
    VoteForm(
        "Preferences with models",
        ("chosen_model", "rejected_model"),
        {
            "question_id": "prompt_id or id",
            "model_a": "chosen_model and rejected_model",
            "winner": "chosen_model",
            "voter": "annotator",
            "prompt": "prompt or instruction",
            "response_a": "chosen and rejected",
        },
        each(_chosen),
        "A vote has both chosen_model and rejected_model.",
    ),
)
