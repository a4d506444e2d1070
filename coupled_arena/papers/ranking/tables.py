"""What the experiments of the ranking paper found, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from coupled_arena.stats.counts import PairCounts
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.views.tables import experiments
from coupled_arena.views.tables.table import Column, Table, table_of

_Row = dict[str, Any]
_JUDGE = Column[_Row](
    "judge", str, "Whose verdicts; none of rankings by votes alone", heading="Judge"
)
_OF_ALL = (Ranking.BASELINE, Ranking.HUMAN)  # the same whoever judges


def _with_judge(columns: Iterable[Column[Any]]) -> tuple[Column[_Row], ...]:
    def moved(column: Column[Any]) -> Column[_Row]:
        return replace(
            column,
            value=lambda row: column.of(row["row"]),
            text=lambda row: column.read(row["row"]),
        )

    return (_JUDGE, *(moved(column) for column in columns))


def _each(
    results: Mapping[str, Resampling], rows: Mapping[str, Iterable[tuple[Ranking, Any]]]
) -> Iterable[_Row]:
    """Return rows with their judge, those that are the same for all judges once."""
    for place, judge in enumerate(results):
        for ranking, row in rows[judge]:
            if ranking in _OF_ALL:
                if place == 0:
                    yield {"judge": None, "row": row}
            else:
                yield {"judge": judge, "row": row}


JUDGED_RANKINGS = _with_judge(experiments.RANKINGS)


def judged_rankings(results: Mapping[str, Resampling]) -> Table[_Row]:
    """Return how each ranking fared, at each number of votes and error level, by judge."""
    rows = {
        judge: [(one.ranking, one) for one in result.qualities] for judge, result in results.items()
    }
    return table_of(JUDGED_RANKINGS, _each(results, rows))


JUDGED_RANK_SETS = _with_judge(experiments.RANK_SETS)


def judged_rank_sets(results: Mapping[str, Resampling]) -> Table[_Row]:
    """Return how often each model got each rank-set, by judge."""
    rows = {
        judge: [(row["ranking"], row) for row in experiments.rank_sets(result).rows]
        for judge, result in results.items()
    }
    return table_of(JUDGED_RANK_SETS, _each(results, rows))


POSITIONS: tuple[Column[_Row], ...] = (
    Column("ranking", str, "baseline, judge, human or ppr", heading="Ranking"),
    Column("human", int, "Comparisons that kept their vote", heading="Votes"),
    Column("alpha", float, "Error level", heading="Alpha", text="g"),
    Column("model", str, "Name of the model", heading="Model"),
    Column("position", int, "Position, 1 is best", heading="Position"),
    Column(
        "probability",
        float,
        "Share of the repeats whose rank-set has it",
        heading="Repeats",
        text=".1%",
    ),
)
JUDGED_POSITIONS = _with_judge(POSITIONS)


def judged_positions(results: Mapping[str, Resampling]) -> Table[_Row]:
    """Return how often each position was in each model's rank-set, by judge."""
    rows = {
        judge: [
            (
                run.ranking,
                {
                    "ranking": run.ranking,
                    "human": run.human,
                    "alpha": alpha,
                    "model": model,
                    "position": position + 1,
                    "probability": run.positions[index, place, position],
                },
            )
            for run in result.runs
            for index, alpha in enumerate(result.plan.alphas)
            for place, model in enumerate(result.models)
            for position in range(len(result.models))
        ]
        for judge, result in results.items()
    }
    return table_of(JUDGED_POSITIONS, _each(results, rows))


LIKELIEST: tuple[Column[_Row], ...] = (
    Column("ranking", str, "judge, human or ppr", heading="Ranking"),
    Column("human", int, "Comparisons that kept their vote", heading="Votes"),
    Column("models", int, "How many there are", heading="Models"),
    Column(
        "other_position",
        int,
        "Models whose likeliest position is not the baseline's; the best of several as likely",
        heading="Other position",
    ),
    Column(
        "other_rank_set",
        int,
        "Models whose most frequent rank-set is not the baseline's",
        heading="Other rank-set",
    ),
)
JUDGED_LIKELIEST = _with_judge(LIKELIEST)


def judged_likeliest(results: Mapping[str, Resampling]) -> Table[_Row]:
    """Return where what is likeliest is not what is likeliest by all votes, by judge."""
    rows: dict[str, list[tuple[Ranking, _Row]]] = {}
    for judge, result in results.items():
        baseline = result.run(Ranking.BASELINE)
        models = range(len(result.models))
        likeliest = baseline.positions[0].argmax(1)
        frequent = [next(iter(baseline.sets(0, model))) for model in models]
        rows[judge] = [
            (
                run.ranking,
                {
                    "ranking": run.ranking,
                    "human": run.human,
                    "models": len(models),
                    "other_position": int((run.positions[0].argmax(1) != likeliest).sum()),
                    "other_rank_set": sum(
                        next(iter(run.sets(0, model))) != frequent[model] for model in models
                    ),
                },
            )
            for run in result.runs
            if run.ranking is not Ranking.BASELINE
        ]
    return table_of(JUDGED_LIKELIEST, _each(results, rows))


PAIR_SIZES: tuple[Column[_Row], ...] = (
    Column("model_a", str, "One of the models", heading="Model"),
    Column("model_b", str, "The other one", heading="Other model"),
    Column("comparisons", int, "Comparisons of the two", heading="Comparisons"),
    Column("wins_a", int, "Votes for the one", heading="Won"),
    Column("wins_b", int, "Votes for the other one", heading="Lost"),
    Column("ties", int, "Votes for neither", heading="Ties"),
)


def pair_sizes(votes: PairCounts) -> Table[_Row]:
    """Return how often each pair of models was compared."""
    models = votes.models
    return table_of(
        PAIR_SIZES,
        (
            {
                "model_a": models[a],
                "model_b": models[b],
                "comparisons": votes.comparisons[a, b],
                "wins_a": votes.wins[a, b],
                "wins_b": votes.wins[b, a],
                "ties": votes.comparisons[a, b] - votes.wins[a, b] - votes.wins[b, a],
            }
            for a in range(len(models))
            for b in range(a + 1, len(models))
        ),
    )


COMPARED: tuple[Column[_Row], ...] = (
    Column("model", str, "Name of the model", heading="Model"),
    Column("comparisons", int, "Comparisons that it took part in", heading="Comparisons"),
    Column("wins", int, "Votes for it", heading="Won"),
)


def compared_models(votes: PairCounts) -> Table[_Row]:
    """Return the models and how often each was compared."""
    return table_of(
        COMPARED,
        (
            {"model": model, "comparisons": n, "wins": wins}
            for model, n, wins in zip(
                votes.models, votes.comparisons.sum(1), votes.wins.sum(1), strict=True
            )
        ),
    )
