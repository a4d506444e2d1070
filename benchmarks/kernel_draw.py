"""The draw in Triton on a GPU, beside that of torch and draws that share no noise.

    python -m benchmarks.kernel_draw [--rows 1,32,128] [--widths 49152,128256] [--rounds N]
                                     [--draws N] [--device cuda] [--json]

Microseconds of a draw for all rows, from logits on the device to ids there: medians over rounds of
steps, less the copy of the logits. Beside `triton` (`draw_rows`, which the plugin of vLLM calls)
stand `torch` (the draw of the engine in this process), and with torch's own generator `multinomial`
and `gumbel` (exponential numbers), which couple nothing. Then many draws from one law, by both:
whether all ids are the same, and a chi-square test of the law. Rows of logits are normal with
standard deviation 5, so that few tokens are likely, as in a model's.

`TRITON_INTERPRET=1 python -m benchmarks.kernel_draw --device cpu --rows 2 --widths 3000 --draws 40
--rounds 1` tries it without a GPU.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from coupled_arena.core.records import Sampling
from coupled_arena.generation.noise import POSITIONS_PER_BLOCK, GumbelCache, signed
from coupled_arena.generation.sampling import (
    NOT_AMONG,
    draw,
    draw_likeliest,
    has_few,
    outcome_scores,
)
from coupled_arena.generation.triton_draw import FIRST_STOP, INTEGERS, Slots, draw_rows

SETTINGS = {"temperature 1": Sampling(1.0, 0, 1.0), "top-p .9": Sampling(1.0, 0, 0.9)}
STEPS = 20
STOPS = 3
EXPECTED = 10  # draws of a cell of the chi-square test, at least


class Case:
    """Rows of logits, and all that draws of them need, on a device."""

    def __init__(self, rows: int, width: int, sampling: Sampling, device: torch.device) -> None:
        random = torch.Generator().manual_seed(width)
        self.logits = (torch.randn(rows, width, generator=random) * 5).to(device)
        keys = torch.randint(-(2**63), 2**63 - 1, (width + 1,), generator=random)
        self.keys, self.sampling, self.rows = keys.to(device), sampling, rows
        # Tokens that end the answer stand among the likeliest, so that both cases are drawn.
        stops = self.logits[0].topk(6 * STOPS).indices[::6].sort().values
        self.stops, self.first_stop = stops, int(stops[0])
        self.again = 0
        self.begin(0)

    def begin(self, seed: int) -> None:
        """Give the rows seeds of their own."""
        device = self.logits.device
        self.seeds = [(seed * 2**32 + row) * 0x9E3779B97F4A7C15 % 2**64 for row in range(self.rows)]
        integers = torch.zeros(self.rows, INTEGERS, dtype=torch.int64)
        for row, each in enumerate(self.seeds):
            integers[row] = torch.tensor([FIRST_STOP, signed(each), 0, 0, 0, STOPS, 0])
        reals = torch.tensor([[self.sampling.temperature, self.sampling.top_p, 0.0]])
        ends = torch.full((self.rows, 4), -1, dtype=torch.int64, device=device)
        ends[:, :STOPS] = self.stops
        known = torch.zeros(self.rows, 1, dtype=torch.int64, device=device)
        reals = reals.double().repeat(self.rows, 1).to(device)
        self.slots = Slots(integers.to(device), reals, ends, known)
        self.slot_of = torch.arange(self.rows, device=device)
        self.noise = GumbelCache(self.keys)

    def triton(self, logits: torch.Tensor, position: int) -> torch.Tensor:
        """Return ids; the logits are changed."""
        written = torch.full_like(self.slot_of, position)
        return draw_rows(logits, self.keys, self.slots, self.slot_of, written)

    def torch(self, logits: torch.Tensor, position: int) -> torch.Tensor:
        """Return outcomes as the engine draws them on a GPU."""
        places = [(seed, 0, position) for seed in self.seeds]
        if has_few(self.sampling, logits.shape[1]):
            return draw_likeliest(logits, self.stops, self.sampling, self.noise, places)
        scores = outcome_scores(logits, self.stops, self.sampling)
        if position % POSITIONS_PER_BLOCK == 0:
            self.noise.forget(set())
        return draw(scores, self.noise.at(places))

    def ids(self, logits: torch.Tensor, position: int) -> torch.Tensor:
        """Return the ids of `torch`; those that are not among the likeliest drawn from all."""
        outcomes = self.torch(logits, position)
        if missing := int((outcomes == NOT_AMONG).sum()):
            self.again += missing
            scores = outcome_scores(logits, self.stops, self.sampling)
            whole = draw(scores, self.noise.at([(seed, 0, position) for seed in self.seeds]))
            outcomes = torch.where(outcomes == NOT_AMONG, whole, outcomes)
        return outcomes.masked_fill(outcomes == logits.shape[1], self.first_stop)

    def multinomial(self, logits: torch.Tensor, _: int) -> torch.Tensor:
        """Draw as `transformers` does: sort, mask, softmax, multinomial."""
        scores = self._filtered(logits / self.sampling.temperature)
        return torch.multinomial(scores.softmax(1), 1)[:, 0]

    def gumbel(self, logits: torch.Tensor, _: int) -> torch.Tensor:
        """Draw as servers do: the largest quotient of a probability and exponential noise."""
        shares = self._filtered(logits / self.sampling.temperature).softmax(1)
        return shares.div_(torch.empty_like(shares).exponential_(1)).argmax(1)

    def _filtered(self, scores: torch.Tensor) -> torch.Tensor:
        if self.sampling.top_p == 1:
            return scores
        ranked, order = torch.sort(scores, dim=1)
        unlikely = ranked.softmax(1).cumsum(1) <= 1 - self.sampling.top_p
        return scores.masked_fill(unlikely.scatter(1, order, unlikely), -torch.inf)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    defaults = {"rows": "1,32,128", "widths": "49152,128256", "device": "cuda"}
    for name, default in (defaults | {"rounds": 5, "draws": 200_000}).items():
        arguments.add_argument(f"--{name}", default=default, type=type(default))
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    device = torch.device(given.device)
    say = (lambda _: None) if given.json else (lambda text: print(text, flush=True))
    found: list[dict[str, Any]] = []
    for width in map(int, given.widths.split(",")):
        for name, sampling in SETTINGS.items():
            for rows in map(int, given.rows.split(",")):
                case = Case(rows, width, sampling, device)
                figures = {"width": width, "sampling": name, "rows": rows}
                found.append(figures | {"microseconds": times(case, given.rounds)})
                say("{width:7} {sampling:14} {rows:4} rows: {microseconds}".format(**found[-1]))
            figures = {"width": width, "sampling": name}
            found.append(figures | compared(width, sampling, given.draws, device))
            say(found[-1])
    if given.json:
        print(json.dumps(found))
    if any(row.get("other ids") for row in found):
        raise SystemExit("Triton draws other ids than torch on this device: couple nothing.")


def times(case: Case, rounds: int) -> dict[str, float]:
    """Return the microseconds of each draw, without those of the copy."""

    def nothing(logits: torch.Tensor, _: int) -> torch.Tensor:
        return logits

    draws = (nothing, case.triton, case.torch, case.multinomial, case.gumbel)
    spent: dict[str, list[float]] = {each.__name__: [] for each in draws}
    for each in draws * (rounds + 1):  # the first one warms up
        spent[each.__name__].append(microseconds(case, each))
    copied, *others = (statistics.median(times[1:]) for times in spent.values())
    return {each.__name__: round(m - copied, 1) for each, m in zip(draws[1:], others, strict=True)}


def microseconds(case: Case, drawn: Callable[[torch.Tensor, int], torch.Tensor]) -> float:
    logits = torch.empty_like(case.logits)
    wait(logits.device)
    started = time.perf_counter()
    for position in range(STEPS):
        drawn(logits.copy_(case.logits), position)
    wait(logits.device)
    return (time.perf_counter() - started) / STEPS * 1e6


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def compared(width: int, sampling: Sampling, draws: int, device: torch.device) -> dict[str, Any]:
    """Draw from one law by both: count the ids that differ, and test the law of the Triton ones."""
    rows = min(128, draws)
    case = Case(rows, width, sampling, device)
    case.logits = case.logits[:1].expand(rows, width).contiguous()
    counts = torch.zeros(width, dtype=torch.int64, device=device)
    differ = made = 0
    for at in range(-(-draws // rows)):
        position = at % STEPS
        if not position:
            case.begin(at)
        ids = case.triton(case.logits.clone(), position)
        differ += int((ids != case.ids(case.logits, position)).sum())
        counts += torch.bincount(ids, minlength=width)
        made += rows
    scores = outcome_scores(case.logits[:1], case.stops, sampling)[0]
    law = scores.softmax(0)
    law[case.first_stop] += law[width]
    statistic, cells, p_value = chi_square(counts.cpu().double(), law[:width].cpu(), made)
    return {
        "draws": made,
        "other ids": differ,
        "drawn again": case.again,
        "chi-square": round(statistic, 1),
        "cells": cells,
        "p": round(p_value, 4),
    }


def chi_square(counts: torch.Tensor, law: torch.Tensor, draws: int) -> tuple[float, int, float]:
    """Return the statistic, the number of cells and the p-value; rare outcomes share a cell."""
    often = law * draws >= EXPECTED
    expected = torch.cat([law[often], law[~often].sum()[None]]) * draws
    seen = torch.cat([counts[often], counts[~often].sum()[None]])
    expected, seen = expected[expected > 0], seen[expected > 0]
    if counts[law == 0].any():
        return float("inf"), len(seen), 0.0
    statistic = ((seen - expected) ** 2 / expected).sum()
    freedom = torch.tensor((len(seen) - 1) / 2, dtype=torch.float64)
    return float(statistic), len(seen), float(torch.special.gammaincc(freedom, statistic / 2))


if __name__ == "__main__":
    main()
