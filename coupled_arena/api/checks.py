"""What the functions of the Python API are given, checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.choices import Battles, Flips, JudgeScore
from coupled_arena.core.errors import ArenaError

if TYPE_CHECKING:
    import pandas as pd

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
            f"{what} is a pandas DataFrame, as pd.read_csv returns it, not {type(frame).__name__}."
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
    from coupled_arena.store.queries import comparisons

    with store.cursor() as cursor:
        names = comparisons.judges(cursor)
    if len(names) == 1:
        return names[0]
    if names:
        raise ArenaError(f"Choose a judge with `judge`: {', '.join(names)}.")
    raise ArenaError("There are no verdicts here: let a judge judge, or import verdicts.")


def voter_of(store: ArenaStore, opened: Store, voter: str) -> str:
    """Return the voter whom a name or a voter stands for; whoever has no vote here is refused."""
    from coupled_arena.store.annotators import annotators_path, voter_called
    from coupled_arena.store.queries.voters import check_voter

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
