"""Tables of scores, long (model, prompt, metric, score) or wide (a column for each metric)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coupled_arena.analysis.risk.scores import RiskScores, scores_from_cells
from coupled_arena.analysis.score_columns import (
    check_repeated,
    check_settings,
    is_missing,
    is_score,
    place_of,
    score_of,
    text_of,
)
from coupled_arena.core.bounds import IN_MEMORY, Bound
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _, ngettext
from coupled_arena.core.tables import called, read_frame

if TYPE_CHECKING:
    import pandas as pd

_MODEL, _PROMPT, _METRIC, _SCORE = "model", "prompt", "metric", "score"


def read_risk_scores(
    path: Path | Sequence[Path],
    metrics: Sequence[str] | None = None,
    lower_is_better: Collection[str] = (),
    *,
    name: str | None = None,
    bound: Bound = IN_MEMORY,
) -> RiskScores:
    """Read a file of scores, or several, in any form of `coupled_arena.core.tables`.

    Parameters
    ----------
    metrics, lower_is_better
        See `risk_scores_from_frame`.
    name : str, optional
        What errors call the file; its path by default.
    bound : Bound
        What the file may hold.

    Raises
    ------
    ScoreError
        The file cannot be read, or it is not such a table.
    """
    frame = read_frame(path, ScoreError, name=name, bound=bound)
    return risk_scores_from_frame(frame, metrics, lower_is_better, name or called(path))


def risk_scores_from_frame(
    frame: pd.DataFrame,
    metrics: Sequence[str] | None = None,
    lower_is_better: Collection[str] = (),
    name: str = "the table",
) -> RiskScores:
    """Return the scores of a table of models on prompts.

    A long table has the columns model, prompt, metric and score, and may have others; a wide one
    model, prompt, a column for each metric, and maybe one named subject or category, which is no
    metric; nor is one that says how an answer was drawn (temperature, top_p, …; one setting for
    all) or which repetition it is (seed, run, …). A score is a number, True or False. Several
    scores of one model on one prompt are repetitions. A prompt on which a cell is empty is left
    out, and noted.

    Parameters
    ----------
    frame : DataFrame, shape (rows, columns)
        The name of its index is what errors call a row.
    metrics : sequence of str, optional
        Metrics to read; all by default. What other columns hold does not matter then.
    lower_is_better : collection of str
        Metrics of which less is better.
    name : str
        What errors call the table.

    Raises
    ------
    ScoreError
        It is not such a table.
    """
    header = [str(column).strip() for column in frame.columns]
    _check_header(header, name)
    frame = frame.set_axis(header, axis="columns")
    check_settings(frame, metrics, name)
    keys = [column for column in (_MODEL, _PROMPT, _METRIC) if column in header]
    check_repeated(frame, keys, metrics, name)
    chosen = _chosen(header, metrics)
    cells: dict[tuple[str, str], dict[str, list[float]]] = {}
    empty: set[str] = set()
    columns = (frame.iloc[:, place].tolist() for place in range(len(header)))
    for number, row in enumerate(zip(*columns, strict=True)):
        named = dict(zip(header, row, strict=True))
        where = place_of(frame, number, name)
        reply = cells.setdefault(_reply(named, where), {})
        for metric, score in _scores(named, chosen, where):
            if metrics is not None and metric not in metrics:
                continue
            if is_missing(score):
                empty.add(text_of(named[_PROMPT]))
            else:
                column = metric if metric in chosen else _SCORE
                reply.setdefault(metric, []).append(score_of(score, where, column, "--metrics"))
    whole = {reply: scores for reply, scores in cells.items() if reply[1] not in empty}
    for model in dict.fromkeys(owner for owner, __ in cells):
        if all(owner != model for owner, _ in whole):
            text = _(
                "{name} has an empty cell on every prompt of {model}: leave the model out, or "
                "the column; --metrics names those to read."
            )
            raise ScoreError(text.format(name=name, model=model))
    try:
        found = scores_from_cells(whole, metrics or chosen, lower_is_better)
    except ScoreError as error:
        raise ScoreError(f"{error} {_left_out(len(empty))}" if empty else str(error)) from error
    return found.noted(_left_out(len(empty))) if empty else found


def _left_out(prompts: int) -> str:
    return ngettext(
        "Left out, for a score is missing: {n:,} prompt.",
        "Left out, for a score is missing: {n:,} prompts.",
        prompts,
    ).format(n=prompts)


def _check_header(header: list[str], name: str) -> None:
    if len(set(header)) < len(header) or not all(header):
        raise ScoreError(
            _("The first line of {name} must name each column, each differently.").format(name=name)
        )
    missing = [column for column in (_MODEL, _PROMPT) if column not in header]
    if missing and {"model_a", "model_b", "winner"} <= set(header):
        text = _("{name} is a table of votes, not of scores: bring it in with `import`.")
        raise ScoreError(text.format(name=name))
    if missing or len(header) < 3 or ((_METRIC in header) and _SCORE not in header):
        text = _(
            "The first line of {name} must name the columns model, prompt, metric and score, "
            "or model, prompt and one for each metric."
        )
        raise ScoreError(text.format(name=name))


def _chosen(header: list[str], metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns with scores of a wide table; none for a long one."""
    if _METRIC in header:
        return ()
    there = tuple(name for name in header if name not in (_MODEL, _PROMPT))
    if metrics is None:
        scored = tuple(name for name in there if is_score(name))
        if not scored:
            raise ScoreError(_("There is no metric, only {known}.").format(known=", ".join(there)))
        return scored
    for name in metrics:
        if name not in there:
            text = _("There is no metric {name!r}; there is {known}.")
            raise ScoreError(text.format(name=name, known=", ".join(there)))
    return tuple(metrics)


def _reply(row: Mapping[str, Any], where: str) -> tuple[str, str]:
    model, prompt = text_of(row[_MODEL]), text_of(row[_PROMPT])
    if not (model and prompt):
        raise ScoreError(_("{where} has no model or no prompt.").format(where=where))
    return model, prompt


def _scores(
    row: Mapping[str, Any], columns: tuple[str, ...], where: str
) -> Iterator[tuple[str, Any]]:
    if not columns:
        if is_missing(row[_METRIC]):
            raise ScoreError(_("{where} has no metric.").format(where=where))
        yield text_of(row[_METRIC]), row[_SCORE]
    for name in columns:
        yield name, row[name]
