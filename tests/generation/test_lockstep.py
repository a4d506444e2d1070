"""The lockstep engine, on models whose answers are known."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from coupled_arena.core.errors import ModelError, PromptLengthError
from coupled_arena.core.records import Finish, Sampling
from coupled_arena.generation.capacity import Capacity
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.running import Request
from tests.generation.known_answers import GREEDY, add, engine_of, hum, request
from tests.generation.markov import chain, random_chain

RANDOM = Sampling(temperature=0.9, top_p=0.95, max_new_tokens=12)


def story(name="story", **options):
    return chain(
        ["<q>", "once ", "upon ", "a ", "time", "."],
        {"<q>": "once ", "once ": "upon ", "upon ": "a ", "a ": "time", "time": "."},
        name=name,
        stops=["."],
        **options,
    )


def test_an_answer_that_was_begun_keeps_its_first_space():
    model = chain(["<q>", " once"], {"<q>": " once", " once": "<q>"}, stops=["<q>"])
    model.vocabulary = replace(model.vocabulary, strips_first_space=True)
    asked = request(("fake", 0, [0]))
    for begun, text in ((False, "once"), (True, " once")):
        (running,) = decode(engine_of(model), [replace(asked, begun=begun)])
        assert running.lines[0].text == text


def test_a_known_answer():
    (running,) = decode(engine_of(story()), [request(("story", 0, [0]))])
    (line,) = running.lines
    assert line.text == "once upon a time"
    assert line.tokens == [1, 2, 3, 4]  # without the token that ended the answer
    assert line.finish is Finish.STOP
    assert running.texts == ("once upon a time",)
    assert running.error is None


def test_a_certain_chain_answers_the_same_under_any_noise():
    wanted = request(("story", 123456789, [0]), sampling=replace(RANDOM, temperature=2.0))
    (running,) = decode(engine_of(story()), [wanted])
    assert running.texts == ("once upon a time",)


def test_an_answer_that_ends_at_once_is_empty():
    (running,) = decode(engine_of(story()), [request(("story", 0, [4]))])
    assert running.lines[0].tokens == []
    assert running.texts == ("",)
    assert running.lines[0].finish is Finish.STOP


def test_the_length_limit():
    wanted = request(("hum", 0, [0]), sampling=replace(GREEDY, max_new_tokens=3))
    (running,) = decode(engine_of(hum()), [wanted])
    assert running.texts == ("mmm",)
    assert running.lines[0].finish is Finish.LENGTH


def test_the_context_limit_counts_prompt_and_reply():
    (running,) = decode(engine_of(hum(context_length=7)), [request(("hum", 0, [0] * 5))])
    assert running.texts == ("mm",)
    assert running.lines[0].finish is Finish.LENGTH


def test_each_model_has_its_own_limit():
    short, long = hum("short", context_length=4), hum("long", context_length=9)
    wanted = request(("short", 0, [0]), ("long", 0, [0]))
    (running,) = decode(engine_of(short, long), [wanted])
    assert running.texts == ("mmm", "mmmmmmmm")


def test_the_last_character_is_closed_with_a_mark_when_cut():
    halves = chain(["<q>", "x"], {"<q>": "x", "x": "x"}, name="cut")
    halves.vocabulary = replace(halves.vocabulary, spellings=(None, b"\xe2\x82"))
    wanted = request(("cut", 0, [0]), sampling=replace(GREEDY, max_new_tokens=1))
    (running,) = decode(engine_of(halves), [wanted])
    assert running.texts == ("\N{REPLACEMENT CHARACTER}",)


WORDS = ["q", *"abcdefg", "."]


def trio():
    """Three random models: two share a vocabulary, the third has it in another order."""
    return [
        random_chain(WORDS, 1, name="one", stops=["."]),
        random_chain(WORDS, 2, name="two", stops=["."]),
        random_chain(["q", *"gfedcba", ".", "z"], 3, name="three", stops=[".", "z"]),
    ]


# Independence of everything around a battle


@dataclass(frozen=True)
class Visit:
    """A battle that joins at one step and may be cancelled some steps later."""

    request: Request
    joins: int
    cancelled_after: int | None


@st.composite
def visits(draw):
    seed = draw(st.sampled_from([1, 2, 2**64 - 1]))  # few: battles share noise blocks
    names = draw(st.lists(st.sampled_from(["one", "two", "three"]), min_size=1, max_size=3))
    samplings = [RANDOM, replace(RANDOM, top_k=3), replace(RANDOM, max_new_tokens=5), GREEDY]
    prompts = st.lists(st.integers(0, 7), min_size=1, max_size=4)
    wanted = request(
        *((name, seed, draw(prompts)) for name in names),
        sampling=replace(draw(st.sampled_from(samplings)), max_new_tokens=draw(st.integers(1, 9))),
        turn=draw(st.integers(0, 1)),
    )
    cancelled = draw(st.none() | st.integers(0, 8))
    return Visit(wanted, draw(st.integers(0, 9)), cancelled)


def run_schedule(engine, schedule):
    running = {}
    for step in range(40):
        for number, visit in enumerate(schedule):
            if visit.joins == step:
                running[number] = add(engine, visit.request)
            if visit.cancelled_after is not None and visit.joins + visit.cancelled_after == step:
                running[number].cancelled.set()
        engine.step()
    assert engine.battles == 0
    return [running[number] for number in range(len(schedule))]


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(st.lists(visits(), min_size=1, max_size=6), st.booleans())
def test_a_reply_depends_on_nothing_but_itself(schedule, batchable):
    """Neither on the batch, nor the order, nor on others joining late or being cancelled."""
    models = trio()
    models[0].batchable = batchable
    together = run_schedule(engine_of(*models), schedule)
    for visit, running in zip(schedule, together, strict=True):
        assert running.done.is_set()
        for contender, line in zip(visit.request.contenders, running.lines, strict=True):
            alone = Request((contender,), visit.request.sampling, visit.request.turn)
            (expected,) = decode(engine_of(*trio()), [alone])[0].lines
            steps = len(expected.tokens) + (expected.finish is Finish.STOP)
            if visit.cancelled_after is not None and visit.cancelled_after < steps:
                assert line.tokens == expected.tokens[: visit.cancelled_after]
                assert line.finish is Finish.CANCELLED
                assert expected.text.startswith(line.text)
            else:
                assert (line.tokens, line.text) == (expected.tokens, expected.text)
                assert line.finish is expected.finish


def test_the_fakes_do_differ_by_seed_and_model():
    """So that the property above has something to see."""
    wanted = [request(("one", s, [0]), ("two", s, [0]), sampling=RANDOM) for s in range(20)]
    texts = [running.texts for running in decode(engine_of(*trio()), wanted)]
    assert len(set(texts)) > 15
    assert sum(a != b for a, b in texts) > 10


def test_a_third_model_changes_no_word_of_the_other_two():
    for seed in range(20):
        pair = [("one", seed, [0]), ("two", seed, [0])]
        (two,) = decode(engine_of(*trio()), [request(*pair, sampling=RANDOM)])
        three = request(("three", seed, [0]), *pair, sampling=RANDOM)
        (three,) = decode(engine_of(*trio()), [three])
        assert three.texts[1:] == two.texts


def test_a_model_against_itself_under_one_seed_says_the_same():
    wanted = [request(("one", s, [0]), ("one", s, [0]), sampling=RANDOM) for s in range(20)]
    for running in decode(engine_of(*trio()), wanted):
        assert running.texts[0] == running.texts[1]


def test_coupling_is_by_spelling_not_by_id():
    """The same chain with its ids reversed draws the same words."""
    one = random_chain(WORDS, 5, name="one", stops=["."])
    flipped = random_chain(WORDS[::-1], 5, name="flipped", stops=["."])
    flipped.table = one.table.flip(0, 1)
    for seed in range(20):
        wanted = request(("one", seed, [0]), ("flipped", seed, [8]), sampling=RANDOM)
        (running,) = decode(engine_of(one, flipped), [wanted])
        assert running.texts[0] == running.texts[1]


def test_the_turn_changes_the_noise():
    wanted = [
        request(("one", seed, [0]), sampling=RANDOM, turn=turn)
        for turn in (0, 1)
        for seed in range(20)
    ]
    texts = [running.texts for running in decode(engine_of(*trio()), wanted)]
    assert sum(a != b for a, b in zip(texts[:20], texts[20:], strict=True)) > 10


def test_greedy_follows_the_likeliest_whatever_the_seed():
    model = random_chain(WORDS, 7)
    wanted = [request(("fake", seed, [0]), sampling=replace(GREEDY, max_new_tokens=9))
              for seed in (1, 2)]  # fmt: skip
    expected, last = [], 0
    for _ in range(9):
        last = int(model.table[last].argmax())
        expected.append(last)
    for running in decode(engine_of(model), wanted):
        assert running.lines[0].tokens == expected


# Lockstep


def test_all_models_of_a_battle_grow_together():
    """After each step, what readers see has as many words of every unfinished reply."""
    engine = engine_of(story(), hum(), hum("alone", batchable=False))
    runs = [
        add(engine, request(("hum", 0, [0]), ("story", 0, [0]), ("alone", 0, [0]))),
        add(engine, request(("alone", 0, [0]), ("hum", 0, [0]))),
    ]
    words = ["once ", "upon ", "a ", "time"]
    for step in range(1, 8):
        engine.step()
        assert runs[0].texts == ("m" * step, "".join(words[:step]), "m" * step)
        assert runs[1].texts == ("m" * step,) * 2
        for running in runs:
            assert running.texts == tuple(line.text for line in running.lines)
            written = {len(line.tokens) for line in running.lines if not line.finish}
            assert written == {step}
            assert not running.done.is_set()


def test_readers_see_only_whole_steps():
    """While the second model computes, the first model's new token is not shown."""
    seen = []
    first, second = hum("first"), hum("second")
    engine = engine_of(first, second)
    running = add(engine, request(("first", 0, [0]), ("second", 0, [0])))
    engine.step()
    advance = second.batches[0].advance

    def watched(tokens):
        seen.append(running.texts)
        advance(tokens)

    second.batches[0].advance = watched
    engine.step()
    assert seen == [("m", "m")]
    assert running.texts == ("mm", "mm")


