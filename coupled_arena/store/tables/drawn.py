"""Answers by how they were drawn, as conditions on rows of `battles`."""

from __future__ import annotations

from dataclasses import asdict

from coupled_arena.core.records import Drawn, Sampler

SAMPLER = f"if(coupling = '{Sampler.GUMBEL.coupling}', '{Sampler.GUMBEL}', coupling)"
"""The sampler's name; the table has what `Sampler.coupling` says."""

WANTED = f"""
($temperature is null or temperature = $temperature)
and ($top_p is null or top_p = $top_p)
and ($sampler is null or {SAMPLER} = $sampler)
"""


def drawn_values(wanted: Drawn) -> dict[str, object]:
    """Return the values of `WANTED`."""
    return asdict(wanted)
