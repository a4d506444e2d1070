"""The sampler: the exact law of what is drawn, the filters, and what coupling promises."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coupled_arena.core.records import Sampling
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.sampling import (
    NO_NUMBER,
    _end_of_all,
    _end_of_few,
    draw,
    draw_at,
    keep_top_k,
    keep_top_p,
    outcome_scores,
)
from coupled_arena.generation.vocabulary import make_vocabulary
from tests.families import first_of
from tests.generation.chi_square import chi_square_p

LEVEL = 1e-4
SEEDS = 20_000
LOGITS = [2.0, 1.2, 1.1, 0.3, -0.4, -1.0, -2.5]


def vocabulary_of(size, stops):
    words = [chr(97 + i) for i in range(size)]
    return make_vocabulary(words, [word.encode() for word in words], stops)


def frequencies(logits, stops, sampling, *, seeds=SEEDS, position=5, keys=None):
    """Count the outcomes that the true sampling path draws over many seeds."""
    if keys is None:
        keys = vocabulary_of(len(logits), stops).keys
    scores = outcome_scores(torch.tensor([logits]), torch.tensor(stops, dtype=int), sampling)
    noise = GumbelCache(torch.from_numpy(keys)).at([(s, 0, position) for s in range(seeds)])
    drawn = draw(scores.expand(seeds, -1), noise)
    return np.bincount(drawn.numpy(), minlength=len(logits) + 1)


def exact_law(logits, stops, sampling):
    """Return the law of the outcomes, in plain Python: a second route."""
    weights = [math.exp(logit / sampling.temperature) for logit in logits]
    if sampling.top_k:
        kth = sorted(weights, reverse=True)[: sampling.top_k][-1]
        weights = [w if w >= kth else 0.0 for w in weights]
    total, reached, kept = sum(weights), 0.0, set()
    for token in sorted(range(len(weights)), key=lambda token: -weights[token]):
        if reached < sampling.top_p * total:
            kept.add(token)
        reached += weights[token]
    weights = [w if token in kept else 0.0 for token, w in enumerate(weights)]
    end = sum(weights[stop] for stop in stops)
    merged = [0.0 if token in stops else w for token, w in enumerate(weights)] + [end]
    return np.array(merged) / sum(merged)


def sampled(temperature, top_k=0, top_p=1.0):
    return Sampling(temperature=temperature, top_k=top_k, top_p=top_p)


def test_two_stops_of_a_quarter_end_half_of_the_answers():
    """The example of the design: merged, the end has 1/2; sharing a key alone gives 1/3."""
    logits, stops = [math.log(0.5), math.log(0.25), math.log(0.25)], [1, 2]
    merged = frequencies(logits, stops, sampled(1.0))
    assert chi_square_p(merged, np.array([0.5, 0, 0, 0.5])) > LEVEL

    keys = vocabulary_of(3, stops).keys[[0, 3, 3, 2]]  # both stops with the key of the end
    shared = frequencies(logits, [], sampled(1.0), keys=keys)
    two = [shared[0], shared[1] + shared[2]]
    assert chi_square_p(two, np.array([2 / 3, 1 / 3])) > LEVEL
    assert chi_square_p(two, np.array([0.5, 0.5])) < 1e-100  # so the test sees the difference


@pytest.mark.parametrize("stops", first_of([0, 3, 6], [], [2]), ids=["three", "none", "one"])
@pytest.mark.parametrize(
    "sampling",
    [
        sampled(1.0),
        sampled(0.5),
        sampled(2.0),
        sampled(1.0, top_k=3),
        sampled(0.7, top_p=0.9),
        sampled(1.3, top_k=5, top_p=0.8),
    ],
    ids=lambda s: f"T{s.temperature}-k{s.top_k}-p{s.top_p}",
)
def test_the_law_is_exact(sampling, stops):
    law = exact_law(LOGITS, stops, sampling)
    assert chi_square_p(frequencies(LOGITS, stops, sampling), law) > LEVEL


def test_the_test_of_the_law_can_fail():
    """A law off by a tenth in one token's weight is rejected at this many seeds."""
    wrong = exact_law([LOGITS[0] + 0.1, *LOGITS[1:]], [2], sampled(1.0))
    assert chi_square_p(frequencies(LOGITS, [2], sampled(1.0)), wrong) < LEVEL


