"""Which ranks models may have: Chatzi and others, "Prediction-powered ranking"."""

from __future__ import annotations

from coupled_arena.papers.item import Item, Needs, Paper
from coupled_arena.papers.ranking import published
from coupled_arena.papers.ranking.experiments import (
    noisy_judges,
    numbers_of_votes,
    structure,
    trade_offs,
)
from coupled_arena.papers.ranking.published import CONTAINS, MEETS, SIZE
from coupled_arena.papers.ranking.tables import compared

_SETS = "How often each model gets which rank-set, by each method"

RANKING = Paper(
    "prediction-powered-ranking",
    "Prediction-powered ranking of large language models",
    (
        Item(
            "figure-1",
            "Size of rank-sets against how often they meet the baseline's, all methods",
            Needs.VERDICTS,
            trade_offs,
            published.by_level(SIZE, MEETS),
        ),
        Item(
            "figure-2",
            "The same with a judge's help, by the number of votes",
            Needs.VERDICTS,
            numbers_of_votes,
            published.by_votes(SIZE, MEETS),
        ),
        Item(
            "figure-3",
            "How often each position is in a model's rank-set: all votes, a judge, both",
            Needs.VERDICTS,
            structure,
            published.other_positions({"llm gpt-4": 7, "ppr gpt-4": 3}),
        ),
        Item(
            "figure-4",
            "How often each model gets which rank-set: all votes, a judge, both",
            Needs.VERDICTS,
            structure,
        ),
        Item(
            "figure-5",
            "Comparisons of each pair of models",
            Needs.VOTES,
            compared,
            {"comparisons": 14947, "comparisons of the least pair": 96, "prompts": 13697},
        ),
        Item(
            "figure-6",
            "Size of rank-sets against how often they meet the baseline's, by judge",
            Needs.VERDICTS,
            trade_offs,
        ),
        Item(
            "figure-7",
            "Size of rank-sets against how often they contain the baseline's, all methods",
            Needs.VERDICTS,
            trade_offs,
            published.by_level(CONTAINS),
        ),
        Item(
            "figure-8",
            "The same with a judge's help, by the number of votes",
            Needs.VERDICTS,
            numbers_of_votes,
            published.by_votes(CONTAINS),
        ),
        Item(
            "figure-9",
            "How often each position is in a model's rank-set, by each method",
            Needs.VERDICTS,
            structure,
            {
                **published.other_positions(
                    {
                        **dict.fromkeys(("llm gpt-4", "llm claude-3", "llm gpt-3.5"), 7),
                        **dict.fromkeys(("ppr gpt-4", "ppr claude-3", "ppr gpt-3.5"), 3),
                    }
                ),
                published.NOT_SIX: 0.0,
            },
        ),
        Item(
            "figure-10",
            _SETS,
            Needs.VERDICTS,
            structure,
            published.other_positions({"llm gpt-4": 7, "llm claude-3": 7}, published.OTHER_SET),
        ),
        *(Item(f"figure-{number}", _SETS, Needs.VERDICTS, structure) for number in range(11, 16)),
        Item(
            "table-1",
            "The models",
            Needs.VOTES,
            compared,
            {"models": 12},
        ),
        Item(
            "simulated-coverage",
            "How often rank-sets hold the truth, with judges of known noise (NeurIPS: figure 11)",
            Needs.NOTHING,
            noisy_judges,
            published.synthetic("coverage"),
        ),
        Item(
            "simulated-overlap",
            "How near rankings are to the truth, with judges of known noise (NeurIPS: figure 12)",
            Needs.NOTHING,
            noisy_judges,
            published.synthetic("overlap"),
        ),
    ),
)
