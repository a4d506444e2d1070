"""A judge that is silent on some votes: none is dropped. Are verdicts alone on like prompts?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from coupled_arena.core.choices import Cutoff, TieScore, Voters, Weighting
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.strata import PairPrompts
from coupled_arena.stats.ranking.verdict_shift import DIFFERENT, ShiftTest, verdict_shift
from coupled_arena.stats.simulation.coverage import SimulationPlan, estimate_drawn, simulate
from coupled_arena.stats.simulation.rank_set_runs import Ranking, binomial_error
from coupled_arena.stats.simulation.truths import Campaign, SimulatedTruth
from tests.stats import scored_rows
from tests.stats.several_judges import drawn_rows

K = 3
KEYS = {
    Weighting.STRATIFIED: lambda m, o, role: o,
    Weighting.POSITION: lambda m, o, role: (o, role),
    Weighting.COUNT: lambda m, o, role: 0,
}


def silenced(rng, votes=240, alone=700, share=0.4):
    """Return votes (a, b, h, p) with p the verdict as probabilities, None where there is none."""
    known, others = drawn_rows(rng, K, 1, votes, alone)
    sure = np.vstack([np.eye(3), np.eye(3)[2]])[:, :2]  # "both bad" is a tie

    def said(row):
        lost = row[2] == (row[0] == 0)  # of the first model, by a vote
        return None if lost and rng.random() < share else tuple(sure[row[-1][0]])

    known = [(a, b, h, said((a, b, h, g))) for a, b, h, g in known]
    return known, [(a, b, tuple(sure[g[0]])) for a, b, g in others]


def counted(votes, alone):
    """Return the counts of such rows, and the array of all votes."""
    labelled, unlabelled = (np.zeros((K, K, *s), np.int64) for s in ((4, 4), (4,)))
    every = np.zeros((K, K, 4), np.int64)
    for a, b, h, said in votes:
        every[a, b, h] += 1
        if said is not None:
            labelled[a, b, h, _code(said)] += 1
    for a, b, said in alone:
        unlabelled[a, b, _code(said)] += 1
    return JudgedCounts(tuple("abc"), labelled, unlabelled), every


def _code(said):
    return 2 if sum(said) == 0 else int(said[1])


@pytest.mark.parametrize("weighting", list(Weighting))
@pytest.mark.parametrize("ties", list(TieScore))
def test_no_vote_is_dropped(weighting, ties):
    """Estimates, covariance and λ by loops over rows, of which some have no verdict."""
    votes, alone = silenced(np.random.default_rng(4))
    plain, every = counted(votes, alone)
    counts = plain.with_silent(every)
    assert counts.has_silent
    assert sum(said is None for *_, said in votes) > 15
    half, by_count = ties is TieScore.HALF, weighting is Weighting.COUNT
    theta, covariance, tuning = scored_rows.by_rows(
        votes, alone, K, KEYS[weighting], half=half, counted=by_count
    )
    found = estimate(counts, weighting, ties=ties)
    assert found.human == len(votes)
    assert found.power_tuning == pytest.approx(tuning, abs=1e-12)
    assert 0 < tuning < 1
    assert found.theta == pytest.approx(theta, abs=1e-12)
    assert found.covariance == pytest.approx(covariance, abs=1e-12)


def test_prompts_of_verdicts_are_fewer_than_those_of_votes():
    """What residuals lost to a mean is by the prompts that this mean is from."""
    rng = np.random.default_rng(5)
    votes, alone = silenced(rng)
    plain, every = counted(votes, alone)
    counts = plain.with_silent(every)
    n, m, others = (
        x.sum(axis=tuple(range(2, x.ndim))) for x in (every, plain.labelled, plain.unlabelled)
    )
    pairs = [x + x.T for x in (n, others, m)]
    each = PairPrompts(counts.models, *pairs)
    apart = estimate(counts)
    known = estimate(counts, prompts=each)
    assert known.covariance == pytest.approx(apart.covariance, rel=1e-12)
    fewer = estimate(counts, prompts=replace(each, heard=np.minimum(pairs[2], 6)))
    both = (each.influence.labelled for each in (fewer, known))
    echo, whole = (x[..., :-1, 0] - x[..., -1:, 0] for x in both)
    apart = ~np.eye(K, dtype=bool)
    good = 6 / 5 * (1 - 1 / np.maximum(pairs[2], 1))
    assert echo[apart] == pytest.approx((whole * np.sqrt(good)[..., None, None])[apart], rel=1e-9)
    assert (fewer.free < known.free)[apart].all()


def test_one_code_more_changes_nothing_where_all_votes_have_a_verdict():
    votes, alone = silenced(np.random.default_rng(6), share=0.0)
    plain, every = counted(votes, alone)
    assert plain.with_silent(every) is plain
    assert plain.heard is plain


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_without_verdicts_alone_it_is_peoples_estimate(share):
    votes, _ = silenced(np.random.default_rng(7), share=share)
    plain, every = counted(votes, [])
    counts = plain.with_silent(every)
    found, people = estimate(counts), estimate_from_votes(counts.votes)
    assert found.power_tuning == 0
    for name in ("theta", "covariance", "degrees", "floor", "free", "residuals", "sizes"):
        assert getattr(found, name) == pytest.approx(getattr(people, name), rel=1e-14), name


def test_silence_is_as_good_as_abstaining():
    votes, alone = silenced(np.random.default_rng(8))
    plain, every = counted(votes, alone)
    wide = JudgedCounts(
        plain.models,
        np.concatenate([plain.labelled, np.zeros((K, K, 4, 4))], axis=-1),
        np.concatenate([plain.unlabelled, np.zeros((K, K, 4))], axis=-1),
    )
    one, other = (estimate(counts.with_silent(every)) for counts in (plain, wide))
    assert other.theta == pytest.approx(one.theta, abs=1e-14)
    assert other.covariance == pytest.approx(one.covariance, abs=1e-14)


def test_votes_without_a_verdict_are_no_verdicts():
    votes, alone = silenced(np.random.default_rng(9))
    plain, every = counted(votes, alone)
    counts = plain.with_silent(every)
    assert (counts.verdicts.counts == plain.verdicts.counts).all()
    assert (counts.heard.labelled == plain.labelled).all()
    assert (counts.votes.counts == every).all()
    with pytest.raises(ValueError, match="has a verdict"):
        JudgedCounts(counts.models, counts.labelled, counts.unlabelled + 1)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_the_check_by_loops(share):
    """Means within pairs, their covariances, and Hotelling's test by hand."""
    votes, alone = silenced(np.random.default_rng(10), share=share)
    plain, every = counted(votes, alone)
    counts = plain.with_silent(every)
    made = estimate(counts, ties=TieScore.HALF)
    c, covariance = np.zeros(K), np.zeros((K, K))
    for i in range(K):
        for j in range(i):
            beside, without = (
                [
                    scored_rows.judged(row[-1], (row[0] != i) * 1, True)
                    for row in rows
                    if {row[0], row[1]} == {i, j} and row[-1] is not None
                ]
                for rows in (votes, alone)
            )
            turn = np.array([1, -1]) / (K - 1)  # what one model has more, the other has less
            c[[i, j]] += turn * (np.mean(without) - np.mean(beside))
            spread = sum(np.var(x, ddof=1) / len(x) for x in (beside, without))
            covariance[np.ix_([i, j], [i, j])] += np.outer(turn, turn) * spread
    shift = verdict_shift(made, counts)
    assert shift.theta == pytest.approx(c, abs=1e-12)
    assert shift.covariance == pytest.approx(covariance, abs=1e-12)
    test = ShiftTest.of(shift)
    square = c @ np.linalg.pinv(covariance) @ c
    assert (test.contrasts, test.statistic) == (K - 1, pytest.approx(square, rel=1e-9))
    left = test.degrees - K + 2
    assert test.p == pytest.approx(
        stats.f.sf(square * left / test.degrees / (K - 1), K - 1, left), rel=1e-9
    )
    assert test.p > stats.chi2.sf(square, K - 1)


