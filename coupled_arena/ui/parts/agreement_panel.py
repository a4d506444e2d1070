"""How far annotators agree, wherever a tab says so."""

from __future__ import annotations

from typing import Any

import gradio as gr

from coupled_arena.analysis.agreement import read_agreement
from coupled_arena.core.language import _
from coupled_arena.store.database import Store
from coupled_arena.store.tables.votes import any_votes
from coupled_arena.ui.parts.events import FREE, user_errors
from coupled_arena.views.markup import heading, joined
from coupled_arena.views.words.agreement import agreement_findings


class AgreementPanel:
    """What is said, read again whenever its tab is selected."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def build(self) -> None:
        """Lay out the panel inside the current Blocks."""
        self._place = gr.HTML(elem_id="agreement", apply_default_css=False)

    def read_when_shown(self, tabs: gr.Tabs, title: str) -> None:
        """Read the store whenever the tab of this title is selected."""

        def read(event: gr.SelectData) -> Any:
            if event.value != title:
                return gr.skip()
            with user_errors(), self._store.cursor() as cursor:
                if not any_votes(cursor):
                    return ""
            with user_errors():
                found = agreement_findings(read_agreement(self._store))
            return joined([heading(_("Agreement between people"), 2), found])

        tabs.select(read, None, self._place, **FREE)
