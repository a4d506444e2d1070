"""The ranking paper's comparisons by people and by GPT-4, where the shared folder is there."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.stats.reference import Rows

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "ppr"
needs_real_votes = pytest.mark.skipif(
    not FOLDER.exists(), reason=f"the real votes are not there: {FOLDER}"
)
OUTCOMES = {"model_a": 0, "model_b": 1, "tie": 2, "tie (bothbad)": 3}


@cache
def golden():
    return json.loads((FOLDER / "golden_ppr_gpt4.json").read_text())


@cache
def _kept():
    """Return line -> (a, b, h, g) of the lines between the twelve models."""
    models = golden()["models"]
    files = [FOLDER / "human.json", FOLDER / "gpt-4-0125-preview.json"]
    lines = [file.read_text().splitlines() for file in files]
    kept = {}
    for number, (human, judge) in enumerate(zip(*lines, strict=True)):
        h, g = json.loads(human), json.loads(judge)
        assert h["num"] == g["num"]
        if h["model_a"] in models and h["model_b"] in models:
            pair = (models.index(h["model_a"]), models.index(h["model_b"]))
            kept[number] = (*pair, OUTCOMES[h["winner"]], OUTCOMES[g["winner"]])
    return kept


def _rows(lines):
    table = np.array([_kept()[line] for line in lines], dtype=int).reshape(-1, 4)
    return Rows(*table.T)


def all_rows():
    return _rows(_kept())


def design(name):
    """Return D_n and D_N of one of the golden file's designs."""
    human, alone = lines_of(name)
    return _rows(human), _rows(alone)


def lines_of(name):
    """Return the line numbers of D_n and of D_N."""
    order = sorted(_kept(), key=lambda n: hashlib.sha256(f"ppr-golden-v1:{n}".encode()).hexdigest())
    if name.startswith("hash_n"):
        n = int(name.removeprefix("hash_n"))
        return order[:n], order[n:]
    pairs = defaultdict(list)
    for line in order:
        pairs[frozenset(_kept()[line][:2])].append(line)
    return (
        [line for lines in pairs.values() for line in lines[:15]],
        [line for lines in pairs.values() for line in lines[15:96]],
    )
