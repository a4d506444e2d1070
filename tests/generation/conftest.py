"""Shared by the tests of generation."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from coupled_arena.generation import lockstep


@pytest.fixture
def passes(monkeypatch):
    """Return a function that lets seconds pass for engines, for which no other time passes."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(lockstep, "time", SimpleNamespace(perf_counter=lambda: clock.now))

    def passes(seconds):
        clock.now += seconds

    return passes