def test_outcome_scores_golden():
    logits = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    scores = outcome_scores(logits, torch.tensor([1, 3]), sampled(0.5))
    assert scores.dtype == torch.float64
    end = math.log(math.exp(4) + math.exp(8))
    assert scores[0].tolist() == pytest.approx([2, -math.inf, 6, -math.inf, end], rel=1e-15)
    without = outcome_scores(logits, torch.tensor([], dtype=int), sampled(0.5))
    assert without[0].tolist() == [2, 4, 6, 8, -math.inf]


def test_outcome_scores_leave_the_logits_alone():
    logits = torch.randn(3, 5, dtype=torch.float64)
    before = logits.clone()
    outcome_scores(logits, torch.tensor([1]), sampled(1.0, top_k=2, top_p=0.5))
    assert torch.equal(logits, before)


# The filters


def nucleus(weights, top_p):
    """Return the weights kept by top-p, ties with the last one kept too, exactly."""
    total = Fraction(sum(weights))
    reached = Fraction(0)
    for weight in sorted(set(weights), reverse=True):
        one = weight / total
        # the last weight kept is the first with which the sum of the likelier ones reaches top_p
        reached += one * weights.count(weight)
        if reached >= Fraction(top_p):
            return {token for token, w in enumerate(weights) if w >= weight}
    return set(range(len(weights)))


def far_from_every_border(weights, top_p):
    """Whether rounding cannot decide which weights are kept."""
    total, reached = sum(weights), 0
    for weight in sorted(set(weights), reverse=True):
        reached += weight * weights.count(weight)
        if abs(Fraction(reached, total) - Fraction(top_p)) < Fraction(1, 10**9):
            return False
    return True


def finite(row):
    return set(torch.isfinite(row).nonzero()[:, 0].tolist())


@settings(deadline=None)
@given(
    rows=st.integers(1, 40).flatmap(
        lambda v: st.lists(
            st.lists(st.integers(1, 10_000) | st.just(7), min_size=v, max_size=v),
            min_size=1,
            max_size=4,
        )
    ),
    top_p=st.floats(1e-6, 0.999999),
)
def test_top_p_keeps_the_smallest_set(rows, top_p):
    for weights in rows:
        assume(far_from_every_border(weights, top_p))
    scores = torch.tensor(rows, dtype=torch.float64).log()
    kept = keep_top_p(scores, top_p)
    for weights, before, after in zip(rows, scores, kept, strict=True):
        assert finite(after) == nucleus(weights, top_p)
        where = sorted(finite(after))
        assert torch.equal(after[where], before[where])


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), spread=st.integers(1, 60), top_p=st.floats(0.01, 0.999))
def test_top_p_beyond_the_partial_sort(seed, spread, top_p):
    """Flat rows, whose nucleus is wider than 256, beside peaked ones, whose is not."""
    rng = np.random.default_rng(seed)
    flat_row = rng.integers(1, 1 + spread, size=1000).tolist()
    peaked = [10**6 if token == 3 else weight for token, weight in enumerate(flat_row)]
    assume(far_from_every_border(flat_row, top_p))
    assume(far_from_every_border(peaked, top_p))
    kept = keep_top_p(torch.tensor([flat_row, peaked], dtype=torch.float64).log(), top_p)
    assert finite(kept[0]) == nucleus(flat_row, top_p)
    assert finite(kept[1]) == nucleus(peaked, top_p)


def test_top_p_of_a_flat_distribution_keeps_all():
    scores = torch.zeros(2, 1000, dtype=torch.float64)
    assert torch.equal(keep_top_p(scores, 0.9), scores)


