"""Two models read the same answers: their laws, what follows for answers, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import coupled_arena as ca
from coupled_arena.analysis.closeness import LeftOut, closeness, going
from coupled_arena.battles.closeness import (
    Asked,
    check_vocabularies,
    fresh_answers,
    read_answers,
    stored_answers,
)
from coupled_arena.core.choices import TokenKind
from coupled_arena.core.errors import BattleError, ModelError, PromptError
from coupled_arena.core.records import Finish, Mode, Origin, Prompt, Sampler, Sampling
from coupled_arena.core.settings import load_settings, resource
from coupled_arena.generation.laws import Outcomes, Text, read_as_written, token_kind
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.vocabulary import make_vocabulary
from coupled_arena.store.database import Store
from coupled_arena.views.words.closeness import closeness_words
from tests.battles.variants import ORIGINAL, ROUNDED, save_variants, variants
from tests.families import first_of

NAMES = (ORIGINAL, ROUNDED)
SAMPLING = Sampling(temperature=0.7, top_k=0, top_p=0.95, max_new_tokens=24)
WORDS = ["red", "blue", "two", "seven", "sky", "sea", "name", "write", "list", "poem", "story"]
WORDS += ["cat", "dog", "why", "when"]
PROMPTS = [Prompt(f"Say {one} and {other}.") for one in WORDS for other in WORDS if one != other]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("variants")
    save_variants(folder)
    return variants(folder)


@pytest.fixture(scope="module")
def asked(models):
    return fresh_answers(PROMPTS[:12], NAMES, models, SAMPLING, seed=1, at_once=12)


def plain_laws(model, battle, reply, sampling):
    """The laws of one model along an answer: the library's logits and a few plain lines."""
    prompt = model.encode([{"role": "user", "content": battle.prompts[0].text}])
    ids = torch.tensor([[*prompt, *reply.tokens]])
    with torch.inference_mode():
        logits = model.network(input_ids=ids).logits[0, len(prompt) - 1 :].double()
    if reply.finish is not Finish.STOP:
        logits = logits[:-1]
    probabilities = (logits / sampling.temperature).softmax(1).numpy()
    laws = []
    for law in probabilities:
        kept = np.ones(len(law), bool)
        if sampling.top_k:
            kept &= law >= np.sort(law)[-sampling.top_k]
        ordered = np.sort(np.where(kept, law, 0))[::-1] / law[kept].sum()
        needed = np.searchsorted(np.cumsum(ordered), sampling.top_p) if sampling.top_p < 1 else -1
        law = np.where(kept & (law / law[kept].sum() >= ordered[needed]), law, 0)
        stops = list(model.vocabulary.stops)
        law = np.append(law, law[stops].sum())
        law[stops] = 0
        laws.append(law / law.sum())
    return laws


@pytest.mark.parametrize(
    "sampling",
    first_of(
        SAMPLING,
        replace(SAMPLING, temperature=1.3, top_k=30, top_p=1.0),
        replace(SAMPLING, top_p=1.0),
        keep=2,
    ),
)
def test_laws_are_those_of_a_plain_loop_over_logits(models, asked, sampling):
    some = [each for each in asked if each.reply.tokens][:4]
    found = read_answers(some, NAMES, models, sampling)
    assert {each.drawn_so for each in found.answers} == {sampling == SAMPLING}
    for each, answer in zip(some, found.answers, strict=True):
        plain = [plain_laws(models[name], each.battle, each.reply, sampling) for name in NAMES]
        assert len(plain[0]) == answer.positions.stop - answer.positions.start
        for at, (p, q) in enumerate(zip(*plain, strict=True)):
            here = answer.positions.start + at
            gumbel = [
                1 / np.maximum(p / p[i], q / q[i]).sum() for i in np.flatnonzero((p > 0) & (q > 0))
            ]
            for name, expected in (
                ("total_variation", abs(p - q).sum() / 2),
                ("coupled", sum(gumbel)),
                ("independent", p @ q),
                ("best", np.minimum(p, q).sum()),
            ):
                assert getattr(found.laws, name)[here] == pytest.approx(expected, abs=1e-6)
            if not (q[p > 0] == 0).any():
                kl = (p[p > 0] * np.log(p[p > 0] / q[p > 0])).sum()
                assert found.laws.kl[here] == pytest.approx(kl, abs=1e-6)
            else:
                assert found.laws.kl[here] == np.inf
    whole = read_answers(some, NAMES, models, replace(sampling, top_k=0, top_p=1.0))
    np.testing.assert_allclose(found.whole_kl, whole.laws.kl, atol=1e-12)
    assert np.isfinite(found.whole_kl).all()


