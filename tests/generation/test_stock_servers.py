"""Models on servers without the plugin: coupled by the servers' noise, once their draws show it."""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from dataclasses import replace

import pytest
import torch

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import BattleError, ModelError, PromptError
from coupled_arena.core.records import Battle, Finish, Mode, Origin, Prompt, Sampler, Sampling
from coupled_arena.generation import stock_servers
from coupled_arena.generation.huggingface import load_model
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.running import Contender, Request
from coupled_arena.generation.stock_servers import connect, request_seed
from coupled_arena.generation.turns import check_replayable, next_request, settled, with_turn
from tests.families import first_of
from tests.generation.model_server import running
from tests.generation.stock_server import StockServer
from tests.patience import until
from tests.small_models import NAMES, save_other_spellings, save_small_models

FIRST, OTHER, SPELT = NAMES
DRAWN = Sampling(temperature=0.8, top_p=0.95, max_new_tokens=12, coupling="servers")
WHOLE = replace(DRAWN, top_p=1.0)


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(stock_servers, "SEEDS", 16)
    monkeypatch.setattr(stock_servers, "_TOKENS", 8)
    monkeypatch.setattr(stock_servers, "_AGAIN", 10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    save_small_models(folder)
    save_other_spellings(folder / SPELT)
    return folder


@pytest.fixture(scope="module")
def held(folder):
    """The models as servers hold them; the second is the first with slightly other weights."""
    models = {name: load_model(spec_of(folder, name), folder) for name in (FIRST, FIRST, SPELT)}
    models[OTHER] = near = load_model(spec_of(folder, FIRST), folder)
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weights in near.network.parameters():
            weights += 0.04 * weights.std() * torch.randn(weights.shape, generator=random)
    return models


def spec_of(folder, name, saved="", **more):
    more = {"served_as": "served", "server_noise": "theirs", **more} if "server" in more else more
    place = folder / (saved or name)
    return ModelSpec(name=name, folder=place, dtype="float32", device_map="cpu", **more)


@pytest.fixture
def serve(held):
    """Start a server of a model."""
    with ExitStack() as servers:
        yield lambda of=FIRST, **more: servers.enter_context(running(StockServer(held[of], **more)))


@pytest.fixture
def meet(folder):
    """Connect to servers, one after the other, as models of one process."""

    def connected(*servers, sampling=DRAWN, **more):
        found = {}
        for number, server in enumerate(servers):
            spec = spec_of(folder, f"model {number}", FIRST, server=server.url, **more)
            model = connect(spec, folder, sampling)
            model.join(found)
            found[spec.name] = model
        return found

    return connected


def battle_of(names, sampling, mode=Mode.COUPLED, seed=2**63):
    return Battle("b" * 32, tuple(names), mode, seed, b"", sampling, Origin.ARENA, (), ())


def asked_of(models, question="What is a whale?", *, sampling=DRAWN, mode=Mode.COUPLED, seed=2**63):
    battle = battle_of(models, sampling, mode, seed)
    return battle, next_request(models, battle, Prompt(question))


def answered(models, **more):
    return decode(LockstepEngine(models), [asked_of(models, **more)[1]])[0]


@pytest.mark.parametrize("kind", first_of("vllm", "sglang"))
@pytest.mark.parametrize("sampling", first_of(DRAWN, WHOLE, replace(DRAWN, temperature=0.0)))
def test_servers_of_equal_weights_say_the_same(serve, meet, kind, sampling):
    models = meet(serve(kind=kind), serve(kind=kind), sampling=sampling)
    for seed in (3, 2**64 - 1):
        one, other = answered(models, sampling=sampling, seed=seed).lines
        assert one.tokens == other.tokens
        assert len(one.tokens) == 12
    assert models["model 0"].arithmetic["server"] == f"{kind} 0.0.stand-in"


def test_servers_of_other_weights_are_proven_and_part(serve, meet, monkeypatch):
    monkeypatch.setattr(stock_servers, "SEEDS", 48)
    models = meet(serve(), serve(OTHER))
    begun = [answered(models, seed=seed).lines for seed in range(8)]
    apart = [answered(models, seed=seed, mode=Mode.INDEPENDENT).lines for seed in range(8)]
    assert common(begun) > 2 * common(apart)


def common(pairs):
    return sum(
        a == b for one, other in pairs for a, b in zip(one.tokens, other.tokens, strict=False)
    )


def test_what_is_asked(serve, meet):
    """All that a model's own defaults might set is said; nothing is of the plugin."""
    one, two = serve(), serve()
    models = meet(one, two)
    for server in (one, two):
        server.requests.clear()
    sampling = replace(DRAWN, top_k=7, top_p=1.0)
    answered(models, sampling=sampling)
    (asked,) = [each for each in one.requests if each.get("stream")]
    (other,) = [each for each in two.requests if each.get("stream")]
    assert asked["seed"] == other["seed"] == request_seed(2**63, 0)
    told = {"temperature": 0.8, "top_k": 7, "top_p": 1.0, "min_p": 0.0, "repetition_penalty": 1.0}
    assert told.items() <= asked.items()
    assert asked["stop_token_ids"] == sorted(models["model 0"].vocabulary.stops)
    assert "vllm_xargs" not in asked
    answered(models, mode=Mode.INDEPENDENT)
    seeds = {s.requests[-1]["seed"] for s in (one, two)}
    assert len(seeds) == 2


def test_seeds_of_requests():
    """Each turn has one of its own, of 63 bits; computed otherwise, too."""
    for seed, turn in ((0, 0), (2**64 - 1, 3)):
        text = seed.to_bytes(8, "little") + turn.to_bytes(4, "little")
        digest = hashlib.blake2b(text, digest_size=8).digest()
        bits = bin(int.from_bytes(digest, "little"))[2:].zfill(64)[1:]
        assert request_seed(seed, turn) == int(bits, 2)
    drawn = {request_seed(seed, turn) for seed in range(50) for turn in range(4)}
    assert len(drawn) == 200
    assert max(drawn) < 2**63


def test_a_broken_connection_changes_no_word(serve, meet):
    server = serve()
    models = meet(server, serve())
    server.breaks_after = 5
    one, other = answered(models).lines
    assert one.tokens == other.tokens
    asked = [each for each in server.requests if each.get("stream")]
    assert len(asked) == 3
    assert len({each["seed"] for each in asked}) == 1
    assert [len(each["prompt"]) + each["max_tokens"] for each in asked] == 3 * [
        len(asked[0]["prompt"]) + 12
    ]


def test_an_answer_ends_where_the_model_ends_it(serve, meet):
    models = meet(serve(), serve())
    spellings = models["model 0"].vocabulary.spellings
    words = frozenset(n for n, word in enumerate(spellings) if word and word.startswith(b" "))
    for model in models.values():
        model.vocabulary = replace(model.vocabulary, stops=words)
    found = [answered(models, seed=seed).lines for seed in range(6)]
    assert {line.finish for lines in found for line in lines} == {Finish.STOP}
    assert all(one.tokens == other.tokens for one, other in found)
    assert not words & {token for lines in found for line in lines for token in line.tokens}


# What is refused


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        ({"own": "apart"}, "its answers do not follow from the seed of a request"),
        ({"own": "alike"}, "are the same with any seed, so that its draws show no noise"),
        ({"own": "by step"}, "draws otherwise where an answer goes on"),
        ({"ids": False}, "it does not tell the ids of its tokens (return_token_ids)"),
        ({"shift": 1}, "its tokens spell other words here than there"),
        ({"name": "other"}, "it serves other. If that is this model by another name"),
        ({"key": "sk-1"}, "it asks for a key: set server_key_variable"),
        ({"refuses": True}, "it says: "),
    ],
)
def test_a_server_that_shows_no_noise_is_refused(serve, meet, behaviour, told):
    server = serve(**behaviour)
    with pytest.raises(ModelError, match="Model 'model 0': the server at") as refused:
        meet(server)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


