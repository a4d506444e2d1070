"""An hour of faults: what is lost, and whether the health check says no exactly while it is ill.

    python -m benchmarks.soak [--minutes 60] [--people 8] [--seed N] [--config arena.toml]

People ask and vote over HTTP, and a judge is asked after each vote, while faults come in an order
that the seed draws: the app is killed, or told to end, and started again; the process that decodes
is killed, or stands still; the disk is full; the database is moved away and put back; the judge is
gone; people hang up in mid-answer. Somebody asks for /healthz ten times a second. Prints, by kind
of fault, how often it came, whether and after how many seconds the health check said no and yes
again, and the answers that were no while nothing ailed; then how many votes that somebody was
thanked for are not in the database, and what `coupled-arena doctor` says. Exits with 1 where a vote
is lost, a fault is not told, there is a false alarm, a traceback or a complaint of the doctor.

A disk that fills needs root, for a small file system in memory; without, that fault is left out.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx

from tests.judging.scripted import KEY, RESET, Scripted, scripted, verdict
from tests.patience import until
from tests.small_models import SMALL_MODELS, save_small_models
from tests.ui.raw_client import NO_TLS, Visitor, speak
from tests.ui.server import free_port, read

DISK = "256m"
PERIOD = 0.1  # seconds between two looks at /healthz
SETTLED = 3.0  # seconds that an answer may lag behind: it is given by whoever looks at files
LONGEST = 60.0  # seconds that a fault lasts, or may take to be noticed and mended
CONFIG = """
snapshot_seconds = 5
[sampling]
max_new_tokens = 60
[judge]
name = "strict"
base_url = "{url}"
key = "{key}"
patience = 2
{models}
"""
ENVIRONMENT = {"COUPLED_ARENA_BATTLE_UNDO_SECONDS": "0"} | {
    f"COUPLED_ARENA_LIMITS_{kind}": "0"
    for kind in (
        *("VOTES_BY_VOTER", "VOTES_BY_ADDRESS", "VOTERS_BY_ADDRESS"),
        *("QUESTIONS_BY_VOTER", "QUESTIONS_BY_ADDRESS"),
    )
}


class App:
    """The app, which is started again after each end."""

    def __init__(self, folder: Path, config: Path) -> None:
        self.db = folder / "arena.duckdb"
        self.log = config.with_name("log.txt")
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        self._command = [sys.executable, "-m", "coupled_arena", "serve", "--config", str(config)]
        self._command += ["--db", str(self.db), "--port", str(port)]
        self.start()

    def start(self) -> None:
        """Return once people can vote."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, env=os.environ | ENVIRONMENT, stdout=log, stderr=log
            )
        until(lambda: self.says() == "yes")

    def end(self, how: signal.Signals) -> int:
        """End it; return its exit code."""
        self.process.send_signal(how)
        return self.process.wait()

    def says(self) -> str:
        """Return what the health check answers: yes, nothing, or what ails."""
        try:
            answer = httpx.get(f"{self.url}/healthz", timeout=LONGEST, verify=NO_TLS)
        except httpx.TransportError:
            return "nothing"
        # While models load, all paths answer with the page that says so.
        return "yes" if answer.status_code == 200 and "parts" in answer.text else answer.text

    def decoder(self) -> int:
        """Return the process that decodes: of those below the app, the one with most memory."""
        below, pages = [self.process.pid], {}
        for pid in below:
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                below += map(int, children.read_text().split())
        for pid in below[1:]:
            pages[pid] = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return max(pages, key=lambda pid: pages[pid])