def test_chunks_of_any_size_are_the_same_laws(models, asked, monkeypatch):
    whole = read_answers(asked[:3], NAMES, models, SAMPLING)
    monkeypatch.setattr("coupled_arena.generation.laws._SCORES", 5000)
    monkeypatch.setattr("coupled_arena.generation.laws._LOGITS", 5000)
    monkeypatch.setattr("coupled_arena.generation.batches.CHUNK", 3)
    parts = read_answers(asked[:3], NAMES, models, SAMPLING)
    np.testing.assert_allclose(parts.laws.coupled, whole.laws.coupled, atol=1e-6)
    np.testing.assert_array_equal(parts.place, whole.place)


def redrawn(models, asked, names, sampling):
    """Draw every token again from the laws of its writer, with the noise of the battle."""
    first, second = (models[name] for name in names)
    outcomes = Outcomes(first.vocabulary, second.vocabulary)
    texts = []
    for each in asked:
        prompt = [{"role": "user", "content": each.battle.prompts[0].text}]
        writer = names.index(each.battle.models[each.reply.place])
        prompts = tuple(model.encode(prompt) for model in (first, second))
        ended = each.reply.finish is Finish.STOP
        texts.append(Text(prompts, each.reply.tokens, writer, ended))
    noise = GumbelCache(torch.from_numpy(outcomes.keys))
    places = [0] * len(asked)
    for which, chunk in read_as_written((first, second), outcomes, texts, sampling):
        for row, at in enumerate(which):
            law = chunk.second[row] if texts[at].writer else chunk.first[row]
            numbers = noise.at([(asked[at].battle.seed, 0, places[at])])[0].numpy()
            yield int((law + numbers).argmax()), int(chunk.drawn[row])
            places[at] += 1


def test_laws_that_are_read_as_written_are_those_that_tokens_were_drawn_from(models, asked):
    drawn = list(redrawn(models, asked, NAMES, SAMPLING))
    assert len(drawn) == sum(
        len(each.reply.tokens) + (each.reply.finish is Finish.STOP) for each in asked
    )
    assert all(again == token for again, token in drawn)


@pytest.mark.slow
def test_models_that_read_otherwise_than_they_write_read_as_they_write(models, asked, monkeypatch):
    at_once = read_answers(asked, NAMES, models, SAMPLING)
    monkeypatch.setattr("coupled_arena.battles.closeness.reads_otherwise", lambda _: True)
    monkeypatch.setattr("coupled_arena.battles.closeness._TOGETHER", 5)
    stepped = read_answers(asked, NAMES, models, SAMPLING)
    np.testing.assert_array_equal(stepped.place, at_once.place)
    for name in ("coupled", "independent", "both", "first", "second"):
        there, here = (getattr(each.laws, name) for each in (stepped, at_once))
        np.testing.assert_allclose(there, here, atol=1e-5)
    itself = read_answers(asked[:1], (ORIGINAL,) * 2, models, SAMPLING)
    assert not itself.laws.total_variation.any()


@pytest.mark.slow
def test_laws_of_a_model_in_8_bits_are_those_that_its_tokens_were_drawn_from(demo_models):
    names = ("SmolLM2-135M", "SmolLM2-135M-bnb-8bit")
    few = replace(SAMPLING, max_new_tokens=6)
    asked = fresh_answers(PROMPTS[:3], names, demo_models, few, seed=1, at_once=3)
    drawn = list(redrawn(demo_models, asked, names, few))
    assert all(again == token for again, token in drawn)


