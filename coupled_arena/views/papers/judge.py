"""What a judge is worth beside people: Dorner, Nastl, Hardt, "Limits to scalable evaluation"."""

from __future__ import annotations

from coupled_arena.analysis.audit.result import read_audit
from coupled_arena.analysis.papers.source import PaperSource
from coupled_arena.core.errors import ArenaError
from coupled_arena.stats.judges.model_counts import Ties
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.figures.audit import efficiency_figure
from coupled_arena.views.papers.item import Item, Made, Needs, Paper
from coupled_arena.views.tables.audit import audit_models

_ALPHA = 0.10  # of the paper's intervals


def votes_worth(source: PaperSource) -> Made:
    """Return how many votes one vote is worth with each judge, at most, by model."""
    chosen = source.settings
    with source.store.cursor() as cursor:
        judges = chosen.judges or comparisons.judges(cursor)
    if not judges:
        raise ArenaError("No judge has a verdict here: give --verdicts NAME=FILE, or run `judge`.")
    alpha = chosen.alpha[0] if chosen.alpha else _ALPHA
    audits = {
        judge: read_audit(
            source.store, Selection(judge=judge, models=chosen.models), Ties.DROP, alpha
        )
        for judge in judges
    }
    return Made(
        tables={judge: audit_models(audit) for judge, audit in audits.items()},
        figures={judge: efficiency_figure(audit) for judge, audit in audits.items()},
    )


JUDGE = Paper(
    "judge",
    "Limits to scalable evaluation at the frontier: LLM as judge won't beat twice the data",
    (
        Item(
            "figure-3",
            "Votes that one vote is worth at most, by model, with a judge of pairwise battles",
            Needs.VERDICTS,
            votes_worth,
        ),
    ),
)
