"""What counts once in a gate, what is missing, in which unit, of which run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.analysis.gate import votes
from coupled_arena.analysis.gate.paired import PairedScores
from coupled_arena.analysis.gate.result import GateSettings, gate_scores
from coupled_arena.analysis.gate.votes import gate_votes
from coupled_arena.battles.batch import BatchPlan, marker_for
from coupled_arena.core.choices import BoardSource, Look
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.records import Mode, Prompt, Sampling, Score, new_id
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores
from coupled_arena.tasks.registry import TASKS
from tests.analysis.test_gate import table, voted
from tests.batches import at_once
from tests.families import first_of
from tests.store.conftest import make_battle, make_vote
from tests.stored import answered


def groups_of(sizes, lost, seed=0):
    """Groups of prompts; all of a lost one are wrong for the candidate, right for the base."""
    rows = [
        {"model": model, "prompt": f"g{at}p{n}", "group": f"g{at}", "acc": 1.0 - (gone and each)}
        for at, (size, gone) in enumerate(zip(sizes, lost, strict=True))
        for n in range(size)
        for each, model in enumerate(("base", "cand"))
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=seed)


def test_groups_of_different_size_count_once_each():
    sizes, lost = [1] * 300 + [100], [False] * 300 + [True]
    frame = groups_of(sizes, lost)
    for look in Look:
        found = ca.gate("base", "cand", frame, margin=0.05, look=look)
        (row,) = found.analysis.candidates
        assert row.difference == pytest.approx(-1 / 301, abs=1e-12)
        assert row.score - row.base_score == pytest.approx(row.difference, abs=1e-12)
        assert row.verdict == Verdict.AS_GOOD
        assert "Each group counts once, however many prompts it has." in str(found)
    found = ca.gate("base", "cand", frame, margin=0.05, largest_group=100)
    (row,) = found.analysis.candidates
    assert row.difference == pytest.approx(-100 / 400, abs=1e-12)
    assert row.score - row.base_score == pytest.approx(row.difference, abs=1e-12)
    assert row.verdict == Verdict.UNKNOWN
    assert "if no group anywhere has more than 100 prompts" in str(found)
    assert found.to_dict()["largest_group"] == 100
    with pytest.raises(ScoreError, match="A group has 100 prompts"):
        ca.gate("base", "cand", frame, largest_group=99)
    with pytest.raises(ScoreError, match="goes with `look` always"):
        ca.gate("base", "cand", frame, largest_group=100, look="once")
    even = ca.gate("base", "cand", groups_of([2] * 50, [False] * 50))
    assert "Each group counts once" not in str(even)


@pytest.mark.parametrize("size", first_of(200, 100, 1000))
def test_prompts_of_rare_large_groups_are_not_called_as_good(size):
    """All losses are in groups that 150 groups rarely hold; prompts are at the margin."""
    rng, wrong, repeats = np.random.default_rng(size), 0, 40
    share = 0.05 / (size * 0.95 + 0.05)
    settings = GateSettings(0.05, largest_group=size)
    for _ in range(repeats):
        large = rng.random(150) < share
        sizes = np.where(large, size, 1)
        clusters = np.repeat(np.arange(150), sizes)
        values = np.ones((len(clusters), 1, 2))
        values[np.repeat(large, sizes), 0, 1] = 0
        names = tuple(map(str, range(len(clusters))))
        groups = tuple(map(str, clusters))
        given = PairedScores("acc", ("base", "cand"), names, values, clusters=groups)
        (row,) = gate_scores(given, settings).candidates
        wrong += row.verdict in (Verdict.AS_GOOD, Verdict.BETTER)
    assert wrong / repeats <= 0.05


def test_losses_that_grow_with_the_group_do_not_mislead_one_look():
    """Student's t over prompts of 150 groups was wrong in .13. Groups that count once are not."""
    rng, wrong, repeats = np.random.default_rng(5), 0, 150
    margin = 0.05
    for _ in range(repeats):
        sizes = rng.geometric(0.15, 150).clip(max=40)
        # A group is lost whole, the likelier the larger: groups are at the margin.
        lost = rng.random(150) < margin * sizes / 6.65
        clusters = np.repeat(np.arange(150), sizes)
        values = np.ones((len(clusters), 1, 2))
        values[np.repeat(lost, sizes), 0, 1] = 0
        names = tuple(map(str, range(len(clusters))))
        groups = tuple(map(str, clusters))
        given = PairedScores("acc", ("base", "cand"), names, values, clusters=groups)
        (row,) = gate_scores(given, GateSettings(margin, look=Look.ONCE)).candidates
        wrong += row.verdict in (Verdict.AS_GOOD, Verdict.BETTER)
    assert wrong / repeats <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats)