@pytest.mark.slow
def test_what_is_expected_is_what_comes_out(models):
    """On 200 prompts, with other noise: within four standard errors of both."""
    expected = closeness(
        read_answers(
            fresh_answers(PROMPTS[:100], NAMES, models, SAMPLING, seed=1, at_once=50),
            *(NAMES, models, SAMPLING),
        )
    )
    fresh = fresh_answers(PROMPTS[:200], NAMES, models, SAMPLING, seed=2, at_once=50)
    seen = read_answers(fresh, NAMES, models, SAMPLING).observed
    assert len(seen) == 200
    for counted, mean in (
        (np.array([each.common for each in seen]), expected.coupled.common),
        (np.array([each.identical for each in seen]), expected.coupled.identical),
    ):
        errors = np.std(counted, ddof=1) / 200**0.5, (mean.high - mean.low) / 2 / 1.96
        assert abs(counted.mean() - mean.value) < 4 * np.hypot(*errors)
    assert expected.independent.common.value < expected.coupled.common.value
    assert expected.coupled.identical.value < expected.best.identical.value


def test_gumbel_is_close_to_the_best_and_never_beyond(models, asked):
    """As in exact figures on real models: what is left to any other coupling is little."""
    found = read_answers(asked, NAMES, models, SAMPLING)
    assert (found.laws.coupled <= found.laws.best + 1e-12).all()
    part = closeness(found).overall
    lost, gained = part.best.value - part.coupled.value, part.coupled.value - part.independent.value
    assert 0 <= lost < 0.1 * gained
    assert part.best.value == pytest.approx(1 - part.total_variation.value)


def test_a_model_against_itself_is_the_same_whatever_the_noise_does(models, asked):
    own = [each for each in asked if each.battle.models[each.reply.place] == ORIGINAL]
    found = closeness(read_answers(own, (ORIGINAL, ORIGINAL), models, SAMPLING))
    part = found.overall
    assert (part.total_variation.value, part.kl.value, part.infinite.value) == (0, 0, 0)
    assert (part.same_top.value, part.coupled.value) == (1, pytest.approx(1))
    assert (part.coupled.low, part.coupled.high) == (part.coupled.value, part.coupled.value)
    assert 0 < part.independent.value < 1
    assert found.coupled.identical.value == pytest.approx(1)
    tokens = np.mean([len(each.reply.tokens) for each in own])
    assert found.coupled.common.value == pytest.approx(tokens)


def test_a_model_in_a_battle_with_another_is_not_counted_against_itself(models, asked):
    own = [each for each in asked if each.battle.models[each.reply.place] == ORIGINAL]
    assert read_answers(own, (ORIGINAL, ORIGINAL), models, SAMPLING).observed == ()


def test_only_battles_with_this_noise_are_counted_as_observed(models, asked):
    battle, reply = asked[0].battle, asked[0].reply
    by_bytes = replace(battle.sampling, coupling=Sampler.BYTES.coupling)
    writer = battle.models[reply.place]
    met = tuple(name if name == writer else "somebody else" for name in battle.models)
    others = [replace(battle, mode=Mode.INDEPENDENT), replace(battle, sampling=by_bytes)]
    others.append(replace(battle, models=met))
    for one, counted in ((battle, 1), *((other, 0) for other in others)):
        found = read_answers([Asked(one, reply)], NAMES, models, SAMPLING)
        assert len(found.observed) == counted


def test_greedy_laws_are_certain(models, asked):
    found = read_answers(asked[:4], NAMES, models, replace(SAMPLING, temperature=0.0))
    assert set(found.laws.total_variation) <= {0.0, 1.0}
    np.testing.assert_array_equal(found.laws.same_top, found.laws.coupled)
    assert np.isfinite(found.whole_kl).all()


def test_parts_add_up(models, asked):
    found = closeness(read_answers(asked, NAMES, models, SAMPLING))
    whole, readings = found.overall, found.readings
    for parts in (found.places, found.kinds):
        assert sum(part.positions for part in parts) == whole.positions == len(readings.place)
        mean = sum(part.positions * part.coupled.value for part in parts) / whole.positions
        assert mean == pytest.approx(whole.coupled.value)
    assert found.places[0].positions == len(readings.answers) == whole.answers
    curve = going(found)
    assert (np.diff(curve.coupled) <= 1e-12).all()
    assert curve.coupled[-1] == pytest.approx(found.coupled.identical.value)
    assert (curve.coupled <= curve.best + 1e-12).all()


