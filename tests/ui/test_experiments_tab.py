"""Which sizes of random subsets the tab Experiments offers."""

from __future__ import annotations

import json

import gradio as gr
import numpy as np

from coupled_arena.analysis.leaderboard.board_estimates import LiveEstimates
from coupled_arena.stats.simulation.resampling import ResamplingPlan, resample
from coupled_arena.stats.simulation.subsets import Sizes
from coupled_arena.store.database import Store
from coupled_arena.ui.tabs.experiments import ExperimentsTab, _figures
from tests.batches import at_once, judge
from tests.stats.test_resampling import judged
from tests.store.conftest import make_battle, make_vote


def fill(store, n):
    rng = np.random.default_rng(4)
    with at_once(store) as batch:
        for _ in range(n):
            battle = make_battle("left", "right", replies=(), prompts=())
            batch.add_battle(battle)
            batch.cast(make_vote(battle, *[(1, 2), (2, 1), (1, 1)][rng.integers(3)]))
            judge(batch, "gpt", battle, 0, 1, ["first", "second", "tie"][rng.integers(3)])


def test_sizes_that_somebody_chose_stay():
    with Store.in_memory() as store, gr.Blocks():
        fill(store, 20)
        tab = ExperimentsTab(store, LiveEstimates(store))
        tab.build()
        first = tab._fit("gpt", "", None, True, None)
        assert first == ["5", 16, True, Sizes(16, 5, True)]
        fill(store, 20)
        assert tab._fit("gpt", *first)[:3] == ["6", 32, True]
        for chosen in (("7", 16, True), ("5", 20, True), ("5", 16, False)):
            kept = tab._fit("gpt", *chosen, first[-1])
            assert all(each == gr.skip() for each in kept)


def test_enter_in_its_boxes_runs_it():
    with Store.in_memory() as store, gr.Blocks() as page:
        tab = ExperimentsTab(store, LiveEstimates(store))
        tab.build()
    boxes = {(tab._human._id, "submit"), (tab._fields["total"]._id, "submit")}
    assert any(boxes < {*each.targets} for each in page.fns.values() if each.name == "_run")


def test_every_figure_says_what_it_shows():
    result = resample(judged(), ResamplingPlan(120, (30, 60), 4))
    figures = _figures(result, dark=False)[1::2]
    names = [json.loads(figure.plot)["layout"]["meta"]["name"] for figure in figures]
    assert len(set(names)) == 4
    for name in names:
        assert "4 repeats" in name
        assert "<" not in name
