"""A gate on scores, logs, grades and votes: against the same counted by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.analysis.gate.order import drawn_order
from coupled_arena.analysis.gate.paired import Pair, PairedScores, Scale
from coupled_arena.analysis.gate.result import GateSettings, gate_scores
from coupled_arena.analysis.gate.votes import gate_votes
from coupled_arena.analysis.gate.worth import noise_worth
from coupled_arena.core.choices import Look, Voters
from coupled_arena.core.errors import ArenaError, ScoreError
from coupled_arena.core.records import Mode, Prompt, new_id
from coupled_arena.stats.gate import fixed
from coupled_arena.stats.gate.betting import Gate, Verdict
from coupled_arena.stats.gate.fixed import Sample
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from tests.analysis.test_inspect_logs import inspect, inspected
from tests.analysis.test_logs import harness, sample
from tests.batches import at_once
from tests.installed import REPOSITORY
from tests.store.conftest import make_battle, make_vote
from tests.views import rubbish

__all__ = ["harness", "inspect"]  # fixtures


def table(n=400, lost=0.02, gained=0.02, seed=0, **more):
    """Right and wrong answers of a base and a candidate that flips with these chances."""
    rng = np.random.default_rng(seed)
    base = (rng.random(n) < 0.6).astype(float)
    u = rng.random(n)
    other = np.where(u < lost / 0.6, np.minimum(base, 0), base)
    other = np.where((u > 1 - gained / 0.4) & (base == 0), 1.0, other)
    rows = [
        {"model": model, "prompt": f"p{at:04}", "acc": value, **{k: v[at] for k, v in more.items()}}
        for model, values in (("base", base), ("cand", other))
        for at, value in enumerate(values.tolist())
    ]
    return pd.DataFrame(rows), base, other


def test_a_table_of_scores_is_judged_prompt_by_prompt():
    frame, base, other = table(n=1500)
    found = ca.gate("base", "cand", frame, margin=0.03, seed=3)
    (row,) = found.analysis.candidates
    order = drawn_order([f"p{at:04}" for at in range(1500)], 3)
    expected = Gate.start(0.03, 0.05).after((other - base)[order, None])
    assert row.verdict == expected.verdicts[0]
    assert row.verdict in (Verdict.AS_GOOD, Verdict.BETTER)
    assert row.known_after == expected.known_after[0]
    assert (row.low, row.high) == tuple(float(each[0]) for each in expected.interval())
    assert row.difference == pytest.approx((other - base).mean(), abs=1e-12)
    assert (row.lost, row.gained) == ((other < base).sum(), (other > base).sum())
    assert row.prompts == row.units == 1500
    flips = found.to_frame("flips")
    assert len(flips) == row.lost + row.gained
    assert set(flips.prompt[flips.difference < 0]) == {
        f"p{at:04}" for at in np.flatnonzero(other < base)
    }
    assert found.to_frame("closing").low.iloc[-1] == row.low
    assert found.settings["seed"] == 3
    assert "seed 3" in str(found)


def test_one_group_tells_nothing():
    frame, *_ = table(n=60)
    for look in Look:
        found = ca.gate("base", "cand", frame.assign(group="all"), look=look)
        (row,) = found.analysis.candidates
        assert (row.verdict, row.low, row.high, row.units) == (Verdict.UNKNOWN, -1, 1, 1)


def test_slashes_in_prompts_of_a_table_make_no_categories():
    frame, *_ = table(n=60)
    frame["prompt"] = [f"Is {name[1:]}/7 more than 3?" for name in frame.prompt]
    assert ca.gate("base", "cand", frame).analysis.candidates[0].categories == ()


def test_what_is_better_is_not_said_to_have_been_known_when_it_was_only_as_good():
    frame, *_ = table(n=1500, lost=0, gained=0.1)
    found = ca.gate("base", "cand", frame, margin=0.3)
    (row,) = found.analysis.candidates
    assert row.verdict == Verdict.BETTER
    assert f"That it is as good was known after {row.known_after} of 1,500 prompts." in str(found)
    groups = frame.assign(group=[name[:4] for name in frame.prompt])
    assert "of 150 groups." in str(ca.gate("base", "cand", groups, margin=0.3))


def test_repetitions_and_groups_are_clusters():
    """A group counts as its prompts do; the difference is that of the prompts' means."""
    rng = np.random.default_rng(7)
    rows = [
        {"model": m, "prompt": f"p{q}", "acc": rng.integers(0, 2), "group": f"g{q // 3}", "run": r}
        for q in range(240)
        for m in ("base", "cand")
        for r in range(4)
    ]
    frame = pd.DataFrame(rows)
    found = ca.gate("base", "cand", frame, look="once").analysis.candidates[0]
    means = frame.groupby(["prompt", "model"]).acc.mean().unstack()
    each = means.cand - means.base
    assert found.difference == pytest.approx(each.mean(), abs=1e-12)
    assert (found.prompts, found.units, found.answers) == (240, 80, 4)
    groups = each.groupby([f"g{int(name[1:]) // 3}" for name in each.index])
    error = groups.mean().std(ddof=1) / 80**0.5
    critical = float(fixed.critical_value(0.1, 79))
    assert found.low == pytest.approx(each.mean() - critical * error, abs=1e-12)
    alone = ca.gate("base", "cand", frame.drop(columns="group"), look="once")
    assert alone.analysis.candidates[0].units == 240


