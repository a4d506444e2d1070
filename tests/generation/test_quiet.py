"""What torchao has logged at its import is dropped, and nothing else of whoever logs it."""

from __future__ import annotations

import logging

import pytest

import coupled_arena.generation  # noqa: F401


@pytest.mark.parametrize(
    ("name", "idle", "useful"),
    [
        ("torchao", "Failed to load x.so: Could not load this library", "Another matter"),
        ("torchao.kernel.intmm", "Warning: Detected no triton, on systems", "A wrong shape"),
        ("torch.utils._pytree", "<enum 'K'> is an Enum subclass and is now", "No such node"),
    ],
)
def test_five_lines_of_torchao(name, idle, useful):
    heard = []
    logger, hears = logging.getLogger(name), logging.Handler()
    hears.emit = lambda record: heard.append(record.getMessage())
    logger.addHandler(hears)
    try:
        logger.warning("%s", idle)
        logger.warning("%s", useful)
    finally:
        logger.removeHandler(hears)
    assert heard == [useful]
