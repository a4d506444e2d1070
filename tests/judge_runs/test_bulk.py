"""Judging in bulk: what is asked, what is stored, what it costs, and how it ends."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from itertools import count

import pytest

from coupled_arena.battles.judge_runs.run import Tally, _Bar, judge_stored
from coupled_arena.core.errors import JudgeError, NoAnswerError, StoreError
from coupled_arena.core.records import Finish, Reply, Swap
from coupled_arena.core.verdicts import NOT_ASKED
from coupled_arena.judging.spec import Budget
from coupled_arena.store.tables import judges
from tests.families import first_of
from tests.judging.scripted import RESET, completion, failure, html, scripted, verdict
from tests.patience import PATIENCE, until


def rows(store, query="select battle, first_place, second_place, outcome, raw from verdicts"):
    with store.cursor() as cursor:
        return cursor.execute(query).fetchall()


def shown(body):
    """Return the answers that a request shows as A and B."""
    user = body["messages"][1]["content"]
    return [user.split(f"ANSWER {place} ")[1].split("\n", 1)[1] for place in "AB"]


def once_an_order(store, battles, pairs=1):
    found = [row[:3] for row in rows(store)]
    assert len(set(found)) == len(found) == 2 * pairs * battles


def prefer(name):
    """Prefer the answer of one model, wherever it stands."""
    return lambda body: verdict("A" if f'"{name}"' in shown(body)[0].split("-----")[0] else "B")


def test_every_battle_gets_one_verdict_an_order(store, fill, judge_at):
    fill(30)
    with scripted(prefer("beta")) as server:
        done = judge_stored(judge_at(server), store, progress=False)
        again = judge_stored(judge_at(server), store, progress=False)
    once_an_order(store, 30)
    assert (done.verdicts, done.asked, done.skipped, done.left) == (60, 60, 0, 0)
    assert (again.verdicts, again.asked, again.skipped, again.left) == (0, 0, 60, 0)
    assert (done.tokens_in, done.tokens_out, done.stopped) == (60 * 300, 60 * 6, None)
    assert len(server.asked) == 60
    judged = rows(store, "select distinct verdict::text from comparisons where judge_no > 0")
    assert judged == [("second",)]
    assert rows(store, "select judge, model, prompt_hash from judges") == [
        ("ann", "strong", "0" * 64)
    ]


def test_a_battle_of_four_is_six_pairs(store, fill, judge_at):
    fill(3, "a", "b", "c", "d")
    with scripted(lambda _: verdict()) as server:
        judge_stored(judge_at(server), store, progress=False)
    once_an_order(store, 3, pairs=6)


def test_a_random_order_is_asked_once(store, fill, judge_at):
    fill(12)
    with scripted(lambda _: verdict()) as server:
        done = judge_stored(judge_at(server, swap=Swap.RANDOM), store, limit=10, progress=False)
    assert (done.verdicts, len(server.asked)) == (10, 10)
    assert len({row[0] for row in rows(store)}) == 10
    assert {row[1] for row in rows(store)} == {0, 1}


def test_identical_answers_are_a_tie_without_a_question(store, fill, judge_at):
    replies = tuple(Reply(0, place, "same", (1,), Finish.STOP) for place in (0, 1))
    fill(5, replies=replies)
    fill(1)
    with scripted(lambda _: verdict()) as server:
        done = judge_stored(judge_at(server), store, progress=False)
        again = judge_stored(judge_at(server), store, progress=False)
    assert (done.identical, done.asked, done.verdicts, done.left) == (5, 2, 7, 0)
    assert (again.verdicts, again.left) == (0, 0)
    assert len(server.asked) == 2
    assert [row[3:] for row in rows(store)].count(("tie", NOT_ASKED)) == 5


def test_unreadable_answers_are_kept_and_asked_again_only_on_request(store, fill, judge_at):
    fill(4)
    with scripted(lambda _: completion("Both are nice.")) as server:
        done = judge_stored(judge_at(server), store, progress=False)
        after = judge_stored(judge_at(server), store, progress=False)
        server.script = lambda _: verdict()
        again = judge_stored(judge_at(server), store, ask_unreadable=True, progress=False)
    assert (done.unreadable, done.verdicts, after.asked, again.asked) == (8, 8, 0, 8)
    assert {row[3:] for row in rows(store)} == {
        (None, "Both are nice."),
        ("first", '{"verdict": "A"}'),
    }


@pytest.mark.parametrize(
    ("tally", "told"),
    [
        (Tally(asked=3, tokens_in=1200, tokens_out=34), "1,234 tokens"),
        (
            Tally(tokens_in=5, cost=0.01234, unreadable=2, failed=1),
            "5 tokens, cost 0.0123, 2 unreadable, 1 unanswered",
        ),
    ],
)
def test_the_bar_tells_what_was_used_and_what_is_missing(tally, told, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)  # of a narrow terminal the end would be cut off
    bar = _Bar(3, "verdict", shown=True)
    bar.update(tally, 3)
    bar.close()
    assert capsys.readouterr().err.endswith(f", {told}]\n")


@pytest.mark.slow
def test_a_few_questions_without_an_answer_are_left_for_the_next_time(store, fill, judge_at):
    made = fill(20)
    odd = replace(made[3], id="odd", replies=tuple(replace(r, text="odd") for r in made[3].replies))
    odd = replace(odd, replies=(odd.replies[0], replace(odd.replies[1], text="odd too")))
    store.add_battle(odd)

    def script(body):
        return html() if "odd" in body["messages"][1]["content"] else verdict()

    with scripted(script) as server:
        done = judge_stored(judge_at(server), store, progress=False)
        assert (done.failed, done.left, done.verdicts) == (2, 2, 40)
        assert "base URL" in done.trouble
        server.script = lambda _: verdict()
        again = judge_stored(judge_at(server), store, progress=False)
    assert (again.failed, again.left, again.verdicts, again.skipped) == (0, 0, 2, 40)
    once_an_order(store, 21)


@pytest.mark.parametrize("reply", first_of(RESET, failure(500), html()))
def test_an_outage_ends_the_run_and_keeps_what_was_received(store, fill, judge_at, reply):
    # Verdicts that were under way when the outage began may come after its first failures: of 50
    # of these enough come in a row, whenever the others do.
    fill(40)
    served = []

    def script(body):
        served.append(body)
        return verdict() if len(served) <= 30 else reply

    with scripted(script) as server:
        with pytest.raises(NoAnswerError, match="new verdicts are stored"):
            judge_stored(judge_at(server, patience=0.1), store, concurrency=4, progress=False)
        kept = len(rows(store))
        assert kept == 30
        server.script = lambda _: verdict()
        done = judge_stored(judge_at(server), store, progress=False)
    assert (done.verdicts, done.skipped) == (50, 30)
    once_an_order(store, 40)


def test_a_wrong_key_ends_the_run_at_once(store, fill, judge_at):
    fill(50)
    with (
        scripted(lambda _: failure(401, "who are you")) as server,
        pytest.raises(JudgeError, match="HTTP 401: who are you"),
    ):
        judge_stored(judge_at(server), store, progress=False)
    assert len(server.asked) <= 8
    assert rows(store) == []


def test_another_judge_under_the_same_name_is_refused(store, fill, judge_at):
    fill(1)
    with scripted(lambda _: verdict()) as server:
        judge_stored(judge_at(server), store, progress=False)
        with pytest.raises(StoreError, match="another name"):
            judge_stored(judge_at(server, temperature=0.5), store, progress=False)
        judge_stored(judge_at(server, "bob", temperature=0.5), store, progress=False)
    assert len(rows(store)) == 4


@pytest.mark.parametrize(
    "budget",
    first_of(Budget(tokens=4000), Budget(money=4.0, price_in=1000, price_out=1000)),
    ids=["tokens", "money"],
)
def test_a_budget_is_never_passed(store, fill, judge_at, budget):
    fill(12)
    with scripted(lambda _: verdict()) as server:
        judge = judge_at(server, max_tokens=20)
        done = judge_stored(judge, store, budget=budget, progress=False)
        assert done.stopped == "budget"
        assert 6 <= done.verdicts <= 4000 // 306
        assert done.tokens_in + done.tokens_out == 306 * done.verdicts == 306 * len(server.asked)
        assert done.cost == pytest.approx(budget.cost(done.tokens_in, done.tokens_out))
        assert done.left == 24 - done.verdicts
        on = judge_stored(judge, store, progress=False)
    assert (on.skipped, on.left) == (done.verdicts, 0)
    once_an_order(store, 12)


def test_a_server_that_does_not_count_is_reckoned_by_characters(store, fill, judge_at):
    fill(50)
    with scripted(lambda _: completion('{"verdict": "A"}', usage=False)) as server:
        judge = judge_at(server, max_tokens=20)
        done = judge_stored(judge, store, budget=Budget(tokens=10_000), progress=False)
    assert done.stopped == "budget"
    assert 2000 < done.tokens_in + done.tokens_out <= 10_000


@pytest.fixture
def heard(monkeypatch):
    """Set once a run has heard of Ctrl-C."""
    event = threading.Event()
    monkeypatch.setattr(_Bar, "interrupted", lambda bar: event.set())
    return event


def press_ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("questions", first_of(1, 7, 20))
def test_ctrl_c_waits_for_the_answers_in_flight(store, fill, judge_at, heard, questions):
    fill(25)
    numbers, eight = count(1), threading.Barrier(8)

    def script(_):
        """Answer so many less one, then none until the run has heard of Ctrl-C."""
        number = next(numbers)
        if number <= eight.parties:
            eight.wait(PATIENCE)
        if number == questions:
            press_ctrl_c()
        if number >= questions:
            assert heard.wait(PATIENCE)
        return verdict()

    with scripted(script) as server:
        done = judge_stored(judge_at(server), store, progress=False)
        assert done.stopped == "interrupted"
        assert server.most_at_once == 8
        assert len(rows(store)) == done.verdicts == len(server.asked) < 50
        assert done.left == 50 - done.verdicts
        on = judge_stored(judge_at(server), store, progress=False)
    assert (on.verdicts, on.skipped, on.stopped) == (50 - done.verdicts, done.verdicts, None)
    assert len(server.asked) == 50  # nothing was paid twice
    once_an_order(store, 25)


def test_a_second_ctrl_c_does_not_wait(store, fill, judge_at, heard):
    fill(40)
    numbers, over = count(1), threading.Event()

    def script(_):
        number = next(numbers)
        if number == 24:
            until(lambda: len(rows(store)) == 20)  # an answer that is on its way is lost
            press_ctrl_c()
            assert heard.wait(PATIENCE)
            press_ctrl_c()
        if number > 20:
            over.wait(PATIENCE)
        return verdict()

    with scripted(script) as server:
        judge = judge_at(server, timeout=2 * PATIENCE)
        done = judge_stored(judge, store, concurrency=4, progress=False)
        over.set()  # had it waited for them, there were more verdicts
    assert done.stopped == "interrupted"
    assert len(rows(store)) == done.verdicts == 20


def test_ctrl_c_ends_waiting_for_a_dead_server(store, fill, judge_at):
    fill(4)
    numbers = count(1)

    def script(_):
        if next(numbers) == 8:
            press_ctrl_c()
        return failure(503)

    with scripted(script) as server:
        done = judge_stored(judge_at(server, patience=10 * PATIENCE), store, progress=False)
    assert (done.stopped, done.verdicts) == ("interrupted", 0)


def test_verdicts_are_on_disk_before_the_run_goes_on(store, fill, judge_at):
    fill(20)
    seen = []

    def script(body):
        if len(server.asked) == 36:  # the run waits for this answer
            until(lambda: len(rows(store)) >= 34)
            seen.append(len(server.asked))
        return verdict()

    with scripted(script) as server:
        judge = judge_at(server, timeout=2 * PATIENCE)
        judge_stored(judge, store, concurrency=1, progress=False)
    assert seen == [36]


def test_a_full_disk_ends_the_run_with_one_error(store, fill, judge_at, monkeypatch):
    fill(20)

    def full(*_):
        raise StoreError("The disk is full.")

    monkeypatch.setattr(judges, "add_verdicts", full)
    with (
        scripted(lambda _: verdict()) as server,
        pytest.raises(StoreError, match="The disk is full"),
    ):
        judge_stored(judge_at(server), store, progress=False)