def test_a_finished_model_idles():
    model, other = story(), hum()
    wanted = request(("story", 0, [0]), ("hum", 0, [0]), sampling=replace(GREEDY, max_new_tokens=9))
    (running,) = decode(engine_of(model, other), [wanted])
    assert running.texts == ("once upon a time", "m" * 9)
    # the reply takes four words and the end; nothing is computed after it
    assert model.calls == [("add", 1), *[("advance", 1)] * 4, ("keep", 0)]
    assert [call for call in other.calls if call[0] == "advance"] == [("advance", 1)] * 8


def test_a_battle_is_done_when_all_its_models_are():
    engine = engine_of(story(), hum())
    wanted = request(("story", 0, [0]), ("hum", 0, [0]), sampling=replace(GREEDY, max_new_tokens=7))
    running = add(engine, wanted)
    for _ in range(6):
        engine.step()
        assert not running.done.is_set()
        assert engine.battles == 1
    at_its_end = []
    running.done.then(lambda: at_its_end.append(engine.battles))
    engine.step()
    assert running.done.is_set()
    assert at_its_end == [0]  # who asks again at once is not refused for this one
    assert engine.battles == 0


def test_rows_of_one_model_share_a_batch():
    model = hum()
    wanted = request(("hum", 1, [0]), ("hum", 2, [0]), sampling=replace(GREEDY, max_new_tokens=3))
    decode(engine_of(model), [wanted] * 3)
    assert len(model.batches) == 1
    assert model.calls == [("add", 6), ("advance", 6), ("advance", 6), ("keep", 0)]


