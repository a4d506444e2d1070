from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from coupled_arena.core.choices import Covariance, Cutoff, Design, TieScore, Weighting
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.influence import PairProducts
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import Separation, intervals
from coupled_arena.stats.ranking.strata import degrees_alone, degrees_of_freedom
from coupled_arena.stats.simulation.coverage import SimulationPlan, simulate
from coupled_arena.stats.simulation.rank_set_runs import Ranking, binomial_error
from coupled_arena.stats.simulation.rankings import Rankings
from coupled_arena.stats.simulation.truths import Campaign, SimulatedTruth, evenly

PUBLISHED = {
    "covariance": Covariance.PUBLISHED,
    "weighting": Weighting.COUNT,
    "cutoffs": (Cutoff.CHI2,),
}


def test_the_truth_of_two_models():
    """At strengths ln 3 and 0, three of four decided comparisons go to the first."""
    truth = SimulatedTruth((np.log(3), 0.0), human=10, judge_only=0, ties=0.2)
    assert truth.theta == pytest.approx([0.6, 0.2])
    assert truth.ranks.tolist() == [[1, 2], [1, 2]]


def test_the_truth_has_half_of_the_ties_where_they_count():
    truth = SimulatedTruth((np.log(3), 0.0), human=10, judge_only=0, ties=0.2)
    assert truth.win_rates(TieScore.HALF) == pytest.approx([0.7, 0.3])
    assert truth.win_rates(TieScore.LOSS) == pytest.approx([0.6, 0.2])
    tastes = Campaign(truth.strengths, 5, 100, ties=0.4)
    assert tastes.win_rates(TieScore.HALF).mean() == pytest.approx(0.5)
    assert tastes.win_rates(TieScore.LOSS) == pytest.approx(tastes.theta)


@pytest.mark.parametrize("design", [Design.BALANCED, Design.VOTERS])
@pytest.mark.parametrize("ties", list(TieScore))
def test_estimates_are_of_the_tie_score_that_the_truth_has(design, ties):
    """The wrong truth is .15 away: half of all ties."""
    truth = SimulatedTruth(evenly(3, 1.0), 600, 600, ties=0.3, design=design)
    result = simulate(SimulationPlan(truth, 20, cutoffs=(Cutoff.MAX_T,), ties=ties, draws=200))
    for one in result.intervals:
        assert one.bias == pytest.approx(np.zeros(3), abs=0.06)
        assert one.coverage.mean() > 0.7


def test_ties_are_half_a_win_unless_the_covariance_is_the_published_one():
    plan = SimulationPlan(SimulatedTruth((0.0, 0.0), 10, 0), 1)
    assert plan.tie_score is TieScore.HALF
    assert replace(plan, covariance=Covariance.PUBLISHED).tie_score is TieScore.LOSS
    assert replace(plan, ties=TieScore.LOSS).tie_score is TieScore.LOSS


def test_equal_models_share_their_positions():
    truth = SimulatedTruth((0.3, 0.1, 0.3, 0.1, 0.1), human=10, judge_only=0)
    assert truth.ranks.tolist() == [[1, 3, 1, 3, 3], [2, 5, 2, 5, 5]]
    clustered = replace(truth, design=Design.CLUSTERED)
    assert clustered.ranks.tolist() == truth.ranks.tolist()


@pytest.mark.parametrize("effect", [0.01, 1.0, 2.0])
def test_the_effect_of_prompts_is_integrated_out(effect):
    truth = SimulatedTruth((1.5, 0.0), 10, 0, ties=0, design=Design.CLUSTERED, prompt_effect=effect)
    spread = np.sqrt(2) * effect
    law = norm(1.5, spread)
    exact, _ = quad(
        lambda gap: expit(gap) * law.pdf(gap), 1.5 - 12 * spread, 1.5 + 12 * spread, epsabs=1e-12
    )
    assert truth.theta == pytest.approx([exact, 1 - exact], abs=1e-9)


