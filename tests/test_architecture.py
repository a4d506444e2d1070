"""Who may import whom: the arrows of the house point one way."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "coupled_arena"

# Room -> rooms it may import from, besides itself.
VALUES = {"records", "errors", "questions"}
ARROWS = {
    "errors": set(),
    "records": set(),
    "questions": {"records"},
    "stats": VALUES,
    "generation": VALUES,
    "store": VALUES,
    "judging": VALUES,
    "tasks": VALUES | {"interrupts"},
    "interrupts": set(),
    "settings": VALUES | {"generation"},
    "live": VALUES | {"store"},
    "evidence": VALUES | {"stats", "store", "live"},
    "score_files": VALUES | {"stats"},
    "coupling": VALUES | {"stats", "store"},
    "text_metrics": set(),
    "risk": VALUES | {"stats", "store", "score_files", "text_metrics"},
    "leaderboard": VALUES | {"stats", "store", "evidence"},
    "audit": VALUES | {"stats", "store", "live", "evidence"},
    "arena": VALUES | {"generation", "store"},
    "prompt_files": VALUES,
    "experiment": VALUES | {"generation", "store", "interrupts"},
    "benchmark": VALUES | {"experiment", "generation", "store", "tasks"},
    "replay": VALUES | {"generation"},
    "court": VALUES | {"judging", "store", "interrupts"},
    "services": VALUES
    | {"settings", "generation", "store", "arena", "evidence", "audit", "judging", "court"},
    "ui": VALUES
    | {"settings", "generation", "stats", "store", "arena", "evidence", "leaderboard", "audit"}
    | {"services", "court", "risk", "coupling", "score_files"},
    "report": VALUES
    | {"settings", "stats", "store", "evidence", "leaderboard", "audit", "coupling", "ui"}
    | {"risk"},
    "cli": VALUES
    | {"settings", "generation", "stats", "store", "experiment", "evidence", "leaderboard"}
    | {"audit", "services", "ui", "judging", "court"}
    | {"score_files", "prompt_files", "replay", "benchmark", "tasks", "risk", "coupling"}
    | {"report", "interrupts"},
    "__init__": set(),
    "__main__": {"cli"},
}
STATS_ALLOWED = {"numpy", "scipy", "numba", "evalica"}


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def room(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def test_every_room_is_on_the_plan():
    assert {room(path) for path in modules()} == set(ARROWS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arrows(path):
    reached = {name.split(".")[1] for name in imported(path) if name.startswith("coupled_arena.")}
    assert reached - {room(path)} <= ARROWS[room(path)]


@pytest.mark.parametrize("path", sorted((PACKAGE / "stats").glob("*.py")), ids=lambda p: p.name)
def test_statistics_know_only_arrays(path):
    outside = {name.split(".")[0] for name in imported(path)} - {"coupled_arena", "__future__"}
    standard = {"collections", "dataclasses", "typing", "math", "itertools", "functools", "enum"}
    standard |= {"concurrent", "os"}  # compiled loops in threads
    assert outside <= STATS_ALLOWED | standard


def test_only_settings_reads_the_environment():
    readers = {room(path) for path in modules() if "environ" in path.read_text()}
    assert readers <= {"settings", "cli"}  # cli sets what Gradio reads at import


def test_only_the_judge_talks_to_an_api():
    clients = {"openai", "httpx", "requests", "aiohttp", "socket"}
    talkers = {
        str(path.relative_to(PACKAGE))
        for path in modules()
        if clients & {name.split(".")[0] for name in imported(path)}
    }
    assert talkers == {
        "judging/judge.py",
        "judging/retry.py",  # reads the client's errors
        "ui/server.py",  # listens
    }


def test_no_module_prints():
    calls = [
        path
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    ]
    assert calls == []
