"""Experiments of Langfuse: items as its API returns them, and who is better on how many."""

from __future__ import annotations

import json
import random

import pytest

import coupled_arena as ca
from coupled_arena.analysis.logs.score_logs import read_logs
from coupled_arena.core.errors import ScoreError


def score(name, value, kind="NUMERIC", source="EVAL"):
    return {
        "id": f"score-{name}-{value}",
        "projectId": "p",
        "name": name,
        "source": source,
        "dataType": kind,
        "value": value,
        "timestamp": "2026-03-18T16:39:00.000Z",
        "environment": "default",
    }


def item(number, experiment, *scores, **more):
    return {
        "id": f"span-{experiment}-{number}",
        "traceId": f"trace-{experiment}-{number}",
        "startTime": "2026-03-18T16:38:00.000Z",
        "endTime": None,
        "level": "DEFAULT",
        "environment": "default",
        "experimentId": f"run-{experiment}",
        "experimentName": experiment,
        "experimentItemId": f"item-{number}",
        "input": {"q": f"Q{number}?"},
        "scores": list(scores),
        **more,
    }


def page(path, *rows):
    path.write_text(json.dumps({"data": rows, "meta": {"cursor": "abc"}}, indent=2))
    return path


def made_up(items=40):
    """Return rows in no order: red is better on most items, on some both are equal."""
    draw = random.Random(7)
    rows = [
        item(n, name, score("right", int(draw.random() < (0.8 if name == "red" else 0.4))))
        for n in range(items)
        for name in ("red", "blue")
    ]
    draw.shuffle(rows)
    return rows


def test_the_better_experiment_of_each_item_wins_it(tmp_path):
    rows = made_up()
    by_item = {}
    for row in rows:
        by_item.setdefault(row["experimentItemId"], {})[row["experimentName"]] = row["scores"][0]
    ahead = [pair["red"]["value"] - pair["blue"]["value"] for pair in by_item.values()]
    won, lost = sum(d > 0 for d in ahead), sum(d < 0 for d in ahead)
    assert won > 2 * lost > 0  # so that a turned reading cannot pass
    halves = page(tmp_path / "1.json", *rows[:33]), page(tmp_path / "2.json", *rows[33:])
    rates = {row["model"]: row["win_rate"] for row in ca.rank(list(halves)).to_dict()["models"]}
    red = (won + (len(ahead) - won - lost) / 2) / len(ahead)
    assert rates == pytest.approx({"red": red, "blue": 1 - red})


def test_a_gate_compares_the_items_of_two_experiments(tmp_path):
    path = page(tmp_path / "items.json", *made_up())
    found = ca.gate("red", "blue", scores=path).to_dict()
    by_name = {
        name: [row["scores"][0]["value"] for row in made_up() if row["experimentName"] == name]
        for name in ("red", "blue")
    }
    (row,) = found["candidates"]
    assert row["prompts"] == 40
    assert row["base_score"] == pytest.approx(sum(by_name["red"]) / 40)
    assert row["score"] == pytest.approx(sum(by_name["blue"]) / 40)


@pytest.mark.parametrize(
    "write",
    [
        lambda rows: json.dumps(rows),
        lambda rows: "".join(json.dumps(row) + "\n" for row in rows),
        lambda rows: "".join(json.dumps({"data": [row]}) + "\n" for row in rows),
    ],
)
def test_items_come_as_pages_lists_and_lines(tmp_path, write):
    (tmp_path / "items.json").write_text(write(made_up(3)))
    assert read_logs([tmp_path / "items.json"]).prompts[0] == ("item-0", "item-1", "item-2")


def test_scores_of_people_and_of_judges_are_metrics_of_their_own(tmp_path):
    rows = [
        item(
            n,
            name,
            score("right", n),
            score("right", 1, source="ANNOTATION"),
            score("right", 0, source="ANNOTATION"),
            score("polite", True, "BOOLEAN"),
            score("tone", "warm", "CATEGORICAL"),
            score("why", "Because.", "TEXT"),
        )
        for n in range(2)
        for name in ("red", "blue")
    ]
    path = page(tmp_path / "items.json", *rows)
    scores = read_logs([path], ["right (eval)", "right (annotation)", "polite"])
    assert [values[0].tolist() for values in scores.values] == [[0, 0.5, 1], [0, 0.5, 1]]
    with pytest.raises(ScoreError, match="has no metric 'why'"):
        read_logs([path], ["why"])
    with pytest.raises(ScoreError, match="tone"):
        read_logs([path], ["tone"])


def test_an_item_without_a_score_is_left_out_and_one_of_other_words_refused(tmp_path):
    rows = [item(n, name, score("right", n)) for n in range(4) for name in ("red", "blue")]
    rows[0] |= {"scores": []}
    assert read_logs([page(tmp_path / "a.json", *rows)]).notes == (
        "Left out, for a score is missing: 1 prompt.",
    )
    rows[3] |= {"input": {"q": "Another?"}}
    with pytest.raises(ScoreError, match="item-1 is another document than in"):
        read_logs([page(tmp_path / "a.json", *rows)])


def test_what_is_missing_is_said(tmp_path):
    bare = [{k: v for k, v in item(1, "red").items() if k != "scores"}]
    with pytest.raises(ScoreError, match=r"has no scores: ask for them, as in GET /api/public"):
        read_logs([page(tmp_path / "a.json", *bare)])
    rows = [item(1, "", score("right", 1), experimentId=None)]
    with pytest.raises(ScoreError, match="item 1 names no experiment, or no item of the dataset"):
        read_logs([page(tmp_path / "a.json", *rows)])
