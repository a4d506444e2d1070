"""Bytes coupling in the engine: which vocabularies write the same text, and who chooses it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
import torch

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.records import AUTO, Sampling
from coupled_arena.core.settings import coupling_of
from coupled_arena.generation.lockstep import decode
from coupled_arena.generation.turns import settled
from coupled_arena.generation.vocabulary import make_vocabulary
from tests.generation.known_answers import engine_of, request
from tests.generation.markov import MarkovModel, random_chain

BYTES = Sampling(temperature=0.9, max_new_tokens=40, top_p=1.0, coupling="bytes")
WORDS = ["<q>", "the ", "then ", "th", "e ", "cat ", "é", "."]


def written(pair, seeds, sampling=BYTES):
    """Return the texts of two models, seed by seed."""
    asked = [request(*((m.name, seed, [0]) for m in pair), sampling=sampling) for seed in seeds]
    return [tuple(x.text for x in run.lines) for run in decode(engine_of(*pair), asked)]


def test_a_vocabulary_with_other_numbers_writes_the_same():
    model = random_chain(WORDS, 4, stops=["."])
    order = [0, *random.Random(1).sample(range(1, len(WORDS)), len(WORDS) - 1)]
    table, words = model.table[order][:, order], [WORDS[i] for i in order]
    other = MarkovModel("other", table, words, [words.index(".")])
    texts = written((model, other), range(60))
    assert [one for one, _ in texts] == [two for _, two in texts]
    assert len(set(texts)) > 30
    token = replace(BYTES, coupling="token")
    assert written((model, model), range(60), token) != texts  # it is another sampler


def chopped(model, cut, name="chopped"):
    """Return a model with one word written in two, of the same law of texts."""
    words = model.vocabulary.spellings
    whole, size = words.index(cut[0] + cut[1]), len(words)
    table = torch.full((size + 1, size + 1), -torch.inf)
    table[:size, :size] = model.table
    spelled = [*words, cut[1]]
    spelled[whole] = cut[0]
    table[size, :size] = model.table[whole]  # after its second half goes what went after the word
    table[whole, :] = -torch.inf
    table[whole, size] = 0.0
    copy = MarkovModel(name, table, ["x"] * (size + 1))
    stops = model.vocabulary.stops
    copy.vocabulary = make_vocabulary([str(i) for i in range(size + 1)], spelled, stops)
    return copy


def test_a_word_that_is_cut_where_no_other_ends_writes_the_same():
    model = random_chain(WORDS, 4, stops=["."])
    for cut in ((b"ca", b"t "), (b"\xc3", b"\xa9"), (b"then", b" ")):
        texts = written((model, chopped(model, cut)), range(60), replace(BYTES, max_new_tokens=200))
        assert [one for one, _ in texts] == [two for _, two in texts]


def test_a_word_that_is_cut_where_another_ends_does_not():
    """Whether a token ends is asked of the one that may, and has no meaning for the other.

    "the " and "th" are one node of the trie: at it the number of "does a token end here?" chooses.
    Cut in two, "th" of "the " ends there, too, and which of both it is, is chosen as a spelling.
    """
    model = random_chain(WORDS, 4, stops=["."])
    texts = written((model, chopped(model, (b"th", b"e "))), range(200))
    same = sum(one == two for one, two in texts)
    assert 0 < same < 200


def test_a_first_space_that_is_no_text_leaves_models_in_step():
    """One vocabulary writes a space before the first word, and drops it from the text."""
    model = random_chain(["<q>", "a", "b", "."], 3, stops=["."])
    model.table[0, [0, 3]] = -torch.inf  # the first word is one that both spell alike
    spaced = MarkovModel("spaced", model.table, ["<q>", " a", " b", "."], [3])
    spaced.vocabulary = replace(spaced.vocabulary, strips_first_space=True)
    once = replace(BYTES, max_new_tokens=1)
    texts = written((model, spaced), range(40), once)
    assert all(one == two for one, two in texts)
    assert set(texts) == {("a", "a"), ("b", "b")}
    spaced.vocabulary = replace(spaced.vocabulary, strips_first_space=False)
    assert any(one != two.lstrip() for one, two in written((model, spaced), range(40), once))


def test_lines_decode_in_one_batch_as_they_do_alone():
    model = random_chain(WORDS, 5, stops=["."])
    visits = [
        request(("fake", seed, [0]), sampling=sampling)
        for seed in range(6)
        for sampling in (BYTES, replace(BYTES, coupling="token"), replace(BYTES, temperature=0.0))
    ]
    together = [run.lines[0].tokens for run in decode(engine_of(model), visits)]
    alone = [decode(engine_of(model), [one])[0].lines[0].tokens for one in visits]
    assert together == alone


def test_an_answer_that_goes_on_reads_the_noise_after_what_is_written():
    model = random_chain(WORDS, 6, stops=["."])
    asked = request(("fake", 11, [0]), sampling=BYTES)
    (whole,) = decode(engine_of(model), [asked])[0].lines
    for length in range(1, min(6, len(whole.tokens))):
        before = tuple(whole.tokens[:length])
        goes_on = replace(asked.contenders[0], prompt=(0, *before), written=before)
        (rest,) = decode(engine_of(model), [replace(asked, contenders=(goes_on,))])[0].lines
        assert (*before, *rest.tokens)[: len(whole.tokens)] == tuple(whole.tokens)


def test_vocabularies_choose_how_noise_is_read():
    words = ["<q>", "a", "b", "."]
    one, same = (random_chain(words, 3, name=name, stops=["."]) for name in ("one", "same"))
    other = random_chain(["<q>", "a", "bb", "."], 3, name="other")
    models = {model.name: model for model in (one, same, other)}
    auto = replace(BYTES, coupling=AUTO)
    same.vocabulary = make_vocabulary(
        ["<s>", *"ab.q", "</s>"], [None, b"b", b"a", b".", b"<q>", None], [5]
    )
    assert settled(auto, ("one", "same"), models).coupling == "token"  # but for control tokens
    assert settled(auto, ("one", "same", "other"), models).coupling == "bytes"
    assert settled(replace(auto, temperature=0.0), ("one", "other"), models).coupling == "token"
    assert settled(BYTES, ("one", "same"), models) == BYTES
    other.served = True  # by a server, which knows noise for each token alone
    assert settled(auto, ("one", "same", "other"), models).coupling == "token"


@pytest.mark.parametrize(
    ("sampler", "coupling", "found"),
    [
        ("gumbel", None, "auto"),
        ("gumbel", "bytes", "bytes"),
        ("inverse", None, "inverse"),
        ("inverse", "auto", "inverse"),
    ],
)
def test_two_options_make_one_sampler(sampler, coupling, found):
    assert coupling_of(sampler, coupling, "auto") == found


def test_options_that_contradict_each_other_are_refused():
    with pytest.raises(SettingsError, match="Leave one of the two out"):
        coupling_of("inverse", "bytes", "auto")
    with pytest.raises(SettingsError, match="one of gumbel, inverse, not 'bytes'"):
        coupling_of("bytes", None, "auto")
