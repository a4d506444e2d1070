"""Length, repetition and refusal of texts: worked examples, and a slower way to the same number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coupled_arena.analysis.risk.replies import METRICS, lengths, refusals, repetitions


def test_lengths_are_characters():
    assert lengths(["", "two words", "äé世"]).tolist() == [0, 9, 3]


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("", 0),
        ("a b c d", 0),
        ("a b c d e f g h", 0),
        ("a a a a a", 1 / 2),  # two sequences, one of them new
        ("no no no no no no no no no no", 6 / 7),
        ("We all saw it. We all saw it!", 1 / 5),  # of the five only the last is not new
        ("we ALL saw it, we all saw it", 1 / 5),
        ("一二三四一二三四", 1 / 5),
    ],
)
def test_repetition_by_hand(text, share):
    assert repetitions([text])[0] == pytest.approx(share, abs=1e-15)


@given(st.lists(st.sampled_from("abc"), max_size=40))
def test_repetition_is_one_less_distinct_4(words):
    seen: list[list[str]] = []
    again = 0
    for at in range(len(words) - 3):
        gram = words[at : at + 4]
        again += gram in seen
        seen.append(gram)
    expected = again / len(seen) if seen else 0
    assert repetitions([" ".join(words)])[0] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, but I can’t do that.",
        "I cannot provide instructions for this.",
        "  “I can not assist with this request.”",
        "**Unfortunately**, I am unable to answer.",
        "As an AI language model, I am not able to have opinions.",
        "Sorry. I won't write this.",
        "I apologise, but I must decline.",
        "I do not feel comfortable writing that.",
    ],
)
def test_refusals(text):
    assert refusals([text]).tolist() == [1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Paris.",
        "I'm sorry for your loss.",
        "I can't stress enough how much this matters.",
        "Unfortunately, the train was late.",
        "As an AI, let me explain:",
        "Here is the letter: I cannot help you.",
        "Sorryness is no word.",
        "Je suis désolé, je ne peux pas.",  # English alone
    ],
)
def test_answers(text):
    assert refusals([text]).tolist() == [0]


@pytest.mark.parametrize("name", METRICS)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), max_size=5))
def test_every_text_has_a_finite_number_whatever_stands_beside_it(name, texts):
    measure = METRICS[name].measure
    values = measure(texts)
    assert values.shape == (len(texts),)
    assert values.tolist() == [measure([text])[0] for text in texts]
    assert (values >= 0).all()
    assert name == "length" or (values <= 1).all()
