from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import coupled_arena
from coupled_arena.core.records import (
    Battle,
    Finish,
    Mode,
    Origin,
    Prompt,
    Reply,
    Sampling,
    Vote,
    new_id,
)


def make_battle(*models: str, turns: int = 1, **changes: Any) -> Battle:
    """Return a battle in which every value differs from the defaults of its record."""
    models = models or ("alpha", "beta")
    battle = Battle(
        id=new_id(),
        models=models,
        mode=Mode.COUPLED,
        seed=2**64 - 1,
        nonce=bytes(range(240, 256)),
        sampling=Sampling(1.3, 40, 0.5, 99, "bytes"),
        origin=Origin.ARENA,
        prompts=tuple(
            Prompt(f"Why {turn}?", f"p{turn}", "math", "en", "Be brief.", "Well, ")
            for turn in range(turns)
        ),
        replies=tuple(
            Reply(turn, place, f'{turn}: it\'s\n"{model}" \0 ñ', (turn, 2**31 - 1), Finish.LENGTH)
            for turn in range(turns)
            for place, model in enumerate(models)
        ),
        arithmetic={"torch": "2.9", "dtype": "float32"},
        experiment="7",
        repetition=3,
        chance=0.125,
    )
    return replace(battle, **changes)


def make_vote(battle: Battle, *ranks: int, voter: str = "ann", **changes: Any) -> Vote:
    return replace(Vote(new_id(), battle.id, voter, ranks or (1, 2)), **changes)


@pytest.fixture(scope="session")
def new_battle() -> Callable[..., Battle]:
    return make_battle


@pytest.fixture(scope="session")
def new_vote() -> Callable[..., Vote]:
    return make_vote


@pytest.fixture
def python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a second process on a script; whatever still runs is killed afterwards."""
    started: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", script, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(coupled_arena.__file__).parents[1])},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def lines(tmp_path):
    """Write rows (or raw text) as JSON lines."""

    def write(*rows, name="rows.jsonl"):
        path = tmp_path / name
        texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("\n".join(texts), encoding="utf-8")
        return path

    return write