def test_several_candidates_are_judged_together():
    frame, *_ = table(n=900)
    worse, *_ = table(n=900, lost=0.2, gained=0)
    third = worse[worse.model == "cand"].assign(model="bad")
    found = ca.gate("base", ["cand", "bad"], pd.concat([frame, third]), margin=0.05)
    assert [row.verdict for row in found.analysis.candidates] == [Verdict.AS_GOOD, Verdict.WORSE]
    alone = ca.gate("base", "cand", frame, margin=0.05).analysis.candidates[0]
    together = found.analysis.candidates[0]
    assert together.known_after >= alone.known_after
    assert together.low <= alone.low  # means of a grid
    assert "2 candidates together" in str(found)


def test_categories_have_joint_intervals_and_the_largest_loss_comes_first():
    n = 600
    names = ["sums" if at % 2 else "facts" for at in range(n)]
    frame, base, other = table(n=n, category=names)
    hard = np.array(names) == "facts"
    spoilt = np.where(hard & (np.arange(n) % 10 == 0), 0.0, other)
    frame.loc[frame.model == "cand", "acc"] = spoilt
    for look in Look:
        found = ca.gate("base", "cand", frame, look=look)
        gaps = found.analysis.candidates[0].categories
        assert [gap.category for gap in gaps] == ["facts", "sums"]
        assert gaps[0].difference == pytest.approx((spoilt - base)[hard].mean(), abs=1e-12)
        assert gaps[0].lost == (spoilt < base)[hard].sum()
        if look is Look.ONCE:
            own = Sample((spoilt - base)[hard], binary=True)
            assert (gaps[0].low, gaps[0].high) == fixed.bounds(own, 0.025)
    assert len(found.to_frame("categories")) == 2


