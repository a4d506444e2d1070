"""The audit's figures and tables: what they show, and that names are no markup."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import gradio as gr
import numpy as np
import pytest

from coupled_arena.analysis.audit.plan import PlanGoal, plan_interval
from coupled_arena.analysis.audit.result import read_audit
from coupled_arena.analysis.audit.verdicts import LiveAudits
from coupled_arena.analysis.leaderboard.board_estimates import LiveEstimates
from coupled_arena.analysis.style.judge import judge_style, read_judge_style
from coupled_arena.core.choices import Control, Ties
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
from coupled_arena.views.tables.style import judge_style_models
from coupled_arena.views.words.audit import audit_findings
from coupled_arena.views.words.plan import plan_findings
from tests.analysis.styled import TERSE, fill_styled
from tests.batches import at_once, judge
from tests.store.conftest import make_battle, make_vote

BEST, WORSE = "best <8-bit>", "worse"
FIGURES = [bias_figure, efficiency_figure, agreement_figure, powered_figure]


def fill(store, models, judge_name, votes=40, alone=30):
    rng = np.random.default_rng(3)
    with at_once(store) as batch:
        for i in range(votes + alone):
            battle = make_battle(*models, prompts=(), replies=())
            batch.add_battle(battle)
            best = rng.random() < 0.7
            if i < votes:
                batch.cast(make_vote(battle, *((1, 2) if best else (2, 1))))
            agrees = rng.random() < 0.8
            judge(batch, judge_name, battle, 0, 1, "first" if best == agrees else "second")


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
    assert "1 model without data: new." in text
    assert len(figure.layout.annotations) == 2 * 2  # the others have a line each
    assert "40 comparisons with both" in text


def test_figures_carry_the_audit_s_numbers(report):
    (best,) = (row for row in report.models if row.model == BEST)
    bias = rows_of(bias_figure(report))[BEST]
    assert float(bias["judge_bias"]) == best.judge_bias
    assert float(bias["bias_low"]) == best.bias_low
    said = [one.text for one in bias_figure(report).layout.annotations]
    least = min(row.judge_bias for row in report.models if row.judge_bias is not None)
    assert f"<b>\N{MINUS SIGN}{abs(100 * least):.1f}</b>" in said
    worth = efficiency_figure(report)
    assert float(rows_of(worth)[BEST]["tau_max"]) == best.tau_max
    dots, rings = worth.data
    place = [row.model for row in report.models if row.b is not None].index(BEST)
    assert dots.x[place] == pytest.approx(10 * best.tau_max)
    assert dots.x[place] + dots.error_x.array[place] == pytest.approx(10 * best.tau_max_high)
    assert rings.x[place] == pytest.approx(10 * best.tau)
    agreed = rows_of(agreement_figure(report))[BEST]
    assert float(agreed["balanced_agreement"]) == best.balanced_agreement
    powered = rows_of(powered_figure(report))[BEST]
    assert float(powered["powered_low"]) == best.powered_low


def test_the_ceiling_is_drawn_where_it_binds_a_model(report):
    """Else the axis up to it would be empty, and its line would say nothing."""
    first, *others = report.models
    tau = {"tau_max": 1.2, "tau_max_low": 1.1, "tau_max_high": 1.3}
    rows = [replace(row, **tau) for row in (first, *others) if row.tau_max is not None]
    free = efficiency_figure(replace(report, models=tuple(rows)))
    assert [trace.mode for trace in free.data] == ["markers", "markers"]
    assert 13 < free.layout.xaxis.range[1] < 14
    bound = tuple(replace(row, at_frontier=True) for row in rows)
    limited = efficiency_figure(replace(report, models=bound))
    assert set(limited.data[0].x) == {20}
    assert limited.layout.xaxis.range[1] > 20
    limit = "limit of a judge no better than the model"
    told = [figure.layout.title.subtitle.text for figure in (limited, free)]
    assert [limit in text for text in told] == [True, False]


def test_a_judge_that_is_always_right_can_be_drawn():
    with Store.in_memory() as store:
        with at_once(store) as batch:
            for n in range(6):
                battle = make_battle("a", "b", prompts=(), replies=())
                batch.add_battle(battle)
                batch.cast(make_vote(battle, *((1, 2) if n % 2 else (2, 1))))
                judge(batch, "gpt", battle, 0, 1, "first" if n % 2 else "second")
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


def test_a_store_without_verdicts_says_what_to_do():
    with Store.in_memory() as store, gr.Blocks():
        tab = AuditTab(store, LiveAudits(store), LiveEstimates(store))
        tab.build()
        shown = tab._refresh({each: each.value for each in tab._inputs})
    assert "There are no verdicts here yet" in shown[tab._headline]
    assert not shown[tab._body].visible


def test_style_is_held_fixed_where_it_is_asked_for():
    with Store.in_memory() as store, gr.Blocks():
        fill_styled(store, TERSE, 60, judged="gpt")
        tab = AuditTab(store, LiveAudits(store), LiveEstimates(store))
        tab.build()
        values = {**{each: each.value for each in tab._inputs}, tab._fields["judge"]: "gpt"}
        plain = tab._refresh(values)
        styled = tab._refresh({**values, tab._fields["control"]: "style"})
        command = read_judge_style(store, Selection(judge="gpt"), Control.STYLE)
    panel = tab._style
    assert not plain[panel._all].visible
    assert panel._words not in plain
    assert styled[panel._all].visible
    assert styled[panel._models] == judge_style_models(judge_style(command)).html()
    assert "amber" in styled[panel._models]
    assert "twice the length gets" in styled[panel._words]
    assert "one half is chance" in styled[panel._words]
    assert "nothing can be held fixed: headings" in styled[panel._words]
    # What does not hang on style is the same.
    assert styled[tab._table] == plain[tab._table]
