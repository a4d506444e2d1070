"""Whether anything that a visitor's browser gets before the vote tells who is who.

    python -m benchmarks.blindness [--battles 200] [--seed 0] [--annotate]

Serves the app with two small models, asks, keeps every byte and when it came, votes, and is told
the names. A linear classifier then guesses from the traffic which model is on the left, and whether
the battle is coupled: each battle from all others. How often it is right is held against the same
with the labels in random order (a permutation test).

With --annotate the battles are stored ones of the same two models, each question under both
protocols, that people are asked to vote on; their number in the order in which they come counts
among what is around the answers.

"Around the answers" is all but the words: numbers, sizes and times of messages, ids, commitments.
It must tell nothing, and neither the leaderboard nor the Data tab may move before the vote. "Of the
answers" is how long they are and how they grow, which everybody sees who reads them.
"""

from __future__ import annotations

import argparse
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coupled_arena.core.records import Mode
from coupled_arena.store.database import Store
from tests.small_models import NAMES, catalog_of
from tests.stored import fill
from tests.ui.raw_client import Visitor
from tests.ui.server import serving

SETTINGS = """
preset = "demo"
snapshot_seconds = 0.3
[sampling]
temperature = 0.9
max_new_tokens = 32
"""
# Else the last vote moves the board while the next battle is on show.
AT_ONCE = "[battle]\nundo_seconds = 0\n"
LEVEL = 0.01  # of each test
PERMUTATIONS = 9999
PULL = 1.0  # towards 0, of the weights of features that have unit variance
CHANGING = re.compile(rb'"(?:duration|average_duration|eta|rank_eta|time)":[^,}]*|[0-9a-f]{8,}')


class Listener(Visitor):
    """A visitor who notes when each piece came."""

    def __init__(self, *given: Any, **more: Any) -> None:
        self.times: list[tuple[float, int]] = []
        super().__init__(*given, **more)

    def _keep(self, content: bytes) -> bytes:
        self.times.append((time.perf_counter(), len(content)))
        return super()._keep(content)


@dataclass(frozen=True)
class Round:
    """What came before the vote, and what the vote then told."""

    around: tuple[float, ...]
    answers: tuple[float, ...]
    moved: bool
    left: str
    coupled: bool


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--battles", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--annotate", action="store_true", help="battles that are stored")
    options = parser.parse_args(arguments)
    models, more, see = catalog_of(**{name: name for name in NAMES[:2]}), [], observe
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.annotate:
            models, more, see = AT_ONCE, ["--annotate"], observe_stored
            with Store.open(folder / "arena.duckdb") as store:
                questions = [f"Question {n}: tell me a tale." for n in range(options.battles)]
                fill(store, questions, NAMES[:2], modes=(Mode.COUPLED, Mode.INDEPENDENT))
        with serving(folder, SETTINGS + models, *more) as app:
            visitor = Listener(app.url)
            rounds = [one for n in range(options.battles) if (one := see(visitor, n))]
    print(f"{len(rounds)} battles; in the others both said the same, and nobody was asked")
    moved = sum(one.moved for one in rounds)
    print(f"before the vote the leaderboard or the Data tab moved in {moved}")
    rng, told = np.random.default_rng(options.seed), moved > 0
    labels: dict[str, Callable[[Round], bool]] = {
        "who is on the left": lambda one: one.left == NAMES[0],
        "coupled or independent": lambda one: one.coupled,
    }
    for what, label in labels.items():
        y = np.array([label(one) for one in rounds])
        for name in ("around", "answers"):
            x = np.array([getattr(one, name) for one in rounds])
            right, p = guessed(x, y, rng)
            print(f"{what}, from what is {name:>8}: {right:.1%} right, p = {p:.4f}")
            told |= name == "around" and p < LEVEL
    return int(told)


def observe(visitor: Listener, number: int, *, alone: bool = True) -> Round | None:
    """Ask, keep what comes, and vote; None where equal answers were told without a vote.

    Whether boards move is looked at where the visitor is `alone`: they do with others' votes.
    """
    boards = live(visitor) if alone else []
    begun, heard = len(visitor.times), len(visitor.heard)
    start = time.perf_counter()
    visitor.join(visitor.dependency("click", "ask"), [f"Question {number}: tell me a tale.", 2])
    visitor.posted += 1
    view = visitor.answer() or {}
    step, grown = view, []
    for step in visitor.follow(view):
        grown.append([len(answer) for answer in step["turns"][-1]["answers"]])
    came, message = visitor.times[begun:], bytes(visitor.heard[heard:])
    commitment, path = view["commitment"], visitor.followed
    moved = alone and live(visitor) != boards
    told = visitor.vote()
    if "error" in told:
        return None
    lengths = np.array(grown or [[0, 0]], dtype=float)
    moments = np.array([at - start for at, _ in came])
    gaps, sizes = np.diff(moments), np.array([size for _, size in came], dtype=float)
    words = sum(len(answer.encode()) for answer in step["turns"][-1]["answers"])
    around = (
        *(len(came), len(message) - words, moments[0], moments[-1]),
        *(gaps.mean(), gaps.std(), gaps.max(), sizes[:3].sum(), sizes[-1]),
        *(int(commitment[i : i + 8], 16) for i in (0, 8, 56)),
        *(int(path.split("/")[-3][i : i + 8], 16) for i in (0, 8)),
    )
    return round_of(around, lengths, told, moved=moved)


