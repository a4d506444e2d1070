"""The steps of a build in docs/gate.md, run by bash as GitHub Actions runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.installed import REPOSITORY

STEPS = re.findall(
    r"^ +run: (coupled-arena .+)$", (REPOSITORY / "docs" / "gate.md").read_text(), re.MULTILINE
)


@pytest.fixture
def build(tmp_path):
    """Run all steps on a table, where one model is right on so many of 400 prompts more."""
    program = tmp_path / "bin" / "coupled-arena"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m coupled_arena "$@"\n')
    program.chmod(0o755)

    def run(lost):
        rows = ["model,prompt,right"]
        for n in range(400):
            rows += [f"fp16,q{n},1", f"int4,q{n},{int(n >= lost)}"]
        (tmp_path / "scores.csv").write_text("\n".join(rows))
        path = f"{program.parent}:{os.environ['PATH']}"
        return [
            subprocess.run(
                ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step],
                cwd=tmp_path,
                env={**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY)},
                capture_output=True,
                check=False,
            ).returncode
            for step in STEPS
        ]

    return run


@pytest.mark.slow
@pytest.mark.parametrize(("lost", "codes"), [(0, [0, 0]), (8, [4, 0]), (80, [3, 1])])
def test_only_what_is_shown_to_be_as_good_may_ship(build, lost, codes):
    assert build(lost) == codes
