"""How far people agree with each other, and how often a judge agrees with one of them."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np

from coupled_arena.core.choices import Voters
from coupled_arena.stats.intervals import agreement_interval
from coupled_arena.stats.krippendorff import Agreement, Said, agreement
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.votes_by_voter import agreements_by_prompt, shared_votes


@dataclass(frozen=True)
class AnnotatorAgreement:
    """What was found, and on what.

    Attributes
    ----------
    error_level : float
        Of the interval.
    found : Agreement
        Its units are pairs of answers, its clusters prompts.
    battles, annotators : int
        Those that two or more people voted on, and these people.
    voted : int
        Battles that anybody voted on.
    """

    selection: Selection
    error_level: float
    found: Agreement
    battles: int
    annotators: int
    voted: int


def read_agreement(
    store: Store,
    selection: Selection = Selection(),
    error_level: float = 0.05,
    voters: Voters = Voters.LIKE,
) -> AnnotatorAgreement:
    """Read the votes that stand and say how far people agree.

    Parameters
    ----------
    voters : Voters
        Whom the interval is for.

    Raises
    ------
    StoreError
        The selection names a model that the store does not know.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")  # votes and their numbers of one moment
        shared = shared_votes(cursor, selection)
        cursor.execute("commit")
    said = Said(shared.unit, shared.annotator, shared.outcome)
    said = said if voters is Voters.LIKE else None
    return AnnotatorAgreement(
        selection=selection,
        error_level=error_level,
        found=agreement(shared.counts, shared.prompts, error_level, said),
        battles=shared.battles,
        annotators=shared.annotators,
        voted=shared.voted,
    )


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
