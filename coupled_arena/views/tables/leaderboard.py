"""The leaderboard as tables: standings, pairs, Bradley-Terry scores, both modes compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from markupsafe import Markup

from coupled_arena.analysis.leaderboard.board_estimates import BoardEstimates
from coupled_arena.analysis.leaderboard.result import BoardRow, HeadToHead, Leaderboard
from coupled_arena.core.choices import BoardSource
from coupled_arena.core.language import N_, _, number
from coupled_arena.stats.coupling.modes import ModeComparison
from coupled_arena.stats.ranking.bradley_terry import BradleyTerry, bradley_terry
from coupled_arena.stats.ranking.fragility import Fragility
from coupled_arena.stats.ranking.verdict_shift import DIFFERENT, ShiftTest
from coupled_arena.views.markup import UNKNOWN, Cell, broken, link, table
from coupled_arena.views.tables.memory import memory_table
from coupled_arena.views.tables.style import style_answer, style_text
from coupled_arena.views.tables.table import LEVEL, Column, Table, plain, span, table_of
from coupled_arena.views.words.leaderboard import board_warnings
from coupled_arena.views.words.names import rank_range
from coupled_arena.views.words.verdict import board_verdict

_FOR_PAGES = ("judge_verdicts", "wins", "ties", "both_bad", "identical")  # too wide for terminals


def standings(board: Leaderboard) -> Table[BoardRow]:
    """Return a row for each model of the board, best first."""
    columns = STANDINGS if board.source is not BoardSource.JUDGE else map(_by_judge, STANDINGS)
    table = table_of(columns, board.standings, alpha=board.alpha).leading(
        "model", "rank_low", "win_rate", "low", "judge_verdicts"
    )
    judged = board.estimates.selection.judge is not None
    return table if judged else table.without("judge_verdicts")


def _of_place(name: str) -> Any:
    return lambda row: getattr(row.place, name) if row.place else None


STANDINGS: tuple[Column[BoardRow], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column(
        "win_rate",
        float,
        "Mean over opponents of the probability to be preferred. Where ties are half a win, half "
        "of their probability is added. From 0 to 1; a judge's correction may leave that range",
        _of_place("win_rate"),
        N_("Win rate"),
        lambda row: number(row.place.likely_rate, ".1%") if row.place else UNKNOWN,
        strong=True,
    ),
    Column("standard_error", float, "Of the win rate", _of_place("standard_error")),
    Column(
        "low",
        float,
        "Lower bound of the win rate's interval",
        _of_place("low"),
        LEVEL,
        lambda row: span(row.place.low, row.place.high, ".1%") if row.place else UNKNOWN,
        by="win_rate",
    ),
    Column("high", float, "Upper bound of the win rate's interval", _of_place("high")),
    Column("rank", int, "Position by the estimates, 1 is best", _of_place("rank")),
    Column(
        "rank_low",
        int,
        "Best rank still possible, jointly for all models (marginal rank-sets: for each alone)",
        _of_place("rank_low"),
        N_("Rank"),
        lambda row: rank_range(row.place) if row.place else UNKNOWN,
        by="rank",
    ),
    Column("rank_high", int, "Worst rank still possible", _of_place("rank_high")),
    Column("human_votes", int, "Comparisons that a person decided", heading=N_("Comparisons")),
    Column("judge_verdicts", int, "Comparisons that the judge decided", heading=N_("Verdicts")),
    Column("wins", int, "Votes for the model", heading=N_("Wins")),
    Column("losses", int, "Votes for the other model"),
    Column("ties", int, "Votes for neither", heading=N_("Ties")),
    Column("both_bad", int, "Votes against both", heading=N_("Both bad")),
    Column(
        "identical",
        int,
        "Ties of identical replies, which nobody was asked about",
        heading=N_("Identical"),
    ),
    Column(
        "comparisons",
        int,
        "What the win rate of people, or of the judge on its own board, is a fraction of",
    ),
)


def _by_judge(column: Column[BoardRow]) -> Column[BoardRow]:
    """Return what a column is on the judge's own board."""
    of_judge = column.name == "comparisons"
    return replace(column, value=attrgetter("judge_verdicts")) if of_judge else column


@dataclass(frozen=True)
class RankSetSize:
    """How many ranks a model may have, by people alone and with the judge; None: not ranked."""

    model: str
    size_human: int | None
    size_prediction_powered: int | None


