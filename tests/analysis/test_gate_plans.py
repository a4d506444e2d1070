"""How many prompts a gate takes, from a pilot: a range that simulation and the command keep."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.analysis.gate.paired import Scale, paired_from_frame
from coupled_arena.analysis.gate.plan import plan_gate
from coupled_arena.stats.gate.planning import share_bounds, units_needed
from tests.analysis.test_gate import table


def test_a_plan_is_a_range_that_the_gate_keeps():
    """Of a pilot of 100 prompts; the truth is between its bounds, and takes what is likely."""
    pilot, *_ = table(n=100, lost=0.05, gained=0.05, seed=4)
    plan = ca.plan(pilot, "cand", against="base", margin=0.05).analysis
    (needed,) = plan.needed
    assert needed.protocol == "as here"
    assert needed.least < needed.likely < needed.most
    shown = units_needed(np.ones(1), needed.flips, 0.05)
    assert shown == needed.likely
    once = (1.645 + 0.842) ** 2 * needed.flips / 0.05**2
    assert once < needed.likely < 3 * once


def test_a_plan_holds_coupled_beside_independent_answers():
    scores = pd.read_csv("data/quiz_scores.csv")
    models = "SmolLM2-135M-bnb-4bit", "SmolLM2-135M"
    found = ca.plan(scores, models[0], against=models[1], margin=0.05)
    coupled, alone = found.analysis.needed
    assert (coupled.protocol, alone.protocol) == ("coupled", "independent")
    assert coupled.likely < alone.likely
    paired = paired_from_frame(scores, models[::-1], None, Scale())
    computed = plan_gate(replace(paired, independent=None), 0.05, 0.05, 0.8).needed[1]
    assert computed.least <= alone.likely <= computed.most
    assert "Coupled answers: " in str(found)


def test_noise_of_their_own_is_planned_for_where_every_prompt_differs():
    """By coupled answers alone it takes as many prompts as answers with such noise tell."""
    rng, size = np.random.default_rng(6), (300, 2)
    noise, other = 0.08 * rng.standard_normal((2, *size))
    own = rng.normal(0, 0.03, (300, 1))

    def pilot(noise_of_candidate):
        answers = {"base": 0.5 + noise, "cand": 0.5 + own + noise_of_candidate}
        rows = [
            {"model": model, "prompt": prompt, "acc": score}
            for model, scores in answers.items()
            for prompt, several in enumerate(scores.clip(0, 1).tolist())
            for score in several
        ]
        return paired_from_frame(pd.DataFrame(rows), ("base", "cand"), None, Scale())

    coupled, alone = plan_gate(replace(pilot(noise), coupled=True), 0.02, 0.05, 0.8).needed
    (drawn,) = plan_gate(pilot(other), 0.02, 0.05, 0.8).needed
    assert coupled.flips == alone.flips == 1
    assert alone.likely == pytest.approx(drawn.likely, rel=0.05)
    assert alone.likely > 1.2 * coupled.likely


@pytest.mark.slow
def test_units_that_never_differ_need_as_many_as_bets_take():
    """Half of what a unit could lose is staked at most, and less while little is known."""
    nothing = units_needed(np.ones(0), 0.0, 0.02)
    assert nothing == 319
    assert units_needed(np.ones(1), 1.0, 1e-4) is None
    low, high = share_bounds(0, 50)
    assert (low, round(high, 3)) == (0, 0.032)


def test_a_pilot_with_groups_is_planned_by_groups():
    """Five prompts that always flip together say as much as one."""
    rng = np.random.default_rng(3)
    flip = rng.choice([-1.0, 0.0, 1.0], 120, p=[0.1, 0.8, 0.1])
    rows = [
        {"model": model, "prompt": f"g{at}p{n}", "group": f"g{at}", "acc": 0.5 + side * each / 2}
        for at, each in enumerate(flip.tolist())
        for n in range(5)
        for model, side in (("base", 0), ("cand", 1))
    ]
    pilot = pd.DataFrame(rows)
    found = ca.plan(pilot, "cand", against="base", margin=0.1)
    (needed,) = found.analysis.needed
    share = float((flip != 0).mean())
    groups = units_needed(np.full(1, 0.5), share, 0.1)
    assert (needed.flips, needed.likely) == (share, 5 * groups)
    assert (
        needed.likely
        > 2
        * ca.plan(pilot.drop(columns="group"), "cand", against="base", margin=0.1)
        .analysis.needed[0]
        .likely
    )
    assert (found.to_dict()["pilot_prompts"], found.to_dict()["pilot_groups"]) == (600, 120)
    assert "The pilot has 600 prompts in 120 groups." in str(found)


def test_a_plan_of_a_gate_is_by_the_command_too(call, tmp_path):
    path = tmp_path / "pilot.csv"
    table(n=60)[0].to_csv(path, index=False)
    asked = "plan", "cand", "--scores", path, "--margin", 0.1, "--json"
    code, out, _ = call(*asked, "--against", "base")
    assert code == 0
    assert json.loads(out) == ca.plan(path, "cand", against="base", margin=0.1).to_dict()
    for more, message in (
        ((), "Name the base in --against"),
        (("--against", "cand"), "cand is there twice"),
        (("--against", "base", "--power", 1.5), "power is between 0 and 1"),
        (("--against", "base", "--width", 0.1), "--width is for plans of votes"),
    ):
        code, _, err = call(*asked, *more)
        assert code == 1
        assert message in err
