"""A small model and the same with rounded weights: as alike as a model and its 4-bit version.

Their answers end by themselves, most of them after some ten tokens.
"""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.generation.huggingface import HuggingFaceModel, load_model
from tests.small_models import CONTROL, END, NAMES, save_small_models

ORIGINAL, ROUNDED = NAMES[0], "small-rounded"
_STEP = 0.12  # of the weights


@torch.no_grad()
def save_variants(folder: Path) -> None:
    """Save both in a folder."""
    save_small_models(folder, (ORIGINAL,))
    network = AutoModelForCausalLM.from_pretrained(folder / ORIGINAL)
    network.lm_head.weight *= 1.6  # the same token is likelier to come twice
    network.lm_head.weight[CONTROL.index(END), 0] = 0.55
    network.save_pretrained(folder / ORIGINAL)
    save_small_models(folder, (ROUNDED,))  # its tokenizer
    weight = network.lm_head.weight
    bias = weight[:, 0].clone()
    weight.copy_((weight / _STEP).round() * _STEP)
    weight[:, 0] = bias
    network.save_pretrained(folder / ROUNDED)


def variants(folder: Path) -> dict[str, HuggingFaceModel]:
    """Return both, loaded."""
    specs = (
        ModelSpec(name=name, folder=folder / name, dtype="float32", device_map="cpu")
        for name in (ORIGINAL, ROUNDED)
    )
    return {spec.name: load_model(spec, folder) for spec in specs}