@pytest.mark.parametrize("design", list(Design))
def test_votes_follow_the_truth(design):
    truth = SimulatedTruth(
        (0.8, 0.2, -0.3, -0.7, 0.0), 60_000, 60_000, design=design, prompt_effect=0.7
    )
    drawn = truth.draw(np.random.default_rng(4))
    counts = drawn.counts() if isinstance(drawn, Rankings) else drawn
    found = estimate_from_votes(counts.votes)
    if isinstance(drawn, Rankings):
        found = found.clustered(drawn.gram(found.influence), drawn.clusters)
    assert (abs(found.theta - truth.theta) < 4 * found.standard_error).all()
    assert counts.labelled.sum() == counts.unlabelled.sum() == 60_000
    assert counts.votes.ties.sum() / 120_000 == pytest.approx(0.2, abs=0.01)
    sizes = counts.labelled.sum((2, 3)) + counts.unlabelled.sum(2)
    apart = sizes[~np.eye(5, dtype=bool)]
    if design is Design.BALANCED:
        assert apart.min() == apart.max() == 6000
    elif design is Design.UNBALANCED:
        # Strongest pair (weights 3 and 3^.75) against weakest (1 and 3^.25): 3^1.5 times.
        assert (sizes[0, 1] + sizes[1, 0]) / (sizes[2, 3] + sizes[3, 2]) == pytest.approx(
            3**1.5, rel=0.1
        )
    else:
        assert apart.min() / apart.max() > 0.9


@pytest.mark.parametrize("design", [Design.BALANCED, Design.CLUSTERED])
def test_a_judge_repeats_the_vote_or_follows_its_bias(design):
    truth = SimulatedTruth(evenly(4, 1.0), 1200, 1200, judge_quality=1.0, design=design)

    def verdicts(**changes):
        drawn = replace(truth, **changes).draw(np.random.default_rng(0))
        return drawn.counts() if isinstance(drawn, Rankings) else drawn

    faithful = verdicts()
    assert np.einsum("abii->", faithful.labelled) == 1200
    first = verdicts(toward_first=1.0)
    assert first.labelled[..., 0].sum() == first.unlabelled[..., 0].sum() == 1200
    last = verdicts(toward_last=1.0).verdicts
    assert last.wins[3].sum() == last.comparisons[3].sum()
    half = verdicts(judge_quality=0.5)
    # Half of the verdicts repeat the vote, and of the others about (.4² + .4² + .2²).
    assert np.einsum("abii->", half.labelled) / 1200 == pytest.approx(0.68, abs=0.06)


def test_clusters_of_one_comparison_are_the_plain_covariance():
    truth = SimulatedTruth(evenly(5, 0.5), 700, 1500, design=Design.UNBALANCED)
    counts = truth.draw(np.random.default_rng(8))
    rows = Rankings.apart(counts)
    assert np.array_equal(rows.counts().labelled, counts.labelled)
    assert np.array_equal(rows.counts().unlabelled, counts.unlabelled)
    for weighting in Weighting:
        for one in (estimate(counts, weighting), estimate_from_votes(counts.votes, weighting)):
            gram = rows.gram(one.influence)
            assert gram == pytest.approx(one.covariance, rel=1e-12, abs=1e-12 * gram.max())


def test_a_cluster_of_equal_comparisons_counts_as_one():
    """Ten copies of every comparison prove no more than one of it, up to n - 1 in place of n."""
    counts = SimulatedTruth(evenly(3, 0.5), 900, 900).draw(np.random.default_rng(2))
    rows = Rankings.apart(counts)
    columns = (rows.prompt, rows.first, rows.second, rows.vote, rows.verdict, rows.shown)
    tenfold = Rankings(rows.models, *(np.repeat(column, 10) for column in columns))
    copied = estimate(tenfold.counts())
    assert tenfold.gram(copied.influence) == pytest.approx(estimate(counts).covariance, rel=0.01)
    assert copied.covariance * 10 == pytest.approx(estimate(counts).covariance, rel=0.01)


