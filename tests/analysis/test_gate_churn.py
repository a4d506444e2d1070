"""What changes beside the scores, and what it costs: counted by hand, and of real small models."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import numpy as np
import pytest

import coupled_arena as ca
from coupled_arena.analysis.gate.churn import churn, cost_of, seconds_a_battle, with_speeds
from coupled_arena.analysis.gate.plan_closeness import plan_by_closeness
from coupled_arena.analysis.gate.result import Cost
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode, Origin, Prompt, Sampling, Score
from coupled_arena.stats.gate.planning import units_needed
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.gate_answers import GateAnswer, gate_answers
from coupled_arena.store.tables import scores
from coupled_arena.views.figures.drawing import gate_drawings
from coupled_arena.views.figures.registry import GATE_COSTS
from coupled_arena.views.tables.gate_costs import costings
from coupled_arena.views.words.gate_costs import churn_words, cost_words
from tests.analysis.test_gate import table
from tests.small_models import SMALL_MODELS, save_small_models
from tests.store.conftest import make_battle


def answers(*rows, mode=Mode.COUPLED):
    """Answers of battles: (prompt, the base's text, the candidate's)."""
    return [
        GateAnswer(f"{mode} {at}", None, model, mode, prompt, text, text[:1] or None)
        for at, (prompt, *texts) in enumerate(rows)
        for model, text in zip(("base", "cand"), texts, strict=True)
    ]


COUPLED = answers(
    ("p", "a1", "a1"), ("p", "b1", "b2"), ("p", "a1", "a1"), ("q", "c1", "d1"), ("q", "c1", "c1")
)


def test_independent_noise_follows_from_repetitions():
    """The answer of one repetition beside that of each other one, prompt by prompt."""
    found = churn(COUPLED, "base", "cand")
    assert (found.answers, found.measured) == (5, False)
    assert (found.text.value, found.read.value) == (2 / 5, 1 / 5)
    p = [("a1", "a1"), ("b1", "b2"), ("a1", "a1")]
    q = [("c1", "d1"), ("c1", "c1")]
    across = [
        (each[i][0], each[j][1])
        for each in (p, q)
        for i, j in product(range(len(each)), repeat=2)
        if i != j
    ]
    assert found.text_alone.value == np.mean([one != other for one, other in across])
    assert found.read_alone.value == np.mean([one[0] != other[0] for one, other in across])
    assert found.text.low < 0.4 < found.text.high


def test_independent_noise_is_measured_where_there_are_such_battles():
    alone = answers(("p", "a1", "b1"), ("p", "a1", "a1"), mode=Mode.INDEPENDENT)
    found = churn([*COUPLED, *alone], "base", "cand")
    assert (found.answers, found.measured, found.text_alone.value) == (5, True, 0.5)


@pytest.mark.parametrize("mode", [Mode.COUPLED, Mode.INDEPENDENT])
def test_other_battles_tell_of_noise_only_if_they_were_drawn_alike(mode):
    """Greedy answers, or longer ones, are of another law."""
    others = answers(*[("p", "x1", "y1")] * 4, mode=mode)
    others = [replace(each, battle=f"other {each.battle}") for each in others]
    own = [each.battle for each in COUPLED]
    alone = churn(COUPLED, "base", "cand", battles=own)
    assert churn([*COUPLED, *others], "base", "cand", battles=own).text_alone != alone.text_alone
    greedy = [replace(each, drawn="0") for each in others]
    found = churn([*COUPLED, *greedy], "base", "cand", battles=own)
    assert (found.answers, found.measured) == (5, False)
    assert found.text_alone == alone.text_alone


def test_a_store_tells_how_answers_were_drawn(store):
    stored(store, n=2)
    battle = make_battle("base", "cand", prompts=(Prompt("Why 0?"),), sampling=Sampling(0.0))
    store.add_battle(battle, [Score(0, place, "right", 1.0, None) for place in (0, 1)])
    with store.cursor() as cursor:
        found = gate_answers(cursor, "right", ("base", "cand"), Selection())
    assert [each.drawn == found[0].drawn for each in found] == [True] * 4 + [False] * 2


def test_nothing_is_known_of_single_answers_or_of_others():
    found = churn(answers(("p", "a", "b"), ("q", "a", "a")), "base", "cand")
    assert (found.text.value, found.text_alone, found.read_alone) == (0.5, None, None)
    assert churn(COUPLED, "base", "else") is None
    assert churn(answers(("p", "a", "b"), mode=Mode.INDEPENDENT), "base", "cand") is None


def test_repetitions_say_what_battles_with_noise_of_their_own_measure():
    """Two draws of one law each, coupled or not: within four standard errors, 4,000 prompts."""
    rng = np.random.default_rng(35)
    n, laws = 4000, (np.array([0.6, 0.3, 0.1]), np.array([0.5, 0.2, 0.3]))
    gumbel = rng.gumbel(size=(n, 2, 3))
    drawn = [(np.log(law) + gumbel).argmax(2) for law in laws]
    rows = [(f"p{i}", f"{drawn[0][i, r]}", f"{drawn[1][i, r]}") for i in range(n) for r in (0, 1)]
    found = churn(answers(*rows), "base", "cand")
    true = 1 - laws[0] @ laws[1]
    assert abs(found.text_alone.value - true) < 4 * (true * (1 - true) / n) ** 0.5
    assert found.text.value < found.text_alone.value


# Costs.


def test_costs_are_those_that_battles_hold():
    facts = {"bytes per weight": "1.50", "weights": "1000"}
    assert cost_of(facts) == Cost(1.5, 1500)
    assert cost_of({"bytes per weight": "1.50"}) == Cost(1.5, None)
    assert cost_of({"dtype": "float32"}) == Cost()


def report(n=1500, lost=0.2, margin=0.05):
    found = ca.gate("base", "cand", table(n=n, lost=lost, gained=0.0)[0], margin=margin)
    return replace(found.analysis, base_cost=Cost(4.0, 4e6)), found.analysis.candidates[0]


@pytest.mark.parametrize(
    ("lost", "memory", "behind"),
    [(0.2, 5e6, True), (0.2, 4e6, True), (0.2, 1e6, False), (0, 5e6, False)],
)
def test_a_model_is_behind_only_if_a_better_one_is_no_larger(lost, memory, behind):
    found, row = report(lost=lost)
    found = replace(found, candidates=(replace(row, cost=Cost(1.0, memory)),))
    base, cand = costings(found)
    assert (base.behind, cand.behind) == (False, behind)


def test_words_and_figure_of_costs():
    found, row = report()
    found = replace(found, candidates=(replace(row, cost=Cost(1.0, 1e6)),))
    found = with_speeds(found, {"base": 20.0, "cand": 40.0})
    assert cost_words(found) == (
        "cand takes 1 MB, base 4 MB.",
        "cand writes 40 tokens a second in this run, base 20.",
    )
    assert churn_words(found) == ()
    drawn = gate_drawings(found, found.candidates[0])[GATE_COSTS]()
    dots = drawn.data[-1]
    assert list(dots.x) == [4, 1]
    assert dots.y[1] == found.candidates[0].difference
    assert list(dots.text) == ["base", "cand"]
    alike = replace(found, candidates=(replace(row, difference=0.0, cost=Cost(4.0, 4e6)),))
    assert list(gate_drawings(alike, row)[GATE_COSTS]().data[-1].text) == ["base", ""]
    assert cost_words(alike) == ()
    nothing = replace(found, base_cost=None)
    assert GATE_COSTS not in gate_drawings(nothing, found.candidates[0])
    assert costings(replace(nothing, candidates=(row,))) == ()


# Of a store.

PACE = 3.0  # seconds from battle to battle


def stored(store, *, at_once=4, n=12, pause=0.0):
    """Store a run of battles that begin one after the other, after so many at once."""
    store.write(lambda cursor: scores.declare(cursor, "right", source="benchmark"))
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    for at in range(n):
        late = PACE * max(at - at_once + 1, 0) + (pause if at > n // 2 else 0.0)
        asked = {"prompts": (Prompt(f"Why {at}?"),), "experiment": "e"}
        battle = make_battle("base", "cand", origin=Origin.GENERATE, **asked)
        facts = {"turn 0/most battles at once": str(at_once), "base/bytes per weight": "4.00"}
        battle = replace(battle, created_at=begin + timedelta(seconds=late), arithmetic=facts)
        marks = [Score(0, place, "right", float(at % 3 == place), None) for place in (0, 1)]
        store.add_battle(battle, marks)


@pytest.mark.parametrize("pause", [pytest.param(0.0, marks=pytest.mark.slow), 5000.0])
def test_the_pace_of_a_run_is_that_at_which_battles_begin(store, pause):
    stored(store, n=40, pause=pause)
    assert seconds_a_battle(store, ("base", "cand")) == pytest.approx(PACE, rel=0.01)


def test_a_run_that_never_filled_up_has_no_pace(store):
    stored(store, n=4)
    assert seconds_a_battle(store, ("base", "cand")) is None
    assert seconds_a_battle(store, ("base", "nobody")) is None


@pytest.mark.slow
def test_models_that_answer_say_what_changes_and_what_it_costs(call, tmp_path):
    """Of a run with two answers a prompt; afterwards the store says the same but for speed."""
    save_small_models(tmp_path)
    (tmp_path / "arena.toml").write_text(SMALL_MODELS)
    where = "--config", tmp_path / "arena.toml", "--db", tmp_path / "arena.duckdb", "--json"
    names = "small-red", "small-green"
    asked = "gate", *names, "--task", "quiz", "--most-prompts", 20, "--answers", 2
    code, out, _ = call(*asked, "--margin", 0.01, "--at-once", 8, *where)
    assert code == 4
    made = json.loads(out)
    assert set(made["drawn"]["speeds"]) == set(names)
    (changed,) = made["answers"]
    assert changed["answers"] == 40
    assert 0 < changed["text"] <= changed["text_independent"] <= 1
    assert changed["measured"] is False
    base, cand = made["costs"]
    assert (base["model"], base["bytes_per_weight"]) == (names[0], 4.0)
    assert base["memory"] == cand["memory"] > 4 * 64 * 1000
    assert base["tokens_per_second"] == made["drawn"]["speeds"][names[0]] > 0
    store = ca.open(tmp_path / "arena.duckdb")
    found = ca.gate(*names, store, margin=0.01)
    assert found.to_dict()["answers"] == made["answers"]
    assert found.to_frame("costs").memory.tolist() == [base["memory"]] * 2
    assert "changes the words of" in str(found)
    plan = ca.plan(store, names[1], against=names[0], margin=0.3)
    (row, *_) = plan.to_dict()["prompts_needed"]
    assert plan.analysis.seconds > 0
    assert row["minutes_likely"] == pytest.approx(row["likely"] * plan.analysis.seconds / 60)
    assert "minutes, at the pace of the stored run" in str(plan)


# Plans by closeness.

CLOSE = {
    **{"model_a": "base", "model_b": "cand", "answers": 40},
    **{"identical_coupled": 0.8, "identical_coupled_low": 0.7, "identical_independent": 0.1},
}


def test_only_answers_that_differ_can_flip():
    found = plan_by_closeness(CLOSE, "base", "cand", 0.05, 0.05, 0.8)
    coupled, alone = found.needed
    ones = np.ones(1)
    assert coupled.flips == pytest.approx(0.1)
    assert coupled.least == alone.least == units_needed(ones, 0.0, 0.05)
    assert coupled.likely == units_needed(ones, 0.5 * (1 - 0.8), 0.05)
    assert coupled.most == units_needed(ones, 1 - 0.7, 0.05)
    assert alone.most == units_needed(ones, 1 - 0.1, 0.05)
    assert coupled.likely < alone.likely


@pytest.mark.slow
def test_a_plan_by_closeness_is_by_the_command_too(call, tmp_path):
    path, db = tmp_path / "close.json", tmp_path / "arena.duckdb"
    path.write_text(json.dumps(CLOSE))
    asked = "plan", "cand", "--against", "base", "--margin", 0.1, "--closeness", path, "--db", db
    code, out, _ = call(*asked, "--json")
    assert code == 0
    answer = json.loads(out)
    assert (answer["answers_read"], answer["seconds_a_prompt"]) == (40, None)
    with Store.open(db) as opened:
        stored(opened, n=40)
    code, out, _ = call(*asked)
    assert code == 0
    assert "40 answers that both have read" in out
    assert "minutes, at the pace of the stored run" in out


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("no JSON", (), "cannot be read as what `closeness --json` prints"),
        ("[]", (), "it has no model_a"),
        ('{"model_a": "base"}', (), "it has no model_b"),
        (json.dumps({**CLOSE, "model_b": "else"}), (), "This closeness is of base and else"),
        (json.dumps(CLOSE), ("--power", 2), "power is between 0 and 1"),
        (json.dumps(CLOSE), ("--margin", 2), "margin"),
        (json.dumps(CLOSE), ("--category", "math"), "--category is for plans by scores"),
    ],
)
def test_what_no_plan_can_be_made_of_is_refused(call, tmp_path, text, more, message):
    path = tmp_path / "close.json"
    path.write_text(text)
    asked = "plan", "cand", "--against", "base", "--margin", 0.1, "--closeness", path
    code, _, err = call(*asked, *more)
    assert code == 1
    assert message in err
    assert err.count("\n") == 1


def test_closeness_needs_a_margin_and_takes_no_scores(call, tmp_path):
    path = tmp_path / "close.json"
    path.write_text(json.dumps(CLOSE))
    code, _, err = call("plan", "cand", "--closeness", path, "--db", tmp_path / "arena.duckdb")
    assert code == 1
    assert "--closeness is for a gate" in err
    with pytest.raises(ArenaError, match="takes the place of scores"):
        ca.plan(table(n=20)[0], "cand", against="base", margin=0.1, closeness=path)
