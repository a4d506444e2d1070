"""Tables of benchmark scores, as DataFrames and as files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coupled_arena.analysis.score_columns import (
    PROMPTS,
    SUBJECTS,
    check_settings,
    is_score,
    place_of,
    scores_of,
    text_of,
)
from coupled_arena.core.bounds import IN_MEMORY, Bound
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.files import UNREADABLE, reason
from coupled_arena.core.formulas import as_text, csv_writer
from coupled_arena.core.language import _, ngettext
from coupled_arena.core.tables import called, first_line, read_frame
from coupled_arena.stats.coupling.score_tables import ScoreTable

if TYPE_CHECKING:
    import pandas as pd


_NOISE = "Noise"
_PROTOCOLS = ("Coupled", "Independent")


@dataclass(frozen=True, eq=False)
class SubjectScores:
    """A table of scores.

    Attributes
    ----------
    subjects : tuple of str, or None
        One for each prompt; None where no column tells.
    left_out : int
        Prompts with an empty cell.
    """

    table: ScoreTable
    subjects: tuple[str, ...] | None = None
    left_out: int = 0

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


def read_subject_scores(
    path: Path | Sequence[Path],
    seeds: int,
    models: Sequence[str] | None = None,
    name: str | None = None,
    bound: Bound = IN_MEMORY,
) -> SubjectScores:
    """Read a file of scores, or several, in any form of `coupled_arena.core.tables`.

    Parameters
    ----------
    seeds, models
        See `subject_scores_from_frame`.
    name : str, optional
        What errors call the file; by default its path.
    bound : Bound
        What the file may hold.

    Raises
    ------
    ScoreError
        The file cannot be read, or it is not such a table.
    """
    frame = read_frame(path, ScoreError, name=name, bound=bound)
    return subject_scores_from_frame(frame, seeds, models, name or called(path))


def subject_scores_from_frame(
    frame: pd.DataFrame, seeds: int, models: Sequence[str] | None = None, name: str = "the table"
) -> SubjectScores:
    """Return the scores of a table with a column ``Noise`` and one of scores for each model.

    ``Noise`` is ``Coupled`` or ``Independent``; a score is a number, True or False. Within a
    protocol the prompts follow each other in the same order, each in `seeds` consecutive rows. A
    column ``Subject`` or ``Category`` tells what the prompts are about. A column ``Prompt`` is
    compared with `seeds`. Columns such as ``Temperature`` must have one value. A prompt with an
    empty cell is left out of both protocols.

    Parameters
    ----------
    frame : DataFrame, shape (rows, columns)
        The name of its index is what errors call a row.
    seeds : int
        Repetitions of each prompt.
    models : sequence of str, optional
        Columns to read, in this order; what others hold does not matter then. By default all but
        the above.
    name : str
        What errors call the table.

    Raises
    ------
    ScoreError
        It is not such a table.
    """
    if seeds < 2:
        raise ScoreError(_("Each prompt needs two repetitions at least."))
    frame = frame.set_axis([str(column).strip() for column in frame.columns], axis="columns")
    subject, chosen = _columns(list(frame.columns), models, name)
    check_settings(frame, models, name)
    coupled, independent = _protocols(frame, seeds, name)
    for column in frame.columns:
        if column.lower() in PROMPTS and column not in chosen:
            words = np.array([text_of(cell) for cell in frame[column]])
            _check_prompts(words[coupled], words[independent], seeds, name)
    scores = np.empty((len(frame), len(chosen)))
    for place, model in enumerate(chosen):
        scores[:, place] = scores_of(frame, model, name, "--models")
    shape = (-1, seeds, len(chosen))
    both = [scores[rows].reshape(shape) for rows in (coupled, independent)]
    subjects = None
    if subject is not None and both[0].shape == both[1].shape:
        words = np.array([text_of(cell) for cell in frame[subject]])
        subjects = _subjects(words[coupled], words[independent], seeds, name)
    return _whole(chosen, both, subjects, name)


def _whole(
    models: tuple[str, ...],
    both: list[NDArray[np.float64]],
    subjects: tuple[str, ...] | None,
    name: str,
) -> SubjectScores:
    """Return the scores of prompts without an empty cell."""
    left_out = 0
    if both[0].shape == both[1].shape:
        whole = ~np.any([np.isnan(scores).any(axis=(1, 2)) for scores in both], axis=0)
        left_out = int((~whole).sum())
        both = [scores[whole] for scores in both]
        subjects = subjects and tuple(np.array(subjects)[whole].tolist())
    try:
        table = ScoreTable(models, *both)
    except ValueError as error:
        empty = ngettext(
            "Left out, for a cell is empty: {n:,} prompt.",
            "Left out, for a cell is empty: {n:,} prompts.",
            left_out,
        ).format(n=left_out)
        raise ScoreError(f"{name}: {error} {empty}" if left_out else f"{name}: {error}") from error
    return SubjectScores(table, subjects, left_out)


def _check_prompts(
    coupled: NDArray[np.str_], independent: NDArray[np.str_], seeds: int, name: str
) -> None:
    """Refuse rows of one prompt that are not `seeds` in a row, in the same order for both."""
    for words in (coupled, independent):
        begins = np.append(True, words[1:] != words[:-1])
        wrong = np.flatnonzero(begins != (np.arange(len(words)) % seeds == 0))
        if wrong.size:
            text = _(
                "In {name} prompt {prompt!r} does not have {seeds} rows that follow each "
                "other: give the rows of a prompt with --seeds, and sort by prompt."
            )
            raise ScoreError(text.format(name=name, prompt=str(words[wrong[0]]), seeds=seeds))
    if not np.array_equal(coupled, independent):
        text = _("{name} must have the same prompts in the same order for both protocols.")
        raise ScoreError(text.format(name=name))


def _protocols(frame: pd.DataFrame, seeds: int, name: str) -> list[NDArray[np.bool_]]:
    """Return which rows are coupled, and which independent; all are one of them."""
    protocols = [text_of(cell) for cell in frame[_NOISE]]
    for row, protocol in enumerate(protocols):
        if protocol not in _PROTOCOLS:
            where = place_of(frame, row, name)
            text = _("{where}: {noise} is {protocol!r}, not {known}.")
            raise ScoreError(
                text.format(
                    where=where, noise=_NOISE, protocol=protocol, known=" or ".join(_PROTOCOLS)
                )
            )
    for protocol in _PROTOCOLS:
        rows = protocols.count(protocol)
        if not rows:
            text = _("{name} has no row with {protocol} as {noise}.")
            raise ScoreError(text.format(name=name, noise=_NOISE, protocol=protocol))
        if rows % seeds:
            text = _(
                "{name} has {rows:,} rows of {protocol}, which {seeds} repetitions do not "
                "divide: give their number with --seeds."
            )
            raise ScoreError(text.format(name=name, rows=rows, protocol=protocol, seeds=seeds))
    return [np.array(protocols) == protocol for protocol in _PROTOCOLS]


def _columns(
    header: list[str], wanted: Sequence[str] | None, name: str
) -> tuple[str | None, tuple[str, ...]]:
    """Return the column of subjects, if there is one, and those of the models wanted."""
    subjects = [c for c in header if c.lower() in SUBJECTS and c not in (wanted or ())]
    unclear = len(set(header)) < len(header) or len(subjects) > 1 or not all(header)
    if header.count(_NOISE) != 1 or unclear:
        text = _(
            "The first line of {name} must name a column {noise} and one column for each model. "
            "All names differ; one more column may be named Subject."
        )
        raise ScoreError(text.format(name=name, noise=_NOISE))
    others = (_NOISE, *subjects)
    models = tuple(
        column
        for column in header
        if column in (wanted or ())
        or (column not in others and is_score(column) and column.lower() not in PROMPTS)
    )
    if absent := [model for model in wanted or () if model not in models]:
        raise ScoreError(f"The table has no {', '.join(absent)}. Its models: {', '.join(models)}.")
    return next(iter(subjects), None), tuple(dict.fromkeys(wanted or models))


def _subjects(
    coupled: NDArray[np.str_], independent: NDArray[np.str_], seeds: int, name: str
) -> tuple[str, ...]:
    """Return the subject of each prompt, which all its rows share."""
    for place, names in enumerate(zip(coupled, independent, strict=True)):
        prompt = {*names, coupled[place - place % seeds]}
        if len(prompt) > 1:
            text = _(
                "In {name} a prompt has two subjects: {subjects}. Give the rows of a prompt "
                "with --seeds, and prompts in the same order for both protocols."
            )
            raise ScoreError(text.format(name=name, subjects=" and ".join(sorted(prompt))))
    return tuple(coupled[::seeds].tolist())


def _is_score_table(path: Path) -> bool:
    try:
        return path.is_file() and first_line(path).startswith(f"{_NOISE},")
    except UNREADABLE:
        return False


def write_score_table(table: ScoreTable, path: Path) -> None:
    """Write a CSV that `read_subject_scores` reads.

    Raises
    ------
    ScoreError
        The file cannot be written or is none of these, or a model has a name that its reader takes
        for something else.
    """
    if path.exists() and not _is_score_table(path):
        raise ScoreError(f"{path} is there, and is no table of scores: give another name.")
    header = (_NOISE, *table.models)
    for model in table.models:
        taken = model != model.strip() or not is_score(model)
        if taken or model.lower() in {_NOISE.lower(), *SUBJECTS, *PROMPTS}:
            raise ScoreError(f"{model!r} is no model's column in a table of scores: leave it out.")
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as stream:
            writer = csv_writer(stream)
            writer.writerow(map(as_text, header))
            for protocol, scores in zip(
                _PROTOCOLS, (table.coupled, table.independent), strict=True
            ):
                rows = scores.reshape(-1, len(table.models)).tolist()
                writer.writerows([protocol, *(f"{score:.17g}" for score in row)] for row in rows)
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise ScoreError(f"{path} cannot be written: {reason(error)}.") from error