def test_a_candidate_that_lacks_many_prompts_is_not_called_as_good(call, tmp_path):
    frame, *_ = table(n=600, lost=0, gained=0)
    kept = (frame.model == "base") | (frame.prompt >= "p0180")
    fewer = frame[kept]
    empty = frame.assign(acc=frame.acc.where(kept))
    for given in (fewer, empty):
        for look in Look:
            found = ca.gate("base", "cand", given, look=look)
            (row,) = found.analysis.candidates
            assert (row.verdict, row.missing) == (Verdict.UNKNOWN, pytest.approx(0.3))
            assert (row.known_after, row.further) == (None, None)
            assert "30.0% of the prompts lack an answer of one of them" in str(found)
            allowed = ca.gate("base", "cand", given, look=look, most_missing=0.3)
            assert allowed.analysis.candidates[0].verdict == Verdict.AS_GOOD
    few = frame[(frame.model == "base") | (frame.prompt >= "p0030")]
    assert ca.gate("base", "cand", few).analysis.candidates[0].verdict == Verdict.AS_GOOD
    path = tmp_path / "scores.csv"
    fewer.to_csv(path, index=False)
    code, out, _ = call("gate", "base", "cand", "--scores", path)
    assert code == 4
    assert "raise --most-missing" in out
    assert call("gate", "base", "cand", "--scores", path, "--most-missing", 0.3)[0] == 0
    with pytest.raises(ScoreError, match="between 0 and 1, not 3"):
        ca.gate("base", "cand", frame, most_missing=3)


def test_all_is_in_points_of_the_scores():
    frame, *_ = table(n=800, lost=0.03, gained=0, category=["x", "y"] * 400)
    scaled = frame.assign(acc=frame.acc * 9 + 1)
    found, plain = ca.gate("base", "cand", scaled, bounds=(1, 10)), ca.gate("base", "cand", frame)
    for name in ("candidates", "categories", "flips", "closing"):
        one, other = found.to_frame(name), plain.to_frame(name)
        for column in {"difference", "low", "high"} & set(one):
            assert one[column].tolist() == pytest.approx((9 * other[column]).tolist())
    row = found.to_dict()["candidates"][0]
    assert row["score"] - row["base_score"] == pytest.approx(row["difference"])
    assert (found.to_dict()["unit"], found.to_dict()["margin"]) == ("points", 0.02 * 9)
    assert f"The difference is {row['difference']:+.4f} " in str(found)
    assert f"{row['difference']:+.4f}  " in str(found).partition("\n\n")[2]
    drawn_of = ca.plot(found)
    assert list(drawn_of.data[1].y) == pytest.approx(found.to_frame("closing").difference.tolist())
    assert drawn_of.data[2].y[0] == pytest.approx(-0.18)
    assert "margin 0.18" in str(drawn_of.layout)
    assert ca.plot(found, "candidates").data[0].x[0] in (pytest.approx(-0.18), 0)