def test_order_of_ranks_beside_others_is_noticed(serve, meet):
    """As in SGLang 35697: without filters a draw depends on who else is in the batch."""
    with pytest.raises(ModelError, match="draws otherwise beside requests with other filters"):
        meet(serve(own="by rank"), sampling=WHOLE)
    models = meet(serve(own="by rank"), serve(own="by rank"))
    one, other = answered(models).lines
    assert one.tokens == other.tokens


def test_two_servers_with_other_noise_are_refused(serve, meet):
    with pytest.raises(ModelError, match=r"Model 'model 1'.*no more like those of model 0") as told:
        meet(serve(), serve(salt=1))
    assert "or the models are too different to tell" in str(told.value)


def test_filters_that_are_new_are_proven_when_they_are_asked_for(serve, meet):
    models = meet(serve(own="by rank"), serve(own="by rank"))
    engine = LockstepEngine(models)
    with pytest.raises(ModelError, match="is not coupled: with the same seed it draws otherwise"):
        decode(engine, [asked_of(models, sampling=WHOLE)[1]])
    models = meet(serve(), serve(salt=1), sampling=None)
    with pytest.raises(ModelError, match="is not coupled: with one seed its answers"):
        decode(LockstepEngine(models), [asked_of(models)[1]])


def test_a_server_that_changes_is_noticed(serve, meet):
    server = serve()
    models = meet(server, serve())
    answered(models)
    models["model 0"]._server.doubt()
    answered(models)  # it has not
    server.salt = 2
    models["model 0"]._server.doubt()
    with pytest.raises(ModelError, match="has changed: with the same seeds it draws otherwise"):
        answered(models)


