"""What a judge has not judged yet, and what becomes of its verdicts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Finish, Outcome, Reply, Source, Swap
from coupled_arena.core.verdicts import NOT_ASKED
from coupled_arena.store.database import Store
from coupled_arena.store.tables import judges
from coupled_arena.store.tables.judges import bind, binding
from coupled_arena.store.work_queues import judging
from coupled_arena.store.work_queues.judging import MatchupSelection, PendingMatchups
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote
from tests.stored import rows

BOTH = MatchupSelection("ann", Swap.BOTH)
RANDOM = MatchupSelection("ann", Swap.RANDOM)


def missing(store, wanted=BOTH):
    with PendingMatchups(store, wanted) as pending:
        found = [matchup for page in pending.pages() for matchup in page]
        assert len(found) == pending.questions
    return found


def orders(store, wanted=BOTH):
    return [(m.battle, m.first_place, m.second_place) for m in missing(store, wanted)]


def judge(store, matchups, outcome=Outcome.FIRST, raw="…", name="ann"):
    store.write(
        lambda cursor: judges.add_verdicts(
            cursor, [m.answered(name, outcome, raw, 0.25) for m in matchups]
        )
    )


@pytest.fixture
def battle(store):
    made = make_battle(turns=2)
    store.add_battle(made)
    return made


def test_texts_come_as_the_judge_is_to_see_them(store, battle):
    there, back = missing(store)
    said = [
        tuple("Well, " + r.text for r in battle.replies if r.place == place) for place in (0, 1)
    ]
    assert (there.first_place, there.second_place) == (0, 1)
    assert there.questions == ("Why 0?", "Why 1?")
    assert (there.first, there.second) == tuple(said)
    assert (back.first, back.second) == tuple(reversed(said))
    assert (back.first_place, back.second_place) == (1, 0)


@pytest.mark.parametrize("models", [2, 3, 4])
def test_all_pairs_of_a_battle_are_judged_in_both_orders(store, models):
    store.add_battle(make_battle(*map(str, range(models))))
    found = {(first, second) for _, first, second in orders(store)}
    assert found == {(i, j) for i in range(models) for j in range(models) if i != j}


def test_a_random_order_is_the_same_every_time_and_half_of_them_turned(store):
    with at_once(store) as batch:
        for _ in range(100):
            batch.add_battle(make_battle("a", "b", "c"))
    found = orders(store, RANDOM)
    assert found == orders(store, RANDOM)
    assert len({(b, *sorted((i, j))) for b, i, j in found}) == len(found) == 300
    turned = sum(i > j for _, i, j in found)
    assert 150 - 4 * 75**0.5 < turned < 150 + 4 * 75**0.5  # binomial: standard deviation √75


def test_what_is_judged_is_not_asked_again(store, battle):
    there, back = missing(store)
    judge(store, [there])
    assert missing(store) == [back]
    assert missing(store, replace(BOTH, judge="bob")) == [there, back]
    judge(store, [back], outcome=None)
    assert missing(store) == []
    (again,) = missing(store, replace(BOTH, again=True))
    assert again == replace(back, attempt=1)
    judge(store, [again])
    assert missing(store, replace(BOTH, again=True)) == []


def test_writing_a_verdict_again_changes_nothing(store, battle):
    there, _ = missing(store)
    judge(store, [there])
    version = store.version()
    judge(store, [there], outcome=Outcome.SECOND)
    assert store.version() == version
    assert rows(store, "select outcome, raw, probability from verdicts") == [("first", "…", 0.25)]


def test_verdicts_reach_the_comparisons(store):
    store.write(lambda cursor: bind(cursor, "ann", "m", "h", "s"))
    battles = [make_battle("left", "right") for _ in range(3)]
    for made in battles:
        store.add_battle(made)
    found = missing(store)
    judge(store, found[0:1] + found[2:3] + found[4:5])
    judge(store, found[1:2], Outcome.SECOND)  # the same model in both orders
    judge(store, found[3:4], Outcome.FIRST)  # whichever is shown first
    judge(store, found[5:6], outcome=None)
    judged = "select verdict::text from comparisons where judge_no > 0 order by battle_no"
    assert rows(store, judged) == [("first",), ("tie",), ("first",)]


def test_a_tie_of_identical_answers_settles_both_orders(store):
    replies = tuple(Reply(0, place, "same", (1,), Finish.STOP) for place in range(3))
    odd = replace(replies[2], text="other")
    store.add_battle(make_battle("a", "b", "c", replies=(*replies[:2], odd)))
    first = next(m for m in missing(store) if m.identical)
    assert (first.first_place, first.second_place) == (0, 1)
    judge(store, [first], Outcome.TIE, NOT_ASKED)
    assert not any(m.identical for m in missing(store))
    assert len(missing(store)) == 4
    assert len(missing(store, RANDOM)) == 2
    assert len(missing(store, replace(BOTH, again=True))) == 4


def test_only_battles_with_all_texts_are_judged(store):
    whole = make_battle()
    store.add_battle(make_battle(prompts=(), replies=()))
    store.add_battle(make_battle(replies=whole.replies[:1]))
    store.add_battle(make_battle(turns=2, replies=make_battle().replies))
    assert missing(store) == []


def test_a_stopped_battle_counts_once_somebody_voted(store):
    replies = make_battle().replies
    stopped = make_battle(replies=(replies[0], replace(replies[1], finish=Finish.CANCELLED)))
    store.add_battle(stopped)
    assert missing(store) == []
    store.cast(make_vote(stopped))
    assert len(missing(store)) == 2


def test_live_judging_sees_revealed_battles_alone(store):
    hidden, open_, tied = (make_battle() for _ in range(3))
    live = replace(BOTH, revealed=True)
    for made in (hidden, open_, tied):
        store.add_battle(made)
    store.cast(make_vote(hidden), reveal=False)
    assert missing(store, live) == []
    store.cast(make_vote(open_))
    seen = store.version()[0]
    assert {b for b, *_ in orders(store, live)} == {open_.id}
    store.cast(make_vote(tied, 1, 1, source=Source.IDENTICAL))
    assert {b for b, *_ in orders(store, live)} == {open_.id, tied.id}
    assert {b for b, *_ in orders(store, replace(live, after_vote=seen))} == {tied.id}


def test_a_limit_is_of_battles_in_the_order_of_the_store(store):
    made = [make_battle("a", "b", "c") for _ in range(4)]
    for each in made:
        store.add_battle(each)
    wanted = replace(BOTH, limit=2)
    assert [b for b, *_ in orders(store, wanted)] == [
        each.id for each in made[:2] for _ in range(6)
    ]
    judge(store, missing(store, replace(BOTH, limit=1)))
    assert {b for b, *_ in orders(store, wanted)} == {each.id for each in made[1:3]}


def test_pages_keep_battles_whole(store, monkeypatch):
    monkeypatch.setattr(judging, "_PAGE", 3)
    for _ in range(7):
        store.add_battle(make_battle("a", "b", "c"))
    with PendingMatchups(store, BOTH) as pending:
        pages = list(pending.pages())
    assert [len(page) for page in pages] == [18, 18, 6]


def test_a_name_is_bound_at_its_first_verdict(store, battle):
    store.write(lambda cursor: bind(cursor, "ann", "m", "h" * 64, "s"))
    store.write(
        lambda cursor: bind(cursor, "ann", "other", "h" * 64, "s")
    )  # nothing was judged yet
    with store.cursor() as cursor:
        assert binding(cursor, "ann") == ("other", "h" * 64, "s")
        assert binding(cursor, "bob") is None
    judge(store, missing(store))
    store.write(lambda cursor: bind(cursor, "ann", "other", "h" * 64, "s"))
    for changed in (("m", "h" * 64, "s"), ("other", "i" * 64, "s"), ("other", "h" * 64, "t")):
        with pytest.raises(StoreError, match=r"stands for verdicts with the .* another name"):
            store.write(lambda cursor, changed=changed: bind(cursor, "ann", *changed))


def test_the_name_of_imported_verdicts_is_taken(store, battle):
    store.write(lambda cursor: bind(cursor, "gpt", "imported", "", ""))
    judge(store, missing(store), name="gpt")
    with pytest.raises(StoreError, match="verdicts that were imported"):
        store.write(lambda cursor: bind(cursor, "gpt", "m", "h", "s"))


def test_a_verdict_survives_the_store_being_closed(tmp_path):
    path = tmp_path / "arena.duckdb"
    with Store.open(path) as store:
        store.add_battle(make_battle())
        judge(store, missing(store)[:1])
    with Store.open(path) as store:
        assert len(missing(store)) == 1
