"""Commands made of the functions of the Python API: the same options, defaults and sentences.

A command adds where the data are (`--db`, `--config`, files in their place), and how the answer is
printed (`--json`). Everything else is the function's own. Its errors name options as commands do.
"""

from __future__ import annotations

import inspect
import re
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from coupled_arena.api.checks import listed
from coupled_arena.api.declared import REQUIRED, Option, options
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.cli.shared import Config, Db, Excluded, Json, Named, show
from coupled_arena.core.choices import Uncounted
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import load_settings

_LISTS = {str: "A,B[,C...]", int: "N[,N...]", float: "X[,X...]"}
_IN_BACKTICKS = re.compile(r"`([a-z][a-z_]*)`")


@dataclass(frozen=True)
class Files:
    """Files that a command takes in place of a store.

    Attributes
    ----------
    name : str
        Of the parameter: an option, or an argument.
    many : bool
        Whether it takes several, and hands on a list.
    """

    name: str
    help: str
    many: bool = False
    argument: bool = False

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter of the command."""
        kind = list[Path] if self.many else Path
        made = typer.Argument(metavar=self.name.upper(), help=self.help)
        made = made if self.argument else typer.Option(help=self.help)
        return parameter(self.name, Annotated[kind | None, made], None)


@dataclass(frozen=True)
class Output:
    """A further option of a command, and what it does.

    Attributes
    ----------
    name, help : str
        Of an option that takes a path.
    write : callable
        Is given the result and the path; returns what the answer gains.
    instead : bool
        Whether that is done in place of all else: `write` is given data and options.
    """

    name: str
    help: str
    write: Callable[..., dict[str, Any]]
    instead: bool = False

    @property
    def parameter(self) -> inspect.Parameter:
        """The parameter of the command."""
        return parameter(self.name, Annotated[Path | None, typer.Option(help=self.help)], None)


def parameter(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    """Return a parameter of a command, of a name, a type with what Typer is told, a default."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


_COUNTING = (
    parameter("excluded", Excluded, Uncounted.LEAVE_OUT),
    parameter("named", Named, Uncounted.LEAVE_OUT),
)
_PLACE = (parameter("config", Config, None), parameter("db", Db, None))


def command(
    function: Callable[..., Result[Any]],
    *,
    store: bool = True,
    counting: bool = True,
    files: Files | None = None,
    output: Output | None = None,
    data: str = "",
    code: Callable[[Any], int] | None = None,
) -> Callable[..., None]:
    """Return the command of a function of the Python API.

    Parameters
    ----------
    store : bool
        Whether its first parameter is a store.
    counting : bool
        Whether it can count votes that do not count by default.
    files : Files, optional
        What may stand in place of the store.
    output : Output, optional
        What it can write besides.
    data : str
        The parameter that takes the store; by default the first one.
    code : callable, optional
        Returns the exit code of what was found, where that is not always 0.
    """
    taken = options(function)
    arguments = _arguments(function, data) if store else {}
    tracked = "progress" in inspect.signature(function).parameters

    def run(**given: Any) -> None:
        bar = Bar()
        path = given.pop(output.name) if output else None
        with as_options(taken):
            opened = [_opened(given, files)] if store else []
            named = [given[name] for name in arguments]
            source = [*named, *opened] if data else [*opened, *named]
            asked = {each.name: read(each, given[each.name]) for each in taken}
            if output and output.instead and path:
                output.write(*source, asked, path)
                return
            result = function(*source, **asked, **({"progress": bar} if tracked else {}))
            more = output.write(result, path) if output and path else {}
        show({**result.answer, **more}, given["as_json"], result.text)
        bar.finish()
        if code and (status := code(result.analysis)):
            raise typer.Exit(status)

    parameters = [
        *(_argument(name, *each) for name, each in arguments.items()),
        *([files.parameter] if files and files.argument else []),
        *(flag(each, taken) for each in taken),
        *([files.parameter] if files and not files.argument else []),
        *([output.parameter] if output else []),
        *(_COUNTING if store and counting else []),
        *(_PLACE if store else []),
        parameter("as_json", Json, False),
    ]
    signed(run, function.__name__, parameters)
    run.__doc__ = _summary(function, taken)
    return run


def _arguments(function: Callable[..., Any], data: str) -> dict[str, tuple[str, bool]]:
    """Return what a function is given beside its data: its docstring's words, and if it is many."""
    given = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    text = inspect.getdoc(inspect.unwrap(function)) or ""
    entries = re.findall(r"^(\w+) : (.*)\n    (.*)$", text, re.MULTILINE)
    told = {name: (words, "sequence of" in kind) for name, kind, words in entries}
    return {name: told[name] for name in given if name != (data or given[0])}


def _opened(given: dict[str, Any], files: Files | None) -> Any:
    """Return the store, or the files in its place; take the options that say where it is."""
    where = {each.name: given.pop(each.name, each.default) for each in (*_PLACE, *_COUNTING)}
    chosen = given.pop(files.name) if files else None
    if not chosen:
        settings = load_settings(where.pop("config"), db=where.pop("db"))
        return ArenaStore(settings.db, **where)
    for each in (*_PLACE, *_COUNTING):
        if where[each.name] != each.default:
            there = " ".join(map(str, chosen if isinstance(chosen, list) else [chosen]))
            raise ArenaError(f"--{each.name} is for a store: leave it out with {there}.")
    return chosen


