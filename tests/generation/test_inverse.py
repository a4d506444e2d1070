"""Inverse transform sampling: the exact law, one number a step, one order in all vocabularies."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from coupled_arena.core.errors import ModelError
from coupled_arena.core.records import Prompt, Sampler, Sampling
from coupled_arena.generation.lockstep import decode
from coupled_arena.generation.noise import GumbelCache, noise_words
from coupled_arena.generation.sampling import (
    NO_NUMBER,
    draw_inverse,
    inverse_gap,
    outcome_scores,
)
from coupled_arena.generation.turns import next_request
from coupled_arena.generation.vocabulary import token_key
from tests.generation.chi_square import chi_square_p
from tests.generation.known_answers import engine_of, request
from tests.generation.markov import random_chain
from tests.generation.test_sampling import LEVEL, LOGITS, exact_law, sampled, vocabulary_of
from tests.store.conftest import make_battle

SEEDS = 20_000
INVERSE = Sampling(temperature=0.9, max_new_tokens=12, coupling=Sampler.INVERSE.coupling)


def drawn(logits, stops, sampling, *, keys=None, seeds=SEEDS, position=5):
    """Draw over many seeds along the true path."""
    keys = vocabulary_of(len(logits), stops).keys if keys is None else keys
    scores = outcome_scores(torch.tensor([logits]), torch.tensor(stops, dtype=int), sampling)
    noise = GumbelCache(torch.from_numpy(keys))
    uniforms = noise.uniforms([(seed, 0, position) for seed in range(seeds)])
    return draw_inverse(scores.expand(seeds, -1), uniforms, noise.order)


@pytest.mark.parametrize("stops", [[], [2], [1, 5, 6]])
@pytest.mark.parametrize("sampling", [sampled(1.0), sampled(0.7, 4), sampled(1.8, 0, 0.9)])
def test_the_law_is_exact(sampling, stops):
    counts = np.bincount(drawn(LOGITS, stops, sampling).numpy(), minlength=len(LOGITS) + 1)
    assert chi_square_p(counts, exact_law(LOGITS, stops, sampling)) > LEVEL
    assert chi_square_p(counts, exact_law(LOGITS, stops, sampled(0.4))) < 1e-20  # it can fail


def uniform(seed, turn, position):
    """The number of one step, from the words themselves."""
    key = np.array([token_key(4, b"")], dtype=np.uint64).view(np.int64)
    at = [np.array([value]) for value in (seed, turn, position // 4)]
    return (int(noise_words(*at, key)[position % 4][0, 0]) + 0.5) / 2**32


@given(
    st.lists(st.floats(-8, 8), min_size=2, max_size=9),
    *(st.integers(0, 2**62), st.integers(0, 3), st.integers(0, 50)),
)
def test_a_plain_loop_draws_the_same(logits, seed, turn, position):
    keys = vocabulary_of(len(logits), []).keys
    weights = [*map(math.exp, logits), 0.0]
    order = sorted(range(len(keys)), key=lambda outcome: keys[outcome])
    ends = list(accumulate(weights[outcome] for outcome in order))
    at = uniform(seed, turn, position) * ends[-1]
    expected = next(o for o, end in zip(order, ends, strict=True) if end > at)
    scores = outcome_scores(
        torch.tensor([logits], dtype=torch.float64), torch.tensor([], dtype=int), sampled(1.0)
    )
    noise = GumbelCache(torch.from_numpy(keys))
    uniforms = noise.uniforms([(seed, turn, position)])
    assert float(uniforms[0]) == uniform(seed, turn, position)
    assert int(draw_inverse(scores, uniforms, noise.order)) == expected
    assert inverse_gap(scores, uniforms, noise.order, expected) == 0
    for other in set(range(len(logits))) - {expected}:
        low = ends[order.index(other)] - weights[other]
        far = max(low - at, at - low - weights[other]) / ends[-1]
        assert inverse_gap(scores, uniforms, noise.order, other) == pytest.approx(far, abs=1e-12)
    assert inverse_gap(scores, uniforms, noise.order, len(logits)) == math.inf


def test_what_is_impossible_is_never_drawn_not_even_at_the_edges():
    scores = torch.log(torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]], dtype=torch.float64))
    order = torch.arange(5)
    edges = torch.tensor(
        [0.5 / 2**32, 0.25 - 1e-12, 0.25 + 1e-12, 1 - 0.5 / 2**32], dtype=torch.float64
    )
    assert draw_inverse(scores.expand(4, -1), edges, order).tolist() == [1, 1, 3, 3]


def test_what_is_no_number_is_told():
    scores = torch.tensor([[0.0, math.nan], [0.0, 1.0]], dtype=torch.float64)
    found = draw_inverse(scores, torch.tensor([0.5, 0.1]).double(), torch.arange(2))
    assert found.tolist() == [NO_NUMBER, 0]


def test_vocabularies_that_number_their_tokens_otherwise_have_one_order():
    shuffled = [3, 0, 6, 1, 5, 2, 4]
    keys = vocabulary_of(len(LOGITS), []).keys
    moved = np.append(keys[shuffled], keys[-1])
    one = drawn(LOGITS, [], sampled(1.0), seeds=500)
    other = drawn([LOGITS[at] for at in shuffled], [], sampled(1.0), keys=moved, seeds=500)
    assert [shuffled[at] for at in other.tolist()] == one.tolist()
    assert len(set(one.tolist())) > 4


def test_laws_agree_where_their_intervals_overlap_and_stability_fails():
    keys = vocabulary_of(3, []).keys
    order = [o for o in np.argsort(keys) if o < 3]
    law, other = np.zeros(3), np.zeros(3)
    law[order], other[order] = (0.3, 0.3, 0.4), (0.02, 0.44, 0.54)
    a, b = (drawn(np.log(p).tolist(), [], sampled(1.0), keys=keys).numpy() for p in (law, other))
    same = 0.02 + 0.16 + 0.4  # 0 to .02, .3 to .46 and .6 to 1
    agreed = int((a == b).sum())
    assert chi_square_p([agreed, SEEDS - agreed], np.array([same, 1 - same])) > LEVEL
    # The second outcome has gained more than the third, and yet numbers go over from it.
    _, second, third = order
    assert other[second] / law[second] > other[third] / law[third]
    lost = int(((a == second) & (b == third)).sum())
    assert chi_square_p([lost, SEEDS - lost], np.array([0.14, 0.86])) > LEVEL
    gumbel = sum(1 / np.maximum(law / law[i], other / other[i]).sum() for i in range(3))
    assert gumbel > same + 0.05


def test_lines_of_both_samplers_decode_in_one_batch_as_they_do_alone():
    model = random_chain(["<q>", *"abcdefgh"], 5, stops=["h"])
    visits = [
        request(("fake", seed, [0]), sampling=sampling)
        for seed in range(6)
        for sampling in (INVERSE, Sampling(temperature=0.9, max_new_tokens=12))
    ]
    together = [running.lines[0].tokens for running in decode(engine_of(model), visits)]
    alone = [decode(engine_of(model), [one])[0].lines[0].tokens for one in visits]
    assert together == alone
    assert together[0::2] != together[1::2]  # the two draw otherwise from the same seeds


def test_coupled_lines_share_the_number_and_models_alike_say_the_same():
    words = ["<q>", *"abcdefgh"]
    one, same = (random_chain(words, 5, stops=["h"], name=name) for name in ("one", "same"))
    asked = [request(("one", 7, [0]), ("same", 7, [0]), sampling=INVERSE)]
    left, right = decode(engine_of(one, same), asked)[0].lines
    assert left.tokens == right.tokens
    apart = [request(("one", 7, [0]), ("same", 8, [0]), sampling=INVERSE)]
    left, right = decode(engine_of(one, same), apart)[0].lines
    assert left.tokens != right.tokens


@pytest.mark.parametrize("coupling", [INVERSE.coupling, "bytes"])
def test_a_server_is_not_asked_for_what_it_cannot_draw(coupling):
    class Served:
        def start_stream(self):
            raise AssertionError("unreachable")

        def encode(self, messages):
            return (0,)

    battle = make_battle("here", "there", sampling=replace(INVERSE, coupling=coupling))
    models = {"here": random_chain(["a", "b"], 1, name="here"), "there": Served()}
    with pytest.raises(ModelError, match="there: a model server draws by --sampler gumbel and"):
        next_request(models, battle, Prompt("Hello"))
