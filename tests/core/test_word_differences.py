"""Differences of texts, word by word."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from coupled_arena.core.word_differences import word_differences

TEXTS = st.text(alphabet="ab .,\né🐋", max_size=60)


def test_words_that_differ_are_marked_with_the_blanks_between_them():
    one, other = word_differences("The cat sat here.", "The big dog sat here!")
    assert one == [("The ", False), ("cat", True), (" sat here", False), (".", True)]
    assert other == [("The ", False), ("big dog", True), (" sat here", False), ("!", True)]


def test_equal_texts_differ_nowhere_and_an_empty_one_everywhere():
    assert word_differences("a b", "a b") == ([("a b", False)], [("a b", False)])
    assert word_differences("", "a b") == ([], [("a b", True)])


@given(TEXTS, TEXTS)
def test_parts_are_the_text_and_marks_alternate(one, other):
    for text, parts in zip((one, other), word_differences(one, other), strict=True):
        assert "".join(part for part, _ in parts) == text
        marks = [mark for _, mark in parts]
        assert all(a != b for a, b in pairwise(marks))


@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text):
    assert not any(mark for parts in word_differences(text, text) for _, mark in parts)


def test_a_long_text_is_compared_as_well():
    words = [f"w{number % 97}" for number in range(6000)]
    changed = [*words[:3000], "here", *words[3000:]]
    _, other = word_differences(" ".join(words), " ".join(changed))
    assert "".join(part for part, _ in other) == " ".join(changed)
