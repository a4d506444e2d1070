"""The ``reproduce`` command: figures and tables of the papers, from anybody's data."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from coupled_arena.api.checks import listed
from coupled_arena.api.logs import named_path
from coupled_arena.cli.shared import (
    Config,
    Db,
    Json,
    check_level,
    reading,
    show,
)
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import Settings, load_settings

if TYPE_CHECKING:
    from coupled_arena.papers.item import Item, Paper
    from coupled_arena.papers.making import Place
    from coupled_arena.papers.source import PaperSource
    from coupled_arena.stats.progress import Track
    from coupled_arena.store.database import Store

Number = TypeVar("Number", int, float)


def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", help="Name of a paper, see --list.")
    ] = None,
    item: Annotated[
        str | None,
        typer.Argument(metavar="ITEM", help="A figure or table: figure-2.", show_default="all"),
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", help="Name all items, and what each needs; make nothing.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the files.")] = Path("reproduced"),
    figures: Annotated[str, typer.Option(help="Kinds of pictures: svg,png,pdf,html.")] = (
        "svg,png,pdf"
    ),
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="A table of scores, or a log of another tool; `NAME=LOG` names its "
            "model. May be given several times."
        ),
    ] = None,
    votes: Annotated[
        Path | None,
        typer.Option(
            help="Votes of people, in any format that `import` reads; or a folder of judged "
            "comparisons of both protocols."
        ),
    ] = None,
    verdicts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE", help="A judge's verdicts on them; may be given several times."
        ),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="Only these judges: A[,B...].", show_default="all")
    ] = None,
    key_from: Annotated[
        str | None,
        typer.Option(
            metavar="MODELS", help="Models that judge by their own answers to a benchmark."
        ),
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Only these models: A,B[,C...].", show_default="all")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Only these metrics: a,b.", show_default="all")
    ] = None,
    lower_is_better: Annotated[
        str | None, typer.Option(help="Metrics with lower values that are better: a,b.")
    ] = None,
    category: Annotated[
        str | None, typer.Option(help="Only prompts of this category.", show_default="all")
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=2, help="Answers to each prompt, in a table of scores.")
    ] = 10,
    sizes: Annotated[
        str | None, typer.Option(help="Sample sizes: N[,N...].", show_default="the paper's")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Number of draws.", show_default="as the paper")
    ] = None,
    alpha: Annotated[
        str | None, typer.Option(help="Error levels: A[,A...].", show_default="the paper's")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random draws.")] = 0,
    again: Annotated[
        bool, typer.Option("--again", help="Also make items that the folder already has.")
    ] = False,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Make figures and tables of the papers, beside the published numbers.

    The data come from a store, from files, or by simulation. For a whole paper, items without
    enough data are named and left out, and items from an earlier run are kept. All items:
    [the papers](papers/README.md).
    """
    from coupled_arena.papers import registry
    from coupled_arena.papers.item import listing, listing_answer
    from coupled_arena.papers.making import Place
    from coupled_arena.papers.source import PaperSettings, PaperSource, fingerprint

    if list_all:
        papers = (registry.paper_of(paper),) if paper else registry.PAPERS
        show(listing_answer(papers), as_json, lambda: listing(papers).text())
        return
    if paper is None:
        raise ArenaError("Name a paper, or ask for --list.")
    of = registry.paper_of(paper)
    one = registry.item_of(of, item) if item else None
    chosen = PaperSettings(
        models=listed(models) if models else None,
        judges=listed(judge or ""),
        key_from=listed(key_from or ""),
        metrics=listed(metrics or ""),
        lower_is_better=listed(lower_is_better or ""),
        category=category,
        seeds=seeds,
        sizes=_numbers(sizes, int),
        repeats=repeats,
        alpha=_numbers(alpha, float),
        seed=seed,
    )
    for level in chosen.alpha:
        check_level(level)
    data = _Data(load_settings(config, db=db), votes, _judged(votes, verdicts or [], db))
    names, paths = zip(*map(named_path, scores), strict=True) if scores else ((), ())
    place = Place(out, _formats(figures), fingerprint([*data.files, *paths], names), again)
    with ExitStack() as stack:
        open_store = cache(lambda: stack.enter_context(data.open()))
        source = PaperSource(chosen, open_store, paths, data.there, names=names)
        if one is None:
            _whole(of, source, place, as_json=as_json)
        else:
            _single(of, one, source, place, as_json=as_json)


@dataclass(frozen=True)
class _Data:
    """A database, or files of votes and verdicts in its place."""

    settings: Settings
    votes: Path | None
    verdicts: dict[str, Path]

    @property
    def files(self) -> list[Path]:
        return [self.votes, *self.verdicts.values()] if self.votes else [self.settings.db]

    @property
    def there(self) -> bool:
        return self.votes is not None or self.settings.db.exists()

    def open(self) -> AbstractContextManager[Store]:
        from coupled_arena.papers.coupled_generation.authors_files import comparisons_store
        from coupled_arena.papers.source import store_of_files

        if self.votes is None:
            return reading(self.settings)
        if self.votes.is_dir() and not self.verdicts:
            return comparisons_store(self.votes)
        return store_of_files(self.votes, self.verdicts)


def _whole(paper: Paper, source: PaperSource, place: Place, *, as_json: bool) -> None:
    from coupled_arena.papers.making import make_paper

    # With --json the answer alone goes to stdout.
    answer = make_paper(paper, source, place, lambda text: typer.echo(text, err=as_json), _bar)
    if as_json:
        show(answer, as_json, str)


def _single(paper: Paper, item: Item, source: PaperSource, place: Place, *, as_json: bool) -> None:
    from coupled_arena.papers.making import make_item

    written = make_item(paper, (item,), replace(source, track=_bar(item.name)), place)
    show(written.answer, as_json, lambda: written.text)


def _bar(name: str) -> Track:
    from coupled_arena.cli.bars import tracked

    return lambda repeats: tracked(repeats, name)


def _judged(votes: Path | None, verdicts: list[str], db: Path | None) -> dict[str, Path]:
    if votes and db:
        raise ArenaError("Votes are read from --votes or from --db: leave one of them out.")
    if verdicts and not votes:
        raise ArenaError("--verdicts are on the votes of --votes: name that file, too.")
    pairs = [text.partition("=") for text in verdicts]
    if any(not (name and path) for name, _, path in pairs):
        raise ArenaError("--verdicts needs the judge's name: give NAME=FILE.")
    return {name: Path(path) for name, _, path in pairs}


def _formats(text: str) -> tuple[str, ...]:
    from coupled_arena.views.figures.images import FORMATS, PAGE

    kinds = listed(text)
    if unknown := set(kinds) - {*FORMATS, PAGE}:
        raise ArenaError(
            f"--figures {sorted(unknown)[0]}: give some of {', '.join((*FORMATS, PAGE))}."
        )
    return kinds


def _numbers(text: str | None, kind: Callable[[str], Number]) -> tuple[Number, ...]:
    try:
        return tuple(kind(each) for each in listed(text or ""))
    except ValueError:
        raise ArenaError(f"{text!r} is not a list of numbers separated by commas.") from None
