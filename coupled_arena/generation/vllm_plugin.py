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
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from transformers.models.auto.tokenization_auto import AutoTokenizer
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
    ARGUMENT,
    ServedDraw,
    ServedWeights,
    drawn_ids,
    ends_at_once,
    proof_of_server,
    weights_of,
)
from coupled_arena.generation.vocabulary import read_tokenizer

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
        _asked(sampling_params)

    def __init__(self, vllm_config: Any, device: torch.device, _: bool) -> None:
        config = vllm_config.model_config
        # Not vLLM's own tokenizer, which for some models is of another library; and now, for a
        # vocabulary that cannot be coupled is better told at the start.
        tokenizer = AutoTokenizer.from_pretrained(
            config.tokenizer,
            revision=config.tokenizer_revision,
            trust_remote_code=config.trust_remote_code,
        )
        self._vocabulary = read_tokenizer(tokenizer, config.get_vocab_size(), ())
        self._noise = GumbelCache(torch.from_numpy(self._vocabulary.keys).to(device))
        self._rows: dict[int, _Row | AmbientRow] = {}
        self._config = vllm_config
        # Now where the files are here, before anybody can change them; else once vLLM has fetched
        # them, which it does after this.
        self._held = weights_of(here, *_kind(config)) if (here := _folder(vllm_config)) else None

    @property
    def _weights(self) -> ServedWeights:
        if self._held is None:
            folder = _folder(self._config)
            kind = _kind(self._config.model_config)
            self._held = weights_of(folder, *kind) if folder else ServedWeights("0" * 16, *kind)
        return self._held

    def is_argmax_invariant(self) -> bool:
        """Tell vLLM that greedy decoding must not skip it."""
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        """Follow which answer is in which row."""
        process_dict_updates(self._rows, batch_update, self._row)

    def _row(
        self, params: Any, _prompt: list[int] | None, written: list[int]
    ) -> _Row | AmbientRow | None:
        asked = _asked(params)
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
        if ends_at_once(asked, self._weights):
            return torch.full((len(rows),), min(asked.stops), device=logits.device)
        return drawn_ids(logits, self._noise, asked, places)

    def _proven(self, row: _Row) -> int:
        """Return the next token of a proof, which is made once: all others wait for its draws."""
        if row.proof is None:
            row.proof = proof_of_server(self._vocabulary, self._noise, row.draw, self._weights)
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


def _folder(vllm_config: Any) -> Path | None:
    """Return where the checkpoint's files are; None where they are not here yet."""
    config = vllm_config.model_config
    if (folder := Path(config.model)).is_dir():
        return folder
    try:
        where = snapshot_download(
            config.model,
            revision=config.revision,
            cache_dir=vllm_config.load_config.download_dir,
            local_files_only=True,
        )
    except (OSError, ValueError):  # nothing of it is here
        return None
    folder = Path(where)
    whole = any(any(folder.glob(kind)) for kind in ("*.safetensors", "*.gguf", "*.bin", "*.pt"))
    return folder if whole else None


def _kind(config: Any) -> tuple[str, str]:
    """Return type and quantization as vLLM computes with them."""
    return str(config.dtype).removeprefix("torch."), str(config.quantization or "none")


def _asked(sampling_params: Any) -> ServedDraw | None:
    argument = (sampling_params.extra_args or {}).get(ARGUMENT)
    return None if argument is None else ServedDraw.from_argument(argument)
