"""Figures and tables of the papers, from anybody's data: all that imports the papers' room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_doc import Doc
from annotated_types import Ge

from coupled_arena.api import options
from coupled_arena.api.checks import named_path
from coupled_arena.api.declared import Level, Tracked, analysis
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.process import Track

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from coupled_arena.store.database import Store


_PICTURES = ("svg", "png", "pdf")


def unreported(_text: str) -> None:
    """Tell nobody what became of an item."""


def untracked(_name: str) -> Track:
    """Show nowhere how far an item is."""
    return iter


@analysis
def reproduce(
    paper: str,
    item: str | None = None,
    store: ArenaStore | None = None,
    votes: Path | None = None,
    verdicts: Mapping[str, Path] | None = None,
    scores: Sequence[Path] = (),
    out: Path | str = Path("reproduced"),
    *,
    figures: Annotated[Sequence[str], Doc("Kinds of pictures: svg, png, pdf, html.")] = _PICTURES,
    judge: Annotated[Sequence[str] | None, Doc("Only these judges.")] = None,
    key_from: Annotated[
        Sequence[str] | None, Doc("Models that judge by their own answers to a benchmark.")
    ] = None,
    models: options.Models = None,
    metrics: Annotated[Sequence[str] | None, Doc("Only these metrics.")] = None,
    lower_is_better: Annotated[
        Sequence[str] | None, Doc("Metrics with lower values that are better.")
    ] = None,
    category: options.Category = None,
    seeds: Annotated[int, Ge(2), Doc("Answers to each prompt, in a table of scores.")] = 10,
    sizes: Annotated[Sequence[int] | None, Doc("Sample sizes; by default the paper's.")] = None,
    repeats: Annotated[int | None, Ge(1), Doc("Number of draws; by default as the paper.")] = None,
    alpha: Annotated[
        Sequence[float] | None, Level(), Doc("Error levels; by default the paper's.")
    ] = None,
    seed: options.Seed = 0,
    again: Annotated[bool, Doc("Also make items that the folder already has.")] = False,
    say: Annotated[Callable[[str], None], Tracked()] = unreported,
    progress: Annotated[Callable[[str], Track], Tracked()] = untracked,
) -> Result[dict[str, Any]]:
    """Make figures and tables of the papers, beside the published numbers.

    The data come from a store, from files, or by simulation. Of a whole paper, items without
    enough data are named and left out. Items from an earlier run are kept. All items:
    [the papers](papers/README.md).

    Parameters
    ----------
    paper : str
        One of `coupled-arena reproduce --list`.
    item : str, optional
        A figure or table: "figure-2"; by default all.
    store : ArenaStore, optional
    votes : Path, optional
        In place of a store: votes of people, in any format that `import` reads; or a folder of
        judged comparisons of both protocols.
    verdicts : mapping of str to Path, optional
        On these votes, by the names of judges.
    scores : sequence of Path, optional
        A table of scores, or logs of other tools; ``NAME=LOG`` names a log's model.
    out : Path
        Folder for the files.
    say : callable
        Is told of each item as soon as it is made, kept or left out.
    progress : callable
        Is given an item's name, and returns what is given the numbers of its draws and passes
        them on.

    Returns
    -------
    Result
        Table: "items", those that were asked for. Its `analysis` is what the JSON files hold.

    Raises
    ------
    ArenaError
        There is no such item, it is not made here, or these data are not enough.
    """
    from coupled_arena.papers import making
    from coupled_arena.papers.item import listing
    from coupled_arena.papers.making import OutputFolder, make_item, make_paper
    from coupled_arena.papers.source import PaperSettings, PaperSource, fingerprint

    of = making.paper_of(paper)
    one = making.item_of(of, item) if item else None
    chosen = PaperSettings(
        models=tuple(models) if models else None,
        judges=tuple(judge or ()),
        key_from=tuple(key_from or ()),
        metrics=tuple(metrics or ()),
        lower_is_better=tuple(lower_is_better or ()),
        category=category,
        seeds=seeds,
        sizes=tuple(sizes or ()),
        repeats=repeats,
        alpha=tuple(alpha or ()),
        seed=seed,
    )
    data = _data(store, votes, verdicts or {})
    names, paths = zip(*map(named_path, scores), strict=True) if scores else ((), ())
    mark = fingerprint([*data, *paths], names)
    place = OutputFolder(Path(out), _formats(figures), mark, again)
    texts: list[str] = []
    with ExitStack() as stack:
        open_store = cache(lambda: stack.enter_context(_opened(store, votes, verdicts or {})))
        there = votes is not None or (store is not None and store.path.exists())
        source = PaperSource(chosen, open_store, paths, there, names=names)
        if one is None:
            answer = make_paper(of, source, place, _both(texts.append, say), progress)
        else:
            written = make_item(of, (one,), replace(source, track=progress(one.name)), place)
            answer = written.answer
            texts.append(written.text)
    made = replace(of, items=(one,)) if one else of
    return Result(
        f"Of the paper {paper}",
        answer,
        {"item": item},
        {"items": listing((made,))},
        answer,
        lambda: "\n".join(texts),
    )


def listed_items(paper: str | None) -> tuple[dict[str, Any], str]:
    """Return all items, or those of a paper, as JSON values and as people read them."""
    from coupled_arena.papers import making
    from coupled_arena.papers.item import listing, listing_answer

    papers = (making.paper_of(paper),) if paper else making.PAPERS
    return listing_answer(papers), listing(papers).text()


def _both(*hear: Callable[[str], None]) -> Callable[[str], None]:
    def both(text: str) -> None:
        for each in hear:
            each(text)

    return both


def _data(store: ArenaStore | None, votes: Path | None, verdicts: Mapping[str, Path]) -> list[Path]:
    """Return the files that an item is made from."""
    if verdicts and votes is None:
        raise ArenaError("`verdicts` are on the votes of `votes`: name that file, too.")
    if votes is not None:
        return [votes, *verdicts.values()]
    return [store.path] if store else []


def _opened(
    store: ArenaStore | None, votes: Path | None, verdicts: Mapping[str, Path]
) -> AbstractContextManager[Store]:
    from coupled_arena.papers.coupled_generation.published import comparisons_store
    from coupled_arena.papers.source import store_of_files

    if votes is None:
        if store is None:
            raise ArenaError("Give a store, or files of votes or scores.")
        return store.reading()
    if votes.is_dir() and not verdicts:
        return comparisons_store(votes)
    return store_of_files(votes, verdicts)


def _formats(kinds: Sequence[str]) -> tuple[str, ...]:
    from coupled_arena.views.figures.images import FORMATS, PAGE

    if unknown := set(kinds) - {*FORMATS, PAGE}:
        raise ArenaError(
            f"`figures` {sorted(unknown)[0]}: give some of {', '.join((*FORMATS, PAGE))}."
        )
    return tuple(kinds)
