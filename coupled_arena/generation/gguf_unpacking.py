"""A GGUF file as an ordinary folder of safetensors, one tensor after the other.

The library dequantizes all tensors before it makes a network of them, and a copy of that is saved:
12 bytes a weight. Here each tensor goes through the library's own code for its architecture and on
to the disk, before the next is read. The numbers are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from transformers.generation.configuration_utils import GenerationConfig
from transformers.integrations.gguf.reader import read_gguf_metadata
from transformers.integrations.gguf.utils import is_gguf_arch_supported
from transformers.modeling_gguf_pytorch_utils import (
    TENSOR_PROCESSORS,
    TensorProcessor,
    get_gguf_hf_weights_map,
    load_gguf_checkpoint,
)
from transformers.models.auto.configuration_auto import AutoConfig
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from coupled_arena.core.errors import ModelError
from coupled_arena.generation.checkpoint_files import NO_CODE
from coupled_arena.generation.checkpoints import Checkpoint, find_checkpoint, load_network
from coupled_arena.generation.completeness import incomplete

_CHUNK = 1 << 22  # weights that are dequantized at once
_KINDS = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}


def unpack(gguf: Path, folder: Path, name: str, dtype: torch.dtype) -> None:
    """Write a GGUF model's weights and configuration into a new folder.

    Raises
    ------
    ModelError
        The file cannot be read, or lacks weights.
    """
    options = {"gguf_file": gguf.name}
    checkpoint = find_checkpoint(name, str(gguf.parent), **options)
    try:
        metadata, _ = read_gguf_metadata(str(gguf))
        config = AutoConfig.from_pretrained(gguf.parent, **NO_CODE, **options)
        vars(config).pop("quantization_config", None)
        plain = _skeleton(config, dtype)
        architecture = metadata["general.architecture"]
        processor = _processor(gguf, architecture)
        folder.mkdir()
        if processor is None or is_gguf_arch_supported(architecture):
            _save_whole(checkpoint, plain, folder)
        else:
            _save_each(checkpoint, plain, processor, folder)
    except ModelError:
        raise
    except Exception as error:
        raise checkpoint.unreadable(error) from error


def _skeleton(config: Any, dtype: torch.dtype) -> Any:
    """Return a network without weights; in float32 where the library keeps some layers in it."""
    with torch.device("meta"):
        plain: Any = AutoModelForCausalLM.from_config(config, dtype=dtype)
        if plain._keep_in_fp32_modules or plain._keep_in_fp32_modules_strict:
            plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    return plain


def _processor(gguf: Path, architecture: str) -> Any:
    """Return what turns single tensors into the library's; None where experts are merged."""
    kind = TENSOR_PROCESSORS.get(architecture, TensorProcessor)
    if any("moe_expert" in name for name in dir(kind)):
        return None
    return kind(config=load_gguf_checkpoint(str(gguf))["config"])


def _save_whole(checkpoint: Checkpoint, plain: Any, folder: Path) -> None:
    """Save a network of which the library merges tensors, without a second copy of it."""
    packed = load_network(checkpoint, dtype=plain.dtype)
    plain.load_state_dict(packed.state_dict(), assign=True)
    plain.tie_weights()
    plain.generation_config = packed.generation_config or GenerationConfig.from_model_config(
        plain.config
    )
    plain.save_pretrained(folder)


def _save_each(checkpoint: Checkpoint, plain: Any, processor: Any, folder: Path) -> None:
    from gguf import GGUFReader

    mapping = get_gguf_hf_weights_map(plain, processor)
    tied = set(plain.all_tied_weights_keys)
    wanted = {name: tensor for name, tensor in plain.state_dict().items() if name not in tied}
    missing = set(wanted)
    with (folder / "model.safetensors").open("wb") as sink:
        places = _write_header(sink, wanted)
        for tensor in GGUFReader(checkpoint.path).tensors:
            made = processor.process(
                weights=_dequantized(tensor),
                name=tensor.name,
                tensor_key_mapping=mapping,
                parsed_parameters={"tensors": {}},
            )
            name = mapping.get(made.name, "")
            if name not in wanted:
                continue
            expected = wanted[name]
            if made.weights.shape != expected.shape:
                raise checkpoint.error(
                    f"{name} has the shape {made.weights.shape}, not {tuple(expected.shape)}."
                )
            sink.seek(places[name])
            for part in _parts(made.weights):
                narrow = torch.from_numpy(part).to(expected.dtype)
                sink.write(narrow.view(torch.uint8).numpy().data)
            missing.discard(name)
            del made  # before the next is read
    found = {"missing_keys": missing, "unexpected_keys": (), "mismatched_keys": ()}
    if reason := incomplete(plain, found, checkpoint.packing):
        raise checkpoint.error(reason)
    plain.config.architectures = [type(plain).__name__]
    plain.config.save_pretrained(folder)
    made_for = plain.generation_config or GenerationConfig.from_model_config(plain.config)
    made_for.save_pretrained(folder)


def _write_header(sink: BinaryIO, tensors: dict[str, Any]) -> dict[str, int]:
    """Begin a safetensors file, and return where each tensor's bytes go."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end, starts = 0, dict[str, int]()
    for name, tensor in sorted(tensors.items(), key=lambda each: (-each[1].itemsize, each[0])):
        starts[name], end = end, end + prod(tensor.shape) * tensor.itemsize
        header[name] = {
            "dtype": _KINDS[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [starts[name], end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    sink.write(len(text).to_bytes(8, "little") + text)
    sink.truncate(8 + len(text) + end)
    return {name: 8 + len(text) + start for name, start in starts.items()}


def _dequantized(tensor: Any) -> np.ndarray:
    """Return a tensor's weights in float32, made of some rows at a time."""
    from gguf import dequantize

    data = tensor.data
    rows = max(1, _CHUNK * len(data) // max(1, int(tensor.n_elements)))
    if data.ndim < 2 or rows >= len(data):
        return dequantize(data, tensor.tensor_type)
    whole: np.ndarray | None = None
    for start in range(0, len(data), rows):
        part = dequantize(data[start : start + rows], tensor.tensor_type)
        if whole is None:
            whole = np.empty((len(data), *part.shape[1:]), part.dtype)
        whole[start : start + rows] = part
    assert whole is not None
    return whole


def _parts(weights: np.ndarray) -> Iterator[np.ndarray]:
    """Yield all numbers in order, some at a time."""
    flat = np.ascontiguousarray(weights).reshape(-1)
    for start in range(0, len(flat), _CHUNK):
        yield np.copy(flat[start : start + _CHUNK])