def test_newcomers_join_the_running_batch():
    model = hum()
    engine = engine_of(model)
    first = add(engine, request(("hum", 1, [0])))
    engine.step()
    second = add(engine, request(("hum", 2, [0])))
    engine.step()
    assert len(model.batches) == 1
    assert (first.texts, second.texts) == (("mm",), ("m",))
    assert model.calls == [("add", 1), ("advance", 1), ("add", 2), ("advance", 2)]
    assert (first.most_rows, second.most_rows) == (2, 2)


# Room


def test_turns_wait_for_room_in_the_order_they_came():
    """Each of 20 tokens at most; a batch has as many columns as its longest row has tokens."""
    model = hum()
    engine = LockstepEngine({"hum": model}, Capacity(kv_tokens=60))
    short = replace(GREEDY, max_new_tokens=10)
    first = [add(engine, request(("hum", n, [0] * 10), sampling=short)) for n in range(3)]
    long = add(engine, request(("hum", 3, [0] * 30), sampling=short))
    last = add(engine, request(("hum", 4, [0] * 5), sampling=replace(GREEDY, max_new_tokens=3)))
    waited = []
    while not last.begun:
        engine.step()
        waited.append((sum(run.begun for run in first), long.ahead, last.ahead))
    assert set(waited[:10]) == {(3, 0, 1)}
    assert long.done.is_set()  # 40 columns leave no room for a second row
    while engine.battles:
        engine.step()
    assert [run.texts for run in first] == [("m" * 10,)] * 3
    assert (long.texts, last.texts) == (("m" * 10,), ("mmm",))
    assert max(rows for what, rows in model.calls if what == "add") == 3
    assert {run.most_rows for run in first} == {3}  # those who wait do not decode


