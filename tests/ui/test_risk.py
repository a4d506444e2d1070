"""The risk tab: figures and tables show the report's numbers, names are no markup."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from html import escape

import gradio as gr
import numpy as np
import pytest

from coupled_arena.analysis.risk import result
from coupled_arena.analysis.risk.result import RiskSettings, risk_report
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.choices import Copula
from coupled_arena.core.records import Finish, Origin, Prompt, Reply, Score, new_id
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.risk.mean_risk import Risk
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.ui.parts import headline
from coupled_arena.ui.parts.figure_panel import drawn
from coupled_arena.ui.tabs.risk import BattlesBehind, RiskTab, StoredReplies, _computing
from coupled_arena.views.figures import registry
from coupled_arena.views.figures.drawing import risk_drawings
from coupled_arena.views.tables.risk import risk_models
from coupled_arena.views.words.risk import risk_findings
from tests.batches import at_once
from tests.store.conftest import make_battle

MODELS = ("best <8-bit>", "risky <b>", "worse")
SETTINGS = RiskSettings(bootstraps=999)


def table(k=3, prompts=120, metrics=("truth", "poison <i>")):
    rng = np.random.default_rng(8)
    base = rng.normal(size=(prompts, len(metrics)))
    shifts, spreads = [1.0, 2.0, 0.8], [0.1, 6.0, 0.1]
    names = [*MODELS, *(f"model-{at}" for at in range(3, k))][:k]
    values = [
        base + shifts[at % 3] + spreads[at % 3] * rng.normal(size=base.shape) for at in range(k)
    ]
    own = tuple(f"q{at:03}" for at in range(prompts))
    return RiskScores(tuple(names), metrics, (own,) * k, tuple(values))


@pytest.fixture(scope="module")
def report():
    return risk_report(table(), SETTINGS)


def rows_of(figure):
    return list(csv.DictReader(io.StringIO(figure.layout.meta["csv"])))


@pytest.mark.parametrize("figure", registry.figures_of("risk"), ids=lambda each: each.name)
@pytest.mark.parametrize("dark", [False, True])
def test_figures_travel_as_json_and_names_are_no_markup(figure, dark, report):
    for view in report.views:
        made = risk_drawings(report, view)[figure](dark=dark)
        assert {row["model"] for row in rows_of(made)} == set(MODELS)
        made.layout.meta = None
        text = drawn(made).plot
        json.loads(text, parse_constant=pytest.fail)
        for markup in ("<8-bit>", "risky <b>", "<i>"):
            assert markup not in text
        assert "120 prompts, paired" in text


def test_figures_carry_the_report_s_numbers(report):
    view = report.view
    drawings = risk_drawings(report, view)
    best = view.dominance[Order.SECOND].ranking
    tails = drawings[registry.TAILS]()
    assert [list(trace.y) for trace in tails.data] == view.tail_curves[list(best)].tolist()
    assert view.tail_curves[:, -1] == pytest.approx([each.mean for each in view.mean_risks])
    assert view.tail_curves[:, 9] == pytest.approx(  # the worst twentieth
        [-each.risks[Risk.TAIL] for each in view.mean_risks]
    )
    ratios = {
        (row["model"], row["opponent"]): float(row["violation"])
        for row in rows_of(drawings[registry.FIRST_ORDER]())
    }
    violation = view.dominance[Order.FIRST].violation
    for i, one in enumerate(MODELS):
        for j, other in enumerate(MODELS):
            if i != j:
                assert ratios[one, other] == pytest.approx(violation[i, j])
    for row in rows_of(drawings[registry.MEAN_RISK]()):
        each = view.mean_risks[MODELS.index(row["model"])]
        assert float(row["score"]) == pytest.approx(each.mean - each.risks[Risk(row["measure"])])
    worst = [min(trace.r) for trace in drawings[registry.MEAN_RISK]().data]
    assert min(worst) == 0


def test_the_risky_model_is_found_out(report):
    """It has the best mean in each metric, and loses in the second order."""
    for metric in report.by_metric.values():
        assert metric.ranks["mean_win_rate"].tolist() == [2, 1, 3]
        assert metric.ranks["order2"][0] == 1
        assert metric.dominance[Order.SECOND].ranking[-1] == 1
        said = risk_findings(report, metric)
        assert "risky &lt;b&gt; is number 1 by mean win rate and 3 by the second order" in said
    rows = risk_models(report, report.view).html().split("<tr>")[2:]
    assert len(rows) == 3
    assert "best &lt;8-bit&gt;" in rows[0]
    for page in (risk_findings(report, report.view), risk_models(report, report.view).html()):
        assert "<8-bit>" not in page
        assert "nan" not in page


@pytest.mark.parametrize("k", [2, 13, 25])
def test_few_models_and_many(k):
    made = risk_report(table(k, 40), RiskSettings(bootstraps=99), by_metric=False)
    for draw in risk_drawings(made, made.view).values():
        json.loads(drawn(draw()).plot, parse_constant=pytest.fail)


def test_constant_scores_can_be_drawn():
    scores = table(2, 30)
    flat = RiskScores(
        scores.models, scores.metrics, scores.prompts, tuple(0 * x for x in scores.values)
    )
    made = risk_report(flat, SETTINGS)
    for draw in risk_drawings(made, made.view).values():
        json.loads(drawn(draw()).plot, parse_constant=pytest.fail)
    assert "neither can win" in risk_findings(made, made.view)
    assert "Cannot tell yet which model fails least badly: no two models" in risk_findings(
        made, made.view
    )


def test_what_nobody_judged_is_no_merit():
    """Shorter answers come first, and are not said to fail less badly until somebody says so."""
    made = table(2, 200)
    name = made.metrics[0]
    long, short = (np.abs(made.values[0][:, :1]) + shift for shift in (100.0, 1.0))
    lengths = RiskScores(
        made.models, (name,), made.prompts, (long, short), frozenset({name}), unjudged={name}
    )
    report = risk_report(lengths, SETTINGS)
    said = risk_findings(report, report.view)
    assert f"With the lowest {name} first: {escape(made.models[1])} ranks ahead of every" in said
    assert "least badly" not in said
    assert f"No direction is set for {name}" in said
    report = risk_report(lengths.turned([name], []), SETTINGS)
    said = risk_findings(report, report.view)
    assert f"{escape(made.models[1])} fails least badly: it ranks" in said
    assert "at 95% for all pairs at once" in said


class Given(StoredReplies):
    """Replies whose scores are given."""

    def __init__(self, store, scores):
        super().__init__(store, "rounds")
        self.read = lambda values: scores
        self.behind = lambda values, scores: BattlesBehind({"worse": 7}, None, {})


def test_handlers(tmp_path):
    with Store.in_memory() as store:
        walk_through_handlers(store, tmp_path)


def walk_through_handlers(store, tmp_path):
    with gr.Blocks():
        tab = RiskTab(Given(store, table()))
        tab.build()
    shown = tab._read_stored({tab._dark: False})
    assert shown[tab._view].choices == [(n, n) for n in ("portfolio", "truth", "poison <i>")]
    assert [slider.visible for slider in map(shown.get, tab._weights)] == [True] * 2 + [False] * 8
    assert '<a href="?tab=battles&amp;a=worse">7</a>' in shown[tab._table]
    values = {tab._dark: False, **{each: shown.get(each) for each in tab._controls}}
    values.update(
        {
            tab._scores: shown[tab._scores],
            tab._behind: None,
            tab._view: "truth",
            tab._fields["lower_is_better"]: ["truth"],
        }
    )
    values.update(
        {
            tab._behind: None,
            tab._fields["metrics"]: ["truth"],
            tab._fields["alpha"]: 0.05,
            tab._fields["tail_p"]: 0.05,
        }
    )
    values.update({tab._fields["portfolio"]: Copula.EMPIRICAL.value, tab._pairing: ""})
    values.update(dict.fromkeys(tab._weights, 1.0))
    text = tab._refresh(values)[tab._table]
    assert text.index("worse") < text.index("best &lt;")  # lower is better now
    with pytest.raises(gr.Error, match="at least one metric"):
        tab._refresh({**values, tab._view: "portfolio", tab._fields["metrics"]: None})
    with pytest.raises(gr.Error, match="one must be above zero"):
        tab._refresh({**values, tab._view: "portfolio", **dict.fromkeys(tab._weights, 0.0)})
    (tmp_path / "x.csv").write_text("model,prompt\n")
    with pytest.raises(gr.Error, match=r"The first line of x\.csv must name"):
        tab._read({tab._dark: False, tab._file: str(tmp_path / "x.csv")})
    too_many = tuple(f"m{at}" for at in range(11))
    with gr.Blocks():
        wide = RiskTab(Given(store, table(metrics=too_many)))
        wide.build()
    with pytest.raises(gr.Error, match="the command line takes more"):
        wide._read_stored({wide._dark: False})


@pytest.mark.slow
def test_whoever_opens_the_tab_is_told_how_far_the_ranking_is(store_here, monkeypatch):
    monkeypatch.setattr(headline, "_LOOK", 0.001)
    ranked = []
    monkeypatch.setattr(
        result, "risk_report", lambda *a, **k: ranked.append(k) or risk_report(*a, **k)
    )
    with gr.Blocks():
        tab = RiskTab(Given(store_here, table(k=20, prompts=100)))
        tab.build()
    new = {tab._dark: False, tab._scores: None, tab._asked: {}}
    *meanwhile, last = tab._show(new)
    shares = [re.findall(r"waiting.>.*: (\d+)%", each[tab._headline]) for each in meanwhile]
    numbers = [int(share) for (share,) in shares]
    assert numbers == sorted(numbers)
    assert 0 < max(numbers) <= 100
    assert all(list(each) == [tab._headline] for each in meanwhile)
    assert "waiting" not in last[tab._headline]
    *_, again = tab._show({**new, tab._dark: True})
    assert again[tab._table] == last[tab._table]
    assert len(ranked) == 1  # for the next visitor it is known


@pytest.mark.slow
def test_whoever_changes_a_control_is_told_how_far_the_ranking_is(store_here, monkeypatch):
    monkeypatch.setattr(headline, "_LOOK", 0.001)
    with gr.Blocks():
        tab = RiskTab(Given(store_here, table(k=20, prompts=100)))
        tab.build()
    shown = tab._read_stored({tab._dark: False})
    values = {tab._dark: False, tab._headline: shown[tab._headline]}
    for each in (tab._scores, tab._behind, *tab._controls):
        values[each] = getattr(shown[each], "value", shown[each])
    change = headline.progress_handler(tab._refresh, tab._headline, _computing)
    *meanwhile, last = change({**values, tab._view: "truth"})
    assert all(list(each) == [tab._headline] for each in meanwhile)
    shares = [int(re.findall(r"waiting.>.*: (\d+)%", each[tab._headline])[0]) for each in meanwhile]
    assert 0 < max(shares) <= 100
    assert "waiting" not in last[tab._headline]
    assert last[tab._findings] != shown[tab._findings]

    def refuse(values, track):
        time.sleep(0.05)
        raise gr.Error("It cannot be ranked.")

    told = []
    with pytest.raises(gr.Error, match="cannot be ranked"):
        told.extend(headline.progress_handler(refuse, tab._headline, _computing)(values))
    assert "waiting" in told[0][tab._headline]
    assert told[-1] == {tab._headline: values[tab._headline]}  # the ranking before is still on show


def answered(prompt, *texts, **changes):
    replies = tuple(Reply(0, place, text, (), Finish.STOP) for place, text in enumerate(texts))
    changes = {"id": new_id(), "origin": Origin.GENERATE, **changes}
    return make_battle("left", "right", prompts=(Prompt(prompt),), replies=replies, **changes)


def fill(store):
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    with at_once(store) as batch:
        for q in range(40):
            marks = [Score(0, 0, "quiz", 1.0), Score(0, 1, "quiz", float(q % 4 > 0))]
            batch.add_battle(answered(f"q{q}", "yes " * (1 + q % 5), "well, " * 20), marks)
        batch.add_battle(answered("still blind", "Me!", "Us!", origin=Origin.ARENA))


def test_chosen_replies(store_here):
    with gr.Blocks():
        stored = StoredReplies(store_here, "rounds")
        stored.build()
    values = {**dict.fromkeys(stored.inputs), stored._fields["mode"]: "all"}
    offered = stored.offered({**values, stored._fields["models"]: ["left", "gone"]}, {})
    assert offered[stored._fields["models"]].choices == [("left", "left"), ("right", "right")]
    assert offered[stored._fields["models"]].value == ["left"]
    assert [name for name, _ in offered[stored._fields["metrics"]].choices] == [
        *("quiz", "length", "repetition", "refusal"),
    ]
    assert stored.read(values).metrics == ("quiz", "length", "repetition", "refusal")
    chosen = stored.read(
        {**values, stored._fields["metrics"]: ["length"], stored._fields["mode"]: "coupled"}
    )
    assert (chosen.metrics, chosen.size) == (("length",), 40)


@pytest.fixture
def store_here():
    with Store.in_memory() as store:
        fill(store)
        yield store
