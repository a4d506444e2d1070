"""Tables of scores as files: long (model, prompt, metric, score) or wide (a column a metric)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from coupled_arena.analysis.coupling.files import SUBJECTS, csv_lines, read_score
from coupled_arena.analysis.risk.scores import RiskScores, scores_from_cells
from coupled_arena.core.errors import ScoreError

_MODEL, _PROMPT, _METRIC, _SCORE = "model", "prompt", "metric", "score"


def read_risk_scores(
    path: Path,
    metrics: Sequence[str] | None = None,
    lower_is_better: Collection[str] = (),
    *,
    name: str | None = None,
) -> RiskScores:
    """Read a CSV file of scores.

    A long table has the columns model, prompt, metric and score, and may have others; a wide one
    model, prompt, a column for each metric, and maybe one named subject or category, which is no
    metric. A score is a number, True or False. Several scores of one model on one prompt are
    repetitions.

    Parameters
    ----------
    metrics : sequence of str, optional
        Metrics to read; all by default. What other columns hold does not matter then.
    lower_is_better : collection of str
        Metrics of which less is better.
    name : str, optional
        What errors call the file; its path by default.

    Raises
    ------
    ScoreError
        The file cannot be read, or it is not such a table.
    """
    cells: dict[tuple[str, str], dict[str, list[float]]] = {}
    called = name or str(path)
    with csv_lines(path, called) as lines:
        header = [name.strip() for name in next(lines, [])]
        _check_header(header, called)
        chosen = _chosen(header, metrics)
        for number, row in enumerate(lines, start=2):
            if not any(cell.strip() for cell in row):
                continue
            where = f"{called}, line {number}"
            if len(row) != len(header):
                raise ScoreError(f"{where} has {len(row)} columns, the first line {len(header)}.")
            named = dict(zip(header, (cell.strip() for cell in row), strict=True))
            reply = cells.setdefault((named[_MODEL], named[_PROMPT]), {})
            for metric, score in _scores(named, chosen, where):
                if metrics is not None and metric not in metrics:
                    continue
                column = metric if metric in chosen else _SCORE
                reply.setdefault(metric, []).append(read_score(score, where, column, "--metrics"))
    return scores_from_cells(cells, metrics or chosen, lower_is_better)


def _check_header(header: list[str], name: str) -> None:
    if len(set(header)) < len(header) or not all(header):
        raise ScoreError(f"The first line of {name} must name each column, each differently.")
    missing = [column for column in (_MODEL, _PROMPT) if column not in header]
    if missing or len(header) < 3 or ((_METRIC in header) and _SCORE not in header):
        raise ScoreError(
            f"The first line of {name} must name the columns model, prompt, metric and score, or "
            "model, prompt and one for each metric."
        )


def _chosen(header: list[str], metrics: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns with scores of a wide table; none for a long one."""
    if _METRIC in header:
        return ()
    there = tuple(name for name in header if name not in (_MODEL, _PROMPT))
    if metrics is None:
        scored = tuple(name for name in there if name.lower() not in SUBJECTS)
        if not scored:
            raise ScoreError(f"There is no metric, only {', '.join(there)}.")
        return scored
    for name in metrics:
        if name not in there:
            raise ScoreError(f"There is no metric {name!r}; there is {', '.join(there)}.")
    return tuple(metrics)


def _scores(
    row: Mapping[str, str], columns: tuple[str, ...], where: str
) -> Iterator[tuple[str, str]]:
    if not (row[_MODEL] and row[_PROMPT]):
        raise ScoreError(f"{where} has no model or no prompt.")
    if not columns:
        if not row[_METRIC]:
            raise ScoreError(f"{where} has no metric.")
        yield row[_METRIC], row[_SCORE]
    for name in columns:
        if row[name]:  # what is not there is said of the whole table
            yield name, row[name]
