"""Attention whose rounding depends on no neighbour in the batch.

A padded batch gives the attention kernel other shapes than a sequence by itself, and other shapes
round differently, by about 1e-7. That is harmless where everything after it is smooth. It is not
where activations are quantized: LLM.int8 rounds them to 8 bits, a hair decides between two of
them, and one step's distribution moved by up to 0.17 in total variation between a batch of one
and a batch of eight. Here each row attends to its own keys only, in the shape it would have by
itself, so the batch leaves every input of the rounding as it is.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers.masking_utils import AttentionMaskInterface, flash_attention_mask
from transformers.modeling_utils import AttentionInterface

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
    """Compute causal attention row by row, without the padding on the left.

    Parameters
    ----------
    query : tensor, shape (n, heads, q, d)
    key, value : tensors, shape (n, key-value heads, length, d)
    attention_mask : int tensor, shape (n, length), or None where nothing is padded

    Returns
    -------
    tensor, shape (n, q, heads, d), and None for the attention weights
    """
    rows = query.shape[0]
    if attention_mask is not None and query.shape[2] > 1:
        raise ValueError("Prompts are read one by one: only single queries may be padded.")
    padding = [0] * rows if attention_mask is None else (attention_mask == 0).sum(1).tolist()
    # Rows of equal length have in one call the shape that each has by itself.
    groups = [slice(0, rows)] if len(set(padding)) == 1 else [slice(r, r + 1) for r in range(rows)]
    attended = [
        scaled_dot_product_attention(
            query[group],
            key[group, :, padding[group.start] :],
            value[group, :, padding[group.start] :],
            is_causal=query.shape[2] > 1,
            scale=scaling,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        for group in groups
    ]
    return torch.cat(attended).transpose(1, 2).contiguous(), None


AttentionInterface.register(ROW_ATTENTION, row_attention)
# The mask of the flash-attention family is the plain two-dimensional one, or None.
AttentionMaskInterface.register(ROW_ATTENTION, flash_attention_mask)
