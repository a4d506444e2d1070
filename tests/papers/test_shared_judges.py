"""Comparisons that all judges have judged, read from a store, and how many of them are drawn."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.ranking.experiments import NINE, SOME, subsets_of
from coupled_arena.papers.source import (
    PaperSettings,
    PaperSource,
    prompts_of,
    read_shared,
    store_of_files,
)
from coupled_arena.stats.simulation.subsets import SharedComparisons

MODELS = ("able", "baker", "carl")
WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")


def lines(rows, winner):
    return "\n".join(
        json.dumps(
            {
                "num": number,
                "question_id": f"q{number}",
                "model_a": row["a"],
                "model_b": row["b"],
                "winner": WINNERS[row[winner]],
            }
        )
        for number, row in enumerate(rows)
        if row[winner] is not None
    )


def source_of(tmp_path, rows, names, **settings):
    """Return a source of files of votes and of each judge's verdicts."""
    files = {}
    for name in ("human", *names):
        files[name] = tmp_path / f"{name}.jsonl"
        files[name].write_text(lines(rows, name))
    store = store_of_files(files.pop("human"), files)
    return PaperSource(PaperSettings(**settings), lambda: store)


def made_up(judges, seed=2, n=400):
    """Return battles, a vote on each and verdicts on most."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        a, b = rng.choice(3, 2, replace=False)
        row = {"a": MODELS[a], "b": MODELS[b], "human": int(rng.integers(4))}
        for judge in judges:
            row[judge] = int(rng.integers(3)) if rng.random() < 0.9 else None
        rows.append(row)
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("judges", [("x",), ("x", "y"), ("v", "w", "x", "y", "z")])
def test_rows_that_all_have_judged(tmp_path, judges):
    rows = made_up(judges)
    source = source_of(tmp_path, rows, judges)
    found = read_shared(source)
    whole = [row for row in rows if None not in (row[j] for j in judges)]
    assert 0 < len(whole) < len(rows)
    assert (found.models, found.judges) == (MODELS, judges)
    assert found.labelled.sum() == len(whole)
    assert prompts_of(source) == len(whole)
    for place, judge in enumerate(judges):
        cells = Counter(
            (MODELS.index(row["a"]), MODELS.index(row["b"]), row["human"], row[judge])
            for row in whole
        )
        counts = found.by(place, found.labelled)
        assert {cell: counts[cell] for cell in cells} == cells


@pytest.mark.slow
def test_some_judges_and_models(tmp_path):
    rows = made_up(("x", "y"))
    source = source_of(tmp_path, rows, ("x", "y"), judges=("y",), models=("carl", "able"))
    found = read_shared(source)
    kept = [r for r in rows if r["y"] is not None and "baker" not in (r["a"], r["b"])]
    assert (found.models, found.judges) == (("able", "carl"), ("y",))
    assert found.votes.counts.sum() == len(kept)


@pytest.mark.slow
def test_judges_of_other_battles_have_nothing_to_share(tmp_path):
    rows = made_up(("x", "y"))
    for number, row in enumerate(rows):
        row["xy"[number % 2]] = None
    with pytest.raises(ArenaError, match=r"choose with --judge. Votes beside verdicts of: x 1\d\d"):
        read_shared(source_of(tmp_path, rows, ("x", "y")))


def test_rows_that_are_left_out_are_told(tmp_path, caplog):
    path = tmp_path / "human.jsonl"
    whole = lines(made_up((), n=9), "human")
    path.write_text(whole)
    store_of_files(path, {})
    assert not caplog.records
    path.write_text(whole[:-20])
    store_of_files(path, {})
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{path}: 1 of 9 rows are left out. The first, line 9: not valid JSON."
    )


def sized(met):
    """Return comparisons of three models, so many of each pair."""
    labelled = np.zeros((3, 3, 4, 4), dtype=np.int64)
    for (a, b), n in zip(combinations(range(3), 2), met, strict=True):
        labelled[a, b, 0, 0] = n
    return SharedComparisons(MODELS, ("x",), labelled, np.arange(4)[None])


def test_the_papers_numbers_where_pairs_have_96():
    found = subsets_of(sized((96, 200, 300)), NINE)
    assert (found.total, found.balanced, found.notes) == (288, True, ())
    assert [n // 3 for n in found.human] == list(NINE)
    assert subsets_of(sized((96, 200, 300)), SOME).human == (45,)


def test_other_data_draw_what_they_have():
    found = subsets_of(sized((8, 9, 10)), NINE)
    assert (found.total, found.balanced) == (24, True)
    assert found.human == (3, 6, 9, 12)
    assert "fewest comparisons has 8" in found.notes[0]
    assert subsets_of(sized((8, 9, 10)), NINE, (7, 20)).human == (6, 18)
    with pytest.raises(ArenaError, match="--sizes 25: at most 24"):
        subsets_of(sized((8, 9, 10)), NINE, (25,))


def test_pairs_that_never_met():
    found = subsets_of(sized((10, 0, 10)), SOME)
    assert (found.balanced, found.total, found.human) == (False, 16, (2,))
    assert "able and carl have 0 comparisons" in found.notes[0]
