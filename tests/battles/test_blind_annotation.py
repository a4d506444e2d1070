"""People who vote on stored battles and are not told names: until when, and what is told then."""

from __future__ import annotations

import dataclasses
import json
import random
from collections import Counter

import pytest

from coupled_arena.battles.annotation import Annotation
from coupled_arena.core.choices import Reveals
from coupled_arena.core.errors import SettingsError, VoteError
from coupled_arena.core.records import Mode, Vote, new_id
from coupled_arena.core.settings import load_settings
from coupled_arena.store.work_queues.battles import Backlog
from tests.stored import MODELS, fill

QUESTIONS = [f"Which way is {n}?" for n in range(4)]


@pytest.fixture
def annotate(store):
    made = []

    def make(reveal=Reveals.END, *, votes_each=None, undo=0.0):
        backlog = Backlog(store, votes_each)
        annotation = Annotation(store, backlog, random.Random(3), undo, reveal)
        made.append((annotation, backlog))
        return annotation

    yield make
    for annotation, backlog in made:
        annotation.close()  # votes that can be undone are left for the next start
        backlog.close()


def text_of(view):
    return json.dumps(dataclasses.asdict(view))


def vote(annotation, owner, ranks=(2, 1)):
    """Vote on the owner's next battle; return what is on show then, None where none is left."""
    round_id = annotation.next(owner)
    if round_id is None:
        return None
    annotation.vote(owner, round_id, ranks)
    return annotation.view(owner, round_id)


def told_to(store, voter):
    with store.cursor() as cursor:
        return cursor.execute("select battle from reveals where voter = ?", [voter]).fetchall()


