"""The quiz that ships: its questions have right answers, and no place is the better guess."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from coupled_arena.tasks.registry import TASKS

QUIZ = Path(__file__).resolve().parents[2] / "data" / "quiz.jsonl"


@pytest.fixture(scope="module")
def items():
    return TASKS["quiz"].read(QUIZ)


def test_the_registry_knows_each_task_by_its_name():
    assert list(TASKS) == ["mmlu", "gsm8k", "humaneval", "quiz"]
    assert all(task.name == name and task.max_new_tokens > 0 for name, task in TASKS.items())


def test_fifty_questions_of_each_category(items):
    assert set(Counter(item.prompt.category for item in items).values()) == {50}
    assert len(items) == 300
    assert len({item.prompt.text for item in items}) == 300


def test_the_right_choice_stands_first_as_often_as_second(items):
    first = Counter(
        (item.prompt.category, item.choices.index(item.reference)) for item in items if item.choices
    )
    assert len(first) == 10
    assert set(first.values()) == {25}


def test_both_choices_are_offered_in_their_order(items):
    for item in items:
        if item.choices:
            quoted = [f'"{choice}"' for choice in item.choices]
            assert item.prompt.text.endswith(f"{quoted[0]} or {quoted[1]}?")


def test_sums_and_comparisons_are_right(items):
    work = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
    pick = {"larger": max, "smaller": min}
    for item in items:
        words = item.prompt.text.replace('"', "").replace(",", "").strip("?").split()
        if item.prompt.category == "sums":
            assert int(item.reference) == work[words[3]](int(words[2]), int(words[4]))
            assert item.prompt.prefix == f"{words[2]} {words[3]} {words[4]} ="
        elif item.prompt.category == "numbers":
            assert int(item.reference) == pick[words[3]](int(words[4]), int(words[6]))


def test_the_reference_is_scored_right_and_the_other_choice_wrong(items):
    quiz = TASKS["quiz"]
    for item in items:
        wrong = next((c for c in item.choices if c != item.reference), "1000")
        assert quiz.score(item, f'{item.reference}". And then').score == 1
        assert quiz.score(item, f'{wrong}", not {item.reference}').score == 0
        assert quiz.score(item, "") == quiz.score(item, "who knows?")
        assert quiz.score(item, "").read is None


def test_prefixes_end_in_no_space_and_leave_the_answer_open(items):
    for item in items:
        assert item.prompt.prefix == item.prompt.prefix.rstrip()
        assert item.prompt.prefix.endswith(("=", '"'))
