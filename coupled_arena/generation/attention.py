"""Attention whose rounding depends on no neighbour in the batch.

A batch gives the attention kernel other shapes than a sequence by itself, and other shapes round
differently, by about 1e-7. That is harmless where everything after it is smooth. It is not
where activations are quantized: LLM.int8 rounds them to 8 bits, a hair decides between two of
them, and one step's distribution moved by up to 0.17 in total variation between a batch of one
and a batch of eight. Here each row attends to its own keys only. On processors a compiled loop goes
over rows and heads, and no sum of a row knows of another. (The library's kernels, given keys that
are padded to a common length, do not keep that: with two threads every row changed.) Elsewhere the
products are made in numbers twice as wide, whose rounding is lost when the sum is rounded.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers.masking_utils import AttentionMaskInterface, flash_attention_mask
from transformers.modeling_utils import AttentionInterface

from coupled_arena.core.extras import compiled

_log = logging.getLogger(__name__)
ROW_ATTENTION = "row_sdpa"


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
        How many keys each row has; None where the queries are the last tokens of a prompt, and the
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
    spare = len(query) - rows  # rows that are computed for their company alone
    return pad(attended, (0, 0, 0, 0, 0, spare))[:, None], None


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
