"""The example in `docs` runs as a newcomer would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import coupled_arena as ca

REPOSITORY = Path(ca.__file__).parents[1]
EXAMPLE = REPOSITORY / "docs" / "from_votes_to_a_figure.py"


@pytest.mark.slow
def test_from_votes_to_a_figure(tmp_path):
    finished = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLE],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    votes = pd.read_csv(EXAMPLE.with_name("votes.csv"))
    assert votes.winner.notna().sum() == 240
    assert len(votes) == 240 + 960
    for board in (ca.rank(votes), ca.rank(votes[votes.winner.notna()].drop(columns="verdict"))):
        assert str(board) in finished.stdout
    figure = (tmp_path / "rank_sets.html").read_text(encoding="utf-8")
    assert all(model in figure for model in {*votes.model_a})
