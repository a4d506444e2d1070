"""Voting on stored battles: who is asked about what, what is told when, what is refused."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import pytest

from coupled_arena.battles.annotation import Annotation
from coupled_arena.core.errors import StoreError, VoteError
from coupled_arena.core.records import (
    Finish,
    Mode,
    Origin,
    Prompt,
    Source,
    Vote,
    commitment,
    new_id,
    seed_to_hex,
)
from coupled_arena.store.work_queues.battles import Backlog
from tests.counted import counted, vote_count
from tests.stored import EXPERIMENT, MODELS, answered, fill, imported, plan

QUESTIONS = [f"Which way is {n}?" for n in range(6)]


@pytest.fixture
def annotate(store):
    made = []

    def make(seed=0):
        if not made:
            made.append(Backlog(store))
        return Annotation(store, made[0], random.Random(seed))

    yield make
    for backlog in made:
        backlog.close()


def vote_on_all(annotation, owner):
    """Vote until nothing is left; return what was told, in order."""
    told = []
    while round_id := annotation.next(owner):
        size = annotation.view(owner, round_id).size
        told.append(annotation.vote(owner, round_id, [1] * size))
    return told


def test_a_battle_from_the_backlog_to_the_reveal(annotate, store):
    battles = {battle.id: battle for battle in fill(store, QUESTIONS)}
    annotation = annotate()
    round_id = annotation.next("eve")
    blind = annotation.view("eve", round_id)
    assert (blind.stored, blind.running, blind.reveal) == (True, False, None)
    told = annotation.vote("eve", round_id, [2, 1])
    battle = battles[told.battle]
    assert blind.turns[0].answers == tuple(reply.text for reply in battle.replies)
    assert told.models == battle.models
    assert told.commitment == blind.commitment
    assert commitment(int(told.seed, 16), bytes.fromhex(told.nonce)) == blind.commitment
    assert counted(store) == [(*told.models, "human", "second", 1)]
    assert annotation.view("eve", round_id).reveal == told


def test_nothing_blind_tells_names_mode_seed_or_battle(annotate, store):
    fill(store, QUESTIONS, MODELS)
    annotation = annotate()
    text = json.dumps(dataclasses.asdict(annotation.view("eve", annotation.next("eve"))))
    for battle in map(store.battle, store.battles_of(seed_to_hex(EXPERIMENT))):
        secrets = [battle.id, f"{battle.seed:x}", str(battle.seed), battle.nonce.hex()]
        assert [secret for secret in secrets if secret in text] == []
    assert not any(secret in text for secret in (*MODELS, "coupled", f"{EXPERIMENT:x}"))


@pytest.mark.slow
def test_everything_is_asked_once(annotate, store):
    made = fill(store, QUESTIONS[:3], modes=(Mode.COUPLED, Mode.INDEPENDENT), repetitions=2)
    annotation = annotate()
    told = vote_on_all(annotation, "eve")
    assert sorted(reveal.battle for reveal in told) == sorted(battle.id for battle in made)
    assert len(vote_on_all(annotation, "mia")) == len(made)
    progress = annotation.progress("eve")
    assert (progress.battles, progress.voted, progress.yours) == (12, 12, 12)
    assert vote_count(store) == 24


def test_a_pair_with_few_votes_comes_first(annotate, store):
    """With three pairs of unequal numbers of battles, votes stay level while all have some."""
    sizes = dict(zip(combinations(MODELS, 2), (2, 4, 6), strict=True))
    for (a, b), size in sizes.items():
        fill(store, [f"{a} {b} {n}" for n in range(size)], (a, b))
    given = Counter()
    for told in vote_on_all(annotate(), "eve"):
        pair = tuple(sorted(told.models))
        assert given[pair] == min(given[other] for other in sizes if given[other] < sizes[other])
        given[pair] += 1
    assert given == sizes


@pytest.mark.slow
def test_votes_cast_before_count(annotate, store):
    (voted,) = fill(store, ["Voted on?"], MODELS[:2])
    fill(store, QUESTIONS, MODELS[:2])
    fill(store, QUESTIONS, MODELS[1:])
    for voter in ("ann", "bob", "cas"):
        store.cast(Vote(new_id(), voted.id, voter, (1, 2)))
    told = vote_on_all(annotate(), "eve")
    assert [set(reveal.models) for reveal in told[:3]] == [set(MODELS[1:])] * 3
    assert told[-1].battle == voted.id  # the battle with most votes


def test_a_battle_of_three_counts_for_three_pairs(annotate, store):
    fill(store, QUESTIONS[:3], MODELS)
    fill(store, QUESTIONS[:3], MODELS[:2])
    told = vote_on_all(annotate(), "eve")
    assert len(told[0].models) == 3 or len(told[1].models) == 3  # two pairs are in these alone
    assert sorted(len(reveal.models) for reveal in told) == [2, 2, 2, 3, 3, 3]
    assert sum(n for *_, n in counted(store)) == 3 + 3 * 3


def test_whoever_votes_at_once_gets_different_battles(annotate, store):
    for models in combinations(MODELS, 2):
        fill(store, QUESTIONS[:2], models)
    for annotation in map(annotate, range(5)):
        shown = {}
        for owner in ("eve", "mia", "zoe", "kim", "lou", "ida"):
            view = annotation.view(owner, annotation.next(owner))
            shown[owner] = view.turns[0].answers
            battles = [kept.round.state.battle for kept in annotation._opened.values()]
            pairs = Counter(frozenset(battle.models) for battle in battles)
            assert len(pairs) == min(3, len(shown))  # pairs are level, too
        assert len(set(shown.values())) == 6


@pytest.mark.slow
def test_what_is_level_comes_in_any_order(annotate, store):
    fill(store, QUESTIONS)
    first = [annotate(seed) for seed in range(60)]
    seen = Counter(
        annotation.view("eve", annotation.next("eve")).turns[0].prompt for annotation in first
    )
    assert len(seen) == 6
    # Chi-square with 5 degrees of freedom; 22.1 is its 0.9995 quantile.
    assert sum((n - 10) ** 2 / 10 for n in seen.values()) < 22.1


@pytest.mark.slow
def test_many_vote_at_once(annotate, store):
    made = fill(store, QUESTIONS[:5])
    made += fill(store, QUESTIONS[5:], texts=["same", "same"])
    annotation = annotate()
    owners = ("eve", "mia", "zoe", "kim")
    with ThreadPoolExecutor(len(owners)) as pool:
        told = list(pool.map(lambda owner: vote_on_all(annotation, owner), owners))
    assert [len({reveal.battle for reveal in one}) for one in told] == [5] * 4
    assert vote_count(store) == len(owners) * len(made)


def test_a_page_opened_again_goes_on_where_it_was(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate()
    round_id = annotation.next("eve")
    assert annotation.next("eve") == round_id
    annotation.vote("eve", round_id, [1, 2])
    assert annotation.next("eve") != round_id


def test_skipping_moves_on_without_a_vote_until_one_looks_again(annotate, store):
    fill(store, QUESTIONS[:3])
    annotation = annotate()
    first = annotation.next("eve")
    question = annotation.view("eve", first).turns[0].prompt
    annotation.skip("eve", first)
    with pytest.raises(VoteError, match="not open"):
        annotation.vote("eve", first, [1, 2])
    assert len(vote_on_all(annotation, "eve")) == 2
    assert annotation.skipped("eve") == 1
    annotation.look_again("eve")
    assert annotation.view("eve", annotation.next("eve")).turns[0].prompt == question
    assert annotation.progress("eve").yours == 2


def test_identical_answers_are_a_tie_nobody_is_asked_about(annotate, store):
    fill(store, QUESTIONS[:4], texts=["same", "same"])
    asked = fill(store, QUESTIONS[4:])
    annotation = annotate()
    told = vote_on_all(annotation, "eve")
    assert {reveal.battle for reveal in told} == {battle.id for battle in asked}
    rows = Counter()
    for *_, source, outcome, n in counted(store):
        rows[source, outcome] += n
    assert rows == {("identical", "tie"): 4, ("human", "tie"): 2}
    progress = annotation.progress("eve")
    assert (progress.voted, progress.yours, progress.identical) == (6, 2, 4)


def test_three_answers_of_which_two_are_identical_are_asked_about(annotate, store):
    fill(store, QUESTIONS[:1], MODELS, texts=["same", "same", "other"])
    annotation = annotate()
    told = annotation.vote("eve", annotation.next("eve"), [2, 2, 1])
    assert told.source is Source.HUMAN
    rows = {(a, b): outcome for a, b, _, outcome, _ in counted(store)}
    a, b, c = told.models
    assert rows == {(a, b): "tie", (a, c): "second", (b, c): "second"}


def test_a_seed_stays_secret_until_all_its_battles_are_voted_on(annotate, store):
    fill(store, QUESTIONS[:2], modes=(Mode.COUPLED, Mode.INDEPENDENT))
    annotation = annotate()
    for owner in ("eve", "mia"):
        seen = set()
        for told in vote_on_all(annotation, owner):
            seed = store.battle(told.battle).seed
            shown = None if seed not in seen else seed_to_hex(seed)
            assert told.seed == shown
            assert (told.nonce is None) == (told.seed is None)
            seen.add(seed)


def test_sides_do_not_follow_from_the_other_mode():
    made = plan(map(str, range(40)), MODELS[:2], modes=(Mode.COUPLED, Mode.INDEPENDENT))
    sides = {}
    for battle, _ in made.battles():
        sides.setdefault(battle.seed, []).append(battle.models)
    same = sum(one == other for one, other in sides.values())
    assert 20 - 4 * 10**0.5 < same < 20 + 4 * 10**0.5


def test_the_words_around_an_answer_are_shown(annotate, store):
    fill(store, QUESTIONS[:1], texts=["left.", "right."], system="Be brief.", prefix="Go ")
    annotation = annotate()
    (turn,) = annotation.view("eve", annotation.next("eve")).turns
    assert (turn.system, turn.answers) == ("Be brief.", ("Go left.", "Go right."))


def test_what_is_not_asked_about(annotate, store):
    (whole,) = fill(store, QUESTIONS[:1])
    for changes in (
        {"origin": Origin.ARENA},
        {"replies": whole.replies[:1]},
        {"replies": ()},
        {"prompts": (*whole.prompts, Prompt("And then?"))},
        {
            "replies": (
                whole.replies[0],
                dataclasses.replace(whole.replies[1], finish=Finish.CANCELLED),
            )
        },
    ):
        store.add_battle(dataclasses.replace(whole, id=new_id(), **changes))
    assert [told.battle for told in vote_on_all(annotate(), "eve")] == [whole.id]


def test_imported_battles_have_no_seed_to_tell(annotate, store):
    store.add_battle(imported(*MODELS[:2], origin=Origin.IMPORT))
    annotation = annotate()
    round_id = annotation.next("eve")
    assert annotation.view("eve", round_id).commitment == ""
    told = annotation.vote("eve", round_id, [1, 2])
    assert (told.seed, told.nonce, told.commitment) == (None, None, "")


def test_ranks_that_order_nothing_are_refused(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate()
    round_id = annotation.next("eve")
    for ranks in ([1], [1, 2, 3], [0, 1], [2, 2], ["1", "2"], [True, 1], []):
        with pytest.raises(VoteError):
            annotation.vote("eve", round_id, ranks)
        assert vote_count(store) == 0
    annotation.vote("eve", round_id, [1, 2])


def test_a_vote_belongs_to_the_owner_and_happens_once(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate()
    round_id = annotation.next("eve")
    annotation.next("mia")
    for owner, guess in [("mallory", round_id), ("mia", round_id), ("eve", "0" * 32), ("eve", "")]:
        with pytest.raises(VoteError, match="not open"):
            annotation.vote(owner, guess, [1, 2])
        with pytest.raises(VoteError, match="not open"):
            annotation.view(owner, guess)
        with pytest.raises(VoteError, match="not open"):
            annotation.skip(owner, guess)
    annotation.vote("eve", round_id, [1, 2])
    with pytest.raises(VoteError, match="have voted"):
        annotation.vote("eve", round_id, [2, 1])
    assert vote_count(store) == 1


def test_a_small_experiment_seed_can_be_guessed(store):
    (made,) = fill(store, QUESTIONS[:1])
    backlog = Backlog(store)
    assert not backlog.guessable()
    backlog.close()
    small = dataclasses.replace(made, id=new_id(), experiment=seed_to_hex(7))
    store.add_battle(small)
    backlog = Backlog(store)
    assert backlog.guessable()
    backlog.close()


def test_a_store_without_such_battles_is_refused(store):
    with pytest.raises(StoreError, match="no battles to vote on: run `generate`"):
        Backlog(store)


def test_nobody_is_asked_about_an_answer_that_they_saw_with_a_name(annotate, store):
    """The noise of a plan is the same for all pairs of models, so one model repeats its words."""
    for models, texts in ((MODELS[:2], ("same", "other")), (MODELS[1:], ("new", "else"))):
        (battle, prompt), *_ = plan(["Where to?"], models).battles()
        told = dict(zip(sorted(models), texts, strict=True))
        store.add_battle(answered(battle, prompt, [told[model] for model in battle.models]))
    (battle, prompt), *_ = plan(["Where to?"], (MODELS[0], MODELS[2])).battles()
    repeated = {MODELS[0]: "same", MODELS[2]: "third"}
    store.add_battle(answered(battle, prompt, [repeated[model] for model in battle.models]))
    annotation = annotate()
    told = vote_on_all(annotation, "eve")
    # Whichever of the two with "same" came first, the other was left out.
    assert sorted(len(set(reveal.models) & {MODELS[0]}) for reveal in told) == [0, 1]
    assert annotation.next("eve") is None
    assert annotation.next("bob") is not None
    progress = annotation.progress("eve")
    assert (progress.battles, progress.asked, progress.done) == (3, 2, 2)