def test_scores_in_another_range_are_scaled_by_their_bounds():
    frame, *_ = table()
    scaled = frame.assign(acc=frame.acc * 9 + 1)
    found = ca.gate("base", "cand", scaled, bounds=(1, 10))
    plain = ca.gate("base", "cand", frame)
    for name in ("difference", "low", "high", "verdict", "known_after"):
        one, other = (getattr(each.analysis.candidates[0], name) for each in (found, plain))
        assert one == pytest.approx(other) if isinstance(one, float) else one == other
    assert found.analysis.candidates[0].base_score == pytest.approx(
        9 * plain.analysis.candidates[0].base_score + 1
    )
    turned = frame.assign(acc=1 - frame.acc)
    lower = ca.gate("base", "cand", turned, lower_is_better=True)
    assert lower.analysis.candidates[0].difference == plain.analysis.candidates[0].difference


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("base", "base"), {}, "base is there twice"),
        (("base", ["cand", "cand"]), {}, "cand is there twice"),
        (("base", []), {}, "Name a candidate"),
        (("base", "new"), {}, r"no scores of new\. Models with scores: base, cand"),
        (("base", "cand"), {"margin": 0.0}, "margin is a share between 0 and 1"),
        (("base", "cand"), {"margin": 1.0}, "margin is a share between 0 and 1"),
        (("base", "cand"), {"bounds": (0, 0.5)}, r"beyond 0 and 0\.5\. Give the least and"),
        (("base", "cand"), {"bounds": (1, 0)}, "the least and the greatest possible score"),
        (("base", "cand"), {"bounds": (0,)}, "the least and the greatest possible score"),
        (("base", "cand"), {"alpha": 95}, "error level between 0 and 1"),
        (("base", "cand"), {"look": "often"}, "`look` is one of always, once"),
        (("base", "cand"), {"metric": "speed"}, "no metric 'speed'"),
        (("base", "cand"), {"judge": "gpt"}, "`judge` is for a store"),
        (("base", "cand"), {"by": "votes"}, "`by` is for a store"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, options, message):
    frame, *_ = table(n=30)
    with pytest.raises(ArenaError, match=message):
        ca.gate(*arguments, frame, **options)


def test_both_bounds_together_hold_with_some_chance():
    frame, *_ = table(n=30)
    refused = pytest.raises(ScoreError, match=r"error level of a gate is below 0\.5")
    with pytest.warns(UserWarning, match="50% intervals"), refused:
        ca.gate("base", "cand", frame, alpha=0.5)


def test_prompts_that_only_one_has_are_left_out_and_counted():
    frame, *_ = table(n=50)
    fewer = frame[(frame.model == "base") | (frame.prompt > "p0009")]
    found = ca.gate("base", "cand", fewer, look="once")
    assert found.analysis.candidates[0].prompts == 40
    assert found.warnings[0] == ("cand lacks 10 prompts that another model has: they are left out.")
    apart = frame.assign(prompt=frame.model + frame.prompt)
    with pytest.raises(ScoreError, match=r"have 0 prompts in common\. Two are the least"):
        ca.gate("base", "cand", apart)
    with pytest.raises(ScoreError, match="has one prompt"):
        ca.gate("base", "cand", frame[frame.prompt == "p0000"])
    of_base, of_candidate = frame.model == "base", frame.model == "cand"
    kept = (of_base & (frame.prompt < "p0003")) | (of_candidate & (frame.prompt > "p0001"))
    with pytest.raises(ScoreError, match="have 1 prompt in common"):
        ca.gate("base", "cand", frame[kept])
    two = frame.assign(category=np.arange(100) % 3)
    with pytest.raises(ScoreError, match="two values of category"):
        ca.gate("base", "cand", two)


def test_logs_of_the_harness_give_the_difference_of_their_tables(harness, tmp_path):
    rng = np.random.default_rng(4)
    means = {}
    for folder in ("a", "b"):
        values = rng.random(37)
        results = {
            "model_name": f"org/{folder}",
            "results": {"sums": {"acc,none": float(np.mean(values))}},
        }
        harness(folder, *(sample(n, acc=float(v)) for n, v in enumerate(values)), results=results)
        means[folder] = results["results"]["sums"]["acc,none"]
    found = ca.gate("A", "B", {"A": tmp_path / "a", "B": tmp_path / "b"})
    assert found.analysis.candidates[0].difference == pytest.approx(
        means["b"] - means["a"], abs=1e-12
    )
    named = [f"A={tmp_path / 'a'}", f"B={tmp_path / 'b'}"]
    assert ca.gate("A", "B", named).to_dict() == found.to_dict()
    assert ca.gate("org/a", "org/b", tmp_path).analysis.candidates[0].prompts == 37


def test_tasks_of_logs_are_categories(harness, tmp_path):
    for folder in ("a", "b"):
        harness(folder, task="sums")
        harness(folder, *(sample(n, doc_hash=f"e{n}") for n in range(4)), task="facts")
    found = ca.gate("a", "b", tmp_path)
    assert {gap.category for gap in found.analysis.candidates[0].categories} == {"sums", "facts"}


