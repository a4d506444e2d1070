"""Two laws compared: against plain loops, drawn noise, and all answers of a small world."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest

from coupled_arena.stats import closeness
from coupled_arena.stats.closeness import (
    LawPairs,
    clustered_mean,
    compare_laws,
    divergences,
    going_together,
    joined,
)
from coupled_arena.stats.intervals import agreement_interval, critical_value


def laws(rows=40, size=30, seed=0, kept=None):
    """Pairs of laws that are alike, of which some exclude tokens that the other has."""
    rng = np.random.default_rng(seed)
    one = rng.normal(0, 2, (rows, size))
    other = one + rng.normal(0, 0.5, (rows, size))
    if kept:
        for each in (one, other):
            each[each < np.sort(each, axis=1)[:, -kept][:, None]] = -np.inf
    return one, other, rng.integers(size, size=rows)


def softmax(weights):
    return np.exp(weights) / np.exp(weights).sum()


def gumbel_agreement(p, q):
    """The formula, term by term: how often both draw each outcome."""
    found = np.zeros(len(p))
    for i in range(len(p)):
        if p[i] > 0 and q[i] > 0:
            found[i] = 1 / sum(max(p[j] / p[i], q[j] / q[i]) for j in range(len(p)))
    return found


@pytest.mark.parametrize("kept", [None, 7])
def test_every_measure_is_that_of_a_plain_loop(kept):
    one, other, drawn = laws(kept=kept)
    found = compare_laws(one, other, drawn)
    for at in range(len(one)):
        p, q = softmax(one[at]), softmax(other[at])
        both = gumbel_agreement(p, q)
        assert found.total_variation[at] == pytest.approx(sum(abs(p - q)) / 2, abs=1e-12)
        assert found.best[at] == pytest.approx(1 - sum(abs(p - q)) / 2, abs=1e-12)
        assert found.coupled[at] == pytest.approx(both.sum(), abs=1e-12)
        assert found.independent[at] == pytest.approx(p @ q, abs=1e-12)
        assert found.same_top[at] == (p.argmax() == q.argmax())
        assert found.both[at] == pytest.approx(both[drawn[at]], abs=1e-12)
        assert (found.first[at], found.second[at]) == pytest.approx(
            (p[drawn[at]], q[drawn[at]]), abs=1e-12
        )
        for own, their, kl in ((p, q, found.kl[at]), (q, p, found.kl_reverse[at])):
            here = own > 0
            if (their[here] == 0).any():
                assert kl == np.inf
            else:
                plain = (own[here] * np.log(own[here] / their[here])).sum()
                assert kl == pytest.approx(plain, abs=1e-12)
    again = divergences(one, other)
    np.testing.assert_array_equal(again, (found.kl, found.kl_reverse))


def test_draws_agree_as_often_as_is_said():
    """Gumbel noise drawn 40,000 times: the share of agreements is within binomial error."""
    one, other, drawn = laws(rows=4, size=12, seed=3, kept=9)
    found = compare_laws(one, other, drawn)
    rng, draws = np.random.default_rng(4), 40_000
    for at in range(len(one)):
        noise = rng.gumbel(size=(draws, one.shape[1]))
        ours, theirs = (one[at] + noise).argmax(1), (other[at] + noise).argmax(1)
        for expected, seen in (
            (found.coupled[at], ours == theirs),
            (found.both[at], (ours == theirs) & (ours == drawn[at])),
        ):
            error = (expected * (1 - expected) / draws) ** 0.5
            assert abs(seen.mean() - expected) < 4 * error + 1e-12


@pytest.mark.parametrize("scale", [0.01, 0.3, 1, 3, 10])
def test_no_coupling_beats_the_total_variation_and_noise_in_common_never_loses(scale):
    """Gumbel-max agrees at least (1 - d) / (1 + d), as Angel and Spinka have it."""
    rng = np.random.default_rng(7)
    one = rng.normal(0, 3, (300, 50))
    other = one + rng.normal(0, scale, one.shape)
    found = compare_laws(one, other, np.zeros(300, np.int64))
    distance = found.total_variation
    assert (found.coupled <= found.best + 1e-12).all()
    assert (found.coupled >= (1 - distance) / (1 + distance) - 1e-12).all()
    assert (found.independent <= found.best + 1e-12).all()


def test_ends_of_the_scale():
    one = np.array([[0.0, 1.0, -np.inf], [0.0, -np.inf, -np.inf]])
    same = compare_laws(one, one, np.array([0, 0]))
    assert same.total_variation.tolist() == [0, 0] == same.kl.tolist()
    np.testing.assert_allclose(same.coupled, 1)
    np.testing.assert_allclose(same.best, 1)
    apart = compare_laws(one[1:], np.array([[-np.inf, 0.0, 0.0]]), np.array([2]))
    assert (apart.total_variation, apart.coupled, apart.best) == (1, 0, 0)
    assert (apart.kl, apart.kl_reverse, apart.both) == (np.inf, np.inf, 0)
    extreme = compare_laws(np.array([[0.0, -800.0]]), np.array([[-800.0, 0.0]]), np.array([0]))
    assert (extreme.total_variation, extreme.coupled) == (1, 0)
    assert extreme.kl[0] == pytest.approx(800)


def test_chunks_change_nothing(monkeypatch):
    one, other, drawn = laws(kept=7)
    whole = compare_laws(one, other, drawn)
    monkeypatch.setattr(closeness, "_CELLS", 50)
    for name in vars(whole):
        np.testing.assert_allclose(
            getattr(compare_laws(one, other, drawn), name), getattr(whole, name), rtol=1e-12
        )
    assert len(joined([]).kl) == 0


def test_a_large_vocabulary_takes_little_memory():
    """256k outcomes at 500 positions: laws come in parts, and no part takes 100 MB more."""
    size, rng = 262_144, np.random.default_rng(0)
    one = rng.normal(0, 3, (8, size)).astype(np.float32)
    other = one + np.float32(0.1)
    one[:, ::2] += np.float32(0.3)
    tracemalloc.start()
    compare_laws(one, other, np.zeros(8, np.int64))
    divergences(one, other)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


# Whole answers, in a world of three tokens: all answers can be enumerated.

_LENGTH = 4


def world(seed):
    """Laws after every beginning, of two models."""
    rng = np.random.default_rng(seed)
    beginnings = [b for n in range(_LENGTH) for b in product(range(3), repeat=n)]
    return {b: (w := rng.normal(0, 1, 3), w + rng.normal(0, 0.6, 3)) for b in beginnings}


def along(made, answer):
    """Both laws along an answer, compared."""
    pairs = [made[answer[:at]] for at in range(len(answer))]
    one, other = (np.array([pair[of] for pair in pairs]) for of in (0, 1))
    return compare_laws(one, other, np.array(answer))


@pytest.mark.parametrize("writer", [0, 1])
def test_beginnings_in_common_are_expected_exactly(writer):
    """The mean over a writer's answers is the probability that both write the same, summed up."""
    made = world(5)
    answers = list(product(range(3), repeat=_LENGTH))
    read = {answer: along(made, answer) for answer in answers}
    chances = [np.prod(laws.second if writer else laws.first) for laws in read.values()]
    assert sum(chances) == pytest.approx(1)
    each = [going_together(laws, [slice(0, _LENGTH)], [writer], [True]) for laws in read.values()]
    for length in range(1, _LENGTH + 1):
        beginnings = {a[:length]: laws for a, laws in read.items()}.values()
        coupled = sum(np.prod(laws.both[:length]) for laws in beginnings)
        apart = sum(np.prod((laws.first * laws.second)[:length]) for laws in beginnings)
        ends = [(np.prod(x.first[:length]), np.prod(x.second[:length])) for x in beginnings]
        best = sum(map(min, ends))  # 1 less the total variation of the laws of beginnings
        for name, expected in (("coupled", coupled), ("independent", apart), ("best", best)):
            mean = sum(
                chance * getattr(one, name)[length - 1]
                for chance, one in zip(chances, each, strict=True)
            )
            assert mean == pytest.approx(expected, abs=1e-12)


