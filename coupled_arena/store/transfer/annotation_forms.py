"""Votes from tools in which people annotate: Label Studio, Argilla, LangSmith.

Each project there has names of its own for models and answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, NamedTuple

from coupled_arena.core.records import Outcome
from coupled_arena.core.vote_columns import TWO_MEANINGS, outcome_of
from coupled_arena.store.transfer.vote_form import (
    NO_VOTE,
    PROMPTS,
    WORDS,
    Ballot,
    Numbered,
    Reader,
    Row,
    Said,
    Tally,
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
_TURNED: dict[str | None, str] = {"model_a": "model_b", "model_b": "model_a"}
_DATA = frozenset(chain(PROMPTS, *_MODELS, *_TEXTS))
_LONGEST = 200  # characters of a word for a winner, or of a model's name; a text is no such word


class _Answer(NamedTuple):
    """What somebody answered to a question; see `Tally`."""

    question: str
    value: Any
    pairwise: bool = False
    certain: bool = True
    shown: tuple[str, ...] = ()  # what stood at the left and at the right, where that is told


@dataclass(frozen=True)
class _Sheet:
    """What one person answered about one row."""

    answers: list[_Answer]
    voter: Any
    timestamp: Any = None


class _Shown:
    """What an annotator was shown: two names, and the fields of their answers."""

    def __init__(self, row: Row, data: Row, said: Said) -> None:
        self._data, self._words = data, said.words
        found = (pair for pair in _MODELS if all(text_of(data.get(name)) for name in pair))
        named = [data[name] for name in next(found, ())]
        if any(said.sides):
            told = [at(row, path) if path else None for path in said.sides]
            named = [each or name for each, name in zip(told, named or ("", ""), strict=True)]
        self._models = named if all(map(text_of, named)) else []
        self._fields = next((pair for pair in _TEXTS if set(pair) <= data.keys()), ())

    def row(self) -> Row:
        """Return what the data of a task say.

        Raises
        ------
        ValueError
            Nothing there names two models.
        """
        data = self._data
        if not self._models:
            raise ValueError(f"nothing names the two models; its data are {', '.join(data)}")
        first, second = self._fields or ("", "")
        return {
            "model_a": self._models[0],
            "model_b": self._models[1],
            "prompt": first_of(data, *PROMPTS),
            "response_a": data.get(first),
            "response_b": data.get(second),
        }

    def winner(self, answers: list[_Answer], tallies: Mapping[str, Tally]) -> str:
        """Return who won by one person's answers, or their words where nobody knows these.

        Raises
        ------
        ValueError
            They have two meanings.
        """
        given = [answer for answer in answers if answer.pairwise] or answers
        said = ", ".join(text_of(answer.value) for answer in given)
        meanings = (self.meaning(answer, ranks=tallies[answer.question].ranks) for answer in given)
        found = {meant for meant in meanings if meant}
        if len(found) > 1:
            raise ValueError(f"winner {_short(said)} has more than one meaning")
        return found.pop() if found else said

    def by_name(self, answer: _Answer) -> bool:
        """Return whether an answer is the name of one of the two models."""
        return self._named(text_of(answer.value)) is not None

    def meaning(self, answer: _Answer, *, ranks: bool = True) -> str | None:
        """Return what an answer says of who won; None where it says nothing of that.

        Parameters
        ----------
        ranks : bool
            A list of words is an order.

        Raises
        ------
        ValueError
            It has two meanings.
        """
        if answer.pairwise:
            side = WORDS.get(text_of(answer.value).lower())
            shown, fields = (tuple(map(_plain, names)) for names in (answer.shown, self._fields))
            return _TURNED.get(side, side) if fields and shown == fields[::-1] else side
        ranked = items(answer.value) or _listed(answer.value)
        if not ranked[1:]:
            return self._word(text_of(ranked[0] if ranked else answer.value))
        if not ranks and _words_of(answer):
            return None
        placed: dict[str | None, float | None] = {}
        for n, one in enumerate(ranked):
            given = record(one)
            placed[self._word(text_of(given.get("value", one)))] = number(given.get("rank", n))
        first, second = (placed.get(side) for side in _SIDES)
        if first is None or second is None:
            return None
        return "tie" if first == second else "model_a" if first < second else "model_b"

    def _named(self, word: str) -> str | None:
        names = [text_of(name) for name in self._models]
        return _side(word, names, str) or _side(word, names, str.lower)

    def _word(self, word: str) -> str | None:
        if len(word) > _LONGEST:
            return None
        if word.lower() in self._words:
            return self._words[word.lower()]
        meanings = {
            WORDS.get(word.lower()),
            self._named(word),
            _side(word, self._fields, _plain),
            _meant(word),
        } - {None}
        if len(meanings) > 1:
            raise ValueError(f"winner {_short(word)} {TWO_MEANINGS}")
        return next(iter(meanings), None)


def _words_of(answer: _Answer) -> list[str]:
    """Return an answer that is a list of words."""
    given = items(answer.value)
    return [text_of(one) for one in given] if not any(map(record, given)) else []


def _side(word: str, names: Collection[str], read: Callable[[str], str]) -> str | None:
    """Return which of two names a word is, None where it is neither or both."""
    found = [side for side, name in zip(_SIDES, names, strict=False) if read(name) == read(word)]
    return found[0] if len(found) == 1 else None


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()


def _meant(word: str) -> str | None:
    outcome = outcome_of(word)
    sides = {Outcome.FIRST: "model_a", Outcome.SECOND: "model_b"}
    return sides.get(outcome, outcome.value) if outcome else None


def _short(word: str) -> str:
    return f"'{word[:40]}'"


def _ballot(
    data: Callable[[Row], Row], sheets: Callable[[Row], Iterable[_Sheet]], *question_id: str
) -> Ballot:
    """Return how a form is read, of the data of a row and of what people answered about it."""

    def answered(row: Row) -> Iterator[tuple[_Sheet, dict[str, list[_Answer]]]]:
        for sheet in sheets(row):
            found: dict[str, list[_Answer]] = {}
            for answer in sheet.answers:
                if answer.value not in ([], {}) and text_of(answer.value).lower() not in NO_VOTE:
                    found.setdefault(answer.question, []).append(answer)
            yield sheet, found

    def tally(rows: Iterable[Numbered], said: Said) -> dict[str, Tally]:
        found: dict[str, Tally] = {}
        for _, row in rows:
            shown = _Shown(row, data(row), said)
            for question, answers in chain(*(by.items() for _, by in answered(row))):
                kind = Tally(pairwise=answers[0].pairwise, certain=answers[0].certain)
                here = found.setdefault(question, kind)
                _count(here, shown, answers)
        return found

    def read(questions: Mapping[str, Tally], said: Said) -> Reader:
        def rows(given: Iterable[Numbered]) -> Iterator[tuple[int, Row | str]]:
            for line, row in given:
                shown = _Shown(row, data(row), said)
                for sheet, by in answered(row):
                    asked = list(chain(*(by.get(question, ()) for question in questions)))
                    if asked:
                        key = first_of(row, *question_id)
                        yield line, _vote(shown, asked, questions, sheet, key)

        return rows

    return Ballot(tally, read)


def _count(tally: Tally, shown: _Shown, answers: list[_Answer]) -> None:
    meant: set[str | None] = set()
    for answer in answers:
        try:
            meant.add(shown.meaning(answer))
        except ValueError:  # a side, of which nobody knows the model
            meant.add(_SIDES[0])
    tally.answers += 1
    tally.known += meant != {None}
    tally.sides |= any(_meant(word) in _SIDES for word in meant if word)
    tally.named += meant != {None} and all(map(shown.by_name, answers))
    tally.lengths |= {len(words) for answer in answers if (words := _words_of(answer))}


def _vote(
    shown: _Shown,
    answers: list[_Answer],
    questions: Mapping[str, Tally],
    sheet: _Sheet,
    key: Any,
) -> Row | str:
    """Return a row, or the reason why there is none."""
    try:
        found = {**shown.row(), "winner": shown.winner(answers, questions)}
    except ValueError as error:
        return str(error)
    return {**found, "question_id": key, "voter": sheet.voter, "timestamp": sheet.timestamp}


def _label_studio(row: Row) -> Iterator[_Sheet]:
    for vote in map(record, items(row.get("annotations")) or items(row.get("completions"))):
        if not vote.get("was_cancelled"):
            results = map(record, items(vote.get("result")))
            answers = [
                _controls(text_of(one.get("from_name")), one.get("value"), one.get("to_name"))
                for one in results
            ]
            voter = first_of(vote, "completed_by.id", "completed_by")
            yield _Sheet(list(chain(*answers)), voter, vote.get("created_at"))


def _controls(name: str, value: Any, shown: Any = None) -> list[_Answer]:
    """Return what somebody picked in a control, if it is one of a side or of choices."""
    if side := at(value, "selected"):
        return [_Answer(name, side, pairwise=True, shown=tuple(text_of(shown).split(",")))]
    return [_Answer(name, word) for word in items(at(value, "choices"))]


_MIN = _DATA | {"id", "annotation_id", "annotator", "created_at", "updated_at", "lead_time"}


def _label_studio_min(row: Row) -> Iterator[_Sheet]:
    answers: list[_Answer] = []
    for name, value in row.items():
        inside = items(value) or [value]
        controls = list(chain(*(_controls(name, one) for one in inside)))
        if not controls and isinstance(value, str) and name not in _MIN:
            controls = [_Answer(name, value, certain=False)]  # a choice, or something of the task
        answers += controls
    yield _Sheet(answers, row.get("annotator"), row.get("created_at"))


def _argilla(row: Row) -> Iterator[_Sheet]:
    """Yield who answered a question, and what, in the forms of both versions."""
    for name, value in row.items():
        if name == "responses":  # 2
            yield from _argilla_responses(value)
        elif name.endswith(".responses"):  # 2, flat
            people, statuses = (items(row.get(f"{name}.{of}")) for of in ("users", "status"))
            question = name.removesuffix(".responses")
            for n, said in enumerate(items(value)):
                if n >= len(statuses) or statuses[n] in _SUBMITTED:
                    voter = people[n] if n < len(people) else None
                    yield _Sheet([_Answer(question, said)], voter)
        else:  # 1
            for one in _listed(value):
                if one.get("status") == "submitted":
                    yield _Sheet([_Answer(name, one.get("value"))], one.get("user_id"))


_SUBMITTED = (None, "submitted")


def _argilla_responses(value: Any) -> Iterator[_Sheet]:
    """Yield the answers of a record: by question, or a person at a time as the server has them."""
    for one in map(record, items(value)):
        if one.get("status") in _SUBMITTED:
            given = record(one.get("values"))
            answers = [_Answer(name, at(said, "value")) for name, said in given.items()]
            yield _Sheet(answers, one.get("user_id"))
    for question, given in record(value).items():
        for one in _listed(given):
            if one.get("status") in _SUBMITTED:
                yield _Sheet([_Answer(question, one.get("value"))], one.get("user_id"))


def _listed(value: Any) -> list[Row]:
    """Return a list of objects, also one that is written as an object of lists."""
    columns = {name: items(given) for name, given in record(value).items()}
    rows = max(map(len, columns.values()), default=0)
    turned = [{k: given[n] for k, given in columns.items() if n < len(given)} for n in range(rows)]
    return turned or [record(one) for one in items(value)]


def _argilla_data(row: Row) -> Row:
    return {**row, **record(row.get("fields")), **record(row.get("metadata"))}


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


_PERSON = ("feedback_source.user_id", "feedback_source.type")


def _tally_feedback(rows: Iterable[Numbered], _said: Said) -> dict[str, Tally]:
    """Return the keys of feedback; each group in which runs have scores for it is an answer."""
    found: dict[str, Tally] = {}
    for (_, key, _), given in _groups(rows).items():
        tally = found.setdefault(key, Tally(sides=True))
        tally.answers += 1
        tally.known += len(given) > 1
    return found


def _groups(rows: Iterable[Numbered]) -> dict[tuple[str, str, str], list[Numbered]]:
    """Return the scores of a group for a key by one person, who may stand beside others in it."""
    found: dict[tuple[str, str, str], list[Numbered]] = {}
    for line, row in rows:
        group = text_of(row.get("feedback_group_id"))
        if group and number(row.get("score")) is not None:
            key = group, text_of(row.get("key")), text_of(first_of(row, *_PERSON))
            found.setdefault(key, []).append((line, row))
    return found


def _langsmith_feedback(keys: Mapping[str, Tally], _said: Said) -> Reader:
    """Return what yields a vote for each two runs of a group of feedback: the higher score wins."""

    def rows(given: Iterable[Numbered]) -> Iterator[tuple[int, Row | str]]:
        for (group, key, _), found in _groups(given).items():
            if key not in keys or not found[1:]:
                continue
            yield found[0][0], ""
            # A pair is told of its later row: one row would reach its limit of votes.
            for (_, one), (line, other) in combinations(found, 2):
                yield line, _scored(group, one, other)

    return rows


def _scored(group: str, *pair: Row) -> Row:
    first, second = sorted(pair, key=lambda row: text_of(row.get("session_id")))
    ahead = (number(first.get("score")) or 0) - (number(second.get("score")) or 0)
    return {
        "question_id": group,
        "model_a": first.get("session_id"),
        "model_b": second.get("session_id"),
        "winner": "tie" if not ahead else "model_a" if ahead > 0 else "model_b",
        "voter": first_of(first, *_PERSON),
        "timestamp": first.get("created_at"),
    }


_LABEL_STUDIO = _ballot(lambda row: record(row.get("data")), _label_studio, "id")
_ARGILLA = _ballot(_argilla_data, _argilla, "id", "external_id")
_ARGILLA_VOTE = (
    "A vote is a submitted response that names one of the two answers, or ranks both. "
    "Export again once people have submitted some."
)
_LABEL_STUDIO_VOTE = (
    "A vote is what somebody picked in a Pairwise or Choices control. "
    "Cancelled annotations and other controls, such as Ranker and Rating, are not read."
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
        _LABEL_STUDIO,
        _LABEL_STUDIO_VOTE,
        bare=("data", "annotations"),
    ),
    VoteForm(
        "Label Studio, JSON before 1.0",
        ("data", "completions.result"),
        {
            **_TASK,
            "question_id": "id",
            "winner": "completions",
            "voter": "completions",
            "prompt": "data",
        },
        _LABEL_STUDIO,
        _LABEL_STUDIO_VOTE,
        bare=("data", "completions"),
    ),
    VoteForm(
        "Label Studio, JSON-MIN and CSV",
        ("annotation_id", "annotator", "lead_time"),
        {
            **_TASK,
            "question_id": "id",
            "winner": "a control",
            "voter": "annotator",
            "timestamp": "created_at",
        },
        _ballot(lambda row: row, _label_studio_min, "id"),
        f"{_LABEL_STUDIO_VOTE} Name another column with --map winner=COLUMN.",
        also=tuple(_DATA),
        caution="The left answer is taken for the first one. If toName has them in the other "
        "order, export JSON.",
    ),
    VoteForm(
        "Argilla 2, records",
        ("fields", "responses", "metadata"),
        {**_TASK, "question_id": "id", "winner": "responses", "voter": "responses"},
        _ARGILLA,
        _ARGILLA_VOTE,
        also=tuple(_DATA),
    ),
    VoteForm(
        "Argilla 1, data set",
        ("metadata", "*.status", "*.user_id", "*.value"),
        {**_TASK, "question_id": "external_id", "winner": "a question", "voter": "a question"},
        _ARGILLA,
        _ARGILLA_VOTE,
        bare=("metadata", "external_id", "*-suggestion-metadata"),
        also=tuple(_DATA),
    ),
    VoteForm(
        "LangSmith, pairs of experiments",
        ("experiment_a", "experiment_b", "example_id"),
        {
            "question_id": "example_id",
            "model_a": "experiment_a",
            "model_b": "experiment_b",
            "winner": "pairwise_preference or ranked_preference or preference",
            "voter": "reviewer or user or annotator",
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
            "winner": "key and score",
            "voter": "feedback_source",
            "timestamp": "created_at",
        },
        Ballot(_tally_feedback, _langsmith_feedback),
        "A vote is a feedback_group_id with the scores of two runs for the same key.",
    ),
    VoteForm(
        "Argilla 2, flat records",
        ("*.responses", "*.responses.users"),
        {**_TASK, "question_id": "id", "winner": "*.responses", "voter": "*.responses.users"},
        _ARGILLA,
        _ARGILLA_VOTE,
        bare=("id", "status", "_server_id"),
        also=tuple(_DATA),
    ),
)