def test_logs_of_inspect_give_the_difference_of_their_means(inspect):
    one = inspect("1.eval", inspected("a", ["C", "P", "I", "C", "C", "C"]))
    two = inspect("2.eval", inspected("b", ["C", "C", "I", "I", "N", "C"]))
    found = ca.gate("a", "b", [one, two]).analysis.candidates[0]
    assert found.difference == pytest.approx((3 - 4.5) / 6, abs=1e-12)
    assert (found.prompts, found.answers) == (3, 2)


# What shared noise is worth.


def drawn(rng, n, r, *, coupled):
    """Answers that share their noise, or do not: of one law each."""
    easy = rng.random((n, 1))
    one = rng.random((n, r))
    other = one if coupled else rng.random((n, r))
    return np.stack([one < easy, other < 0.9 * easy], axis=2).astype(float)


def test_what_shared_noise_saves_is_what_independent_answers_show():
    rng = np.random.default_rng(5)
    coupled, alone = (drawn(rng, 4000, 5, coupled=each) for each in (True, False))
    variances = [np.var((x[..., 1] - x[..., 0]).mean(axis=1), ddof=1) for x in (coupled, alone)]
    places = np.arange(4000)
    found = noise_worth(Pair(places, coupled, Scale()))
    assert found.saved == pytest.approx(1 - variances[0] / variances[1], abs=0.03)
    assert found.low < found.saved < found.high
    assert found.high - found.low < 0.1
    without = noise_worth(Pair(places, alone, Scale()))
    assert without.low < 0 < without.high
    assert without.most == pytest.approx(found.most, abs=0.02)
    # By hand: prompts differ by e/10, with e uniform; luck is e(1 - e) + .9 e(1 - .9 e), of five.
    between, luck = 0.01 / 12, (1 / 6 + 0.9 / 2 - 0.81 / 3) / 5
    assert found.saved < found.most == pytest.approx(luck / (between + luck), abs=0.01)


@pytest.mark.parametrize(
    ("answers", "score", "said"),
    [
        (1, 1, "Two answers to each prompt would tell what coupling saves."),
        (2, 1, "the scores of the answers to a prompt vary too little."),
        (2, 0, "the scores of the answers to a prompt vary too little."),
    ],
)
def test_more_answers_are_asked_for_only_where_there_are_none(answers, score, said):
    prompts = [f"p{n}" for n in range(9)]
    rows = product(("base", "cand"), prompts, range(answers), [score])
    found = ca.gate("base", "cand", pd.DataFrame(rows, columns=["model", "prompt", "run", "acc"]))
    assert found.analysis.candidates[0].worth is None
    (warning,) = found.answer["warnings"]
    assert warning.endswith(said)


@pytest.mark.parametrize(
    ("coupled", "said"), [(True, "Shared noise saves"), (False, "could save up to")]
)
def test_answers_that_vary_together_are_told_whatever_the_table_says(coupled, said):
    scores = drawn(np.random.default_rng(5), 300, 4, coupled=coupled)
    rows = [
        (model, f"p{n}", run, scores[n, run, place])
        for place, model in enumerate(("base", "cand"))
        for n in range(300)
        for run in range(4)
    ]
    frame = pd.DataFrame(rows, columns=["model", "prompt", "run", "acc"])
    assert said in str(ca.gate("base", "cand", frame))


def test_the_worth_of_noise_needs_two_answers():
    assert noise_worth(Pair(np.arange(3), np.ones((3, 1, 2)), Scale())) is None
    assert noise_worth(Pair(np.arange(3), np.ones((3, 4, 2)), Scale())) is None


