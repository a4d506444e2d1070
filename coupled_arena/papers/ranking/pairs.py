"""Which models were compared, and how often: figure 5 and table 1."""

from __future__ import annotations

from coupled_arena.papers.item import Made
from coupled_arena.papers.ranking.pair_figure import pair_size_figure
from coupled_arena.papers.ranking.tables import compared_models, pair_sizes
from coupled_arena.papers.shared import judges_of, pooled_notes, prompts_of, read_shared
from coupled_arena.papers.source import PaperSource


def compared(source: PaperSource) -> Made:
    """Return how often each pair of models has a vote, and a verdict of every judge there is."""
    votes = read_shared(source).votes
    models, pairs = compared_models(votes), pair_sizes(votes)
    sizes = [row["comparisons"] for row in pairs.rows]
    judges = ", ".join(judges_of(source))
    told = f"Comparisons with a vote and a verdict of each of: {judges}." if judges else ""
    return Made(
        tables={"models": models, "pairs": pairs},
        figures={"pairs": pair_size_figure(votes)},
        values={
            "models": len(models),
            "comparisons": float(sum(sizes)),
            "comparisons of the least pair": float(min(sizes)),
            "prompts": float(prompts_of(source)),
        },
        notes=(told or "Comparisons with a vote.", *pooled_notes(source)),
    )
