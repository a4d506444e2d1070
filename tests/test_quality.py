"""Format, lint and types: part of the one command that runs every check."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "format", "--check", "--no-cache", "."],
        ["ruff", "check", "--no-cache", "."],
        pytest.param(["pyright", "--pythonpath", sys.executable], marks=pytest.mark.slow),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_no_complaint(command):
    finished = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
