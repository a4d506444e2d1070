"""Tables of benchmark scores as files."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from coupled_arena.core.errors import ScoreError
from coupled_arena.stats.coupling.score_tables import ScoreTable

SUBJECTS = ("subject", "category")
"""Names of a column, in lower case, that tells prompts apart and holds no scores."""

_NOISE = "Noise"
_PROTOCOLS = ("Coupled", "Independent")
_WORDS = {"true": 1.0, "false": 0.0}


@dataclass(frozen=True, eq=False)
class SubjectScores:
    """A table of scores; `subjects` has one for each prompt, and is None where no column tells."""

    table: ScoreTable
    subjects: tuple[str, ...] | None = None

    def of(self, subject: str) -> ScoreTable:
        """Return the scores on the prompts of one subject.

        Raises
        ------
        ScoreError
            There are no such prompts, or one alone.
        """
        if self.subjects is None:
            raise ScoreError("The table has no column Subject or Category.")
        chosen = [name == subject for name in self.subjects]
        if not any(chosen):
            known = ", ".join(sorted(set(self.subjects)))
            raise ScoreError(f"The table has no prompts of {subject!r}; it has {known}.")
        try:
            return ScoreTable(
                self.table.models, self.table.coupled[chosen], self.table.independent[chosen]
            )
        except ValueError as error:
            raise ScoreError(f"{subject}: {error}") from error

    def by_subject(self) -> dict[str, ScoreTable | None]:
        """Return the scores of each subject, None where it has too few prompts.

        Raises
        ------
        ScoreError
            The table has no subjects.
        """
        if self.subjects is None:
            raise ScoreError("The table has no column Subject or Category.")
        counted = Counter(self.subjects)  # two prompts are the least
        return {
            subject: self.of(subject) if n > 1 else None for subject, n in sorted(counted.items())
        }


def read_score_table(path: Path, seeds: int, name: str | None = None) -> ScoreTable:
    """Return the scores of `read_subject_scores`."""
    return read_subject_scores(path, seeds, name=name).table


def read_subject_scores(
    path: Path, seeds: int, models: Sequence[str] | None = None, name: str | None = None
) -> SubjectScores:
    """Read a CSV with a column ``Noise`` and a column of scores for each model.

    ``Noise`` is ``Coupled`` or ``Independent``; a score is a number, True or False. Within a
    protocol the prompts follow each other in the same order, each in `seeds` consecutive rows.
    A column ``Subject`` or ``Category`` tells what the prompts are about.

    Parameters
    ----------
    models : sequence of str, optional
        Columns to read, in this order; what others hold does not matter then. By default all but
        the above.
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
        read = _read(lines, called, models)
    tables: list[np.ndarray] = []
    for protocol, rows in read.scores.items():
        if not rows:
            raise ScoreError(f"{called} has no row whose {_NOISE} is {protocol}.")
        if len(rows) % seeds:
            raise ScoreError(
                f"{called} has {len(rows):,} rows of {protocol}, which {seeds} "
                "repetitions do not divide: give their number with --seeds."
            )
        tables.append(np.array(rows).reshape(-1, seeds, len(read.models)))
    try:
        table = ScoreTable(read.models, *tables)
    except ValueError as error:
        raise ScoreError(f"{called}: {error}") from error
    return SubjectScores(table, _subjects(read, seeds, called))


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


@dataclass(frozen=True)
class _Rows:
    """What a file holds, by protocol: scores, and the subjects where a column tells them."""

    models: tuple[str, ...]
    scores: dict[str, list[list[float]]]
    subjects: dict[str, list[str]]


def _read(lines: Iterable[list[str]], called: str, wanted: Sequence[str] | None) -> _Rows:
    table = iter(lines)
    header = [name.strip() for name in next(table, [])]
    told = [name for name in header if name.lower() in SUBJECTS and name not in (wanted or ())]
    subject = header.index(told[0]) if told else None
    models = tuple(name for name in header if name not in (_NOISE, *told))
    unclear = len(set(header)) < len(header) or len(told) > 1 or not all(header)
    if header.count(_NOISE) != 1 or unclear:
        raise ScoreError(
            f"The first line of {called} must name a column {_NOISE} and one for each model, each "
            "differently; one besides may be named Subject."
        )
    if absent := [name for name in wanted or () if name not in models]:
        raise ScoreError(f"The table has no {', '.join(absent)}. Its models: {', '.join(models)}.")
    chosen = tuple(dict.fromkeys(wanted or models))
    places = [(name, header.index(name)) for name in chosen]
    at = header.index(_NOISE)
    read = _Rows(chosen, {name: [] for name in _PROTOCOLS}, {name: [] for name in _PROTOCOLS})
    for number, row in enumerate(table, start=2):
        if not row:
            continue
        where = f"{called}, line {number}"
        if len(row) != len(header):
            raise ScoreError(f"{where} has {len(row)} columns, the first line {len(header)}.")
        protocol = row[at].strip()
        if protocol not in read.scores:
            raise ScoreError(f"{where}: {_NOISE} is {protocol!r}, not {' or '.join(_PROTOCOLS)}.")
        read.scores[protocol].append(
            [read_score(row[place], where, name, "--models") for name, place in places]
        )
        if subject is not None:
            read.subjects[protocol].append(row[subject].strip())
    return read


def _subjects(read: _Rows, seeds: int, called: str) -> tuple[str, ...] | None:
    """Return the subject of each prompt, which all its rows share."""
    coupled, independent = (read.subjects[protocol] for protocol in _PROTOCOLS)
    if not coupled:
        return None
    for place, names in enumerate(zip(coupled, independent, strict=True)):
        prompt = {*names, coupled[place - place % seeds]}
        if len(prompt) > 1:
            raise ScoreError(
                f"In {called} a prompt has two subjects: {' and '.join(sorted(prompt))}. Give the "
                "rows of a prompt with --seeds, and prompts in the same order for both protocols."
            )
    return tuple(coupled[::seeds])


def read_score(cell: str, where: str, column: str, option: str) -> float:
    """Return a score: a finite number, True or False.

    Raises
    ------
    ScoreError
        It is none; `where` and `column` say where it stands, `option` which columns to read.
    """
    word = cell.strip().lower()
    try:
        score = _WORDS[word] if word in _WORDS else float(word)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise ScoreError(
            f"{where}: {cell!r} in column {column!r} is not a score; write a number, True or "
            f"False, or leave the column out: {option} names those to read."
        )
    return score