def test_some_models_of_rankings():
    drawn = SimulatedTruth(evenly(5, 1.0), 300, 300, design=Design.CLUSTERED).draw(
        np.random.default_rng(1)
    )
    assert isinstance(drawn, Rankings)
    some = drawn.of(("model 4", "model 2"))
    counts = drawn.counts().of(("model 4", "model 2"))
    assert np.array_equal(some.counts().labelled, counts.labelled)
    assert np.array_equal(some.counts().unlabelled, counts.unlabelled)


def test_too_few_votes_in_a_pair_are_reported():
    truth = SimulatedTruth(evenly(5, 1.0), 40, 500, design=Design.RANDOM)
    result = simulate(SimulationPlan(truth, 10, cutoffs=(Cutoff.BONFERRONI,)))
    assert (result.filled, result.fallbacks) == (10, 0)
    assert any("fewer than 5 human comparisons" in warning for warning in result.warnings)


def test_a_model_without_any_vote_makes_no_trouble():
    truth = SimulatedTruth(evenly(8, 1.0), 3, 20, design=Design.RANDOM)
    result = simulate(SimulationPlan(truth, 5, cutoffs=(Cutoff.BONFERRONI,)))
    assert any("have no vote" in warning for warning in result.warnings)
    assert all(one.size > 7 for one in result.rank_sets)
    assert all(np.isfinite(one.width) for one in result.intervals)


def test_a_simulation_that_is_stopped_reports_what_it_finished():
    plan = SimulationPlan(SimulatedTruth(evenly(3, 1.0), 100, 100), 50)
    assert simulate(plan, lambda repeats: repeats[:3]).repeats == 3
    with pytest.raises(ValueError, match="No repeat"):
        simulate(plan, lambda repeats: repeats[:0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strengths": (0.0,)}, "two models"),
        ({"ties": 1.2}, "ties is a probability"),
        ({"ties": 1.0}, "nothing to rank"),
        ({"human": 0}, "human comparison"),
        ({"judge_only": -1}, "negative"),
        ({"judge_quality": float("nan")}, "judge_quality is a probability"),
        ({"prompt_effect": -1.0}, "standard deviation"),
    ],
)
def test_truths_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(SimulatedTruth((0.0, 1.0), 10, 10), **changes)


@pytest.mark.parametrize("changes", [{"alpha": 1.0}, {"alpha": 0.0}, {"repeats": 0}, {"seed": -1}])
def test_plans_that_cannot_be_are_refused(changes):
    with pytest.raises(ValueError, match=r"alpha|repeat"):
        replace(SimulationPlan(SimulatedTruth((0.0, 1.0), 10, 10), 10), **changes)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "human", "coverage"), [(5, 500, 0.33), (12, 990, 0.0)])
def test_the_published_covariance_does_not_keep_its_promise(k, human, coverage):
    truth = SimulatedTruth(evenly(k, 0), human, 5 * human)
    result = simulate(SimulationPlan(truth, 300, **PUBLISHED))
    error = (coverage * (1 - coverage) / 300) ** 0.5
    for one in result.rank_sets:
        assert one.coverage == pytest.approx(coverage, abs=4 * error)


@pytest.mark.slow
def test_the_default_keeps_its_promise_and_the_judge_narrows_it():
    truth = SimulatedTruth(evenly(5, 0.0), 500, 5000)
    result = simulate(SimulationPlan(truth, 300, seed=1))
    floor = 0.95 - 3 * (0.95 * 0.05 / 300) ** 0.5
    assert all(one.coverage >= floor for one in result.rank_sets)
    assert all((one.coverage >= floor).all() for one in result.intervals)
    human, powered = result.intervals
    assert powered.width < 0.9 * human.width
    assert (abs(powered.bias) < 0.005).all()