def test_every_model_of_a_turn_needs_room():
    engine = LockstepEngine(
        {"one": hum("one"), "two": hum("two", batchable=False)}, Capacity(kv_tokens=40)
    )
    short = replace(GREEDY, max_new_tokens=10)
    alone = add(engine, request(("two", 0, [0] * 15), sampling=short))
    both = add(engine, request(("one", 0, [0]), ("two", 1, [0] * 10), sampling=short))
    engine.step()
    assert (alone.begun, both.begun, both.ahead) == (True, False, 0)
    while not alone.done.is_set():
        engine.step()
    engine.step()
    assert both.begun


def test_most_at_once():
    engine = LockstepEngine({"hum": hum()}, Capacity(most_at_once=2))
    runs = [add(engine, request(("hum", n, [0]))) for n in range(5)]
    engine.step()
    assert [run.ahead for run in runs] == [None, None, 0, 1, 2]
    runs[3].cancelled.set()
    engine.step()
    assert runs[3].done.is_set()
    assert not runs[3].begun
    assert [run.ahead for run in runs] == [None, None, 0, 1, 1]
    runs[0].cancelled.set()
    engine.step()
    engine.step()
    assert [run.ahead for run in runs[2:]] == [None, 1, 0]


def test_what_would_never_fit_is_refused():
    engine = LockstepEngine({"hum": hum(context_length=100)}, Capacity(kv_tokens=60))
    engine.prepare(request(("hum", 0, [0] * 10)))
    with pytest.raises(PromptLengthError, match=r"may take 61 tokens of memory; there are 60"):
        engine.prepare(request(("hum", 0, [0] * 11)))
    with pytest.raises(PromptLengthError, match=r"take 120 tokens"):
        engine.prepare(request(("hum", 0, [0] * 10), ("hum", 1, [0] * 10)))


@settings(deadline=None, max_examples=60)
@given(st.lists(visits(), min_size=1, max_size=6), st.integers(8, 26), st.integers(1, 4))
def test_whoever_waits_says_what_they_would_have_said(schedule, tokens, at_once):
    """Nobody is overtaken, nobody starves, and no batch exceeds its room."""
    engine = LockstepEngine(
        {model.name: model for model in trio()}, Capacity(most_at_once=at_once, kv_tokens=tokens)
    )
    wanted = [visit.request for visit in schedule]
    runs = []
    for asked in wanted:
        try:
            runs.append(add(engine, asked))
        except PromptLengthError:
            runs.append(None)
    order = []
    while engine.battles:
        engine.step()
        order += [run for run in runs if run and run.begun and run not in order]
        for batch in engine._batches:
            assert len(batch.lines) * max(line.longest for line in batch.lines) <= tokens
    assert order == [run for run in runs if run]
    for asked, running in zip(wanted, runs, strict=True):
        if running:
            (expected,) = decode(engine_of(*trio()), [asked])
            assert running.texts == expected.texts


