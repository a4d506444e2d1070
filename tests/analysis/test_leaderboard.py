from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from coupled_arena.analysis.leaderboard import board_estimates as read_module
from coupled_arena.analysis.leaderboard.board_estimates import LiveEstimates, Method, read_estimates
from coupled_arena.analysis.leaderboard.result import HeadToHead, MissingVotes, leaderboard
from coupled_arena.core.choices import BoardSource, Cutoff, Design, TieScore, Voters, Weighting
from coupled_arena.core.records import Battle, Mode, Origin, Prompt, Sampling, Source, Vote, new_id
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import Separation
from coupled_arena.stats.simulation.coverage import estimate_drawn
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.truths import Campaign, SimulatedTruth
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.words.leaderboard import board_warnings
from tests.batches import at_once, judge
from tests.boards import read_leaderboard
from tests.stats.mode_votes import ModeCampaign
from tests.store.conftest import make_battle, make_vote
from tests.stored import fill

COUPLED = Selection(mode=Mode.COUPLED)


@pytest.fixture
def reads(monkeypatch):
    """The selections that were counted so far."""
    counted = []

    def count(cursor, selection):
        counted.append(selection)
        return comparisons.count(cursor, selection)

    counting = type("Counting", (), {**vars(comparisons), "count": staticmethod(count)})
    monkeypatch.setattr(read_module, "comparisons", counting)
    return counted


def vote(store, models, ranks, times=1, *, mode=Mode.COUPLED, voter="ann", **changes):
    with at_once(store) as batch:
        for _ in range(times):
            battle = Battle(
                id=new_id(),
                models=tuple(models),
                mode=mode,
                seed=1,
                nonce=bytes(16),
                sampling=Sampling(),
                origin=Origin.ARENA,
                prompts=(Prompt(f"Why {new_id()}?"),),
                replies=(),
            )
            batch.add_battle(battle)
            batch.cast(Vote(new_id(), battle.id, voter, tuple(ranks), **changes))


def test_an_empty_store_gives_an_empty_board(store):
    board = read_leaderboard(store)
    assert board.standings == ()
    assert board.head_to_head == ()
    assert board_warnings(board) == ()
    assert board.human_votes == 0
    assert board.estimate is None


def test_standings_come_best_first_and_unknown_last(store):
    vote(store, "AB", (2, 1), 6)
    vote(store, "BA", (2, 1), 2)
    vote(store, "AB", (1, 1), 1)
    vote(store, "BA", (1, 1), 1, both_bad=True)
    vote(store, "AB", (1, 1), 2, source=Source.IDENTICAL)
    vote(store, "CD", (1, 2), 0)
    board = read_leaderboard(store)
    b, a = board.standings
    assert (b.model, a.model) == ("B", "A")
    assert b.place.win_rate == pytest.approx(8 / 12)
    assert (b.wins, b.losses, b.ties, b.both_bad, b.identical) == (6, 2, 1, 1, 2)
    assert (b.human_votes, b.comparisons) == (10, 12)
    assert b.place.low < b.place.win_rate < b.place.high
    assert a.place.win_rate == pytest.approx(4 / 12)
    assert (b.place.rank, a.place.rank) == (1, 2)
    assert board.human_votes == 10
    assert board.identical == 2


def test_a_model_without_votes_is_named_and_nothing_else(store):
    vote(store, "BC", (1, 2), 4)
    vote(store, "AB", (1, 2), 1, voter="ben")
    board = read_leaderboard(store, Selection(voter="ann"))
    assert [standing.model for standing in board.standings] == ["B", "C"]
    assert board.missing == (MissingVotes("B", "C", 1),)
    assert board_warnings(board)[-2:] == ("1 more vote in B–C", "No votes yet: A.")
    assert not any("Without a vote" in message for message in board_warnings(board))


