"""Votes from tools in which people annotate: Label Studio, Argilla, LangSmith.

Each project there has names of its own for models and answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from coupled_arena.core.vote_columns import outcome_of
from coupled_arena.store.transfer.vote_form import (
    PROMPTS,
    WORDS,
    Numbered,
    Row,
    VoteForm,
    at,
    each,
    first_of,
    items,
    number,
    record,
    text_of,
)

_MODELS = (
    ("model_a", "model_b"),
    ("model1", "model2"),
    ("model_1", "model_2"),
    ("model_a_name", "model_b_name"),
    ("left_model", "right_model"),
    ("model_left", "model_right"),
    ("generator_1", "generator_2"),
    ("response1_model", "response2_model"),
    ("response_a_model", "response_b_model"),
)
_TEXTS = (
    ("response_a", "response_b"),
    ("response1", "response2"),
    ("response_1", "response_2"),
    ("response-1", "response-2"),
    ("answer1", "answer2"),
    ("answer_a", "answer_b"),
    ("answer_1", "answer_2"),
    ("output_1", "output_2"),
    ("generation-0", "generation-1"),
    ("text1", "text2"),
    ("left", "right"),
)


_SIDES = ("model_a", "model_b")


@dataclass(frozen=True)
class _Shown:
    """What an annotator was shown: two names, the fields of their answers, and the row so far."""

    row: Row
    fields: tuple[str, str] | None

    def outcome(self, word: Any) -> str | None:
        """Return what an annotator's word means; None where it says nothing of who won."""
        said = text_of(word)
        names = (text_of(self.row["model_a"]), text_of(self.row["model_b"]))
        for side, own in zip(_SIDES, zip(names, self.fields or names, strict=True), strict=True):
            if said and said in own:
                return side
        if side := WORDS.get(said.lower()):
            return side
        return said if outcome_of(said) else None


def _shown(data: Row) -> _Shown:
    """Return what stands in the data of a task.

    Raises
    ------
    ValueError
        Nothing there names two models.
    """
    models = next((pair for pair in _MODELS if all(text_of(data.get(n)) for n in pair)), None)
    if models is None:
        raise ValueError(f"nothing names the two models; its data are {', '.join(data)}")
    fields = next((pair for pair in _TEXTS if set(pair) <= data.keys()), None)
    first, second = fields or ("", "")
    row = {
        "model_a": data[models[0]],
        "model_b": data[models[1]],
        "prompt": first_of(data, *PROMPTS),
        "response_a": data.get(first),
        "response_b": data.get(second),
    }
    return _Shown(row, fields)


def _label_studio(row: Row) -> Iterator[Row]:
    made = [record(each) for each in items(row.get("annotations"))]
    votes = [one for one in made if not one.get("was_cancelled")]
    if not votes:
        return
    shown = _shown(record(row.get("data")))
    for vote in votes:
        values = [at(result, "value") for result in items(vote.get("result"))]
        picked = [at(value, "selected") for value in values if at(value, "selected")]
        chosen = [word for value in values for word in items(at(value, "choices"))]
        words = (shown.outcome(word) for word in picked or chosen)
        if winner := next((word for word in words if word), None):
            yield {
                **shown.row,
                "winner": winner,
                "question_id": row.get("id"),
                "voter": first_of(vote, "completed_by.id", "completed_by"),
                "timestamp": vote.get("created_at"),
            }


def _label_studio_min(row: Row) -> Iterator[Row]:
    picked: list[Any] = []
    for value in row.values():
        picked += [at(one, "selected") for one in items(value) or [value] if at(one, "selected")]
    if picked:
        shown = _shown(row)
        yield {
            **shown.row,
            "winner": shown.outcome(picked[0]) or picked[0],
            "question_id": row.get("id"),
            "voter": row.get("annotator"),
            "timestamp": row.get("created_at"),
        }


def _argilla(row: Row) -> Iterator[Row]:
    """Yield a row a person and question that names one of the two answers, or ranks them."""
    data = {**row, **record(row.get("fields")), **record(row.get("metadata"))}
    given = list(_argilla_responses(row))
    if not given:
        return
    shown = _shown(data)
    for person, value in given:
        if winner := _argilla_winner(shown, value):
            yield {
                **shown.row,
                "winner": winner,
                "question_id": first_of(row, "id", "external_id"),
                "voter": person,
            }


def _argilla_responses(row: Row) -> Iterator[tuple[Any, Any]]:
    """Yield who answered a question, and what, in the forms of both versions."""
    for name, value in row.items():
        if name.endswith(".responses"):  # 2, flat
            people, statuses = (items(row.get(f"{name}.{of}")) for of in ("users", "status"))
            for n, said in enumerate(items(value)):
                if n >= len(statuses) or statuses[n] in (None, "submitted"):
                    yield people[n] if n < len(people) else None, said
        elif name == "responses":  # 2
            for answers in record(value).values():
                yield from ((at(one, "user_id"), at(one, "value")) for one in items(answers))
        else:  # 1
            for one in map(record, items(value)):
                if one.get("status") == "submitted":
                    yield one.get("user_id"), one.get("value")


