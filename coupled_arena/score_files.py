"""Tables of benchmark scores as files."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from coupled_arena.errors import ScoreError
from coupled_arena.stats.score_tables import ScoreTable

_NOISE = "Noise"
_PROTOCOLS = ("Coupled", "Independent")
_WORDS = {"true": 1.0, "false": 0.0}


def read_score_table(path: Path, seeds: int, name: str | None = None) -> ScoreTable:
    """Read a CSV with a column ``Noise`` and a column of scores for each model.

    ``Noise`` is ``Coupled`` or ``Independent``; a score is a number, True or False. Within a
    protocol the prompts follow each other in the same order, each in `seeds` consecutive rows.

    Parameters
    ----------
    name : str, optional
        What errors call the file; by default its path.

    Raises
    ------
    ScoreError
        The file cannot be read, or it is not such a table.
    """
    called = name or str(path)
    if seeds < 2:
        raise ScoreError("Each prompt needs two repetitions at least.")
    with csv_lines(path, called) as lines:
        models, rows = _read(lines, called)
    tables: list[np.ndarray] = []
    for protocol in _PROTOCOLS:
        if not rows[protocol]:
            raise ScoreError(f"{called} has no row whose {_NOISE} is {protocol}.")
        if len(rows[protocol]) % seeds:
            raise ScoreError(
                f"{called} has {len(rows[protocol]):,} rows of {protocol}, which {seeds} "
                "repetitions do not divide: give their number with --seeds."
            )
        tables.append(np.array(rows[protocol]).reshape(-1, seeds, len(models)))
    try:
        return ScoreTable(models, *tables)
    except ValueError as error:
        raise ScoreError(f"{called}: {error}") from error


def write_score_table(table: ScoreTable, path: Path) -> None:
    """Write a CSV that `read_score_table` reads.

    Raises
    ------
    ScoreError
        The file cannot be written.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([_NOISE, *table.models])
            for protocol, scores in zip(
                _PROTOCOLS, (table.coupled, table.independent), strict=True
            ):
                rows = scores.reshape(-1, len(table.models)).tolist()
                writer.writerows([protocol, *(f"{score:.17g}" for score in row)] for row in rows)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise ScoreError(f"{path} cannot be written: {error.strerror}.") from error


@contextmanager
def csv_lines(path: Path, name: str) -> Iterator[Iterator[list[str]]]:
    """Open a CSV file, called `name` in errors; the lines are to be read inside the block.

    Raises
    ------
    ScoreError
        The file cannot be read, at its beginning or within.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            yield csv.reader(stream)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ScoreError(f"{name} cannot be read as a CSV file: {error}.") from error


def _read(
    lines: Iterable[list[str]], called: str
) -> tuple[tuple[str, ...], dict[str, list[list[float]]]]:
    table = iter(lines)
    header = [name.strip() for name in next(table, [])]
    models = tuple(name for name in header if name != _NOISE)
    if header.count(_NOISE) != 1 or len(set(models)) != len(header) - 1 or not all(models):
        raise ScoreError(
            f"The first line of {called} must name a column {_NOISE} and one for each model."
        )
    at = header.index(_NOISE)
    rows: dict[str, list[list[float]]] = {protocol: [] for protocol in _PROTOCOLS}
    for number, row in enumerate(table, start=2):
        if not row:
            continue
        where = f"{called}, line {number}"
        if len(row) != len(header):
            raise ScoreError(f"{where} has {len(row)} columns, the first line {len(header)}.")
        protocol = row[at].strip()
        if protocol not in rows:
            raise ScoreError(f"{where}: {_NOISE} is {protocol!r}, not {' or '.join(_PROTOCOLS)}.")
        scores = (cell for place, cell in enumerate(row) if place != at)
        rows[protocol].append([read_score(cell, where) for cell in scores])
    return models, rows


def read_score(cell: str, where: str) -> float:
    """Return a score: a finite number, True or False.

    Raises
    ------
    ScoreError
        It is none; `where` says where it stands.
    """
    word = cell.strip().lower()
    try:
        score = _WORDS[word] if word in _WORDS else float(word)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise ScoreError(f"{where}: {cell!r} is not a score; write a number, True or False.")
    return score
