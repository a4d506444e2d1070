"""The tab of gates: what an address asks for, what is drawn when, who may start."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import gradio as gr
import pytest
from markupsafe import Markup

from coupled_arena.analysis.gate.stored import read_standing
from coupled_arena.battles.batch import BatchPlan, marker_for
from coupled_arena.battles.gate_runs import in_drawn_order
from coupled_arena.battles.gate_service import Gates, Share
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode, Sampling, Score, seed_to_hex
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.worker import EngineWorker
from coupled_arena.store.database import Store
from coupled_arena.store.tables import gates, scores
from coupled_arena.tasks.registry import TASKS
from coupled_arena.ui.tabs.gate import GateTab
from coupled_arena.views.addresses import GateAddress, gate_address, read_gate_address
from coupled_arena.views.figures.registry import GATE_COSTS
from tests.battles.conftest import talking
from tests.stored import answered

BASE, OTHER = "ann", "<b>bob"
OFFER = Markup("<p>an example</p>")
REQUEST = SimpleNamespace(session_hash="s")


def planned(seed, prompts, mode=Mode.COUPLED):
    """All battles of a gate of that many questions, in the order of a seed."""
    marker = marker_for(TASKS["quiz"], None, limit=prompts)
    asked = in_drawn_order(marker.prompts, seed)
    return [*BatchPlan(asked, (BASE, OTHER), (mode,), 1, seed, (Sampling(),)).battles()]


def stored_gate(store, margin=0.1, prompts=30, seed=2**60, flips=4, facts=None):
    """Store a gate with so many answered prompts; on each of the first few the other is wrong."""
    battles = planned(seed, prompts + 5)
    ids = tuple(battle.id for battle, _prompt in battles)
    asks = BASE, OTHER, "quiz", margin, 0.05
    gate = gates.StoredGate("7" * 32, *asks, seed_to_hex(seed), 1, ids, datetime.now(UTC))
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    store.write(lambda cursor: gates.add(cursor, gate))
    for n, (battle, prompt) in enumerate(battles[:prompts]):
        made = replace(answered(battle, prompt, ["one", "two"]), arithmetic=facts or {})
        right = [float(name == BASE or n >= flips) for name in battle.models]
        marks = [Score(0, place, "quiz", each, "x") for place, each in enumerate(right)]
        store.add_battle(made, marks)
    return gate


@pytest.fixture
def store():
    with Store.in_memory() as opened:
        yield opened


@pytest.fixture
def tab(store):
    models = {name: talking(name, seed) for seed, name in enumerate([BASE, OTHER])}
    worker = EngineWorker(LockstepEngine(models))
    tasks = {"quiz": lambda: marker_for(TASKS["quiz"], None, limit=12)}
    service = Gates(models, worker, store, tasks, Sampling(), Share(8))
    made = GateTab(service, store, lambda request: request.session_hash == "s")
    with gr.Blocks():
        made.build()
    yield made
    service.close()
    worker.close()


def values(tab, **changes):
    """Return what a page sends that nobody has touched."""
    base, candidate = tab._models
    found = {
        base: BASE,
        candidate: OTHER,
        tab._task: "quiz",
        tab._fields["margin"]: 0.1,
        tab._fields["alpha"]: 0.05,
        **dict.fromkeys((tab._seen, tab._run)),
        tab._dark: False,
    }
    return found | {getattr(tab, name): value for name, value in changes.items()}


def looked(tab, query, **changes):
    event = SimpleNamespace(_data={"query": query, "number": 3})
    return tab._open(values(tab, **changes), REQUEST, event)


def test_an_address_says_what_was_asked_and_comes_back():
    address = GateAddress("a b", "c&d", "quiz", 0.02, 0.05, None)
    assert address.query == "?tab=gate&base=a+b&candidate=c%26d&task=quiz&margin=0.02"
    assert read_gate_address(address.query) == GateAddress("a b", "c&d", "quiz", 0.02)
    other = GateAddress("a", "b", "quiz", 0.02, 0.1, "7")
    assert read_gate_address(other.query) == other
    with pytest.raises(ArenaError):
        read_gate_address("?tab=gate&margin=much")


def test_without_a_run_the_tab_asks_for_one(tab):
    shown = looked(tab, "?tab=gate")
    assert "Choose two, and press Start" in shown[tab._headline]
    assert shown[tab._start].interactive
    assert not shown[tab._stop].visible  # nothing runs that it would stop


def test_an_address_opens_a_run_with_its_card_and_flips(tab, store):
    gate = stored_gate(store)
    shown = looked(tab, gate_address(gate))
    assert shown[tab._run] == gate.id
    assert shown[tab._models[1]].value == OTHER
    assert shown[tab._address]["address"] == gate_address(gate)
    assert shown[tab._address]["number"] == 3
    card, lost = shown[tab._card], shown[tab._lost]
    assert gate_address(gate).replace("&", "&amp;") in card
    assert "<dt>Prompts</dt><dd>30</dd>" in card
    assert "<b>bob" not in card + lost
    assert "4 from right to wrong" in lost
    assert lost.count("?battle=") == 4
    assert "0 from wrong to right" in shown[tab._gained]
    assert "30 of 35 prompts answered" in shown[tab._progress]
    # One answer to each prompt says nothing of independent noise.
    assert "changes the words of 100.0%" in shown[tab._costs]
    assert "both models answer these prompts again" in shown[tab._costs]
    # The picture has names as text, no seed, and an address that leads to the run.
    saved = shown[tab._picture]
    layout = saved["figure"]["layout"]
    said = layout["title"]["subtitle"]["text"], *(each["text"] for each in layout["annotations"])
    assert "&lt;b&gt;bob" in said[0]
    assert not [text for text in said if "<b>bob" in text]
    for text in ("<b>-0.133</b>", "Right to wrong", "30", "100.0%", "86.7%", "{link}"):
        assert any(text in each for each in said)
    assert str(int(gate.experiment, 16)) not in json.dumps(saved)
    assert looked(tab, saved["address"])[tab._run] == gate.id


def test_costs_are_a_table_of_what_is_known_beside_independent_noise(tab, store, monkeypatch):
    """After a restart nobody knows how fast the models are, so no column says so."""
    facts = {f"{name}/weights": "4000000" for name in (BASE, OTHER)}
    facts |= {f"{BASE}/bytes per weight": "4.0", f"{OTHER}/bytes per weight": "1.25"}
    gate = stored_gate(store, prompts=3, flips=1, facts=facts)
    for battle, prompt in planned(7, 8, Mode.INDEPENDENT):
        marks = [Score(0, place, "quiz", 1.0, "x") for place in range(2)]
        store.add_battle(answered(battle, prompt, ["the same", "the same"]), marks)
    shown = looked(tab, gate_address(gate))
    heads = re.findall(r'<th scope="col">(.*?)</th>', shown[tab._costs])
    assert heads[-2:] == ["Bytes per<br>weight", "Memory, MB"]
    assert "Independent noise changes 0.0%" in shown[tab._costs]
    assert ">1.25</td>" in shown[tab._costs]
    assert shown[tab._plots[GATE_COSTS][0]].visible
    monkeypatch.setattr(tab._gates, "speeds", lambda gate: {BASE: 9.4, OTHER: 30.0})
    assert ">30</td>" in looked(tab, gate_address(gate))[tab._costs]


@pytest.mark.slow
def test_an_address_without_settings_opens_the_newest_run(tab, store):
    gate = stored_gate(store, margin=0.02)
    shown = looked(tab, "?tab=gate")
    assert shown[tab._fields["margin"]] == 0.02
    assert gate.id not in shown[tab._address]["address"]
    kept = looked(tab, "?tab=gate", _seen="something")
    assert tab._fields["margin"] not in kept


@pytest.mark.slow
def test_stored_runs_are_shown_where_no_models_are(store):
    made = GateTab(None, store, lambda request: True, OFFER)
    with gr.Blocks() as page:
        made.build()
    untouched = {**values(made), **dict.fromkeys((*made._models, made._task))}
    event = SimpleNamespace(_data={"query": "?tab=gate", "number": 1})
    assert OFFER in made._open(untouched, REQUEST, event)[made._headline]
    laid_out = page.blocks[made._start._id].parent.parent
    assert not laid_out.visible
    stored_gate(store)
    shown = made._refresh(untouched, REQUEST)
    assert "<dt>Prompts</dt><dd>30</dd>" in shown[made._card]
    assert OFFER not in shown[made._headline]
    assert "No model is loaded here" in shown[made._progress]
    with pytest.raises(gr.Error, match="not loaded"):
        made._begin(values(made), REQUEST)


@pytest.mark.slow
def test_the_list_names_the_noise_and_start_goes_on_with_a_coupled_run_of_one(tab, store):
    """A run with independent noise asks the same, and so does one of several candidates."""
    coupled = stored_gate(store)
    alone = planned(5, 20, Mode.INDEPENDENT)
    for battle, prompt in alone:
        marks = [Score(0, place, "quiz", 1.0, "x") for place in range(2)]
        store.add_battle(answered(battle, prompt, ["one", "two"]), marks)
    later = datetime.now(UTC)
    ids = tuple(battle.id for battle, _ in alone)
    other = replace(coupled, id="8" * 32, battles=ids, begun_at=later, experiment=seed_to_hex(5))
    several = replace(coupled, id="9" * 32, begun_at=later, candidates=(OTHER, "cas"))
    for gate in (other, several):
        store.write(lambda cursor, gate=gate: gates.add(cursor, gate))
    shown = tab._choose(values(tab), REQUEST)
    assert "<td>independent</td>" in shown[tab._runs]
    assert "<td>coupled</td>" in shown[tab._runs]
    assert gate_address(coupled).replace("&", "&amp;") in shown[tab._card]
    assert shown[tab._start].interactive
    opened = looked(tab, gate_address(other))
    assert opened[tab._run] == other.id
    assert opened[tab._start].interactive  # Start goes on with the coupled run


def test_a_prompt_without_both_scores_is_not_answered(store):
    gate = stored_gate(store, prompts=6)
    gone = "delete from scores where place = 1 and battle = ?"
    store.write(lambda cursor: cursor.execute(gone, [gate.battles[4]]))
    assert read_standing(store, gate).answered == 4


def test_nothing_is_drawn_while_nothing_is_new(tab, store):
    stored_gate(store)
    first = tab._refresh(values(tab), REQUEST)
    again = tab._refresh(values(tab, _seen=first[tab._seen]), REQUEST)
    assert [*again] == [tab._seen]
    assert len(first) > 10


@pytest.mark.slow
def test_others_may_look_and_start_nothing(tab, store):
    stored_gate(store)
    stranger = SimpleNamespace(session_hash="t")
    shown = tab._refresh(values(tab), stranger)
    assert not shown[tab._start].interactive
    assert "Only admins" in shown[tab._progress]
    for press in (tab._begin, tab._end):
        with pytest.raises(gr.Error, match="Only admins"):
            press(values(tab), stranger)
    assert tab._gates.running is None


def test_a_start_is_shown_at_once_and_a_second_is_refused(tab):
    shown = tab._begin(values(tab), REQUEST)
    run = shown[tab._seen].gate
    assert "tab=gate" in shown[tab._address]["address"]
    if tab._gates.running:
        with pytest.raises(gr.Error, match="Another run"):
            tab._begin(values(tab), REQUEST)
    shown = tab._end(values(tab), REQUEST)
    assert tab._live.all()[0].id == run


def test_numbers_beyond_the_fields_are_taken_as_their_ends(tab):
    shown = looked(tab, "?tab=gate&base=ann&candidate=nobody&margin=7")
    assert shown[tab._fields["margin"]] == 0.2
    assert shown[tab._models[1]].value == OTHER
