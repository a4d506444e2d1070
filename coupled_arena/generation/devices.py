"""What a device is asked: what its free memory holds, to take numbers, and to finish its work."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

_SHARE = 0.5  # of what is free: the rest is for what steps compute, and for everybody else
_CONTROL_GROUP = Path("/sys/fs/cgroup")


def longest_context(config: Any) -> int:
    """Return the most tokens that a network reads; no number anybody reaches if it has no limit.

    Bloom, MPT and networks without attention have none: their positions are not embedded.
    """
    text = config.get_text_config(decoder=True)
    return getattr(text, "max_position_embeddings", None) or sys.maxsize


def kv_bytes(network: Any) -> int:
    """Return the bytes that a network's keys and values of one token take.

    0 without attention: such a network keeps a state, which does not grow with the text.
    """
    config = network.config.get_text_config()
    if not getattr(config, "num_attention_heads", None):
        return 0
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return 2 * config.num_hidden_layers * heads * size * network.dtype.itemsize


def tokens_that_fit(models: Iterable[Any]) -> int | None:
    """Return how many tokens each model may hold so that all take half of the free memory.

    None where no model says what a token takes. A model on several devices counts as if all of it
    lay on the first.
    """
    each: dict[torch.device, int] = defaultdict(int)
    for model in models:
        if size := getattr(model, "kv_bytes", 0):
            each[model.device] += size
    fitting = (int(_SHARE * free_memory(device)) // size for device, size in each.items())
    return max(1, min(fitting)) if each else None


def free_memory(device: torch.device) -> int:
    """Return how many bytes can still be had on a device."""
    if device.type == "cuda":
        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + cached
    return min(_free_of_machine(), _free_of_container())


def _free_of_machine() -> int:
    try:
        figures = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        return int(figures["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):  # another system: nothing is known, so there is much
        return 1 << 40


def _free_of_container() -> int:
    try:
        most = int((_CONTROL_GROUP / "memory.max").read_text())
        return max(0, most - int((_CONTROL_GROUP / "memory.current").read_text()))
    except (OSError, ValueError):  # no such file, or "max"
        return 1 << 40


def to_device(table: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return a table of the host on a device; on a GPU it arrives in its turn, by pinned memory."""
    if device.type != "cuda" or table.device.type != "cpu":
        return table.to(device)
    return table.pin_memory().to(device, non_blocking=True)


def wait_for_device(device: torch.device) -> None:
    """Wait until a GPU has done all that it was told to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