def test_top_p_just_below_one_on_a_sum_that_rounds_short():
    scores = torch.randn(4, 5000, generator=torch.Generator().manual_seed(0)).double()
    kept = keep_top_p(scores, 1 - 2.0**-53)
    # all but what rounding cannot see: at most v ulps of probability in all
    lost = torch.where(torch.isfinite(kept), -torch.inf, scores).logsumexp(1)
    assert bool((lost - scores.logsumexp(1) < math.log(5000 * 2.0**-52)).all())


@pytest.mark.parametrize("top_p", [1e-300, 1e-9, 0.2])
def test_a_tiny_top_p_keeps_the_likeliest(top_p):
    kept = keep_top_p(torch.tensor([[0.0, 3.0, 1.0, 3.0], [0.0, 1.0, 2.0, 9.0]]).double(), top_p)
    assert [finite(row) for row in kept] == [{1, 3}, {3}]  # both of a tie


@pytest.mark.parametrize("width", [3, 1000])
def test_one_possible_token_stays_the_only_one(width):
    scores = torch.full((1, width), -torch.inf, dtype=torch.float64)
    scores[0, 1] = -5.0
    assert finite(keep_top_p(scores, 0.9)[0]) == {1}
    assert finite(keep_top_k(scores, 2)[0]) == {1}
    assert outcome_scores(scores, torch.tensor([1]), sampled(0.7, 2, 0.9)).argmax() == width


def test_top_p_of_one_and_top_k_of_zero_keep_all():
    scores = torch.randn(2, 9)
    assert torch.equal(keep_top_p(scores, 1.0), scores)
    assert torch.equal(keep_top_k(scores, 0), scores)
    assert torch.equal(keep_top_k(scores, 9), scores)
    assert torch.equal(keep_top_k(scores, 99), scores)


@given(weights=st.lists(st.integers(-50, 50), min_size=1, max_size=30), top_k=st.integers(1, 40))
def test_top_k_keeps_the_k_likeliest_and_those_level(weights, top_k):
    kept = finite(keep_top_k(torch.tensor([weights], dtype=torch.float64), top_k)[0])
    assert kept == {t for t, w in enumerate(weights) if sum(o > w for o in weights) < top_k}


@given(st.lists(st.integers(-9, 9), min_size=3, max_size=20, unique=True), st.integers(0, 99))
def test_temperature_0_draws_the_likeliest_whatever_the_filters(logits, top_k):
    """A stop that is likeliest ends the answer; two stops do not add up."""
    scores = outcome_scores(
        torch.tensor([logits], dtype=torch.float32), torch.tensor([0, 1]), sampled(0.0, top_k, 0.3)
    )
    best = logits.index(max(logits))
    assert draw(scores, None).tolist() == [len(logits) if best < 2 else best]


# Noise for the possible outcomes alone


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    possible=st.lists(st.integers(1, 300), min_size=1, max_size=5),
    turn=st.integers(0, 3),
    position=st.integers(0, 99),
)
def test_noise_for_the_possible_outcomes_draws_the_same(seed, possible, turn, position):
    """From one possible outcome to all: both sides of the border between the two ways."""
    rng = np.random.default_rng(seed)
    scores = torch.full((len(possible), 300), -torch.inf, dtype=torch.float64)
    for row, few in enumerate(possible):
        scores[row, rng.choice(300, few, replace=False)] = torch.from_numpy(rng.normal(size=few))
    cache = GumbelCache(torch.from_numpy(rng.integers(-(2**63), 2**63 - 1, size=300)))
    places = [(seed + row, turn, position + row) for row in range(len(possible))]
    assert torch.equal(draw_at(scores, cache, places), draw(scores, cache.at(places)))


