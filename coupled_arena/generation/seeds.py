"""Seeds of noise; apart from the noise, for the web server draws none and loads no torch."""

from __future__ import annotations

import hashlib


def model_seed(battle_seed: int, model: str, ordinal: int) -> int:
    """Return the seed of one model of an independent battle.

    Parameters
    ----------
    battle_seed : int
        64-bit seed of the battle.
    model : str
        The model's name.
    ordinal : int
        How often that name occurred earlier in the battle: a model against itself differs too.
    """
    text = battle_seed.to_bytes(8, "little") + model.encode() + ordinal.to_bytes(4, "little")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
