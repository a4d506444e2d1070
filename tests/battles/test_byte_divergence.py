"""Where answers of other vocabularies part, byte by byte, and that they are drawn again."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import zip_longest

import numpy as np
import pytest

from coupled_arena.battles.compare import divided
from coupled_arena.battles.first_divergence import explain_divergence, find_divergence
from coupled_arena.battles.pair_sampling import new_battle
from coupled_arena.battles.replay import replay
from coupled_arena.core.records import Finish, Prompt, Sampling
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.turns import next_request, settled, with_turn
from coupled_arena.views.tables.first_divergence import divergence_answer, divergence_table
from coupled_arena.views.words.first_divergence import divergence_words
from tests.generation.byte_walks import BYTE, gumbel, label_key
from tests.generation.markov import random_chain

AUTO = Sampling(temperature=0.8, top_p=0.95, max_new_tokens=12, coupling="auto")
ONE = ["<q>", "the ", "then ", "th", "e ", "é", "ê", "n", "."]
BYTES = {int(label_key(BYTE, bytes([byte]))[0]): byte for byte in range(256)}
OTHER = ["<q>", "th", "e", " ", "n", "the n", "é", "à", "."]


def asked(model):
    model.encode = lambda messages: (0,)
    model.arithmetic = {}
    return model


@pytest.fixture(scope="module")
def models():
    pair = (("one", ONE, 3), ("other", OTHER, 4))
    return {
        name: asked(random_chain(words, seed, name=name, stops=["."])) for name, words, seed in pair
    }


def played(models, seed, sampling=AUTO):
    battle = new_battle(list(models), 2, sampling, coupled_share=1.0, rng=random.Random(seed))
    battle = replace(battle, sampling=settled(battle.sampling, battle.models, models))
    (running,) = decode(LockstepEngine(models), [next_request(models, battle, Prompt("x"))])
    return with_turn(battle, Prompt("x"), running, models)


def shared(one, other):
    """Return how many bytes two texts have in common, their ends counted."""
    pairs = enumerate(zip_longest(one, other))
    return next((at for at, (x, y) in pairs if x != y), len(one))


@pytest.mark.slow
def test_answers_part_at_the_first_byte_that_differs(models):
    kinds = Counter()
    for seed in range(60):
        battle = played(models, seed)
        assert battle.sampling.coupling == "bytes"
        said = [
            b"".join(models[battle.models[r.place]].vocabulary.spellings[t] for t in r.tokens)
            + b"\0" * (r.finish is Finish.STOP)  # the end, of which a cut answer says nothing
            for r in sorted(battle.replies, key=lambda reply: reply.place)
        ]
        parting = find_divergence(battle, models, 0)
        common = shared(*said)
        if common == min(map(len, said)):
            assert parting is None
            continue
        assert (parting.position, parting.by_bytes) == (common, True)
        assert parting.common.encode() == said[0][:common].decode(errors="ignore").encode()
        reason = explain_divergence(battle, models, 0)
        assert reason.again == (True, True)
        kinds.update(option.kind for option in reason.options if any(option.chosen))
        check_options(battle, reason, said)
        parts = divided([r.text for r in sorted(battle.replies, key=lambda reply: reply.place)])
        assert parts[0]["common"].startswith(parting.common)  # both marks lie at one character
    assert {"text", "end"} <= set(kinds)
    assert replay(battle, models).identical


def check_options(battle, reason, said):
    """Bytes have the noise of their offset; what was drawn has the most of odds and noise."""
    at = reason.divergence.position
    for place in range(2):
        scores = {}
        for option in reason.options:
            seen = option.seen[place]
            if seen is None:
                continue
            if option.kind == "text":
                byte = next(
                    b for b in range(256) if int(label_key(BYTE, bytes([b]))[0]) == seen.key
                )
                noise = gumbel((battle.seed, 0, at), label_key(BYTE, bytes([byte]))[0])
                assert seen.noise == pytest.approx(noise, rel=1e-12)
                assert option.chosen[place] == (said[place][at] == byte)
            scores[option.chosen[place]] = max(
                scores.get(option.chosen[place], -np.inf), np.log(seen.probability) + seen.noise
            )
        assert scores[True] > scores.get(False, -np.inf)


def test_words_and_table_speak_of_bytes(models):
    several = (played(models, seed) for seed in range(50))
    battle = next(battle for battle in several if find_divergence(battle, models, 0))
    reason = explain_divergence(battle, models, 0)
    assert "byte" in divergence_words(reason)[0]
    assert divergence_table(reason).columns[0].heading == "Next byte"
    assert divergence_answer(reason)["by_bytes"] is True


def test_what_no_token_goes_on_with_is_not_laid_to_the_filters(models):
    """Neither here: one model may be in the midst of a token, or have none that begins so."""
    alone = 0
    for seed in range(60):
        battle = played(models, seed, replace(AUTO, top_p=1.0))
        if not find_divergence(battle, models, 0):
            continue
        told = " ".join(divergence_words(explain_divergence(battle, models, 0)))
        assert "cuts it off" not in told
        alone += "no token within top-k and top-p continues with it" in told
    assert alone > 10


def test_a_stored_answer_that_is_another_has_a_gap(models):
    """The second token of an answer is exchanged: the gap is that of the question it loses."""
    for seed in range(30):
        battle = played(models, seed)
        reply = next((r for r in battle.replies if len(r.tokens) > 2), None)
        if reply is None:
            continue
        vocabulary = models[battle.models[reply.place]].vocabulary
        for other in range(1, vocabulary.end - 1):
            tokens = (reply.tokens[0], other, *reply.tokens[2:])
            if tokens == reply.tokens:
                continue
            changed = replace(reply, tokens=tokens)
            others = tuple(changed if r == reply else r for r in battle.replies)
            found = replay(replace(battle, replies=others), models)
            assert (found.identical, found.first_difference) == (False, 1)
            assert found.score_gap is None or found.score_gap > 0
        return
    raise AssertionError("no answer was long enough")