def test_comparisons_that_share_prompts_are_less_worth_than_they_seem():
    truth = SimulatedTruth(evenly(4, 0.0), 1200, 1200, design=Design.CLUSTERED)
    drawn = truth.draw(np.random.default_rng(0))
    assert isinstance(drawn, Rankings)
    one = estimate_from_votes(drawn.counts().votes)
    clustered = one.clustered(drawn.gram(one.influence), drawn.clusters)
    assert (clustered.standard_error > 1.3 * one.standard_error).all()


def test_one_prompt_says_nothing_of_other_prompts():
    """Ten rankings of one prompt agree with their own mean, whatever the next prompt says."""
    truth = SimulatedTruth(evenly(4, 0.0), 60, 0, design=Design.CLUSTERED)
    result = simulate(SimulationPlan(truth, 20))
    assert all((one.coverage, one.size) == (1, 4) for one in result.rank_sets)
    assert all(one.width == 1 for one in result.intervals)


@pytest.mark.slow
def test_ten_prompts_keep_the_promise_too():
    """With the normal quantile and no correction for few clusters: .81."""
    truth = SimulatedTruth(evenly(4, 0.0), 600, 0, design=Design.CLUSTERED)
    result = simulate(SimulationPlan(truth, 300, seed=2))
    floor = 0.95 - 3 * (0.95 * 0.05 / 300) ** 0.5
    assert all(one.coverage >= floor for one in result.rank_sets)
    assert all((one.coverage >= floor).all() for one in result.intervals)


def test_many_clusters_are_no_different_from_the_normal_law():
    counts = SimulatedTruth(evenly(4, 1.0), 1200, 1200).draw(np.random.default_rng(5))
    plain = replace(estimate(counts), free=np.full((4, 4), 10.0**6))
    many = plain.clustered(plain.covariance, 10**6)
    for cutoff in Cutoff:
        few_draws = [Separation(one, 20_000).rank_sets(0.05, cutoff) for one in (plain, many)]
        assert few_draws[1].critical_value == pytest.approx(few_draws[0].critical_value, rel=1e-3)
    assert np.array(intervals(many)) == pytest.approx(np.array(intervals(plain)), abs=1e-5)


def test_votes_that_all_tie_separate_nobody():
    counts = PairCounts.from_rows([(a, b, "tie", 20) for a, b in ("AB", "AC", "BC")])
    for cutoff in Cutoff:
        found = Separation(estimate_from_votes(counts), 1000).rank_sets(0.05, cutoff)
        assert found.sizes.tolist() == [3, 3, 3]


