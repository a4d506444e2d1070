"""Answers for a harness: two runs that ask the same share noise, and no two answers of one do."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import closing
from dataclasses import replace

import pytest

import coupled_arena as ca
from coupled_arena.core.errors import PromptError, SettingsError
from coupled_arena.generation.capacity import Capacity
from coupled_arena.generation.lockstep import LockstepEngine
from coupled_arena.generation.running import Contender, Request
from coupled_arena.harness.answers import UNKNOWN, Answers, noise_seed
from tests.small_models import catalog_of, save_small_models

ASKED = [{"role": "user", "content": "Which way is up?"}]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """A model, the same weights once more, and another one."""
    folder = tmp_path_factory.mktemp("models")
    save_small_models(folder, ("small-red", "small-green"))
    path = folder / "arena.toml"
    path.write_text(catalog_of(red="small-red", copy="small-red", green="small-green"))
    return str(path)


@pytest.fixture
def run(config):
    def asking(name, *asked, **options):
        async def both(answers):
            return await asyncio.gather(*(answers.answer(ASKED, **each) for each in asked))

        with closing(Answers(name, config=config, **options)) as answers:
            return [each.text for each in asyncio.run(both(answers))]

    return asking


def test_equal_models_answer_alike_in_two_runs_and_each_repetition_otherwise(run):
    asked = [{"repetition": n, "max_tokens": 12} for n in range(4)]
    first, second = run("red", *asked), run("copy", *reversed(asked), at_once=2)
    assert first == second[::-1]
    assert len(set(first)) == 4
    assert run("red", *asked, seed=1) != first
    assert run("green", *asked) != first


def test_the_noise_is_that_of_a_coupled_battle(run, config):
    """The second route: the battle of `ca.generate` with this seed draws the same words."""
    (text,) = run("red", {"max_tokens": 12})
    models = ca.load("red", "copy", config=config)
    noise = noise_seed(0, ASKED, 0, 0)
    drawn = models.settings.sampling.sampling()
    sampling = replace(drawn, max_new_tokens=12, coupling="token")
    engine = LockstepEngine(dict(models), Capacity())
    ids = models["red"].encode(ASKED)
    running = engine.prepare(Request(tuple(Contender(n, noise, ids) for n in models), sampling))
    engine.add(running)
    while not running.done.is_set():
        engine.step()
    assert [line.text for line in running.lines] == [text, text]


def test_one_sample_that_asks_again_gets_another_answer(run):
    asked = {"max_tokens": 12, "sample": "one"}
    once, again, other = run("red", asked, asked, asked | {"sample": "two"})
    assert once != again
    assert other == once


def test_a_seed_of_the_request_is_the_seed_of_a_run(run):
    assert run("red", {"seed": 5, "max_tokens": 9}) == run("red", {"max_tokens": 9}, seed=5)


def test_settings_of_a_request_are_those_of_the_draw(run):
    greedy = {"temperature": 0.0, "max_tokens": 9}
    assert len(set(run("red", greedy, greedy | {"repetition": 1}))) == 1
    one = {"top_k": 1, "max_tokens": 9}
    assert run("red", one) == run("red", greedy)


def test_an_answer_goes_on_from_its_beginning(run, config):
    begun = [*ASKED, {"role": "assistant", "content": "It is"}]
    with closing(Answers("red", config=config)) as answers:
        found = asyncio.run(answers.answer(begun, max_tokens=5))
    assert (found.written, found.whole) == (5, False)
    assert found.read > 0
    assert not found.text.startswith("It is")


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_had_is_refused(config, name):
    with (
        closing(Answers("red", config=config)) as answers,
        pytest.raises(SettingsError, match=f"take no {name}: leave"),
    ):
        asyncio.run(answers.answer(ASKED, **{name: ["."]}))


def test_more_is_refused(config):
    with pytest.raises(SettingsError, match="coupling is one of token, bytes, not 'gumbel'"):
        Answers("red", config=config, coupling="gumbel")
    with pytest.raises(SettingsError, match="purple"):
        Answers("purple", config=config)
    long = [{"role": "user", "content": "up? " * 10_000}]
    with closing(Answers("red", config=config)) as answers, pytest.raises(PromptError):
        asyncio.run(answers.answer(long))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"at_once": 0}, "at_once is a whole number from 1, not 0"),
        ({"at_once": "x"}, "at_once is a whole number from 1, not 'x'"),
        ({"seed": "abc"}, "seed is a whole number from 0 to 2"),
        ({"seed": True}, "not True"),
        ({"seed": 7.0}, r"not 7\.0"),
        ({"seed": 1 << 64}, "not 18446744073709551616"),
        ({"frob": 1}, "take preset, seed, coupling, at_once, and no frob"),
        ({"name": ""}, "Name a model of the catalog"),
    ],
)
def test_what_a_harness_passes_on_is_checked(config, given, told):
    with pytest.raises(SettingsError, match=told):
        Answers(**{"name": "red", "config": config, **given})


def test_a_request_is_checked_too(config):
    with closing(Answers("red", config=config)) as answers:
        for given in ({"seed": "7"}, {"max_tokens": 0}, {"temperature": -1}):
            with pytest.raises(SettingsError, match=r"seed|max_new_tokens|temperature"):
                asyncio.run(answers.answer(ASKED, **given))
        with pytest.raises(PromptError, match="no message to answer"):
            asyncio.run(answers.answer([]))


def test_the_seed_of_noise_is_as_documented():
    text = b'[7,1,0,[["user","Which way is up?"]]]'
    expected = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
    assert noise_seed(7, ASKED, 1, 0) == expected