def rank_set_sizes(board: Leaderboard) -> Table[RankSetSize]:
    """Return how many ranks each model may have, by people alone and with the judge."""
    human, powered = (board.sizes(source) for source in (BoardSource.HUMAN, BoardSource.PPR))
    rows = (
        RankSetSize(row.model, human.get(row.model), powered.get(row.model))
        for row in board.standings
        if row.model in human or row.model in powered
    )
    return table_of(RANK_SET_SIZES, rows)


RANK_SET_SIZES: tuple[Column[RankSetSize], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column(
        "size_human", int, "Ranks still possible by people's votes alone", heading=N_("By people")
    ),
    Column(
        "size_prediction_powered",
        int,
        "Ranks still possible by votes and verdicts together",
        heading=N_("With the judge"),
    ),
)


@dataclass(frozen=True)
class OrderedPair:
    """What a model's comparisons with one opponent say; a win rate of None where they never met."""

    model: str
    opponent: str
    counts: HeadToHead
    win_rate: float | None


def head_to_head(board: Leaderboard) -> Table[OrderedPair]:
    """Return a row for each ordered pair of models: plain counts."""
    models = [standing.model for standing in board.standings]
    rows = (
        OrderedPair(model, opponent, pair, pair.win_rate(board.estimates.method.tie_score))
        for model, pairs in zip(models, board.head_to_head, strict=True)
        for opponent, pair in zip(models, pairs, strict=True)
        if opponent != model
    )
    return table_of(HEAD_TO_HEAD, rows)


def _counted(name: str, meaning: str, heading: str) -> Column[OrderedPair]:
    return Column(name, int, meaning, attrgetter(f"counts.{name}"), heading)


HEAD_TO_HEAD: tuple[Column[OrderedPair], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column("opponent", str, "Name of the other model", heading=N_("Opponent")),
    _counted("wins", "Comparisons that the model won", N_("Wins")),
    _counted("losses", "Comparisons that the opponent won", N_("Losses")),
    _counted("ties", "Comparisons that neither won, both bad included", N_("Ties")),
    _counted("comparisons", "All comparisons of the two", N_("Comparisons")),
    Column(
        "win_rate",
        float,
        "Fraction of them that the model won, and half of its ties where ties are half a win",
        heading=N_("Win rate"),
        text=".1%",
    ),
)


def pair_table(board: Leaderboard, address: Callable[[str, str], str | None]) -> Markup:
    """Return who beat whom as a folded table, each cell of which leads to its battles.

    Parameters
    ----------
    address : callable
        Returns where a model against an opponent leads, if anywhere.
    """
    names = [standing.model for standing in board.standings]

    def cell(model: str, opponent: str, pair: HeadToHead) -> Cell:
        if not pair.comparisons:
            return Cell(UNKNOWN, None)
        won, to = broken(f"{pair.wins}/{pair.comparisons}"), address(model, opponent)
        return Cell(link(to, won) if to else won, pair.win_rate(board.estimates.method.tie_score))

    rows = (
        [model, *(cell(model, *met) for met in zip(names, pairs, strict=True))]
        for model, pairs in zip(names, board.head_to_head, strict=True)
    )
    summary = Markup("<summary>{}</summary>").format(_("The pairs as a table: won, of how many"))
    inside = table([_("Model"), *names], rows)
    return Markup('<details class="pair-table">{}{}</details>').format(summary, inside)


def _left_out(estimates: BoardEstimates) -> dict[str, Any]:
    found = estimates.excluded
    return {
        "excluded": "include" if estimates.counting.excluded else "leave-out",
        "excluded_votes": found.votes,
        "excluded_share": found.share,
        "waiting_votes": found.waiting,
        "named": "include" if estimates.counting.named else "leave-out",
        "named_votes": found.named,
        "named_share": found.named_share,
    }


