"""Who may import whom: the arrows of the house point one way."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import coupled_arena
from coupled_arena.cli.main import app

PACKAGE = Path(__file__).resolve().parents[1] / "coupled_arena"

# From the faces down: a room may import what lies on floors below its own, and itself.
FLOORS = (
    {"__main__"},
    {"cli", "__init__", "harness"},
    {"ui"},
    {"api"},  # what the page offers is declared there
    {"papers"},
    {"views"},
    {"services"},
    {"battles"},
    {"analysis"},
    {"generation", "judging", "tasks", "store", "stats"},  # know nothing of each other
    {"core"},
)
STATS_ALLOWED = {"numpy", "scipy", "numba"}


@cache
def modules():
    return sorted(PACKAGE.rglob("*.py"))


@cache
def nodes(path):
    """The parts of a module; only what a test looks for is kept."""
    kept = ast.Import | ast.ImportFrom | ast.Call | ast.FunctionDef | ast.AsyncFunctionDef
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kept)]


@cache
def imports(path):
    return [node for node in nodes(path) if isinstance(node, ast.Import | ast.ImportFrom)]


def room(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def floor(name):
    return next(number for number, rooms in enumerate(FLOORS) if name in rooms)


def imported(path):
    for node in imports(path):
        if isinstance(node, ast.ImportFrom):
            yield node.module
        else:
            yield from (name.name for name in node.names)


@cache
def named_modules():
    return {".".join(p.with_suffix("").relative_to(PACKAGE.parent).parts) for p in modules()}


def reached_modules(path):
    for node in imports(path):
        if isinstance(node, ast.ImportFrom):
            yield from named_modules() & {
                node.module,
                *(f"{node.module}.{n.name}" for n in node.names),
            }


def test_every_room_is_on_the_plan():
    assert {room(path) for path in modules()} == set().union(*FLOORS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arrows_run_downwards(path):
    reached = {name.split(".")[1] for name in imported(path) if name.startswith("coupled_arena.")}
    above = {other for other in reached - {room(path)} if floor(other) <= floor(room(path))}
    assert not above


def test_there_is_no_circle():
    """Neither of modules nor of folders: what is below never asks what is above."""

    def folder(module):
        return module.rpartition(".")[0] if module.count(".") > 1 else module

    for where in (str, folder):
        graph = defaultdict(set)
        for path in modules():
            own = ".".join(path.with_suffix("").relative_to(PACKAGE.parent).parts)
            for name in reached_modules(path):
                if where(name) != where(own):
                    graph[where(own)].add(where(name))
        TopologicalSorter(graph).prepare()


def test_only_the_command_line_starts_the_page():
    visitors = {room(path) for path in modules() if any(".ui" in name for name in imported(path))}
    assert visitors <= {"ui", "cli"}


def test_only_its_face_imports_what_makes_the_papers():
    """What others need of it belongs to their own floor: the room can be left out whole."""
    visitors = {
        str(path.relative_to(PACKAGE))
        for path in modules()
        if room(path) != "papers"
        and any(name.split(".")[1:2] == ["papers"] for name in imported(path))
    }
    assert visitors == {"api/reproducing.py"}


def test_results_are_shown_without_gradio():
    assert not [
        path
        for path in modules()
        if room(path) != "ui" and {name.split(".")[0] for name in imported(path)} & {"gradio"}
    ]


@pytest.mark.parametrize("path", sorted((PACKAGE / "stats").rglob("*.py")), ids=lambda p: p.name)
def test_statistics_know_only_arrays(path):
    outside = {name.split(".")[0] for name in imported(path)} - {"coupled_arena", "__future__"}
    standard = {"collections", "dataclasses", "typing", "math", "itertools", "functools", "enum"}
    standard |= {"concurrent", "os"}  # compiled loops in threads
    assert outside <= STATS_ALLOWED | standard


def test_only_settings_reads_the_environment():
    readers = {room(path) for path in modules() if "environ" in path.read_text()}
    assert readers <= {"core", "cli"}  # cli sets what Gradio reads at import


def test_few_talk_to_a_server():
    clients = {"openai", "httpx", "requests", "aiohttp", "socket"}
    talkers = {
        str(path.relative_to(PACKAGE))
        for path in modules()
        if clients & {name.split(".")[0] for name in imported(path)}
    }
    assert talkers == {
        "generation/asked_servers.py",
        "generation/remote.py",
        "generation/server_check.py",
        "generation/stock_servers.py",
        "judging/judge.py",
        "ui/connections.py",  # of the server
        "ui/server.py",  # listens
        "ui/waiting.py",  # listens before it, while models load
    }


def test_no_module_prints():
    calls = [
        path
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    ]
    assert calls == []


def length(path, function):
    """Return a function's lines less its docstring; those of a face less its options, too."""
    documented = ast.get_docstring(function) is not None
    body = function.body[documented:]
    if not body:
        return 0
    inside = function.end_lineno - body[0].lineno + 1
    if takes_options(path, function):
        return inside
    docstring = function.body[0].end_lineno - function.body[0].lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - docstring


def takes_options(path, function):
    """Tell whether a function is a command, or the same for Python."""
    module = ".".join(path.with_suffix("").relative_to(PACKAGE.parent).parts)
    faces = [each.callback for each in app.registered_commands]
    faces += [getattr(coupled_arena, name) for name in coupled_arena.__all__]
    return (module, function.name) in {(each.__module__, each.__name__) for each in faces}


def test_no_file_is_longer_than_600_lines():
    """A file is one idea, read top to bottom; the bound stops what has grown past that."""
    found = {path: len(path.read_text().splitlines()) for path in modules()}
    assert {str(path): lines for path, lines in found.items() if lines > 600} == {}


def test_no_function_is_longer_than_45_lines():
    found = {
        f"{path.relative_to(PACKAGE)} {node.name}": length(path, node)
        for path in modules()
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in found.items() if lines > 45} == {}


def test_no_test_beside_a_browser_starts_a_loop_in_its_thread():
    """A browser leaves one there, so that `asyncio.run` fails by which worker has which file."""
    folder = Path(__file__).parent / "ui"
    found = {
        path.name
        for path in folder.rglob("*.py")
        if re.search(r"\b(asyncio|anyio)\.run\b", path.read_text())
    }
    assert found == {"coroutines.py"}


def test_every_browser_waits_as_long_as_tests_do():
    folder = Path(__file__).parent
    found = {p.name for p in folder.rglob("*.py") if re.search(r"\.new_context\(", p.read_text())}
    assert found == {"patience.py"}
