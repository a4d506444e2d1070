from __future__ import annotations

import json
from dataclasses import replace

import pytest

from coupled_arena.core.errors import ScoreError
from coupled_arena.core.records import Prompt, Score
from coupled_arena.store.tables import scores
from coupled_arena.store.transfer.export import export


@pytest.fixture
def quiz(store):
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    return store


def asked(new_battle, **changes):
    battle = new_battle(**changes)
    prompt = Prompt("2 + 2?", "q1", "sums", "en", system="Be brief.", prefix="It is")
    return replace(battle, prompts=(prompt,))


MARKS = (Score(0, 0, "quiz", 1.0, "4"), Score(0, 1, "quiz", 0.0, None))


def test_a_battle_and_its_scores_are_written_once(quiz, new_battle):
    battle = asked(new_battle)
    assert quiz.add_battle(battle, MARKS)
    assert not quiz.add_battle(battle, (replace(MARKS[0], score=0.0), MARKS[1]))
    with quiz.cursor() as cursor:
        rows = cursor.execute("select place, score, answer from scores order by place").fetchall()
        assert rows == [(0, 1.0, "4"), (1, 0.0, None)]
        assert scores.metrics(cursor) == {"quiz": True}
        assert scores.benchmarks(cursor) == ["quiz"]
    assert quiz.battle(battle.id).prompts == battle.prompts


def test_equal_answers_to_one_question_have_one_key(quiz, new_battle):
    one, two = asked(new_battle), asked(new_battle)
    same = tuple(replace(reply, text=" 4") for reply in one.replies)
    quiz.add_battle(replace(one, replies=same), MARKS)
    quiz.add_battle(replace(two, replies=(same[0], replace(same[1], text=" 5"))), MARKS)
    with quiz.cursor() as cursor:
        keys = cursor.execute(
            "select answer, count(distinct answer_key), count(*) from benchmark_answers "
            "group by all order by all"
        ).fetchall()
    assert keys == [("It is 4", 1, 3), ("It is 5", 1, 1)]


def test_a_metric_keeps_its_meaning(quiz):
    with pytest.raises(ScoreError, match=r"'quiz' is known already, from a benchmark, higher"):
        quiz.write(lambda cursor: scores.declare(cursor, "quiz", source="import"))
    quiz.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))


def test_scores_are_exported(quiz, new_battle, tmp_path):
    battle = asked(new_battle)
    quiz.add_battle(battle, MARKS)
    export(quiz, tmp_path, "jsonl")
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    assert rows[1] == {
        **{"battle": battle.id, "turn": 0, "place": 1, "model": "beta", "metric": "quiz"},
        **{"score": 0.0, "answer": None, "higher_is_better": True, "source": "benchmark"},
    }
    told = json.loads((tmp_path / "battles.jsonl").read_text())
    assert (told["system"], told["prefixes"]) == ("Be brief.", ["It is"])
