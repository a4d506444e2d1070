"""Lines of the log: their form, and what they keep to themselves."""

from __future__ import annotations

import io
import json
import logging
import queue
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from coupled_arena.core.logs import JsonLines, TextLines
from coupled_arena.generation.engine_child import _LogOverPipe

SECRET = "what somebody wrote"


@pytest.fixture(params=["here", "over a pipe"])
def log(request):
    """A log, and what its lines are in a form: written here, or by the process that decodes."""
    logger = logging.getLogger(f"test_logs.{request.param}")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    records = queue.SimpleQueue()
    pipe = SimpleNamespace(send=records.put)

    def lines(form):
        written = io.StringIO()
        there = logging.StreamHandler(written)
        there.setFormatter(form)
        while not records.empty():
            there.handle(records.get())
        return written.getvalue()

    class Keeps(logging.Handler):
        def emit(self, record):
            records.put(record)

    logger.handlers = [Keeps() if request.param == "here" else _LogOverPipe(pipe)]
    return logger, lines


def test_an_event_is_one_line_with_its_fields(log):
    logger, lines = log
    logger.warning("%(who)s ended; lost: %(lost)d", {"who": "é\n", "lost": 3})
    logger.info("%s: %s", "No one", "knows")
    before = datetime.now(UTC)
    text = lines(JsonLines())
    first, second = map(json.loads, text.splitlines())
    assert text.count("\n") == 2
    assert first["event"] == "%(who)s ended; lost: %(lost)d"
    assert first["message"] == "é\n ended; lost: 3"
    assert (first["level"], first["fields"]) == ("warning", {"who": "é\n", "lost": 3})
    assert first["logger"] == logger.name
    moment = datetime.fromisoformat(first["time"])
    assert first["time"].endswith("Z")
    assert 0 <= (before - moment).total_seconds() < 60
    assert second["event"] == "test_logs.test_an_event_is_one_line_with_its_fields"
    assert (second["message"], second["fields"]) == ("No one: knows", {})


@pytest.mark.parametrize("form", [JsonLines(), TextLines("%(message)s")])
def test_an_exception_is_its_kind_and_places(log, form):
    logger, lines = log
    try:
        raise ValueError(SECRET)
    except ValueError:
        logger.exception("A step failed")
    said = lines(form)
    assert SECRET not in said
    assert "ValueError" in said
    assert "test_logs.py:" in said
    if isinstance(form, JsonLines):
        assert said.count("\n") == 1
        line = json.loads(said)
        assert line["event"] == "A step failed"
        assert line["fields"]["error"] == "ValueError"
        assert line["fields"]["places"][-1].startswith("test_logs.py:")


@pytest.mark.parametrize("form", [JsonLines(), TextLines("%(message)s")])
def test_a_task_is_not_shown_with_what_it_held(form):
    record = logging.LogRecord("asyncio", logging.ERROR, "", 0, f"Never seen\n{SECRET}", (), None)
    assert SECRET not in form.format(record)
    assert "Never seen" in form.format(record)
