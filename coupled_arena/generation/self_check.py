"""A model proves at load that it writes what its network says, and beside whom it may do so.

A network that keeps a state of its own, or takes no cache from outside, decodes wrong text without
an error. Here two made-up texts are read at once, which is what the network says of them. Then they
are written token by token in the ways of the engine: a prompt in chunks, a row that joins, a row
that leaves. Where that differs by more than rounding the rows are tried apart, in batches of their
own that take turns. Where that differs too, the model is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from coupled_arena.generation.batches import PromptReading
from coupled_arena.generation.checkpoints import reason_of
from coupled_arena.generation.devices import to_device
from coupled_arena.generation.language_model import LocalModel

_PROMPTS = (9, 6)  # tokens
_CHUNK = 4  # of the longer one
_WRITTEN = 4  # tokens of each
_DEVIATIONS = 4.0


class Checkable(LocalModel, Protocol):
    """A model and its network."""

    network: Any

    @property
    def eight_bits(self) -> bool:
        """Whether activations may be rounded to 8 bits before they are multiplied."""
        ...


@dataclass(frozen=True)
class SelfCheck:
    """How far writing differs from reading, as a share of the spread of the logits.

    Attributes
    ----------
    together, apart : float
        In one batch, and in batches of their own; NaN where not tried, infinite where it failed.
    bound : float
        What rounding explains.
    reason : str
        What was raised, if anything was.
    """

    bound: float
    together: float = math.nan
    apart: float = math.nan
    reason: str = ""

    @property
    def batchable(self) -> bool:
        """Whether replies may decode in one batch."""
        return self.together <= self.bound

    @property
    def sound(self) -> bool:
        """Whether replies may decode at all."""
        return self.batchable or self.apart <= self.bound


Rows = list[list[torch.Tensor]]
"""Of each text, the logits after its prompt and after each further token."""


@torch.inference_mode()
def check_model(model: Checkable) -> SelfCheck:
    """Read and write two made-up texts; a model that is not batchable is tried apart alone."""
    texts = _made_up(model)
    read = [_read_at_once(model.network, *text) for text in texts]
    bound, reason, far = _rounding(model), "", {}
    ways: dict[str, Callable[..., Rows]] = {"apart": _write_apart}
    if model.batchable:
        ways = {"together": _write_together, **ways}
    for way, write in ways.items():
        try:
            far[way] = max(map(_distance, read, write(model, texts)))
        except Exception as error:  # noqa: BLE001 - a model's program may raise anything
            far[way], reason = math.inf, reason_of(error)
        if far[way] <= bound:
            break
    return SelfCheck(bound, **far, reason=reason)


Text = tuple[list[int], list[int]]
"""A prompt, and what follows."""


def _made_up(model: Checkable) -> list[Text]:
    """Return two texts of random tokens, none of them a control token."""
    known = [number for number, bytes_ in enumerate(model.vocabulary.spellings) if bytes_]
    drawn = np.random.default_rng(0).choice(known, (2, max(_PROMPTS) + _WRITTEN)).tolist()
    return [
        (text[:length], text[length:][:_WRITTEN])
        for text, length in zip(drawn, _PROMPTS, strict=True)
    ]


def _read_at_once(network: Any, prompt: list[int], then: list[int]) -> list[torch.Tensor]:
    ids = to_device(torch.tensor([[*prompt, *then]]), network.device)
    return list(network(input_ids=ids, use_cache=False).logits[0, len(prompt) - 1 :])


def _begun(model: Checkable, prompt: list[int]) -> dict[tuple[int, ...], PromptReading]:
    return {tuple(prompt): PromptReading(model.network, prompt, _CHUNK)}


def _write_together(model: Checkable, texts: list[Text]) -> Rows:
    """Write both in one batch: the second joins, then the first leaves."""
    (prompt, first), (other, second) = texts
    rows: Rows = [[], []]
    batch = model.start_batch()

    def advance(tokens: list[int], of: list[int]) -> None:
        batch.advance(to_device(torch.tensor(tokens), model.device))
        for row, logits in zip(of, batch.logits, strict=True):
            rows[row].append(logits)

    batch.add([prompt], _begun(model, prompt))
    rows[0].append(batch.logits[0])
    advance(first[:1], [0])
    batch.add([other])
    rows[1].append(batch.logits[1])
    advance([first[1], second[0]], [0, 1])
    advance([first[2], second[1]], [0, 1])
    batch.keep([1])
    advance(second[2:3], [1])
    advance(second[3:4], [1])
    return rows


def _write_apart(model: Checkable, texts: list[Text]) -> Rows:
    """Write both in batches of their own, which take turns."""
    batches = [model.start_batch() for _ in texts]
    rows: Rows = [[] for _ in texts]
    for batch, row, (prompt, _) in zip(batches, rows, texts, strict=True):
        batch.add([prompt], _begun(model, prompt))
        row.append(batch.logits[0])
    for at in range(_WRITTEN):
        for batch, row, (_, then) in zip(batches, rows, texts, strict=True):
            batch.advance(to_device(torch.tensor(then[at : at + 1]), model.device))
            row.append(batch.logits[0])
    return rows


def _distance(read: list[torch.Tensor], written: list[torch.Tensor]) -> float:
    """Return how far the logits are apart that stay apart for two tokens in a row.

    Where rounding sends a token to another expert one token may differ; a wrong state stays wrong.
    """
    far = [_relative(one, other) for one, other in zip(read, written, strict=False)]
    return max(map(min, far, far[1:]))


def _relative(read: torch.Tensor, written: torch.Tensor) -> float:
    read, written = (x.double() - x.double().mean() for x in (read, written))
    share = float((read - written).norm() / read.norm())
    return share if math.isfinite(share) else math.inf


def _rounding(model: Checkable) -> float:
    """Return what rounding explains: four standard deviations of a random walk of its errors.

    A rounding is off by at most u, by u / sqrt(3) on average, so n independent ones by sqrt(n)
    times that (as in Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019). In float32 u is 2^-24, and
    each of a product's sums counts; narrow numbers are summed in float32 and rounded once, so each
    module counts, twice for what is added to it. Eight bits have 127 steps: u is half of one.
    """
    network = model.network
    modules = [m for m in network.modules() if any(True for _ in m.parameters(recurse=False))]
    narrow = network.dtype.itemsize < 4
    widest = max(max(p.shape[1:], default=1) for p in network.parameters())
    roundings = len(modules) * (2 if narrow or model.eight_bits else widest)
    unit = torch.finfo(network.dtype).eps / 2
    if model.eight_bits:
        unit = max(unit, 0.5 / 127)
    return _DEVIATIONS * unit * math.sqrt(roundings / 3)
