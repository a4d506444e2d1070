"""What is read from an answer, on answers as models give them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coupled_arena.core.records import Prompt
from coupled_arena.tasks.gsm8k import Gsm8k, read_number
from coupled_arena.tasks.mmlu import Mmlu, read_letter
from coupled_arena.tasks.quiz import Quiz, QuizItem, read_choice
from coupled_arena.tasks.task import Graded, Item

NUMBERS = [
    ("18", "18"),
    ("18.", "18"),
    ("She makes $18 every day.", "18"),
    ("$1,234.50.", "1234.50"),
    ("1,000,000", "1000000"),
    ("1,2,3", "3"),
    ("-5", "-5"),
    ("= \N{MINUS SIGN}5", "-5"),
    ("-$5", "-5"),
    ("$-5", "-5"),
    ("(-3)", "-3"),
    ("10-15", "15"),
    ("what is left of 10 - 4", "4"),
    ("x-5", "5"),
    (".5", "0.5"),
    ("50%", "50"),
    ("18 dollars", "18"),
    ("18km", "18"),
    ("3/4", "3/4"),
    ("4/0", "4"),
    ("3 + 4 = 7", "7"),
    ("3 + 4 = <<3+4=7>>7\n#### 1,450", "1450"),
    (r"\boxed{7}", "7"),
    ("**42**", "42"),
    ("eighteen", None),
    ("", None),
    ("1" * 100_000, None),
]


@pytest.mark.parametrize(("text", "number"), NUMBERS, ids=lambda value: str(value)[:20])
def test_the_last_number(text, number):
    assert read_number(text) == number


@pytest.mark.parametrize(
    ("reply", "score"), [("1450.00", 1), ("$1,450", 1), ("14.50", 0), ("1450/1", 1), ("?", 0)]
)
def test_numbers_are_compared_by_value(reply, score):
    assert Gsm8k().score(Item(Prompt("Q"), "1450"), reply).score == score


@given(st.integers(-(10**12), 10**12))
def test_every_whole_number_is_read_back_with_or_without_commas(number):
    for text in (f"{number}", f"{number:,}", f"The result is {number:,}.", f"= {number}\n"):
        assert read_number(text) == str(number)


LETTERS = [
    ("B", "B"),
    (" B.", "B"),
    ("b", "B"),
    ("(C)", "C"),
    ("**D**", "D"),
    ("A) Paris", "A"),
    ("A\nbecause it is", "A"),
    ("A is right", "A"),
    ("The answer is B.", "B"),
    ("Answer: (A)", "A"),
    ("The correct option is D: none", "D"),
    ("I think C", "C"),
    ("A dog barks", None),
    ("I think B or C", None),
    ("ABCD", None),
    ("B's", None),
    ("E", None),
    ("", None),
]


@pytest.mark.parametrize(("reply", "letter"), LETTERS)
def test_the_letter(reply, letter):
    assert read_letter(reply) == letter


def test_an_unreadable_letter_is_kept_as_such():
    item = Item(Prompt("Q"), "B")
    assert Mmlu().score(item, "B") == Graded(1, "B")
    assert Mmlu().score(item, "D") == Graded(0, "D")
    assert Mmlu().score(item, "no idea") == Graded(0, None)


BEGUN = [
    (Mmlu(), "Not A, the answer is", " B.", "B"),
    (Mmlu(), "The answer is", " A as said", "A"),  # by itself it would begin a sentence
    (Mmlu(), "The answer is (", "C)", "C"),
    (Mmlu(), "I say A or", " not", None),
    (Mmlu(), "I say A, not", " that B", "B"),
    (Gsm8k(), "That makes -", "5", "-5"),
    (Gsm8k(), "That makes 1", "0", "10"),
    (Gsm8k(), "Of 12 there are", " 7.", "7"),
    (Gsm8k(), "Of 12 there are", " seven.", None),
    (Quiz(), "Of 12 there are", " 7 or 8", "7"),
    (Quiz(), "It is not", " 3", "3"),
]


@pytest.mark.parametrize(("task", "prefix", "reply", "read"), BEGUN)
def test_the_beginning_of_an_answer_belongs_to_it_and_gives_none(task, prefix, reply, read):
    assert task.score(Item(Prompt("Q", prefix=prefix), "1"), reply).read == read


def test_a_choice_may_end_a_word_that_was_begun_otherwise():
    item = QuizItem(Prompt("Q", prefix="Not cold but un"), "happy", ("happy", "cold"))
    assert Quiz().score(item, "happy") == Graded(0, None)
    assert Quiz().score(item, "cooked, happy") == Graded(1, "happy")


CHOICES = [
    (" hot.", "hot"),
    (" COLD", "cold"),
    (" cold, not hot", "cold"),
    (" shotgun", None),
    (" not known", None),
    ("", None),
]


@pytest.mark.parametrize(("reply", "choice"), CHOICES)
def test_the_choice_named_first(reply, choice):
    assert read_choice(reply, ("hot", "cold")) == choice


def test_of_choices_that_begin_alike_the_longer_is_read():
    assert read_choice(" New York", ("New", "New York")) == "New York"
    assert read_choice(" a c+ grade", ("c+", "c")) == "c+"


def test_a_quiz_answer_is_the_first_number():
    item = QuizItem(Prompt("What is 3 + 4?"), "7")
    assert Quiz().score(item, " 7. 3 + 4 = 8") == Graded(1, "7")
    assert Quiz().score(item, " 8, not 7") == Graded(0, "8")
    assert Quiz().score(item, " seven") == Graded(0, None)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_reply_is_scored(reply):
    for task, reference in ((Mmlu(), "A"), (Gsm8k(), "1")):
        graded = task.score(Item(Prompt("Q"), reference), reply)
        assert graded.score in (0, 1)
        assert graded.score == 0 or graded.read is not None
