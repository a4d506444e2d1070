"""An output layer that sums in 32 bits, of a network that computes in 16.

Logits of 16 bits have 8 or 11 significant ones, and many of the likeliest tie. The products of the
layer are exact in 32 bits anyway; what is left out is the last rounding. Weights and names stay as
they are, and so does the fingerprint of the model.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

import torch

_PART = 8192  # outcomes whose weights are widened at once


def widen_head(network: Any) -> None:
    """Let a network return logits of 32 bits.

    Raises
    ------
    ValueError
        Its output layer is packed, offloaded, or of another kind.
    """
    layer = network.get_output_embeddings()
    plain = type(layer) is torch.nn.Linear and layer.weight.dtype.itemsize == 2
    if not plain or not layer.weight.is_floating_point() or layer.weight.is_meta:
        raise ValueError("its output layer is no matrix of 16-bit numbers in memory")
    layer.forward = MethodType(_wide_forward, layer)


def _wide_forward(layer: torch.nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
    weight = layer.weight
    hidden = hidden.to(weight.device)
    if weight.device.type == "cuda":  # whose kernels sum in 32 bits, and need not round
        flat = torch.mm(hidden.flatten(0, -2), weight.mT, out_dtype=torch.float32)
        logits = flat.unflatten(0, hidden.shape[:-1])
    else:
        wide = hidden.float()
        logits = torch.cat([wide @ part.float().mT for part in weight.split(_PART)], dim=-1)
    return logits if layer.bias is None else logits + layer.bias.float()
