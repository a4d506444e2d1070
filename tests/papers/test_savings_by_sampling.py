"""What coupling saves by temperature and top-p: the figure, and what it cannot be made from."""

from __future__ import annotations

import numpy as np
import pytest

from coupled_arena.analysis.coupling.savings import read_sweep
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode, Prompt, Sampling, Score
from coupled_arena.papers.coupled_generation import COUPLED_GENERATION
from coupled_arena.papers.making import item_of
from coupled_arena.papers.source import PaperSettings, PaperSource
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from tests.batches import at_once
from tests.store.conftest import make_battle

MODELS = ("ann", "bob", "cas")
GRID = [(0.3, 1.0), (0.7, 1.0), (1.0, 1.0), (0.7, 0.9)]


def swept(store, grid):
    """Store answers of three models under each sampling; the warmer, the less they share."""
    rng = np.random.default_rng(8)
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    with at_once(store) as batch:
        for temperature, top_p in grid:
            for question in range(12):
                for mode in (Mode.COUPLED, Mode.INDEPENDENT):
                    for repetition in range(3):
                        luck = rng.random(1 if mode is Mode.COUPLED else len(MODELS))
                        right = luck + temperature * rng.normal(0, 0.2, len(MODELS)) < 0.6
                        battle = make_battle(
                            *MODELS,
                            mode=mode,
                            prompts=(Prompt(f"Question {question}?", f"q{question}"),),
                            sampling=Sampling(temperature, 0, top_p),
                            repetition=repetition,
                        )
                        marks = [
                            Score(0, place, "quiz", float(won), "9")
                            for place, won in enumerate(right)
                        ]
                        batch.add_battle(battle, marks)


def made(store, **settings):
    source = PaperSource(PaperSettings(**settings), lambda: store)
    return item_of(COUPLED_GENERATION, "savings-by-sampling").make(source)


@pytest.mark.slow
def test_a_line_for_each_pair_with_its_intervals(store):
    swept(store, GRID)
    found = made(store)
    assert list(found.figures) == [
        "by temperature, top-p 1, gumbel",
        "by top-p, temperature 0.7, gumbel",
    ]
    rows = [row for row in read_sweep(store).rows if row.drawn.top_p == 1]
    figure = found.figures["by temperature, top-p 1, gumbel"]
    for trace in figure.data:
        own = [row.pair for row in rows if f"{row.pair.model_a} | {row.pair.model_b}" == trace.name]
        assert list(trace.y) == [pair.savings for pair in own]
        highs = np.add(trace.y, trace.error_y.array)
        lows = np.subtract(trace.y, trace.error_y.arrayminus)
        np.testing.assert_allclose(highs, [pair.savings_high for pair in own], rtol=1e-12)
        np.testing.assert_allclose(lows, [pair.savings_low for pair in own], rtol=1e-12)
        np.testing.assert_allclose(trace.x, [0.3, 0.7, 1.0], atol=0.02 * 0.7)
    assert len(figure.data) == 3
    assert list(figure.layout.xaxis.ticktext) == ["0.3", "0.7", "1"]
    assert len(found.tables["savings"]) == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("grid", "settings", "told"),
    [
        ([(0.7, 1.0)], {}, "All answers were drawn at one temperature and top-p"),
        (GRID, {"metrics": ("a", "b")}, "name one with --metrics"),
        (GRID, {"metrics": ("other",)}, "Choose scores with --metric"),
    ],
)
def test_what_it_cannot_be_made_from(store, grid, settings, told):
    swept(store, grid)
    with pytest.raises(ArenaError, match=told):
        made(store, **settings)


def test_a_table_of_scores_knows_no_sampling(tmp_path):
    source = PaperSource(PaperSettings(), Store.in_memory, (tmp_path / "scores.csv",))
    with pytest.raises(ArenaError, match="name a store"):
        item_of(COUPLED_GENERATION, "savings-by-sampling").make(source)


def test_the_papers_temperatures_are_told_as_they_are(store):
    """It draws benchmarks at .7 and pairwise questions at 1; its repository has more."""
    swept(store, GRID[:2])
    (note, *_) = made(store).notes
    for said in ("0.7", "1 for pairwise", "0.5", "0.9", "top-p 0.9"):
        assert said in note
    title = item_of(COUPLED_GENERATION, "savings-by-sampling").title
    assert "one temperature" not in title
