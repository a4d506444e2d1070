"""What the web server's processor takes for a page, a question, an update of answers, and a vote.

    python -m benchmarks.processor [--people 50] [--rounds 3]

So many people open the page, ask, watch and vote, each step by all of them at once. Seconds of the
processor are those that the system counts for the web server, without the process that decodes.
All is done with short answers, then with long ones: what these take beyond that is divided by the
updates that pages got beyond that. Times on a clock play no part.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchmarks.load import App, served
from coupled_arena.core.prompts import read_library
from coupled_arena.core.settings import resource
from tests.small_models import SMALL_MODELS, save_small_models
from tests.ui.raw_client import Visitor

T = TypeVar("T")
_LENGTHS = (20, 200)  # tokens of an answer
_OPENINGS = 10  # pages a visitor: one costs little


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--people", type=int, default=50)
    arguments.add_argument("--rounds", type=int, default=3)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        save_small_models(Path(name))
        short, long = (measure(Path(name), given, tokens) for tokens in _LENGTHS)
    update = (long["question"] - short["question"]) / (long["updates"] - short["updates"])
    question = short["question"] - short["updates"] * update
    print(
        f"{given.people} people: a page {1e3 * short['page']:.1f} ms, a question "
        f"{1e3 * question:.1f}, an update {1e3 * update:.2f}, a vote {1e3 * short['vote']:.1f} and "
        f"{1e3 * long['vote']:.1f}; updates of an answer: {short['updates']:.0f} and "
        f"{long['updates']:.0f}"
    )


def measure(folder: Path, given: argparse.Namespace, tokens: int) -> dict[str, float]:
    """Return what a page, a question and a vote take, and how many updates there are a question."""
    config = folder / "arena.toml"
    room = f"[battle]\nmost_at_once = {given.people}\n"
    config.write_text(f"[sampling]\nmax_new_tokens = {tokens}\n{room}{SMALL_MODELS}")
    library = read_library(resource("data/prompts.jsonl")).prompts
    texts = [prompt.text for prompt in library if len(prompt.text) < 300]
    db = folder / f"{tokens}.duckdb"
    with served(config, db) as app, ThreadPoolExecutor(given.people) as pool:
        steps = Steps(app, pool)
        visitors = [Visitor(app.url) for _ in range(given.people)]
        play_round(steps, visitors, texts[0])
        steps.forget()
        steps.take("page", [partial(visitor.get, "/") for visitor in visitors * _OPENINGS])
        before = sum(visitor.pieces for visitor in visitors)
        for number in range(given.rounds):
            play_round(steps, visitors, texts[number % len(texts)])
        updates = sum(visitor.pieces for visitor in visitors) - before
    return steps.each | {"updates": updates / (given.people * given.rounds)}


def play_round(steps: Steps, visitors: list[Visitor], question: str) -> None:
    """Let all ask, then all vote."""
    views = steps.take("question", [partial(visitor.ask, question) for visitor in visitors])
    asked = zip(visitors, views, strict=True)
    steps.take("vote", [visitor.vote for visitor, view in asked if not view["reveal"]])


class Steps:
    """Seconds of the web server's processor, by what was asked of it."""

    def __init__(self, app: App, pool: ThreadPoolExecutor) -> None:
        self._app, self._pool = app, pool
        self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._calls: Counter[str] = Counter()

    @property
    def each(self) -> dict[str, float]:
        """Seconds that one call took."""
        return {name: taken / self._calls[name] for name, taken in self._seconds.items()}

    def take(self, name: str, calls: Iterable[Callable[[], T]]) -> list[T]:
        """Make all calls at once, and add what they cost."""
        before = self._app.processor
        under_way = [self._pool.submit(call) for call in calls]
        results = [call.result() for call in under_way]
        self._seconds[name] += self._app.processor - before
        self._calls[name] += len(results)
        return results


if __name__ == "__main__":
    main()