def test_coupled_tables_are_held_against_their_independent_part():
    found = ca.gate("SmolLM2-135M", "SmolLM2-135M-bnb-8bit", "data/quiz_scores.csv", margin=0.05)
    (row,) = found.analysis.candidates
    assert row.verdict == Verdict.AS_GOOD
    assert row.known_after < row.independent_after
    frame = pd.read_csv("data/quiz_scores.csv")
    coupled = frame[frame.Noise == "Coupled"]
    assert row.difference == pytest.approx(
        coupled["SmolLM2-135M-bnb-8bit"].mean() - coupled["SmolLM2-135M"].mean(), abs=1e-12
    )
    words = str(found)
    shown = words.partition("\n\nWorse on:")[0]
    assert shown in (REPOSITORY / "docs" / "gate.md").read_text(encoding="utf-8")
    assert "Shared noise saves" in words
    assert f"told after {row.independent_after} prompts" in words
    with pytest.raises(ScoreError, match="repetitions do not divide"):
        ca.gate("SmolLM2-135M", "SmolLM2-135M-bnb-8bit", "data/quiz_scores.csv", seeds=7)


def noise_table(prompts=40, seeds=2):
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        [
            {
                "Noise": noise,
                "prompt": f"q{at}",
                "group": f"g{at // 2}",
                "base": float(rng.integers(0, 2)),
                "cand": float(rng.integers(0, 2)),
            }
            for noise in ("Coupled", "Independent")
            for at in range(prompts)
            for _ in range(seeds)
        ]
    )


def test_coupled_tables_have_groups_and_say_what_they_leave_out():
    frame = noise_table()
    (row,) = ca.gate("base", "cand", frame, seeds=2).analysis.candidates
    assert (row.prompts, row.units) == (40, 20)
    frame.loc[3, "cand"] = np.nan  # of q1
    found = ca.gate("base", "cand", frame, seeds=2)
    assert (found.analysis.candidates[0].prompts, found.analysis.candidates[0].units) == (39, 20)
    assert "Left out, for a cell is empty: 1 prompt." in str(found)
    means = frame[frame.Noise == "Coupled"].groupby("prompt")[["base", "cand"]].mean()
    for flip in found.to_frame("flips").itertuples():
        expected = means.loc[flip.prompt]
        assert (flip.base_score, flip.candidate_score) == (expected.base, expected.cand)
    with pytest.raises(ScoreError, match="no metrics"):
        ca.gate("base", "cand", frame, metric="acc", seeds=2)


# A store: scores, grades, votes.


@pytest.fixture(scope="module")
def benchmarked(tmp_path_factory):
    path = tmp_path_factory.mktemp("scored") / "arena.duckdb"
    with Store.open(path) as store:
        rubbish.fill(store)
        rubbish.vote(store)
    return path


def by_hand(path, mode):
    with Store.open(path) as store, store.cursor() as cursor:
        rows = cursor.execute(
            """
            select models[place + 1], prompt, avg(score)
            from scores join battles using (battle) left join turns using (battle, turn)
            where mode = ? group by all
            """,
            [mode],
        ).fetchall()
    return {(model, prompt): score for model, prompt, score in rows}


def test_stored_benchmarks_are_read_coupled_first(benchmarked):
    one, two, _ = rubbish.MODELS
    found = ca.gate(one, two, ca.open(benchmarked))
    means = by_hand(benchmarked, "coupled")
    prompts = {prompt for _, prompt in means}
    each = [means[two, prompt] - means[one, prompt] for prompt in prompts]
    (row,) = found.analysis.candidates
    assert row.difference == pytest.approx(np.mean(each), abs=1e-12)
    assert found.analysis.coupled
    assert row.independent
    alone = ca.gate(one, two, ca.open(benchmarked), mode="independent").analysis
    means = by_hand(benchmarked, "independent")
    each = [means[two, prompt] - means[one, prompt] for prompt in prompts]
    assert alone.candidates[0].difference == pytest.approx(np.mean(each), abs=1e-12)
    assert not alone.coupled
    assert all(flip.battle for flip in row.flips)


