"""Every figure of a tab and of a report is in the registry, under one name."""

from __future__ import annotations

import re
from collections import Counter

import gradio as gr
import pytest

import coupled_arena as ca
from coupled_arena.analysis.audit.verdicts import LiveAudits
from coupled_arena.analysis.leaderboard.board_estimates import LiveEstimates
from coupled_arena.analysis.leaderboard.trend import LiveTrends
from coupled_arena.analysis.style.result import LiveStyle
from coupled_arena.battles.gate_service import Gates, Share
from coupled_arena.core.records import Sampling
from coupled_arena.store.database import Store
from coupled_arena.ui.tabs.audit import AuditTab
from coupled_arena.ui.tabs.coupling import CouplingTab
from coupled_arena.ui.tabs.experiments import ExperimentsTab
from coupled_arena.ui.tabs.gate import GateTab
from coupled_arena.ui.tabs.leaderboard import LeaderboardTab
from coupled_arena.ui.tabs.risk import RiskTab, StoredReplies
from coupled_arena.views.figures.registry import (
    FIGURES,
    GATE_CANDIDATES,
    SIZE_AGAINST_COVERAGE,
    figures_of,
)
from coupled_arena.views.tables.declared import TABLES
from tests.docs.pages import TEXTS

TABS = {
    "leaderboard": (
        "board",
        lambda store: LeaderboardTab(store, *_live(store), "nothing", LiveTrends(store)),
    ),
    "audit": ("audit", lambda store: AuditTab(store, LiveAudits(store), LiveEstimates(store))),
    "coupling": ("coupling", lambda store: CouplingTab(store, None)),
    "risk": ("risk", lambda store: RiskTab(StoredReplies(store, None))),
    "gate": ("gate", lambda store: GateTab(_no_gates(store), store, bool)),
    "resample": ("experiment", lambda store: ExperimentsTab(store, LiveEstimates(store))),
}


def _live(store):
    return LiveEstimates(store), LiveStyle(store)


def _no_gates(store):
    return Gates({}, None, store, {"quiz": None}, Sampling(), Share(1))


def test_names_and_files_are_unique():
    for key in ("file", lambda figure: (figure.result, figure.former or figure.name)):
        named = [getattr(each, key) if isinstance(key, str) else key(each) for each in FIGURES]
        assert [name for name, n in Counter(named).items() if n > 1] == []
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", figure.name) for figure in FIGURES)


def test_every_kind_of_result_with_figures_has_a_tab():
    without = {"closeness"}  # the page computes no laws
    assert {figure.result for figure in FIGURES} - without == set(TABS)
    assert set(TABS) <= set(TABLES)


@pytest.mark.parametrize("result", TABS)
def test_a_tab_has_the_figures_of_its_result(result):
    prefix, made = TABS[result]
    with Store.in_memory() as store, gr.Blocks() as page:
        made(store).build()
    ids = {each.elem_id for each in page.blocks.values() if isinstance(each, gr.Plot)}
    # Of two figures that differ by what is counted, the page has one; a run has one candidate.
    lacking = (SIZE_AGAINST_COVERAGE, GATE_CANDIDATES)
    there = [figure for figure in figures_of(result) if figure not in lacking]
    assert ids == {f"{prefix}-{figure.slug}" for figure in there}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.file)
def test_help_and_pages_know_it(figure):
    assert f"`{figure.name}`" in ca.plot.__doc__
    assert f"| `{figure.name}` | `{figure.result}` |" in TEXTS["docs/data-dictionary.md"]


def test_a_table_and_a_figure_of_one_name_show_the_same_numbers():
    """Of a command, as far as both exist: the rows of one are drawn in the other."""
    shared = {
        (figure.result, figure.name) for figure in FIGURES if figure.name in TABLES[figure.result]
    }
    assert shared == {
        *(
            ("leaderboard", name)
            for name in ("pairs", "memory", "rank_set_sizes", "modes", "mode_pairs")
        ),
        ("leaderboard", "style_effects"),
        ("coupling", "curves"),
        *(("risk", name) for name in ("first_order", "second_order", "mean_risk")),
        ("resample", "rank_sets"),
        *(("gate", name) for name in ("closing", "candidates", "flips", "costs")),
        *(("closeness", name) for name in ("survival", "kinds", "positions")),
    }
