"""Causal language models of the transformers library, and attention that no neighbour touches."""

from __future__ import annotations

import importlib.metadata
import logging
import math
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers.masking_utils import AttentionMaskInterface, flash_attention_mask
from transformers.modeling_utils import AttentionInterface
from transformers.utils.logging import disable_progress_bar
from transformers.utils.quantization_config import BitsAndBytesConfig

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.extras import compiled
from coupled_arena.generation.batches import (
    LoneBatch,
    PaddedBatch,
    PromptReading,
    RowBatch,
    keeps_keys,
    read_along,
)
from coupled_arena.generation.checkpoints import (
    Checkpoint,
    find_checkpoint,
    load_network,
    load_tokenizer,
    outlier_threshold,
    packages_of,
    packing_in_use,
    reason_of,
)
from coupled_arena.generation.devices import kv_bytes, longest_context
from coupled_arena.generation.fingerprint import Fingerprint, fingerprint, nonsense
from coupled_arena.generation.language_model import Batch
from coupled_arena.generation.self_check import SelfCheck, check_model
from coupled_arena.generation.tokenization import Message, Tokenization
from coupled_arena.generation.vocabulary import Vocabulary
from coupled_arena.generation.weights import local_folder
from coupled_arena.generation.wide_head import widen_head

_log = logging.getLogger(__name__)
ROW_ATTENTION = "row_sdpa"
version = cache(importlib.metadata.version)  # which reads a file, and every battle asks


class HuggingFaceModel:
    """One loaded model.

    Attributes
    ----------
    name : str
    vocabulary : Vocabulary
    context_length : int
        Most tokens of prompt and reply together.
    batchable : bool
        Whether several battles may decode in one batch.
    kv_bytes : int
        Bytes of a token's keys and values.

    Parameters
    ----------
    packing : str
        The checkpoint's own quantization, where it has one.
    """

    def __init__(self, spec: ModelSpec, model: Any, tokenizer: Any, packing: str = "") -> None:
        self.name = spec.name
        self.network = model
        self._stacks = keeps_keys(model)
        # Above 0 the columns that LLM.int8 keeps in 16 bits are chosen over the whole batch.
        self.batchable = self._stacks and not outlier_threshold(model)
        self.kv_bytes = kv_bytes(model)
        self._spec = spec
        self._packing = packing
        self._tokenizer = tokenizer
        self.tokenization = Tokenization(
            spec,
            tokenizer,
            model.generation_config,
            outputs=model.get_output_embeddings().weight.shape[0],
            context_length=longest_context(model.config),
        )
        self.vocabulary: Vocabulary = self.tokenization.vocabulary
        self.context_length: int = self.tokenization.context_length
        self.reading: str = self.tokenization.reading

    @property
    def device(self) -> torch.device:
        """Where the logits are computed."""
        return self.network.device

    @property
    def arithmetic(self) -> dict[str, str]:
        """What fixes the rounding of this model's numbers, for the record."""
        spec = self._spec
        parts = {
            "torch": torch.__version__,
            "transformers": version("transformers"),
            "source": spec.source,
            "commit": getattr(self.network.config, "_commit_hash", None) or "",
            "sha256": spec.sha256 or "",
            "dtype": str(self.network.dtype).removeprefix("torch."),
            "quantization": self._packing or spec.quantization,
            "device": self.device.type,
            "attention": self.network.config._attn_implementation,
            "replies at once": "many" if self.batchable else "one",
        }
        if _widens(spec):  # only where it changes the law: other records stay as they were
            parts["head"] = "float32"
        threshold = outlier_threshold(self.network)
        if threshold is not None:
            parts["llm_int8_threshold"] = f"{threshold:g}"
        parts |= {package: version(package) for package in packages_of(parts["quantization"])}
        return {key: value for key, value in parts.items() if value} | self.fingerprint.facts()

    @property
    def eight_bits(self) -> bool:
        """Whether activations may be rounded to 8 bits before they are multiplied."""
        packing = self._packing or self._spec.quantization
        return packing not in ("none", "bnb-4bit", "bitsandbytes_4bit", "gguf") and (
            "unpacked" not in packing
        )

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Which weights these are; reads all of them the first time, and a text."""
        return fingerprint(self.network, self._tokenizer)

    @property
    def perplexity(self) -> float:
        """How much a plain text surprises it, per token."""
        return self.fingerprint.perplexity

    def read_text(self) -> float:
        """Return the perplexity, which takes a moment the first time.

        Raises
        ------
        ModelError
            The weights cannot be read, do not fit what they are said to be, or are no numbers.
        """
        try:
            perplexity = self.perplexity
        except Exception as error:
            reason = reason_of(error)
            raise ModelError(f"Model {self.name!r} cannot read a plain text: {reason}.") from error
        if not math.isfinite(perplexity):
            reason = nonsense(self.network, perplexity)
            raise ModelError(f"Model {self.name!r} cannot read a plain text: {reason}")
        return perplexity

    def check_itself(self) -> SelfCheck:
        """Let it prove that it writes what its network says; from now on alone if it must.

        Raises
        ------
        ModelError
            What it writes token by token is not what its network says of the whole text.
        """
        check = check_model(self)
        if not check.sound:
            why = f" ({check.reason})" if check.reason else ""
            raise ModelError(
                f"Model {self.name!r} cannot decode here: token by token its network "
                f"({self.network.config.model_type}) writes other text than at once{why}. "
                "Leave it out, or have vLLM serve it (docs/model-servers.md)."
            )
        self.batchable = check.batchable
        return check

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return the token ids of a conversation; see `Tokenization.encode`."""
        return self.tokenization.encode(messages)

    def start_reading(self, prompt: Sequence[int]) -> PromptReading:
        """Begin to read a prompt for a batch of this model."""
        return PromptReading(self.network, prompt)

    def read_along(
        self, prompt: Sequence[int], tokens: Sequence[int], most: int
    ) -> Iterator[torch.Tensor]:
        """Yield the next-token logits after a prompt and each further token, so many at a time."""
        return read_along(self.network, prompt, tokens, most)

    def start_batch(self, most_tokens: int | None = None) -> Batch:
        """Return an empty batch, whose rows and columns make no more than so many tokens."""
        attention = self.network.config._attn_implementation
        if attention == ROW_ATTENTION:
            return RowBatch(self.network, most_tokens)
        if not self._stacks:
            return LoneBatch(self.network)
        if attention == "sdpa" and sees_all_keys(self.network):
            return RowBatch(self.network, most_tokens, masked=True)
        return PaddedBatch(self.network)  # as wide as its longest row, and no wider