def test_names_are_told_with_the_last_vote_of_a_share(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate()
    for _ in QUESTIONS[1:]:
        view = vote(annotation, "eve")
        assert (view.reveal, view.counted.ranks) == (None, (2, 1))
        assert "once your share is done" in view.counted.then
        assert not [name for name in (*MODELS, '"coupled"') if name in text_of(view)]
        assert not annotation.opens("eve")
    assert told_to(store, "eve") == []
    last = vote(annotation, "eve")
    assert last.counted is None
    assert last.reveal.models == store.battle(last.reveal.battle).models
    assert annotation.opens("eve")
    assert len(told_to(store, "eve")) == len(QUESTIONS)
    assert not annotation.opens("mia")
    assert annotation.named == {("hidden", "human"): len(QUESTIONS)}


def test_never_is_never(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate(Reveals.NEVER)
    while view := vote(annotation, "eve"):
        assert view.reveal is None
        assert view.counted.then == "The names are not told here."
    assert not annotation.opens("eve")
    assert told_to(store, "eve") == []


def test_a_vote_that_can_be_undone_opens_nothing(annotate, store):
    fill(store, QUESTIONS[:1])
    annotation = annotate(undo=60.0)
    view = vote(annotation, "eve")
    assert view.blind
    assert view.recorded.ranks == (2, 1)
    assert not annotation.opens("eve")
    annotation.undo("eve", annotation.opened("eve"))
    assert annotation.view("eve", annotation.opened("eve")).recorded is None
    vote(annotation, "eve", (1, 2))
    annotation.go_on("eve")  # whoever waits for no name need not wait
    assert annotation.next("eve") is None
    assert annotation.opens("eve")


def test_going_on_tells_nobody_who_is_to_see_the_names_first(annotate, store):
    fill(store, QUESTIONS)
    annotation = annotate(Reveals.EACH, undo=60.0)
    vote(annotation, "eve")
    annotation.go_on("eve")
    with pytest.raises(VoteError, match="undo that vote first"):
        annotation.skip("eve", annotation.opened("eve"))


def test_skipping_is_no_way_to_the_names(annotate, store):
    fill(store, QUESTIONS[:2])
    annotation = annotate()
    vote(annotation, "eve")
    annotation.skip("eve", annotation.next("eve"))
    assert annotation.next("eve") is None
    assert not annotation.opens("eve")


def test_whoever_has_not_voted_is_told_nothing_at_the_end(annotate, store):
    fill(store, QUESTIONS[:2])
    annotation = annotate(votes_each=1)
    while vote(annotation, "eve"):
        pass
    assert annotation.opens("eve")
    assert annotation.next("mia") is None
    assert not annotation.opens("mia")


def test_a_restart_remembers_who_was_told(annotate, store):
    fill(store, QUESTIONS)
    while vote(first := annotate(), "eve"):
        pass
    assert first.opens("eve")
    later = annotate()
    assert later.opens("eve")
    fill(store, ["And now?"])
    again = annotate()
    assert not again.opens("eve")  # there is something new to vote on
    assert vote(again, "eve").reveal


@pytest.mark.slow
def test_what_was_not_told_leaves_more_to_ask(annotate, store):
    """The answers of both modes are equal: whoever knew the names of one would know the other's."""
    made = fill(store, QUESTIONS, modes=(Mode.COUPLED, Mode.INDEPENDENT), texts=["one", "two"])
    asked = {}
    for reveal in (Reveals.EACH, Reveals.END):
        annotation = annotate(reveal)
        seen = 0
        while vote(annotation, reveal.value):
            seen += 1
        asked[reveal] = seen
    assert asked[Reveals.END] == len(made)
    assert asked[Reveals.EACH] < len(made)


def test_a_battle_gets_the_votes_it_wants_and_no_more(annotate, store):
    for models in (MODELS[:2], MODELS[1:], MODELS):
        fill(store, QUESTIONS, models)
    annotation = annotate(votes_each=2)
    given, busy = [], True
    while busy:
        busy = False
        for person in ("eve", "mia", "zoe"):
            if round_id := annotation.next(person):
                battle = annotation.round_of(person, round_id).state.battle
                annotation.vote(person, round_id, (1,) * len(battle.models))
                given.append(battle.id)
                busy = True
    assert len(set(given[:12])) == 12  # all have one before any has two
    assert set(Counter(given).values()) == {2}
    assert len(set(given)) == 12
    assert annotation.progress("eve").left == 0
    assert annotation.progress("nobody").asked == 0


def test_an_open_battle_counts_as_one_of_its_votes(annotate, store):
    (battle,) = fill(store, QUESTIONS[:1])
    annotation = annotate(votes_each=1)
    assert annotation.next("eve")
    assert annotation.next("mia") is None
    annotation.skip("eve", annotation.opened("eve"))
    assert annotation.next("mia")
    store.cast(Vote(new_id(), battle.id, "bob", (1, 2)))
    assert annotation.next("eve") is None


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"reveal": "sometimes"}, "annotate.reveal"),
        ({"votes_each": 0}, "annotate.votes_each"),
        ({"repeat_share": 0.6}, "annotate.repeat_share"),
        ({"repeat_share": float("nan")}, "annotate.repeat_share"),
        ({"reveal": "each", "repeat_share": 0.1}, "no battle can be repeated blind"),
        ({"rounds": 3}, "annotate.rounds"),
    ],
)
def test_rules_that_cannot_be(rules, told):
    with pytest.raises(SettingsError, match=told):
        load_settings(annotate=rules)


def test_repeats_go_with_hidden_names():
    assert load_settings().annotate.repeats == 0.05
    assert load_settings(annotate={"reveal": "each"}).annotate.repeats == 0
    assert load_settings(annotate={"reveal": "never", "repeat_share": 0}).annotate.repeats == 0


def test_the_options_are_for_annotators(call, tmp_path):
    db = tmp_path / "arena.duckdb"
    for option in (["--reveal", "end"], ["--votes-each", "2"], ["--repeat-share", "0.1"]):
        code, _, err = call("serve", *option, "--db", db)
        assert code == 2
        assert f"{option[0]} is for --annotate" in " ".join(err.split())
    code, _, err = call("serve", "--annotate", "--votes-each", "0", "--db", db)
    assert code == 2
