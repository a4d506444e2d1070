"""Win-rates with a judge: row by row, against brute force, and on judges that were made up."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from coupled_arena.core.choices import Ties
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.judges.agreement import Agreement
from coupled_arena.stats.judges.powered_means import (
    PoweredMeans,
    contrast,
    difference,
    explained,
    joint_tuning,
)
from coupled_arena.stats.judges.samples import UNKNOWN, GradedAnswers, ModelCounts, kept_pairs
from tests.stats.judged_rows import counts_of, drawn_counts, echo_law, rows_of, scores

LABELS = [Ties.LOSS, Ties.DROP]


def errors_of(counts, model, ties):
    """Return y and f of a model's comparisons: y, f with a vote; f without; and the win-rate."""
    human, judge, alone = scores(counts, model)
    if ties is Ties.LOSS:
        s, judged, other = (np.maximum(x, 0) for x in (human, judge, alone))
        return s - s.mean(), judged - judged.mean(), other - judged.mean(), s.mean()
    kept, said = (human >= 0) & (judge >= 0), judge >= 0
    b, score, share = human[kept].mean(), judge[said].mean(), kept.mean()
    y = np.where(kept, human - b, 0) / share
    f = np.where(said, judge - score, 0) / share
    return y, f, np.where(alone >= 0, alone - score, 0) / share, b


def on_all_rows(counts, model, ties):
    """Return errors of the win-rate and of the correction, on every comparison of any model."""
    both, alone = rows_of(counts)
    at, other = (both[:, :2] == model).any(1), (alone[:, :2] == model).any(1)
    y, f, f_alone, _ = errors_of(counts, model, ties)
    h, j = np.zeros((2, len(both) + len(alone)))
    h[: len(both)][at] = y / len(y)
    j[: len(both)][at] = -f / len(f)
    if len(f_alone):
        j[len(both) :][other] = (f_alone - f_alone.mean()) / len(f_alone)
    return h, j


@pytest.mark.parametrize("ties", LABELS)
def test_counts_give_what_rows_give(ties):
    counts = drawn_counts(np.random.default_rng(1))
    means = PoweredMeans.of(counts, ties)
    for m in range(3):
        y, f, alone, b = errors_of(counts, m, ties)
        c = np.cov(y, f, ddof=0)
        tuning = c[0, 1] / ((1 + len(y) / len(alone)) * c[1, 1])
        assert means.human[m] == pytest.approx(b)
        assert means.power_tuning[m] == pytest.approx(tuning)
        assert means.powered[m] == pytest.approx(b + tuning * (alone.mean() - f.mean()))
        rho_squared = np.corrcoef(y, f)[0, 1] ** 2
        assert means.rho_squared[m] == pytest.approx(rho_squared)
        assert means.tau[m] == pytest.approx(1 / (1 - rho_squared / (1 + len(y) / len(alone))))
    rows = np.array([on_all_rows(counts, m, ties) for m in range(3)])  # (model, h or j, row)
    stacked = rows.swapaxes(0, 1).reshape(6, -1)
    np.testing.assert_allclose(means.covariance, stacked @ stacked.T, rtol=1e-12, atol=1e-16)


def test_ties_as_losses_are_the_plain_formulas():
    counts = drawn_counts(np.random.default_rng(2))
    means, own = PoweredMeans.of(counts, Ties.LOSS), ModelCounts.of(counts)
    table, ratio = Agreement.of(own, Ties.LOSS), means.votes / means.judge_only
    np.testing.assert_allclose(means.rho_squared, table.rho_squared)
    np.testing.assert_allclose(means.power_tuning, table.power_tuning_limit / (1 + ratio))
    alone = own.unlabelled[:, 0] / own.unlabelled.sum(1)
    np.testing.assert_allclose(
        means.powered, table.b + means.power_tuning * (alone - table.judge_score)
    )


@pytest.mark.parametrize("seed", range(5))
def test_dropping_ties_reaches_no_more_than_the_tables_promise(seed):
    counts = drawn_counts(np.random.default_rng(seed), human=60)
    table = Agreement.of(ModelCounts.of(counts), Ties.DROP)
    means = PoweredMeans.of(counts, Ties.DROP)
    assert (means.rho_squared <= table.rho_squared + 1e-12).all()


