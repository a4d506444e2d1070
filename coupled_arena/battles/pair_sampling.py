"""Who meets whom, on which side, and with which noise; and how likely each pair is to meet next.

A pair is more likely the less its votes have settled. Rounds, votes and models at work are not
known here: names and counts come in, a battle goes out.
"""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
from coupled_arena.core.choices import BoardSource, Cutoff, Pairing
from coupled_arena.core.errors import ArenaError, SettingsError
from coupled_arena.core.language import _
from coupled_arena.core.records import Battle, Mode, Origin, Sampling, new_id
from coupled_arena.stats.counts import OUTCOMES, FloatArray, PairCounts
from coupled_arena.stats.ranking.next_pair import pair_chances, unsettled
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection

if TYPE_CHECKING:
    from coupled_arena.stats.counts import FloatArray


SEED_BITS = 64


@dataclass(frozen=True)
class ArenaRules:
    """How battles are drawn; see `settings.BattleSettings`."""

    sampling: Sampling
    coupled_share: float = 0.5
    patience: float = 10.0  # seconds that answers go on unwatched for a page that is reloading
    undo_seconds: float = 0.0  # how long a vote can be undone
    held_over: bool = True  # whether it can be undone again after a restart, else it counts before


def new_battle(
    names: Sequence[str],
    size: int,
    sampling: Sampling,
    *,
    coupled_share: float,
    rng: random.Random,
    chances: FloatArray | None = None,
) -> Battle:
    """Draw a battle: models without replacement, their order, the mode and the seed.

    Parameters
    ----------
    names : sequence of str
        The k models that take part; all orders are equally likely.
    size : int
        How many answer.
    coupled_share : float
        Probability that the battle is coupled.
    rng : random.Random
        An unpredictable one (`random.SystemRandom`) where people must not guess the draw.
    chances : ndarray of float64, shape (k, k), optional
        How likely each pair is, as `pair_chances` returns; models beyond two join it by lot. By
        default all sets of models are equally likely.
    """
    if len(names) < size:
        text = _("A battle of {size} needs {size} enabled models; there are {there}.")
        raise SettingsError(text.format(size=size, there=len(names)))
    models, chance = _drawn(names, size, rng, chances)
    return Battle(
        id=new_id(),
        models=models,
        mode=Mode.COUPLED if rng.random() < coupled_share else Mode.INDEPENDENT,
        seed=rng.getrandbits(SEED_BITS),
        nonce=rng.randbytes(16),
        sampling=sampling,
        origin=Origin.ARENA,
        prompts=(),
        replies=(),
        chance=chance,
    )


def _drawn(
    names: Sequence[str], size: int, rng: random.Random, chances: FloatArray | None
) -> tuple[tuple[str, ...], float]:
    """Return models in the order in which they are shown, and how likely this set of them was."""
    if chances is None:
        return tuple(rng.sample(list(names), size)), 1 / math.comb(len(names), size)
    pairs = list(combinations(range(len(names)), 2))
    (pair,) = rng.choices(pairs, [chances[each] for each in pairs])
    others = [place for place in range(len(names)) if place not in pair]
    taken = [*pair, *rng.sample(others, size - 2)]
    ways = sum(float(chances[each]) for each in combinations(taken, 2))
    chance = ways / math.comb(len(others), size - 2)
    return tuple(names[place] for place in rng.sample(taken, size)), chance


# How likely each pair of models meets next, by what votes have yet to settle.

_log = logging.getLogger(__name__)
_PAUSE = 5.0  # seconds from one look at the board to the next, at least
_SHARE = 20  # and so many times as long as the last one took: a large board takes seconds


class WhoseTurn:
    """The chances of all pairs, from votes of some seconds ago.

    A thread of its own ranks the board, after a question that comes when there are new votes. So no
    question waits for it. Until it has been, all pairs are alike.
    """

    def __init__(self, store: Store, pairing: Pairing) -> None:
        self._store = store
        self._pairing = pairing
        self._lock = threading.Lock()
        self._next_look = 0.0  # when to look next, by the clock that only goes on
        self._looking: threading.Thread | None = None
        self._found: _Found | None = None

    def chances(self, models: tuple[str, ...]) -> FloatArray | None:
        """Return the chances of pairs of the k models that take part; None where all are alike."""
        if self._pairing is Pairing.UNIFORM:
            return None
        with self._lock:
            busy = self._looking is not None and self._looking.is_alive()
            if not busy and time.monotonic() >= self._next_look:
                self._looking = threading.Thread(
                    target=self._look, args=(models,), name="whose-turn", daemon=True
                )
                self._looking.start()
        found = self._found
        return found.chances if found and found.models == models else None

    def close(self) -> None:
        """Wait for the look that is under way: it reads the store."""
        if self._looking:
            self._looking.join()

    def _look(self, models: tuple[str, ...]) -> None:
        begun = time.monotonic()
        try:
            version, found = self._store.version(), self._found
            if found is None or (found.version, found.models) != (version, models):
                self._found = _Found(version, models, self._ranked(models))
        except ArenaError as error:
            _log.warning("Pairs are drawn as before: %s", error)
        finally:
            now = time.monotonic()
            self._next_look = now + max(_PAUSE, _SHARE * (now - begun))

    def _ranked(self, models: tuple[str, ...]) -> FloatArray | None:
        with self._store.cursor() as cursor:
            known = comparisons.model_numbers(cursor, Selection())
        met = tuple(model for model in models if model in known)
        board = read_estimates(
            self._store, Selection(models=met), draws=LIVE_DRAWS, judge_alone=False
        )
        if BoardSource.HUMAN not in board.by_source:
            return None
        found = board.separation(BoardSource.HUMAN).rank_sets(cutoff=Cutoff.ANY_TIME)
        wanted = ~np.eye(len(models), dtype=np.bool_)  # of a model without votes all differences
        wanted[_at(models, board.by_source[BoardSource.HUMAN].models)] = unsettled(
            found, self._pairing
        )
        counts = np.zeros((*wanted.shape, len(OUTCOMES)), dtype=np.int64)
        counts[_at(models, board.votes.models)] = board.votes.counts
        return pair_chances(PairCounts(models, counts), wanted)


class _Found(NamedTuple):
    version: tuple[int, ...]
    models: tuple[str, ...]
    chances: FloatArray | None


def _at(models: Sequence[str], some: Sequence[str]) -> tuple[NDArray[np.int64], ...]:
    """Return where the pairs of some models are in a matrix of all."""
    places = [models.index(model) for model in some]
    return np.ix_(places, places)
