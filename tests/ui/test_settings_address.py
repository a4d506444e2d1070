"""Settings of the research tabs in the page's address: there, back, and what no field offers."""

from __future__ import annotations

import gradio as gr
import pytest

from coupled_arena.analysis.audit.verdicts import LiveAudits
from coupled_arena.analysis.leaderboard.board_estimates import LiveEstimates
from coupled_arena.store.database import Store
from coupled_arena.ui.parts.settings_address import read_weights, weights_text
from coupled_arena.ui.tabs.audit import AuditTab
from coupled_arena.ui.tabs.coupling import CouplingTab
from coupled_arena.ui.tabs.risk import RiskTab, StoredReplies
from coupled_arena.views.addresses import listed_among, read_settings_address, settings_address
from tests.analysis.test_coupling import fill as fill_coupled
from tests.ui.test_audit import fill as fill_judged
from tests.ui.test_risk import fill as fill_scored

NOTHING_KNOWN = "&mode=x&alpha=nan&judge=nobody&metric=%3Cb%3E&category=zz&view=y&pair=z&weights=q"


@pytest.fixture(scope="module")
def tabs():
    with Store.in_memory() as store, gr.Blocks():
        for judge in ("gpt", "other"):
            fill_judged(store, ("fay", "gus"), judge, votes=6, alone=2)
        fill_scored(store)
        fill_coupled(store, prompts=4, seeds=2, metric="both")
        audit = AuditTab(store, LiveAudits(store), LiveEstimates(store))
        made = [audit, CouplingTab(store, "rounds"), RiskTab(StoredReplies(store, "rounds"))]
        for tab in made:
            tab.build()
        yield dict(zip(("audit", "coupling", "risk"), made, strict=True))


def of_address(query):
    return gr.EventData(None, {"query": query, "number": 7})


def first(tab):
    """Return what a page that was just opened sends."""
    if isinstance(tab, RiskTab):
        states = {tab._scores, tab._behind, tab._asked, tab._dark}
        sent = {*states, *tab._controls, *tab._stored.inputs}
    else:
        sent = tab._inputs
    return {each: each.value for each in sent}


def plain(updates):
    """Return the values that updates leave in the fields."""
    kept = {}
    for field, update in updates.items():
        if isinstance(update, dict) and update.get("__type__") == "update":
            kept[field] = update["value"]
        elif isinstance(field, gr.components.Component):
            kept[field] = getattr(update, "value", update)
    return kept


def opened(tab, query):
    """Return the page after an address was opened, and what it has been told since."""
    if isinstance(tab, AuditTab):
        values = first(tab) | plain(tab._open(first(tab), of_address(query)))
        shown = tab._refresh(values)
    elif isinstance(tab, CouplingTab):
        values = first(tab) | plain(tab._open_at(first(tab), of_address(query)))
        shown = tab._refresh(values)
    else:
        values = first(tab) | plain(tab._open(first(tab), of_address(query)))
        *_, shown = tab._show(values)
    return shown, shown[tab._address.panel]["address"]


AUDIT = "?tab=audit&judge=other&mode=coupled&ties=drop&control=length&alpha=0.1&voters=these"
COUPLING = "?tab=coupling&metric=both&temperature=1.3&top_p=0.5&sampler=bytes&alpha=0.1&pair="
COUPLING += "bob+%7C+cat"
RISK = "?tab=risk&models=left%2Cright&mode=coupled&stored_metrics=quiz%2Clength"
RISK += "&alpha=0.1&lower_is_better=-&weights=quiz%3D0.5%2Clength%3D0"


@pytest.mark.parametrize(("name", "query"), [("audit", AUDIT), ("coupling", COUPLING)])
def test_every_setting_survives_a_reload(tabs, name, query):
    _, told = opened(tabs[name], query)
    assert read_settings_address(told) == read_settings_address(query)


def test_choices_of_replies_and_weights_survive_a_reload(tabs):
    _, told = opened(tabs["risk"], RISK)
    asked = read_settings_address(RISK)
    assert {name: read_settings_address(told).get(name) for name in asked} == asked


@pytest.mark.parametrize("name", ["audit", "coupling", "risk"])
def test_what_no_field_offers_is_as_at_first(tabs, name):
    _, usual = opened(tabs[name], f"?tab={name}")
    _, told = opened(tabs[name], f"?tab={name}{NOTHING_KNOWN}")
    assert told == usual


@pytest.mark.parametrize("name", ["audit", "coupling", "risk"])
def test_the_page_s_question_is_answered_at_once_and_by_number(tabs, name):
    tab = tabs[name]
    handler = tab._open_at if name == "coupling" else tab._open
    answer = handler(first(tab), of_address(f"?tab={name}"))[tab._address.panel]
    assert answer["number"] == 7
    with pytest.raises(gr.Error, match="longer than 300 characters"):
        handler(first(tab), of_address(f"?tab={name}&judge={'x' * 301}"))


def test_without_settings_the_page_stays_as_the_visitor_chose(tabs):
    tab = tabs["audit"]
    chosen = first(tab) | {tab._fields["judge"]: "other", tab._fields["mode"]: "independent"}
    kept = plain(tab._open(chosen, of_address("?tab=audit")))
    assert kept[tab._fields["judge"]] == "other"
    assert kept[tab._fields["mode"]] == "independent"


def test_a_setting_that_no_address_can_hold_is_left_out():
    told = settings_address("coupling", {"pair": "x" * 301, "alpha": "0.1"})
    assert told == "?tab=coupling&alpha=0.1"


def test_weights_that_are_none_are_left_out():
    odd = {"a=b": 0.5, "c": 0, "a,b": 2, "b": 1, "a,b,c": 3}
    assert read_weights(weights_text(odd), odd) == odd
    assert read_weights("x=nan,=3,y,z=q,w=2,v=1", "xyzw") == {"w": 2}


def test_names_with_commas_are_found_in_a_list():
    known = ["a", "b", "a,b", "c, d"]
    assert listed_among("a,b", known) == ["a,b"]
    assert listed_among("b,a,nobody,c, d", known) == ["b", "a", "c, d"]
    assert listed_among("", known) == listed_among(",,", known) == []