@pytest.mark.parametrize("ties", LABELS)
def test_joint_weights_are_those_that_a_search_finds(ties):
    counts = drawn_counts(np.random.default_rng(3))
    means = PoweredMeans.of(counts, ties)
    for one, other in combinations(range(3), 2):
        rows = [on_all_rows(counts, m, ties) for m in (one, other)]
        (h, j), (h_other, j_other) = rows

        def variance(x, h=h, j=j, h_other=h_other, j_other=j_other):
            return ((h + x[0] * j - h_other - x[1] * j_other) ** 2).sum() * 1e4

        found = minimize(variance, [0.3, 0.3], method="BFGS", options={"gtol": 1e-9})
        weights = joint_tuning(means, one, other)
        assert [weights[one], -weights[other]] == pytest.approx(found.x, abs=1e-6)
        lead = difference(means, one, other, 0.05)
        assert (lead.tuning, lead.other_tuning) == (weights[one], -weights[other])
        single = variance([means.power_tuning[one], means.power_tuning[other]])
        assert variance(found.x) <= single
        assert variance([0, 0]) >= single


def test_joint_weights_solve_the_published_equation_where_all_models_meet_on_all_rows():
    """Two models that only meet each other: (1 + n/N) Cov(s~) (l, -l') = Cov(s~, s - s')."""
    law = echo_law(2, 0.5)
    both = np.round(4000 * law).astype(int)
    counts = counts_of(both, 3 * both.sum(2))  # the judge says the same of all
    human, judge, _ = scores(counts, 0)
    s, judged = np.maximum(human, 0), np.maximum(judge, 0)
    human, judge, _ = scores(counts, 1)
    other, judged_other = np.maximum(human, 0), np.maximum(judge, 0)
    c = np.cov([judged, judged_other, s - other], ddof=0)
    tuning, minus = np.linalg.solve((1 + 1 / 3) * c[:2, :2], c[:2, 2])
    weights = joint_tuning(PoweredMeans.of(counts, Ties.LOSS), 0, 1)
    assert weights == pytest.approx([tuning, minus], abs=1e-9)


def test_what_the_judge_explains_of_one_model_is_its_correlation():
    means = PoweredMeans.of(drawn_counts(np.random.default_rng(5)), Ties.LOSS)
    for m in range(3):
        assert explained(means, contrast(len(means.models), m)) == pytest.approx(
            means.rho_squared[m]
        )