def test_battles_of_a_benchmark_leave_the_board_as_it_was(store):
    """As `benchmark` stores them: many models in one battle, which nobody votes on."""
    vote(store, "AB", (1, 2), 9)
    vote(store, "AB", (2, 1), 6)
    before = read_leaderboard(store)
    fill(store, [f"Sum {i}?" for i in range(5)], models=[f"bench-{i:02}" for i in range(21)])
    after = read_leaderboard(store)
    assert after.standings == before.standings
    assert after.head_to_head == before.head_to_head
    assert after.missing == before.missing == ()
    named = ", ".join(f"bench-{i:02}" for i in range(5))
    assert board_warnings(after) == (*board_warnings(before), f"No votes yet: {named} and 16 more.")


def test_a_judge_s_board_is_of_the_models_it_has_judged(store):
    vote(store, "AB", (1, 2), 9)
    for battle in fill(store, ["Sum 1?", "Sum 2?"], models=["bench-1", "bench-2"]):
        judge(store, "gpt", battle, 0, 1, "first")
    found = read_estimates(store, Selection(judge="gpt"))
    by_judge = leaderboard(found, source=BoardSource.JUDGE)
    assert {s.model for s in by_judge.standings} == {"bench-1", "bench-2"}
    assert board_warnings(by_judge)[-1] == "No verdicts yet: A, B."
    people = leaderboard(found, source=BoardSource.HUMAN)
    assert {s.model for s in people.standings} == {"A", "B"}
    assert board_warnings(people)[-1] == "No votes yet: bench-1, bench-2."


def test_sums_agree(store):
    vote(store, "ABC", (1, 2, 3), 4)
    vote(store, "ACB", (1, 1, 2), 3)
    vote(store, "AB", (1, 1), 2, both_bad=True)
    vote(store, "CA", (1, 1), 2, source=Source.IDENTICAL)
    board = read_leaderboard(store)
    pairs = [pair for row in board.head_to_head for pair in row]
    assert sum(s.wins for s in board.standings) == sum(s.losses for s in board.standings)
    assert sum(pair.wins for pair in pairs) == sum(s.wins for s in board.standings)
    assert sum(pair.comparisons for pair in pairs) == 2 * (board.human_votes + board.identical)
    for standing, row in zip(board.standings, board.head_to_head, strict=True):
        assert sum(pair.comparisons for pair in row) == standing.comparisons


def test_the_matrix_follows_the_standings(store):
    vote(store, "AB", (2, 1), 6)
    vote(store, "BA", (1, 1), 3)
    board = read_leaderboard(store)
    assert [standing.model for standing in board.standings] == ["B", "A"]
    assert board.head_to_head[0][1] == HeadToHead(wins=6, losses=0, ties=3)
    assert board.head_to_head[1][0] == HeadToHead(wins=0, losses=6, ties=3)
    assert board.head_to_head[0][1].win_rate(TieScore.LOSS) == pytest.approx(2 / 3)
    assert board.head_to_head[0][1].win_rate(TieScore.HALF) == pytest.approx(5 / 6)
    assert board.head_to_head[0][0].comparisons == 0
    assert board.head_to_head[0][0].win_rate(TieScore.HALF) is None


def test_missing_votes_are_asked_for_nearest_first(store):
    vote(store, "ABC", (1, 2, 3), 1)
    vote(store, "AB", (1, 2), 3)
    board = read_leaderboard(store)
    assert board.missing == (
        MissingVotes("A", "B", 1),
        MissingVotes("A", "C", 4),
        MissingVotes("B", "C", 4),
    )
    assert board_warnings(board)[-3:] == (
        "1 more vote in A–B",
        "4 more votes in A–C",
        "4 more votes in B–C",
    )


def test_only_some_of_many_missing_pairs_are_named(store):
    vote(store, "ABCD", (1, 2, 3, 4))
    assert len(read_leaderboard(store).missing) == 6
    assert board_warnings(read_leaderboard(store))[-1] == "1 more pair without enough votes"


