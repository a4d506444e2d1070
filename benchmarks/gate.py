"""Level and power of the gate: how many prompts show that a model is as good, or worse.

    python -m benchmarks.gate [--repeats 1000] [--only PART]

Prompts flip from right to wrong and back with given chances, and the product's own bets look after
each of them. Beside them stands the fixed-sample test: the prompts at which it shows the same with
power .8. Then what is wrong at most alpha of the time, at the margin, by kind of score; and what
one look is wrong, by the number of prompts. Then the same of groups of different size. Then how
many more prompts are expected on the way, over the number that it takes, of models that are equal,
better or worse. At last how long it takes to read a stored gate of 2,000 prompts, from the
beginning and with one prompt more.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from coupled_arena.analysis.gate.paired import PairedScores
from coupled_arena.analysis.gate.result import GateSettings, gate_scores
from coupled_arena.analysis.gate.stored import LiveGates, read_standing
from coupled_arena.battles.batch import BatchPlan
from coupled_arena.battles.gate_runs import keep_gates
from coupled_arena.core.choices import Look
from coupled_arena.core.records import Battle, Finish, Mode, Prompt, Reply, Sampling, Score
from coupled_arena.core.sql import Cursor
from coupled_arena.stats.gate.betting import Bets, Gate, Verdict
from coupled_arena.stats.gate.expected import further
from coupled_arena.stats.gate.fixed import Sample, p_above
from coupled_arena.store.database import Store
from coupled_arena.store.tables import battles, scores

ALPHA = 0.05
BLOCK = 500  # prompts at once
SEEN = 50, 100, 200, 400
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], Floats]
Scored = tuple[Battle, list[Score]]


def flips(lost: float, gained: float) -> Draw:
    """Return what draws prompts that flip with these chances, shape (prompts, repeats)."""

    def draw(rng: np.random.Generator, n: int, repeats: int) -> Floats:
        u = rng.random((n, repeats))
        return np.where(u < lost, -1.0, np.where(u < lost + gained, 1.0, 0.0))

    return draw


def shown(draw: Draw, margin: float, most: int, repeats: int) -> Floats:
    """Return after how many prompts "as good", "worse" and "better" are shown, (3, repeats)."""
    rng = np.random.default_rng(35)
    bets = Bets.on(np.array([-margin, 0.0]), margin, repeats)
    found = np.full((3, repeats), np.inf)
    for start in range(0, most, BLOCK):
        bets, above, below = bets.walked(draw(rng, BLOCK, repeats))
        for at, won in enumerate((above[..., 0], below[..., 0], above[..., 1])):
            reached = won >= math.log(1 / ALPHA)
            when = np.where(reached.any(axis=0), start + 1 + reached.argmax(axis=0), np.inf)
            found[at] = np.minimum(found[at], when)
    return found


def once(lost: float, gained: float, margin: float) -> float:
    """Return the prompts at which the fixed test shows it with power .8, by the normal law."""
    mean = gained - lost
    variance = lost + gained - mean**2
    return (1.6449 + 0.8416) ** 2 * variance / (mean + margin) ** 2


SETTINGS = (
    ("equal, 8 bits, coupled", 0.03, 0.03, 0.02, 8_000),
    ("equal, 4 bits, coupled", 0.09, 0.09, 0.02, 24_000),
    ("equal, independent", 0.18, 0.18, 0.02, 48_000),
    ("equal", 0.03, 0.03, 0.03, 5_000),
    ("better by .01", 0.03, 0.04, 0.02, 5_000),
    ("worse by .04, twice the margin", 0.07, 0.03, 0.02, 12_000),
)


def power(repeats: int) -> None:
    """Print how many prompts it takes."""
    row("models", "flips: lost, gained", "margin", "shown", "median", "80% by", "one look")
    row(*["---"] * 7)
    for name, lost, gained, margin, most in SETTINGS:
        good, worse, _better = shown(flips(lost, gained), margin, most, repeats)
        wanted = worse if gained - lost < -margin else good
        row(
            name,
            f"{lost:g}, {gained:g}",
            f"{margin:g}",
            f"{np.isfinite(wanted).mean():.3f}",
            f"{np.median(wanted):,.0f}",
            f"{np.quantile(wanted, 0.8, method='inverted_cdf'):,.0f}",
            f"{once(lost, gained, margin):,.0f}",
        )


def continuous(rng: np.random.Generator, n: int, repeats: int) -> Floats:
    """Draw differences with a mean of -.02."""
    return np.clip(rng.normal(-0.02, 0.15, (n, repeats)), -1, 1)


def repeated(rng: np.random.Generator, n: int, repeats: int) -> Floats:
    """Draw means of four answers with a mean of -.02, where prompts help one of the models."""
    taste = rng.uniform(-0.3, 0.3, (n, repeats)) - 0.02
    hit = rng.binomial(4, np.abs(taste))
    return np.sign(taste) * hit / 4


def level(repeats: int) -> None:
    """Print how often a model at the margin is called as good, or worse, within 10,000 prompts."""
    row("at the margin of .02", "called as good", "called worse")
    row(*["---"] * 3)
    laws: tuple[tuple[str, Draw], ...] = (
        ("flips .04, .02", flips(0.04, 0.02)),
        ("flips .02, 0", flips(0.02, 0)),
        ("continuous, sd .15", continuous),
        ("four answers to a prompt", repeated),
    )
    for name, draw in laws:
        good, worse, _better = shown(draw, 0.02, 10_000, repeats)
        row(name, *(f"{np.isfinite(each).mean():.3f}" for each in (good, worse)))


def one_look(repeats: int) -> None:
    """Print how often one look is wrong at the margin."""
    sizes = 150, 300, 1000
    row("one look, at the margin of .02", *(f"{n:,} prompts" for n in sizes))
    row(*["---"] * (1 + len(sizes)))
    laws: tuple[tuple[str, Draw, bool], ...] = (
        ("flips .04, .02, Tango", flips(0.04, 0.02), True),
        ("flips .02, 0, Tango", flips(0.02, 0), True),
        ("flips .02, 0, t", flips(0.02, 0), False),
        ("continuous, t", continuous, False),
        ("four answers, t", repeated, False),
    )
    for name, draw, binary in laws:
        wrong: list[str] = []
        for n in sizes:
            drawn = draw(np.random.default_rng(36), n, repeats)
            found = [p_above(Sample(d, binary), -0.02) <= ALPHA for d in drawn.T]
            wrong.append(f"{np.mean(found):.3f}")
        row(name, *wrong)


def lost_whole(
    rng: np.random.Generator, sizes: NDArray[np.int64], lost: NDArray[np.bool_]
) -> PairedScores:
    """Return scores of groups of prompts; of the lost ones the candidate is wrong on all."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    values = np.ones((len(groups), 1, 2))
    values[np.repeat(lost, sizes), 0, 1] = 0
    names = [f"{rng.integers(1 << 62)}" for _ in range(len(groups))]
    clusters = tuple(f"{at}" for at in groups.tolist())
    return PairedScores("right", ("base", "candidate"), tuple(names), values, clusters=clusters)


