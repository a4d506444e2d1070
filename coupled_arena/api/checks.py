"""Arguments of the Python API, checked before anything is read: stores, tables, names, files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.choices import Battles, Flips, JudgeScore
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.files import ending

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.risk.scores import RiskScores
    from coupled_arena.store.database import Store
    from coupled_arena.store.queries.comparisons import Selection


def check_store(store: object) -> ArenaStore:
    """Refuse what has not been opened."""
    if not isinstance(store, ArenaStore):
        raise ArenaError(f"{store!r} is no store: open one with coupled_arena.open(path).")
    return store


def check_frame(frame: Any, what: str) -> pd.DataFrame:
    """Refuse what is no DataFrame."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise ArenaError(
            f"{what} is a pandas DataFrame, as pd.read_csv returns it, or paths of files, not "
            f"{type(frame).__name__}."
        )
    return frame


def is_frame(given: Any) -> TypeGuard[pd.DataFrame]:
    """Return whether something is a DataFrame, where a store may be given, too."""
    import pandas as pd

    return isinstance(given, pd.DataFrame)


SELECTING = ("mode", "models", "category", "language", "judge_score", "flips")
"""Options that say which comparisons count, beside the judge."""


def selection_of(
    opened: Store,
    mode: Battles | str = Battles.ALL,
    judge: str | Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    category: str | None = None,
    language: str | None = None,
    judge_score: JudgeScore | str = JudgeScore.VERDICT,
    flips: Flips | str = Flips.TIE,
) -> Selection:
    """Return which comparisons of a store count.

    Parameters
    ----------
    judge : str or sequence of str, optional
        Names, or a text of several with commas between them.
    """
    from coupled_arena.store.queries.comparisons import Selection

    first, *more = _judges(opened, judge) or (None,)
    return Selection(
        judge=first,
        more_judges=tuple(more),
        mode=Battles(mode).mode,
        models=tuple(models) if models is not None else None,
        category=category,
        language=language,
        judge_score=JudgeScore(judge_score),
        flips=Flips(flips),
    )


def check_there(opened: Store, category: str | None, language: str | None) -> None:
    """Refuse a category or a language that no comparison has."""
    from coupled_arena.store.queries import comparisons

    asked = (
        ("category", category, comparisons.categories),
        ("language", language, comparisons.languages),
    )
    for name, value, there in asked:
        if value is not None:
            with opened.cursor() as cursor:
                known = there(cursor)
            if value not in known:
                there_are = ", ".join(known) or "none"
                raise ArenaError(f"No comparison has the {name} {value!r}. There are: {there_are}.")


def _judges(opened: Store, judge: str | Sequence[str] | None) -> tuple[str, ...]:
    from coupled_arena.store.queries import comparisons

    if isinstance(judge, str) and "," in judge:
        with opened.cursor() as cursor:
            known = comparisons.judges(cursor)
        # Whoever looks for the verdicts of a single name says that nobody has it.
        judge = judge if judge in known else listed(judge)
    return tuple(dict.fromkeys([judge] if isinstance(judge, str) else judge or ()))


def listed(text: str) -> tuple[str, ...]:
    """Return the items of a list separated by commas; of an empty text none."""
    items = tuple(item.strip() for item in text.split(",") if item.strip())
    if text and not items:
        raise ArenaError(f"{text!r} names nothing: give names separated by commas.")
    return items


def selected(selection: Selection) -> dict[str, Any]:
    """Return a selection as the settings of a result."""
    return {
        "judge": selection.judge,
        "mode": selection.mode.value if selection.mode else "all",
        "models": selection.models,
        "category": selection.category,
        "language": selection.language,
        "voter": selection.voter,
    }


def only_judge(store: Store) -> str:
    """Return the judge of a store that has one; where there are several, one must be named."""
    if (name := judge_if_any(store)) is None:
        raise ArenaError("There are no verdicts here: let a judge judge, or import verdicts.")
    return name


def judge_if_any(store: Store) -> str | None:
    """Return the judge of a store, None where there is none; of several one must be named."""
    from coupled_arena.store.queries import comparisons

    with store.cursor() as cursor:
        names = comparisons.judges(cursor)
    if len(names) > 1:
        raise ArenaError(f"Choose a judge with `judge`: {', '.join(names)}.")
    return names[0] if names else None