def several_voters(k, prompts, voters):
    """Return equal models whose pairs have so many prompts, each with so many voters."""
    pairs = k * (k - 1) // 2
    return SimulatedTruth(
        (0.0,) * k,
        human=pairs * prompts * voters,
        judge_only=pairs * 30,
        ties=0.3,
        design=Design.VOTERS,
        prompt_effect=1.5,
        voters=voters,
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", [(3, 2, 10), (5, 2, 10), (12, 2, 5), (5, 5, 10)], ids=str)
def test_many_voters_on_few_prompts_are_no_many_prompts(size):
    """With G/(G - 1) over all prompts, and their number as degrees: .80, .64, .52 and .87."""
    repeats = 60
    result = simulate(SimulationPlan(several_voters(*size), repeats, cutoffs=(Cutoff.MAX_T,)))
    floor = 0.95 - 3 * (0.95 * 0.05 / repeats) ** 0.5
    assert all(one.coverage >= floor for one in result.rank_sets)
    assert result.filled == (repeats if size[1] < 5 else 0)
    assert all("fewer than" in warning for warning in result.warnings)
    assert result.warnings


def test_voters_share_the_verdict_of_their_battle():
    drawn = several_voters(3, 4, 10).draw(np.random.default_rng(6))
    assert isinstance(drawn, Rankings)
    counts = drawn.counts()
    assert counts.votes.comparisons[np.triu_indices(3, 1)].tolist() == [40, 40, 40]
    assert counts.unlabelled.sum() == 90
    for prompt in np.unique(drawn.prompt[drawn.shown]):
        at = drawn.prompt == prompt
        assert at.sum() == 10
        assert len({*zip(drawn.first[at], drawn.second[at], drawn.verdict[at], strict=True)}) == 1
    assert drawn.prompts().votes[0].tolist() == [0, 4, 4]
    assert drawn.prompts().alone[0].tolist() == [0, 30, 30]
    ordered = drawn.prompts(by_order=True)
    assert (ordered.votes + ordered.votes.T == drawn.prompts().votes).all()


def test_pairs_share_the_variance_and_its_degrees_of_freedom():
    """Two pairs of variances 3 and 1 with 4 and 9 degrees: (3 + 1)² / (3²/4 + 1²/9) = 6.776."""
    own = np.array([[0, 3, 1], [2, 0, 0], [5, 0, 0]], dtype=float)
    cross = np.array([[0, -1, 0], [-1, 0, 0], [0, 0, 0]], dtype=float)
    free = np.array([[1, 4, 9], [4, 1, 1], [9, 1, 1]], dtype=float)
    found = degrees_of_freedom(PairProducts(own, cross), free)
    assert found[0, 0] == pytest.approx(16 / (9 / 4 + 1 / 9))
    # Of the difference of the first two, their own pair has 3 + 2 + 2, the other one 1.
    assert found[0, 1] == found[1, 0] == pytest.approx(64 / (49 / 4 + 1 / 9))
    assert found[1, 1] == 4


TIED, NEAR = 0.0, 0.1
GRID = [
    pytest.param(SimulatedTruth(evenly(3, TIED), 300, 3000), id="3-tied"),
    pytest.param(SimulatedTruth(evenly(3, NEAR), 300, 3000, ties=0.5), id="3-near"),
    pytest.param(SimulatedTruth(evenly(5, TIED), 500, 5000), id="5-tied"),
    pytest.param(
        SimulatedTruth((0.3, 0.3, 0.0, -0.3, -0.3), 500, 5000, ties=0.3), id="5-pairs-tied"
    ),
    pytest.param(
        SimulatedTruth(evenly(5, NEAR), 500, 5000, toward_first=0.2, toward_last=0.1),
        id="5-near-biased",
    ),
    pytest.param(
        SimulatedTruth(evenly(5, TIED), 500, 5000, design=Design.UNBALANCED, toward_last=0.1),
        id="5-tied-unbalanced",
    ),
    pytest.param(SimulatedTruth(evenly(12, TIED), 990, 5346), id="12-tied"),
    pytest.param(
        SimulatedTruth(evenly(12, NEAR), 1980, 5346, design=Design.RANDOM), id="12-near-random"
    ),
    pytest.param(
        SimulatedTruth(evenly(12, TIED), 3960, 7920, design=Design.UNBALANCED),
        id="12-tied-unbalanced",
    ),
    pytest.param(
        SimulatedTruth(evenly(3, TIED), 600, 6000, design=Design.CLUSTERED), id="3-tied-200-prompts"
    ),
    pytest.param(
        SimulatedTruth(evenly(4, TIED), 600, 0, design=Design.CLUSTERED), id="4-tied-10-prompts"
    ),
    pytest.param(
        SimulatedTruth(evenly(5, TIED), 500, 5000, design=Design.CLUSTERED), id="5-tied-92-prompts"
    ),
    pytest.param(
        SimulatedTruth(evenly(5, TIED), 3000, 12000, design=Design.CLUSTERED),
        id="5-tied-250-prompts",
    ),
    pytest.param(
        SimulatedTruth(evenly(12, TIED), 9900, 19800, design=Design.CLUSTERED),
        id="12-tied-500-prompts",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("truth", GRID)
def test_joint_coverage_on_the_grid_takes_5_minutes(truth):
    repeats = 1000
    plan = SimulationPlan(truth, repeats, cutoffs=(Cutoff.MAX_T, Cutoff.BONFERRONI), seed=11)
    result = simulate(plan)
    assert result.fallbacks == 0
    floor = 0.95 - 3 * (0.95 * 0.05 / repeats) ** 0.5
    found = {(one.ranking, one.cutoff): one.coverage for one in result.rank_sets}
    assert min(found.values()) >= floor, found
    for one in result.intervals:
        assert one.ranking in (Ranking.HUMAN, Ranking.PPR)
        assert one.coverage.mean() >= floor, one  # its error is at most that of one model's


@pytest.mark.slow
@pytest.mark.parametrize(
    "size",
    [(3, 2, 10), (5, 2, 10), (5, 5, 10), (5, 10, 10), (12, 2, 5), (12, 5, 5)],
    ids=lambda size: "{}-models-{}-prompts-{}-voters".format(*size),
)
def test_joint_coverage_of_several_voters_takes_half_a_minute(size):
    repeats = 500
    result = simulate(SimulationPlan(several_voters(*size), repeats, seed=1))
    floor = 0.95 - 3 * (0.95 * 0.05 / repeats) ** 0.5
    assert min(one.coverage for one in result.rank_sets) >= floor, result.rank_sets
    assert all(one.coverage.mean() >= floor for one in result.intervals), result.intervals


@pytest.mark.parametrize("counted", [False, True])
def test_degrees_of_few_votes_are_those_of_the_design(counted):
    """Three pairs of 4, 6 and 8 votes, written out: each moves a difference as its weight says."""
    votes = np.array([[0, 4, 6], [4, 0, 8], [6, 8, 0]], dtype=float)
    found = degrees_alone(votes, counted=counted)
    weight = {n: n if counted else 1 / n for n in (4, 6, 8)}
    free = {n: n if counted else n - 1 for n in (4, 6, 8)}
    # The pair itself moves both of its models, in opposite directions: four times the variance.
    parts = {4: 4 * weight[4], 6: weight[6], 8: weight[8]}
    expected = sum(parts.values()) ** 2 / sum(part**2 / free[n] for n, part in parts.items())
    assert found[0, 1] == found[1, 0] == pytest.approx(expected)


def test_a_newcomer_is_told_by_few_votes_among_models_with_many():
    votes = np.full((5, 5), 30.0)
    votes[-1] = votes[:, -1] = 12
    np.fill_diagonal(votes, 0)
    found = degrees_alone(votes, counted=False)
    assert found[0, -1] < found[0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("votes", [3, 6])
def test_many_models_with_few_votes_keep_the_promise(votes):
    """By the normal law they cover .89 and .92."""
    repeats = 150
    truth = SimulatedTruth(evenly(12, 0), 66 * votes, 0, ties=0.3)
    result = simulate(SimulationPlan(truth, repeats, cutoffs=(Cutoff.MAX_T,), seed=4))
    assert result.rank_sets[0].coverage >= 0.95 - 3 * (0.95 * 0.05 / repeats) ** 0.5


@pytest.mark.slow
def test_a_model_that_nearly_always_wins_covers_as_others_do():
    """Three votes a pair: .991 of 1,000 boards by rank-sets, .946 and more by intervals."""
    boards = 120
    truth = SimulatedTruth((3.9, 0.0, 0.0, 0.0, 0.0), 30, 150, ties=0.0)
    cutoffs = (Cutoff.MAX_T, Cutoff.STEP_DOWN)
    found = simulate(SimulationPlan(truth, boards, cutoffs=cutoffs, draws=2000))
    low = 0.95 - 3 * binomial_error(0.95, boards)
    assert all(sets.coverage >= low for sets in found.rank_sets)
    assert all((each.coverage >= low).all() for each in found.intervals)
