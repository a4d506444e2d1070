from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from coupled_arena.core.choices import Covariance, Cutoff, Weighting
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking.estimates import estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import Separation
from coupled_arena.stats.simulation.rank_set_runs import Ranking, rank_bounds
from coupled_arena.stats.simulation.resampling import ResamplingPlan, resample
from coupled_arena.stats.simulation.subsets import Sizes, Subsets, fitting_sizes

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "ppr"
PUBLISHED = {
    "covariance": Covariance.PUBLISHED,
    "weighting": Weighting.COUNT,
    "cutoff": Cutoff.CHI2,
}


def judged(k=4, per_cell=12, seed=3):
    """Return counts of k models in which every cell is filled at random."""
    labelled = np.random.default_rng(seed).poisson(per_cell, (k, k, 4, 4))
    return JudgedCounts(tuple("ABCDEFGH"[:k]), labelled, np.zeros((k, k, 4), dtype=np.int64))


def read_lines(name):
    with (DATA / name).open() as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def chatbot_arena():
    """The paper's comparisons of 12 models by people and by GPT-4."""
    if not DATA.exists():
        pytest.skip(f"The ranking paper's comparisons are not in {DATA}.")
    models = json.loads((DATA / "golden_ppr_gpt4.json").read_text())["models"]
    place = {model: index for index, model in enumerate(models)}
    code = {"model_a": 0, "model_b": 1, "tie": 2, "tie (bothbad)": 3}
    verdicts = {row["num"]: code[row["winner"]] for row in read_lines("gpt-4-0125-preview.json")}
    labelled = np.zeros((12, 12, 4, 4), dtype=np.int64)
    for row in read_lines("human.json"):
        a, b = place.get(row["model_a"]), place.get(row["model_b"])
        if a is not None and b is not None:
            labelled[a, b, code[row["winner"]], verdicts[row["num"]]] += 1
    assert labelled.sum() == 14_947
    return JudgedCounts(tuple(models), labelled, np.zeros((12, 12, 4), dtype=np.int64))


@pytest.mark.parametrize("balanced", [True, False])
def test_draws_are_subsets_of_the_right_size(balanced):
    counts = judged()
    subsets = Subsets.of(counts, (120, 60), balanced=balanced)
    rng = np.random.default_rng(1)
    mean = np.zeros(counts.labelled.shape)
    for _ in range(2000):
        drawn = subsets.draw(rng, subsets.labelled, 120)
        shown = subsets.draw(rng, drawn, 60)
        assert (shown >= 0).all()
        assert (shown <= drawn).all()
        assert (drawn <= counts.labelled).all()
        assert (drawn.sum(), shown.sum()) == (120, 60)
        if balanced:
            for n, one in ((20, drawn), (10, shown)):
                met = one.sum((2, 3))
                assert {met[a, b] + met[b, a] for a, b in combinations(range(4), 2)} == {n}
        mean += shown / 2000
    met = counts.labelled.sum((2, 3))
    size = (met + met.T)[..., None, None] if balanced else met.sum()
    share = (10 if balanced else 60) * counts.labelled / np.maximum(size, 1)
    # A cell of a draw varies less than a Poisson count.
    assert (abs(mean - share) <= 5 * np.sqrt((share + 1e-9) / 2000)).all()


def test_where_all_votes_are_shown_everything_is_the_baseline():
    counts = judged(3)
    everything = int(counts.labelled.sum())
    result = resample(counts, ResamplingPlan(everything, (everything,), 2, balanced=False))
    baseline = result.run(Ranking.BASELINE)
    for ranking in (Ranking.HUMAN, Ranking.PPR):
        run = result.run(ranking)
        assert run.low.tolist() == baseline.low.tolist()
        assert run.high.tolist() == baseline.high.tolist()
    for quality in result.qualities:
        if quality.ranking is not Ranking.JUDGE:
            assert (quality.intersection, quality.coverage) == (1, 1)


def test_a_repeat_depends_on_nothing_but_its_seed_and_numbers():
    plan = ResamplingPlan(120, (60, 30), 4, alphas=(0.05, 0.4), cutoff=Cutoff.BONFERRONI)
    one = resample(judged(), plan)
    other = resample(judged(), replace(plan, human=(30,), repeats=6))
    for ranking in Ranking:
        human = 30 if ranking in (Ranking.HUMAN, Ranking.PPR) else None
        assert other.run(ranking, human).low[:, :4].tolist() == (
            one.run(ranking, human).low.tolist()
        )


def test_what_is_said_of_positions_agrees_with_the_rank_sets():
    plan = ResamplingPlan(120, (60,), 20, alphas=(0.05, 0.4))
    result = resample(judged(seed=9), plan)
    assert [q.alpha for q in result.qualities] == [0.05, 0.4] * 4
    for run in result.runs:
        for index in range(2):
            for model in range(4):
                sets = run.sets(index, model)
                assert sum(sets.values()) == pytest.approx(1)
                assert list(sets.values()) == sorted(sets.values(), reverse=True)
                for position in range(1, 5):
                    share = sum(p for (low, high), p in sets.items() if low <= position <= high)
                    assert run.positions[index, model, position - 1] == pytest.approx(share)
    sizes = result.run(Ranking.PPR).positions.sum(2).mean(1)
    said = [q.size for q in result.qualities if q.ranking is Ranking.PPR]
    assert sizes.tolist() == pytest.approx(said)
    assert said[0] > said[1]  # a smaller error level makes wider rank-sets


