"""What the web server's processor takes for a page, a question, an update of answers, and a vote.

    python -m benchmarks.processor [--config arena.toml] [--people 50] [--rounds 4]

So many people open the page, ask, watch and vote, each step by all of them at once. Seconds of the
processor are those that the system counts for the web server, without the process that decodes.
Answers of one token tell what a question costs from the first byte to the stored battle; what
answers of many tokens take beyond that is divided by the updates that pages got. Wall-clock times
play no part, so other work on the machine matters little.
"""

from __future__ import annotations

import argparse
import tempfile
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
_OPENINGS = 10  # a visitor: one costs little


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--people", type=int, default=50)
    arguments.add_argument("--rounds", type=int, default=4)
    arguments.add_argument("--tokens", type=int, default=100)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_small_models(folder)
        question = measure(folder, given, 1, 0.0)
        measure(folder, given, given.tokens, question)


def measure(folder: Path, given: argparse.Namespace, tokens: int, question: float) -> float:
    """Print what each step costs with answers of so many tokens; return what a question does.

    Parameters
    ----------
    question : float
        Seconds for a question by itself, where answers have more to them; else 0.
    """
    config = folder / "arena.toml"
    room = f"[battle]\nmost_at_once = {given.people}\n"
    config.write_text(f"[sampling]\nmax_new_tokens = {tokens}\n{room}{SMALL_MODELS}")
    library = read_library(resource("data/prompts.jsonl")).prompts
    texts = [prompt.text for prompt in library if len(prompt.text) < 300]
    db = folder / f"{tokens}.duckdb"
    with served(config, db) as app, ThreadPoolExecutor(given.people) as pool:
        every = Steps(app, pool)
        visitors = [Visitor(app.url) for _ in range(given.people)]
        play_round(every, visitors, texts[0])
        every.seconds.clear()
        if not question:
            every.take("page", [partial(visitor.get, "/") for visitor in visitors * _OPENINGS])
        updates, votes = 0, 0
        for number in range(given.rounds):
            before = sum(visitor.pieces for visitor in visitors)
            votes += play_round(every, visitors, texts[number % len(texts)])
            updates += sum(visitor.pieces for visitor in visitors) - before
    asked = given.people * given.rounds
    each = every.seconds["question"] / asked
    if not question:
        print(
            f"a page {1000 * every.seconds['page'] / (_OPENINGS * given.people):.2f} ms", end="; "
        )
        print(
            f"a question {1000 * each:.2f} ms; a vote {1000 * every.seconds['vote'] / votes:.2f} ms"
        )
        return each
    update = (each - question) * asked / updates
    print(
        f"{tokens} tokens: a question with all its updates {1000 * each:.2f} ms, "
        f"{updates / asked:.1f} updates; an update {1000 * update:.3f} "
        f"ms; a vote {1000 * every.seconds['vote'] / votes:.2f} ms"
    )
    return each


def play_round(every: Steps, visitors: list[Visitor], question: str) -> int:
    """Let all ask, then all vote; return how many votes were taken."""
    views = every.take("question", [partial(visitor.ask, question) for visitor in visitors])
    open_rounds = [v for v, view in zip(visitors, views, strict=True) if not view["reveal"]]
    told = every.take("vote", [visitor.vote for visitor in open_rounds])
    return sum("vote" in reveal for reveal in told)


class Steps:
    """Seconds of the web server's processor, by what was asked of it."""

    def __init__(self, app: App, pool: ThreadPoolExecutor) -> None:
        self.seconds: dict[str, float] = {}
        self._app, self._pool = app, pool

    def take(self, name: str, calls: Iterable[Callable[[], T]]) -> list[T]:
        """Make all calls at once, and add what they cost."""
        before = self._app.processor
        results = [call.result() for call in [self._pool.submit(call) for call in calls]]
        self.seconds[name] = self.seconds.get(name, 0.0) + self._app.processor - before
        return results


if __name__ == "__main__":
    main()
