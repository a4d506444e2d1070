"""How often a judge agrees with one voter."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np

from coupled_arena.stats.judges.own_agreement import agreement_interval
from coupled_arena.store.queries.voters import agreements_by_prompt


@dataclass(frozen=True)
class OwnAgreement:
    """A judge beside one voter, on comparisons of two answers that both have judged.

    Attributes
    ----------
    agreed : int
        Comparisons on which both say the same, "both bad" counted as a tie; of a judge whose two
        orders disagree, that is a tie.
    comparisons, prompts : int
        All comparisons, and how many questions they are on.
    low, high : float
        Of the share, at an error level of `alpha`; comparisons on one question are taken together.
    """

    judge: str
    agreed: int
    comparisons: int
    prompts: int
    low: float
    high: float
    alpha: float


def read_own_agreement(
    cursor: duckdb.DuckDBPyConnection, judge: str, voter: str, alpha: float = 0.05
) -> OwnAgreement | None:
    """Return how often a judge agrees with a voter; None where they have judged nothing alike."""
    counts = np.array(agreements_by_prompt(cursor, judge, voter), dtype=np.int64).reshape(-1, 2)
    if not len(counts):
        return None
    low, high = agreement_interval(counts[:, 0], counts[:, 1], alpha)
    agreed, comparisons = (int(total) for total in counts.sum(0))
    return OwnAgreement(judge, agreed, comparisons, len(counts), low, high, alpha)
