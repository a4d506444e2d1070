"""The arena's noise inside vLLM: logits processors that draw each token themselves.

``vllm serve MODEL --logits-processors coupled_arena.generation.vllm_plugin:CoupledNoise`` loads
one; of this package's requirements it needs none but NumPy and torch. A request takes part by the
extra argument of `coupled_arena.generation.served_draw`; all others pass untouched.
With ``AmbientNoise`` in its place every request takes part, of whatever client: see `ambient`.

They are for vLLM's first model runner; `vllm_runner_v2` has those for the second.

They run before vLLM samples: the drawn token becomes the only one that is possible, so what vLLM
does afterwards changes nothing. Requests of the arena ask for temperature 0, which skips vLLM's own
filters.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import torch
from vllm.v1.sample.logits_processor import (  # pyright: ignore[reportMissingImports]
    BatchUpdate,
    LogitsProcessor,
    process_dict_updates,
)

from coupled_arena.generation.ambient import (
    AmbientRow,
    AmbientSeeds,
    Filters,
    ambient_ids,
)
from coupled_arena.generation.noise import POSITIONS_PER_BLOCK, GumbelCache
from coupled_arena.generation.served_draw import (
    ServedDraw,
    drawn_ids,
    ends_at_once,
    proof_of_server,
)
from coupled_arena.generation.vllm_server import ServedModel, asked_of

_AT_ONCE = 16  # rows whose weights and noise are in memory together, in float64


@dataclass
class _Row:
    """One answer of the batch; ``written`` grows as vLLM appends to it."""

    draw: ServedDraw
    written: list[int]
    proof: list[int] | None = None

    @property
    def place(self) -> tuple[int, int, int]:
        """Seed, turn and position of the next token's noise."""
        return self.draw.seed, self.draw.turn, self.draw.position + len(self.written)

    @property
    def alike(self) -> ServedDraw:
        """What rows must share to be drawn together."""
        return replace(self.draw, seed=0, turn=0, position=0)


class CoupledNoise(LogitsProcessor):
    """Draws the tokens of all requests that bring the seed of their noise."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Refuse a request whose argument cannot be read, before it reaches the batch."""
        asked_of(sampling_params)

    def __init__(self, vllm_config: Any, device: torch.device, _: bool) -> None:
        self._model = ServedModel(vllm_config)
        self._vocabulary = self._model.vocabulary
        self._noise = GumbelCache(torch.from_numpy(self._vocabulary.keys).to(device))
        self._rows: dict[int, _Row | AmbientRow] = {}

    def is_argmax_invariant(self) -> bool:
        """Tell vLLM that greedy decoding must not skip it."""
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        """Follow which answer is in which row."""
        process_dict_updates(self._rows, batch_update, self._row)

    def _row(
        self, params: Any, _prompt: list[int] | None, written: list[int]
    ) -> _Row | AmbientRow | None:
        asked = asked_of(params)
        return _Row(asked, written) if asked else None

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """Leave one possible token in each row that takes part."""
        alike: dict[ServedDraw | Filters, list[int]] = defaultdict(list)
        for index, row in self._rows.items():
            alike[row.alike].append(index)
        for asked, all_of_them in alike.items():
            for begin in range(0, len(all_of_them), _AT_ONCE):
                indices = all_of_them[begin : begin + _AT_ONCE]
                chosen = torch.tensor(indices, device=logits.device)
                ids = self._ids(logits[chosen], asked, [self._rows[index] for index in indices])
                logits[chosen] = float("-inf")
                logits[chosen, ids] = 0.0
        places = [row.place for row in self._rows.values()]
        self._noise.forget({(s, turn, at // POSITIONS_PER_BLOCK) for s, turn, at in places})
        return logits

    def _ids(
        self, logits: torch.Tensor, asked: ServedDraw | Filters, rows: list[Any]
    ) -> torch.Tensor:
        places = [row.place for row in rows]
        logits = logits[:, : self._vocabulary.end]  # vLLM may pad the rows beyond it
        if isinstance(asked, Filters):
            less = [row.penalised(own) for row, own in zip(rows, logits, strict=True)]
            return ambient_ids(torch.stack(less), self._noise, asked, places)
        if asked.proof:
            return torch.tensor([self._proven(row) for row in rows], device=logits.device)
        if ends_at_once(asked, self._model.weights):
            return torch.full((len(rows),), min(asked.stops), device=logits.device)
        return drawn_ids(logits, self._noise, asked, places)

    def _proven(self, row: _Row) -> int:
        """Return the next token of a proof, which is made once: all others wait for its draws."""
        if row.proof is None:
            row.proof = proof_of_server(
                self._vocabulary, self._noise, row.draw, self._model.weights
            )
        # Whoever asks for more than there is gets the last one again.
        return row.proof[min(len(row.written), len(row.proof) - 1)]


class AmbientNoise(CoupledNoise):
    """Draws the tokens of all requests but the greedy ones, of whatever client.

    Requests that bring the seed of their noise are answered as by `CoupledNoise`.
    """

    def __init__(self, vllm_config: Any, device: torch.device, pinned: bool) -> None:
        super().__init__(vllm_config, device, pinned)
        self._seeds = AmbientSeeds(self._vocabulary, vllm_config.model_config.seed or 0)

    def _row(
        self, params: Any, prompt: list[int] | None, written: list[int]
    ) -> _Row | AmbientRow | None:
        if (row := super()._row(params, prompt, written)) or prompt is None:
            return row  # without ids, as of embeddings, vLLM draws
        draw = self._seeds.draw_of(params, prompt, resumed=bool(written))
        return AmbientRow(draw, prompt, written) if draw else None