def board_answer(board: Leaderboard, found: BradleyTerry | None = None) -> dict[str, Any]:
    """Return a leaderboard as JSON values, with Bradley-Terry scores where they are asked for."""
    estimates, estimate = board.estimates, board.estimate
    modes = estimates.modes
    return {
        "models": standings(board).records(),
        "memory": memory_table(board).records(),
        "without_votes": list(board.idle),
        "source": board.source.value,
        "judge": None if estimates.selection.more_judges else estimates.selection.judge,
        "judges": list(estimates.selection.judges),
        "mode": board.mode.value if board.mode else "all",
        "voter": estimates.selection.voter,
        "judge_score": estimates.selection.judge_score.value,
        "flips": estimates.selection.flips.value,
        "abstained": estimates.use.abstained,
        "abstained_votes": estimates.use.abstained_voted,
        "without_probability": estimates.use.without_probability,
        "lambda": estimate.power_tuning if estimate else 0.0,
        "lambdas": _weights(board),
        "human_comparisons": int(estimates.votes.comparisons.sum()) // 2,
        "judge_only_comparisons": int(estimates.judged.unlabelled.sum()),
        **_silence(estimates),
        "left_out": estimates.left_out,
        **_left_out(estimates),
        "fragility": _fragility(board.fragility),
        "human_votes_saved": estimates.votes_saved,
        "alpha": board.alpha,
        "covariance": (estimate.kind if estimate else estimates.method.covariance).value,
        "weighting": (estimate.weighting if estimate else estimates.method.weighting).value,
        "filled_in": estimate.sparse.pairs if estimate and estimate.sparse else 0,
        "cutoff": board.cutoff.value,
        "sets": board.scope.value,
        "ties": estimates.method.tie_score.value,
        **_people(board),
        "control": board.control.value,
        "mix": dict(estimates.method.mix) or None,
        "style": style_answer(board.style) if board.style else None,
        "coupled_against_independent": modes_answer(modes, board.alpha) if modes else None,
        "verdict": board_verdict(board),
        "warnings": list(board_warnings(board)),
        **(_scores(found) if found else {}),
    }


def _scores(found: BradleyTerry) -> dict[str, Any]:
    models = bradley_terry_table(found).records()
    return {"bradley_terry": {"models": models, "warnings": list(found.warnings)}}


def _people(board: Leaderboard) -> dict[str, Any]:
    tastes = board.estimate.tastes if board.estimate else None
    known = tastes and not tastes.alone
    return {
        "voters": board.voters.value,
        "people": tastes.voters if tastes else None,
        "votes_worth": tastes.worth if tastes and known else None,
        "first_slot": _first_slot(board),
    }


def _first_slot(board: Leaderboard) -> dict[str, Any] | None:
    sides = board.estimates.sides
    if sides is None or not math.isfinite(sides.effect):
        return None
    low, high = sides.interval(board.alpha)
    return {
        "effect": sides.effect,
        "low": low,
        "high": high,
        "by_lot": sides.by_lot,
        "one_sided": [list(pair) for pair in sides.one_sided],
    }


def _silence(estimates: BoardEstimates) -> dict[str, Any]:
    return {
        "unjudged_votes": estimates.unjudged,
        "judge_only_check": _check(estimates.shift),
    }


def _check(shift: ShiftTest | None) -> dict[str, Any] | None:
    if shift is None:
        return None
    names = ("statistic", "contrasts", "degrees", "p", "model", "shift", "different")
    return {**{name: getattr(shift, name) for name in names}, "level": DIFFERENT}


def _fragility(found: Fragility | None) -> dict[str, Any] | None:
    if found is None:
        return None
    names = ("first", "rival", "removed", "comparisons", "share")
    return {name: getattr(found, name) for name in names}


def _weights(board: Leaderboard) -> list[float]:
    """Return λ of each judge."""
    if board.estimate is None or board.source is not BoardSource.PPR:
        return [0.0] * len(board.estimates.selection.judges)
    return list(board.estimate.judge_weights)


def board_text(board: Leaderboard, found: BradleyTerry | None = None) -> str:
    """Return a leaderboard for a terminal."""
    answer = board_answer(board)
    settings = [
        "source",
        "mode",
        "weighting",
        "covariance",
        "cutoff",
        "sets",
        "ties",
        "voters",
        "alpha",
    ]
    settings += ["judge_score", "flips"] if answer["judges"] else []
    shown = standings(board).without(*_FOR_PAGES)
    if board.source is BoardSource.JUDGE:  # of people there may be none
        columns = tuple(
            replace(each, value=attrgetter("judge_verdicts"))
            if each.name == "human_votes"
            else each
            for each in shown.columns
        )
        shown = replace(shown, columns=columns)
    lines = [answer["verdict"], shown.text()]
    lines.append(", ".join(f"{name} {answer[name]}" for name in settings))
    if len(answer["judges"]) > 1:
        text = zip(answer["judges"], answer["lambdas"], strict=True)
        each = ", ".join(f"{judge} {number(weight, '.3f')}" for judge, weight in text)
        lines.append(f"weights of the judges, where all of them judged: {each}")
    if found:
        lines.append(bradley_terry_table(found).text())
    if board.style:
        lines += [f"control {board.control}:", *style_text(board.style)]
    return "\n".join([*lines, *answer["warnings"]])


