"""Whether an answer names a model: by the plain way, name for name, and as it is computed."""

from __future__ import annotations

import random
import re

import duckdb
import pytest

from coupled_arena.core import naming
from coupled_arena.core.naming import NameList
from coupled_arena.core.sql import value_of
from coupled_arena.store.tables.naming import LOW

LETTERS = naming._LATIN + naming._RUSSIAN
TABLES = tuple(naming._phrases().values())
PHRASES = [said for table in TABLES for kind in table.values() for said in kind]
NAMES = NameList(("gpt-#", "smollm", "гигачат"), ("claude", "通义", "model", "o#"))
PIECES = (
    *("gpt-4", "GPT4's", "SmolLM", "claude", "o1", "гигачат", "通义", "model", "modelled", "I"),
    *(" ", " ", " ", ", ", ". ", ".", "!", "\n", "\u3002", "_", "'", "x", "я", "7", "\0", " " * 60),
    *("a long way to go ", "."),
)


def told_plainly(names, answer, question):
    """Return what `NameList.name_in` does, each name by itself with the text around it."""
    low, asked = answer.lower(), question.lower()
    topical = any(pattern.search(asked) for _, _, pattern in names._certain)
    short = len(low.strip()) <= naming._SHORT
    for certain, patterns in ((True, names._certain), (False, names._ambiguous)):
        for _, _, pattern in patterns:
            about = pattern.search(asked) is not None
            for found in pattern.finditer(low):
                tells = certain and (not topical or (short and not about))
                if tells or introduced(low, found, right_before=about):
                    return answer[found.start() : found.end()]
    return None


def introduced(low, found, *, right_before):
    before = naming._ENDS.split(low[max(found.start() - 200, 0) : found.start()])[-1]
    after = naming._ENDS.split(low[found.end() : found.end() + 200])[0]
    sentence = f"{before} \0 {after}"
    for own, others, fill, speaks in PLAIN:
        if re.search(rf"{own}{fill}[\W_]*$", before):
            return True
        if not right_before and re.search(others, before) and re.search(speaks, sentence):
            return True
    return False


def any_of(phrases):
    words = (
        rf"(?<![{LETTERS}]){re.escape(said)}(?![{LETTERS}])"
        if re.match(f"[{LETTERS}]", said)
        else re.escape(said)
        for said in sorted(phrases, key=len, reverse=True)
    )
    return f"(?:{'|'.join(words)})"


PLAIN = [
    (
        any_of(table["self"]),
        any_of([*table["self"], *table["as"]]),
        rf"(?:[\W_]*{any_of(table['fill'])})*" if table["fill"] else "",
        any_of(table["is"]),
    )
    for table in TABLES
]


def drawn(draw):
    size = draw.randrange(40)
    return "".join(draw.choice(PIECES if draw.random() < 0.7 else PHRASES) for _ in range(size))


@pytest.mark.parametrize("seed", range(8))
def test_both_ways_find_the_same(seed):
    draw = random.Random(seed)
    found = 0
    for _ in range(150):
        question = draw.choice(("Hi?", "gpt-4?", "Claude or gpt-4?", "o1, gpt-4 or SmolLM?"))
        answer = drawn(draw)
        plain = told_plainly(NAMES, answer, question)
        assert NAMES.name_in(answer, question) == plain, (answer, question)
        found += plain is not None
    assert 20 < found < 140


def test_duckdb_passes_over_no_answer_with_a_word():
    words = ("AI21", "T#", "Claude", "Meta AI", "Клод", "通义", "Aya")
    names, draw = NameList((), words), random.Random(4)
    pieces = ("AI21", "ai-21", "t5", "T٤", "claude", "Claude’s", "meta.ai", "клод", "通义", "Aya")
    between = (" ", "", "\n", "é", "İ", "я", "義", "1", "_", "'s", "s", "x")
    texts = ["".join(map(draw.choice, [between, pieces, between])) for _ in range(3000)]
    found = f"select list_transform($texts, lambda text: regexp_matches({LOW}, $hint))"
    likely = value_of(duckdb.connect(), found, {"texts": texts, "hint": names.word_hint})
    for text, passed in zip(texts, likely, strict=True):
        low = text.lower()
        assert passed or not any(pattern.search(low) for _, _, pattern in names._ambiguous), text
    assert 200 < likely.count(False) < 2000  # and the search is worth its time


@pytest.mark.parametrize("text", ["gpt-4 ", "as gpt-4 ", "i am told gpt-4 is gpt-4 "])
def test_the_question_is_searched_once(text):
    """For each name it was searched from its beginning: 11 s for 4,000 names."""

    class Pattern:
        def __init__(self, pattern):
            self.pattern, self.searched = pattern, 0

        def search(self, text):
            self.searched += 1
            return self.pattern.search(text)

        def finditer(self, text):
            return self.pattern.finditer(text)

    names = NameList(("gpt-#",), ())
    ((hint, name, pattern),) = names._certain
    counting = Pattern(pattern)
    names.__dict__["_certain"] = ((hint, name, counting),)
    assert names.name_in(text * 4000, "Is gpt-4 good?" + " x" * 20_000) is None
    assert counting.searched == 2