def test_a_table_that_is_there_twice_is_refused(tmp_path):
    frame, *_ = table(n=30)
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    for path in (one, two):
        frame.to_csv(path, index=False)
    with pytest.raises(ScoreError, match=r"one\.csv is there twice: give each table once"):
        ca.gate("base", "cand", [one, one])
    with pytest.raises(ScoreError, match="hold the same rows"):
        ca.gate("base", "cand", [one, two])
    frame.assign(run=2).to_csv(two, index=False)
    frame.assign(run=1).to_csv(one, index=False)
    assert ca.gate("base", "cand", [one, two]).analysis.candidates[0].answers == 2


def runs_in(store, seeds, lost=0):
    """Store a run of each seed on the same ten questions."""
    marker = marker_for(TASKS["quiz"], None, limit=10)
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    for seed in seeds:
        plan = BatchPlan(marker.prompts, ("base", "cand"), (Mode.COUPLED,), 1, seed, (Sampling(),))
        for n, (battle, prompt) in enumerate(plan.battles()):
            made = answered(battle, prompt, ["one", "two"])
            right = [float(name == "base" or n >= lost or seed != 7) for name in battle.models]
            marks = [Score(0, place, "quiz", each, "x") for place, each in enumerate(right)]
            store.add_battle(made, marks)


@pytest.mark.slow
def test_runs_of_several_seeds_are_told_and_one_may_be_chosen(tmp_path):
    path = tmp_path / "arena.duckdb"
    with Store.open(path) as store:
        runs_in(store, (3, 7), lost=2)
    both = ca.gate("base", "cand", ca.open(path))
    said = "These are the answers of 2 runs together, of seeds 3 and 7. --seed chooses one."
    assert both.warnings[0] == said
    assert both.analysis.candidates[0].answers == 2
    for seed, difference in ((3, 0), (7, -0.2)):
        found = ca.gate("base", "cand", ca.open(path), seed=seed)
        (row,) = found.analysis.candidates
        assert (row.answers, row.difference) == (1, pytest.approx(difference))
        assert found.settings["seed"] == seed
        assert not any("runs" in each for each in found.warnings)
    with pytest.raises(ScoreError, match=r"No run has the seed 5\. The seeds of the runs: 3, 7"):
        ca.gate("base", "cand", ca.open(path), seed=5)


def test_messages_name_what_there_is(tmp_path):
    path = tmp_path / "arena.duckdb"
    with Store.open(path) as store:
        runs_in(store, (3,))
    with pytest.raises(ScoreError, match=r"No prompt has the category 'sumz'\. Categories: "):
        ca.gate("base", "cand", ca.open(path), category="sumz")
    frame, *_ = table(n=20)
    with pytest.raises(ScoreError, match=r"'often' in column 'acc' .*: --metric names the columns"):
        ca.gate("base", "cand", frame.assign(acc="often"))


def test_votes_of_candidates_name_each_source(monkeypatch):
    """Where a judge's verdicts help one candidate and not the other, both are told."""
    with voted([1, 0, 0.5] * 20, models=("base", "cand")) as store:
        with at_once(store) as batch:
            for at in range(60):
                battle = make_battle("base", "new", id=new_id(), prompts=(Prompt(f"new {at}"),))
                batch.add_battle(battle)
                batch.cast(make_vote(battle, 1 + at % 2, 2 - at % 2))
        read = votes.read_estimates

        def judged(store, chosen, method):
            found = read(store, replace(chosen, judge=None), method)
            if "new" not in chosen.models:
                return found
            people = found.by_source[BoardSource.HUMAN]
            return replace(found, by_source={BoardSource.PPR: people})

        monkeypatch.setattr(votes, "read_estimates", judged)
        monkeypatch.setattr(votes, "default_source", lambda found: next(iter(found.by_source)))
        for models in (("base", "cand", "new"), ("base", "new", "cand")):
            found = gate_votes(store, models, Selection(judge="gpt"), GateSettings(0.1))
            assert {"votes", "votes with verdicts of gpt"} == set(found.metric.split(", "))
            assert "Judged by votes: cand." in found.notes
            assert "Judged by votes with verdicts of gpt: new." in found.notes
