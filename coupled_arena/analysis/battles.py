"""The battles behind a number, as far as they may be shown, and how their pairs of models stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from coupled_arena.core.errors import BattleError
from coupled_arena.core.language import _
from coupled_arena.core.records import Battle, Mode
from coupled_arena.stats.intervals import critical_value, paired_difference
from coupled_arena.store.database import Store
from coupled_arena.store.queries import battle_search, model_pages
from coupled_arena.store.queries.battle_conditions import Hidden
from coupled_arena.store.queries.battle_record import BattleRecord, record_of
from coupled_arena.store.queries.battle_search import (
    PAGE,
    BattleFilter,
    FoundBattle,
    NamedBattle,
    Tally,
)
from coupled_arena.store.queries.model_pages import PairVotes, pair_votes
from coupled_arena.store.tables import battles


@dataclass(frozen=True)
class FoundBattles:
    """One page of the battles that a filter selects, and how many all pages have.

    Attributes
    ----------
    tally : Tally
        Its `hidden` are comparisons of battles that somebody may still be asked about; 0 where
        their number would say more than a board does.
    battles : tuple of FoundBattle
        The newest first.
    following : BattleFilter or None
        What selects the next page, where there is one.
    """

    wanted: BattleFilter
    tally: Tally
    battles: tuple[FoundBattle, ...]
    following: BattleFilter | None


@dataclass(frozen=True)
class OpenedBattle:
    """A battle, with its votes and verdicts."""

    battle: Battle
    record: BattleRecord


def read_battles(
    store: Store,
    wanted: BattleFilter,
    hidden: Hidden,
    *,
    reader: str | None = None,
    told: str | None = None,
    size: int = PAGE,
) -> FoundBattles:
    """Return the newest battles that a filter selects.

    Parameters
    ----------
    hidden : {"nothing", "rounds", "stored"}
        Which battles stay hidden, as in `transfer.export.export`.
    reader : str, optional
        The reader, who may count a board of their own votes.
    told : str, optional
        A voter who may see the battles that they were told the names of.
    size : int
        How many battles a page has.

    Raises
    ------
    StoreError
        The store knows no such model or judge.
    BattleError
        The list cannot begin after a battle that is not there, or may not be shown.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")  # a list and a count of one moment
        tally = battle_search.tally(cursor, wanted, hidden, told)
        found = battle_search.page(cursor, wanted, hidden, size + 1, told)
        cursor.execute("commit")
    # Whoever could count hidden battles by their words, or by who voted, could find their own.
    board_like = wanted.text is wanted.benchmark is None and wanted.voter in (None, reader)
    return FoundBattles(
        wanted=wanted,
        tally=tally if board_like else replace(tally, hidden=0),
        battles=tuple(found[:size]),
        following=replace(wanted, before=found[size - 1].battle) if len(found) > size else None,
    )


def read_battle(
    store: Store, battle: str, hidden: Hidden, *, told: str | None = None
) -> OpenedBattle:
    """Return one battle, by its whole id; see `read_battles`.

    Raises
    ------
    BattleError
        No such battle exists, or it may not be shown; the message does not say which.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")
        if not battle_search.is_shown(cursor, battle, hidden, told):
            raise BattleError(
                _("There is no such battle here, or people may still be asked to vote on it.")
            )
        opened = OpenedBattle(battles.load(cursor, battle), record_of(cursor, battle))
        cursor.execute("commit")
    return opened


def named_battles(
    store: Store, words: str, hidden: Hidden, *, told: str | None = None, size: int
) -> list[NamedBattle]:
    """Return battles by the first digits of an id, or by words of a question; see `read_battles`.

    Without words there are none.
    """
    if not words:
        return []
    with store.cursor() as cursor:
        return battle_search.named(cursor, words, hidden, size, told)


def battles_of_models(
    store: Store, models: Sequence[str], hidden: Hidden, mode: Mode | None = None
) -> dict[str, int]:
    """Return how many battles of each model may be shown, of one mode or all."""
    with store.cursor() as cursor:
        return model_pages.battles_of_models(cursor, models, hidden, mode)


@dataclass(frozen=True)
class PairStanding:
    """A pair's votes, and how much more often its first model is preferred.

    Attributes
    ----------
    low, high : float
        Bounds of the share of votes for the first less that for the second, -1 to 1.
    before : PairStanding or None
        The same without one vote, where that vote counts and others do.
    """

    votes: PairVotes
    alpha: float
    low: float
    high: float
    before: PairStanding | None = None

    @property
    def win_rate(self) -> tuple[float, float, float]:
        """The share of votes that the first wins, and its bounds; a vote for neither is half."""
        votes = self.votes
        rate = (votes.wins + votes.neither / 2) / votes.votes
        return rate, (1 + self.low) / 2, (1 + self.high) / 2


def pair_standings(
    store: Store,
    models: Sequence[str],
    alpha: float = 0.05,
    *,
    but: tuple[str, str] | None = None,
) -> tuple[PairStanding, ...]:
    """Return how each pair of a battle's models stands now, as far as people have voted on it.

    Parameters
    ----------
    models : sequence of str
        In order of presentation; a pair has the one before the other.
    alpha : float
        Error level of each interval.
    but : tuple of (str, str), optional
        A battle, and a voter: `before` is how the pair stands without that vote.
    """
    with store.cursor() as cursor:
        found = pair_votes(cursor, models, but=but)
    pairs = [
        tuple(_as_shown(first, votes) for votes in found[frozenset((first, other))])
        for first, other in combinations(dict.fromkeys(models), 2)
        if frozenset((first, other)) in found
    ]
    stood = iter(_standings([votes for pair in pairs for votes in pair if votes.votes], alpha))
    made = []
    for votes, fewer in pairs:
        standing, before = next(stood), next(stood) if fewer.votes else None
        made.append(replace(standing, before=before if fewer.votes < votes.votes else None))
    return tuple(made)


def _as_shown(first: str, votes: PairVotes) -> PairVotes:
    """Return votes on a pair with this model as its first."""
    if votes.first == first:
        return votes
    return PairVotes(first, votes.first, votes.losses, votes.wins, votes.neither, votes.prompts)


def _standings(counts: Sequence[PairVotes], alpha: float) -> list[PairStanding]:
    """Return how pairs stand by these votes, of which each has some."""
    # Votes on one prompt depend on each other: at worst they all say what one of them says.
    share = np.array([each.prompts / each.votes for each in counts])
    prompts = np.array([float(each.prompts) for each in counts])
    low, high = paired_difference(
        np.array([each.wins for each in counts]) * share,
        np.array([each.losses for each in counts]) * share,
        prompts,
        critical_value(alpha, prompts - 1.0),
    )
    return [
        PairStanding(votes, alpha, float(least), float(most))
        for votes, least, most in zip(counts, low, high, strict=True)
    ]