def test_modes_are_kept_apart_and_their_mixture_is_said(store):
    vote(store, "AB", (1, 2), 5)
    vote(store, "AB", (2, 1), 7, mode=Mode.INDEPENDENT)
    coupled = read_leaderboard(store, COUPLED)
    assert [s.place.win_rate for s in coupled.standings] == [1.0, 0.0]
    alone = "One person cast all votes: this board speaks for that person only."
    assert board_warnings(coupled) == (alone,)
    both = read_leaderboard(store)
    assert both.standings[0].model == "B"
    assert both.human_votes == 12
    assert board_warnings(both) == (
        "This board mixes battles of different modes: coupled, independent.",
        alone,
        "A would be first in place of B if 3 comparisons of 12 (25.00%) were left out: "
        "those that matter most.",
        "Left and right were not drawn at random, and not all pairs have 5 votes in each order. "
        "The win rates therefore contain the effect of being shown first.",
        "1 pair was always shown in one order: A–B.",
    )
    assert read_leaderboard(store, Selection(mode=Mode.UNKNOWN)).estimate is None


@pytest.mark.parametrize(("wins", "place"), [((30, 10), "first"), ((10, 30), "second")])
def test_the_order_s_effect_is_told_of_the_answer_that_gains_by_it(store, wins, place):
    """Both models are alike, and 40 votes of each order give one side 30."""
    for models in ("AB", "BA"):
        for ranks, times in zip(((1, 2), (2, 1)), wins, strict=True):
            vote(store, models, ranks, times)
    (said,) = (each for each in board_warnings(read_leaderboard(store)) if "answer shown" in each)
    assert said.startswith(
        f"The answer shown {place} won 50.0% of the comparisons more than the other (+"
    )


def test_alpha_changes_intervals_and_rank_sets_of_the_same_estimates(store):
    vote(store, "AB", (1, 2), 9)
    vote(store, "AB", (2, 1), 3)
    found = read_estimates(store)
    strict, lax = (leaderboard(found, alpha=alpha) for alpha in (0.01, 0.3))
    assert strict.estimates is lax.estimates
    assert strict.standings[0].place.low < lax.standings[0].place.low
    assert strict.standings[0].place.rank_high == 2
    assert lax.standings[0].place.rank_high == 1


def test_a_board_says_its_settings(store):
    vote(store, "AB", (1, 2), 5)
    board = read_leaderboard(store, COUPLED, alpha=0.2, cutoff=Cutoff.CHI2)
    assert (board.mode, board.alpha, board.cutoff) == (Mode.COUPLED, 0.2, Cutoff.CHI2)
    assert board.source is BoardSource.HUMAN


def test_estimates_is_gathered_again_only_after_a_change(store, reads):
    live = LiveEstimates(store)
    vote(store, "AB", (1, 2), 5)
    first = live.get(COUPLED)
    assert live.get(COUPLED) is first
    assert len(reads) == 1
    live.get(Selection(mode=Mode.INDEPENDENT))
    assert live.get(COUPLED) is first
    vote(store, "AB", (2, 1))
    second = live.get(COUPLED)
    assert leaderboard(second).standings[0].place.win_rate == pytest.approx(5 / 6)
    assert second.version == store.version() != first.version


def test_many_sessions_share_one_computation(store, reads):
    live = LiveEstimates(store)
    vote(store, "AB", (1, 2), 5)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: live.get(COUPLED), range(64)))
    assert len(reads) == 1
    assert all(estimates is found[0] for estimates in found)


