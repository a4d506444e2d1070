"""The prompt library that comes with the program."""

from __future__ import annotations

from collections import Counter

from coupled_arena.core.prompts import read_library
from coupled_arena.core.records import Prompt
from coupled_arena.core.settings import resource

LIBRARY = read_library(resource("data/prompts.jsonl"))


def test_there_are_at_least_120_prompts_in_six_categories():
    counts = Counter(prompt.category for prompt in LIBRARY.prompts)
    assert set(counts) == {"writing", "reasoning", "maths", "coding", "facts", "advice"}
    assert min(counts.values()) >= 20
    assert sum(counts.values()) >= 120


def test_ids_and_texts_are_unique():
    assert len({prompt.id for prompt in LIBRARY.prompts}) == len(LIBRARY.prompts)
    assert len({prompt.text for prompt in LIBRARY.prompts}) == len(LIBRARY.prompts)


def test_a_prompt_of_the_library_is_recognised():
    first = LIBRARY.prompts[0]
    assert LIBRARY.identify(f" {first.text}\n") == first
    assert LIBRARY.identify("my own question") == Prompt("my own question")
    assert LIBRARY.of(first.category or "")[0] == first
