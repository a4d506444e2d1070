"""Models on servers: the words of a model that is here, or a refusal, whatever happens between."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.records import Finish, Sampling
from coupled_arena.generation.asked_servers import client
from coupled_arena.generation.huggingface import load_model
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.remote import connect
from coupled_arena.generation.running import Contender, Request
from coupled_arena.generation.served_draw import (
    ARGUMENT,
    PROOF,
    ServedDraw,
    ServedWeights,
    drawn_ids,
    proof,
    weights_of,
)
from coupled_arena.generation.vocabulary import make_vocabulary
from tests.generation.model_server import ModelServer, asks_for_proof, running
from tests.patience import until
from tests.small_models import NAMES, save_small_models

HERE, SERVED = NAMES[:2]
QUESTIONS = ["What is a whale?", "Why?", "Write a poem about a lighthouse keeper and the sea."]
FILTERS = [
    Sampling(temperature=0.7, top_p=0.95, max_new_tokens=30),
    Sampling(temperature=1.2, top_k=20, max_new_tokens=30),
    Sampling(temperature=0.0, max_new_tokens=30),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_small_models(folder, (HERE, SERVED))
    return folder


def spec_of(folder, name, **more):
    more = {"served_as": "served", **more} if "server" in more else more
    return ModelSpec(name=name, folder=folder / name, dtype="float32", device_map="cpu", **more)


@pytest.fixture(scope="module")
def local(folder):
    """Both models in this process: the second is the one that is served, too."""
    return {name: load_model(spec_of(folder, name), folder) for name in (HERE, SERVED)}


@pytest.fixture
def serve(local):
    """Start a server of the second model."""
    with_servers = []

    def start(**behaviour):
        context = running(ModelServer(local[SERVED], **behaviour))
        with_servers.append(context)
        return context.__enter__()

    yield start
    for context in with_servers:
        context.__exit__(None, None, None)


@pytest.fixture
def meet(folder):
    """Connect to a server."""

    def connected(server, **more):
        return connect(spec_of(folder, SERVED, server=server.url, **more), folder)

    return connected


def request_of(model, question, sampling, *, seed=11, names=(SERVED,)):
    prompt = model.encode([{"role": "user", "content": question}])
    return Request(tuple(Contender(name, seed, prompt) for name in names), sampling, turn=1)


@pytest.mark.slow
@pytest.mark.parametrize("sampling", FILTERS)
def test_a_served_model_says_what_it_says_here(serve, meet, local, sampling):
    """Also beside a model that is here, and with the end of an answer in the middle."""
    remote = meet(serve())
    questions = [
        request_of(remote, text, sampling, seed=seed, names=(SERVED, HERE))
        for seed, text in enumerate(QUESTIONS)
    ]
    there = decode(LockstepEngine({**local, SERVED: remote}), questions)
    here = decode(LockstepEngine(local), questions)
    for one, other in zip(there, here, strict=True):
        assert [x.tokens for x in one.lines] == [x.tokens for x in other.lines]
        assert [x.finish for x in one.lines] == [x.finish for x in other.lines]
        assert one.texts == other.texts


def test_an_answer_ends_where_the_model_ends_it(serve, meet, local):
    """Every word may end an answer here, so that some answers end by themselves."""
    stops = list(local[SERVED].vocabulary.spellings)
    words = {n for n, spelling in enumerate(stops) if spelling and spelling.startswith(b" ")}
    remote = meet(serve())
    ending = replace(remote.vocabulary, stops=frozenset(words))
    plain = local[SERVED].vocabulary
    remote.vocabulary = local[SERVED].vocabulary = ending
    try:
        asked = [request_of(remote, QUESTIONS[0], FILTERS[0], seed=seed) for seed in range(8)]
        there = decode(LockstepEngine({SERVED: remote}), asked)
        here = decode(LockstepEngine(local), asked)
    finally:
        local[SERVED].vocabulary = plain
    assert {running.lines[0].finish for running in here} == {Finish.STOP}
    assert [x.lines[0].tokens for x in there] == [x.lines[0].tokens for x in here]
    assert {running.lines[0].finish for running in there} == {Finish.STOP}


def test_a_broken_connection_changes_no_word(serve, meet, local):
    server = serve(breaks_after=4)
    asked = request_of(local[SERVED], QUESTIONS[0], FILTERS[0])
    there = decode(LockstepEngine({SERVED: meet(server)}), [asked])[0]
    here = decode(LockstepEngine(local), [asked])[0]
    assert there.lines[0].tokens == here.lines[0].tokens
    assert len(server.requests) >= 30 // 4  # and the proof


@pytest.mark.parametrize("reason", ["abort", "length"])
def test_what_ends_before_its_end_is_asked_for_again(serve, meet, local, reason):
    """As of a server that is told to end, or that has a shorter limit of its own."""
    server = serve(breaks_after=11, breaks_with=reason)
    asked = request_of(local[SERVED], QUESTIONS[0], FILTERS[0])
    there = decode(LockstepEngine({SERVED: meet(server)}), [asked])[0]
    assert there.lines[0].tokens == decode(LockstepEngine(local), [asked])[0].lines[0].tokens
    assert len(streams(server)) - proofs(server) == 3


def test_another_server_in_its_place_is_noticed(serve, meet):
    """Whatever breaks the connection, the server proves itself anew before it is asked again."""
    server = serve()
    remote = meet(server)
    server.breaks_after, server.plugin = 3, False
    engine = LockstepEngine({SERVED: remote})
    battle = engine.prepare(request_of(remote, "Why?", FILTERS[0]))
    engine.add(battle)
    until(lambda: engine.step() or battle.done.is_set())
    assert f"The server of {SERVED} has changed: it does not draw with" in str(battle.error)
    assert engine.failures == 0  # of this process


def test_a_failed_battle_shows_no_more_than_was_seen(serve, meet, local, monkeypatch):
    monkeypatch.setattr("coupled_arena.generation.asked_servers._PAUSES", ())
    server = serve()
    remote = meet(server)
    server.gate.clear()
    engine = LockstepEngine({**local, SERVED: remote})
    battle = engine.prepare(request_of(remote, "Why?", FILTERS[0], names=(HERE, SERVED)))
    engine.add(battle)
    for _ in range(8):
        engine.step()
    assert len(battle.lines[0].tokens) == 8
    server.breaks_after = 1
    server.gate.set()
    until(lambda: engine.step() or battle.done.is_set())
    assert battle.error
    assert len({len(line.tokens) for line in battle.lines}) == 1


def test_a_server_that_is_gone_costs_its_battles_only(serve, meet, local, monkeypatch, caplog):
    monkeypatch.setattr("coupled_arena.generation.asked_servers._PAUSES", (0.01,))
    server = serve()
    remote = meet(server)
    server.breaks_after, server.gate = 1, threading.Event()
    engine = LockstepEngine({**local, SERVED: remote})
    mixed = engine.prepare(request_of(remote, "Why?", FILTERS[0], names=(HERE, SERVED)))
    alone = engine.prepare(request_of(remote, "Why?", FILTERS[0], names=(HERE,)))
    for battle in (mixed, alone):
        engine.add(battle)
    engine.step()
    server.gate.set()
    server.refuses = True
    until(lambda: engine.step() or (mixed.done.is_set() and alone.done.is_set()))
    assert alone.error is None
    assert len(alone.lines[0].tokens) == 30
    assert str(mixed.error).startswith(f"Decoding failed: The server of {SERVED} was lost")
    (line,) = [record for record in caplog.records if record.name.endswith("lockstep")]
    assert line.getMessage() == f"{SERVED} failed; battles lost: 1 (InternalServerError)"
    assert line.exc_info is None
    again = decode(LockstepEngine({**local}), [mixed.request])[0]
    assert again.error is None


def test_readers_see_as_much_of_each(serve, meet, local):
    """A reply that is ahead is shown as far as the slowest one has come, and stored so."""
    server = serve()
    remote = meet(server)
    server.gate.clear()
    engine = LockstepEngine({**local, SERVED: remote})
    battle = engine.prepare(request_of(remote, "Why?", FILTERS[0], names=(HERE, SERVED)))
    engine.add(battle)
    for _ in range(12):
        engine.step()
    assert len(battle.lines[0].tokens) == 12
    assert battle.texts == ("", "")
    server.gate.set()
    until(lambda: engine.step() or len(battle.lines[1].tokens) > 3)
    server.gate.clear()
    seen = battle.texts
    assert all(seen)
    battle.cancelled.set()
    engine.step()
    lengths = {len(line.tokens) for line in battle.lines}
    assert len(lengths) == 1
    assert {line.finish for line in battle.lines} == {Finish.CANCELLED}
    for line, text in zip(battle.lines, seen, strict=True):
        assert line.text.startswith(text)
        assert line.text == remote.vocabulary.text(line.tokens)
    until(lambda: engine.step() or server.writing == 0)  # the server has been told


@pytest.mark.slow
def test_many_at_once(serve, meet, local):
    remote = meet(serve())
    sampling = Sampling(max_new_tokens=3)
    asked = [request_of(remote, "Why?", sampling, seed=seed) for seed in range(200)]
    there = decode(LockstepEngine({SERVED: remote}), asked)
    here = decode(LockstepEngine(local), asked)
    assert [x.lines[0].tokens for x in there] == [x.lines[0].tokens for x in here]


# The proof


def other_vocabulary(vocabulary):
    spellings = list(vocabulary.spellings)
    spellings[500] = b"something else"
    names = [None if s is None else str(n) for n, s in enumerate(spellings)]
    return make_vocabulary(names, spellings, vocabulary.stops)


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        (lambda v: {"plugin": False}, "does not draw with this noise. Start vLLM with --logits"),
        (lambda v: {"vocabulary": other_vocabulary(v)}, "its vocabulary is another one ("),
        (lambda v: {"alter": lambda t: [*t[:28], t[28] + 1, *t[29:]]}, "draws other tokens from"),
        # The plugin of an earlier version says its last token again.
        (lambda v: {"alter": lambda t: [*t[:29], *80 * t[28:29]]}, "does not tell which weights"),
        (lambda v: {"alter": lambda t: [*t[:16], 2, *t[17:]]}, "does not draw with this noise"),
        (lambda v: {"alter": lambda t: t[:4]}, "does not draw with this noise"),
        (lambda v: {"key": "sk-1"}, "it asks for a key: set server_key_variable"),
        (lambda v: {"name": "other"}, "it serves other. If that is this model by another name"),
    ],
)
def test_a_server_that_would_not_be_coupled_is_refused(serve, meet, local, behaviour, told):
    server = serve(**behaviour(local[SERVED].vocabulary))
    with pytest.raises(ModelError, match=f"Model '{SERVED}'.*") as refused:
        meet(server)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_wrong_key_is_told_in_words(serve, meet, monkeypatch):
    monkeypatch.setenv("A_KEY", "sk-2")
    with pytest.raises(ModelError, match="refuses the key in the variable A_KEY: correct it"):
        meet(serve(key="sk-1"), server_key_variable="A_KEY")


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/completions"])
def test_an_address_with_its_version_is_told_in_words(serve, folder, path):
    url = serve().url + path
    with pytest.raises(ModelError, match="leave out /v1"):
        connect(spec_of(folder, SERVED, server=url), folder)


def test_a_key_opens_the_server(serve, meet, monkeypatch):
    monkeypatch.setenv("A_KEY", "sk-1")
    remote = meet(serve(key="sk-1"), server_key_variable="A_KEY")
    assert remote.arithmetic["server"] == "vllm 0.0.stand-in"


def streams(server):
    """Return what a server was asked for, token by token."""
    return [each for each in server.requests if each.get("stream")]


def proofs(server):
    """Return how often a server was asked for its proof."""
    return sum(map(asks_for_proof, streams(server)))


def test_a_slow_server_is_waited_for_while_it_writes(serve, meet, local):
    """A proof has a hundred tokens, of which each may take a second."""
    server = serve(slow=True)
    remote = meet(server)
    remote._server.doubt()
    asked = request_of(remote, "Why?", FILTERS[0])
    there = decode(LockstepEngine({SERVED: remote}), [asked])[0]
    assert there.lines[0].tokens == decode(LockstepEngine(local), [asked])[0].lines[0].tokens
    assert proofs(server) == 2


def test_a_server_that_writes_nothing_is_told_in_words(serve, meet, monkeypatch):
    monkeypatch.setattr("coupled_arena.generation.asked_servers.SILENCE", 0.2)
    with pytest.raises(ModelError, match=r"has written nothing for 0\.2 s: it is busy"):
        meet(serve(silent=True))
    client.cache_clear()  # it is as impatient


def test_many_replies_wait_for_one_proof(serve, meet):
    server = serve()
    remote = meet(server)
    remote._server.doubt()
    sampling = Sampling(max_new_tokens=3)
    asked = [request_of(remote, "Why?", sampling, seed=seed) for seed in range(8)]
    decode(LockstepEngine({SERVED: remote}), asked)
    assert proofs(server) == 2


def test_each_question_has_a_connection_of_its_own(serve, meet):
    """One that was kept for the next may have died in between without a word."""
    server = serve()
    remote = meet(server)
    for seed in range(2):
        asked = request_of(remote, "Why?", Sampling(max_new_tokens=2), seed=seed)
        decode(LockstepEngine({SERVED: remote}), [asked])
    assert len(server.clients) == len(streams(server)) == 3


def test_it_reads_as_it_reads_here(serve, meet, local):
    remote = meet(serve())
    assert remote.perplexity == pytest.approx(local[SERVED].perplexity, rel=1e-5)
    assert remote.arithmetic["perplexity"] == local[SERVED].arithmetic["perplexity"]


def test_a_folder_s_name_may_end_with_a_slash(serve, folder):
    """As a shell completes it, where the server is started."""
    server = serve(name=f"{folder / SERVED}/")
    assert connect(spec_of(folder, SERVED, server=server.url, served_as=""), folder)
    server.name = str(folder / HERE)
    with pytest.raises(ModelError, match="it serves"):
        connect(spec_of(folder, SERVED, server=server.url, served_as=""), folder)


def test_a_server_that_names_no_root_does_not_serve_any_folder(serve, folder):
    server = serve(name="something", rooted=False)
    here = spec_of(folder, SERVED, server=server.url, served_as="")
    for spec in (here, replace(here, hub="lab/model", folder=None)):
        with pytest.raises(ModelError, match="it serves something"):
            connect(spec, folder)


def test_the_shorter_context_counts(serve, meet):
    assert meet(serve(length=100)).context_length == 100


def test_nobody_answers(folder):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(ModelError, match="no server answers at"):
            connect(spec_of(folder, SERVED, server=url), folder)


# Which weights it holds

OTHER = ServedWeights("00112233aabbccdd", "float16", "awq")


@pytest.fixture
def own_cache(folder, tmp_path):
    """Connect with a memory of its own of whom was met."""

    def connected(server, name=SERVED):
        spec = replace(spec_of(folder, SERVED, server=server.url), name=name)
        return connect(spec, tmp_path)

    return connected


def broken_off(remote):
    """Return the error of a battle."""
    engine = LockstepEngine({SERVED: remote})
    battle = engine.prepare(request_of(remote, "Why?", FILTERS[0]))
    engine.add(battle)
    until(lambda: engine.step() or battle.done.is_set())
    return battle


def test_the_record_says_which_weights(serve, own_cache, folder):
    said = own_cache(serve()).arithmetic
    held = weights_of(folder / SERVED, "float32", "none")
    assert (said["fingerprint"], said["dtype"], said["quantization"]) == (
        held.digest,
        "float32",
        "none",
    )


def test_other_weights_in_mid_answer_end_it_and_both_are_named(serve, own_cache, caplog):
    """As the address is pointed elsewhere: the connection breaks, and others go on."""
    server = serve(breaks_after=3)
    remote, met = own_cache(server), server.weights
    until_one = server._events

    async def swapped(asked):
        async for event in until_one(asked):
            yield event
            server.weights = OTHER

    server._events = swapped
    battle = broken_off(remote)
    told = f"The server of {SERVED} holds other weights now: {OTHER}, not {met}."
    assert told in str(battle.error)
    assert 0 < len(battle.lines[0].tokens) <= 3
    (line,) = [record for record in caplog.records if record.name.endswith("lockstep")]
    assert line.exc_info is None
    assert told in line.getMessage()


def test_other_weights_behind_an_unbroken_address_write_no_word(serve, own_cache):
    """As behind a balancer: the proof is fresh, and the next reply goes to another machine."""
    server = serve()
    remote = own_cache(server)
    server.weights = OTHER
    battle = broken_off(remote)
    assert "holds other weights now" in str(battle.error)
    assert battle.lines[0].tokens == []
    server.weights = remote._server.weights
    assert broken_off(remote).error is None


def test_other_weights_after_a_restart_are_another_model(serve, own_cache):
    server = serve()
    own_cache(server)
    server.weights = OTHER
    with pytest.raises(ModelError, match="by another name") as refused:
        own_cache(server)
    assert str(OTHER) in str(refused.value)
    assert own_cache(server, "another").arithmetic["quantization"] == "awq"


def test_weights_survive_their_ids():
    assert ServedWeights.from_ids(OTHER.to_ids()) == OTHER
    long = ServedWeights("0" * 16, "bfloat16", "compressed-tensors-of-a-kind")
    assert ServedWeights.from_ids(long.to_ids()).quantization.startswith("compressed-tensors")
    assert ServedWeights.from_ids([7] * len(OTHER.to_ids())) is None
    assert ServedWeights.from_ids(OTHER.to_ids()[1:]) is None


def saved(folder, files, config="{}"):
    folder.mkdir()
    (folder / "config.json").write_text(config)
    for name, tensors in files.items():
        save_file(tensors, folder / name)
    return folder


def test_an_identity_sees_tensors_and_no_files(tmp_path):
    """The same in other shards; another where any of them differs."""
    first = {"a": torch.arange(4000.0), "b": torch.ones(2, 3)}
    whole = saved(tmp_path / "whole", {"model.safetensors": first})
    apart = saved(tmp_path / "apart", {f"{n}.safetensors": {n: t} for n, t in first.items()})
    held = weights_of(whole, "float32", "none")
    assert weights_of(apart, "float32", "none") == held
    digests = {held.digest, *(weights_of(whole, *kind).digest for kind in KINDS)}
    last = first["a"].clone()
    last[-1] = 0
    for at, (other, config) in enumerate(
        [
            (first | {"a": last}, "{}"),
            (first | {"a": first["a"].half()}, "{}"),
            (first | {"b": torch.ones(3, 2)}, "{}"),
            (first | {"c": torch.ones(1)}, "{}"),
            (first, '{"rope_theta": 2}'),
        ]
    ):
        folder = saved(tmp_path / str(at), {"model.safetensors": other}, config)
        digests.add(weights_of(folder, "float32", "none").digest)
    assert len(digests) == 1 + len(KINDS) + 5


KINDS = [("float16", "none"), ("float32", "awq")]

# What a server is told

DRAW = ServedDraw(2**64 - 1, 2, 0.7, 40, 0.9, (0, 2), position=3)


def test_a_draw_survives_its_argument():
    assert ServedDraw.from_argument(DRAW.to_argument()) == DRAW


@pytest.mark.parametrize(
    "argument",
    [
        *(7, None, "", "{}", "[]", "null"),
        DRAW.to_argument().replace('"noise": 1', '"noise": 2'),
        DRAW.to_argument().replace('"ffffffffffffffff"', '"fffffffffffffffff"'),
        DRAW.to_argument().replace('"turn": 2', '"turn": -2'),
        DRAW.to_argument().replace("0.7", '"warm"'),
        DRAW.to_argument().replace("[0, 2]", "[0, -2]"),
        DRAW.to_argument().replace('"top_p": 0.9', '"top_p": 0'),
        DRAW.to_argument().replace('"position": 3', '"position": 3.5'),
        DRAW.to_argument().replace("0.7", "NaN"),
        DRAW.to_argument().replace("0.7", "Infinity"),
        DRAW.to_argument().replace("0.7", "1" + 400 * "0"),
        DRAW.to_argument().replace("[0, 2]", str(list(range(2000)))),
        100_000 * "[",
    ],
)
def test_rubbish_is_refused_before_it_reaches_a_batch(argument):
    with pytest.raises(ValueError, match=ARGUMENT):
        ServedDraw.from_argument(argument)


@pytest.mark.parametrize("bad", [float("nan"), float("-inf"), float("inf")])
@pytest.mark.parametrize("whole", [True, False])
def test_bad_logits_harm_nobody(local, bad, whole):
    """An overflow in a row must not end the answers of the others."""
    from torch import from_numpy, full, zeros

    vocabulary = local[SERVED].vocabulary
    noise = GumbelCache(from_numpy(vocabulary.keys))
    logits = zeros(2, vocabulary.end)
    logits[1] = full((vocabulary.end,), bad) if whole else logits[1]
    logits[1, 5] = bad
    for asked in (DRAW, replace(DRAW, top_p=1.0, top_k=0), replace(DRAW, temperature=0.0)):
        places = [(asked.seed, asked.turn, at) for at in (3, 4)]
        both = drawn_ids(logits, noise, asked, places)
        assert both[0] == drawn_ids(logits[:1], noise, asked, places[:1])[0]
        assert 0 <= both[1] < vocabulary.end


def test_a_proof_depends_on_its_filters(local):
    from torch import from_numpy

    vocabulary = local[SERVED].vocabulary
    noise = GumbelCache(from_numpy(vocabulary.keys))
    told = {tuple(proof(vocabulary, noise, PROOF))}
    for change in ({"top_k": 0}, {"top_p": 0.1}, {"temperature": 0.2}, {"seed": 1}, {"turn": 0}):
        told.add(tuple(proof(vocabulary, noise, replace(PROOF, **change))))
    assert len(told) == 6


def test_noise_without_numba_is_the_same(monkeypatch, local):
    """Beside a model server there may be none."""
    from torch import equal, from_numpy

    keys = from_numpy(local[SERVED].vocabulary.keys)
    places = [(7, 0, 5), (2**63 + 1, 3, 0)]
    compiled = GumbelCache(keys).at(places)
    monkeypatch.setattr("coupled_arena.generation.noise._loop", lambda: None)
    assert equal(GumbelCache(keys).at(places), compiled)