def _argilla_winner(shown: _Shown, value: Any) -> str | None:
    ranked = items(value)
    if not ranked:
        return shown.outcome(value)
    ranks: dict[str | None, float | None] = {}
    for n, one in enumerate(ranked):
        placed = record(one)
        ranks[shown.outcome(placed.get("value", one))] = number(placed.get("rank", n))
    first, second = ranks.get("model_a"), ranks.get("model_b")
    if first is None or second is None:
        return None
    return "tie" if first == second else "model_a" if first < second else "model_b"


def _langsmith(row: Row) -> Iterator[Row]:
    score = number(first_of(row, "pairwise_preference", "ranked_preference", "preference"))
    if score is None:
        return
    if not 0 <= score <= 1:
        raise ValueError(f"preference {score:g} is not from 0 to 1")
    yield {
        "question_id": row.get("example_id"),
        "model_a": row.get("experiment_a"),
        "model_b": row.get("experiment_b"),
        "winner": "tie" if score == 0.5 else "model_a" if score > 0.5 else "model_b",
        "voter": first_of(row, "reviewer", "user", "annotator"),
        "prompt": first_of(row, "input", "inputs"),
    }


def _langsmith_feedback(rows: Iterable[Numbered]) -> Iterator[tuple[int, Row | str]]:
    """Yield a vote a group of feedback: a run a model, the higher score wins."""
    groups: dict[tuple[str, str], list[Numbered]] = {}
    for line, row in rows:
        group = text_of(row.get("feedback_group_id"))
        if group and number(row.get("score")) is not None:
            groups.setdefault((group, text_of(row.get("key"))), []).append((line, row))
    for (group, _), found in groups.items():
        (line, one), *others = found
        for beside, other in others:
            yield beside, ""
            first, second = sorted((one, other), key=lambda row: text_of(row.get("session_id")))
            ahead = (number(first.get("score")) or 0) - (number(second.get("score")) or 0)
            yield (
                line,
                {
                    "question_id": group,
                    "model_a": first.get("session_id"),
                    "model_b": second.get("session_id"),
                    "winner": "tie" if not ahead else "model_a" if ahead > 0 else "model_b",
                    "voter": first_of(one, "feedback_source.user_id", "feedback_source.type"),
                    "timestamp": one.get("created_at"),
                },
            )


_ARGILLA_VOTE = (
    "A vote is a submitted response that names one of the two answers, or ranks both. "
    "Export again once people have submitted some."
)
_TASK = {"model_a": "model1, model_a, …", "model_b": "model2, model_b, …", "prompt": "prompt"}


FORMS = (
    VoteForm(
        "Label Studio, JSON",
        ("data", "annotations.result"),
        {
            **_TASK,
            "question_id": "id",
            "winner": "annotations",
            "voter": "annotations",
            "prompt": "data",
        },
        each(_label_studio),
        "A vote is an annotation with a side or a choice that nobody cancelled. "
        "Export again once people have annotated the tasks.",
        bare=("data", "annotations"),
    ),
    VoteForm(
        "Label Studio, JSON-MIN and CSV",
        ("annotation_id", "annotator", "*.selected"),
        {**_TASK, "question_id": "id", "winner": "the pairwise control", "voter": "annotator"},
        each(_label_studio_min),
        "A vote has a side in its pairwise control, as selected.",
    ),
    VoteForm(
        "Argilla 2, records",
        ("fields", "responses", "metadata"),
        {**_TASK, "question_id": "id", "winner": "responses", "voter": "responses"},
        each(_argilla),
        _ARGILLA_VOTE,
    ),
    VoteForm(
        "Argilla 1, data set",
        ("metadata", "*.status", "*.user_id", "*.value"),
        {**_TASK, "question_id": "external_id", "winner": "a question", "voter": "a question"},
        each(_argilla),
        _ARGILLA_VOTE,
        bare=("metadata", "external_id", "*-suggestion-metadata"),
    ),
    VoteForm(
        "LangSmith, pairs of experiments",
        ("experiment_a", "experiment_b", "example_id"),
        {
            "question_id": "example_id",
            "model_a": "experiment_a",
            "model_b": "experiment_b",
            "winner": "pairwise_preference or ranked_preference or preference",
            "prompt": "input or inputs",
        },
        each(_langsmith),
        "A vote has pairwise_preference, ranked_preference or preference, from 0 to 1.",
    ),
    VoteForm(
        "LangSmith, feedback",
        ("feedback_group_id", "comparative_experiment_id", "session_id", "score"),
        {
            "question_id": "feedback_group_id",
            "model_a": "session_id",
            "model_b": "session_id",
            "winner": "score",
            "voter": "feedback_source",
            "timestamp": "created_at",
        },
        _langsmith_feedback,
        "A vote is a feedback_group_id with the scores of two runs for the same key.",
    ),
    VoteForm(
        "Argilla 2, flat records",
        ("*.responses", "*.responses.users"),
        {**_TASK, "question_id": "id", "winner": "*.responses", "voter": "*.responses.users"},
        each(_argilla),
        _ARGILLA_VOTE,
        bare=("id", "status", "_server_id"),
    ),
)
