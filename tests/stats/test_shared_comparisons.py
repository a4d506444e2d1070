"""Several judges on the same comparisons: each gets what it would get alone."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from coupled_arena.core.choices import Cutoff
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import Separation
from coupled_arena.stats.simulation.rank_set_runs import Ranking, quality_of, rank_bounds
from coupled_arena.stats.simulation.resampling import ResamplingPlan, resample, resample_judges
from coupled_arena.stats.simulation.subsets import SharedComparisons
from tests.stats.test_resampling import judged

ROWS = 900
JUDGES = ("one", "two", "three", "four")


def rows(k=3, seed=5):
    """Return comparisons as rows (first, second, vote, verdict of each judge)."""
    rng = np.random.default_rng(seed)
    pairs = np.array([(a, b) for a in range(k) for b in range(k) if a != b])
    first, second = pairs[rng.integers(len(pairs), size=ROWS)].T
    votes = rng.integers(4, size=ROWS)
    said = np.where(
        rng.random((len(JUDGES), ROWS)) < 0.6, votes, rng.integers(4, size=(len(JUDGES), ROWS))
    )
    return np.vstack([first, second, votes, said]).T


def shared(table, k=3):
    codes = sorted({tuple(row[3:]) for row in table.tolist()})
    labelled = np.zeros((k, k, 4, len(codes)), dtype=np.int64)
    for a, b, h, *said in table.tolist():
        labelled[a, b, h, codes.index(tuple(said))] += 1
    return SharedComparisons(tuple("ABC"[:k]), JUDGES, labelled, np.array(codes).T)


def test_what_a_judge_said_is_what_the_rows_say():
    table = rows()
    both = shared(table)
    for judge in range(len(JUDGES)):
        counted = Counter((a, b, h, said[judge]) for a, b, h, *said in table.tolist())
        found = both.by(judge, both.labelled)
        assert found.sum() == ROWS
        assert all(found[cell] == n for cell, n in counted.items())
    assert both.votes.counts.sum() == ROWS
    some = both.of(("C", "A"))
    assert some.labelled.sum() == sum({a, b} == {0, 2} for a, b, *_ in table.tolist())


def test_with_one_judge_it_is_the_same_experiment():
    counts = judged()
    plan = ResamplingPlan(120, (60, 30), 4, alphas=(0.05, 0.4), cutoff=Cutoff.BONFERRONI)
    (several,) = resample_judges(SharedComparisons.of_one(counts), plan).values()
    alone = resample(counts, plan)
    for one, other in zip(several.runs, alone.runs, strict=True):
        assert (one.ranking, one.human) == (other.ranking, other.human)
        assert one.low.tolist() == other.low.tolist()
        assert one.high.tolist() == other.high.tolist()


def test_each_judge_is_ranked_by_its_own_verdicts():
    """All comparisons are drawn, so that nothing is left to chance but who keeps a vote."""
    table = rows()
    plan = ResamplingPlan(ROWS, (ROWS,), 1, balanced=False, cutoff=Cutoff.BONFERRONI)
    found = resample_judges(shared(table), plan)
    assert tuple(found) == JUDGES
    for judge, name in enumerate(JUDGES):
        labelled = np.zeros((3, 3, 4, 4), dtype=np.int64)
        for a, b, h, *said in table.tolist():
            labelled[a, b, h, said[judge]] += 1
        counts = JudgedCounts(("A", "B", "C"), labelled, np.zeros((3, 3, 4), dtype=np.int64))
        expected = {
            Ranking.BASELINE: estimate_from_votes(counts.votes),
            Ranking.JUDGE: estimate_from_votes(counts.verdicts),
            Ranking.PPR: estimate(counts),
        }
        for ranking, one in expected.items():
            low, high = rank_bounds(
                Separation(one), one.models, counts.models, 0.05, Cutoff.BONFERRONI
            )
            run = found[name].run(ranking)
            assert (run.low[0, 0].tolist(), run.high[0, 0].tolist()) == (
                low.tolist(),
                high.tolist(),
            )


def test_rankings_by_votes_are_everybodys():
    plan = ResamplingPlan(450, (150,), 20, alphas=(0.4,), balanced=False, cutoff=Cutoff.BONFERRONI)
    first, *others = resample_judges(shared(rows()), plan).values()
    for ranking in (Ranking.BASELINE, Ranking.HUMAN):
        for other in others:
            assert other.run(ranking).low.tolist() == first.run(ranking).low.tolist()
    assert any(
        other.run(Ranking.JUDGE).low.tolist() != first.run(Ranking.JUDGE).low.tolist()
        for other in others
    )
    for result in (first, *others):
        for one in result.qualities:
            baseline, run = result.run(Ranking.BASELINE), result.run(one.ranking)
            assert one == quality_of(run, baseline, 0, 0.4)


def test_shapes_that_do_not_fit():
    with pytest.raises(ValueError, match="cannot have the shapes"):
        SharedComparisons(("a", "b"), ("x",), np.zeros((2, 2, 4, 3), int), np.zeros((1, 2), int))