def test_models_that_could_never_share_noise(serve, meet, folder):
    models = meet(serve(), sampling=None)
    other = connect(spec_of(folder, SPELT, server=serve(SPELT).url), folder)
    with pytest.raises(ModelError, match="its vocabulary is another one than that of model 0"):
        other.join(models)
    longer = {"system_prompt": "You are a poet."}
    with pytest.raises(ModelError, match=r"reads a question as \d+ tokens, and model 0 as \d+"):
        connect(spec_of(folder, FIRST, server=serve().url, **longer), folder).join(models)


def test_prompts_of_several_lengths_are_refused(serve, meet):
    """A later turn, where answers differ in length; with one length it goes on."""
    models = meet(serve(), serve())
    battle, request = asked_of(models)
    battle = with_turn(
        battle, Prompt("What is a whale?"), decode(LockstepEngine(models), [request])[0], models
    )
    assert next_request(models, battle, Prompt("Why?")).turn == 1
    short = replace(battle.replies[0], text="No.", tokens=battle.replies[0].tokens[:1])
    for mode in (Mode.COUPLED, Mode.INDEPENDENT):
        uneven = replace(battle, mode=mode, replies=(short, *battle.replies[1:]))
        with pytest.raises(PromptError, match="Start a new round"):
            next_request(models, uneven, Prompt("Why?"))


# Never mixed


def test_the_sampler_has_a_name_of_its_own(serve, meet, held):
    models = {**meet(serve(), serve(), sampling=None), FIRST: held[FIRST]}
    auto = Sampling(coupling="auto")
    assert settled(auto, ["model 0", "model 1"], models).sampler == Sampler.SERVERS
    assert settled(replace(auto, temperature=0), ["model 0"], models).sampler == Sampler.SERVERS
    assert settled(auto, ["model 0", FIRST], models).sampler == Sampler.GUMBEL
    told = 'noise of a server is shared only by models with server_noise = "theirs"'
    for names, sampling in (
        (("model 0", FIRST), DRAWN),
        (("model 0", FIRST), Sampling()),
        (("model 0", "model 1"), Sampling()),
        (("model 0", "model 1"), Sampling(coupling="bytes")),
        ((FIRST, FIRST), DRAWN),
    ):
        for mode in (Mode.COUPLED, Mode.INDEPENDENT):
            battle = battle_of(names, sampling, mode)
            with pytest.raises(ModelError, match=told):
                next_request(models, battle, Prompt("Why?"))


def test_what_is_not_known_is_not_replayed():
    with pytest.raises(BattleError, match="which is not known here: it cannot be replayed or"):
        check_replayable(battle_of((FIRST, FIRST), DRAWN), {})


def test_a_request_past_that_check_draws_nothing_else(serve, meet):
    models = meet(serve(), sampling=None)
    asked = Request((Contender("model 0", 1, (300, 400)),), Sampling())
    with pytest.raises(ModelError, match="draws only with the noise of its server"):
        decode(LockstepEngine(models), [asked])


def test_nobody_answers_any_more(serve, meet, monkeypatch):
    monkeypatch.setattr("coupled_arena.generation.asked_servers._PAUSES", ())
    server = serve()
    models = meet(server, serve())
    server.refuses = True
    engine = LockstepEngine(models)
    battle = engine.prepare(asked_of(models)[1])
    engine.add(battle)
    until(lambda: engine.step() or battle.done.is_set())
    assert "The server of model 0 was lost" in str(battle.error)


def test_laws_are_told_as_ever(serve, meet):
    """`closeness` reads laws, whoever draws."""
    model = meet(serve(), sampling=None)["model 0"]
    assert len(model.told_laws([300, 400], [500, 600], 2)) == 2
