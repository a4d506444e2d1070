"""Logs of other tools, one file or many in folders, as one table of scores.

The content of a file tells its tool. A file a tool knows how to read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from statistics import fmean

from coupled_arena.analysis.logs import (
    harness,
    helm,
    inspect_log,
    judge_bench,
    langfuse,
    mt_bench,
    openai_evals,
    promptfoo,
)
from coupled_arena.analysis.logs.run_checks import Copies, Runs
from coupled_arena.analysis.logs.scored import BrokenRunError, LogFormat, Scored
from coupled_arena.analysis.risk.scores import RiskScores, check_models, scores_from_cells
from coupled_arena.analysis.score_columns import is_missing, score_of
from coupled_arena.core.errors import ScoreError

FORMATS = (
    *harness.FORMATS,
    mt_bench.FORMAT,
    inspect_log.FORMAT,
    helm.FORMAT,
    openai_evals.FORMAT,
    promptfoo.FORMAT,
    judge_bench.FORMAT,
    langfuse.FORMAT,
)
_ENDINGS = (".jsonl", ".json", ".eval")
_Cells = dict[tuple[str, str], dict[str, list[float]]]


def format_of(path: Path) -> LogFormat | None:
    """Return which tool has written a file; None where it is no log."""
    if not path.is_file():
        return None
    return next((each for each in FORMATS if each.recognise(path)), None)


def told_as_log(path: Path) -> str | None:
    """Return the beginning of a sentence on a log, or on a folder of logs; None where none is."""
    files, what = ([path], "is a log") if not path.is_dir() else (path.rglob("*"), "holds logs")
    found = (format_of(file) for file in sorted(files) if file.suffix in _ENDINGS)
    return next((f"{path} {what} of {each.title}" for each in found if each), None)


def read_logs(
    paths: Sequence[Path],
    metrics: Sequence[str] | None = None,
    models: Sequence[str | None] | None = None,
    among: Sequence[str] = (),
) -> RiskScores:
    """Read the scores in logs of other tools.

    Several runs of one model are repetitions, if it was run in the same way on the same prompts. A
    prompt on which a score is missing is left out for all models, and noted. So is one that some
    models do not have, or not as often as the others, unless they share no prompt at all.

    Parameters
    ----------
    paths : sequence of Path
        Files, or folders to search.
    metrics : sequence of str, optional
        Metrics to read; by default the first of the first log.
    models : sequence of str or None, optional
        What the model of each path is called; None is what its logs call it.
    among : sequence of str
        Models to read; others are passed over. All by default.

    Raises
    ------
    ScoreError
        A path holds no log that is known, logs contradict each other, or a score is none.
    """
    names = models or [None] * len(paths)
    logs = [(path, _logs(path), name) for path, name in zip(paths, names, strict=True)]
    _check_once([file for _, files, _ in logs for file, _ in files])
    copies = Copies()
    there: dict[str, None] = {}
    answers = chain.from_iterable(_answers(*each, among, copies, there) for each in logs)
    try:
        found = _joined(answers, metrics, among, there)
    except ScoreError as error:  # the cause may lie in what was passed over
        if not copies.notes:
            raise
        raise ScoreError(" ".join([str(error), *copies.notes])) from error
    return found.noted(*copies.notes)


def _joined(
    answers: Iterator[Scored],
    metrics: Sequence[str] | None,
    among: Sequence[str],
    there: Iterable[str],
) -> RiskScores:
    """Return answers as a table of scores; `there` has all models once the answers are read."""
    runs = Runs()
    first = next(answers, None)
    if first is None:
        check_models(among, list(there))
        raise ScoreError("There is no answer in the logs.")
    chosen = tuple(metrics or _first_metric(first))
    cells: _Cells = {}
    empty: set[str] = set()
    lower: set[str] = set()
    tasks: dict[str, str] = {}
    for answer in chain([first], answers):
        runs.add(answer, chosen)
        reply = cells.setdefault((answer.model, answer.prompt), {})
        lower |= answer.lower_is_better & set(chosen)
        tasks[answer.prompt] = answer.task
        if not _add_scores(reply, answer, chosen):
            empty.add(answer.prompt)
    check_models(among, list(there))
    whole = {reply: scores for reply, scores in cells.items() if reply[1] not in empty}
    if gone := sorted({model for model, _ in cells} - {model for model, _ in whole}):
        raise ScoreError(f"{gone[0]} has no prompt on which it has every score: leave it out.")
    shared, alone = _shared(whole)
    even, unequal = _evened(shared)
    found = scores_from_cells(even, chosen, lower).noted(
        *_left_out(len(empty), "a score is missing"),
        *_left_out(alone, "some models lack them"),
        *unequal,
        *runs.notes(),
    )
    return replace(found, left_out=len(empty) + alone, tasks=tasks)


def _add_scores(reply: dict[str, list[float]], answer: Scored, metrics: Sequence[str]) -> bool:
    """Add the scores of an answer to those of its reply, and return whether none is missing."""
    found = True
    for metric in metrics:
        if metric not in answer.scores:
            raise ScoreError(
                f"{answer.where} has no metric {metric!r}. It has "
                f"{', '.join(answer.scores) or 'none'}. Choose with --metrics those that all "
                "have, or give logs of one task."
            )
        score = answer.scores[metric]
        if is_missing(score):
            found = False
        else:
            value = score_of(score, answer.where, metric, "--metrics")
            reply.setdefault(metric, []).append(value)
    return found


def _left_out(prompts: int, why: str) -> tuple[str, ...]:
    """Return the note on prompts that are left out."""
    return (f"Left out, for {why}: {prompts:,} prompt{'s' * (prompts != 1)}.",) if prompts else ()


def _shared(cells: _Cells) -> tuple[_Cells, int]:
    """Return replies on prompts that each model has as often as usual, and how many others."""
    times: dict[str, dict[str, int]] = {}
    for (model, prompt), scores in cells.items():
        times.setdefault(prompt, {})[model] = max(map(len, scores.values()), default=0)
    of_model: dict[str, Counter[int]] = {}
    for model, number in chain.from_iterable(found.items() for found in times.values()):
        of_model.setdefault(model, Counter())[number] += 1
    usual = {model: numbers.most_common(1)[0][0] for model, numbers in of_model.items()}
    common = {prompt for prompt, found in times.items() if found == usual}
    # Of models without a prompt in common, or with one alone, whoever compares them says more.
    if len(common) < 2:
        return cells, 0
    shared = {key: scores for key, scores in cells.items() if key[1] in common}
    return shared, len(times.keys() - common)


def _evened(cells: _Cells) -> tuple[_Cells, tuple[str, ...]]:
    """Return one score a reply, their mean, where models have answered unequally often."""
    number: dict[str, int] = {}
    for (model, _), scores in cells.items():
        times = max(map(len, scores.values()), default=0)
        if number.setdefault(model, times) != times:
            return cells, ()
    if len(set(number.values())) < 2:
        return cells, ()
    means = {
        reply: {metric: [fmean(values)] for metric, values in scores.items()}
        for reply, scores in cells.items()
    }
    told = ", ".join(f"{model} {times}" for model, times in number.items())
    return means, (f"Answers to a prompt: {told}. Several count as their mean.",)


def _first_metric(answer: Scored) -> tuple[str]:
    if not answer.ordered:
        raise ScoreError(
            f"{answer.where} does not say which metric comes first. Choose with --metrics: "
            f"{', '.join(answer.scores)}."
        )
    for name, score in answer.scores.items():
        if score is None or isinstance(score, int | float):
            return (name,)
    raise ScoreError(f"{answer.where} has no metric that is a number.")


def _check_once(files: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise ScoreError(f"{file} is there twice: give each log once.")
        seen.add(file.resolve())


def _answers(
    path: Path,
    logs: Sequence[tuple[Path, LogFormat]],
    model: str | None,
    among: Sequence[str],
    copies: Copies,
    there: dict[str, None],
) -> Iterator[Scored]:
    """Yield the answers of a path, all as those of the model where one is named.

    The models that are there are added to `there`, also those not among the ones to read. In a
    folder, runs that broke off are passed over, and noted: they may have been made again.
    """
    own: set[str] = set()
    broken: BrokenRunError | None = None
    for file, format in logs:
        fresh = True
        try:
            for answer in format.read(file, str(file)):
                own.add(answer.model)
                if model is not None and len(own) > 1:
                    raise ScoreError(
                        f"{path} holds answers of {' and '.join(sorted(own))}: {model} can name "
                        "one."
                    )
                called = answer if model is None else replace(answer, model=model)
                there[called.model] = None
                if among and called.model not in among:
                    continue
                if fresh and copies.holds(called, file):
                    break
                fresh = False
                yield called
        except BrokenRunError as error:
            if not path.is_dir():
                raise
            broken = error
            copies.notes.append(f"Passed over: {error}")
    if broken and not own:
        raise broken


def _logs(path: Path) -> list[tuple[Path, LogFormat]]:
    """Return the logs of a path; in a folder what accompanies them is passed over."""
    if not path.is_dir():
        format = format_of(path)
        if format is None:
            raise ScoreError(_unknown(path))
        return [(path, format)]
    files = sorted(file for file in path.rglob("*") if file.suffix in _ENDINGS and file.is_file())
    found = [(file, format_of(file)) for file in files]
    for file, format in found:
        if format is None and file.suffix != ".json":
            raise ScoreError(_unknown(file))
    logs = [(file, format) for file, format in found if format is not None]
    if not logs:
        raise ScoreError(_unknown(path))
    return logs


def _unknown(path: Path) -> str:
    if not path.exists():
        return f"{path} is not there."
    known = "; ".join(format.expected for format in FORMATS)
    what = "holds" if path.is_dir() else "is"
    return (
        f"{path} {what} no log that is known. Known: {known}. A table of scores names its models "
        "in a column: give it without NAME=."
    )