def grouped(repeats: int) -> None:
    """Print how often 150 groups at the margin of .05 are called as good."""
    row("150 groups, at the margin of .05", "any time", "one look")
    row(*["---"] * 3)
    rng = np.random.default_rng(37)

    def wrong(draw: Callable[[], PairedScores], look: Look, largest: int | None) -> str:
        settings = GateSettings(0.05, look=look, largest_group=largest)
        found = [gate_scores(draw(), settings).candidates[0].verdict for _ in range(repeats)]
        return f"{np.mean([each in (Verdict.AS_GOOD, Verdict.BETTER) for each in found]):.3f}"

    def growing() -> PairedScores:
        sizes = rng.geometric(0.15, 150).clip(max=40)
        return lost_whole(rng, sizes, rng.random(150) < 0.05 * sizes / 6.65)

    row("larger ones lose more", *(wrong(growing, look, None) for look in Look))
    for size in (100, 200, 1000):

        def one_large(size: int = size) -> PairedScores:
            sizes = np.append(np.ones(149, np.int64), size)
            return lost_whole(rng, sizes, rng.random(150) < 0.05)

        row(f"one of {size:,}", *(wrong(one_large, look, None) for look in Look))
        row(f"one of {size:,}, `--largest-group`", wrong(one_large, Look.ALWAYS, size), "")

        def rare(size: int = size) -> PairedScores:
            large = rng.random(150) < 0.05 / (size * 0.95 + 0.05)
            return lost_whole(rng, np.where(large, size, 1), large)

        row(f"rare ones of {size:,} lose all", wrong(rare, Look.ALWAYS, size), "")


