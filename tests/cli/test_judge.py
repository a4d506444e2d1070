"""The judge command as a process: its answers, its errors, and being killed."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from coupled_arena.cli import main
from coupled_arena.core.settings import load_settings
from coupled_arena.store.database import Store
from tests.batches import at_once
from tests.cli.test_cli import copied, start
from tests.judging.scripted import KEY, failure, scripted, verdict
from tests.patience import PATIENCE, until
from tests.store.conftest import make_battle
from tests.ui.server import read


@pytest.fixture(autouse=True)
def keyless(monkeypatch):
    for name in ("COUPLED_ARENA_JUDGE_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "arena.duckdb"
    with Store.open(path) as store, at_once(store) as batch:
        for _ in range(30):
            batch.add_battle(make_battle())
    return path


@pytest.fixture
def db(filled, tmp_path):
    return copied(filled, tmp_path)


def judging(db, server, *more):
    return ["judge", "--judge", "ann", "--base-url", server.url, "--db", db, "--json", *more]


def verdicts(db):
    return read(db, "select battle, first_place, second_place, outcome from verdicts")


def test_a_run_as_json(call, db):
    with scripted(lambda _: verdict()) as server:
        code, out, err = call(*judging(db, server, "--model", "strong", "--limit", 5))
        answer = json.loads(out)
        assert (code, answer["verdicts"], answer["skipped"], answer["left"]) == (0, 10, 0, 0)
        assert (answer["judge"], answer["model"]) == ("ann", "strong")
        assert "10/10" in err
        code, out, _ = call(*judging(db, server))  # the model is known by now
        assert (code, json.loads(out)["verdicts"], json.loads(out)["skipped"]) == (0, 50, 10)
        assert {body["model"] for body in server.asked} == {"strong"}
        code, out, _ = call(*judging(db, server)[:-1])
        assert out.startswith("ann gave 0 verdicts")
        assert "60 were there already, 0 are left" in out
    code, out, _ = call("leaderboard", "--judge", "ann", "--source", "judge", "--db", db, "--json")
    assert {row["judge_verdicts"] for row in json.loads(out)["models"]} == {30}


def test_a_name_stands_for_the_model_of_that_name(call, db):
    with scripted(lambda _: verdict()) as server:
        call(*judging(db, server, "--limit", 1))
    assert server.asked[0]["model"] == "ann"


@pytest.fixture(scope="module")
def begun(filled, tmp_path_factory):
    """A store in which the judge has judged one battle."""
    path = copied(filled, tmp_path_factory.mktemp("begun"))
    with scripted(lambda _: verdict()) as server, pytest.raises(SystemExit) as stopped:
        main([str(word) for word in judging(path, server, "--limit", 1)])
    assert (stopped.value.code or 0, len(server.asked)) == (0, 2)
    return path


@pytest.mark.parametrize(
    "changed",
    [
        ["--model", "other"],
        ["--swap", "random"],
        ["--max-tokens", 9],
        ["--both-bad"],
        ["--temperature", "server"],
        ["--prompt", "PROMPT"],
    ],
    ids=lambda words: words[0],
)
def test_a_name_is_one_judge(call, begun, tmp_path, changed):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("The shorter answer is better.")
    with scripted(lambda _: verdict()) as server:
        more = [prompt if word == "PROMPT" else word for word in changed]
        code, out, err = call(*judging(begun, server, *more))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "The judge 'ann' stands for verdicts with the" in err
    assert server.asked == []
    assert len(verdicts(begun)) == 2


def test_the_key_comes_from_the_environment_and_goes_only_to_the_server(
    call, db, monkeypatch, tmp_path
):
    monkeypatch.setenv("COUPLED_ARENA_JUDGE_KEY", f" {KEY}\n")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    with scripted(lambda _: verdict()) as server:
        _, out, err = call(*judging(db, server))
        assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
        server.script = lambda _: failure(401, f"{KEY} is not allowed")
        code, more_out, more_err = call(*judging(db, server)[:2], "bob", *judging(db, server)[3:])
    assert code == 1
    assert KEY not in out + err + more_out + more_err
    call("export", "--db", db, "--out", tmp_path / "out", "--format", "jsonl")
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in stored
    assert KEY not in repr(load_settings()) + str(load_settings().model_dump())


def test_another_program_s_key_is_the_last_resort(tmp_path, monkeypatch):
    config = tmp_path / "arena.toml"
    config.write_text('[judge]\nkey = "sk-file"\n')
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")

    def key(*where):
        return load_settings(*where).judge.key.get_secret_value()

    assert (key(), key(config)) == ("sk-other", "sk-file")
    monkeypatch.setenv("COUPLED_ARENA_JUDGE_KEY", KEY)
    assert (key(), key(config)) == (KEY, KEY)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "Name the judge with --judge"),
        (["--judge", "ann"], "The judge has no key: set COUPLED_ARENA_JUDGE_KEY"),
        (["--judge", "ann", "--base-url", "localhost:1"], "judge.base_url"),
        (["--judge", "ann", "--concurrency", 0], "judge.concurrency"),
        (["--judge", "ann", "--temperature", "hot"], "judge.temperature"),
        (["--judge", "ann", "--budget", 1], "--price-in and --price-out"),
        (["--judge", "ann", "--base-url", "http://x", "--prompt", "none.txt"], "none.txt"),
        (["--judge", "ann", "--base-url", "http://x", "--db", "none.duckdb"], "does not exist"),
    ],
)
def test_wrong_input_is_one_line(call, db, options, message):
    code, out, err = call("judge", "--db", db, *options)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert message in err


def test_a_key_that_is_none_is_not_shown(call, db, monkeypatch):
    monkeypatch.setenv("COUPLED_ARENA_JUDGE_KEY", "sk-geheim-ü")
    code, _, err = call("judge", "--judge", "ann", "--db", db)
    assert code == 1
    assert "judge.key: a key is one line" in err
    assert "geheim" not in err


def test_what_is_left_is_an_error(call, db):
    with scripted(lambda body: verdict() if len(server.asked) != 7 else failure(500)) as server:
        code, out, err = call(*judging(db, server, "--patience", 0))
    assert (code, json.loads(out)["left"], json.loads(out)["verdicts"]) == (1, 1, 59)
    assert "1 verdicts are left" in err


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_killed_in_the_middle_it_goes_on_where_it_was(call, db, sign):
    answered = []

    def script(body):
        time.sleep(0.03)
        answered.append((time.monotonic(), body["messages"][1]["content"]))
        return verdict()

    with scripted(script) as server:
        process = start(*judging(db, server, "--concurrency", 4))
        until(lambda: len(answered) >= 24)
        process.send_signal(sign)
        killed = time.monotonic()
        process.communicate(timeout=PATIENCE)
        asked = len(server.asked)
        stored = verdicts(db)
        if sign is signal.SIGINT:
            assert process.returncode == 1
            assert len(stored) == len(answered)
        else:  # what was not written yet: answers of the last moments
            old = sum(at < killed - 1.0 for at, _ in answered)
            assert old <= len(stored) <= len(answered)
        code, out, _ = call(*judging(db, server, "--concurrency", 4))
        assert code == 0
        answer = json.loads(out)
    assert (answer["skipped"], answer["left"]) == (len(stored), 0)
    found = [row[:3] for row in verdicts(db)]
    assert len(set(found)) == len(found) == 60
    assert len(server.asked) - asked == 60 - len(stored)


@pytest.mark.slow
def test_a_store_that_the_app_owns_is_left_alone(call, db):
    with scripted(lambda _: verdict()) as server, Store.open(db):
        child = start(*judging(db, server))
        _, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 1
    assert f"is in use by process {os.getpid()}" in err
    assert server.asked == []