def scores(board: Leaderboard) -> BradleyTerry:
    """Return the Bradley-Terry scores by what the board counts."""
    counts = board.estimates
    by_judge = board.source is BoardSource.JUDGE
    return bradley_terry(counts.judged.verdicts if by_judge else counts.votes, board.alpha)


@dataclass(frozen=True)
class BradleyTerryScore:
    """A model's Bradley-Terry score with its interval."""

    model: str
    score: float
    low: float
    high: float


def bradley_terry_table(found: BradleyTerry) -> Table[BradleyTerryScore]:
    """Return each model's Bradley-Terry score."""
    rows = map(BradleyTerryScore, found.models, found.score, found.low, found.high)
    return table_of(BRADLEY_TERRY, rows, alpha=found.alpha)


BRADLEY_TERRY: tuple[Column[BradleyTerryScore], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column(
        "score",
        float,
        "On the scale of Elo ratings, their mean 1000: 400 points are odds of ten to one",
        heading=N_("Bradley-Terry"),
        text=".0f",
    ),
    Column(
        "low",
        float,
        "Lower bound of the score, by a bootstrap",
        heading=LEVEL,
        text=lambda row: span(row.low, row.high, ".0f"),
        by="score",
    ),
    Column("high", float, "Upper bound of the score"),
)


@dataclass(frozen=True)
class ModeModel:
    """A model's win rate by mode, over all opponents or against one."""

    model: str
    coupled: float
    independent: float
    p_value: float
    difference: float


@dataclass(frozen=True)
class ModePair(ModeModel):
    """The same of two models, with how often they tie."""

    opponent: str
    published_p_value: float
    coupled_ties: float
    independent_ties: float


def mode_models(modes: ModeComparison) -> Table[ModeModel]:
    """Return each model's win rate in coupled and in independent battles."""
    found = modes.averages
    rates = found.coupled, found.independent, found.p_value, found.difference
    return table_of(MODE_MODELS, map(ModeModel, modes.models, *rates))


MODE_MODELS: tuple[Column[Any], ...] = (
    Column("model", str, "Name of the model", heading=N_("Model")),
    Column("coupled", float, "Win rate in coupled battles", heading=N_("Coupled"), text=".1%"),
    Column(
        "independent",
        float,
        "Win rate in independent battles",
        heading=N_("Independent"),
        text=".1%",
    ),
    Column("p_value", float, "Two-sided, that both are the same", heading=N_("p"), text=".2g"),
    Column("difference", float, "Coupled less independent", heading=N_("Difference"), text="+.1%"),
)


def mode_pairs(modes: ModeComparison) -> Table[ModePair]:
    """Return each ordered pair's win rate and ties in coupled and in independent battles."""
    pairs = modes.pairs
    rows = (
        ModePair(
            model=model,
            opponent=opponent,
            coupled=pairs.coupled[i, j],
            independent=pairs.independent[i, j],
            p_value=p_value[i, j],
            published_p_value=modes.published_p_value[i, j],
            coupled_ties=modes.coupled_ties[i, j],
            independent_ties=modes.independent_ties[i, j],
            difference=difference[i, j],
        )
        for p_value, difference in [(pairs.p_value, pairs.difference)]
        for i, model in enumerate(modes.models)
        for j, opponent in enumerate(modes.models)
        if i != j
    )
    return table_of(MODE_PAIRS, rows)


MODE_PAIRS: tuple[Column[ModePair], ...] = (
    MODE_MODELS[0],
    Column("opponent", str, "Name of the other model", heading=N_("Opponent")),
    *MODE_MODELS[1:4],
    Column("published_p_value", float, "By the paper's pooled z test, which ignores clusters"),
    Column("coupled_ties", float, "Share of ties in coupled battles, both bad included"),
    Column("independent_ties", float, "Share of ties in independent battles, both bad included"),
    MODE_MODELS[4],
)


def modes_answer(modes: ModeComparison, alpha: float) -> dict[str, Any]:
    """Return coupled against independent as JSON values."""
    low, high = modes.tie_interval(alpha)
    return {
        "models": mode_models(modes).records(),
        "pairs": mode_pairs(modes).records(),
        "tie_change": plain(modes.tie_change),
        "tie_change_low": plain(low),
        "tie_change_high": plain(high),
        "flips": plain(modes.flips),
        "people": modes.people,
        "people_in_both": modes.both,
    }