def test_a_run_that_is_stopped_reports_what_it_finished():
    result = resample(judged(), ResamplingPlan(120, (60,), 50), lambda repeats: repeats[:7])
    assert result.repeats == 7
    assert result.run(Ranking.PPR).low.shape == (1, 7, 4)
    once = resample(judged(), ResamplingPlan(120, (60,), 1))
    assert np.isnan([q.size_error for q in once.qualities]).all()


def test_a_model_without_votes_may_have_any_position():
    counts = judged(3, per_cell=0)
    labelled = counts.labelled.copy()
    labelled[0, 2, 0, 0], labelled[0, 2, 1, 0] = 90, 10
    one = estimate_from_votes(replace(counts, labelled=labelled).votes)
    assert one.models == ("A", "C")
    found = rank_bounds(Separation(one), one.models, counts.models, 0.05, Cutoff.MAX_T)
    assert found.tolist() == [[1, 1, 2], [2, 3, 3]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"human": (121,)}, "121 of 120 comparisons cannot keep their vote"),
        ({"human": (0,)}, "0 of 120 comparisons cannot keep"),
        ({"human": ()}, "at least one number of votes"),
        ({"alphas": (0.05, 1.0)}, "alpha must lie between 0 and 1, not at 1.0"),
        ({"repeats": 0}, "a repeat at least"),
        ({"total": 100_000}, "100000 cannot be drawn"),
        ({"human": (61,)}, "61 comparisons cannot be the same number in each of 6 pairs"),
        ({"total": 6 * 202}, "A and B have only 2"),
    ],
)
def test_what_cannot_be_done_is_refused(changes, message):
    counts = judged()
    scarce = counts.labelled.copy()
    scarce[0, 1], scarce[1, 0] = 0, 0
    scarce[0, 1, 0, 0] = 2
    if changes == {"total": 6 * 202}:
        counts = replace(counts, labelled=scarce)
    with pytest.raises(ValueError, match=message):
        resample(counts, replace(ResamplingPlan(120, (60,), 1), **changes))


def test_no_verdicts_at_all():
    with pytest.raises(ValueError, match="both a vote and a verdict"):
        resample(judged(3, per_cell=0), ResamplingPlan(120, (60,), 1))


@pytest.mark.slow
def test_the_papers_experiment_at_990_votes(chatbot_arena):
    """Size and baseline intersection of another implementation, also from 200 draws."""
    result = resample(chatbot_arena, ResamplingPlan(6336, (990,), 200, **PUBLISHED))
    known = {Ranking.JUDGE: (1.36, 0.25), Ranking.HUMAN: (2.19, 0.70), Ranking.PPR: (2.15, 0.74)}
    for quality in result.qualities:
        if quality.ranking in known:
            size, intersection = known[quality.ranking]
            assert quality.size == pytest.approx(size, abs=4 * quality.size_error + 0.005)
            error = (2 * intersection * (1 - intersection) / 200) ** 0.5
            assert quality.intersection == pytest.approx(intersection, abs=3 * error)


@pytest.mark.slow
def test_with_the_correct_covariance_few_votes_meet_the_baseline_in_every_draw(chatbot_arena):
    result = resample(chatbot_arena, ResamplingPlan(6336, (990,), 60))
    quality = {one.ranking: one for one in result.qualities}
    assert quality[Ranking.BASELINE].size == pytest.approx(2.88, abs=0.12)
    assert quality[Ranking.HUMAN].size == pytest.approx(5.69, abs=0.15)
    assert quality[Ranking.PPR].size == pytest.approx(5.54, abs=0.15)
    assert quality[Ranking.PPR].intersection == 1
    assert quality[Ranking.PPR].coverage > 0.85
    assert quality[Ranking.JUDGE].coverage == 0


@pytest.mark.parametrize(
    ("met", "total", "human", "balanced"),
    [
        ((100, 60, 80), 3 * 48, 3 * 9, True),
        ((9, 12, 9), 3 * 7, 3 * 3, True),
        ((2, 2, 2), 3, 3, True),
        ((30, 0, 20), 40, 8, False),
    ],
)
def test_sizes_that_fit(met, total, human, balanced):
    labelled = np.zeros((3, 3, 4, 4), dtype=np.int64)
    labelled[[0, 0, 1], [1, 2, 2], 0, 0] = met
    counts = JudgedCounts(("a", "b", "c"), labelled, np.zeros((3, 3, 4), dtype=np.int64))
    assert fitting_sizes(counts) == Sizes(total, human, balanced)
    resample(counts, ResamplingPlan(total, (human,), 1, balanced=balanced, draws=100))


def test_nothing_fits_where_nothing_is():
    nothing = JudgedCounts(("a", "b"), np.zeros((2, 2, 4, 4), int), np.zeros((2, 2, 4), int))
    with pytest.raises(ValueError, match="both a vote and a verdict"):
        fitting_sizes(nothing)