@pytest.mark.parametrize(("prompts", "pairs"), [(7, 0), (3, 3)], ids=["enough", "filled in"])
def test_the_board_says_of_clusters_what_the_simulations_say(store, prompts, pairs):
    """Coverage is measured on arrays: a store with the same votes must lead to the same board."""
    votes = {"human": 3 * prompts * 4, "judge_only": 3 * 8, "voters": 4}
    truth = SimulatedTruth((0.4, 0.0, -0.4), **votes, design=Design.VOTERS, prompt_effect=1.5)
    drawn = truth.draw(np.random.default_rng(3))
    store_rankings(store, drawn)
    found = read_estimates(
        store, Selection(judge="gpt"), Method(ties=TieScore.LOSS, voters=Voters.THESE)
    )
    for source, kept in ((BoardSource.HUMAN, False), (BoardSource.PPR, True)):
        counts, on = drawn.counts(), drawn.prompts()
        plain = estimate(counts, prompts=on) if kept else None
        plain = plain or estimate_from_votes(counts.votes, prompts=on)
        products = drawn.products(plain.influence)
        gram = drawn.gram(plain.influence, plain.sparse)
        expected = plain.clustered(gram, drawn.clusters, products)
        stored = found.by_source[source]
        assert stored.weighting is Weighting.STRATIFIED
        assert (stored.sparse.pairs if stored.sparse else 0) == pairs
        assert stored.clusters == expected.clusters == 3 * prompts
        assert stored.theta == pytest.approx(expected.theta, rel=1e-12)
        assert stored.covariance == pytest.approx(expected.covariance, rel=1e-12)
        assert stored.degrees == pytest.approx(expected.degrees, rel=1e-9)
        assert stored.warnings == expected.warnings
        assert "3 pairs were compared on fewer than 10 prompts" in stored.warnings[-1]
        ranks = Separation(expected, found.draws).rank_sets()
        board = leaderboard(found, source=source)
        places = {s.model: (s.place.rank_low, s.place.rank_high) for s in board.standings}
        sets = zip(ranks.low.tolist(), ranks.high.tolist(), strict=True)
        assert places == dict(zip(drawn.models, sets, strict=True))


@pytest.mark.parametrize("prompts", [None, 12], ids=["a prompt each", "shared prompts"])
@pytest.mark.parametrize("ties", list(TieScore))
def test_a_board_of_a_campaign_says_what_the_simulations_say(store, prompts, ties):
    truth = Campaign((0.4, 0.0, -0.4), 6, 120, prompts=prompts, prompt_effect=1.0, judge_only=40)
    drawn = truth.draw(np.random.default_rng(4))
    store_rankings(store, drawn)
    found = read_estimates(store, Selection(judge="gpt"), Method(ties=ties))
    for source, ranking in ((BoardSource.HUMAN, Ranking.HUMAN), (BoardSource.PPR, Ranking.PPR)):
        expected, stored = estimate_drawn(drawn, ranking, ties=ties), found.by_source[source]
        assert (stored.tastes.voters, stored.tastes.votes) == (6, 120)
        assert stored.tastes.worth == pytest.approx(expected.tastes.worth, rel=1e-9)
        assert stored.tastes.worth < 120
        assert stored.covariance == pytest.approx(expected.covariance, rel=1e-9)
        assert stored.degrees == pytest.approx(expected.degrees, rel=1e-9)
        assert stored.certain_size == pytest.approx(expected.certain_size)


@pytest.mark.parametrize("prompts", [None, 12], ids=["a prompt each", "shared prompts"])
def test_modes_of_a_campaign_are_compared_as_the_simulations_do(store, prompts):
    truth = ModeCampaign(3, 7, 240, coupled=0, prompts=prompts, prompt_effect=1.0)
    drawn = truth.draw(np.random.default_rng(4))
    with at_once(store) as batch:
        for i in range(240):
            models = (f"model {drawn.first[i]}", f"model {drawn.second[i]}")
            mode, asked = (Mode.COUPLED, Mode.INDEPENDENT)[drawn.mode[i]], drawn.prompt[i]
            battle = make_battle(*models, mode=mode, prompts=(Prompt(f"Why {asked}?"),), replies=())
            batch.add_battle(battle)
            said = RANKS[drawn.outcome[i]]
            batch.cast(make_vote(battle, *said, voter=f"voter {drawn.voter[i]}"))
    for voters in Voters:
        expected = drawn.compared(voters=voters is Voters.LIKE)
        found = read_estimates(store, method=Method(voters=voters)).modes
        for name in ("pairs", "averages"):
            stored, drawn_so = getattr(found, name), getattr(expected, name)
            assert stored.variance == pytest.approx(drawn_so.variance, rel=1e-9)
            met = np.isfinite(drawn_so.difference)
            assert stored.degrees[met] == pytest.approx(drawn_so.degrees[met], rel=1e-9)
        assert found.tie_variance == pytest.approx(expected.tie_variance, rel=1e-9)
        assert found.tie_degrees == pytest.approx(expected.tie_degrees, rel=1e-9)
        assert (found.people, found.both) == (expected.people, expected.both)


