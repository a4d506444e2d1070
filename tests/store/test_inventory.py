"""What a store holds, counted, against what was put into it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coupled_arena.core.records import Mode, Origin, Outcome, Sampling, Score, Source, new_id
from coupled_arena.core.verdicts import Verdict
from coupled_arena.store.queries.inventory import inventory
from coupled_arena.store.tables import judges, scores
from coupled_arena.store.tables.judges import bind


def counted(store, hidden=None):
    with store.cursor() as cursor:
        return inventory(cursor, hidden)


@pytest.fixture
def generated(store, new_battle):
    """Three stored battles of two plans."""
    made = [
        new_battle(origin=Origin.GENERATE, experiment=seed, repetition=nth, mode=mode)
        for seed, nth, mode in (
            ("00000000000000aa", 0, Mode.COUPLED),
            ("00000000000000aa", 1, Mode.INDEPENDENT),
            ("00000000000000bb", 0, Mode.COUPLED),
        )
    ]
    for battle in made:
        store.add_battle(battle)
    return made


def test_an_empty_store_holds_nothing(store):
    found = counted(store)
    assert (found.battles, found.judges, found.metrics, found.models) == ((), (), (), ())
    assert (found.votes.people, found.votes.voters, found.votes.superseded) == (0, 0, 0)


def test_battles_by_origin_and_mode(store, generated, new_battle):
    store.add_battle(new_battle(mode=Mode.UNKNOWN, origin=Origin.IMPORT, sampling=Sampling()))
    found = counted(store)
    assert [(each.origin, each.mode, each.battles) for each in found.battles] == [
        (Origin.GENERATE, Mode.COUPLED, 2),
        (Origin.GENERATE, Mode.INDEPENDENT, 1),
        (Origin.IMPORT, Mode.UNKNOWN, 1),
    ]
    assert found.samplings == ((Sampling(1.3, 40, 0.5, 99, "bytes"), 3),)  # imports have none


def test_votes_that_stand_and_votes_that_do_not(store, new_battle, new_vote):
    battles = [new_battle() for _ in range(3)]
    for battle in battles:
        store.add_battle(battle)
    store.cast(new_vote(battles[0], 1, 2), reveal=False)
    store.cast(new_vote(battles[0], 2, 1))
    store.cast(new_vote(battles[0], 2, 1, voter="bob"))
    store.cast(new_vote(battles[1], 1, 2))
    store.cast(new_vote(battles[2], 1, 1, source=Source.IDENTICAL, voter="cas"))
    votes = counted(store).votes
    assert (votes.people, votes.voters, votes.identical, votes.superseded) == (3, 2, 1, 1)


def test_judges_and_metrics(store, generated):
    store.write(lambda cursor: bind(cursor, "gpt", "model", "hash", "{}"))
    judged = [
        Verdict(new_id(), battle.id, "gpt", 0, 1, outcome, "")
        for battle, outcome in zip(generated, [Outcome.FIRST, None], strict=False)
    ]
    store.write(lambda cursor: judges.add_verdicts(cursor, judged))
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    for battle in generated[:2]:
        store.add_battle(battle, [Score(0, place, "quiz", 1.0, "4") for place in (0, 1)])
    found = counted(store)
    (judge,) = found.judges
    assert (judge.judge, judge.model, judge.prompt_hash, judge.sampling) == (
        *("gpt", "model", "hash", "{}"),
    )
    assert (judge.verdicts, judge.unreadable_verdicts, judge.grades) == (2, 1, 0)
    (metric,) = found.metrics
    assert (metric.metric, metric.source, metric.higher_is_better) == ("quiz", "benchmark", True)
    assert (metric.scores, metric.prompts) == (4, 1)


def test_facts_of_models_whose_names_have_slashes(store, new_battle):
    battle = new_battle("org/a", "b")
    for dtype in ("float32", "bfloat16"):
        facts = {"org/a/dtype": dtype, "b/dtype": "int8", "turn 0/most battles at once": "9"}
        store.add_battle(replace(battle, id=new_id(), arithmetic=facts))
    found = {each.model: each for each in counted(store).models}
    assert found["org/a"].facts == {"dtype": ("bfloat16", "float32")}
    assert found["b"].facts == {"dtype": ("int8",)}
    assert {each.battles for each in found.values()} == {2}


class TestSeeds:
    def test_they_are_told_of_battles_nobody_votes_on(self, store, generated):
        assert [
            (each.seed, each.battles, each.prompts, each.repetitions)
            for each in counted(store).experiments
        ] == [("00000000000000aa", 2, 1, 2), ("00000000000000bb", 1, 1, 1)]

    def test_one_vote_by_a_person_hides_them_all(self, store, generated, new_vote):
        store.cast(new_vote(generated[2], 1, 1, source=Source.IDENTICAL))
        assert all(each.seed for each in counted(store).experiments)
        store.cast(new_vote(generated[0], 1, 2))
        assert [each.seed for each in counted(store).experiments] == [None, None]
        assert all(each.seed for each in counted(store, "rounds").experiments)

    def test_rounds_of_the_battle_tab_are_no_experiments(self, store, new_battle):
        store.add_battle(new_battle(origin=Origin.ARENA, experiment="7"))
        assert counted(store).experiments == ()