def test_a_judges_grades_stand_for_scores(benchmarked):
    one, two, _ = rubbish.MODELS
    found = ca.gate(one, two, ca.open(benchmarked), by="grades")
    assert found.analysis.metric == f"{rubbish.METRIC}, {rubbish.JUDGE}"
    scored = ca.gate(one, two, ca.open(benchmarked))
    assert found.analysis.candidates[0].difference != scored.analysis.candidates[0].difference
    with pytest.raises(ArenaError, match="`judge` is for `by` grades or votes"):
        ca.gate(one, two, ca.open(benchmarked), judge=rubbish.JUDGE)
    with pytest.raises(ArenaError, match="No battle has nobody"):
        ca.gate(one, "nobody", ca.open(benchmarked))


def voted(outcomes, voters=1, models=("base", "cand")):
    """A store of votes on prompts of their own: 1 for the candidate, 0 for the base, .5 ties."""
    store = Store.in_memory()
    ranks = {1: (2, 1), 0: (1, 2), 0.5: (1, 1)}
    with at_once(store) as batch:
        for at, outcome in enumerate(outcomes):
            battle = make_battle(*models, id=new_id(), prompts=(Prompt(f"prompt {at}"),))
            batch.add_battle(battle)
            batch.cast(make_vote(battle, *ranks[outcome], voter=f"v{at % voters}"))
    return store


MODES = Mode.COUPLED, Mode.INDEPENDENT


@pytest.mark.parametrize("look", list(Look))
def test_votes_are_judged_by_the_win_rate(look):
    rng = np.random.default_rng(1)
    outcomes = rng.choice([0, 0.5, 1], 600, p=[0.3, 0.4, 0.3]).tolist()
    with voted(outcomes, voters=600) as store:
        settings = GateSettings(0.1, 0.05, look)
        (row,) = gate_votes(store, ("base", "cand"), Selection(), settings).candidates
        assert row.difference == pytest.approx(np.mean(outcomes) - 0.5, abs=1e-12)
        assert row.verdict == Verdict.AS_GOOD
        half = (row.high - row.low) / 2
        error = np.std(outcomes) / math.sqrt(600)
        once = 1.645 * error
        assert half == pytest.approx(once, rel=0.05) if look is Look.ONCE else half > 1.3 * once
        assert (row.lost, row.gained) == (outcomes.count(0), outcomes.count(1))
        (turned,) = gate_votes(store, ("cand", "base"), Selection(), settings).candidates
        assert turned.low == pytest.approx(-row.high)


@pytest.mark.parametrize("mode", [None, *MODES])
def test_votes_say_that_noise_was_shared_where_only_such_count(mode):
    with Store.in_memory() as store:
        for at, each in enumerate(MODES * 5):
            battle = make_battle("base", "cand", prompts=(Prompt(f"prompt {at}"),), mode=each)
            store.add_battle(battle)
            store.cast(make_vote(battle, 1, 2))
        found = gate_votes(store, ("base", "cand"), Selection(mode=mode), GateSettings())
    assert found.coupled is (mode is Mode.COUPLED)


def test_few_voters_make_the_bounds_wide():
    outcomes = [1 if at % 5 < 2 else 0.5 for at in range(400)]  # by taste, of five voters
    with voted(outcomes, voters=5) as store:
        settings = GateSettings(0.02, 0.05, Look.ONCE)
        chosen = [
            gate_votes(store, ("base", "cand"), Selection(), settings, voters).candidates[0]
            for voters in (Voters.LIKE, Voters.THESE)
        ]
    assert chosen[0].low < chosen[1].low
    assert chosen[1].verdict == Verdict.BETTER
    assert chosen[0].verdict == Verdict.UNKNOWN


def test_votes_need_a_comparison_and_a_margin_below_one_half(benchmarked):
    one, two, _ = rubbish.MODELS
    with pytest.raises(ArenaError, match=r"below 0\.5"):
        ca.gate(one, two, ca.open(benchmarked), by="votes", margin=0.6)
    found = ca.gate(one, two, ca.open(benchmarked), by="votes")
    assert found.analysis.candidates[0].method == "board"
    with voted([1, 0], models=("base", "cand")) as store:
        with at_once(store) as batch:
            batch.add_battle(make_battle("base", "new", id=new_id(), prompts=(Prompt("x"),)))
        with pytest.raises(ScoreError, match="Nobody has compared base and new"):
            gate_votes(store, ("base", "new"), Selection(), GateSettings())