def avoided(repeats: int) -> None:
    """Print how often prompts of 150 groups at the margin are called as good in simpler ways."""
    row("150 groups, in simpler ways", "called as good")
    row(*["---"] * 2)
    rng = np.random.default_rng(39)
    for size in (100, 200, 1000):
        large = rng.random((150, repeats)) < 0.05 / (size * 0.95 + 0.05)
        weights = np.where(large, float(size), 1.0)
        bets = Bets.on(np.array([-0.05]), 0.05, repeats)
        bets = bets.after(np.where(large, -1.0, 0.0), weights / weights.max(axis=0))
        found = np.mean(bets.most_above >= math.log(1 / ALPHA))
        row(f"rare ones of {size:,} lose all, shares of the largest seen", f"{found:.3f}")
    sizes = rng.geometric(0.15, (150, repeats)).clip(max=40).astype(np.float64)
    lost = -1.0 * (rng.random((150, repeats)) < 0.05 * sizes / 6.65)
    total, many = sizes.sum(axis=0), rng.geometric(0.15, 1_000_000).clip(max=40)
    means = (sizes * lost).sum(axis=0) / total
    error = np.sqrt(150 / 149 * ((sizes * (lost - means)) ** 2).sum(axis=0)) / total
    margin = 0.05 / 6.65 * np.mean(many**2) / np.mean(many)
    found = np.mean(stdtr(149, (-margin - means) / np.maximum(error, 1e-12)) <= ALPHA)
    row("larger ones lose more, t over prompts in clusters", f"{found:.3f}")


def promised(repeats: int) -> None:
    """Print how many groups show that equal models are, by what is promised of their size."""
    row("groups of 3 prompts on average, 10 at most, margin .05", "median", "80% by")
    row(*["---"] * 3)
    rng, most = np.random.default_rng(40), 6_000
    sizes = rng.geometric(1 / 3, (most, repeats)).clip(max=10)
    differ = rng.binomial(sizes, 0.1)
    drawn = (2 * rng.binomial(differ, 0.5) - differ) / sizes
    for largest in (None, 10, 20, 50):
        weights = np.ones((most, repeats)) if largest is None else sizes / largest
        bets, found = Bets.on(np.array([-0.05]), 0.05, repeats), np.full(repeats, np.inf)
        for start in range(0, most, BLOCK):
            block = slice(start, start + BLOCK)
            bets, above, _ = bets.walked(drawn[block], weights[block])
            reached = above[..., 0] >= math.log(1 / ALPHA)
            when = np.where(reached.any(axis=0), start + 1 + reached.argmax(axis=0), np.inf)
            found = np.minimum(found, when)
        name = "once each" if largest is None else f"`--largest-group {largest}`"
        late = np.quantile(found, 0.8, method="inverted_cdf")
        row(name, f"{np.median(found):,.0f}", f"{late:,.0f}")


