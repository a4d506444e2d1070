"""How far people who voted on the same battles agree."""

from __future__ import annotations

from dataclasses import dataclass

from coupled_arena.stats.krippendorff import Agreement, agreement
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.voters import shared_votes


@dataclass(frozen=True)
class AnnotatorAgreement:
    """What was found, and on what.

    Attributes
    ----------
    selection : Selection
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
    store: Store, selection: Selection = Selection(), error_level: float = 0.05
) -> AnnotatorAgreement:
    """Read the votes that stand and say how far people agree.

    Raises
    ------
    StoreError
        The selection names a model that the store does not know.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")  # votes and their numbers of one moment
        shared = shared_votes(cursor, selection)
        cursor.execute("commit")
    return AnnotatorAgreement(
        selection=selection,
        error_level=error_level,
        found=agreement(shared.said, shared.prompts, error_level),
        battles=shared.battles,
        annotators=shared.annotators,
        voted=shared.voted,
    )