def open_model(spec: ModelSpec, cache: Path) -> tuple[Checkpoint, Any]:
    """Return a model's checkpoint and tokenizer, without reading weights.

    Raises
    ------
    ModelError
        They cannot be had, or are not what the entry says.
    """
    disable_progress_bar()  # a second or two need none
    folder = local_folder(spec, cache)
    where = str(folder or spec.hub)
    options: dict[str, Any] = {"revision": spec.revision} if folder is None else {}
    if spec.hub and spec.gguf:
        options["gguf_file"] = spec.gguf
    checkpoint = find_checkpoint(spec.name, where, **options)
    _check_packing(spec, checkpoint)
    return checkpoint, load_tokenizer(checkpoint)


def load_model(spec: ModelSpec, cache: Path) -> HuggingFaceModel:
    """Load one entry of the catalog, fetching its weights if need be.

    Raises
    ------
    ModelError
        The weights cannot be had, or do not load as the entry says.
    """
    checkpoint, tokenizer = open_model(spec, cache)
    placement = {"dtype": getattr(torch, spec.dtype), "device_map": spec.device_map}
    network = load_network(checkpoint, _quantization(spec), **placement)
    _compute_as_asked(spec, network)
    if _widens(spec):
        try:
            widen_head(network)
        except ValueError as error:
            raise checkpoint.error(f"head_dtype = float32 cannot be: {error}.") from error
    packing = packing_in_use(checkpoint, network)
    return HuggingFaceModel(spec, network.eval(), tokenizer, packing)


def _check_packing(spec: ModelSpec, checkpoint: Checkpoint) -> None:
    """Refuse what the catalog says of a checkpoint's quantization where it is not so."""
    packing = checkpoint.packing
    if spec.quantization == "prequantized" and not packing:
        raise checkpoint.error("its config.json names no quantization; set quantization to none.")
    if spec.quantization.startswith("bnb") and packing:
        raise checkpoint.error(
            f"its weights are quantized as {packing} already, and {spec.quantization} cannot "
            "follow; leave it out, or name a checkpoint in full precision."
        )


def _widens(spec: ModelSpec) -> bool:
    return spec.head_dtype == "float32" and spec.dtype != "float32"


def _quantization(spec: ModelSpec) -> BitsAndBytesConfig | None:
    if spec.quantization == "bnb-8bit":
        return BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=spec.llm_int8_threshold)
    if spec.quantization == "bnb-4bit":
        return BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=getattr(torch, spec.dtype),
        )
    return None


