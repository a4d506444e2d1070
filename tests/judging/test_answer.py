"""An answer is a verdict only if it is nothing else."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coupled_arena.core.verdicts import Probabilities
from coupled_arena.judging import answer
from coupled_arena.judging.answer import (
    GRADE,
    VERDICT,
    VERDICT_OR_BOTH_BAD,
    label_probabilities,
    probabilities_of,
    read_label,
    read_reason,
)

THREE = VERDICT.labels


@pytest.mark.parametrize("label", VERDICT_OR_BOTH_BAD.labels)
@pytest.mark.parametrize(
    "form",
    ['{"verdict": "%s"}', '{"verdict":"%s"}', ' \n{\n  "verdict": "%s"\n}\n', "```json\n%s\n```"],
)
def test_verdicts(label, form):
    raw = form % (json.dumps({"verdict": label}) if "```" in form else label)
    assert read_label(raw, VERDICT_OR_BOTH_BAD) == label


WITH_REASON = replace(VERDICT, reasons=True)


@pytest.mark.parametrize(
    "raw",
    [
        '{"reason": "B \\"wins\\", {\\"verdict\\": \\"B\\"}", "verdict": "A"}',
        '{"verdict": "A", "reason": ""}',
        '```json\n{"reason": "It is right.", "verdict": "A"}\n```',
        '{"verdict": "A"}',
    ],
)
def test_a_reason_beside_the_verdict_where_it_was_asked_for(raw):
    assert read_label(raw, WITH_REASON) == "A"
    assert read_label(raw, VERDICT) == ("A" if "reason" not in raw else None)


@pytest.mark.parametrize(
    "raw",
    [
        '{"reason": "x"}',
        '{"reason": "x", "reason": "y"}',
        '{"reason": ["x"], "verdict": "A"}',
        '{"reason": "x", "verdict": "A", "verdict": "B"}',
        '{"reason": "x", "reason": "y", "verdict": "A"}',
        '{"why": "x", "verdict": "A"}',
        '[["reason", "x"], ["verdict", "A"]]',
        '[["verdict", "A"]]',
        'Because. {"reason": "x", "verdict": "A"}',
    ],
)
def test_a_reason_makes_nothing_else_a_verdict(raw):
    assert read_label(raw, WITH_REASON) is None


def test_the_reason_of_an_answer():
    assert read_reason('{"reason": " It <b>is</b>. ", "verdict": "A"}') == "It <b>is</b>."
    for raw in ('{"verdict": "A"}', "Because.", "[]", '{"reason": 1}', '{"reason": " "}', "7"):
        assert read_reason(raw) is None
    assert list(WITH_REASON.schema["properties"]) == ["reason", "verdict"]  # it comes first
    assert "reason" not in VERDICT.schema["properties"]
    assert read_label(WITH_REASON.form("tie"), WITH_REASON) == "tie"


@pytest.mark.parametrize(
    "raw",
    [
        *("", " ", "A", "B", "tie", '"A"', "A is better.", "[[A]]", "null", "{}", "[]", "1"),
        '{"verdict": "both_bad"}',
        '{"verdict": "C"}',
        '{"verdict": "a"}',
        '{"verdict": "A "}',
        '{"verdict": ["A"]}',
        '{"verdict": {"verdict": "A"}}',
        '{"verdict": null}',
        '{"Verdict": "A"}',
        '{"verdict": "A", "verdict": "B"}',
        '{"verdict": "A", "verdict": "A"}',
        '{"verdict": "A", "reason": "better"}',
        '[["verdict", "A"]]',
        '[{"verdict": "A"}]',
        '{"verdict": "A"}{"verdict": "B"}',
        '{"verdict": "A"}\n{"verdict": "A"}',
        'The verdict is {"verdict": "A"}',
        '{"verdict": "A"} because it is right.',
        'Not {"verdict": "A"} but {"verdict": "B"}.',
        "{'verdict': 'A'}",
        '{"verdict": "A"',
        '```json\n{"verdict": "A"}\n```\n```json\n{"verdict": "B"}\n```',
        '```\n{"verdict": "A"}\n``` or so',
        "A oder B? Beide Antworten sind gut.",
        "两个回答一样好。",
        '<html><body>{"verdict": "A"}</body></html>',
        '{"verdict": "A"}' + " " * 100_000,
        "x" * 100_000,
        "[" * 4000,
        "1" * 4090,
        '{"verdict": "\ud800"}',
    ],
)
def test_everything_else_is_unreadable(raw):
    assert read_label(raw, VERDICT) is None


def test_the_schema_takes_what_is_read():
    assert VERDICT.schema["properties"]["verdict"]["enum"] == ["A", "B", "tie"]
    assert GRADE.schema["properties"]["grade"]["enum"] == ["right", "wrong"]


def test_a_grade_is_no_verdict():
    assert read_label('{"grade": "right"}', GRADE) == "right"
    assert read_label('{"grade": "right"}', VERDICT) is None
    assert read_label('{"verdict": "A"}', GRADE) is None
    assert read_label('{"grade": true}', GRADE) is None


def spelled(*tokens, **at):
    return [(token, at.get(f"_{i}", {token: 0.0})) for i, token in enumerate(tokens)]


def logs(**probabilities):
    return {token: math.log(p) for token, p in probabilities.items()}


def likely(raw, label, tokens):
    """Return what `label_probabilities` does, to be compared with round numbers."""
    found = label_probabilities(raw, label, THREE, tokens)
    return pytest.approx(found, abs=1e-15)


def test_the_probability_is_that_of_the_verdict_among_verdicts():
    alternatives = {
        "A": math.log(0.6),
        "B": math.log(0.2),
        "tie": math.log(0.1),
        "x": math.log(0.1),
    }
    tokens = spelled('{"', "verdict", '":', ' "', "A", '"}', _4=alternatives)
    assert likely('{"verdict": "A"}', "A", tokens) == {"A": 2 / 3, "B": 2 / 9, "tie": 1 / 9}


def test_tokens_may_be_cut_anywhere():
    alternatives = {' "t': math.log(0.3), ' "A': math.log(0.1), ' "B"': math.log(0.2), "t": 0.0}
    tokens = spelled('{"verdict":', ' "t', "ie", '"}', _1=alternatives)
    raw = '{"verdict": "tie"}'
    assert likely(raw, "tie", tokens) == {"A": 1 / 6, "B": 1 / 3, "tie": 0.5}


def test_one_token_for_all_of_it():
    raw = '{"verdict": "A"}'
    tokens = [(raw, {raw: math.log(0.9), '{"verdict": "B"}': math.log(0.1)})]
    assert likely(raw, "A", tokens) == {"A": 0.9, "B": 0.1, "tie": 0}


@pytest.mark.parametrize(
    "tokens",
    [
        [],
        spelled("something", " else"),
        spelled('{"verdict": "', "A", '"}', _1={}),
        spelled('{"verdict": "', "A", '"}', _1={"A": -math.inf}),
        spelled('{"verdict": "', "A", '"}', _1={"A": math.nan}),
    ],
)
def test_without_tokens_that_tell_there_is_no_probability(tokens):
    assert label_probabilities('{"verdict": "A"}', "A", THREE, tokens) == {}
    assert probabilities_of(VERDICT, {}) is None


def test_ways_to_decide_are_three_whatever_the_ballot_calls_them():
    shares = {"A": 0.5, "B": 0.25, "tie": 0.125, "both_bad": 0.125}
    assert probabilities_of(VERDICT_OR_BOTH_BAD, shares) == Probabilities(0.5, 0.25, 0.25)
    three = {"A": 0.5, "B": 0.3, "tie": 0.2}
    assert probabilities_of(VERDICT, three) == Probabilities(0.5, 0.3, 0.2)
    assert probabilities_of(GRADE, {"right": 0.5, "wrong": 0.5}) is None


BLOCK = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)
PARTS = ("```", "json", "\n", " ", "\r", "\u00a0", "`", '{"verdict": "A"}', "x")


@given(st.lists(st.sampled_from(PARTS), max_size=10).map("".join))
@example("```\n\n```")
@example("```\n```")
@example("``````")
def test_a_code_block_is_what_the_expression_says(text):
    text = text.strip()
    block = BLOCK.fullmatch(text)
    assert answer._unfenced(text).strip() == (block[1] if block else text).strip()


@pytest.mark.timeout(60)
def test_a_fence_before_empty_lines_is_read_at_once():
    """The expression above takes more than a minute, in which nothing else runs."""
    assert read_label("```" + "\n" * 4000 + "x", VERDICT) is None