def observe_stored(visitor: Listener, number: int) -> Round:
    """Be shown the next stored battle, keep what comes, and vote."""
    boards = live(visitor)
    begun, heard = len(visitor.times), len(visitor.heard)
    start = time.perf_counter()
    event = ("next", "round") if number else ("click", "start")
    view = visitor.call(visitor.dependency(*event), [])["data"][1]
    came, message = visitor.times[begun:], bytes(visitor.heard[heard:])
    moved = live(visitor) != boards
    told = visitor.vote()
    answers = view["turns"][-1]["answers"]
    words, commitment = sum(len(answer.encode()) for answer in answers), view["commitment"]
    moments = np.array([at - start for at, _ in came])
    around = (
        *(len(came), len(message) - words, moments[0], moments[-1], number, number % 2),
        *(int(re.findall(r"\d+", view["turns"][0]["prompt"])[0]) % 2, came[-1][1]),
        *(int(commitment[i : i + 8], 16) for i in (0, 8, 56)),
    )
    lengths = np.array([[len(answer) for answer in answers]], dtype=float)
    return round_of(around, lengths, told, moved=moved)


def round_of(
    around: Sequence[float], lengths: np.ndarray, told: dict[str, Any], *, moved: bool
) -> Round:
    """Return what was seen, with what the vote then told."""
    seen = tuple(map(float, around)), tuple(side_by_side(lengths))
    return Round(*seen, moved, told["models"][0], told["mode"] == "coupled")


def live(visitor: Visitor) -> list[bytes]:
    """Return what the leaderboard and the Data tab answer, but for times and ids."""
    own, said = visitor.session, []
    visitor.session = secrets.token_hex(6)  # of a page that has drawn nothing yet
    parts = {part["id"]: part["props"].get("value") for part in visitor.config["components"]}
    for event, name in (("tick", None), ("click", "make-files")):
        handler, before = visitor.dependency(event, name), len(visitor.heard)
        visitor.call(handler, ["csv"] if name else [parts[i] for i in handler["inputs"]])
        heard = bytes(visitor.heard[before:]).replace(b"\\", b"").splitlines()
        # How long it waited, and that the connection is alive, is of the server's load.
        said.append(b"\n".join(CHANGING.sub(b"#", line) for line in heard if b'"process_' in line))
    visitor.session = own
    return said


def side_by_side(lengths: np.ndarray) -> list[float]:
    """Return how the left answer grew less how the right one did, from lengths by time."""
    grown = np.diff(lengths, axis=0, prepend=0)
    each = [
        lengths[-1],
        (grown > 0).argmax(0),
        (grown > 0).sum(0),
        grown.max(0),
        grown.std(0),
        len(grown) - (grown[::-1] > 0).argmax(0),
    ]
    return [float(left - right) for left, right in each]


def guessed(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Return how often a linear classifier is right, and with what probability by chance.

    Each label is guessed from all others by ridge regression: (y - Hy) / (1 - h) is what is left of
    it without itself, and H does not depend on the labels, so that they are put in another order
    at little cost.

    Parameters
    ----------
    x : ndarray, shape (n, features)
    y : ndarray of bool, shape (n,)
    """
    spread = x.std(0)
    z = np.column_stack([np.ones(len(x)), (x - x.mean(0))[:, spread > 0] / spread[spread > 0]])
    pull = PULL * np.diag([0.0] + [1.0] * (z.shape[1] - 1))
    hat = z @ np.linalg.solve(z.T @ z + pull, z.T)
    own = np.diag(hat)[:, None]
    labels = 2.0 * y[:, None] - 1
    others = np.column_stack([rng.permutation(labels[:, 0]) for _ in range(PERMUTATIONS)])
    signs = np.hstack([labels, others])
    right = ((signs - (signs - hat @ signs) / (1 - own)) * signs > 0).mean(0)
    return float(right[0]), float((right >= right[0]).mean())


if __name__ == "__main__":
    sys.exit(main())
