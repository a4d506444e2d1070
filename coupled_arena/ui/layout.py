"""The page: its tabs, colours and fonts.

What needs torch is imported where it is needed: stored battles are served without.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import gradio as gr
from gradio.themes import Soft
from markupsafe import Markup

from coupled_arena.analysis.leaderboard.trend import LiveTrends
from coupled_arena.battles.annotation import Annotation
from coupled_arena.core.choices import Reveals
from coupled_arena.core.language import _
from coupled_arena.core.prompts import read_library
from coupled_arena.core.settings import resource
from coupled_arena.services import Services
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.ui.parts.agreement_panel import AgreementPanel
from coupled_arena.ui.parts.events import Page
from coupled_arena.ui.parts.example_link import example_link
from coupled_arena.ui.parts.first_steps import FirstSteps
from coupled_arena.ui.parts.held_back import HeldBack
from coupled_arena.ui.parts.identity import NAME, header
from coupled_arena.ui.parts.notices import (
    BackupNotice,
    annotator_notice,
    example_notice,
    judge_notice,
    model_notice,
)
from coupled_arena.ui.parts.palette import Palette
from coupled_arena.ui.parts.visitor import member_of
from coupled_arena.ui.tabs.annotation import AnnotationTab
from coupled_arena.ui.tabs.audit import AuditTab
from coupled_arena.ui.tabs.battles import BattlesTab
from coupled_arena.ui.tabs.coupling import CouplingTab
from coupled_arena.ui.tabs.data import DataTab
from coupled_arena.ui.tabs.experiments import ExperimentsTab
from coupled_arena.ui.tabs.leaderboard import LeaderboardTab
from coupled_arena.ui.tabs.risk import RiskTab, StoredReplies
from coupled_arena.ui.tabs.votes import VotesTab

if TYPE_CHECKING:
    from coupled_arena.battles.replay import Redecoder


_FILES_KEPT = (60, 900)  # seconds between looks for old files, such as exports; how old


def build(services: Services) -> tuple[Page, HeldBack | None]:
    """Return the page, and what is held back of it from people who are to vote blind."""
    arena = services.arena
    held_back = None
    if isinstance(arena, Annotation) and arena.reveal is not Reveals.EACH:
        held_back = HeldBack(arena.opens)
    with Page(title=NAME, fill_width=True, delete_cache=_FILES_KEPT) as page:
        header()
        _notices(services, page)
        redecoder = _redecoder(services)
        with gr.Tabs(overflow_behavior="wrap") as tabs:  # the style has them scroll
            with gr.Tab(_("Battle"), id="battle"):
                _build_battle_tab(services, page, redecoder)
            with held_back.noting(page) if held_back else nullcontext():
                telling, battles = _build_telling_tabs(services, page, tabs, redecoder, held_back)
            if services.members.may_decide:
                VotesTab(services.store).build(page, tabs)  # it asks for an admin itself
        with held_back.noting(page) if held_back else nullcontext():
            Palette(services.store, battles.sight).build()
        if held_back:
            held_back.show(page, telling)
    return page, held_back


def offers_example(services: Services) -> bool:
    """Tell whether visitors may look at the example of the package beside their arena.

    Not where they are to vote blind: it names models that they may be asked about.
    """
    arena = services.arena
    blind = isinstance(arena, Annotation) and arena.reveal is not Reveals.EACH
    return not services.example and not blind


def _offer(services: Services) -> Markup:
    return example_link() if offers_example(services) else Markup()


def _hidden(services: Services) -> Hidden:
    """Return which battles are not shown: with the example nobody is to vote blind."""
    blind = isinstance(services.arena, Annotation) and not services.example
    return "stored" if blind else "rounds"


def _build_telling_tabs(
    services: Services,
    page: Page,
    tabs: gr.Tabs,
    redecoder: Redecoder | None,
    held_back: HeldBack | None,
) -> tuple[list[gr.Tab], BattlesTab]:
    """Lay out the tabs that have names, inside the current tabs of a page.

    Return them, and which of them knows what battles somebody may see.
    """
    hidden, offer = _hidden(services), _offer(services)
    trends = LiveTrends(services.store)  # the same points for the board and for pages of models
    made: list[gr.Tab] = []

    def tab(title: str, name: str, **more: Any) -> gr.Tab:
        made.append(gr.Tab(title, id=name, visible=not held_back, **more))
        return made[-1]

    with tab(_("Leaderboard"), "leaderboard"):
        board = _build_board_tab(services, trends, hidden, offer)
    _build_gate_tab(services, page, tabs, tab, offer)
    _build_compare_tab(services, redecoder)
    with tab(_("Past battles"), "battles"):
        battles = BattlesTab(services.store, hidden, redecoder, trends, held_back, offer)
        battles.build()
    with tab(_("Data"), "data", elem_id="data-tab") as data:
        _build_data_tab(services, hidden, data, offer)
    with tab(_("Audit"), "audit", elem_id="audit-tab"):  # from here on a line sets them apart
        audit = AuditTab(services.store, services.audits, services.estimates, offer)
        audit.build()
        agreement = AgreementPanel(services.store)
        agreement.build()
    with tab(_("Coupling"), "coupling"):
        coupling = CouplingTab(services.store, hidden, offer)
        coupling.build()
    with tab(_("Risk"), "risk"):
        risk = RiskTab(StoredReplies(services.store, hidden), offer)
        risk.build()
    with tab(_("Experiments"), "experiments"):
        experiments = ExperimentsTab(services.store, services.estimates, offer)
        experiments.build()
    board.live_only_while_shown(page, tabs)
    audit.draw_for(page)
    agreement.read_when_shown(tabs, _("Audit"))
    coupling.draw_for(page)
    risk.draw_for(page)
    experiments.offer_when_shown(page, tabs)
    return made, battles


def _build_board_tab(
    services: Services, trends: LiveTrends, hidden: Hidden, offer: Markup
) -> LeaderboardTab:
    live = services.estimates, services.styles
    board = LeaderboardTab(services.store, *live, hidden, trends, offer)
    board.build()
    return board


def _build_data_tab(services: Services, hidden: Hidden, tab: gr.Tab, offer: Markup) -> None:
    DataTab(services.store, hidden, _is_host(services), offer).build(tab)
    if services.backup:
        BackupNotice(services.backup).build(tab)


def _is_host(services: Services) -> Callable[[gr.Request], bool]:
    """Return what tells of a request whether it is of a host; without signing in all of them are.

    The example has nothing that a host would care for.
    """
    signs_in = services.settings.access.sign_in != "none"

    def is_host(request: gr.Request) -> bool:
        member = member_of(request)
        return not services.example and (not signs_in or bool(member and member.admin))

    return is_host


def _notices(services: Services, page: gr.Blocks) -> None:
    if services.example:
        example_notice(beside=services.beside)
    if not services.beside:
        annotator_notice(page, signs_in=services.settings.access.sign_in != "none")
    if services.live_judge:
        judge_notice(services.live_judge).build()
    if not isinstance(services.arena, Annotation) and _has_servers(services):
        model_notice(services.arena.worker).build()


def _has_servers(services: Services) -> bool:
    return any(spec.server for spec in services.settings.catalog.enabled)


def _redecoder(services: Services) -> Redecoder | None:
    """Return what decodes a battle again with the models that are loaded, if any are."""
    arena = services.arena
    if isinstance(arena, Annotation):
        return None
    from coupled_arena.battles.replay import Redecoder

    return Redecoder(arena.models, arena.worker)


def _build_battle_tab(services: Services, page: gr.Blocks, redecoder: Redecoder | None) -> None:
    if isinstance(services.arena, Annotation):
        kept = services.limits, services.origins
        AnnotationTab(services.arena, services.judge_feedback, *kept).build(page)
        return
    from coupled_arena.ui.tabs.battle import BattleTab

    library = read_library(resource("data/prompts.jsonl"))
    size = services.settings.battle.models_at_once
    kept = services.judge_feedback, services.limits, services.origins
    steps = FirstSteps(services.store, _offer(services))
    BattleTab(services.arena, library, size, redecoder, *kept, steps).build(page)


def _build_compare_tab(services: Services, redecoder: Redecoder | None) -> None:
    arena = services.arena
    if isinstance(arena, Annotation):
        return
    from coupled_arena.ui.tabs.compare import CompareTab

    sampling = services.settings.sampling.sampling()
    models, judge = arena.models, services.asked_judge
    has_judge, limits = bool(services.judge_feedback), services.limits
    with gr.Tab(_("Compare"), id="compare"):
        options = {"has_judge": has_judge, "check_named": arena.check_named}
        CompareTab(models, arena.worker, sampling, redecoder, judge, limits, **options).build()


def _build_gate_tab(
    services: Services, page: Page, tabs: gr.Tabs, tab: Callable[..., gr.Tab], offer: Markup
) -> None:
    """Lay out the tab of gates where models are, or where the example has runs of them.

    Where people sign in, admins alone start runs.
    """
    if services.gates is None and not services.example:
        return
    from coupled_arena.ui.tabs.gate import TITLE, GateTab

    with tab(_(TITLE), "gate"):
        made = GateTab(services.gates, services.store, _is_host(services), offer)
        made.build()
    made.live_only_while_shown(page, tabs)


def theme() -> Soft:
    """Return Gradio's Soft with contrasts of at least 4.5 to 1, the AA level of WCAG 2.2."""
    soft = Soft(font="sans-serif", font_mono="monospace")
    soft.set(
        # A label says what a field is; on a coloured ground it would look like a button.
        block_label_background_fill="none",
        block_label_background_fill_dark="none",
        block_label_text_color="*body_text_color",
        block_label_text_color_dark="*body_text_color",
        block_title_background_fill="none",
        block_title_background_fill_dark="none",
        block_title_padding="0",
        block_title_text_color="*body_text_color",
        block_title_text_color_dark="*body_text_color",
        body_text_color_subdued="*neutral_500",
        body_text_color_subdued_dark="*neutral_300",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_border_color="*primary_600",
        button_primary_border_color_hover="*primary_700",
        button_primary_background_fill_hover_dark="*primary_700",
        button_primary_border_color_hover_dark="*primary_700",
        checkbox_border_color="*neutral_400",
        checkbox_label_background_fill_selected="*primary_600",
        color_accent="*primary_600",
        button_border_width="1px",
        button_secondary_border_color="*neutral_300",
        button_secondary_border_color_dark="*neutral_600",
        input_border_color="*neutral_400",
        input_border_color_dark="*neutral_500",
        input_border_width="1px",
        input_placeholder_color="*neutral_500",
        link_text_color_dark="*secondary_300",
        link_text_color_hover_dark="*secondary_200",
        input_placeholder_color_dark="*neutral_300",
    )
    return soft
