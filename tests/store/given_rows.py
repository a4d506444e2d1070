"""Rows of the published formats, ways to write them, and what an import made of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import duckdb

from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from tests.stored import rows

NOBODY = (
    "without a voter: all count as votes of one person, import. A column voter tells people apart."
)
PUBLISHED = Path(__file__).parents[2].parent / "shared" / "data" / "ppr"
FIRST, SECOND, TIE, BOTH_BAD = range(4)


def ranking(num, model_a="x", model_b="y", winner="model_a", **more):
    return {
        "num": num,
        "question_id": f"q{num}",
        "model_a": model_a,
        "model_b": model_b,
        "winner": winner,
        **more,
    }


def conversation(*texts):
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


ARENA = {
    "question_id": "58210e39",
    "model_a": "x",
    "model_b": "y",
    "winner": "tie (bothbad)",
    "judge": "arena_user_973",
    "conversation_a": conversation("Hi?", "Hello, x.", "Bye?", "Bye."),
    "conversation_b": conversation("Hi?", "Hello, y.", "Bye?", 'So "long"\n'),
    "turn": 2,
    "anony": True,
    "language": "English",
    "tstamp": 1682351591.5,
    "toxic_chat_tag": {"roberta-large": {"flagged": False}, "t5-large": {"flagged": True}},
    "openai_moderation": {"categories": {"hate": False}, "flagged": False},
}


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(
            {
                key: json.dumps(value) if isinstance(value, list | dict) else value
                for key, value in row.items()
            }
            for row in rows
        )


def write_parquet(path, rows):
    whole = path.with_name("whole.json")
    whole.write_text(json.dumps(rows))
    duckdb.sql(f"copy (from read_json('{whole}')) to '{path}' (format parquet)")


def write_array(path, rows):
    path.write_text(json.dumps(rows, indent=1))


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\r\n" for row in rows))


WRITERS = [write_lines, write_array, write_csv, write_parquet]


def counts(store, judge=None):
    with store.cursor() as cursor:
        return comparisons.count(cursor, Selection(judge=judge))


def the_battle(store):
    ((battle,),) = rows(store, "select battle from battles")
    return store.battle(battle)


def told(done):
    return (done.rows, done.battles, done.votes, done.verdicts, done.filtered, len(done.rejected))


def reasons(done):
    return {row.line: row.reason for row in done.rejected}


KAGGLE = {
    "id": 30192,
    "model_a": "x",
    "model_b": "y",
    "prompt": json.dumps(["First,\nyou", "Then?"]),
    "response_a": json.dumps(["A1", "A2"]),
    "response_b": json.dumps(["B1", None]),
    "winner_model_a": 0,
    "winner_model_b": 1,
    "winner_tie": 0,
}


def pair(g1, g2, **more):
    return {
        "question_id": 81,
        "model_1": "x",
        "model_2": "y",
        "g1_winner": g1,
        "g2_winner": g2,
        "judge": ["gpt-4", "pair-v2"],
        "g1_judgment": f"I say {g1}",
        "turn": 1,
        **more,
    }


def arena_hard(first, second, **more):
    """Return a row of arena-hard 2.0: the baseline is A in its first game, B in the second."""
    games = [
        {"score": score, "judgment": {"answer": f"[[{score}]]"}, "prompt": []}
        for score in (first, second)
    ]
    return {
        "uid": "311cbc29",
        "category": "hard_prompt",
        "judge": "gpt-4.1",
        "model": "x",
        "baseline": "o3-mini",
        "games": games,
        **more,
    }