def _compute_as_asked(spec: ModelSpec, network: Any) -> None:
    """Keep arithmetic free of what depends on the batch or the processor, as far as that goes.

    On a GPU 16-bit products depend on the batch whatever attention does, and the library's is fast.
    """
    if spec.dtype != "float32" and network.device.type != "cpu":
        return
    if sees_all_keys(network):
        network.set_attn_implementation(ROW_ATTENTION)
        compile_attention_loop()  # now, not in the first visitor's round
    if spec.dtype != "float32":
        return
    for module in network.modules():
        # A layer of bitsandbytes, which takes seconds to import for those who have no such layer:
        # on processors with AVX512-BF16 it would multiply in bfloat16 instead.
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def sees_all_keys(network: Any) -> bool:
    """Tell whether all layers let a token see all before it, by attention that one can replace."""
    config = network.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    plain = kinds == {"full_attention"} and not getattr(config, "sliding_window", None)
    return plain and bool(network._supports_attention_backend)


# Attention whose rounding depends on no neighbour in the batch.
#
# A batch gives the attention kernel other shapes than a sequence by itself, and other shapes round
# differently, by about 1e-7. That is harmless where everything after it is smooth. It is not where
# activations are quantized: LLM.int8 rounds them to 8 bits, a hair decides between two of them, and
# one step's distribution moved by up to 0.17 in total variation between a batch of one and a batch
# of eight. Here each row attends to its own keys only. On processors a compiled loop goes over rows
# and heads, and no sum of a row knows of another. (The library's kernels do not keep that, given
# keys padded to a common length: with two threads every row changed.) Elsewhere the products are
# made in numbers twice as wide, and rounding the sum removes their rounding.


def row_attention(
    module: torch.nn.Module,  # noqa: ARG001
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Compute the attention of a prompt's chunk, or of one query a row to keys of its own.

    Parameters
    ----------
    query : tensor, shape (n, heads, q, d)
    key, value : tensors, shape (n, key-value heads, length, d)
    attention_mask : int64 tensor, shape (n, 1, 1, 1), or None
        How many keys each row has. None where the queries are the last tokens of a prompt, and the
        keys those of all of it so far. Queries beyond the last row are there for company alone.

    Returns
    -------
    tensor, shape (n, q, heads, d), and None for the attention weights
    """
    if attention_mask is None:
        asked, length = query.shape[2], key.shape[2]
        later = 1 < asked < length  # the beginning of the prompt was read before
        attended = scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=_no_later(asked, length, query.device) if later else None,
            is_causal=asked > 1 and not later,
            scale=scaling,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        return attended.transpose(1, 2).contiguous(), None
    if attention_mask.dim() != 4 or query.shape[2] > 1:
        raise ValueError("Prompts are read one by one: none may be padded.")
    scale = query.shape[3] ** -0.5 if scaling is None else scaling
    loop = _loop() if key.device.type == "cpu" else None
    attend = exact_attention if loop is None else _looped
    rows = len(key)
    attended = attend(query[:rows, :, 0], key, value, attention_mask, scale)
    if spare := len(query) - rows:  # rows that are computed for their company alone
        attended = pad(attended, (0, 0, 0, 0, 0, spare))
    return attended[:, None], None


def _no_later(asked: int, length: int, device: torch.device) -> torch.Tensor:
    """Return which keys the last tokens of a prompt may see: none that comes later."""
    return torch.ones(asked, length, dtype=torch.bool, device=device).tril(length - asked)


def exact_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    lengths: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """Return the attention of single queries, shape (n, heads, d), by products in wider numbers."""
    wide = torch.float64 if query.dtype == torch.float32 else torch.float32
    grouped = query.unflatten(1, (key.shape[1], -1)).to(wide)
    scores = grouped @ key.to(wide).mT * scale
    beyond = torch.arange(key.shape[2], device=key.device) >= lengths
    weights = scores.masked_fill(beyond, -torch.inf).softmax(-1)
    return (weights @ value.to(wide)).flatten(1, 2).to(query.dtype)


def _looped(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    lengths: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    attended = torch.empty((*query.shape[:2], value.shape[3]))
    arrays = (x.float().contiguous().numpy() for x in (query, key, value))
    _loop()(*arrays, lengths.flatten().numpy(), np.float32(scale), attended.numpy())
    return attended.to(query.dtype)


@cache
def _loop() -> Any:
    """Return the compiled loop; None where numba is not installed, or can keep nothing on disk."""
    try:
        loops = compiled("coupled_arena.generation.compiled_loops")
    except RuntimeError as error:
        _log.warning("Attention is computed without its compiled loop, and slower: %s", error)
        return None
    return loops and loops.attend


def compile_attention_loop() -> None:
    """Compile the loop that serves the CPU: a second or two once, kept on disk for later runs."""
    one, lengths = torch.zeros((1, 1, 1, 1)), torch.ones((1, 1, 1, 1), dtype=torch.int64)
    row_attention(torch.nn.Identity(), one, one, one, lengths)


AttentionInterface.register(ROW_ATTENTION, row_attention)
# The mask of the flash-attention family is None where nothing is padded.
AttentionMaskInterface.register(ROW_ATTENTION, flash_attention_mask)
