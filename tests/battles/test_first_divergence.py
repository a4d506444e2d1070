"""Where answers part and why: held against the chain's own law and plain Philox."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import replace
from itertools import takewhile

import numpy as np
import pytest
import torch

from coupled_arena.battles.first_divergence import explain_divergence, explain_with, find_divergence
from coupled_arena.battles.pair_sampling import new_battle
from coupled_arena.core.errors import BattleError
from coupled_arena.core.records import Finish, Mode, Prompt, Sampling
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.noise import POSITIONS_PER_BLOCK
from coupled_arena.generation.turns import model_seed, next_request, with_turn
from coupled_arena.views.words.first_divergence import divergence_words
from tests.battles.conftest import WORDS, talking
from tests.generation.test_noise import python_philox

WARM = Sampling(temperature=0.8, top_p=0.95, max_new_tokens=12)
LOW = (1 << 32) - 1


def played(models, seed, *, size=2, coupled=1.0, sampling=WARM, turns=2):
    """Return a battle of several turns."""
    rng = random.Random(seed)
    battle = new_battle(list(models), size, sampling, coupled_share=coupled, rng=rng)
    for turn in range(turns):
        prompt = Prompt("which way " + "now " * turn)
        (running,) = decode(LockstepEngine(models), [next_request(models, battle, prompt)])
        battle = with_turn(battle, prompt, running, models)
    return battle


def parted(models, count=8, turn=1, **options):
    """Yield battles whose answers part in a turn, with where they do."""
    found = 0
    for seed in range(1000):
        battle = played(models, seed, **options)
        parting = find_divergence(battle, models, turn)
        if parting:
            yield battle, parting
            found += 1
        if found == count:
            return


def spoken(battle, place, turn):
    """Return the words of a reply, its end, and after that nothing that is known."""
    (reply,) = (r for r in battle.replies if (r.turn, r.place) == (turn, place))
    said = [WORDS[token] for token in reply.tokens]
    return said + (["<end>"] if reply.finish is Finish.STOP else [])


@pytest.mark.parametrize("size", [2, 3])
def test_replies_part_at_the_first_word_that_differs(models, size):
    together = Counter()
    for seed in range(40):
        battle = played(models, seed, size=size, turns=1)
        said = [spoken(battle, place, 0) for place in range(size)]
        columns = [{each[i] for each in said if i < len(each)} for i in range(max(map(len, said)))]
        at = next((i for i, words in enumerate(columns) if len(words) > 1), None)
        parting = find_divergence(battle, models, 0)
        together[at] += 1
        if at is None:
            assert parting is None
            continue
        assert parting.position == at
        assert parting.common == "".join(said[0][:at])
        assert len(set(parting.chosen) - {None}) == len(columns[at])
    assert len(together) > 2


def test_common_words_are_those_of_both_texts_under_other_numbers():
    """As between tokenizers, of which each numbers the same words in its own way."""
    models = {"ann": talking("ann", 0), "bob": talking("bob", 0, WORDS[::-1])}
    law = models["ann"].table[:1].repeat(len(WORDS), 1)  # whatever was said before
    models["ann"].table, models["bob"].table = law, law.flip(1) / 2
    shared = []
    for battle, parting in parted(models, count=20, turn=0, turns=1):
        both = zip(*(reply.text.split() for reply in battle.replies), strict=False)
        shared.append([one for one, _ in takewhile(lambda words: words[0] == words[1], both)])
        assert parting.common.split() == shared[-1]
    assert any(shared)


def law(model, last, sampling):
    """Return the probabilities after temperature and top-p in plain numpy; the last word ends."""
    logits = model.table[last].double().numpy() / sampling.temperature
    p = np.exp(logits - logits.max())
    p /= p.sum()
    order = np.argsort(-p)
    needed = int(np.argmax(np.cumsum(p[order]) >= sampling.top_p)) + 1
    kept = np.zeros_like(p)
    kept[order[:needed]] = p[order[:needed]]
    return kept / kept.sum()


def gumbel(seed, turn, position, key):
    counter = (position // POSITIONS_PER_BLOCK, key & LOW, (key >> 32) & LOW, turn)
    word = python_philox(counter, (seed & LOW, seed >> 32))[position % POSITIONS_PER_BLOCK]
    return -np.log(-np.log((word + 0.5) / 2**32))


@pytest.mark.parametrize("coupled", [1.0, 0.0])
def test_options_have_the_law_and_the_noise(models, coupled):
    for battle, parting in parted(models, coupled=coupled):
        reason = explain_divergence(battle, models, 1)
        assert reason.divergence == parting
        assert reason.again == (True, True)
        assert reason.least == (0.0, 0.0)  # of six words all are opened
        for place, name in enumerate(battle.models):
            model = models[name]
            (reply,) = (r for r in battle.replies if (r.turn, r.place) == (1, place))
            before = reply.tokens[: parting.position]
            heard = [prompt.text for prompt in battle.prompts]
            heard += [r.text for r in battle.replies if (r.turn, r.place) == (0, place)]
            count = sum(len(text.split()) for text in heard)
            last = before[-1] if before else count % (len(WORDS) - 1)
            p = law(model, last, battle.sampling)
            seed = battle.seed if coupled else model_seed(battle.seed, name, 0)
            sums = {}
            for option in reason.options:
                seen = option.seen[place]
                index = WORDS.index("end") if option.kind == "end" else WORDS.index(option.text)
                if seen is None:
                    assert p[index] == 0
                    continue
                assert seen.probability == pytest.approx(p[index], rel=1e-6)  # float32 logits
                key = seen.key & ((1 << 64) - 1)
                assert seen.noise == pytest.approx(
                    gumbel(seed, 1, parting.position, key), rel=1e-12
                )
                sums[option.chosen[place]] = max(
                    sums.get(option.chosen[place], -np.inf), np.log(seen.probability) + seen.noise
                )
            assert sums[True] > sums.get(False, -np.inf)
        assert sum(sum(o.chosen) for o in reason.options) == 2


def test_a_worker_explains_beside_its_other_work(models, worker):
    for battle, _ in parted(models, count=3):
        assert asyncio.run(explain_with(worker, models, battle, 1)) == explain_divergence(
            battle, models, 1
        )
    with pytest.raises(BattleError, match="no turn -1"):
        asyncio.run(explain_with(worker, models, battle, -1))


def test_equal_answers_do_not_part(models):
    battle = played(models, 3)
    same = replace(
        battle,
        models=(battle.models[0],) * 2,
        replies=tuple(
            replace(next(r for r in battle.replies if (r.turn, r.place) == (turn, 0)), place=place)
            for turn in (0, 1)
            for place in (0, 1)
        ),
    )
    assert find_divergence(same, models, 0) is None
    with pytest.raises(BattleError, match="do not differ"):
        explain_divergence(same, models, 0)
    with pytest.raises(BattleError, match="no turn 2"):
        explain_divergence(same, models, 2)


def test_what_was_cut_off_is_not_known(models):
    battle, parting = next(parted(models, turn=0))
    at = parting.position
    cut = replace(
        battle,
        replies=tuple(
            replace(reply, tokens=reply.tokens[:at], finish=Finish.CANCELLED, text="x" * at)
            if (reply.turn, reply.place) == (0, 1)
            else reply
            for reply in battle.replies
        ),
    )
    assert find_divergence(cut, models, 0) is None


def test_another_model_by_now_is_said(models):
    battle, _ = next(parted(models))
    name = battle.models[0]
    changed = models[name].table.clone()
    changed[:, :] = -torch.inf
    reason = explain_divergence(battle, models, 1)
    (own,) = (option for option in reason.options if option.chosen[0])
    other = next(i for i, word in enumerate(WORDS[:5]) if word != own.text)
    changed[:, other] = 0.0
    models[name].table = changed
    reason = explain_divergence(battle, models, 1)
    assert reason.again == (False, True)
    assert f"{name}: another token wins when the draw is repeated" in " ".join(
        divergence_words(reason)
    )


def test_sentences_weigh_odds_against_noise(models):
    """Whatever the numbers, the side that is said to outweigh the other is the larger one."""
    kinds = Counter()
    for battle, _ in parted(models, count=30, turn=0, turns=1):
        reason = explain_divergence(battle, models, 0)
        told = divergence_words(reason)
        assert told[0].startswith(("After", "From the first"))
        for place, name in enumerate(battle.models):
            own = next(o for o in reason.options if o.chosen[place])
            other = next(o for o in reason.options if o.chosen[1 - place])
            (line,) = (line for line in told if line.startswith(f"{name} "))
            ours, theirs = own.seen[place], other.seen[place]
            if theirs is None:
                kinds["alone"] += 1
                assert "cuts it off" in line  # of six words, all that are left are told
                continue
            odds = np.log(ours.probability / theirs.probability)
            luck = ours.noise - theirs.noise
            kind = (odds > 0, luck > 0)
            kinds[kind] += 1
            assert ("noise agrees" in line) == (kind == (True, True))
            assert ("which outweighs it" in line) == (kind == (True, False))
            assert ("the noise outweighs" in line) == (kind == (False, True))
    assert {(True, True), (True, False), (False, True)} <= set(kinds)
    assert (False, False) not in kinds


def test_what_is_drawn_otherwise_by_now_is_not_said_to_outweigh(models):
    """Numbers of another draw: own odds that with the noise no longer win."""
    kinds = Counter()
    for battle, _ in parted(models, count=12, turn=0, turns=1):
        reason = explain_divergence(battle, models, 0)
        own = next(o for o in reason.options if o.chosen[0])
        other = next(o for o in reason.options if o.chosen[1])
        if own.seen[0] is None or other.seen[0] is None:
            continue
        luck = own.seen[0].noise - other.seen[0].noise
        for odds in (-luck - 0.1, -abs(luck) - 0.1):
            likely = other.seen[0].probability * np.exp(odds)
            seen = (replace(own.seen[0], probability=likely), own.seen[1])
            options = [replace(o, seen=seen) if o is own else o for o in reason.options]
            told = divergence_words(replace(reason, options=tuple(options)))
            (line,) = (line for line in told if line.startswith(f"{battle.models[0]} "))
            kind = (odds > 0, luck > 0)
            kinds[kind] += 1
            assert ("which does not outweigh it" in line) == (kind == (True, False))
            assert ("the noise does not outweigh" in line) == (kind == (False, True))
            assert ("does not favour it either" in line) == (kind == (False, False))
    assert {(True, False), (False, True), (False, False)} <= set(kinds)


def test_at_temperature_0_there_is_no_noise(models):
    cold = replace(WARM, temperature=0.0)
    battle, _ = next(parted(models, sampling=cold))
    reason = explain_divergence(battle, models, 1)
    assert {seen.noise for option in reason.options for seen in option.seen if seen} == {None}
    assert reason.again == (True, True)
    assert "there is no noise" in " ".join(divergence_words(reason))


def test_imported_battles_have_no_draws(models):
    battle = replace(played(models, 1), mode=Mode.UNKNOWN)
    with pytest.raises(BattleError, match="no noise to replay"):
        find_divergence(battle, models, 0)
