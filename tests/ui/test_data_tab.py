"""The data tab: without data one sentence, and the way to import votes for hosts alone."""

from __future__ import annotations

import gradio as gr
import pytest

from coupled_arena.store.database import Store
from coupled_arena.ui.parts.example_link import example_link
from coupled_arena.ui.tabs.data import DataTab
from tests.store.conftest import make_battle, make_vote


@pytest.mark.parametrize("host", [True, False])
def test_without_data_there_is_nothing_to_press_but_the_example(tmp_path, host):
    with Store.open(tmp_path / "arena.duckdb") as store:
        tab = DataTab(store, "rounds", lambda _request: host, example_link())
        with gr.Blocks(), gr.Tab("Data") as place:
            tab.build(place)
        said, controls, elsewhere = tab._shown(None)
        assert "no answers and votes to download yet" in said
        assert said.count("<a ") == 1
        assert not controls.visible
        assert elsewhere.visible == host
        battle = make_battle()
        store.add_battle(battle)
        store.cast(make_vote(battle, 1, 2))
        said, controls, elsewhere = tab._shown(None)
        assert "<a " not in said
        assert controls.visible
        assert elsewhere.visible == host