def test_unbatchable_models_get_a_lane_each():
    model = hum(batchable=False)
    engine = engine_of(model)
    wanted = request(("hum", 1, [0]), ("hum", 2, [0]), sampling=replace(GREEDY, max_new_tokens=3))
    runs = [add(engine, wanted), add(engine, wanted)]
    engine.step()
    runs.append(add(engine, wanted))
    while engine.battles:
        engine.step()
    assert [running.texts for running in runs] == [("mmm", "mmm")] * 3
    assert len(model.batches) == 6
    assert max(rows for _, rows in model.calls) == 1


# Stopping


def test_a_cancelled_battle_leaves_at_once_and_keeps_what_was_written():
    model = hum()
    engine = engine_of(model)
    stays, leaves = add(engine, request(("hum", 1, [0]))), add(engine, request(("hum", 2, [0])))
    for _ in range(3):
        engine.step()
    leaves.cancelled.set()
    engine.step()
    assert leaves.done.is_set()
    assert leaves.texts == ("mmm",)
    assert leaves.lines[0].finish is Finish.CANCELLED
    assert leaves.error is None
    assert (stays.texts, stays.done.is_set()) == (("mmmm",), False)
    assert model.calls[-2:] == [("keep", 1), ("advance", 1)]
    assert engine.battles == 1


def test_cancelling_keeps_the_end_of_a_finished_reply():
    engine = engine_of(story(), hum())
    running = add(engine, request(("story", 0, [0]), ("hum", 0, [0])))
    for _ in range(6):
        engine.step()
    running.cancelled.set()
    engine.step()
    assert [line.finish for line in running.lines] == [Finish.STOP, Finish.CANCELLED]
    assert running.texts == ("once upon a time", "m" * 6)


def test_a_battle_cancelled_before_it_begins_is_empty():
    engine = engine_of(hum())
    running = add(engine, request(("hum", 0, [0])))
    running.cancelled.set()
    engine.step()
    assert running.done.is_set()
    assert running.texts == ("",)
    assert engine.battles == 0


def test_fail_all_ends_every_turn_and_starts_afresh():
    engine = engine_of(hum())
    started = add(engine, request(("hum", 1, [0])))
    engine.step()
    waiting = add(engine, request(("hum", 2, [0])))
    error = ModelError("The device failed.")
    engine.fail_all(error)
    assert [running.error for running in (started, waiting)] == [error] * 2
    assert all(running.done.is_set() for running in (started, waiting))
    assert (started.texts, waiting.texts) == (("m",), ("",))
    assert started.lines[0].finish is Finish.CANCELLED
    assert engine.battles == 0
    wanted = request(("hum", 1, [0]), sampling=replace(GREEDY, max_new_tokens=2))
    (again,) = decode(engine, [wanted])
    assert again.texts == ("mm",)
    assert again.error is None


def test_noise_is_not_hoarded():
    """After 40 tokens each running line holds one block of noise, after the end none is held."""
    engine = engine_of(hum())
    wanted = request(("hum", 1, [0]), ("hum", 2, [0]), sampling=replace(RANDOM, max_new_tokens=50))
    running = add(engine, wanted)
    for _ in range(40):
        engine.step()
    (cache,) = engine._noise.values()
    assert len(cache._blocks) <= 2
    while not running.done.is_set():
        engine.step()
    assert not cache._blocks


@pytest.mark.parametrize("stop_weight", [0.25, 0.0])
def test_several_stops_end_an_answer_as_often_as_their_sum(stop_weight):
    """Two stops of a quarter end half of the answers at their first token: binomial, 5 sigma."""
    table = torch.full((4, 4), -math.inf)
    table[0] = torch.tensor([0.0, 1 - 2 * stop_weight, stop_weight, stop_weight]).log()
    model = random_chain(["q", "a", ".", "!"], 0, stops=[".", "!"])
    model.table = table
    count = 2000
    sampling = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=1)
    runs = decode(
        engine_of(model), [request(("fake", s, [0]), sampling=sampling) for s in range(count)]
    )
    ended = sum(running.lines[0].finish is Finish.STOP for running in runs)
    p = 2 * stop_weight
    assert abs(ended - count * p) <= 5 * math.sqrt(count * p * (1 - p))
