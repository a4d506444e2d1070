"""The client against a server that misbehaves in every way; over real HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import threading
import traceback

import pytest

from coupled_arena.core.errors import JudgeError, NoAnswerError
from coupled_arena.core.records import Outcome
from coupled_arena.core.verdicts import Matchup
from coupled_arena.judging import judge as judge_module
from coupled_arena.judging.judge import Judge
from coupled_arena.judging.prompt import JudgePrompt
from coupled_arena.judging.spec import Answer, JudgeSpec
from tests.judging.scripted import (
    JSON,
    KEY,
    RESET,
    Reply,
    completion,
    failure,
    html,
    scripted,
    verdict,
)
from tests.patience import PATIENCE

SPEC = JudgeSpec("ann", "strong", JudgePrompt("Judge well.", "0" * 64))
SLEEP = judge_module._sleep
TALK = Matchup("b", 0, 1, ("What is 2 + 2?",), ("4",), ("5",))


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """How long a judge would have waited between attempts: no test of this file does."""
    noted = []

    async def note(seconds, stopping):
        noted.append(seconds)

    monkeypatch.setattr(judge_module, "_sleep", note)
    return noted


def ask(server, matchup=TALK, **options):
    settings = {"timeout": PATIENCE, "patience": PATIENCE, **options}
    spec = settings.pop("spec", SPEC)

    async def asked():
        async with Judge(spec, base_url=server.url, key=KEY, **settings) as judge:
            return await judge.ask(matchup)

    return asyncio.run(asked())


def ask_script(script, **options):
    with scripted(script) as server:
        return ask(server, **options), server


def in_turn(*replies):
    """Answer with each of these once, then with the last."""
    waiting = list(replies)
    return lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]


@pytest.mark.parametrize(
    ("label", "outcome"),
    [("A", Outcome.FIRST), ("B", Outcome.SECOND), ("tie", Outcome.TIE)],
)
def test_a_verdict(label, outcome):
    answer, server = ask_script(lambda _: verdict(label))
    assert answer == Answer(outcome, json.dumps({"verdict": label}), None, 300, 6)
    (sent,) = server.asked
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("strong", 0.0, 256)
    assert sent["response_format"]["json_schema"]["strict"] is True
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 5)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_requests_are_counted_and_those_without_an_answer():
    async def counted(server):
        async with Judge(SPEC, base_url=server.url, key=KEY) as judge:
            await judge.ask(TALK)
            return judge.requests, judge.errors

    with scripted(in_turn(failure(503), RESET, verdict("A"))) as server:
        assert asyncio.run(counted(server)) == (3, 2) == (len(server.asked), 2)


UNREADABLE = {
    "empty": completion(""),
    "nothing": completion(None),
    "blank": completion(" \n "),
    "prose": completion("Answer A is better, for it is right."),
    "both letters": completion('{"verdict": "A"} or {"verdict": "B"}'),
    "two letters": completion("AB"),
    "wrong JSON": completion('{"winner": "A"}'),
    "broken JSON": completion('{"verdict": "A"'),
    "HTML": completion('<html><body>{"verdict": "A"}</body></html>'),
    "100 kB": completion('{"verdict": "A"}' + "!" * 100_000),
    "wrong language": completion("Die erste Antwort ist besser."),
    "half a surrogate pair": completion('{"verdict": "A"} \ud800'),
    "NUL": completion('{"verdict": "A"}\0'),
    "both bad, unasked": completion('{"verdict": "both_bad"}'),
    "not text": completion(7),
    "a list": completion([{"type": "text", "text": '{"verdict": "A"}'}]),
    "no usage": completion("?", usage=False),
    "cut off": completion('{"verd', finish_reason="length"),
    "deep": completion("[" * 50_000),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_an_unreadable_answer_is_kept_and_no_verdict(kind):
    answer, server = ask_script(lambda _: UNREADABLE[kind])
    assert (answer.outcome, answer.probability) == (None, None)
    assert len(server.asked) == 1
    answer.raw.encode()
    said = json.loads(UNREADABLE[kind].body)["choices"][0]["message"]["content"]
    assert len(answer.raw) < 17_000
    assert answer.raw[:100] == str(said or "").replace("\ud800", "?")[:100]


def test_a_refusal_is_unreadable():
    message = {"role": "assistant", "content": None, "refusal": "I will not."}
    answer, _ = ask_script(lambda _: completion(None, message=message))
    assert (answer.outcome, answer.raw) == (None, "I will not.")


NO_API = {
    "HTML page": html(),
    "empty body": Reply(b""),
    "broken JSON body": Reply(b'{"choices": ['),
    "another JSON": Reply(b'{"hello": 1}'),
    "a JSON list": Reply(b"[1, 2]"),
    "a JSON text": Reply(b'"{\\"verdict\\": \\"A\\"}"'),
    "no choices": Reply(b'{"choices": []}'),
    "choices of numbers": Reply(b'{"choices": [1]}'),
    "no message": Reply(b'{"choices": [{"index": 0}]}'),
    "deep": Reply(b"[" * 100_000),
    "no UTF-8": Reply(b'{"choices": "\xff\xfe"}'),
    "no gzip": Reply(b"plain", 200, JSON | {"content-encoding": "gzip"}),
}


@pytest.mark.parametrize("kind", NO_API)
def test_a_body_that_is_no_answer_is_none(kind):
    with pytest.raises(NoAnswerError) as caught:
        ask_script(lambda _: NO_API[kind], patience=0.1)
    assert str(caught.value).count("\n") == 0
    assert "verdict" not in str(caught.value)


def test_a_storm_passes():
    answer, server = ask_script(
        in_turn(failure(429, headers={"retry-after": 0}), RESET, html(502), verdict("B")),
        patience=30.0,
    )
    assert answer.outcome is Outcome.SECOND
    assert len(server.asked) == 4


def test_retry_after_is_heeded(waits):
    later = failure(429, headers={"retry-after": 7})
    answer, _ = ask_script(in_turn(later, verdict()))
    assert answer.outcome is Outcome.FIRST
    assert len(waits) == 1
    assert 7.0 <= waits[0] <= 7.5


def test_a_wait_ends_in_time_or_when_the_run_stops():
    async def both():
        stopping = asyncio.Event()
        await SLEEP(0.01, stopping)
        asyncio.get_running_loop().call_later(0.01, stopping.set)
        await asyncio.wait_for(SLEEP(10 * PATIENCE, stopping), PATIENCE)

    asyncio.run(both())


@pytest.mark.parametrize("date", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_who_asks_for_an_hour_is_not_waited_for(date, waits):
    with pytest.raises(NoAnswerError, match="HTTP 429: slow down"):
        ask_script(lambda _: failure(429, "slow down", headers={"retry-after": date}))
    assert waits == []


def test_a_slow_drip_runs_into_the_deadline_of_the_attempt(waits):
    drip = Reply(verdict().body, drip=0.05)  # the whole would take 15 s, each byte comes in time
    answer, server = ask_script(in_turn(drip, verdict("tie")), timeout=0.5)
    assert answer.outcome is Outcome.TIE
    assert len(server.asked) == len(waits) + 1 >= 2  # a busy machine needs more attempts
    with pytest.raises(NoAnswerError, match="gave no answer within"):
        ask_script(lambda _: drip, timeout=0.2, patience=0.4)


def test_a_server_that_is_not_there():
    with scripted(lambda _: verdict()) as server:
        pass
    with pytest.raises(NoAnswerError, match="cannot be reached"):
        ask(server, patience=0.2)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (failure(401, "bad key"), "HTTP 401: bad key. Set its key in COUPLED_ARENA_JUDGE_KEY."),
        (failure(403), "may use this model"),
        (failure(404, "no such model"), "model's name (strong) and the base URL"),
        (failure(402, "pay"), "HTTP 402: pay"),
        (failure(429, "no money", code="insufficient_quota"), "HTTP 429: no money"),
        (html(404), "HTTP 404: Not Found"),
        (Reply(b'{"detail": "Server is pinned to X"}', 400), "HTTP 400: Server is pinned to X"),
        (Reply(b"\xff", 401, {}), "HTTP 401"),
    ],
)
def test_trouble_that_stays_is_told_at_once(reply, message, waits):
    with pytest.raises(JudgeError) as caught:
        ask_script(lambda _: reply)
    assert not isinstance(caught.value, NoAnswerError)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert waits == []


def refusing(*names, status=400):
    """Refuse requests that use one of these."""

    def script(body):
        used = [name for name in names if name in body]
        return failure(status, f"Unsupported parameter: '{used[0]}'") if used else verdict()

    return script


@pytest.mark.parametrize(
    "refused",
    [
        ["response_format"],
        ["logprobs"],
        ["response_format", "logprobs", "top_logprobs"],
    ],
    ids="+".join,
)
@pytest.mark.parametrize("status", [400, 422, 500])
def test_what_a_server_does_not_take_is_left_out_and_remembered(refused, status):
    async def twice(url):
        async with Judge(SPEC, base_url=url, key=KEY) as judge:
            return [await judge.ask(TALK) for _ in range(2)]

    with scripted(refusing(*refused, status=status)) as server:
        answers = asyncio.run(twice(server.url))
    assert [answer.outcome for answer in answers] == [Outcome.FIRST] * 2
    assert len(server.asked) <= 6
    (last,) = server.asked[-1:]
    assert server.asked[-2].keys() == last.keys()
    assert not last.keys() & set(refused)
    assert last["max_tokens"] == 256


def test_the_newer_name_of_the_limit_is_used_where_it_must_be():
    answer, server = ask_script(refusing("max_tokens", "logprobs"))
    assert answer.outcome is Outcome.FIRST
    assert server.asked[-1]["max_completion_tokens"] == 256
    assert "response_format" in server.asked[-1]


def test_the_older_form_of_structured_output_is_tried():
    def script(body):
        newer = body.get("response_format", {}).get("type") == "json_schema"
        return failure(500, "response_format: expected 'json_object'") if newer else verdict()

    _, server = ask_script(script)
    (_, sent) = server.asked
    assert sent["response_format"]["schema"]["properties"]["verdict"]["enum"] == ["A", "B", "tie"]
    assert sent["logprobs"] is True


def test_one_question_that_is_refused_is_unreadable_and_the_others_go_on():
    def script(body):
        return failure(400, "too long") if "long" in body["messages"][1]["content"] else verdict()

    answer, server = ask_script(script, matchup=Matchup("b", 0, 1, ("long",), ("4",), ("5",)))
    assert (answer.outcome, answer.raw) == (None, "refused: too long")
    assert "What is 2 + 2?" in server.asked[-1]["messages"][1]["content"]  # does it work at all?


def test_a_refusal_that_comes_after_another_question_found_the_form_is_no_answer():
    """Both are asked in the richest form; one learns what the server takes, then the other."""
    agreed = threading.Event()

    def script(body):
        if "logprobs" in body:
            if "slow" in body["messages"][1]["content"]:
                assert agreed.wait(PATIENCE)
            return failure(400, "logprobs: not supported")
        agreed.set()
        return verdict()

    async def both(server):
        slow = Matchup("b", 0, 1, ("slow",), ("4",), ("5",))
        async with Judge(SPEC, base_url=server.url, key=KEY, timeout=PATIENCE) as judge:
            return await asyncio.gather(judge.ask(slow), judge.ask(TALK))

    with scripted(script) as server:
        answers = asyncio.run(both(server))
    assert [answer.outcome for answer in answers] == [Outcome.FIRST] * 2


@pytest.mark.parametrize(
    "reply",
    [
        Reply(verdict().body.replace(b"300", b"1e999")),
        failure(429, "slow down", headers={"Retry-After": "Fri, 31 Dec 99999 23:59:59 GMT"}),
    ],
    ids=["infinite usage", "a year that no calendar has"],
)
def test_numbers_that_no_clock_or_counter_has_are_no_crash(reply):
    with pytest.raises(NoAnswerError):
        ask_script(lambda _: reply, patience=0.1)


def test_a_temperature_can_be_left_to_the_server():
    spec = JudgeSpec("ann", "thinker", SPEC.prompt, temperature=None)
    _, server = ask_script(lambda _: verdict(), spec=spec)
    assert "temperature" not in server.asked[0]


def token(text, **alternatives):
    top = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in alternatives.items()]
    logprob = math.log(alternatives.get(text, 1.0))
    return {"token": text, "logprob": logprob, "bytes": None, "top_logprobs": top}


def test_the_probability_comes_from_logprobs():
    content = [token('{"verdict": "'), token("B", A=0.2, B=0.6, C=0.2), token('"}')]
    said = completion('{"verdict": "B"}', logprobs={"content": content})
    answer, _ = ask_script(lambda _: said)
    assert answer.outcome is Outcome.SECOND
    assert answer.probability == pytest.approx(0.75)
    found = answer.probabilities
    assert (found.first, found.second, found.tie) == pytest.approx((0.25, 0.75, 0))


@pytest.mark.parametrize(
    "logprobs",
    [
        {"content": None},
        {"content": []},
        {"content": "A"},
        {"content": [{"token": "A"}]},
        {"content": [{"token": '{"verdict": "A"}', "logprob": "x", "top_logprobs": 3}]},
        {"tokens": ["A"], "token_logprobs": [-1.0]},
        7,
    ],
)
def test_other_forms_of_logprobs_tell_no_probability(logprobs):
    answer, _ = ask_script(lambda _: completion('{"verdict": "A"}', logprobs=logprobs))
    assert (answer.outcome, answer.probability) == (Outcome.FIRST, None)
    assert answer.probabilities is None


@pytest.mark.parametrize(
    "reply",
    [
        failure(401, f"Incorrect API key: {KEY}"),
        failure(400, f"{KEY}?"),
        failure(500, f"{KEY}!"),
        completion(f"Your key is {KEY}."),
        Reply(KEY.encode(), 418, {}),
        Reply(KEY.encode(), 200, JSON),
    ],
)
def test_the_key_is_in_nothing_that_comes_out(reply, caplog):
    caplog.set_level(logging.DEBUG)
    try:
        answer, _ = ask_script(lambda _: reply, patience=0.1)
        told = repr(answer)
    except JudgeError as error:
        told = "".join(traceback.format_exception(error))
    assert KEY not in told + caplog.text


def test_neither_the_key_nor_a_password_in_the_url_shows():
    judge = Judge(SPEC, base_url="https://me:secret@host:8000/v1", key=KEY)
    assert judge.server == "https://host:8000/v1"
    assert KEY not in repr(judge) + repr(judge.spec)
    assert "secret" not in repr(judge)
