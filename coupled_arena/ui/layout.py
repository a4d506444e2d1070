"""The page: its tabs.

What needs torch is imported where it is needed: stored battles are served without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import gradio as gr

from coupled_arena.battles.annotation import Annotation
from coupled_arena.core.prompts import read_library
from coupled_arena.core.settings import resource
from coupled_arena.services import Services
from coupled_arena.ui.parts.backup_notice import BackupNotice
from coupled_arena.ui.parts.judge_notice import JudgeNotice
from coupled_arena.ui.parts.stored_replies import StoredReplies
from coupled_arena.ui.tabs.annotation import AnnotationTab
from coupled_arena.ui.tabs.audit import AuditTab
from coupled_arena.ui.tabs.coupling import CouplingTab
from coupled_arena.ui.tabs.data import DataTab
from coupled_arena.ui.tabs.experiments import ExperimentsTab
from coupled_arena.ui.tabs.leaderboard import LeaderboardTab
from coupled_arena.ui.tabs.risk import RiskTab

if TYPE_CHECKING:
    from coupled_arena.battles.arena import Arena
    from coupled_arena.core.records import Sampling

_TITLE = "# Coupled Arena\nLanguage models, side by side, with the same luck."


def build(services: Services) -> gr.Blocks:
    """Return the page."""
    with gr.Blocks(title="Coupled Arena", fill_width=True) as page:
        gr.Markdown(_TITLE)
        if services.live_judge:
            JudgeNotice(services.live_judge).build()
        with gr.Tabs() as tabs:
            with gr.Tab("Battle", id="battle"):
                _build_battle_tab(services, page)
            with gr.Tab("Leaderboard", id="leaderboard"):
                board = LeaderboardTab(services.store, services.estimates)
                board.build()
            with gr.Tab("Audit", id="audit"):
                audit = AuditTab(services.store, services.audits, services.estimates)
                audit.build()
            with gr.Tab("Coupling", id="coupling"):
                coupling = CouplingTab(services.store)
                coupling.build()
            with gr.Tab("Risk", id="risk"):
                risk = RiskTab(StoredReplies(services.store))
                risk.build()
            with gr.Tab("Experiments", id="experiments"):
                experiments = ExperimentsTab(services.store, services.estimates)
                experiments.build()
            if not isinstance(services.arena, Annotation):
                with gr.Tab("Compare", id="compare"):
                    _build_compare_tab(services.arena, services.settings.sampling.sampling())
            with gr.Tab("Data", id="data", elem_id="data-tab") as data:
                annotates = isinstance(services.arena, Annotation)
                DataTab(services.store, "stored" if annotates else "rounds").build()
                if services.backup:
                    BackupNotice(services.backup).build(data)
        board.live_only_while_shown(page, tabs)
        audit.read_when_shown(page, tabs)
        coupling.read_when_shown(page, tabs)
        risk.wire(page, tabs)
        experiments.offer_when_shown(tabs)
    return page


def _build_battle_tab(services: Services, page: gr.Blocks) -> None:
    if isinstance(services.arena, Annotation):
        AnnotationTab(services.arena).build(page)
        return
    from coupled_arena.ui.tabs.battle import BattleTab

    library = read_library(resource("data/prompts.jsonl"))
    BattleTab(services.arena, library, services.settings.battle.models_at_once).build(page)


def _build_compare_tab(arena: Arena, sampling: Sampling) -> None:
    from coupled_arena.ui.tabs.compare import CompareTab

    CompareTab(arena.models, arena.worker, sampling).build()
