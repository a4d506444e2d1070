"""What boards of all kinds say, case by case; see `tests.views.spoken`."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from coupled_arena.analysis.leaderboard.board_estimates import Method
from coupled_arena.analysis.leaderboard.result import MissingVotes, leaderboard
from coupled_arena.core.choices import (
    BoardSource,
    Covariance,
    Cutoff,
    Scope,
    TieScore,
    Voters,
    Weighting,
)
from coupled_arena.core.records import Mode
from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.ranking.estimates import Tastes, estimate_from_votes
from coupled_arena.stats.ranking.sides import Sides
from coupled_arena.stats.ranking.strata import PairPrompts
from coupled_arena.stats.ranking.verdict_shift import ShiftTest
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.judge_quality import JudgeUse
from coupled_arena.store.tables.exclusions import Counting, Excluded
from coupled_arena.views.words import verdict
from coupled_arena.views.words.audit import (
    judge_use_words,
)
from coupled_arena.views.words.leaderboard import board_warnings
from coupled_arena.views.words.names import comparisons_counted
from coupled_arena.views.words.verdict import board_verdict
from tests.views.test_verdicts import board_of, duels

COLOURS = ("mauve", "ochre", "plum", "coral", "olive", "ivory", "khaki")
METRICS = ("teal", "taupe")
JUDGE = "sepia"
_ONE, _TWO, _THREE = COLOURS[:3]


def boards():
    clear = board_of(duels((_ONE, _TWO, 90, 10)))
    close = board_of(duels((_ONE, _TWO, 12, 8)))
    many = board_of(duels(*((*pair, 11, 9) for pair in combinations(COLOURS[:4], 2))))
    even = board_of(duels(*((*pair, 10, 10) for pair in combinations(COLOURS[:4], 2))))
    first, *others = clear.standings
    unsure = replace(first, place=replace(first.place, rank_high=2))
    for board, idle, source in product(
        (clear, replace(clear, standings=(unsure, *others))),
        ((), COLOURS[2:3], COLOURS[:6], COLOURS),
        (BoardSource.HUMAN, BoardSource.JUDGE),
    ):
        estimates = replace(clear.estimates, by_source={source: clear.estimate})
        yield from _said(replace(board, estimates=estimates, idle=idle, source=source))
    for covariance, cutoff in product(Covariance, (Cutoff.MAX_T, Cutoff.ANY_TIME)):
        rows = duels((_ONE, _TWO, 12, 8), (_TWO, _THREE, 12, 8), (_ONE, _THREE, 12, 8))
        yield from _said(board_of(rows, covariance=covariance, cutoff=cutoff))
    yield from map(board_verdict, (close, many, even))
    for people, same in ((None, None), (1, None), (7, 1), (2_000_000, 9)):
        planned = SimpleNamespace(
            votes_to_cast_alone=1, people_to_ask=people, votes_each=100, same_people_votes=same
        )
        with patch.object(verdict, "plan_separation", return_value=planned):
            yield from map(board_verdict, (close, many))
    beyond = SimpleNamespace(votes_to_cast_alone=2_000_000, people_to_ask=None)
    for votes in (beyond, SimpleNamespace(votes_to_cast_alone=7, people_to_ask=None)):
        with patch.object(verdict, "plan_separation", return_value=votes):
            yield board_verdict(many)
    yield board_verdict(board_of(duels((_ONE, _TWO, 50_010, 50_000))))
    yield board_verdict(replace(clear, standings=(first,)))
    yield from _said(replace(clear, scope=Scope.MARGINAL))
    yield from _said(replace(even, scope=Scope.MARGINAL))
    for n, left_out in ((1, 0), (2, 1), (5, 2), (6, 0), (7, 0)):
        missing = tuple(MissingVotes(_ONE, _TWO, votes + 1) for votes in range(n))
        method = Method(ties=TieScore.LOSS)
        changes = {"left_out": left_out, "reworded": left_out, "mixed": tuple(Mode)}
        estimates = replace(clear.estimates, method=method, **changes)
        yield from _said(replace(clear, missing=missing, estimates=estimates))
    for votes, counted in product((1, 2), (False, True)):
        left_out, counting = Excluded(votes, 9, votes, votes), Counting(counted, counted)
        left = replace(clear.estimates, excluded=left_out, counting=counting)
        yield from _said(replace(clear, estimates=left))
    yield from _tastes(clear.estimates)
    yield from _sides(clear)
    yield from _sides(many)
    yield from map(comparisons_counted, (1, 2))
    yield from _empty_boards()
    yield from _unused_verdicts(clear)
    yield from _uses()


def _empty_boards():
    empty = board_of([])
    human, judged = empty.estimates, board_of(duels((_ONE, _TWO, 1, 1))).estimates.votes
    for selection in (Selection(), Selection(voter="v"), Selection(category="v")):
        for source in BoardSource:
            estimates = replace(human, selection=replace(selection, judge=JUDGE))
            yield from _said(replace(empty, estimates=estimates, source=source))
    for votes, more in ((0, ()), (0, (_ONE,)), (1, (_ONE,))):
        few = SimpleNamespace(comparisons=np.array([2 * votes]))
        heard = SimpleNamespace(verdicts=judged, votes=few, judges=1 + len(more))
        selection = Selection(judge=JUDGE, more_judges=more)
        estimates = replace(human, votes=judged, judged=heard, selection=selection)
        yield from _said(replace(empty, estimates=estimates, source=BoardSource.PPR))


def _unused_verdicts(clear):
    """Yield what boards of votes say where verdicts add nothing, or are on other comparisons."""
    both = dict.fromkeys((BoardSource.HUMAN, BoardSource.PPR), clear.estimate)
    for shift in (None, ShiftTest(9.0, 2, 30.0, 1e-5, _ONE, 0.1)):
        estimates = replace(
            clear.estimates, selection=Selection(judge=JUDGE), by_source=both, shift=shift
        )
        yield from _said(replace(clear, estimates=estimates, source=BoardSource.HUMAN))


def _uses():
    """Yield how a judge is heard that abstains, or tells no probabilities."""
    for n in (1, 2):
        yield from judge_use_words(JudgeUse(9, 4, n, n))


def _tastes(human):
    """Yield what boards say of people with tastes, and of one person."""
    alike = replace(human, method=Method(voters=Voters.THESE))
    for voters, worth in ((1, 90), (9, 89), (9, 60), (9, 20), (9, 1)):
        tastes = Tastes(voters, 90, worth)
        made = {BoardSource.HUMAN: replace(human.by_source[BoardSource.HUMAN], tastes=tastes)}
        yield from _said(leaderboard(replace(human, by_source=made)))
    yield from _said(leaderboard(alike))


def _sides(clear):
    """Yield what boards say of the order of answers: by lot, and not, in one order or in both."""
    k = len(clear.estimates.votes.models)
    for one, other, weighting in product((0, 9, 40), (0, 9, 40), Weighting):
        counts = np.zeros((k, k, 4), dtype=np.int64)
        counts[0, 1:, 0], counts[1:, 0, 1] = one, other
        counts[1, 2:, 0] = one
        sides = Sides.of(PairCounts(clear.estimates.votes.models, counts))
        used = replace(clear.estimate, weighting=weighting)
        human = {BoardSource.HUMAN: used}
        estimates = replace(clear.estimates, sides=sides, by_source=human)
        yield from _said(replace(clear, estimates=estimates))
    for shown, winner in (((0, 1), 0), (([0, 1], [1, 0]), 1)):
        counts = np.zeros((k, k, 4), dtype=np.int64)
        counts[*shown, winner] = 40
        sides = Sides.of(PairCounts(clear.estimates.votes.models, counts))
        yield from _said(replace(clear, estimates=replace(clear.estimates, sides=sides)))
    mix = replace(clear.estimates.method, mix=(("maths", 2.0), ("code", 1.0)))
    yield from _said(replace(clear, estimates=replace(clear.estimates, method=mix)))


def _said(board):
    yield board_verdict(board)
    yield from board_warnings(board)


def estimates():
    """Yield what estimates warn of: few votes, few prompts, models that nothing joins."""
    thin = duels((_ONE, _TWO, 9, 8), (_TWO, _THREE, 9, 8), (_ONE, _THREE, 1, 1))
    thinner = duels((_ONE, _TWO, 9, 8), (_TWO, _THREE, 1, 1), (_ONE, _THREE, 1, 1))
    apart = duels((_ONE, _TWO, 9, 8), (_THREE, COLOURS[3], 9, 8))
    pair = duels((_ONE, _TWO, 2, 1))
    for rows, weighting in product((thin, thinner, apart, pair), Weighting):
        yield from estimate_from_votes(PairCounts.from_rows(rows), weighting).warnings
    whole = board_of(duels(*((*each, 40, 30) for each in combinations(COLOURS[:4], 2))))
    yield from estimate_from_votes(
        whole.estimates.votes, Weighting.STRATIFIED, Covariance.PUBLISHED
    ).warnings
    for few, weighting in product((1, 2, 6), Weighting):
        yield from _on_few_prompts(whole.estimates.votes, few, weighting)


def _on_few_prompts(votes, few, weighting):
    """Yield what is said where so many pairs share three prompts; one model has no vote."""
    k = len(votes.models)
    prompts = np.full((k + 1, k + 1), 200)
    for i, j in [*combinations(range(k), 2)][:few]:
        prompts[i, j] = prompts[j, i] = 3
    models = (*votes.models, COLOURS[5])
    counts = np.zeros((k + 1, k + 1, 4), dtype=int)
    counts[:k, :k] = votes.counts + votes.counts.transpose(1, 0, 2)
    for most in (prompts, 12 * prompts):
        known = PairPrompts(models, most, most)
        yield from estimate_from_votes(
            PairCounts(models, counts), weighting, prompts=known
        ).warnings
