"""Who meets whom, on which side, and with which noise."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.language import _
from coupled_arena.core.records import Battle, Mode, Origin, Sampling, new_id

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