# The command.


def test_the_command_says_the_same_and_its_exit_code_is_the_verdict(call, tmp_path):
    path = tmp_path / "scores.csv"
    for (lost, gained), code in {(0.0, 0.0): 0, (0.3, 0.0): 3, (0.1, 0.1): 4}.items():
        frame, *_ = table(n=500, lost=lost, gained=gained)
        frame.to_csv(path, index=False)
        given = call("gate", "base", "cand", "--scores", path, "--json")
        assert given[0] == code, given[2]
        assert json.loads(given[1]) == ca.gate("base", "cand", path).to_dict()
        text = call("gate", "base", "cand", "--scores", path)[1]
        assert text.strip() == str(ca.gate("base", "cand", path)).strip()
    code, _, err = call("gate", "base", "--scores", path)
    assert code == 2
    code, _, err = call("gate", "base", "base", "--scores", path)
    assert (code, err) == (
        1,
        "Error: base is there twice: name a base, and candidates that differ from it.\n",
    )
    code, _, err = call("gate", "base", "cand", "--scores", path, "--bounds", "1,2")
    assert code == 1
    assert "--bounds" in err
    code, *_ = call("gate", "base", "cand", "--scores", path, "--bounds", "-1,1", "--margin", 0.2)
    assert code == 0


def test_the_command_takes_several_candidates_and_logs_by_name(call, harness, tmp_path):
    for folder in "abc":
        harness(folder, *(sample(n) for n in range(400)))
    logs = [part for name in "abc" for part in ("--scores", f"{name.upper()}={tmp_path / name}")]
    code, out, err = call("gate", "A", "B", "C", *logs, "--json")
    assert code == 0, err
    assert [row["model"] for row in json.loads(out)["candidates"]] == ["B", "C"]


def test_figures_show_what_the_tables_hold():
    frame, *_ = table(n=900, category=["x" if at % 2 else "y" for at in range(900)])
    found = ca.gate("base", "cand", frame, margin=0.03)
    for name in ("closing", "candidates", "flips"):
        figure = ca.plot(found, name)
        assert figure.layout.meta["file"] == f"gate-{name}"
    drawn_of = ca.plot(found)
    assert list(drawn_of.data[1].x) == found.to_frame("closing").units.tolist()
    assert ca.plot(found, "flips", pair=("base", "cand")).data
    with pytest.raises(ArenaError, match="There is no pair"):
        ca.plot(found, pair=("base", "other"))
    once = ca.gate("base", "cand", frame, look="once")
    with pytest.raises(ArenaError, match="no figure 'closing'"):
        ca.plot(once, "closing")


def test_units_that_a_candidate_lacks_are_passed_over():
    """Candidates share one order; each is judged on its own prompts."""
    rng = np.random.default_rng(2)
    values = rng.integers(0, 2, (60, 1, 3)).astype(float)
    values[:20, 0, 2] = np.nan
    prompts = tuple(f"p{at}" for at in range(60))
    scores = PairedScores("acc", ("base", "one", "two"), prompts, values)
    settings = GateSettings(look=Look.ONCE)
    found = gate_scores(scores, settings)
    assert [row.prompts for row in found.candidates] == [60, 40]
    alone = replace(
        scores, prompts=prompts[20:], values=values[20:, :, [0, 2]], models=("base", "two")
    )
    assert gate_scores(alone, settings).candidates[0].difference == found.candidates[1].difference


def test_the_order_of_some_prompts_is_that_of_all():
    names = [f"prompt {n}" for n in range(500)]
    drawn = [names[at] for at in drawn_order(names, 4)]
    some = names[::3]
    assert [some[at] for at in drawn_order(some, 4)] == [name for name in drawn if name in some]
    assert drawn != [names[at] for at in drawn_order(names, 5)]
    # The first half of the names comes as often in each half of the order, within three errors.
    early = sum(int(name.split()[1]) < 250 for name in drawn[:250])
    assert abs(early - 125) < 3 * (500 / 16) ** 0.5
