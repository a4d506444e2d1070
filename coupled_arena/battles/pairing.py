"""Who meets whom, on which side, and with which noise."""

from __future__ import annotations

import random
from collections.abc import Sequence

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.records import Battle, Mode, Origin, Sampling, new_id

SEED_BITS = 64


def new_battle(
    names: Sequence[str],
    size: int,
    sampling: Sampling,
    *,
    coupled_share: float,
    rng: random.Random,
) -> Battle:
    """Draw a battle: models without replacement, their order, the mode and the seed.

    Parameters
    ----------
    names : sequence of str
        Models that take part; all sets and orders of them are equally likely.
    size : int
        How many answer.
    coupled_share : float
        Probability that the battle is coupled.
    rng : random.Random
        An unpredictable one (`random.SystemRandom`) where people must not guess the draw.
    """
    if len(names) < size:
        raise SettingsError(
            f"A battle of {size} needs {size} enabled models; there are {len(names)}."
        )
    return Battle(
        id=new_id(),
        models=tuple(rng.sample(list(names), size)),
        mode=Mode.COUPLED if rng.random() < coupled_share else Mode.INDEPENDENT,
        seed=rng.getrandbits(SEED_BITS),
        nonce=rng.randbytes(16),
        sampling=sampling,
        origin=Origin.ARENA,
        prompts=(),
        replies=(),
    )