# As on a GPU, where nothing may be asked of the device on the way


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    width=st.integers(1, 600),
    levels=st.integers(1, 40),
    spread=st.sampled_from([0.01, 1.0, 30.0]),
    top_p=st.floats(1e-9, 1 - 2.0**-53),
    impossible=st.floats(0, 0.95),
)
def test_sorting_all_tokens_ends_where_sorting_few_does(
    seed, width, levels, spread, top_p, impossible
):
    """To the bit: flat rows and peaked ones, ties, tokens that a filter has dropped before."""
    rng = np.random.default_rng(seed)
    values = spread * rng.normal(size=levels)
    drawn = rng.choice(values, (3, width))
    drawn[:, 1:][rng.random((3, width - 1)) < impossible] = -math.inf
    scores = torch.from_numpy(drawn)
    total = torch.logsumexp(scores, dim=1, keepdim=True)
    least = total + math.log((1 - top_p) / width)
    ends = [end(scores, total, least, top_p) for end in (_end_of_all, _end_of_few)]
    assert torch.equal(*ends)


def test_sorting_all_tokens_ends_where_sorting_few_does_on_sums_that_round_short():
    scores = torch.randn(64, 500, generator=torch.Generator().manual_seed(0)).double()
    scores[:, 490:] = -200  # too rare to be needed, and beyond the end where the sum falls short
    total = scores.logsumexp(1, keepdim=True)
    least = total + math.log(2.0**-53 / 500)
    of_all, of_few = (end(scores, total, least, 1 - 2.0**-53) for end in (_end_of_all, _end_of_few))
    assert torch.equal(of_all, of_few)
    ranked = scores.sort(1, descending=True).values
    assert ((ranked - total).exp().cumsum(1)[:, -1] < 1 - 2.0**-53).any()


@pytest.mark.parametrize("sampling", [sampled(0.0), sampled(1.0), sampled(0.7, top_k=2)])
def test_what_is_no_number_is_told_by_the_draw(sampling):
    logits = torch.tensor([[0.0, 1.0, 2.0], [0.0, math.nan, 2.0], [1.0, 0.0, 0.0]])
    scores = outcome_scores(logits, torch.tensor([0]), sampling)
    noise = GumbelCache(torch.arange(4)).at([(7, 0, 0)] * 3) if sampling.temperature else None
    drawn = draw(scores, noise).tolist()
    assert drawn[1] == NO_NUMBER
    assert NO_NUMBER not in drawn[::2]


# What coupling promises


@settings(deadline=None)
@given(
    logits=st.integers(2, 8).flatmap(
        lambda v: st.tuples(
            *[st.lists(st.floats(-4, 4, width=32), min_size=v, max_size=v) for _ in range(2)]
        )
    ),
    seed=st.integers(0, 2**64 - 1),
)
def test_counterfactual_stability(logits, seed):
    """If i was drawn under p, no j that gained less than i is drawn under p'.

    Oberst & Sontag (2019): p'_i / p_i >= p'_j / p_j and i drawn under p imply j not drawn under p'.
    """
    size = len(logits[0])
    vocabulary = vocabulary_of(size, [0])
    before, after = (
        outcome_scores(torch.tensor([row]), torch.tensor([0]), sampled(1.0))[0] for row in logits
    )
    noise = GumbelCache(torch.from_numpy(vocabulary.keys)).at([(seed, 0, 0)])
    i, j = (int(draw(scores[None], noise)) for scores in (before, after))
    gain = after - before  # log p' / p, up to a constant
    # four sums of magnitude under 32, each rounded by 2**-49 at most
    assert i == j or gain[j] - gain[i] > -4 * 2.0**-49


def test_coupled_draws_agree_as_often_as_theory_says():
    """P(same) of Gumbel-max under one noise: sum_i 1 / sum_j max(p_j/p_i, q_j/q_i)."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.25, 0.35])
    noise = GumbelCache(torch.from_numpy(vocabulary_of(3, []).keys)).at(
        [(seed, 0, 1) for seed in range(SEEDS)]
    )
    nowhere = torch.tensor([], dtype=int)
    first, second = (
        draw(outcome_scores(torch.tensor(law).log()[None], nowhere, sampled(1.0)), noise)
        for law in (p, q)
    )
    same = sum(1 / np.maximum(p / p[i], q / q[i]).sum() for i in range(3))
    agreed = int((first == second).sum())
    assert chi_square_p([agreed, SEEDS - agreed], np.array([same, 1 - same])) > LEVEL
    assert same > 1.5 * (p * q).sum()  # far from the independent rate