@dataclass
class Soak:
    """What was done to an app, and what people met meanwhile."""

    app: App
    judge: Scripted
    rng: random.Random
    disk: Path | None
    votes: list[str] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)  # what people were told instead of thanks
    # By /healthz: when it was asked, when it told, and what.
    said: list[tuple[float, float, str]] = field(default_factory=list)
    ill: list[tuple[str, float, float]] = field(default_factory=list)
    well: Counter[str] = field(default_factory=Counter)  # faults that keep nobody from voting
    over: threading.Event = field(default_factory=threading.Event)

    def vote(self, number: int) -> None:
        """Ask, watch and vote, again and again; now and then hang up in mid-answer."""
        rng = random.Random(number)
        visitor = None
        for question in count():
            if self.over.is_set():
                return
            try:
                visitor = visitor or Visitor(self.app.url)
                if rng.random() < 0.1:
                    self._hang_up(visitor, question)
                    visitor = None
                    continue
                view = visitor.ask(f"Say {question} to {number}.")
                told = (view.get("reveal") or visitor.vote()) if view else {"error": "no round"}
                if "vote" in told:
                    self.votes.append(told["vote"])
                else:
                    self.met[str(told["error"])] += 1
                    self.over.wait(0.5)
            except (httpx.TransportError, ValueError, LookupError, AssertionError) as error:
                self.met[type(error).__name__] += 1  # the app is gone, or is loading its models
                visitor = None
                self.over.wait(0.5)

    def _hang_up(self, visitor: Visitor, question: int) -> None:
        view = visitor.begin(f"Begin {question}.")
        if view and view.get("events"):
            views = visitor.follow(view)
            any(map(speak, views))
            views.close()  # type: ignore[attr-defined]
        visitor.http.close()
        self.well["people hang up"] += 1

    def watch(self) -> None:
        """Ask for /healthz until it is over."""
        while not self.over.wait(PERIOD):
            asked = time.monotonic()
            said = self.app.says()
            self.said.append((asked, time.monotonic(), said))

    def run(self, seconds: float) -> None:
        """Do something to the app every ten to twenty seconds."""
        kinds: list[Callable[[], None]] = [
            *(self._killed, self._told_to_end, self._decoder_killed, self._decoder_stands_still),
            *(self._database_moved, self._judge_gone, *([self._disk_full] if self.disk else [])),
        ]
        until_then = time.monotonic() + seconds
        waiting: list[Callable[[], None]] = []
        while time.monotonic() < until_then:
            self.over.wait(self.rng.uniform(10, 20))
            waiting = waiting or self.rng.sample(kinds, len(kinds))
            waiting.pop()()
        self.over.wait(2 * SETTLED)

    @contextmanager
    def _ill(self, what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        until(lambda: self.app.says() == "yes")
        self.ill.append((what, began, time.monotonic()))
        print(f"{what}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)

    def _killed(self) -> None:
        with self._ill("the app is killed"):
            self.app.end(signal.SIGKILL)
            self.app.start()

    def _told_to_end(self) -> None:
        with self._ill("the app is told to end"):
            assert self.app.end(signal.SIGTERM) == 0
            self.app.start()

    def _decoder_killed(self) -> None:
        with self._ill("the process that decodes is killed"):
            os.kill(self.app.decoder(), signal.SIGKILL)
            until(lambda: self.app.says() != "yes")

    def _decoder_stands_still(self) -> None:
        with self._ill("the process that decodes stands still"):
            os.kill(self.app.decoder(), signal.SIGSTOP)
            until(lambda: self.app.says() != "yes")

    def _database_moved(self) -> None:
        with self._ill("the database is moved"):
            aside = self.app.db.rename(self.app.db.with_name("aside.duckdb"))
            time.sleep(self.rng.uniform(3, 10))
            aside.rename(self.app.db)

    def _disk_full(self) -> None:
        assert self.disk
        filler = self.disk / "filler"
        with self._ill("the disk is full"):
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            time.sleep(self.rng.uniform(10, LONGEST))
            filler.unlink()

    def _judge_gone(self) -> None:
        answers, self.judge.script = self.judge.script, lambda _: RESET
        time.sleep(self.rng.uniform(5, 20))
        self.judge.script = answers
        self.well["the judge is gone"] += 1

    def _told(self, began: float, ended: float) -> float | None:
        """Return after how many seconds the health check did not say yes, None if it always did."""
        noes = (at - began for at, _, said in self.said if began <= at <= ended and said != "yes")
        return next(noes, None)

    def report(self) -> bool:
        """Print what was found; return whether all is as it should be."""
        good = True
        for what in sorted({kind for kind, *_ in self.ill}):
            spans = [(began, ended) for kind, began, ended in self.ill if kind == what]
            after = [self._told(*span) for span in spans]
            told = [seconds for seconds in after if seconds is not None]
            good = good and len(told) == len(spans)
            mean = sum(ended - began for began, ended in spans) / len(spans)
            print(
                f"{what}: {len(spans)} times, {mean:.1f} s in the mean; told {len(told)} times, "
                f"after {max(told, default=0):.1f} s at most"
            )
        print("; ".join(f"{what}: {times} times" for what, times in self.well.items()))
        # Who asks in the moment before a fault may be answered in the moment after it began.
        false = [
            (asked, said)
            for asked, told, said in self.said
            if said != "yes" and not any(b <= told and asked <= e + SETTLED for _, b, e in self.ill)
        ]
        print(f"{len(self.said)} looks at the health check, {len(false)} false alarms")
        for at, said in false:
            ends = ((ended, what) for what, _, ended in self.ill if ended < at)
            ended, what = max(ends, default=(at, "nothing"))
            print(f"  {at - ended:.1f} s after {what}: {said[:200]}")
        stored = {vote for (vote,) in read(self.app.db, "select vote from votes")}
        lost = {*self.votes} - stored
        print(f"{len(self.votes)} votes that somebody was thanked for, {len(lost)} lost")
        print("told instead:", "; ".join(f"{n} {what}" for what, n in self.met.most_common()))
        tracebacks = self.app.log.read_text().count("Traceback")
        print(f"{tracebacks} tracebacks in the log")
        return good and not (false or lost or tracebacks)


@contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """Mount a small file system in memory, if that may be done."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        print("No disk is filled: only root may mount one.")
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--minutes", type=float, default=60)
    arguments.add_argument("--people", type=int, default=8)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--models", default="", help="entries of a settings file")
    given = arguments.parse_args()
    here = Path(tempfile.mkdtemp())
    save_small_models(here)
    folder = here / "disk"
    folder.mkdir()
    with small_disk(folder) as disk, scripted(lambda _: verdict()) as judge:
        config = here / "arena.toml"
        models = given.models or SMALL_MODELS
        config.write_text(CONFIG.format(url=judge.url, key=KEY, models=models))
        soak = Soak(App(folder, config), judge, random.Random(given.seed), disk)
        threads = [threading.Thread(target=soak.vote, args=(n,)) for n in range(given.people)]
        threads.append(threading.Thread(target=soak.watch))
        for thread in threads:
            thread.start()
        try:
            soak.run(given.minutes * 60)
        finally:
            soak.over.set()
            for thread in threads:
                thread.join()
            soak.app.end(signal.SIGTERM)
        good = soak.report()
        doctor = [sys.executable, "-m", "coupled_arena", "doctor", "--db", str(soak.app.db)]
        return 0 if subprocess.run(doctor, check=False).returncode == 0 and good else 1


if __name__ == "__main__":
    sys.exit(main())