RANKS = {0: (1, 2), 1: (2, 1), 2: (1, 1)}


def store_rankings(store, drawn):
    """Store battles with all their votes and their verdict."""
    with at_once(store) as batch:
        # A battle has one prompt and two models, with votes of several people or none.
        rows = np.arange(len(drawn.prompt)) if drawn.voter is not None else drawn.prompt
        for battle_no in np.unique(rows):
            at = np.flatnonzero(rows == battle_no)
            prompt = drawn.prompt[at[0]]
            models = (drawn.models[drawn.first[at[0]]], drawn.models[drawn.second[at[0]]])
            battle = make_battle(*models, prompts=(Prompt(f"Why {prompt}?"),), replies=())
            batch.add_battle(battle)
            for voter, row in enumerate(at[drawn.shown[at]]):
                voter = voter if drawn.voter is None else drawn.voter[row]
                batch.cast(make_vote(battle, *RANKS[drawn.vote[row]], voter=f"voter {voter}"))
            judge(batch, "gpt", battle, 0, 1, ("first", "second", "tie")[drawn.verdict[at[0]]])


def test_a_vote_during_the_computation_is_not_overlooked(store, monkeypatch):
    """The board carries the version from before its votes were read."""
    vote(store, "AB", (1, 2), 5)
    live = LiveEstimates(store)
    version = store.version

    def version_then_vote():
        before = version()
        monkeypatch.setattr(store, "version", version)
        vote(store, "AB", (2, 1))
        return before

    monkeypatch.setattr(store, "version", version_then_vote)
    first = live.get(COUPLED)
    assert first.version != store.version()
    second = live.get(COUPLED)
    assert second is not first
    assert leaderboard(second).human_votes == 6


def test_a_personal_board_counts_one_person(store):
    vote(store, "AB", (1, 2), 5)
    vote(store, "AB", (2, 1), 3, voter="ben")
    mine = read_leaderboard(store, Selection(voter="ben"))
    assert (mine.human_votes, mine.standings[0].model) == (3, "B")


@pytest.mark.parametrize("ranks", [(1, 1, 1), (1, 2, 2)])
def test_nothing_on_a_board_is_nan(store, ranks):
    vote(store, "ABC", ranks)
    vote(store, "AB", ranks[:2], 9)
    for standing in read_leaderboard(store).standings:
        place = standing.place
        for value in (place.win_rate, place.standard_error, place.low, place.high):
            assert not math.isnan(value)


def test_what_can_be_chosen_is_read_from_the_store(store):
    vote(store, "AB", (1, 2))
    with store.cursor() as cursor:
        assert comparisons.judges(cursor) == []
        assert comparisons.categories(cursor) == comparisons.languages(cursor) == []
        cursor.execute(
            "insert into judges (judge, model, prompt_hash, sampling) values "
            "('z', '', '', ''), ('y', '', '', '')"
        )
        cursor.execute("update comparisons set category = 'math', language = 'en'")
        assert comparisons.judges(cursor) == ["y", "z"]
        assert comparisons.categories(cursor) == ["math"]
        assert comparisons.languages(cursor) == ["en"]
