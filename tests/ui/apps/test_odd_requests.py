"""Odd requests to all routes and events of an app: each is answered, and none with a failure."""

from __future__ import annotations

import time

from benchmarks.odd_requests import PATIENCE, send_all
from tests.ui.raw_client import Visitor, differ

INPUTS = 400  # `python -m benchmarks.odd_requests` sends as many as one likes


def test_no_odd_request_fails_or_hangs(app):
    before = app.stderr.read_text()
    met = send_all(app.url, INPUTS, seed=1)
    assert met.failed == []
    assert sum(met.statuses.values()) == INPUTS
    assert met.slowest[-1][0] < PATIENCE
    assert {"200", "404", "422"} <= met.statuses.keys()
    began = time.monotonic()
    visitor = Visitor(app.url)
    assert not visitor.ask(stop=differ)["error"]
    assert time.monotonic() - began < PATIENCE
    assert "Traceback" not in app.stderr.read_text().removeprefix(before)
