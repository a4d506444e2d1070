"""Many people at once: tokens per second through the page against the engine alone, in one run.

    python -m benchmarks.load [--people 1,4,16] [--rounds N] [--tokens N] [--preset NAME]
    python -m benchmarks.load --people 50 --minutes 5   # they go on for so long
    python -m benchmarks.load --people 400 --minutes 3 --think 60  # each rests a minute or so
    python -m benchmarks.load --people 20 --minutes 5 --newcomers  # a new page for each question
    python -m benchmarks.load --leave 100               # so many tabs are closed in mid-answer
    python -m benchmarks.load --config arena.toml       # its models, its length of answers
    python -m benchmarks.load --gate 5                  # in turn without a gate and beside one

For each number of people: the engine alone decodes as many battles at a time, on all processors and
on those that it has beside a web server. Then as many visitors ask over HTTP, watch their answers,
vote and ask again. Prints tokens per second of all and their ratios, how long a question waits for
its first words and its end, what the page takes to open meanwhile, how much processor and memory
the web server takes, and how many votes that somebody was thanked for are not in the database.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import httpx
import torch

from coupled_arena.battles.pair_sampling import new_battle
from coupled_arena.core.process import threads_beside_a_server
from coupled_arena.core.prompts import read_library
from coupled_arena.core.records import Prompt
from coupled_arena.core.settings import Settings, load_settings, resource
from coupled_arena.generation.language_model import LanguageModel
from coupled_arena.generation.loading import load_enabled
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.running import Request
from coupled_arena.generation.turns import next_request
from tests.patience import PATIENCE, until
from tests.ui.plain_http import Http
from tests.ui.raw_client import QUESTION, Visitor, speak
from tests.ui.server import free_port

TOKENS = """
select sum(len(replies.tokens)) from replies join battles using (battle)
where list_contains(?, battles.commitment)
"""


@dataclass
class Crowd:
    """What so many visitors met."""

    seconds: float = 0.0
    commitments: list[str] = field(default_factory=list)
    first_words: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    openings: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)  # bytes that the web server takes
    processor: float = 0.0  # seconds that the web server has taken
    own: float = 0.0  # seconds that the visitors have taken, who are in this process
    votes: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--people", default="1,4,16")
    arguments.add_argument("--rounds", type=int, default=2)
    arguments.add_argument("--minutes", type=float, default=0)
    arguments.add_argument("--think", type=float, default=0)
    arguments.add_argument("--newcomers", action="store_true")
    arguments.add_argument("--leave", type=int, default=0)
    arguments.add_argument("--tokens", type=int, default=32)
    arguments.add_argument("--preset", default="demo")
    arguments.add_argument("--config", type=Path)
    arguments.add_argument("--gate", type=int, default=0)
    given = arguments.parse_args()
    folder = Path(tempfile.mkdtemp())
    config = given.config or folder / "arena.toml"
    if not given.config:
        config.write_text(
            f"preset = '{given.preset}'\n[sampling]\nmax_new_tokens = {given.tokens}\n"
        )
    if given.leave:  # so that newcomers are let in only where nothing of them is left
        os.environ["COUPLED_ARENA_BATTLE_MOST_AT_ONCE"] = str(given.leave)
    library = read_library(resource("data/prompts.jsonl")).prompts
    questions = [prompt for prompt in library if len(prompt.text) < 300]
    with served(config, folder / "arena.duckdb") as app:
        if given.leave:
            leave(app, questions, given.leave)
            return
        if given.gate:
            pairs = beside_gate(given, app, questions)
        else:
            alone, met = play_all(given, app, load_settings(config), questions)
    with duckdb.connect(str(folder / "arena.duckdb"), read_only=True) as connection:
        if given.gate:
            report_gate(connection, pairs)
            shutil.rmtree(folder)
            return
        for number in alone:
            report(connection, number, alone[number], met[number])
    shutil.rmtree(folder)


def play_all(
    given: argparse.Namespace, app: App, settings: Settings, questions: list[Prompt]
) -> tuple[dict[int, list[float]], dict[int, Crowd]]:
    """Measure engine and page in turn, so that both meet the machine as it then is."""
    models = load_enabled(settings)
    decode(LockstepEngine(models), requests(settings, models, questions[:1]))  # warms up
    crowd(app, questions, 1, Rounds(1))
    alone: dict[int, list[float]] = {}
    met = {}
    every = torch.get_num_threads()
    each = dict.fromkeys([every, threads_beside_a_server() or every])
    for number in (int(number) for number in given.people.split(",")):
        asked = questions_for(questions, number * given.rounds)
        alone[number] = []
        for threads in each:
            torch.set_num_threads(threads)
            alone[number].append(engine_alone(settings, models, asked, number))
        torch.set_num_threads(every)
        met[number] = crowd(
            app,
            questions,
            number,
            Rounds(given.rounds, given.minutes * 60, given.think, newcomers=given.newcomers),
        )
        print(f"{number:3} people: {met[number].seconds:.0f} s", file=sys.stderr, flush=True)
    return alone, met


@dataclass(frozen=True)
class Rounds:
    """How long people play: so many rounds each, or for so many seconds."""

    count: int
    seconds: float = 0.0
    think: float = 0.0  # seconds before each question: none to twice as many
    newcomers: bool = False  # who has played a round leaves, and somebody else opens the page

    def of(self, questions: list[Prompt], first: int) -> Iterator[Prompt]:
        """Yield the questions of somebody who begins with a given one."""
        until = time.perf_counter() + self.seconds
        for number in itertools.count(first):
            over = time.perf_counter() > until if self.seconds else number - first >= self.count
            if over:
                return
            time.sleep(random.uniform(0, 2 * self.think))
            yield questions[number % len(questions)]


@dataclass(frozen=True)
class App:
    """A running app."""

    url: str
    pid: int

    @property
    def processor(self) -> float:
        """Seconds of processor that the web server has taken, without the one that decodes."""
        user, system = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    @property
    def memory(self) -> int:
        """Bytes of memory that it takes."""
        pages = Path(f"/proc/{self.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


def questions_for(questions: list[Prompt], count: int) -> list[Prompt]:
    return [questions[number % len(questions)] for number in range(count)]


def requests(
    settings: Settings, models: Mapping[str, LanguageModel], questions: list[Prompt]
) -> list[Request]:
    """Return first turns of battles, drawn as the arena draws them."""
    sampling, share = settings.sampling.sampling(), settings.battle.coupled_share
    rng = random.Random(7)
    return [
        next_request(
            models, new_battle(list(models), 2, sampling, coupled_share=share, rng=rng), question
        )
        for question in questions
    ]


def engine_alone(
    settings: Settings, models: Mapping[str, LanguageModel], asked: list[Prompt], at_once: int
) -> float:
    """Return the tokens per second of an engine that always has so many battles to decode."""
    engine = LockstepEngine(models)
    waiting = [engine.prepare(request) for request in requests(settings, models, asked)]
    runs = list(waiting)
    started = time.perf_counter()
    while waiting or engine.battles:
        while waiting and engine.battles < at_once:
            engine.add(waiting.pop(0))
        engine.step()
    taken = time.perf_counter() - started
    return sum(len(line.tokens) for run in runs for line in run.lines) / taken


@contextmanager
def served(config: Path, db: Path) -> Iterator[App]:
    """Serve the app in a process of its own."""
    port = free_port()
    options = ["--config", str(config), "--db", str(db), "--port", str(port)]
    # No visitor waits, and all come from one address.
    environment = {**os.environ, "COUPLED_ARENA_BATTLE_UNDO_SECONDS": "0"}
    kinds = "VOTES_BY_VOTER", "VOTES_BY_ADDRESS", "VOTERS_BY_ADDRESS"
    kinds += "QUESTIONS_BY_VOTER", "QUESTIONS_BY_ADDRESS"
    environment |= {f"COUPLED_ARENA_LIMITS_{kind}": "0" for kind in kinds}
    command = [sys.executable, "-m", "coupled_arena", "serve", *options]
    app = subprocess.Popen(command, env=environment)
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return httpx.get(f"{url}/healthz").status_code == 200
        except httpx.TransportError:
            return False

    try:
        until(answers)
        yield App(url, app.pid)
    finally:
        app.send_signal(signal.SIGINT)
        app.wait()


def crowd(app: App, questions: list[Prompt], people: int, rounds: Rounds) -> Crowd:
    """Let so many visitors play at the same time."""
    met = Crowd()
    visitors = [visitor_of(app.url) for _ in range(people)]
    over, here = threading.Event(), threading.Barrier(people)
    with ThreadPoolExecutor(people + 1) as pool:
        for each in [pool.submit(here.wait) for _ in range(people)]:  # all threads are there
            each.result()
        pool.submit(look_in, app, over, met)
        busy, own = app.processor, time.process_time()
        started = time.perf_counter()
        asked = [rounds.of(questions, number) for number in range(people)]
        each = zip(visitors, asked, strict=True)
        games = [pool.submit(play, *one, met, newcomers=rounds.newcomers) for one in each]
        try:
            for game in games:
                game.result()
        finally:
            over.set()
        met.seconds = time.perf_counter() - started
        met.processor, met.own = app.processor - busy, time.process_time() - own
    return met


def visitor_of(url: str) -> Visitor:
    return Visitor(url, http=Http(url))  # type: ignore[arg-type]


def leave(app: App, questions: list[Prompt], tabs: int) -> None:
    """Close so many tabs in mid-answer; a second later as many newcomers ask."""
    with ThreadPoolExecutor(tabs) as pool:
        visitors = [visitor_of(app.url) for _ in range(2 * tabs)]
        asked = questions_for(questions, tabs)

        def begin(visitor: Visitor, question: Prompt) -> Iterator[dict] | None:
            view = visitor.begin(question.text)
            views = visitor.follow(view) if view else None
            return views if views and any(map(speak, views)) else None

        streams = list(pool.map(begin, visitors[:tabs], asked))
        for stream in streams:
            if stream:
                stream.close()  # type: ignore[attr-defined]
        time.sleep(1)
        let_in = [v for v in pool.map(lambda v: v.begin(QUESTION), visitors[tabs:]) if v]
    print(f"{sum(map(bool, streams))} tabs closed; 1 s later {len(let_in)} newcomers were let in")


def play(
    visitor: Visitor, questions: Iterator[Prompt], met: Crowd, *, newcomers: bool = False
) -> None:
    """Ask, watch, vote, and again."""
    for question in questions:
        if newcomers:
            visitor.http.close()
            visitor = visitor_of(str(visitor.http.base_url))
        started = time.perf_counter()
        spoken: list[float] = []

        def look(view: dict, since: float = started, spoken: list[float] = spoken) -> bool:
            if not spoken and speak(view):
                spoken.append(time.perf_counter() - since)
            return False

        view = visitor.ask(question.text, stop=look)
        if not view or view["error"]:
            met.refusals.append(view["error"] if view else "refused")
            continue
        met.ends.append(time.perf_counter() - started)
        met.first_words += spoken
        met.commitments.append(view["commitment"])
        reveal = view["reveal"] or visitor.vote()
        if "vote" in reveal:
            met.votes.append(reveal["vote"])
        else:  # two answers with the same words, but not the same tokens
            met.refusals.append(reveal["error"])


def look_in(app: App, over: threading.Event, met: Crowd) -> None:
    """Open the page every second."""
    while not over.wait(1):
        started = time.perf_counter()
        httpx.get(app.url, timeout=PATIENCE).raise_for_status()
        met.openings.append(time.perf_counter() - started)
        met.memory.append(app.memory)


Pairs = dict[int, list[tuple[Crowd, Crowd]]]
"""By people: what they met without a gate, and beside one."""


def beside_gate(given: argparse.Namespace, app: App, questions: list[Prompt]) -> Pairs:
    """Let people play without a gate and beside one, in turn: both meet the same machine."""
    rounds = Rounds(given.rounds)
    crowd(app, questions, 1, Rounds(1))
    keeper = Visitor(app.url)
    pairs: Pairs = {}
    for number in (int(number) for number in given.people.split(",")):
        pairs[number] = []
        for _ in range(given.gate):
            without = crowd(app, questions, number, rounds)
            press(keeper, "gate-start")
            beside = crowd(app, questions, number, rounds)
            press(keeper, "gate-stop")
            pairs[number].append((without, beside))
        print(f"{number:3} people", file=sys.stderr, flush=True)
    return pairs


def press(visitor: Visitor, button: str) -> None:
    """Press a button of the tab of gates: two models, and the last benchmark of the settings."""
    event = visitor.dependency("click", button)
    fields: dict[int, object] = {}
    for each in visitor.config["components"]:
        props = each["props"]
        last = props.get("elem_id") == "gate-task"
        fields[each["id"]] = props["choices"][-1][1] if last else props.get("value")
    visitor.call(event, [fields[each] for each in event["inputs"]])


def report_gate(connection: duckdb.DuckDBPyConnection, pairs: Pairs) -> None:
    for people, each in pairs.items():
        speeds = [
            tuple(tokens(connection, met) / met.seconds for met in (without, beside))
            for without, beside in each
        ]
        shares = [beside / without for without, beside in speeds]
        first, second = (statistics.median(column) for column in zip(*speeds, strict=True))
        print(
            f"{people:3} people: {first:6.1f} tokens/s alone, {second:6.1f} beside a gate; "
            f"ratio {statistics.median(shares):.2f} ({min(shares):.2f} to {max(shares):.2f}, "
            f"{len(shares)} pairs); first words after "
            f"{typical([s for pair in each for s in pair[0].first_words])} and "
            f"{typical([s for pair in each for s in pair[1].first_words])}",
            flush=True,
        )
    (battles,) = connection.execute(
        "select count(*) from battles where origin = 'generate'"
    ).fetchone() or (0,)
    seconds = sum(beside.seconds for each in pairs.values() for _, beside in each)
    print(f"the gate: {battles} battles in {seconds:.0f} s")


def tokens(connection: duckdb.DuckDBPyConnection, met: Crowd) -> int:
    (found,) = connection.execute(TOKENS, [met.commitments]).fetchone() or (0,)
    return found or 0


def report(
    connection: duckdb.DuckDBPyConnection, people: int, alone: list[float], met: Crowd
) -> None:
    (tokens,) = connection.execute(TOKENS, [met.commitments]).fetchone() or (0,)
    stored = connection.execute(
        "select count(*) from votes where list_contains(?, vote)", [met.votes]
    ).fetchone()
    page = (tokens or 0) / met.seconds
    lost = len(met.votes) - (stored[0] if stored else 0)
    print(
        f"{people:3} people: page {page:6.1f} tokens/s, engine alone "
        f"{', as beside a server '.join(f'{each:6.1f}: {page / each:.2f}' for each in alone)}; "
        f"first words after {typical(met.first_words)}, "
        f"end after {typical(met.ends)}, page opens in {typical(met.openings)}; "
        f"{len(met.votes)} votes, {lost} lost, {len({*met.votes})} different, "
        f"{len(met.refusals)} refusals; the server takes {met.processor / met.seconds:.2f} "
        f"processors and {megabytes(met.memory)}, the visitors {met.own / met.seconds:.2f}",
        flush=True,
    )


def megabytes(memory: list[int]) -> str:
    if not memory:
        return "-"
    return f"{memory[0] / 2**20:.0f} MB at first, {memory[-1] / 2**20:.0f} MB at last"


def typical(seconds: list[float]) -> str:
    if not seconds:
        return "-"
    return f"{statistics.median(seconds):.2f} s (at most {max(seconds):.2f})"


if __name__ == "__main__":
    main()