def test_kinds_of_tokens():
    spellings = [b" word", b"12", b" 3rd", b"().", b"\n\n", b" ", b"\xe2", None, b"", "ß!".encode()]
    made = make_vocabulary([str(at) for at in range(len(spellings))], spellings, [7])
    kinds = [token_kind(made, at) for at in range(len(spellings) + 1)]
    letters, other = TokenKind.LETTERS, TokenKind.OTHER
    expected = [letters, TokenKind.DIGITS, letters, TokenKind.PUNCTUATION]
    expected += [TokenKind.WHITESPACE, TokenKind.WHITESPACE, other, other, other, letters, other]
    assert kinds == expected


def test_vocabularies_are_laid_side_by_side():
    one = make_vocabulary(["a", "b", "c", "<x>"], [b"a", b"b", b"c", None], [3])
    other = make_vocabulary(["c", "a", "<y>"], [b"c", b"a", None], [2])
    outcomes = Outcomes(one, other)
    assert len(outcomes.keys) == 6  # a, b, c, both control tokens, the end
    assert outcomes.places[0][0] == outcomes.places[1][1]
    assert outcomes.places[0][-1] == outcomes.places[1][-1]
    assert outcomes.translated([2, 0, 1, 0], 0) == [0, 1]
    assert outcomes.shared == 3 / 4


def test_other_vocabularies_are_refused_unless_tokens_are_asked_for(models):
    other = replace(
        models[ROUNDED].vocabulary, spellings=(None, *models[ROUNDED].vocabulary.spellings[1:])
    )
    capital = [s.upper() if s else s for s in models[ROUNDED].vocabulary.spellings]
    shouting = make_vocabulary([str(n) for n in range(len(capital))], capital, other.stops)
    known = models[ROUNDED].vocabulary
    models[ROUNDED].vocabulary = shouting
    try:
        with pytest.raises(ModelError, match=r"have different vocabularies .* --coupling token"):
            check_vocabularies(NAMES, models, replace(SAMPLING, coupling="auto"))
        assert check_vocabularies(NAMES, models, SAMPLING).shared < 1
    finally:
        models[ROUNDED].vocabulary = known


@pytest.fixture
def store(asked):
    with Store.in_memory() as store:
        for battle in {each.battle.id: each.battle for each in asked}.values():
            store.add_battle(battle)
        yield store


def stored(store, **more):
    given = {"most": 200, "seed": 0, "asked": SAMPLING, "chosen": (), **more}
    return stored_answers(store, NAMES, **given)


def test_stored_answers_are_read_with_their_own_settings(store, asked, models):
    found, sampling = stored(store, asked=Sampling(temperature=1.1, top_p=0.5))
    assert (sampling.temperature, sampling.top_k, sampling.top_p) == (0.7, 0, 0.95)
    assert {(a.battle.id, a.reply.place) for a in found} == {
        (a.battle.id, a.reply.place) for a in asked
    }
    fewer, _ = stored(store, most=5)
    again, _ = stored(store, most=5)
    other, _ = stored(store, most=5, seed=3)
    assert fewer == again != other
    readings = read_answers(fewer, NAMES, models, sampling)
    assert len(readings.answers) == 5


def test_answers_drawn_in_several_ways_are_not_mixed(store, asked):
    warm = replace(asked[0].battle, id="warm", sampling=replace(SAMPLING, temperature=1.0))
    store.add_battle(warm)
    with pytest.raises(BattleError, match=r"drawn in several ways: .*temperature 1.*--temperature"):
        stored(store)
    asking = replace(SAMPLING, temperature=1.0)
    found, sampling = stored(store, asked=asking, chosen=("temperature",))
    assert {each.battle.id for each in found} == {"warm"}
    assert (sampling.temperature, sampling.top_p) == (1.0, 0.95)
    cold = replace(SAMPLING, temperature=0.2, top_p=0.5)  # what nobody chose is that of the replies
    found, sampling = stored(store, asked=cold, chosen=("temperature",))
    assert len(found) == len(asked) + 2  # none was drawn so: all are read
    assert (sampling.temperature, sampling.top_p) == (0.2, 0.95)
    store.add_battle(replace(warm, id="few", sampling=replace(SAMPLING, top_k=5)))
    _, sampling = stored(store, asked=replace(cold, top_k=9), chosen=("temperature",))
    assert (sampling.top_k, sampling.top_p) == (9, 0.95)  # the run's where the replies differ


