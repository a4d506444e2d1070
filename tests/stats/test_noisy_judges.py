"""The ranking paper's truths: what is drawn follows them, and what is counted is what happened."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from coupled_arena.core.choices import Covariance, Cutoff, Weighting
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking.estimates import estimate
from coupled_arena.stats.ranking.rank_sets import Separation
from coupled_arena.stats.simulation.noisy_judges import (
    NoisyPlan,
    NoisyTruth,
    draw_truth,
    try_noisy_judges,
)
from coupled_arena.stats.simulation.rank_set_runs import Ranking, rank_biased_overlap

PLAN = NoisyPlan(4, ((200, 800), (50, 0)), (0.05, 0.3), 6, cutoff=Cutoff.BONFERRONI)


def test_truths_are_the_papers():
    rng = np.random.default_rng(1)
    for _ in range(50):
        truth = draw_truth(rng, 8, (0.05, 1.0))
        assert truth.people.sum() == pytest.approx(1)
        assert truth.judges.sum(1) == pytest.approx(1)
        assert (np.diff(truth.people) <= 0).all()
        assert truth.people.max() / truth.people.min() < 4 + 1e-9
        rates = truth.judges[1] / truth.judges[1].max()
        assert rates.min() >= 0.01 / 0.99 - 1e-9


def test_without_noise_judges_say_what_people_say():
    truth = draw_truth(np.random.default_rng(2), 5, (0.0, 0.0))
    drawn = truth.draw(np.random.default_rng(3), 5000)
    for judge in range(2):
        labelled = drawn.by(judge, drawn.labelled)
        assert labelled.sum() == labelled.diagonal(axis1=2, axis2=3).sum()


def test_pairs_come_in_turns_and_none_with_itself():
    truth = draw_truth(np.random.default_rng(2), 4, (0.1,))
    drawn = truth.draw(np.random.default_rng(3), 41)
    turns = Counter((i % 4, i // 4 % 4) for i in range(41))
    met = drawn.labelled.sum((2, 3))
    for pair, n in turns.items():
        assert met[pair] == (0 if pair[0] == pair[1] else n)


def test_outcomes_follow_their_law():
    """People prefer the first with twice its win rate, and so does a judge, by the same draw."""
    truth = NoisyTruth(np.array([0.45, 0.3, 0.25]), np.array([[0.3, 0.5, 0.2], [0.6, 0.2, 0.2]]))
    n = 900_000
    drawn = truth.draw(np.random.default_rng(4), n)
    met = n / 9
    for judge, rates in enumerate(truth.judges):
        labelled = drawn.by(judge, drawn.labelled)
        for a in range(3):
            for b in range(3):
                if a == b:
                    continue
                vote, verdict = min(1, 2 * truth.people[a]), min(1, 2 * rates[a])
                law = {
                    (0, 0): min(vote, verdict),
                    (0, 2): max(vote - verdict, 0),
                    (2, 0): max(verdict - vote, 0),
                    (2, 2): 1 - max(vote, verdict),
                }
                for cell, share in law.items():
                    error = (share * (1 - share) / met) ** 0.5
                    assert labelled[a, b][cell] / met == pytest.approx(share, abs=5 * error + 1e-12)
                assert labelled[a, b][:, [1, 3]].sum() == labelled[a, b][[1, 3]].sum() == 0


def test_what_is_counted_is_what_happened():
    """Coverage, size and overlap of a judge's help, repeat by repeat in plain loops."""
    plan = replace(PLAN, weighting=Weighting.COUNT, covariance=Covariance.PUBLISHED)
    result = try_noisy_judges(plan)
    assert result.repeats == 6
    held, sizes, overlaps = [], [], []
    for repeat in range(6):
        truth = draw_truth(np.random.default_rng([0, repeat]), 4, plan.noise)
        rng = np.random.default_rng([0, repeat, 200, 800])
        known, others = truth.draw(rng, 200), truth.draw(rng, 800)
        labelled, alone = (some.by(1, some.labelled) for some in (known, others))
        counts = JudgedCounts(known.models, labelled, alone.sum(2))
        one = estimate(counts, Weighting.COUNT, Covariance.PUBLISHED)
        sets = Separation(one).rank_sets(0.05, Cutoff.BONFERRONI)
        held.append(all(sets.low[i] <= i + 1 <= sets.high[i] for i in range(4)))
        sizes.append(np.mean([sets.high[i] - sets.low[i] + 1 for i in range(4)]))
        overlaps.append(rank_biased_overlap(one.theta, truth.people, 0.6))
    (found,) = (
        q for q in result.qualities if (q.ranking, q.noise, q.human) == (Ranking.PPR, 0.3, 200)
    )
    assert found.coverage == pytest.approx(np.mean(held))
    assert found.size == pytest.approx(np.mean(sizes))
    assert found.overlap == pytest.approx(np.mean(overlaps))
    assert found.overlap_error == pytest.approx(np.std(overlaps, ddof=1) / 6**0.5)


def test_better_judges_help_more_and_a_repeat_is_its_own():
    plan = replace(PLAN, repeats=60, sizes=((64, 4000),))
    result = try_noisy_judges(plan)
    overlap = {(q.ranking, q.noise): q.overlap for q in result.qualities}
    assert overlap[Ranking.PPR, 0.05] > overlap[Ranking.PPR, 0.3] > overlap[Ranking.HUMAN, None]
    assert overlap[Ranking.JUDGE, 0.05] > overlap[Ranking.JUDGE, 0.3]
    stopped = try_noisy_judges(plan, lambda repeats: repeats[:5])
    assert stopped.repeats == 5
    assert stopped.qualities == try_noisy_judges(replace(plan, repeats=5)).qualities
    assert np.isnan(try_noisy_judges(replace(plan, repeats=1)).qualities[0].overlap_error)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": 1}, "two models"),
        ({"sizes": ((15, 100),)}, "16 votes at least"),
        ({"sizes": ()}, "at least one number"),
        ({"noise": (1.5,)}, "between 0 and 1"),
        ({"repeats": 0}, "a repeat at least"),
        ({"alpha": 0.0}, "alpha must lie"),
    ],
)
def test_what_cannot_be_drawn(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(PLAN, **changes)
