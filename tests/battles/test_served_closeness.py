"""A model on a server, as far as it tells of its laws, beside one that is here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from coupled_arena.analysis.closeness import closeness
from coupled_arena.battles.closeness import fresh_answers, read_answers
from coupled_arena.battles.first_divergence import explain_divergence
from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.records import Battle, Finish, Mode, Origin, Prompt, Reply, Sampling
from coupled_arena.generation.laws import told_laws
from coupled_arena.generation.lockstep import score_gap
from coupled_arena.generation.remote import connect
from coupled_arena.generation.turns import before_turn, next_request
from coupled_arena.generation.vocabulary import make_vocabulary
from coupled_arena.views.words.closeness import closeness_warnings
from tests.battles.variants import ORIGINAL, ROUNDED, save_variants, variants
from tests.generation.model_server import ModelServer, running

NAMES = (ORIGINAL, ROUNDED)
SAMPLING = Sampling(temperature=0.7, top_p=1.0, max_new_tokens=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("variants")
    save_variants(folder)
    return folder


@pytest.fixture(scope="module")
def local(folder):
    return variants(folder)


@pytest.fixture(scope="module")
def asked(local):
    prompts = [Prompt("Say red."), Prompt("Say blue.")]
    return fresh_answers(prompts, NAMES, local, SAMPLING, seed=1, at_once=4)


@pytest.fixture
def meet(folder, local):
    """Serve the second model, and return both models with it."""
    with_servers = []

    def connected(**behaviour):
        context = running(ModelServer(local[ROUNDED], **behaviour))
        with_servers.append(context)
        spec = ModelSpec(
            name=ROUNDED,
            folder=folder / ROUNDED,
            server=context.__enter__().url,
            served_as="served",
        )
        return {ORIGINAL: local[ORIGINAL], ROUNDED: connect(spec, folder)}

    yield connected
    for context in with_servers:
        context.__exit__(None, None, None)


def test_what_top_k_keeps_is_told_and_the_figures_are_exact(meet, local, asked):
    sampling = replace(SAMPLING, top_k=15)
    here = read_answers(asked, NAMES, local, sampling).laws
    served = read_answers(asked, NAMES, meet(tells=20), sampling)
    for name in ("total_variation", "coupled", "independent", "best", "same_top"):
        np.testing.assert_allclose(getattr(served.laws, name), getattr(here, name), atol=1e-5)
    assert not served.untold.any()
    np.testing.assert_array_equal(np.isinf(served.laws.kl), np.isinf(here.kl))


@pytest.mark.parametrize("temperature", [0.7, 1.0, 1.4])
def test_what_is_not_told_bounds_what_is_missing(meet, local, asked, temperature):
    sampling = replace(SAMPLING, temperature=temperature)
    here = read_answers(asked, NAMES, local, sampling).laws
    served = read_answers(asked, NAMES, meet(tells=20), sampling)
    assert served.untold.min() > 0
    # What is untold also stands in the race against all that is told.
    for name, times in (("coupled", 2), ("independent", 1), ("best", 1)):
        lacking = getattr(here, name) - getattr(served.laws, name)
        assert (lacking > -1e-5).all()
        assert (lacking < times * served.untold + 1e-5).all()
    for name in ("kl", "kl_reverse"):  # of what is told, and all else as one: a lower bound at 1
        assert temperature != 1 or (getattr(served.laws, name) < getattr(here, name) + 1e-5).all()
    np.testing.assert_allclose(served.whole_kl, served.laws.kl)
    assert (served.laws.total_variation > here.total_variation - 1e-5).all()
    assert "tells only of the likeliest tokens" in closeness_warnings(closeness(served))[-1]


def test_a_server_that_tells_nothing_is_refused_in_one_line(meet, asked):
    with pytest.raises(ModelError, match=r"does not tell of its laws .*--max-logprobs 20") as said:
        read_answers(asked, NAMES, meet(tells=0), SAMPLING)
    assert "\n" not in str(said.value)


def test_a_server_is_asked_for_as_much_as_it_may_tell(meet, asked):
    models = meet(tells=7)
    read_answers(asked[:1], NAMES, models, SAMPLING)
    assert models[ROUNDED]._server.told == 5


def test_laws_that_are_told_keep_what_top_p_and_temperature_0_keep():
    made = make_vocabulary(list("abcd"), [b"a", b"b", b"c", b"d"], [3])
    told = {0: np.log(0.6), 1: np.log(0.25), 3: np.log(0.1)}
    sampling = Sampling(temperature=1.0, top_p=1.0)

    def law(**more):
        found = told_laws([told], made, replace(sampling, **more))
        weights = np.exp(found.asked[0])
        return (weights / weights.sum()).tolist(), found.untold[0]

    shares, untold = law()
    assert shares == pytest.approx([0.6, 0.25, 0, 0, 0.1, 0.05])
    assert untold == pytest.approx(0.05)
    assert law(top_p=0.8) == (pytest.approx([0.6 / 0.85, 0.25 / 0.85, 0, 0, 0, 0]), 0)
    assert law(temperature=0.0) == (pytest.approx([1, 0, 0, 0, 0, 0]), 0)
    assert law(top_p=0.9)[1] == pytest.approx(0.05)  # the last one may be less likely than others
    assert law(top_k=3)[1] == pytest.approx(0.05)
    assert law(top_k=2)[1] == 0
    assert law(temperature=2.0)[1] > 0.05 > law(temperature=0.5)[1] > 0


def battle_of(sampling, *tokens):
    """Return a battle of both models with these answers."""
    return Battle(
        id="b",
        models=NAMES,
        mode=Mode.COUPLED,
        seed=11,
        nonce=bytes(16),
        sampling=sampling,
        origin=Origin.ARENA,
        prompts=(Prompt("Say red."),),
        replies=tuple(Reply(0, at, "", each, Finish.LENGTH) for at, each in enumerate(tokens)),
    )


def told_after(remote, battle, *tokens):
    """Return what the server tells after the question and some tokens."""
    (_, asked) = next_request(remote, before_turn(battle, 0), battle.prompts[0]).contenders
    return remote[ROUNDED].told_laws((*asked.prompt, *tokens), [], 1)[0]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_replay_tells_how_far_apart_two_tokens_of_a_server_are(meet, local, temperature):
    """As of a model that is here, for what top-k leaves is told."""
    battle = battle_of(replace(SAMPLING, temperature=temperature, top_k=15), (5, 6), (5, 6))
    reply = battle.replies[1]
    remote = meet(tells=20)
    told = list(told_after(remote, battle, 5))
    outcomes = (local[ROUNDED].vocabulary.end, 7, *told[:9])
    here, there = (
        [score_gap(models, battle, reply, 1, outcome) for outcome in outcomes]
        for models in (local, remote)
    )
    if temperature:
        np.testing.assert_allclose(there, here, atol=1e-4)
        assert np.isfinite(here).sum() > 5
    else:  # the likeliest only are told
        known = np.isfinite(there)
        assert known.any()
        np.testing.assert_allclose(np.array(there)[known], np.array(here)[known], atol=1e-4)
    assert np.isnan(score_gap(meet(tells=0), battle, reply, 1, 5))


def test_where_answers_part_the_draw_of_a_server_is_laid_open(meet, local):
    sampling = replace(SAMPLING, top_k=15)
    remote = meet(tells=20)
    told = list(told_after(remote, battle_of(sampling, (5,), (5,)), 5))
    battle = battle_of(sampling, (5, told[0]), (5, told[1]))
    here, there = (explain_divergence(battle, models, 0) for models in (local, remote))
    assert [(o.text, o.kind, o.chosen) for o in there.options] == [
        (o.text, o.kind, o.chosen) for o in here.options
    ]
    for one, other in zip(here.options, there.options, strict=True):
        assert (one.seen[1] is None) == (other.seen[1] is None)
        if one.seen[1]:
            assert other.seen[1].probability == pytest.approx(one.seen[1].probability, abs=1e-5)
            assert other.seen[1].noise == one.seen[1].noise
    assert there.again == here.again
    assert there.least == here.least
    flat = battle_of(SAMPLING, (5, told[0]), (5, told[1]))
    assert explain_divergence(flat, remote, 0).least[1] > 0  # of what is not told nothing is known
    silent = explain_divergence(battle, meet(tells=0), 0)
    assert (silent.least[1], silent.again[1]) == (None, None)
