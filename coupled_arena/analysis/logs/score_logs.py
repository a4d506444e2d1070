"""Logs of other tools, one file or many in folders, as one table of scores.

The content of a file tells its tool. A file a tool knows how to read it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

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
from coupled_arena.analysis.logs.scored import LogFormat, Scored
from coupled_arena.analysis.risk.scores import RiskScores, scores_from_cells
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
_Known = dict[tuple[str, ...], tuple[str, str]]


def format_of(path: Path) -> LogFormat | None:
    """Return which tool has written a file; None where it is no log."""
    if not path.is_file():
        return None
    return next((each for each in FORMATS if each.recognise(path)), None)


def tool_of(path: Path) -> str | None:
    """Return which tool has written a log, or a log in a folder; None where there is none."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    found = (format_of(file) for file in files if file.suffix in _ENDINGS)
    return next((each.title for each in found if each), None)


def read_logs(
    paths: Sequence[Path],
    metrics: Sequence[str] | None = None,
    models: Sequence[str | None] | None = None,
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

    Raises
    ------
    ScoreError
        A path holds no log that is known, logs contradict each other, or a score is none.
    """
    names = models or [None] * len(paths)
    logs = [(path, _logs(path), name) for path, name in zip(paths, names, strict=True)]
    _check_once([file for _, files, _ in logs for file, _ in files])
    answers = chain.from_iterable(_answers(*each) for each in logs)
    first = next(answers, None)
    if first is None:
        raise ScoreError(f"{', '.join(map(str, paths))}: there is no answer.")
    chosen = tuple(metrics or _first_metric(first))
    cells: _Cells = {}
    empty: set[str] = set()
    lower: set[str] = set()
    known: _Known = {}
    for answer in chain([first], answers):
        _check_same(answer, known)
        reply = cells.setdefault((answer.model, answer.prompt), {})
        lower |= answer.lower_is_better & set(chosen)
        for metric in chosen:
            if metric not in answer.scores:
                raise ScoreError(
                    f"{answer.where} has no metric {metric!r}. It has "
                    f"{', '.join(answer.scores) or 'none'}. Choose with --metrics those that all "
                    "have, or give logs of one task."
                )
            score = answer.scores[metric]
            if is_missing(score):
                empty.add(answer.prompt)
            else:
                value = score_of(score, answer.where, metric, "--metrics")
                reply.setdefault(metric, []).append(value)
    whole = {reply: scores for reply, scores in cells.items() if reply[1] not in empty}
    if gone := sorted({model for model, _ in cells} - {model for model, _ in whole}):
        raise ScoreError(f"{gone[0]} has no prompt on which it has every score: leave it out.")
    shared, alone = _shared(whole)
    found = scores_from_cells(shared, chosen, lower)
    found = found.noted(
        *_left_out(len(empty), "a score is missing"), *_left_out(alone, "some models lack them")
    )
    return replace(found, left_out=len(empty) + alone)


def _left_out(prompts: int, why: str) -> tuple[str, ...]:
    """Return the note on prompts that are left out."""
    return (f"Left out, for {why}: {prompts:,} prompt{'s' * (prompts != 1)}.",) if prompts else ()


def _shared(cells: _Cells) -> tuple[_Cells, int]:
    """Return the replies on prompts that all models have equally often, and how many others."""
    models = {model for model, _ in cells}
    times: dict[str, list[int]] = {}
    for (_, prompt), scores in cells.items():
        times.setdefault(prompt, []).append(max(map(len, scores.values()), default=0))
    usual = Counter(chain.from_iterable(times.values())).most_common(1)
    wanted = [usual[0][0]] * len(models) if usual else []
    common = {prompt for prompt, found in times.items() if found == wanted}
    # Of models without a prompt in common, or with one alone, whoever compares them says more.
    if len(common) < 2:
        return cells, 0
    return {key: scores for key, scores in cells.items() if key[1] in common}, len(
        times.keys() - common
    )


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
    path: Path, logs: Sequence[tuple[Path, LogFormat]], model: str | None
) -> Iterator[Scored]:
    """Yield the answers of a path, all as those of the model where one is named."""
    own: set[str] = set()
    for file, format in logs:
        for answer in format.read(file, str(file)):
            own.add(answer.model)
            if model is not None and len(own) > 1:
                raise ScoreError(
                    f"{path} holds answers of {' and '.join(sorted(own))}: {model} can name one."
                )
            yield answer if model is None else replace(answer, model=model)


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
    return f"{path} {'holds' if path.is_dir() else 'is'} no log that is known. Known: {known}."


def _check_same(answer: Scored, known: _Known) -> None:
    """Refuse other documents under one name, and runs that are no repetitions of each other."""
    model, prompt = answer.model, answer.prompt
    facts = (
        ((prompt,), answer.document, f"{prompt} is another document"),
        ((model, prompt), answer.request, f"{prompt} was put to {model} in other words"),
        ((model, prompt, "run"), answer.settings, f"{model} was run otherwise"),
    )
    for key, value, what in facts:
        if not value:
            continue
        before, where = known.setdefault(key, (value, answer.where))
        if before != value:
            runs = f": {before} there, {value} here" if key[-1] == "run" else ""
            raise ScoreError(
                f"{answer.where}: {what} than in {where}{runs}. Logs together must be of the same "
                "prompts, and those of one model of the same settings; name models apart as "
                "NAME=FOLDER."
            )