def voter_of(store: ArenaStore, opened: Store, voter: str) -> str:
    """Return the voter whom a name or a voter stands for; whoever has no vote here is refused."""
    from coupled_arena.store.annotators import annotators_path, voter_called
    from coupled_arena.store.queries.votes_by_voter import check_voter

    called = voter_called(annotators_path(store.path), voter)
    check_voter(opened, called, voter)
    return called


def check_texts(texts: Sequence[object], what: str) -> tuple[str, ...]:
    """Refuse what are no texts."""
    checked: list[str] = []
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise ArenaError(f"{what} are texts, and {text!r} is none.")
        checked.append(text)
    return tuple(checked)


Files = str | Path | Sequence[str | Path] | Mapping[str, str | Path]
"""A file or folder, several, or several by the name of their model.

A path ``NAME=LOG``, which no file is called, is a log whose model has this name.
"""


def are_files(given: Any) -> TypeGuard[Files]:
    """Return whether something is files, where a store or a table may be given, too.

    Raises
    ------
    ArenaError
        It is a list or a dict of something else.
    """
    if isinstance(given, str | Path):
        return not _is_database(Path(given))  # whoever means a store opens it
    if not isinstance(given, list | tuple | dict):
        return False
    for each in given.values() if isinstance(given, dict) else given:
        if not isinstance(each, str | Path):
            raise ArenaError(
                f"This {type(given).__name__} holds no paths of files, but {type(each).__name__}: "
                "make one table with pandas.DataFrame(...), or of several with pandas.concat(...)."
            )
    return True


def _is_database(path: Path) -> bool:
    try:
        with ending(path).open("rb") as file:
            return file.read(12).endswith(b"DUCK")
    except OSError:
        return False


def paths_of(files: Files) -> Path | list[Path]:
    """Return one path, or several."""
    if isinstance(files, str | Path):
        return Path(files)
    paths = [Path(each) for each in (files.values() if isinstance(files, Mapping) else files)]
    return paths[0] if len(paths) == 1 else paths


def scores_in(files: Files, metrics: Sequence[str] | None, among: Sequence[str] = ()) -> RiskScores:
    """Return the scores of tables, or of logs.

    Parameters
    ----------
    metrics : sequence of str, optional
        By default all of a table, and the first of logs.
    among : sequence of str
        Models to read of logs; all by default.
    """
    from coupled_arena.analysis.logs.score_logs import read_logs
    from coupled_arena.analysis.risk.scores import read_risk_scores

    if not hold_logs(files):
        return read_risk_scores(paths_of(files), metrics)
    if isinstance(files, Mapping):
        return read_logs([Path(each) for each in files.values()], metrics, list(files), among)
    several = [files] if isinstance(files, str | Path) else files
    named = [named_path(Path(each)) for each in several]
    return read_logs([path for _, path in named], metrics, [name for name, _ in named], among)


def hold_logs(files: Files) -> bool:
    """Return whether files are logs of other tools, or folders, which may hold some.

    So is what somebody has given names to, for a table names its models itself.
    """
    from coupled_arena.analysis.logs.score_logs import format_of

    if isinstance(files, Mapping):
        return True
    several = [files] if isinstance(files, str | Path) else files
    named = [named_path(Path(each)) for each in several]
    return any(name or path.is_dir() or format_of(path) for name, path in named)


def named_path(given: Path) -> tuple[str | None, Path]:
    """Return the name and the path of ``NAME=PATH``, unless a path is called so."""
    name, sign, path = str(given).partition("=")
    return (name, Path(path)) if name and sign and not given.exists() else (None, given)


def mix_of(mix: Sequence[str] | Mapping[str, Any] | None) -> tuple[tuple[str, float], ...]:
    """Return the categories of a mix with their weights; those of 0 are left out.

    Raises
    ------
    ArenaError
        A weight is no number of 0 or more, or a text is no pair.
    """
    if isinstance(mix, Mapping):
        mix = [f"{name}={weight}" for name, weight in mix.items()]
    parts = [part for each in mix or () for part in _parts(each)]
    found: dict[str, float] = {}
    for part in parts:
        name, _, text = part.rpartition("=")
        try:
            weight = float(text)
        except ValueError:
            weight = math.nan
        if not (name.strip() and 0 <= weight < math.inf):
            raise ArenaError(f"`mix` has CATEGORY=WEIGHT, as in math=2, not {part!r}.")
        found[name.strip()] = weight
    return tuple((name, weight) for name, weight in found.items() if weight)


def _parts(text: str) -> list[str]:
    """Return the pairs of a text; a comma within a name divides nothing."""
    parts = text.split(",")
    return parts if all("=" in part for part in parts) else [text]
