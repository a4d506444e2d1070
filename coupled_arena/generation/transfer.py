"""Bringing numbers to a device without waiting for what it still computes."""

from __future__ import annotations

import torch


def to_device(table: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Return a table of the host on a device; on a GPU it arrives in its turn, by pinned memory."""
    if device.type != "cuda" or table.device.type != "cpu":
        return table.to(device)
    return table.pin_memory().to(device, non_blocking=True)
