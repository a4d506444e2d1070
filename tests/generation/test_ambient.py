"""Requests of any client: their noise, their law, and which of them are left alone."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from coupled_arena.generation.ambient import (
    AmbientSeeds,
    Filters,
    Penalties,
    ambient_ids,
    filters_of,
    noise_seed,
    penalised,
    prompt_text,
)
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.vocabulary import make_vocabulary

WORDS = [b"", b" a", b"b", b"c", b" d", b"e", None, b"ab"]
NAMES = [str(number) for number in range(len(WORDS))]
VOCABULARY = make_vocabulary(NAMES, WORDS, ())
PLAIN = Filters(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, stops=())
DRAWS = 4000


def asked(**given):
    """Return a request, with vLLM's defaults."""
    known = {
        "temperature": 1.0,
        "top_k": 0,
        "top_p": 1.0,
        "min_p": 0.0,
        "seed": None,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "stop_token_ids": [],
        "eos_token_id": None,
        "extra_args": None,
    }
    return SimpleNamespace(**(known | given))


def drawn(logits, filters, draws=DRAWS):
    """Return the ids of as many requests, each with noise of its own."""
    noise = GumbelCache(torch.from_numpy(VOCABULARY.keys))
    places = [(noise_seed(seed, b"prompt"), 0, seed % 7) for seed in range(draws)]
    return ambient_ids(logits.expand(draws, -1), noise, filters, places)


def chance(logits, filters, draws=DRAWS):
    """Return how probable counts are that lie as far from a law as those drawn."""
    law = logits.double()
    law = torch.where(law < law.max() + np.log(filters.min_p or 1e-300), -torch.inf, law)
    counts = torch.bincount(drawn(logits, filters, draws), minlength=len(law)).numpy()
    expected = law.softmax(0).numpy() * draws
    assert not counts[expected == 0].any()
    return chisquare(counts[expected > 0], expected[expected > 0]).pvalue


LOGITS = torch.tensor([0.3, 1.0, -0.5, 0.1, -2.0, 0.7, 0.2, -1.0])


def test_the_law_is_that_of_the_model():
    assert chance(LOGITS, PLAIN) > 1e-3


def test_the_law_with_two_tokens_that_end_the_answer():
    """Merged in the draw; each comes out as often as it would by itself."""
    assert chance(LOGITS, Filters(1.0, 0, 1.0, 0.0, (5, 6))) > 1e-3


def test_min_p_drops_what_is_unlikely():
    assert chance(LOGITS, Filters(1.0, 0, 1.0, 0.4, ())) > 1e-3


def test_temperature_top_k_and_top_p():
    ids = drawn(LOGITS, Filters(0.5, 3, 1.0, 0.0, ()))
    law = (LOGITS.double() / 0.5).topk(3)
    counts = torch.bincount(ids, minlength=8)[law.indices].numpy()
    assert counts.sum() == DRAWS
    assert chisquare(counts, law.values.softmax(0).numpy() * DRAWS).pvalue > 1e-3
    # The likeliest token has .29 of the probability, and the second .22.
    assert set(drawn(LOGITS, Filters(1.0, 0, 0.3, 0.0, ())).tolist()) == {1, 5}


def test_two_vocabularies_draw_the_same_token():
    other = make_vocabulary(NAMES[::-1], WORDS[::-1], ())
    noise = GumbelCache(torch.from_numpy(other.keys))
    places = [(noise_seed(seed, b"prompt"), 0, seed % 7) for seed in range(50)]
    mirrored = ambient_ids(LOGITS.flip(0).expand(50, -1), noise, PLAIN, places)
    known = drawn(LOGITS, PLAIN, 50)
    assert (7 - mirrored).equal(known)


def test_what_is_no_number_breaks_nothing_off():
    noise = GumbelCache(torch.from_numpy(VOCABULARY.keys))
    for given in (float("nan"), float("-inf"), float("inf")):
        for filters in (PLAIN, Filters(1.0, 2, 0.9, 0.1, (1, 99))):
            ids = ambient_ids(torch.full((2, 8), given), noise, filters, [(1, 0, 0), (2, 0, 0)])
            assert ((ids >= 0) & (ids < 8)).all()