def test_no_check_where_the_judge_has_no_weight():
    votes, _ = silenced(np.random.default_rng(11))
    plain, every = counted(votes, [])
    counts = plain.with_silent(every)
    assert verdict_shift(estimate(counts), counts) is None


def test_verdicts_on_other_prompts_are_not_used():
    """Favoured by one log-odd where nobody votes, the last model gains nothing."""
    truth = SimulatedTruth((0.0,) * 4, 600, 3000, judge_quality=1.0, alone_shift=1.0)
    drawn = truth.draw(np.random.default_rng(12))
    powered, people = (estimate_drawn(drawn, which) for which in (Ranking.PPR, Ranking.HUMAN))
    assert powered.power_tuning == 0
    assert powered.judge_weights == (0.0,)
    assert (powered.theta == people.theta).all()
    assert (powered.covariance == people.covariance).all()


EQUAL = (0.0,) * 5


@pytest.mark.slow
@pytest.mark.parametrize("silent", [0.1, 0.4])
def test_boards_of_a_judge_that_is_silent_on_losses_hold(silent):
    truth = SimulatedTruth(EQUAL, 600, 3000, ties=0.3, silent=silent)
    _holds(simulate(SimulationPlan(truth, 200, cutoffs=(Cutoff.MAX_T,))))


@pytest.mark.slow
def test_boards_hold_where_many_verdicts_are_on_other_prompts():
    truth = SimulatedTruth(EQUAL, 5000, 50000, ties=0.3, alone_shift=0.5)
    _holds(simulate(SimulationPlan(truth, 200, cutoffs=(Cutoff.MAX_T,))))


def _holds(found):
    for one in found.rank_sets:
        assert one.coverage > 0.95 - 3 * binomial_error(0.95, found.repeats)


@pytest.mark.slow
def test_the_check_keeps_its_level_where_few_people_vote_on_few_prompts():
    campaign = Campaign(EQUAL[:3], 10, 600, 0.7, prompt_effect=1.0, prompts=60, judge_only=1500)
    campaign = replace(campaign, judge_quality=0.9, silent=0.3)
    alarms = []
    for seed in range(200):
        drawn = campaign.draw(np.random.default_rng([13, seed]))
        found = estimate_drawn(drawn, Ranking.PPR, voters=Voters.LIKE)
        alarms.append(found.power_tuning == 0)
    assert np.mean(alarms) < DIFFERENT + 3 * binomial_error(DIFFERENT, 200)
