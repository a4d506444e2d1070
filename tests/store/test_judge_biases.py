"""What sways a judge, from SQL, against plain loops over the same verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from coupled_arena.core.records import Finish, Mode, Outcome, Prompt, Reply
from coupled_arena.store.database import Store
from coupled_arena.store.queries import judge_quality
from coupled_arena.store.queries.comparisons import Selection
from tests.batches import at_once, judge
from tests.store.conftest import make_battle, make_vote

OUTCOMES = [outcome.value for outcome in Outcome]
SELECTIONS = [
    Selection(judge="gpt"),
    Selection(judge="gpt", mode=Mode.COUPLED),
    Selection(judge="gpt", category="maths", language="en"),
    Selection(judge="gpt", models=("a", "b")),
]


class World:
    """Battles of two or three models, with verdicts and votes kept in plain Python."""

    def __init__(self, store, seed):
        self.store, self.rng = store, np.random.default_rng(seed)
        self.battles, self.asked, self.votes = [], {}, {}
        with at_once(store) as self.batch:
            for _ in range(50):
                self.fight()
            for _ in range(150):
                battle = self.pick(self.battles)
                i, j = self.rng.permutation(len(battle.models))[:2].tolist()
                outcome = self.pick([*OUTCOMES, "first", None])
                judge(self.batch, self.pick(["gpt", "gpt", "other"]), battle, i, j, outcome)
        with store.cursor() as cursor:
            rows = cursor.execute(
                "select battle, judge, first_place, second_place, outcome from verdicts "
                "order by seq"
            ).fetchall()
        for *question, outcome in rows:
            self.asked[tuple(question)] = outcome or self.asked.get(tuple(question))

    def pick(self, items):
        return items[self.rng.integers(len(items))]

    def fight(self):
        models = self.rng.permutation(list("abcd"))[: self.rng.integers(2, 4)].tolist()
        sizes = self.rng.integers(0, 4, (2, len(models)))
        battle = make_battle(
            *models,
            mode=self.pick(list(Mode)),
            prompts=tuple(
                Prompt("Why?", None, self.pick(["maths", None]), self.pick(["en", "de"]))
                for _ in range(2)
            ),
            replies=tuple(
                Reply(turn, place, "ñ" * int(sizes[turn, place]), (), Finish.STOP)
                for turn in range(2)
                for place in range(len(models))
            ),
        )
        self.batch.add_battle(battle)
        self.battles.append(battle)
        for voter in ("ann", "bob")[: self.rng.integers(3)]:
            ranks = tuple(1 + self.rng.permutation(len(models)))
            if self.rng.random() < 0.3:
                ranks = (1,) * len(models)
            self.batch.cast(make_vote(battle, *map(int, ranks), voter=voter))
            self.votes[battle.id, voter] = ranks

    def pairs(self, wanted):
        """Yield (battle, i, j, said in this order, said in the other) of what was asked."""
        for battle in self.battles:
            first = battle.prompts[0]
            if (
                wanted.mode not in (None, battle.mode)
                or wanted.category not in (None, first.category)
                or wanted.language not in (None, first.language)
            ):
                continue
            for i in range(len(battle.models)):
                for j in range(i + 1, len(battle.models)):
                    if wanted.models and not {battle.models[i], battle.models[j]} <= set(
                        wanted.models
                    ):
                        continue
                    both = [(battle.id, "gpt", *order) for order in ((i, j), (j, i))]
                    if any(question in self.asked for question in both):
                        yield battle, i, j, *(self.asked.get(x, "never") for x in both)


@pytest.fixture(scope="module", params=[1, 2])
def world(request):
    with Store.in_memory() as store:
        yield World(store, request.param)


@pytest.mark.parametrize("wanted", SELECTIONS, ids=str)
def test_orders(world, wanted):
    with world.store.cursor() as cursor:
        found = judge_quality.orders(cursor, wanted)
    pairs = [pair[3:] for pair in world.pairs(wanted)]
    said = [outcome for pair in pairs for outcome in pair if outcome not in (None, "never")]
    assert found.first == said.count("first") > 0
    assert found.second == said.count("second")
    assert found.ties == said.count("tie") + said.count("both_bad")
    assert found.unreadable == sum(outcome is None for pair in pairs for outcome in pair)
    swapped = [pair for pair in pairs if not {None, "never"} & set(pair)]
    wins = [pair for pair in swapped if set(pair) <= {"first", "second"}]
    neither = [pair for pair in swapped if not {"first", "second"} & set(pair)]
    assert found.swapped == len(swapped)
    assert found.first_twice == wins.count(("first", "first"))
    assert found.second_twice == wins.count(("second", "second"))
    assert found.same == len(neither) + sum(one != two for one, two in wins)
    assert found.to_tie == len(swapped) - len(wins) - len(neither)


@pytest.mark.parametrize("wanted", SELECTIONS, ids=str)
def test_lengths(world, wanted):
    with world.store.cursor() as cursor:
        found = judge_quality.lengths(cursor, wanted)
    judged, voted = [], []
    for battle, i, j, one, two in world.pairs(wanted):
        sizes = [sum(len(r.text) for r in battle.replies if r.place == at) for at in (i, j)]
        flipped = {"first": "second", "second": "first"}.get(two, two)
        heard = {one, flipped} - {None, "never"}
        if sizes[0] == sizes[1] or not heard:
            continue
        verdict = heard.pop() if len(heard) == 1 else "tie"
        if verdict in ("first", "second"):
            judged.append((verdict == "first") == (sizes[0] > sizes[1]))
        for (battle_id, _), ranks in world.votes.items():
            if battle_id == battle.id and ranks[i] != ranks[j]:
                voted.append((ranks[i] < ranks[j]) == (sizes[0] > sizes[1]))
    assert (found.judge_longer, found.judge_all) == (sum(judged), len(judged))
    assert (found.human_longer, found.human_all) == (sum(voted), len(voted))
    assert found.judge_all > 0


def test_no_verdict_at_all(store):
    with store.cursor() as cursor:
        assert judge_quality.orders(cursor, SELECTIONS[0]).readable == 0
        assert judge_quality.lengths(cursor, SELECTIONS[0]) == judge_quality.Lengths(0, 0, 0, 0)
