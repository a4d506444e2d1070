"""Bytes coupling: each model's own law for whole answers, one noise whatever the vocabulary."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coupled_arena.core.records import Sampling
from coupled_arena.generation import byte_coupling
from coupled_arena.generation.byte_coupling import (
    ByteWalk,
    byte_gap,
    make_trie,
    questions,
    whole_weights,
)
from coupled_arena.generation.noise import gumbel_at, words_at
from coupled_arena.generation.sampling import NO_NUMBER, outcome_scores
from coupled_arena.generation.vocabulary import QUESTION_KEYS, make_vocabulary
from tests.generation.byte_walks import BYTE, TOKEN_END, label_key, plain_draw
from tests.generation.chi_square import chi_square_p

LEVEL = 1e-4
SEEDS = 50_000
CPU = torch.device("cpu")
SPELLING = st.none() | st.binary(max_size=1) | st.text("ab\xff", min_size=1).map(str.encode)
SPELLINGS = st.lists(SPELLING, min_size=1, max_size=12)
# Prefixes of each other, bytes of one character apart and together, a control token, repetitions.
WORDS = [b"a", b"ab", b"abb", b"b", b"ba", b"\xc3", b"\xa9", b"\xc3\xa9", None, b"ab", b"b"]
LOGITS = [0.3, 0.9, -0.2, 0.5, 0.1, -0.6, -0.4, 0.2, -0.5, 0.4, -1.0]


def vocabulary_of(spellings, stops=()):
    return make_vocabulary([f"t{i}" for i in range(len(spellings))], list(spellings), stops)


def scores_of(logits, stops=(), sampling=Sampling(temperature=1.0, top_p=1.0)):  # noqa: B008
    wanted = torch.tensor([logits], dtype=torch.float64)
    return outcome_scores(wanted, torch.tensor(list(stops), dtype=torch.int64), sampling)


def places_of(seeds, offsets):
    return [(seed, 0, int(offset)) for seed, offset in zip(seeds, offsets, strict=True)]


@given(SPELLINGS)
def test_the_trie_has_a_node_for_each_beginning(spellings):
    trie = make_trie(spellings)
    spoken = {i: s for i, s in enumerate(spellings) if s}
    begun = {s[:length] for s in spoken.values() for length in range(len(s) + 1)} | {b""}
    begun = sorted(begun, key=lambda beginning: (len(beginning), beginning))
    assert trie.silent.tolist() == [i for i, s in enumerate(spellings) if not s]
    assert len(trie.low) == len(begun)
    for node, beginning in enumerate(begun):
        inside = sorted((s, i) for i, s in spoken.items() if s.startswith(beginning))
        assert trie.order[trie.low[node] : trie.high[node]].tolist() == [i for _, i in inside]
        assert trie.ends[node] == sum(s == beginning for s, _ in inside)
        first = trie.first[node]
        longer = [b for b in begun if b[:-1] == beginning and b]
        assert begun[first : first + trie.children[node]] == longer
        assert [trie.byte[begun.index(b)] for b in longer] == [b[-1] for b in longer]


@settings(max_examples=50)
@given(SPELLINGS, st.data(), st.sampled_from([1.0, 0.9, 0.5]))
def test_answers_on_the_way_to_a_token_have_its_probability(spellings, data, top_p):
    logits = data.draw(st.lists(st.floats(-9, 9), min_size=len(spellings), max_size=len(spellings)))
    stops = data.draw(st.sets(st.integers(0, len(spellings) - 1)))
    scores = scores_of(logits, stops, Sampling(temperature=0.8, top_p=top_p))
    law = torch.softmax(scores[0], 0).tolist()
    assert sum(law) == pytest.approx(1, abs=1e-12)
    walk = ByteWalk(vocabulary_of(spellings, stops), CPU)
    for outcome in range(len(law)):
        asked = questions(walk, scores[0], (7, 0, 3), outcome) if law[outcome] else ()
        shares = (q.masses[q.wanted] / q.masses.sum() for q in asked)
        assert (math.prod(shares) if law[outcome] else 0) == pytest.approx(law[outcome], abs=1e-9)


@settings(max_examples=50)
@given(SPELLINGS, st.data(), st.integers(0, 2**62), st.sampled_from([0, 6, 2**32 - 1]))
def test_plain_python_draws_the_same(spellings, data, seed, offset):
    logits = data.draw(st.lists(st.floats(-9, 9), min_size=len(spellings), max_size=len(spellings)))
    vocabulary = vocabulary_of(spellings, [0])
    scores = scores_of(logits, [0], Sampling(temperature=1.0, top_p=0.95))
    walk, place = ByteWalk(vocabulary, CPU), (seed, 2, offset)
    law = torch.softmax(scores[0], 0).tolist()
    drawn = plain_draw(vocabulary, law, place)
    assert walk.draw(scores, [place]).tolist() == [drawn]
    assert byte_gap(walk, scores[0], place, drawn) == 0
    for other in set(range(len(law))) - {drawn}:
        gap = byte_gap(walk, scores[0], place, other)
        assert gap > 0
        assert (gap == math.inf) == (law[other] == 0)


def test_all_rows_at_once_draw_what_the_loop_draws(monkeypatch):
    """As on a GPU, or where there is no numba: other code, the same words and whole weights."""
    rng = random.Random(5)
    vocabulary = vocabulary_of([*WORDS, b"", None], [3])
    scores = torch.cat([scores_of([rng.gauss(0, 2) for _ in range(13)], [3]) for _ in range(400)])
    scores[::7, 2] = -torch.inf
    places = places_of(
        [rng.getrandbits(64) for _ in scores], [rng.choice([0, 3, 2**32 - 1]) for _ in scores]
    )
    by_loop = ByteWalk(vocabulary, CPU).draw(scores, places)
    monkeypatch.setattr(byte_coupling, "_loop", lambda: None)
    assert ByteWalk(vocabulary, CPU).draw(scores, places).tolist() == by_loop.tolist()
    assert len(set(by_loop.tolist())) == 13  # all but the stop, and the end


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("longer", "token"), [(0.0, 0), (1.5e-8, 0), (6e-8, 1)])
def test_a_word_next_to_the_last_is_not_rounded(monkeypatch, compiled, longer, token):
    """In 24 bits it were 1, at which a token that cannot go on does not end."""
    place = torch.tensor([11080770]), torch.tensor([0]), torch.tensor([1])
    assert int(words_at(*place, torch.from_numpy(QUESTION_KEYS[:1]))) == 2**32 - 115
    if not compiled:
        monkeypatch.setattr(byte_coupling, "_loop", lambda: None)
    walk = ByteWalk(vocabulary_of([b"a", b"ab"]), CPU)
    scores = scores_of([0.0, math.log(longer) if longer else -math.inf])
    assert walk.draw(scores, [(11080770, 0, 0)]).tolist() == [token]


@pytest.mark.parametrize("compiled", [True, False])
def test_what_is_no_number_is_told(monkeypatch, compiled):
    if not compiled:
        monkeypatch.setattr(byte_coupling, "_loop", lambda: None)
    scores = scores_of([0.0, math.nan, 0.0])
    walk = ByteWalk(vocabulary_of([b"a", b"b", None]), CPU)
    both = torch.cat([scores, scores_of([0.0, -9.0, -math.inf])])
    assert walk.draw(both, [(3, 0, 0)] * 2).tolist() == [NO_NUMBER, 0]


@pytest.mark.parametrize("top_p", [1.0, 0.8])
def test_the_law_of_a_token_is_exact(top_p):
    scores = scores_of(LOGITS, [7], Sampling(temperature=0.9, top_p=top_p))
    walk = ByteWalk(vocabulary_of(WORDS, [7]), CPU)
    drawn = walk.draw(scores.expand(SEEDS, -1), places_of(range(SEEDS), [2] * SEEDS))
    counts = np.bincount(drawn.numpy(), minlength=len(WORDS) + 1)
    assert chi_square_p(counts, torch.softmax(scores[0], 0).numpy()) > LEVEL


TABLE = torch.randn(len(WORDS), len(WORDS), generator=torch.Generator().manual_seed(3)) * 0.8


def joint_law(vocabulary, length):
    """Return the law of the first outcomes of a chain, by all their products."""
    laws = torch.softmax(outcome_scores(TABLE, torch.tensor([7]), Sampling(1.0, 0, 1.0)), 1).numpy()
    joint = {}
    for path in product(range(len(WORDS) + 1), repeat=length):
        share, last = 1.0, 0
        for outcome in path:
            share *= laws[last, outcome] if last != vocabulary.end else float(outcome == last)
            last = outcome
        if share:
            joint[path] = share
    return joint


def chained(draw, vocabulary, seeds, length):
    """Draw chains, each token from the row of the one before, at the offset where that ends."""
    every = outcome_scores(TABLE, torch.tensor([7]), Sampling(1.0, 0, 1.0))
    last, offsets, paths = np.zeros(seeds, int), np.zeros(seeds, int), []
    for _ in range(length):
        going = np.flatnonzero(last != vocabulary.end)
        drawn = np.full(seeds, vocabulary.end)
        drawn[going] = draw(every[last[going]], places_of(going, offsets[going]))
        for at in going[drawn[going] != vocabulary.end]:
            offsets[at] = vocabulary.next_offset(int(offsets[at]), int(drawn[at]))
        last = drawn
        paths.append(drawn)
    return Counter(zip(*(path.tolist() for path in paths), strict=True))


def joint_p(counts, joint):
    assert set(counts) <= set(joint)
    return chi_square_p([counts[path] for path in joint], np.array(list(joint.values())))


@pytest.mark.parametrize("length", [2, 3])
def test_the_law_of_several_tokens_together_is_exact(length):
    vocabulary = vocabulary_of(WORDS, [7])
    counts = chained(ByteWalk(vocabulary, CPU).draw, vocabulary, SEEDS, length)
    assert joint_p(counts, joint_law(vocabulary, length)) > LEVEL


def test_asking_for_the_end_among_the_bytes_breaks_the_law_of_two_tokens():
    """The fault that the two questions avoid; of single tokens it has the law, too."""
    law = {"a": 0.25, "ab": 0.5, "b": 0.25}

    def noise(kind, label, offsets):
        keys = torch.full((SEEDS,), int(label_key(kind, label)[0]))
        places = torch.arange(SEEDS), torch.zeros(SEEDS, dtype=torch.int64), torch.tensor(offsets)
        return gumbel_at(*places, keys).numpy()

    def one_question(offsets):
        a, b = noise(BYTE, b"a", offsets), noise(BYTE, b"b", offsets)
        end = noise(TOKEN_END, b"", offsets + 1) + math.log(law["a"])
        goes = noise(BYTE, b"b", offsets + 1) + math.log(law["ab"])
        after = np.where(end > goes, "a", "ab")
        return np.where(b + math.log(law["b"]) > a + math.log(law["a"] + law["ab"]), "b", after)

    def two_questions(offsets):
        scores = scores_of([math.log(share) for share in law.values()])
        drawn = walk.draw(scores.expand(SEEDS, -1), places_of(range(SEEDS), offsets))
        return np.array(list(law))[drawn.numpy()]

    walk = ByteWalk(vocabulary_of([word.encode() for word in law]), CPU)
    for draw, right in ((one_question, False), (two_questions, True)):
        first = draw(np.zeros(SEEDS, int))
        second = draw(np.char.str_len(first))
        single = Counter(first.tolist())
        both = Counter(zip(first.tolist(), second.tolist(), strict=True))
        assert chi_square_p([single[word] for word in law], list(law.values())) > LEVEL
        pairs = list(product(law, repeat=2))
        p = chi_square_p([both[pair] for pair in pairs], [law[x] * law[y] for x, y in pairs])
        assert p > LEVEL if right else p < 1e-100


def test_weights_are_whole_and_lose_less_than_a_word_can_tell():
    scores = scores_of(LOGITS)
    weights = whole_weights(scores)
    assert weights.dtype == torch.int64
    shares = weights[0].double() / 2**60
    assert torch.allclose(shares, torch.softmax(scores[0], 0), rtol=0, atol=2**-52)