@contextmanager
def as_options(taken: Sequence[Option]) -> Iterator[None]:
    """Let errors and warnings of the Python API name its options as a command line does."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        except ArenaError as error:
            error.args = (with_flags(str(error), taken),)
            raise
        finally:
            for each in caught:
                typer.echo(f"Warning: {with_flags(str(each.message), taken)}", err=True)


def with_flags(text: str, taken: Sequence[Option]) -> str:
    """Return a text in which options are called as on a command line."""
    names = {option.name for option in taken}
    return _IN_BACKTICKS.sub(lambda at: _dashed(at[1]) if at[1] in names else at[0], text)


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def read(option: Option, value: Any) -> Any:
    """Return what a command was given as the function takes it."""
    texts = option.kind is str
    if option.pairs:
        return tuple(value or ()) or None
    if not option.many or value is None or (option.alone and texts):
        return value
    if texts:
        return tuple(dict.fromkeys(listed(value))) or None
    return numbers(value, option.kind, _dashed(option.name))


def _argument(name: str, text: str, many: bool) -> inspect.Parameter:
    kind, dots = (list[str], "...") if many else (str, "")
    made = typer.Argument(metavar=f"{name.upper()}{dots}", help=text)
    return parameter(name, Annotated[kind, made])


def flag(option: Option, taken: Sequence[Option]) -> inspect.Parameter:
    """Return the option of a command that stands for one of the function."""
    text, default, kind = with_flags(option.text, taken), option.default, option.kind
    if kind is bool:
        no = f"/{_dashed(option.opposite)}" if option.opposite else ""
        made = typer.Option(f"{_dashed(option.name)}{no}", help=text)
    elif option.pairs:
        made, kind = typer.Option(help=text, metavar=option.pairs), list[str]
    elif option.many:
        made, kind = typer.Option(help=text, metavar=_LISTS[kind]), str
        default = ",".join(map(str, default)) if default else None
    else:
        made = typer.Option(help=text, min=option.least, max=option.most)
        default = kind(default) if option.choices and isinstance(default, str) else default
    default = inspect.Parameter.empty if option.default is REQUIRED else default
    return parameter(
        option.name, Annotated[kind | None if default is None else kind, made], default
    )


_LAST = ("plan", "config", "preset", "db", "as_json")  # options of many commands come last


def with_options(
    function: Callable[..., Any], *, documented: bool = False, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator: a command has a function's options beside its own, in its ``**given``.

    Parameters
    ----------
    documented : bool
        Whether the command's help is the function's own docstring, too.
    defaults : object
        Of options that have another default as options of the command.
    """
    taken = tuple(
        replace(each, default=defaults.get(each.name, each.default)) for each in options(function)
    )

    def declare(body: Callable[..., None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            body(**given | {each.name: read(each, given[each.name]) for each in taken})

        declared = inspect.signature(body, eval_str=True).parameters.values()
        own = [
            each.replace(kind=each.KEYWORD_ONLY)
            for each in declared
            if each.kind is not each.VAR_KEYWORD
        ]
        flags = [flag(each, taken) for each in taken]
        signed(run, body.__name__, before_last(own, flags))
        run.__doc__ = _summary(function if documented else body, taken)
        run.__module__ = body.__module__
        return run

    return declare


def before_last(
    own: Sequence[inspect.Parameter], more: Sequence[inspect.Parameter]
) -> list[inspect.Parameter]:
    """Return parameters with more of them before those that come last in every command."""
    at = next(at for at, each in enumerate(own) if each.name in _LAST)
    return [*own[:at], *more, *own[at:]]


def signed(run: Any, name: str, parameters: Sequence[inspect.Parameter]) -> None:
    """Give a function a name and parameters, from which Typer makes a command."""
    run.__name__ = name
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)


def _summary(function: Callable[..., Any], taken: Sequence[Option]) -> str:
    """Return a docstring up to its parameters, in which options are called as flags."""
    text = inspect.getdoc(inspect.unwrap(function)) or ""
    return with_flags(text.partition("\nParameters\n---")[0].rstrip(), taken)


Number = TypeVar("Number", int, float)


class Bar:
    """A progress bar over repeats that the first Ctrl-C ends after the repeat at hand."""

    def __init__(self) -> None:
        self._stopped = False
        self._short: list[tuple[int, int]] = []  # repeats done and wanted, where these are fewer

    def __call__(self, repeats: range) -> Iterator[int]:
        """Pass the repeats on until all are done, or Ctrl-C is pressed."""
        from coupled_arena.cli.shared import tracked

        def stop(*_: object) -> None:
            # What is finished is worth reporting; who cannot wait for it presses again.
            self._stopped = True
            signal.signal(signal.SIGINT, signal.default_int_handler)

        before = signal.signal(signal.SIGINT, stop)
        try:
            for done, repeat in enumerate(tracked(repeats, "repeats"), 1):
                yield repeat
                if self._stopped:
                    self._short += [(done, len(repeats))] if done < len(repeats) else []
                    return
        finally:
            signal.signal(signal.SIGINT, before)

    def finish(self) -> None:
        """Say so where not all was done."""
        if self._short:
            done, wanted = min(self._short)
            raise ArenaError(f"Interrupted: the figures are of {done} of {wanted} repeats.")


def numbers(text: str, kind: Callable[[str], Number], called: str) -> tuple[Number, ...]:
    """Read numbers that are separated by commas, of what errors call so."""
    try:
        return tuple(kind(item) for item in listed(text))
    except ValueError:
        wanted = "a number, or several separated by commas"
        raise ArenaError(f"{called} is {wanted}, not {text!r}.") from None
