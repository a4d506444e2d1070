"""The audit's figures, tables and tab: what they show, and that names are no markup."""

from __future__ import annotations

import csv
import io
import json
import re

import gradio as gr
import numpy as np
import pytest

from coupled_arena.analysis.audit.plan import PlanGoal, plan_interval
from coupled_arena.analysis.audit.read import LiveAudits
from coupled_arena.analysis.audit.result import read_audit
from coupled_arena.analysis.leaderboard.read import LiveEstimates
from coupled_arena.stats.judges.model_counts import Ties
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.ui.parts.figure_panel import drawn
from coupled_arena.ui.tabs.audit import AuditTab
from coupled_arena.views.figures.audit import (
    agreement_figure,
    bias_figure,
    efficiency_figure,
    powered_figure,
)
from coupled_arena.views.tables.audit import audit_differences, audit_models
from coupled_arena.views.words.audit import audit_findings, plan_findings
from tests.batches import judge
from tests.store.conftest import make_battle, make_vote
from tests.ui.server import EQUAL_MODELS, serving
from tests.ui.test_browser import open_tab

BEST, WORSE = "best <8-bit>", "worse"
FIGURES = [bias_figure, efficiency_figure, agreement_figure, powered_figure]


def fill(store, models, judge_name, votes=40, alone=30):
    rng = np.random.default_rng(3)
    for i in range(votes + alone):
        battle = make_battle(*models, prompts=(), replies=())
        store.add_battle(battle)
        best = rng.random() < 0.7
        if i < votes:
            store.cast(make_vote(battle, *((1, 2) if best else (2, 1))))
        agrees = rng.random() < 0.8
        judge(store, judge_name, battle, 0, 1, "first" if best == agrees else "second")


@pytest.fixture(scope="module")
def report():
    with Store.in_memory() as store:
        fill(store, (BEST, WORSE), "<gpt>")
        fill(store, (BEST, "new"), "<gpt>", votes=0, alone=2)
        yield read_audit(store, Selection(judge="<gpt>"))


def rows_of(figure):
    return {row["model"]: row for row in csv.DictReader(io.StringIO(figure.layout.meta["csv"]))}


@pytest.mark.parametrize("draw", FIGURES)
@pytest.mark.parametrize("dark", [False, True])
def test_figures_travel_as_json_and_names_are_no_markup(draw, dark, report):
    figure = draw(report, dark=dark)
    assert set(rows_of(figure)) == {BEST, WORSE, "new"}
    figure.layout.meta = None
    text = drawn(figure).plot
    json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are not JSON
    assert "<8-bit>" not in text
    assert "<gpt>" not in text
    assert "unknown" in text  # the model without votes
    assert "40 comparisons with both" in text


def test_figures_carry_the_audit_s_numbers(report):
    (best,) = (row for row in report.models if row.model == BEST)
    bias = rows_of(bias_figure(report))[BEST]
    assert float(bias["judge_bias"]) == best.judge_bias
    assert float(bias["bias_low"]) == best.bias_low
    worth = efficiency_figure(report)
    assert float(rows_of(worth)[BEST]["tau_max"]) == best.tau_max
    ceiling, dots, rings = worth.data
    assert set(ceiling.x) == {20}
    place = [row.model for row in report.models if row.b is not None].index(BEST)
    assert dots.x[place] == pytest.approx(10 * best.tau_max)
    assert dots.x[place] + dots.error_x.array[place] == pytest.approx(10 * best.tau_max_high)
    assert rings.x[place] == pytest.approx(10 * best.tau)
    agreed = rows_of(agreement_figure(report))[BEST]
    assert float(agreed["balanced_agreement"]) == best.balanced_agreement
    powered = rows_of(powered_figure(report))[BEST]
    assert float(powered["powered_low"]) == best.powered_low


def test_a_judge_that_is_always_right_can_be_drawn():
    with Store.in_memory() as store:
        for n in range(6):
            battle = make_battle("a", "b", prompts=(), replies=())
            store.add_battle(battle)
            store.cast(make_vote(battle, *((1, 2) if n % 2 else (2, 1))))
            judge(store, "gpt", battle, 0, 1, "first" if n % 2 else "second")
        perfect = read_audit(store, Selection(judge="gpt"), Ties.DROP)
    for draw in FIGURES:
        json.loads(drawn(draw(perfect)).plot, parse_constant=pytest.fail)


def test_tables_and_sentences_escape_names(report):
    models, leads = audit_models(report).html(), audit_differences(report, neighbours=True).html()
    pages = [audit_findings(report), models, leads]
    plan = plan_interval(report.estimates, PlanGoal(BEST, price=0.1))
    for page in (*pages, plan_findings(plan)):
        assert "<8-bit>" not in page
        assert "<gpt>" not in page
    assert models.count("<tr>") == 4
    assert leads.count("<tr>") == 2
    assert "nan" not in "".join(pages)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audited")
    with Store.open(folder / "arena.duckdb") as store:
        fill(store, ("left", "right"), "gpt")
    with serving(folder, EQUAL_MODELS) as running:
        yield running


def test_the_tab_in_a_browser(served, visit, tmp_path):
    page = visit(served.url)
    open_tab(page, "Audit")
    page.wait_for_selector("#audit-said .headline >> text=10 human votes with gpt are worth")
    for name in ("bias", "efficiency", "agreement", "powered"):
        page.wait_for_selector(f"#audit-{name} .js-plotly-plot .main-svg")
    assert page.locator("#audit-table tbody tr").count() == 2
    page.locator("#audit-ties").get_by_text("Ties left out").click()
    page.wait_for_function(
        "document.querySelector('#audit-bias').textContent.includes('ties dropped')"
    )
    with page.expect_download() as download:
        page.click("#audit-efficiency-foot [data-kind=csv]")
    download.value.save_as(tmp_path / "worth.csv")
    with (tmp_path / "worth.csv").open() as file:
        assert {row["model"] for row in csv.DictReader(file)} == {"left", "right"}
    page.wait_for_selector("#plan >> text=A 95% interval of width 0.05")
    price = page.get_by_label("Price of a verdict")
    price.fill("0.01")
    price.press("Tab")
    page.wait_for_selector("#plan >> text=These verdicts cost")
    width = page.get_by_label("Width of the interval")
    width.fill("7")
    width.press("Tab")
    page.wait_for_selector("#plan >> text=The width of an interval lies between 0 and 1")
    page.get_by_label("Aim").click()
    page.get_by_role("option", name=re.compile("Separate from")).last.click()
    power = page.get_by_label("Probability to separate")
    power.fill("0.9")
    power.press("Tab")
    page.wait_for_selector("#plan >> text=on the leaderboard of 2 models")
    page.wait_for_selector("#plan >> text=with probability 0.9")
    power.fill("2")
    power.press("Tab")
    page.wait_for_selector("#plan >> text=The power lies between alpha and 1")


def test_a_store_without_verdicts_says_what_to_do():
    with Store.in_memory() as store, gr.Blocks():
        tab = AuditTab(store, LiveAudits(store), LiveEstimates(store))
        tab.build()
        shown = tab._refresh({tab._judge: None})
    assert "There are no verdicts here yet" in shown[tab._findings]
    assert not shown[tab._body].visible
