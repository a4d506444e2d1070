"""Every number that leads to battles leads to exactly those that it counts."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from coupled_arena.analysis.audit.result import audit
from coupled_arena.analysis.audit.verdicts import read_audit_estimates
from coupled_arena.analysis.battles import read_battle, read_battles
from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.core.choices import BoardSource, Ties
from coupled_arena.core.errors import ArenaError, BattleError
from coupled_arena.core.records import Finish, Mode, Origin, Outcome, Prompt, Reply, Source
from coupled_arena.store.database import Store
from coupled_arena.store.queries.battle_search import Agreement, BattleFilter, Rater, tally
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.addresses import (
    BoardAddresses,
    audit_addresses,
    list_address,
    model_address,
    read_address,
)
from coupled_arena.views.battle_pages import list_page
from tests.batches import at_once, judge
from tests.families import first_of
from tests.store.conftest import make_battle, make_vote

MODELS = ("ant & bee", "cat=1", "dog#2", "eel/100%")
SELECTIONS = [
    Selection(judge=judged, mode=mode, category=category, language=language, voter=voter)
    for judged, mode, category, language, voter in [
        (None, None, None, None, None),
        ("strict", None, None, None, None),
        ("strict", Mode.COUPLED, None, "en", None),
        ("kind", Mode.INDEPENDENT, "maths", None, None),
        ("kind", Mode.UNKNOWN, None, None, None),
        (None, None, None, None, "ann"),
        ("strict", None, "art", "de", "bob"),
    ]
]


def add_something(batch, rng, number):
    """Store a battle with whatever may have been said of it."""
    models = tuple(str(m) for m in rng.choice(MODELS, rng.choice([2, 2, 2, 3]), replace=False))
    if number % 17 == 0:
        models = (models[0], models[0])
    mode = Mode(rng.choice(list(Mode)))
    origin = Origin.IMPORT if mode is Mode.UNKNOWN else Origin(rng.choice(["arena", "generate"]))
    # Not the models' names: votes on those would not be blind.
    own = [f"Number {MODELS.index(model)}" for model in models]
    words = ["the same"] * len(models) if number % 5 == 0 else own
    prompt = Prompt(f"Question {number % 20}", None, *rng.choice([["art", "de"], ["maths", "en"]]))
    battle = make_battle(
        *models,
        mode=mode,
        origin=origin,
        prompts=(prompt,),
        replies=tuple(
            Reply(0, place, f"{text} says", (), Finish.STOP) for place, text in enumerate(words)
        ),
    )
    batch.add_battle(battle)
    voters = rng.choice(["ann", "bob", "eve", "ann"], rng.integers(0, 4))
    for voter in voters:
        ranks = [int(rank) for rank in rng.integers(1, 3, len(models))]
        bad = bool(rng.random() < 0.15)
        source = Source.IDENTICAL if number % 10 == 0 else Source.HUMAN
        if bad or source is Source.IDENTICAL:
            ranks = [1] * len(models)
        ranks = [rank - min(ranks) + 1 for rank in ranks]
        vote = make_vote(battle, *ranks, voter=str(voter), both_bad=bad, source=source)
        batch.cast(vote, reveal=False)  # they may vote again
    if voters.size and origin is Origin.ARENA:
        batch.cast(make_vote(battle, *[1] * len(models), voter="zoe"))
    for name, _ in product(("strict", "kind"), range(2)):
        if rng.random() < 0.6:
            places = [int(place) for place in rng.permutation(len(models))[:2]]
            said = rng.choice([*Outcome, None])
            judge(batch, name, battle, *places, said)


@pytest.fixture(scope="module")
def store():
    rng = np.random.default_rng(5)
    with Store.in_memory() as opened:
        with at_once(opened) as batch:
            for number in range(150):
                add_something(batch, rng, number)
        yield opened


def behind(store, address, *, voter=None, hidden="nothing"):
    """Return how many comparisons an address leads to, those that are not shown included."""
    asked = read_address(address)
    wanted = replace(asked.wanted, voter=voter) if asked.mine else asked.wanted
    with store.cursor() as cursor:
        found = tally(cursor, wanted, hidden)
    return found.comparisons + found.hidden


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_a_board_s_cells_lead_to_what_they_count(store, selection):
    estimates = read_estimates(store, selection, draws=10)  # ranks do not matter here
    for source in BoardSource if selection.judge else [BoardSource.HUMAN]:
        check_cells(store, leaderboard(estimates, source=source))


def check_cells(store, board):
    selection, source = board.estimates.selection, board.source
    mine = selection.voter is not None
    to = BoardAddresses(board, mine=mine)
    assert len(board.standings) > 1
    for row in board.standings:
        counted = ["human_votes", "wins", "ties", "both_bad", "identical"]
        counted += ["judge_verdicts"] if selection.judge else []
        for column in counted:
            n, address = getattr(row, column), to.standing(row, column)
            assert (address is None) == (n == 0)
            assert address is None or behind(store, address, voter=selection.voter) == n, column
        judged = source is BoardSource.JUDGE
        n = row.judge_verdicts if judged else row.comparisons
        assert to.standing(row, "win_rate") == to.model(row.model)
        assert behind(store, to.model(row.model), voter=selection.voter) == n
        assert read_address(to.standing(row, "model")).model == row.model
    for i, j in combinations(range(len(board.standings)), 2):
        first, second = board.standings[i].model, board.standings[j].model
        pair = board.head_to_head[i][j]
        address = to.pair(first, second)
        assert behind(store, address, voter=selection.voter) == pair.comparisons
        wanted = read_address(address).wanted
        mine_too = {"mine": mine}
        won = list_address(replace(wanted, winner=first), **mine_too)
        tied = list_address(replace(wanted, ending="even"), **mine_too)
        assert behind(store, won, voter=selection.voter) == pair.wins
        assert behind(store, tied, voter=selection.voter) == pair.ties


@pytest.mark.parametrize("selection", [each for each in SELECTIONS if each.judge], ids=str)
@pytest.mark.parametrize("ties", first_of(*Ties))
def test_an_audit_s_cells_lead_to_what_they_count(store, selection, ties):
    selection = replace(selection, voter=None)
    found = audit(read_audit_estimates(store, selection, ties), 0.05)
    to = audit_addresses(found)
    for row in found.models:
        people = row.both + row.human_alone
        counts = {
            "n": row.n,
            "judge_only": row.judge_only,
            "b": people,
            "p": row.both,
            "agreement": row.both + row.neither,
            "judge_bias": row.human_alone + row.judge_alone,
        }
        for column, n in counts.items():
            address = to(row, column)
            assert address is not None or n == 0 or getattr(row, column) == 0
            assert address is None or behind(store, address) == n, column
        assert to(row, "model") == model_address(row.model)


@pytest.mark.parametrize("hidden", first_of("rounds", "stored"))
def test_what_may_not_be_shown_is_counted_and_not_listed(store, hidden):
    for judged in (None, "strict"):
        board = leaderboard(read_estimates(store, Selection(judge=judged), draws=10))
        to = BoardAddresses(board)
        for row in board.standings:
            asked = [to.standing(row, "human_votes"), to.standing(row, "judge_verdicts")]
            for address in filter(None, asked):
                everything = behind(store, address)
                assert behind(store, address, hidden=hidden) == everything
    shown = listed(store, BattleFilter(), hidden)
    assert 0 < len(shown) < len(listed(store, BattleFilter(), "nothing"))
    (revealed,) = zip(*query(store, "select distinct battle from reveals"), strict=True)
    for battle, origin in query(store, "select battle, origin from battles")[::4]:
        blind = battle not in revealed if origin == "arena" else hidden == "stored"
        assert (battle in shown) != blind
        if blind:
            with pytest.raises(BattleError, match="no such battle here, or people may still"):
                read_battle(store, battle, hidden)
        else:
            assert read_battle(store, battle, hidden).battle.id == battle


def query(store, sql):
    with store.cursor() as cursor:
        return cursor.execute(sql).fetchall()


def listed(store, wanted, hidden, size=20):
    """Return the ids of all pages, in their order."""
    found = []
    while wanted is not None:
        page = read_battles(store, wanted, hidden, size=size)
        assert len(page.battles) <= size
        found += [each.battle for each in page.battles]
        wanted = page.following
    assert page.tally.battles == len(found) == len(set(found))
    return found


def test_pages_go_on_where_the_last_one_ended(store):
    newest_first = "select battle from battles order by created_at desc, battle_no desc"
    assert listed(store, BattleFilter(), "nothing") == [id for (id,) in query(store, newest_first)]
    wanted = BattleFilter(model=MODELS[0], other=MODELS[1], rater=Rater.PEOPLE)
    assert 20 < len(listed(store, wanted, "nothing")) < 150


def test_a_list_says_what_was_heard(store):
    """Of a battle at most as much as was selected: a winner who was asked for, and nobody else."""
    wanted = BattleFilter(
        rater=Rater.PEOPLE, judge="kind", agreement=Agreement.DIFFERS, winner=MODELS[0]
    )
    found = read_battles(store, wanted, "nothing", size=200)
    assert found.battles
    for each in found.battles:
        assert len(each.preferences) == each.comparisons
        assert {one.people for one in each.preferences} == {MODELS[0]}
        assert {one.judge for one in each.preferences}.isdisjoint({None, MODELS[0]})
    rows = list_page(found, mine=False)["rows"]
    assert all(row["heard"].startswith(f"People: {MODELS[0]}") for row in rows)
    assert all("kind: " in row["heard"] for row in rows)
    everything = read_battles(store, BattleFilter(), "nothing", size=200)
    for each in everything.battles:
        assert {one.judge for one in each.preferences} <= {None}
        assert bool(each.preferences) <= bool(each.votes)


def test_hidden_battles_cannot_be_found_by_their_words(store):
    """Or by who voted: a count would tell a visitor which models they are looking at."""
    for more in ({"text": "Question 7"}, {"voter": "ann"}, {"benchmark": "mmlu"}):
        wanted = BattleFilter(rater=Rater.PEOPLE, **more)
        assert read_battles(store, wanted, "stored").tally.hidden == 0
    wanted = BattleFilter(rater=Rater.PEOPLE, voter="ann")
    assert read_battles(store, wanted, "stored", reader="ann").tally.hidden > 0
    for wanted in (BattleFilter(), BattleFilter(model=MODELS[0]), BattleFilter(mode=Mode.COUPLED)):
        assert read_battles(store, wanted, "rounds").tally.hidden == 0


def test_a_judge_who_is_named_beside_people_counts_nothing_twice(store):
    people = BattleFilter(rater=Rater.PEOPLE)
    beside = list_address(replace(people, judge="strict"))
    assert behind(store, beside) == behind(store, list_address(people)) > 0


def test_words_are_found_in_questions_and_answers(store):
    for text, where in (
        ("qUESTION 19", "turns where prompt = 'Question 19'"),
        ("dog#2 SAYS", "replies where text = 'dog#2 says'"),
        ("_", "replies where false"),
    ):
        found = {id for (id,) in query(store, f"select battle from {where}")}
        assert set(listed(store, BattleFilter(text=text), "nothing")) == found


def test_an_address_says_what_it_was_made_of():
    wanted = BattleFilter(
        *("a&b=", "#?%", "people", "j+", "ü ß", "even", "both", True, "coupled"),
        *("c/d", "en", "x", "mmlu", 0.7, 0.9, "inverse", "<b>${1}", "0f"),
    )
    assert read_address(list_address(wanted)).wanted == wanted
    assert "${" not in list_address(wanted)
    mine = read_address(list_address(wanted, mine=True))
    assert mine.mine
    assert mine.wanted == replace(wanted, voter=None)


@pytest.mark.parametrize(
    "query", ["?mode=warm", "?source=me", "?a=" + "x" * 301, "?" + "a=1&" * 50, "?judged="]
)
def test_an_address_that_makes_no_sense_is_refused(query):
    if query == "?judged=":
        assert read_address(query).wanted == BattleFilter()
        return
    with pytest.raises(ArenaError, match="address"):
        read_address(query)


@pytest.mark.parametrize(
    "wanted",
    [
        BattleFilter(model="nobody"),
        BattleFilter(winner="nobody"),
        BattleFilter(judge="nobody"),
        BattleFilter(rater=Rater.JUDGE),
        BattleFilter(agreement="differs"),
        BattleFilter(before="nowhere"),
    ],
)
def test_what_is_not_there_is_said(store, wanted):
    with pytest.raises(ArenaError):
        read_battles(store, wanted, "nothing")
