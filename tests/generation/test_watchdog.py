"""A load ends where nothing moves, and however slow a disk is, it moves."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from coupled_arena.generation import engine_process
from coupled_arena.generation.engine_process import Movement, Watchdog
from tests.patience import PATIENCE, until

PID = 7
STILL = engine_process._MOST_STILL


def tell(proc, pid=PID, ticks=0, read=0, children=""):
    folder = proc / str(pid)
    task = folder / "task" / str(pid)
    task.mkdir(parents=True, exist_ok=True)
    (task / "children").write_text(children)
    (folder / "stat").write_text(f"{pid} (a (very) odd name) S " + "0 " * 10 + f"{ticks} 3 0 0")
    names = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes")
    (folder / "io").write_text("".join(f"{name}: {read}\n" for name in names))


def test_one_byte_is_a_movement_and_so_is_a_tenth_of_a_second(tmp_path):
    tell(tmp_path)
    movement = Movement(PID, tmp_path)
    assert movement.seen()
    assert not movement.seen()
    tell(tmp_path, read=1)
    assert movement.seen()
    tell(tmp_path, ticks=9, read=1)
    assert not movement.seen()
    tell(tmp_path, ticks=10, read=1)  # since the last movement, however many looks ago
    assert movement.seen()
    assert not movement.seen()


def test_a_download_that_a_load_waits_for_moves(tmp_path):
    tell(tmp_path, children="8 9")
    tell(tmp_path, 8, children="10")
    tell(tmp_path, 9)
    tell(tmp_path, 10)
    movement = Movement(PID, tmp_path)
    assert movement.seen()
    assert not movement.seen()
    tell(tmp_path, 10, read=1)
    assert movement.seen()


def test_where_nothing_is_told_nothing_is_ended(tmp_path):
    movement = Movement(PID, tmp_path)
    assert movement.seen()
    assert movement.seen()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells it")
def test_a_real_process_that_waits_is_still_until_it_reads():
    code = "import sys\nfor line in sys.stdin: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, text=True) as one:
        movement = Movement(one.pid)
        until(lambda: not movement.seen())
        one.stdin.write("\n")
        one.stdin.flush()
        until(movement.seen)
        one.stdin.close()


@pytest.fixture
def looked(monkeypatch):
    """Watch a process that moves at some looks, and return at which look it was ended."""
    monkeypatch.setattr(engine_process, "_LOOK", 0.0)

    def count(moves, expects=lambda: False):
        looks, ended = [], threading.Event()

        def seen():
            looks.append(len(looks))
            return moves(len(looks))

        dog = Watchdog(expects, pytest.fail, seen, lambda _: ended.set())
        assert ended.wait(PATIENCE)
        dog.close()
        return len(looks)

    return count


def test_a_load_is_ended_after_as_many_looks_in_a_row(looked):
    assert looked(lambda _: False) == STILL
    assert looked(lambda look: look == STILL) == 2 * STILL


def test_a_load_of_days_goes_on_where_something_moves_now_and_then(looked):
    """Of a thousand times as many looks as it may be still, one in fifty-nine sees it move."""
    moving = 1000 * STILL
    assert looked(lambda look: look <= moving and look % (STILL - 1) == 0) >= moving