def test_answers_drawn_otherwise_take_the_agreements():
    laws = along(world(5), (0, 1, 2, 0))
    found = going_together(laws, [slice(0, 4)], [0], [False])
    np.testing.assert_allclose(found.coupled, np.cumprod(laws.coupled))
    np.testing.assert_allclose(found.best, np.cumprod(laws.best))


def test_a_token_that_the_writer_can_no_longer_draw_ends_nothing():
    """Rounding may leave it just outside of top-p: the agreement there stands in its place."""
    law = np.array([0.0]), np.array([0.4]), np.array([0.0])
    zeros = np.zeros(1)
    laws = LawPairs(zeros, zeros, zeros, zeros, np.array([0.9]), np.array([0.5]), *law[:1], *law)
    found = going_together(laws, [slice(0, 1)], [0], [True])
    assert (found.coupled, found.independent) == (0.9, 0.5)


def test_means_are_clustered():
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(12), rng.integers(1, 9, 12))
    right = rng.random(len(clusters)) < 0.7
    agreed, counted = np.bincount(clusters, right), np.bincount(clusters)
    mean = clustered_mean(right.astype(float), clusters, 0.1)
    assert mean.value == pytest.approx(right.mean())
    assert (mean.low, mean.high) == pytest.approx(agreement_interval(agreed, counted, 0.1))
    values = rng.exponential(size=len(clusters))
    free = clustered_mean(values, clusters, 0.1, share=False)
    spread = np.bincount(clusters, values) - values.mean() * counted
    half = critical_value(0.1, 11) * (12 / 11 * (spread**2).sum()) ** 0.5 / len(values)
    assert (free.low, free.high) == pytest.approx((values.mean() - half, values.mean() + half))


def test_from_one_prompt_nothing_follows_and_from_none_nothing_is_said():
    one = clustered_mean(np.array([0.5, 0.6]), np.array([3, 3]), 0.05)
    assert (one.low, one.high) == (0, 1)
    assert clustered_mean(np.array([0.5, 0.6]), np.array([3, 3]), 0.05, share=False).high == np.inf
    assert np.isnan(clustered_mean(np.empty(0), np.empty(0, np.int64), 0.05).value)
