"""The pair of models that the Coupling tab opens on, and the pair that a visitor chose."""

from __future__ import annotations

import gradio as gr

from coupled_arena.store.database import Store
from coupled_arena.ui.tabs.coupling import CouplingTab
from tests.analysis import test_grading


def test_the_tab_opens_on_the_largest_saving_and_keeps_a_choice():
    with Store.in_memory() as store, gr.Blocks():
        test_grading.fill(store, prompts=10, seeds=2)
        tab = CouplingTab(store, "rounds")
        tab.build()
        values = {each: getattr(each, "value", None) for each in tab._inputs}
        opened = tab._refresh({**values, tab._dark: False})
        chosen = tab._refresh({**values, tab._dark: False, tab._pair: "able | fair"})
    pair = opened[tab._shown]
    assert opened[tab._pair].value == f"{pair.model_a} | {pair.model_b}" == "fair | poor"
    assert "This pair has the largest saving of 3 pairs" in opened[tab._headline]
    assert (chosen[tab._pair].value, chosen[tab._shown].model_b) == ("able | fair", "fair")
    assert "The savings of all 3 pairs range from" in chosen[tab._headline]