@pytest.mark.parametrize("ties", LABELS)
def test_without_verdicts_alone_the_judge_has_no_say(ties):
    counts = drawn_counts(np.random.default_rng(6), alone=0)
    means = PoweredMeans.of(counts, ties)
    np.testing.assert_array_equal(means.powered, means.human)
    np.testing.assert_array_equal(means.tau, 1)
    for ours, theirs in zip(means.powered_interval(0.1), means.human_interval(0.1), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    lead = difference(means, 0, 1, 0.1)
    assert (lead.human, lead.human_low) == (lead.powered, lead.powered_low)


@pytest.mark.parametrize("ties", LABELS)
@pytest.mark.parametrize("cells", [[], [(2, 2)], [(0, 0)], [(0, 0), (0, 2)], [(3, 3), (0, 1)]])
def test_hardly_any_votes(ties, cells):
    """Nothing crashes, no interval has width zero, and what is unknown is NaN."""
    labelled, unlabelled = np.zeros((2, 2, 4, 4), int), np.zeros((2, 2, 4), int)
    for h, g in cells:
        labelled[0, 1, h, g] += 1
    unlabelled[0, 1, 0] = 5
    means = PoweredMeans.of(counts_of(labelled, unlabelled), ties)
    kept = [c for c in cells if ties is Ties.LOSS or max(c) < 2]
    assert np.isnan(means.human).all() == (not kept)
    for low, high in (means.human_interval(0.05), means.powered_interval(0.05)):
        assert (np.isnan(low).all() and np.isnan(high).all()) if not kept else (low < high).all()
    if kept:
        lead = difference(means, 0, 1, 0.05)
        assert np.isnan(lead.human_low) or lead.human_low < lead.human_high
    else:
        with pytest.raises(ValueError, match="no difference"):
            difference(means, 0, 1, 0.05)


def test_a_model_without_votes_leaves_the_others_alone():
    counts = drawn_counts(np.random.default_rng(8), k=4)
    labelled = counts.labelled.copy()
    labelled[3], labelled[:, 3] = 0, 0
    means = PoweredMeans.of(counts_of(labelled, counts.unlabelled), Ties.LOSS)
    others = PoweredMeans.of(counts_of(labelled, counts.unlabelled).of("abc"), Ties.LOSS)
    assert np.isnan(means.human).tolist() == [False, False, False, True]
    lead = difference(means, 0, 1, 0.05)
    assert lead.human == difference(others, 0, 1, 0.05).human
    assert lead.powered_low < lead.powered < lead.powered_high


def truth_of(law, ties):
    own = ModelCounts.of(JudgedCounts(tuple("abc"), (law * 1e12).astype(np.int64), NOTHING))
    kept = own.labelled * kept_pairs(ties)
    return kept[:, 0].sum(1) / kept.sum((1, 2))


NOTHING = np.zeros((3, 3, 4), dtype=np.int64)


@pytest.mark.slow
@pytest.mark.parametrize("ties", LABELS)
@pytest.mark.parametrize(("human", "alone"), [(150, 1500), (600, 600)])
def test_intervals_cover_and_the_gain_is_the_predicted_one(ties, human, alone):
    """Coverage within three binomial standard errors; the gain within four of a variance ratio.

    With repeats R the ratio of two variances whose estimates correlate by r has a standard error
    of about 2 sqrt((1 - r²) / R); r = 0 is the worst case.
    """
    rng, law, repeats = np.random.default_rng(7), echo_law(3, 0.6), 4_000
    truth = truth_of(law, ties)
    hits, found, taus = np.zeros((2, 4)), [], []
    for _ in range(repeats):
        counts = counts_of(
            rng.multinomial(human, law.ravel()).reshape(law.shape),
            rng.multinomial(alone, law.sum(2).ravel()).reshape(3, 3, 4),
        )
        means = PoweredMeans.of(counts, ties)
        lead = difference(means, 0, 1, 0.05)
        for at, (low, high) in enumerate(
            (means.human_interval(0.05), means.powered_interval(0.05))
        ):
            hits[at, :3] += (low <= truth) & (truth <= high)
        ahead = truth[0] - truth[1]
        hits[:, 3] += [
            lead.human_low <= ahead <= lead.human_high,
            lead.powered_low <= ahead <= lead.powered_high,
        ]
        found.append([means.human, means.powered])
        taus.append(means.tau)
    within = 3 * np.sqrt(0.05 * 0.95 / repeats)
    assert hits[1] / repeats == pytest.approx(0.95, abs=within)
    assert hits[0] / repeats == pytest.approx(0.95, abs=within)
    variances = np.var(found, axis=0)
    predicted = PoweredMeans.of(
        counts_of((law * 1e9).astype(int), (law.sum(2) * 1e9 * alone / human).astype(int)), ties
    ).tau
    gain = variances[0] / variances[1]
    assert gain == pytest.approx(predicted, rel=4 * 2 / np.sqrt(repeats))
    assert np.mean(taus, axis=0) == pytest.approx(predicted, rel=0.05)


def test_a_difference_with_the_judge_holds_with_few_checked():
    """An easy benchmark, rates .9, 15 checked of each model: with no more than that it was .89."""
    rng, repeats, held, known = np.random.default_rng(0), 400, 0, 0
    prompt = np.tile(np.arange(75), 2)
    for _ in range(repeats):
        right = (rng.random(150) < 0.9).astype(np.int64)
        called = np.where(rng.random(150) < 0.9, right, 1 - right)
        answers = GradedAnswers(
            models=("a", "b"),
            model=np.repeat([0, 1], 75),
            battle=np.arange(150),
            prompt=prompt,
            right=np.where(prompt < 15, right, UNKNOWN),
            called_right=called,
        )
        found = difference(PoweredMeans.of_sample(answers, Ties.LOSS), 0, 1, 0.05)
        known += np.isfinite(found.powered_low)
        held += found.powered_low <= 0 <= found.powered_high
    assert held / known > 0.95 - 3 * (0.95 * 0.05 / repeats) ** 0.5