def test_penalties_are_those_of_vllm():
    logits = torch.tensor([2.0, -2.0, 1.0, 1.0, -1.0, 0.0, 0.0, 0.0])
    less = penalised(logits, Penalties(2.0, 0.5, 0.25), prompt=[0, 1, 99], written=[2, 2, 4, -1])
    # First what is there, in prompt or answer, is divided; then what is in the answer is taken off.
    assert less.tolist() == [1.0, -4.0, 0.5 - 0.5 - 0.5, 1.0, -2.0 - 0.25 - 0.5, 0.0, 0.0, 0.0]
    assert penalised(logits, Penalties(), [0], [1]) is logits
    assert penalised(logits, Penalties(2.0), [], []).equal(logits)


def test_the_seed_is_a_hash_of_seed_and_prompt():
    """Golden values: servers of other versions must have the same."""
    assert noise_seed(1234, b"Once") == 0x52F68FF957A74FD3
    assert noise_seed(0, b"Once", 0) == 0xE624BEBB4890E191
    seeds = [
        *(noise_seed(seed, prompt) for seed in (0, 1, -1) for prompt in (b"", b"a", b"b")),
        *(noise_seed(0, b"a", ordinal) for ordinal in range(3)),
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**64 for seed in seeds)


def test_a_prompt_is_known_by_its_text():
    assert prompt_text(VOCABULARY, [6, 2, 3, 99, -1]) == b"bc"
    stripping = make_vocabulary(NAMES, WORDS, (), strips_first_space=True)
    assert prompt_text(stripping, [6, 1, 4]) == b"a d"
    assert prompt_text(VOCABULARY, [1, 4]) == b" a d"
    # The same text in other tokens has the same noise.
    assert prompt_text(VOCABULARY, [1, 2]) == b" ab"


def test_a_seed_repeats_an_answer_and_no_seed_does_not():
    seeds = AmbientSeeds(VOCABULARY, server_seed=5)
    there = AmbientSeeds(VOCABULARY, server_seed=5)
    with_seed = [seeds.draw_of(asked(seed=9), [1], resumed=False).seed for _ in range(2)]
    assert with_seed[0] == with_seed[1]
    first = [seeds.draw_of(asked(), [1], resumed=False).seed for _ in range(3)]
    assert len({*first, *with_seed}) == 4
    assert first == [there.draw_of(asked(), [1], resumed=False).seed for _ in range(3)]
    other = AmbientSeeds(VOCABULARY, server_seed=6)
    assert other.draw_of(asked(), [1], resumed=False).seed not in first
    assert other.draw_of(asked(seed=9), [1], resumed=False).seed == with_seed[0]


def test_a_resumed_request_has_the_noise_it_had():
    """Where another one has the same prompt nobody knows which it is: it gets noise of its own."""
    seeds = AmbientSeeds(VOCABULARY, 0)
    first = seeds.draw_of(asked(), [1], resumed=False)
    assert seeds.draw_of(asked(), [1], resumed=True) == first
    second = seeds.draw_of(asked(), [1], resumed=False)
    third = seeds.draw_of(asked(), [1], resumed=True)
    assert len({first.seed, second.seed, third.seed}) == 3


def test_the_oldest_prompts_are_forgotten(monkeypatch):
    monkeypatch.setattr("coupled_arena.generation.ambient._KNOWN_PROMPTS", 2)
    seeds = AmbientSeeds(VOCABULARY, 0)
    first = [seeds.draw_of(asked(), [prompt], resumed=False) for prompt in (1, 2, 3)]
    assert len(seeds._asked) == 2
    assert seeds.draw_of(asked(), [1], resumed=False) == first[0]


@pytest.mark.parametrize("temperature", [0, 1e-6])
def test_greedy_requests_are_left_alone(temperature):
    seeds = AmbientSeeds(VOCABULARY, 0)
    assert seeds.draw_of(asked(temperature=temperature), [1], resumed=False) is None


def test_filters_are_those_of_the_request():
    params = asked(temperature=0.7, top_k=-1, top_p=0.9, min_p=0.1, eos_token_id=6)
    params.stop_token_ids = [7, 2]
    assert filters_of(params) == Filters(0.7, 0, 0.9, 0.1, (2, 6, 7))
    assert filters_of(asked(stop_token_ids=None)).stops == ()
