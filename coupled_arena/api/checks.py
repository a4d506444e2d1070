"""What the functions of the Python API are given, checked before anything is read."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from enum import StrEnum
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.errors import ArenaError

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.store.database import Store
    from coupled_arena.store.queries.comparisons import Selection

E = TypeVar("E", bound=StrEnum)

_DOUBTFUL = 0.5  # nobody wants intervals that are wrong more often than right


def check_level(alpha: float) -> None:
    """Refuse what is no error level, and doubt what looks like a confidence."""
    if not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise ArenaError(f"alpha is an error level between 0 and 1, such as 0.05, not {alpha!r}.")
    if alpha >= _DOUBTFUL:
        warnings.warn(
            f"alpha is the error level: {alpha:g} makes {1 - alpha:.0%} intervals. For intervals "
            f"of {alpha:.0%} give {1 - alpha:.2g}.",
            stacklevel=3,
        )


def one_of(kind: type[E], name: str, value: str) -> E:
    """Return a member of an enumeration by its value; `name` is the parameter's."""
    try:
        return kind(value)
    except ValueError:
        raise ArenaError(f"{name} is one of {', '.join(kind)}, not {value!r}.") from None


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
            f"{what} is a pandas DataFrame, as pd.read_csv returns it, not {type(frame).__name__}."
        )
    return frame


def is_frame(given: Any) -> TypeGuard[pd.DataFrame]:
    """Return whether something is a DataFrame, where a store may be given, too."""
    import pandas as pd

    return isinstance(given, pd.DataFrame)


def check_names(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """Refuse one text where there are to be several."""
    if isinstance(names, str):
        raise ArenaError(f"Give several names, not one text: [{names!r}, ...].")
    return None if names is None else tuple(names)


def selection_of(
    mode: str = "all",
    judge: str | Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    category: str | None = None,
    language: str | None = None,
    judge_score: str = "verdict",
    flips: str = "tie",
) -> Selection:
    """Return which comparisons count."""
    from coupled_arena.core.records import Mode
    from coupled_arena.core.verdicts import Flips, JudgeScore
    from coupled_arena.store.queries.comparisons import Selection

    known = ("all", Mode.COUPLED, Mode.INDEPENDENT)
    if mode not in known:
        raise ArenaError(f"mode is one of {', '.join(known)}, not {mode!r}.")
    # Named twice, a judge is one judge.
    judges = dict.fromkeys([judge] if isinstance(judge, str) else judge or ())
    first, *more = judges or (None,)
    return Selection(
        judge=first,
        more_judges=tuple(more),
        mode=None if mode == "all" else Mode(mode),
        models=check_names(models),
        category=category,
        language=language,
        judge_score=one_of(JudgeScore, "judge_score", judge_score),
        flips=one_of(Flips, "flips", flips),
    )


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


def only_judge(store: Store, option: str = "judge=...") -> str:
    """Return the judge of a store that has one; where there are several, `option` names one."""
    from coupled_arena.store.queries import comparisons

    with store.cursor() as cursor:
        names = comparisons.judges(cursor)
    if len(names) == 1:
        return names[0]
    if names:
        raise ArenaError(f"Choose a judge with {option}: {', '.join(names)}.")
    raise ArenaError("There are no verdicts here: let a judge judge, or import verdicts.")


def check_texts(texts: Sequence[object], what: str) -> tuple[str, ...]:
    """Refuse what are no texts."""
    checked: list[str] = []
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise ArenaError(f"{what} are texts, and {text!r} is none.")
        checked.append(text)
    return tuple(checked)