def again(drawn: Floats) -> Draw:
    """Return what gives the same prompts block by block."""
    blocks = iter(np.split(drawn, len(drawn) // BLOCK))
    return lambda _rng, _n, _repeats: next(blocks)


FORECASTS = (
    (0, 0, 500),
    (0.02, 0.02, 8_000),
    (0.1, 0.1, 30_000),
    (0.2, 0.2, 60_000),
    (0.03, 0.02, 20_000),  # worse by half of the margin
    (0.085, 0.075, 60_000),
    (0.04, 0.01, 20_000),  # by one and a half
    (0.05, 0.01, 6_000),  # by twice the margin
    (0.1, 0.06, 20_000),
    (0.11, 0.01, 2_000),  # by five times
    (0.02, 0.03, 6_000),  # better by half of it
    (0.01, 0.05, 2_000),  # by twice the margin
    (0.06, 0.1, 6_000),
)
"""Flips from right to wrong and back, and prompts within which all runs end."""


def expected(repeats: int) -> None:
    """Print prompts that are expected in all over those that it takes: median, and how far off.

    Of runs that go on; half of them are off by the factor in brackets, or more.
    """
    row("expected over needed, margin .02", *(f"after {n}" for n in SEEN))
    row(*["---"] * (1 + len(SEEN)))
    for lost, gained, most in FORECASTS:
        rng = np.random.default_rng(38)
        drawn = flips(lost, gained)(rng, most, repeats)
        cells: list[str] = []
        good, worse, _better = shown(again(drawn), 0.02, most, repeats)
        taken = np.minimum(good, worse)
        for n in SEEN:
            left = np.flatnonzero((taken > n) & np.isfinite(taken))
            if len(left) < 20:
                cells.append("")
                continue
            start = replace(Gate.start(0.02, ALPHA), bets=Bets.on(np.array([-0.02, 0.0]), 0.02))
            gates = (start.after(drawn[:n, at, None]) for at in left)
            told = [further(gate)[0] or math.inf for gate in gates]
            ratio = (n + np.array(told)) / taken[left]
            off = math.exp(np.median(np.abs(np.log(np.minimum(ratio, 100)))))
            cells.append(f"{np.median(ratio):.2f} ({off:.1f})")
        row(f"flips {lost:g}, {gained:g}", *cells)


def stored(_repeats: int, prompts: int = 2000) -> None:
    """Print how long it takes to read a stored gate, all of it and one prompt later."""
    rng = np.random.default_rng(41)
    asked = tuple(Prompt(f"Question {n}? " + "word " * 60, f"q{n}") for n in range(prompts))
    plan = BatchPlan(asked, ("base", "candidate"), (Mode.COUPLED,), 1, 41, (Sampling(),))
    made = [answered(battle, prompt, rng) for battle, prompt in plan.battles()]
    with TemporaryDirectory() as folder, Store.open(Path(folder) / "arena.duckdb") as store:
        store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
        (gate,) = keep_gates(store, plan, "quiz", 0.001, ALPHA)  # so that it is never known
        store.write(partial(write, made[:-1]))
        known = read_standing(store, gate)
        unchanged = LiveGates(store, rest=0.0)
        unchanged.standing(gate)
        again = timed(partial(unchanged.standing, gate))
        store.write(partial(write, made[-1:]))
        whole, later = (timed(partial(read_standing, store, gate, each)) for each in (None, known))
    row("a stored gate is read", "processor time")
    row("---", "---")
    for name, seconds in (
        (f"{prompts:,} prompts", whole),
        ("one prompt later", later),
        ("nothing new", again),
    ):
        row(name, f"{1000 * seconds:,.1f} ms, {whole / seconds:,.1f} times as fast")


def answered(battle: Battle, prompt: Prompt, rng: np.random.Generator) -> Scored:
    """Return a battle with two answers of 200 tokens and their scores."""
    replies = tuple(
        Reply(0, place, str(rng.random()) * 50, tuple(range(200)), Finish.STOP) for place in (0, 1)
    )
    marks = [Score(0, place, "quiz", float(rng.random() < 0.7), "x") for place in (0, 1)]
    return replace(battle, prompts=(prompt,), replies=replies), marks


def write(made: Sequence[Scored], cursor: Cursor) -> None:
    battles.insert(cursor, [battle for battle, _marks in made])
    for battle, marks in made:
        scores.add(cursor, battle.id, marks)


def timed(read: Callable[[], object], repeats: int = 5) -> float:
    """Return the processor time that something takes, in seconds: the median."""
    taken: list[float] = []
    for _ in range(repeats):
        began = time.process_time()
        read()
        taken.append(time.process_time() - began)
    return float(np.median(taken))


def row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


PARTS = power, level, one_look, grouped, avoided, promised, expected, stored


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--only", choices=[each.__name__ for each in PARTS])
    given = parser.parse_args()
    for part in PARTS:
        if given.only in (None, part.__name__):
            part(given.repeats)
            print(flush=True)


if __name__ == "__main__":
    main()