def test_without_answers_one_is_told_what_to_do(asked):
    imported = replace(asked[0].battle, origin=Origin.IMPORT, mode=Mode.UNKNOWN)
    stopped = replace(
        asked[0].battle,
        id="stopped",
        replies=tuple(replace(r, finish=Finish.CANCELLED) for r in asked[0].battle.replies),
    )
    with Store.in_memory() as store:
        store.add_battle(imported)
        store.add_battle(stopped)
        with pytest.raises(BattleError, match="no stored answers of small-red or small-rounded"):
            stored(store)


def test_answers_of_other_models_are_left_out(models, asked):
    """Tokens that do not spell the text were written by another tokenizer under this name."""
    battle = asked[0].battle
    foreign = replace(asked[0].reply, text="Something else.")
    beyond = replace(asked[0].reply, tokens=(10**6,))
    other = [Asked(battle, foreign), Asked(battle, beyond)]
    found = read_answers([*other, asked[1]], NAMES, models, SAMPLING)
    assert found.left_out == {LeftOut.OTHER_TEXT: 2}
    assert len(found.answers) == 1
    with pytest.raises(PromptError, match="other versions of these models wrote them"):
        read_answers(other, NAMES, models, SAMPLING)


def test_conversations_that_do_not_fit_are_left_out(models, asked):
    long = replace(asked[0].battle, prompts=(Prompt("word " * 9000),))
    found = read_answers([Asked(long, asked[0].reply), asked[1]], NAMES, models, SAMPLING)
    assert found.left_out == {LeftOut.UNREADABLE: 1}
    with pytest.raises(PromptError, match="None of the answers can be read by both models"):
        read_answers([Asked(long, asked[0].reply)], NAMES, models, SAMPLING)


def test_later_turns_are_read_after_what_was_said(models, asked):
    battle, reply = asked[0].battle, asked[0].reply
    later = replace(
        battle,
        prompts=(*battle.prompts, Prompt("And then?")),
        replies=(*battle.replies, *(replace(r, turn=1) for r in battle.replies)),
    )
    both = [Asked(later, reply), Asked(later, replace(reply, turn=1))]
    found = read_answers(both, NAMES, models, SAMPLING)
    first, second = (each.positions for each in found.answers)
    assert (found.laws.coupled[first] != found.laws.coupled[second]).any()
    assert [each.cluster for each in found.answers] == [0, 0]  # one conversation
    assert "in conversations that begin with 1 prompt, at" in closeness_words(closeness(found))[-1]


def test_from_python(models):
    loaded = ca.Models(models, load_settings(resource("data/presets/demo.toml")))
    result = ca.closeness(loaded, [p.text for p in PROMPTS[:3]], max_new_tokens=8, alpha=0.1)
    assert set(result.tables) == {"closeness", "positions", "kinds", "answers", "survival"}
    assert len(result.to_frame("answers")) == 6
    assert result.settings["temperature"] == loaded.settings.sampling.temperature
    (row,) = result.to_frame().to_dict("records")
    answer = result.to_dict()
    assert answer["agreement_coupled"] == row["agreement_coupled"]
    assert row["battles_observed"] == 3
    for name in ("survival", "positions", "kinds"):
        assert len(ca.plot(result, name).data)
    assert "one noise stream" in str(result)
    with pytest.raises(ca.ArenaError, match=r"is a database: open it"):
        ca.closeness(loaded, "arena.duckdb")
    fewer = ca.closeness(loaded, [p.text for p in PROMPTS[:9]], most=2, max_new_tokens=4)
    assert len(fewer.to_frame("answers")) == 4
