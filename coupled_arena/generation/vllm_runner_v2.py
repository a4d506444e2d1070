"""The arena's noise inside vLLM's second model runner, the default one.

``vllm serve MODEL --logits-processors coupled_arena.generation.vllm_runner_v2:CoupledNoise`` loads
one; ``AmbientNoise`` in its place couples the requests of every client. Both draw on the device by
`triton_draw`; what they draw is what the classes of `vllm_plugin` draw in the first runner.

Under speculative decoding a request has a row for each token of the draft. Each row is drawn at its
own position, and vLLM keeps a draft token where it is the one drawn. So the words are those without
a draft, as far as the logits are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from vllm.v1.worker.gpu.sample.logits_processor import (  # pyright: ignore[reportMissingImports]
    LogitsProcessor,
)

from coupled_arena.generation.ambient import AmbientSeeds, is_greedy
from coupled_arena.generation.noise import GumbelCache, signed
from coupled_arena.generation.served_draw import ServedDraw, ends_at_once, proof_of_server
from coupled_arena.generation.triton_draw import (
    ANY_STOP,
    FIRST_STOP,
    INTEGERS,
    NOT_OURS,
    REALS,
    Slots,
    draw_rows,
)
from coupled_arena.generation.vllm_server import ServedModel, asked_of

_FEW = 8  # stops and forced tokens for which there is room from the start


class CoupledNoise(LogitsProcessor):
    """Draws the tokens of all requests that bring the seed of their noise."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        """Refuse a request whose argument cannot be read, before it reaches the batch."""
        asked_of(sampling_params)

    def __init__(self, vllm_config: Any, req_states: Any) -> None:
        self._model = ServedModel(vllm_config)
        self._states = req_states
        device, slots = req_states.device, req_states.max_num_reqs
        self._keys = torch.from_numpy(self._model.vocabulary.keys).to(device)
        self._integers = np.zeros((slots, INTEGERS), dtype=np.int64)
        self._reals = np.ones((slots, REALS))
        self._stops = np.full((slots, _FEW), -1, dtype=np.int64)
        self._forced = np.zeros((slots, _FEW), dtype=np.int64)
        self._slots = self._on_device()
        self._changed = False

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """Take in a request; tell whether its tokens are drawn here."""
        self._integers[req_idx] = NOT_OURS
        self._changed = True
        asked = asked_of(sampling_params)
        if asked:
            self._own(req_idx, asked)
        return asked is not None

    def apply_staged_writes(self) -> None:
        """Bring what is new to the device, before the network runs."""
        if self._changed:
            self._slots = self._on_device()
            self._changed = False

    def apply(self, logits: torch.Tensor, ctx: Any) -> torch.Tensor:
        """Leave one possible token in each row that takes part."""
        slot_of = ctx.expanded_idx_mapping.to(torch.int64)
        prompts = self._states.prompt_len.gpu[slot_of.clamp(min=0)]
        draw_rows(logits, self._keys, self._slots, slot_of, ctx.pos.to(torch.int64) + 1 - prompts)
        return logits

    def _own(self, slot: int, asked: ServedDraw) -> None:
        if asked.proof:
            noise = GumbelCache(self._keys)
            self._force(
                slot, proof_of_server(self._model.vocabulary, noise, asked, self._model.weights)
            )
        elif ends_at_once(asked, self._model.weights):
            self._force(slot, [min(asked.stops)])
        else:
            known = sorted(stop for stop in asked.stops if stop < self._model.vocabulary.end)
            self._put(
                slot,
                (FIRST_STOP, asked.seed, asked.turn, asked.position, asked.top_k),
                (asked.temperature, asked.top_p, 0.0),
                known,
            )

    def _put(
        self,
        slot: int,
        integers: tuple[int, int, int, int, int],
        reals: tuple[float, float, float],
        stops: list[int],
    ) -> None:
        kind, seed, turn, base, top_k = integers
        self._integers[slot] = (kind, signed(seed), turn, base, top_k, len(stops), 0)
        self._reals[slot] = reals
        self._stops = _with_room(self._stops, len(stops))
        self._stops[slot, : len(stops)] = stops

    def _force(self, slot: int, ids: list[int]) -> None:
        """Have a request answer with known tokens, of which the last is repeated."""
        self._integers[slot] = (FIRST_STOP, 0, 0, 0, 0, 0, len(ids))
        self._reals[slot] = (0.0, 1.0, 0.0)
        self._forced = _with_room(self._forced, len(ids))
        self._forced[slot, : len(ids)] = ids

    def _on_device(self) -> Slots:
        device = self._states.device
        tables = (self._integers, self._reals, self._stops, self._forced)
        # Copies: the next step's requests must not change what this step's kernels still read.
        return Slots(*(torch.tensor(table).to(device, non_blocking=True) for table in tables))


class AmbientNoise(CoupledNoise):
    """Draws the tokens of all requests but the greedy ones, of whatever client.

    Requests that bring the seed of their noise are answered as by `CoupledNoise`. vLLM takes its
    penalties off before.
    """

    def __init__(self, vllm_config: Any, req_states: Any) -> None:
        super().__init__(vllm_config, req_states)
        self._seeds = AmbientSeeds(self._model.vocabulary, vllm_config.model_config.seed or 0)
        self._new: dict[int, Any] = {}

    def add_request(self, req_idx: int, sampling_params: Any) -> bool:
        """Take in a request; tell whether its tokens are drawn here."""
        self._new.pop(req_idx, None)
        if super().add_request(req_idx, sampling_params):
            return True
        if is_greedy(sampling_params):
            return False
        self._new[req_idx] = sampling_params  # its prompt is known only when all is written
        return True

    def apply_staged_writes(self) -> None:
        """Read the prompts of what is new, and bring it to the device."""
        for slot, params in self._new.items():
            self._ordinary(slot, params)
        self._new.clear()
        super().apply_staged_writes()

    def _ordinary(self, slot: int, params: Any) -> None:
        length = int(self._states.prompt_len.np[slot])
        prompt = self._states.all_token_ids.gpu[slot, :length].tolist()
        resumed = int(self._states.prefill_len.np[slot]) > length
        if draw := self._seeds.draw_of(params, prompt, resumed=resumed):
            asked = draw.filters
            end = self._model.vocabulary.end
            self._put(
                slot,
                (ANY_STOP, draw.seed, 0, 0, asked.top_k),
                (asked.temperature, asked.top_p, asked.min_p),
                [stop for stop in asked.stops if 0 <= stop < end],
            )


def _with_room(table: np.ndarray, wanted: int) -> np.ndarray:
    """Return a table with at least so many columns, a power of 2."""
    if wanted <= table.shape[1]:
        return table
    wider = np.full((len(table), 1 << (wanted - 1).bit_length()), -1, dtype=table.dtype)
    wider[:, : table.shape[1]] = table
    return wider
