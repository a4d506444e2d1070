"""Live judging: after the reveal, behind the votes, and whatever an outage left over."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import replace

import pytest

from coupled_arena.battles.judge_runs import request
from coupled_arena.battles.judge_runs.request import LiveJudge
from coupled_arena.core.errors import SettingsError, StoreError
from coupled_arena.core.rationales import Criterion, Rationale
from coupled_arena.core.records import Finish, Source
from coupled_arena.core.settings import JudgeSettings, load_settings
from coupled_arena.services import build_judge, open_services
from coupled_arena.store.tables import votes
from tests.judging.scripted import KEY, RESET, failure, scripted, verdict
from tests.patience import PATIENCE, until
from tests.store.conftest import make_battle, make_vote


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(request, "_LOOK", 0.02)
    monkeypatch.setattr(request, "_LONGEST_PAUSE", 0.1)


@pytest.fixture
def judging(store, judge_at):
    started = []

    def start(server, **options):
        judge = LiveJudge(judge_at(server, patience=0.05, **options), store, concurrency=4)
        started.append(judge)
        return judge

    yield start
    for judge in started:
        judge.close()


def judged(store):
    with store.cursor() as cursor:
        return cursor.execute("select battle from verdicts order by seq").fetchall()


def vote_on(store, battle, **options):
    store.cast(make_vote(battle), **options)


def test_no_judge_reads_why_people_voted(store, fill, judging):
    (battle,) = fill(1)
    vote = make_vote(battle)
    store.cast(vote)
    why = Rationale("r", vote.id, (Criterion.STYLE,), "For a reason of my own")
    store.write(lambda cursor: votes.give_reasons(cursor, why, vote.voter))
    with scripted(lambda _: verdict()) as server:
        judging(server)
        until(lambda: len(judged(store)) == 2)
        asked = str(server.asked)
    assert battle.prompts[0].text in asked
    assert "reason of my own" not in asked
    assert "style" not in asked.lower()


def test_a_battle_is_judged_once_it_is_revealed_and_not_before(store, fill, judging):
    hidden, cast, shown = fill(3)
    with scripted(lambda _: verdict()) as server:
        judging(server)
        vote_on(store, cast, reveal=False)
        vote_on(store, shown)
        until(lambda: len(judged(store)) == 2)
        time.sleep(0.3)
        assert {battle for (battle,) in judged(store)} == {shown.id}
        assert len(server.asked) == 2
        vote_on(store, hidden)
        until(lambda: len(judged(store)) == 4)


def test_a_vote_never_waits_for_the_judge(store, fill, judging):
    battles = fill(20)

    voted = threading.Event()

    def hang(_):
        assert voted.wait(PATIENCE)
        return verdict()

    with scripted(hang) as server:
        judging(server)
        for battle in battles:
            vote_on(store, battle)
        until(lambda: server.asked)
        assert not judged(store)
        voted.set()
        until(lambda: judged(store))


@pytest.mark.slow
def test_an_outage_is_told_once_and_caught_up(store, fill, judging, caplog):
    caplog.set_level(logging.INFO, "coupled_arena")
    battles = fill(6)
    with scripted(lambda _: RESET) as server:
        judge = judging(server)
        assert judge.answering
        for battle in battles[:3]:
            vote_on(store, battle)
        until(lambda: not judge.answering)
        for battle in battles[3:]:
            vote_on(store, battle)
        time.sleep(0.5)
        assert judged(store) == []
        assert caplog.text.count("Live judging waits") == 1
        server.script = lambda _: verdict()
        # A look that began before the last votes answers for the first ones alone.
        until(lambda: judge.answering and len(judged(store)) == 12)
        assert len(set(judged(store))) == 6
        assert caplog.text.count("answers again") == 1


def test_a_wrong_key_is_an_outage_too(store, fill, judging):
    (battle,) = fill(1)
    with scripted(lambda _: failure(401)) as server:
        judge = judging(server)
        vote_on(store, battle)
        until(lambda: not judge.answering)
        server.script = lambda _: verdict()
        until(lambda: len(judged(store)) == 2)


def test_what_an_earlier_run_of_the_app_left_is_found(store, fill, judging):
    battles = fill(5)
    for battle in battles:
        vote_on(store, battle)
    with scripted(lambda _: verdict()) as server:
        judging(server)
        until(lambda: len(judged(store)) == 10)


def test_identical_answers_need_no_question(store, judging):
    battle = make_battle()
    same = tuple(replace(r, text="same", finish=Finish.STOP) for r in battle.replies)
    battle = replace(battle, replies=same)
    store.add_battle(battle)
    with scripted(lambda _: verdict()) as server:
        judging(server)
        store.cast(make_vote(battle, 1, 1, source=Source.IDENTICAL))
        until(lambda: judged(store))
    assert server.asked == []


def test_it_ends_at_once_in_the_middle_of_questions(store, fill, judging):
    for battle in fill(3):
        vote_on(store, battle)
    closed = threading.Event()

    def hang(_):
        assert closed.wait(PATIENCE)  # else closing has waited for the answer
        return verdict()

    with scripted(hang) as server:
        judge = judging(server)
        until(lambda: server.asked)
        judge.close()
        closed.set()


def test_another_judge_under_its_name_is_refused_at_the_start(store, fill, judging):
    (battle,) = fill(1)
    vote_on(store, battle)
    with scripted(lambda _: verdict()) as server:
        judge = judging(server)
        until(lambda: judged(store))
        judge.close()
        with pytest.raises(StoreError, match="another name"):
            judging(server, max_tokens=9)


@pytest.mark.parametrize(
    ("table", "on"),
    [
        ({}, False),
        ({"model": "m"}, False),
        ({"model": "m", "key": KEY}, True),
        ({"name": "m", "base_url": "http://127.0.0.1:1/v1"}, True),
        ({"base_url": "http://127.0.0.1:1/v1", "key": KEY}, False),
        ({"model": "m", "key": KEY, "live": False}, False),
    ],
)
def test_it_is_off_unless_there_is_a_judge_to_ask(monkeypatch, table, on):
    for name in ("COUPLED_ARENA_JUDGE_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    settings = load_settings(judge=table).judge
    assert settings.judges_live is on
    if on:
        assert build_judge(settings).spec.model == "m"


def test_settings_make_a_judge():
    built = build_judge(JudgeSettings(name="n", model="m", base_url="http://x", swap="random"))
    assert (built.spec.name, built.spec.model, built.spec.swap) == ("n", "m", "random")
    assert len(built.spec.prompt.sha256) == 64


def test_a_judge_that_cannot_be_built_is_told_before_anything_is_opened(tmp_path):
    judge = {"name": "m", "base_url": "http://127.0.0.1:1/v1", "prompt": tmp_path / "none.txt"}
    settings = load_settings(db=tmp_path / "arena.duckdb", judge=judge)
    with pytest.raises(SettingsError, match=r"none\.txt"), open_services(settings):
        pass
    assert not settings.db.exists()
