"""Odd arguments, files and settings for the command line, one after the other in this process.

    python -m benchmarks.odd_inputs [--inputs 10000] [--kinds arguments,files,…] [--minutes 60]

So many of each kind. Arguments are drawn for each command from what it takes; files are whole ones
of each form that is read, changed here and there; settings and plans likewise; bombs are small
files of odd columns that unpack to up to terabytes. Prints how many ended with which exit code,
the slowest, and the memory. Exits with 1 where one ended otherwise than with 0, 1, 2 or 3, told an
error in other than one line, took more than a minute of a processor or 6 GB, or left a database in
which `doctor` finds something. A seed draws them, so that any can be given again.
"""

from __future__ import annotations

import argparse
import faulthandler
import gzip
import io
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, get_args
from unittest.mock import patch

import duckdb
from typer.main import get_command

from benchmarks.odd_requests import ODD_VALUES, resident, value
from coupled_arena.cli import main as command_line
from coupled_arena.cli.main import app
from coupled_arena.core.settings import Settings
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.export import export
from tests.cli.test_damaged_files import READERS, TABLES
from tests.small_models import NAMES, SMALL_MODELS, save_small_models
from tests.store import whole
from tests.store.given_rows import ARENA, KAGGLE, WRITERS, arena_hard, pair, ranking

PATIENCE = 60  # seconds of a processor, which other programs cannot take from a command
_WAITS = 600  # seconds after which one that takes no processor hangs
MEMORY = 6 << 30  # bytes
DB, SETTINGS, PLAN = "arena.duckdb", "arena.toml", "plan.toml"
_TOGETHER = 200  # inputs in one folder, before it is laid out anew
_NUMBERS = (
    *("0", "1", "-1", "2", "3", "0.05", "0.5", "1.5", "-0.0", "1e-320", "1e308", "nan", "inf"),
    *("9" * 30, "-" + "9" * 30, "1_0", "0x1", "\u0663", " 1 ", "0,1", "1,1,x", "0.5,1"),
)
# An argument holds no NUL, and what is no UTF-8 comes as halves of pairs.
_TEXTS = (
    *(x.replace("\0", "").replace("\ud800", "\udcff") for x in ODD_VALUES if isinstance(x, str)),
    *("alpha", "beta", "alpha,beta", ",".join(NAMES[:2]), "one", "two", "one,two", "ann", "nice"),
    *("0" * 31 + "b", "@duels.csv", "@", "?tab=battles&model=alpha", "2026-03-01T12:10", ",", "-"),
)
_LONG = ("simulate", "resample", "reproduce", "report", "generate", "benchmark")
_NEVER = ("password", "models fetch", "models check")  # they ask whoever sits there, or fetch
# Of two the last one counts: nobody is asked who is not there, and nothing is written for hours.
_LAST = {
    "simulate": ("--repeats", "3"),
    "judge": ("--base-url", "http://127.0.0.1:9/v1", "--patience", "0", "--timeout", "1"),
    **dict.fromkeys(("generate", "benchmark"), ("--max-new-tokens", "3", "--seeds", "1")),
}
_PUBLISHED = {
    "ranking": [ranking(1), ranking(2, winner="tie")],
    "arena": [ARENA, {**ARENA, "question_id": "other"}],
    "kaggle": [KAGGLE],
    "pairs": [pair("model_1", "tie"), pair("error", "tie", turn=2)],
    "hard": [arena_hard("A>>B", "B=A")],
    "alpaca": [{"instruction": "Hi", "generator_1": "x", "generator_2": "y", "preference": 1.5}],
}
_PLAN = (
    'prompts = "prompts.jsonl"\nmodels = ["small-red", "small-green"]\nmode = "both"\nseed = 7\n'
    "temperature = [0.1, 0.5]\ntop_k = 0\ntop-p = 0.9\nat_once = 2\njson = true\n"
)
_TOKEN = re.compile(rb'"[^"\n]*"|[^\s,:=\[\]{}"]+')
_PIECES = (b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b"\n", b"\r", b",", b"{", b"]", b"=@x")
_NESTED = (b"[" * 5000, b'{"a":' * 5000, b"9" * 5000, b"x" * 70_000)


class Hanging(BaseException):
    """Nothing came in time; no error that a command could take for one of its own."""


@dataclass
class Met:
    """What was met."""

    codes: Counter[str] = field(default_factory=Counter)
    slowest: list[tuple[float, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)  # bytes, each time the folder is laid out


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="number of the first of them")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--minutes", type=float, default=math.inf, help="for each kind at most")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    failed = False
    for kind in options.kinds.split(","):
        began, used = time.monotonic(), time.process_time()
        met = give_all(kind, options.inputs, options.seed, options.first, options.minutes)
        took, used = time.monotonic() - began, time.process_time() - used
        print(f"{met.codes.total():,} {kind} in {took:.0f} s, {used:.0f} s of a processor")
        for code, number in sorted(met.codes.items()):
            print(f"{code:>12} {number:>8,}")
        for seconds, what in met.slowest:
            print(f"{seconds:.2f} s: {what[:300]}")
        for why, what in met.failed[:50]:
            print(f"{why}: {what[:500]}")
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        some = [each >> 20 for each in met.resident[:: max(1, len(met.resident) // 10)]]
        print(f"{most:,} MB at most; from the first to the last: {some}", flush=True)
        failed |= bool(met.failed)
    return failed


def give_all(kind: str, inputs: int, seed: int, first: int = 0, minutes: float = math.inf) -> Met:
    """Give so many odd inputs of a kind, in a folder that is now and then laid out anew."""
    met, end, told = Met(), time.monotonic() + 60 * minutes, 0
    with laid_out() as fresh, bounded():
        for number in range(first, first + inputs):
            if time.monotonic() > end:
                break
            draw = random.Random(f"{seed} {kind} {number}")
            given = KINDS[kind](draw)
            code, err, seconds = give(given)
            what = f"{number}: {' '.join(map(repr, given))}"
            met.codes[code] += 1
            met.slowest = sorted([*met.slowest, (seconds, what)])[-3:]
            why = fault(code, err)
            met.failed += [(why, what)] if why else []
            if why or number % _TOGETHER == 0 or number == first + inputs - 1:
                met.failed += [(f"doctor: {check}", what) for check in unsound()]
                for each in met.failed[told:]:  # a run takes hours: told at once, and at its end
                    print(f"{each[0]}: {each[1][:500]}", file=sys.__stderr__, flush=True)
                told = len(met.failed)
                met.resident.append(resident(os.getpid()))
                fresh()
    return met


@contextmanager
def bounded() -> Iterator[None]:
    """Let no command take more than so much memory beside what is taken already."""
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used * resource.getpagesize() + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def give(given: Sequence[str]) -> tuple[str, str, float]:
    """Run a command; return how it ended, what it said on stderr, and its processor's time."""
    err = io.StringIO()
    faulthandler.dump_traceback_later(2 * _WAITS, exit=True, file=sys.__stderr__)
    signal.alarm(_WAITS)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    began = time.process_time()
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(err):
            command_line([*given])
        code = "returned"
    except SystemExit as stopped:
        code = str(stopped.code or 0)
    except (Exception, Hanging) as error:  # noqa: BLE001 whatever a command raises is what is looked for
        code = f"{type(error).__name__}: {str(error)[:100]}"
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    return code, err.getvalue(), time.process_time() - began


def fault(code: str, err: str) -> str:
    """Return what is wrong with an end; nothing where it is as it should be."""
    if code not in ("0", "1", "2", "3"):
        return code
    told = err[err.find("Error: ") :].removesuffix("\n")
    if "Traceback" in err or (code == "1" and "Error: " in err and re.search("[\r\n]", told)):
        return f"not one line: {told[-300:]!r}"
    return ""


def unsound() -> list[str]:
    """Return the checks that find something in the database."""
    with Store.open(Path(DB)) as store, store.cursor() as cursor:
        return [each.check for each in examine(cursor) if each.wrong and each.check != "names"]


@contextmanager
def laid_out() -> Iterator[Callable[[], None]]:
    """Go to a folder with a file of each form; yield what lays it out anew."""
    there = Path.cwd()
    with tempfile.TemporaryDirectory() as name, patch("coupled_arena.ui.server.launch"):
        pristine, work = Path(name) / "pristine", Path(name) / "far" / "down" / "work"
        lay_out(pristine)

        def fresh() -> None:
            os.chdir(name)
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(pristine, work)
            os.chdir(work)

        fresh()
        told = {"COUPLED_ARENA_CONFIG": SETTINGS, "HF_HUB_OFFLINE": "1"}
        before = {each: signal.signal(each, _give_up) for each in (signal.SIGALRM, signal.SIGPROF)}
        try:
            with patch.dict(os.environ, told), patch("sys.stdin", io.StringIO()):
                yield fresh
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
            os.chdir(there)


def _give_up(_: int, __: FrameType | None) -> None:
    raise Hanging


def lay_out(folder: Path) -> None:
    """Write a database with something of everything, and files of each form that is read."""
    folder.mkdir()
    save_small_models(folder, NAMES[:2])
    with Store.open(folder / DB) as store:
        whole.fill(store)
        for form in ("parquet", "jsonl", "csv", "arena", "flat-csv"):
            export(store, folder / form, form)
    texts = {**TABLES, "prompts.jsonl": '{"text": "Hi?", "id": "1"}\n{"prompt": "Oh?"}\n'}
    for name, text in (texts | {SETTINGS: whole_settings() + SMALL_MODELS, PLAN: _PLAN}).items():
        (folder / name).write_text(text)
    for name, rows in _PUBLISHED.items():
        for number, write in enumerate(WRITERS):
            write(folder / f"{name}{number}.rows", rows)


def whole_settings() -> str:
    """Return a file with all settings that have a default."""
    said = Settings().model_dump(mode="json", exclude_none=True, exclude={"models", "base"})
    tables = {name: values for name, values in said.items() if isinstance(values, dict)}
    lines = [f"{name} = {json.dumps(said[name])}" for name in said if name not in tables]
    for name, values in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(each)}" for key, each in values.items())]
    return "\n".join(lines) + "\n"


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every command that can be run, by its words."""
    for name, below in command.commands.items():
        if hasattr(below, "commands"):
            yield from commands(below, (*words, name))
        elif (named := " ".join((*words, name))) not in _NEVER:
            yield named, below


COMMANDS = dict(commands(get_command(app)))


def arguments(draw: random.Random) -> list[str]:
    """Draw arguments of a command, most of them such as it takes."""
    name = draw.choice(_LONG if draw.random() < 0.05 else sorted(COMMANDS.keys() - {*_LONG}))
    given: list[str] = []
    for param in COMMANDS[name].params:
        if draw.random() < (0.95 if param.required else 0.25):
            option = [draw.choice(param.opts)] if param.param_type_name == "option" else []
            given += option if getattr(param, "is_flag", False) else [*option, word(draw, param)]
    if draw.random() < 0.1:
        given.insert(draw.randrange(len(given) + 1), draw.choice(_TEXTS))
    return [*name.split(), *given, *_LAST.get(name, ())]


def word(draw: random.Random, param: Any) -> str:
    """Draw what an option or an argument is given."""
    taken = param.type_descriptor.annotation
    kind, files = str(taken), sorted(map(str, Path().glob("*")))
    choices: tuple[str, ...] = tuple(x for x in get_args(taken) if isinstance(x, str))
    fitting = choices or (files if "Path" in kind else ())
    fitting = fitting or (_TEXTS if "str" in kind else _NUMBERS)
    return draw.choice(fitting if draw.random() < 0.9 else (*_NUMBERS, *_TEXTS, *files))


def files(draw: random.Random) -> list[str]:
    """Change a file here and there, and draw a command that reads such."""
    name, command = draw.choice(sorted(READERS.values())) if draw.random() < 0.3 else ("", ())
    of_export, published = sorted(Path().glob("*/*.*[vtl]")), sorted(Path().glob("*.rows"))
    name = name or str(draw.choice([*of_export, *published]))
    changed = _change(draw, name)
    if command:
        return [changed if each == name else each for each in command]
    more = ("--judge", "j"), ("--single-turn",), ("--no-toxic",), ("--dataset", "x"), (), ()
    command = draw.choice(("import", "import", "import", "import", "import-scores"))
    return [command, changed, *(draw.choice(more) if command == "import" else ()), "--json"]


def settings(draw: random.Random) -> list[str]:
    """Change the settings or a plan here and there, and draw a command that reads them."""
    if draw.random() < 0.03:
        return ["generate", "--plan", _change(draw, PLAN), *_LAST["generate"]]
    command = draw.choice(("models", "models", "serve", "voters", "names", "doctor"))
    return [command, "--config" if command != "doctor" else "--db", _change(draw, SETTINGS)]


_COLUMNS = (
    *("model", "prompt", "metric", "score", "nice", "Noise", "battle", "text", "id", "a", "b"),
    *("question_id", "model_a", "model_b", "winner", "judge", "truth", "doc_id", "x" * 3000, "\0"),
    *("conversation_a", "conversation_b", "tstamp", "turn", "language", "", "=1", "vote"),
)
_VALUES = (
    *("i", "i % 3", "'m' || i % 3", "'model_a'", "'Coupled'", "null", "random()", "'nan'::double"),
    *("'9999-12-31'::timestamp", "'infinity'::date", "1::hugeint << 100", "i::decimal(30, 9)"),
    *("uuid()", "interval 1 year", "true", "i::double", "current_date"),
)
_OF_TABLES = ("import", "import", "import-scores", "risk", "coupling", "audit")
_OF_PROMPTS = ("prompts.jsonl", ("generate", "--prompts", "prompts.jsonl", *_LAST["generate"]))
_SIZES = (1, 1, 300, 30_000, 3_000_000)


def bombs(draw: random.Random) -> list[str]:
    """Write a small file that holds much, or odd values, and draw a command that reads such."""
    Path("odd").mkdir(exist_ok=True)
    path = Path("odd") / draw.choice(("x.parquet", "x.csv.gz", "x.jsonl.gz", "x.json", "x.csv"))
    if path.suffix == ".parquet":
        _write_parquet(draw, path)
    else:
        _write_text(draw, path)
    if draw.random() < 0.2:
        path.write_bytes(changed(draw, path.read_bytes()))
    name, command = draw.choice((*(READERS[each] for each in _OF_TABLES), _OF_PROMPTS))
    return [str(path) if each == name else each for each in command]


def _write_parquet(draw: random.Random, path: Path) -> None:
    columns = {draw.choice(_COLUMNS): _typed(draw) for _ in range(draw.choice((1, 3, 4, 9)))}
    each = ", ".join(f"{v} as {json.dumps(n or 'n')}" for n, v in columns.items() if n != "\0")
    # What is in lists is written as often as it stands there.
    rows = draw.choice((0, 1, 9, 3000, 3000 if "[" in each or "map" in each else 300_000))
    query = f"select {each or '1 as a'} from range({rows}) r(i)"
    codec = draw.choice(("zstd", "snappy", "gzip", "uncompressed"))
    with duckdb.connect() as connection:
        connection.execute("set memory_limit = '2GB'")
        try:
            connection.execute(f"copy ({query}) to '{path}' (format parquet, compression {codec})")
        except duckdb.Error:  # what cannot be written need not be read
            path.write_bytes(b"PAR1")


def _typed(draw: random.Random, depth: int = 0) -> str:
    """Draw SQL for a value: a long text, an odd number, or such in lists and objects."""
    kind = draw.random()
    if kind < 0.3:
        return f"repeat('x', {draw.choice(_SIZES[:4] if depth else _SIZES)})"
    if kind < 0.7 or depth > 3:
        return draw.choice(_VALUES)
    inner = _typed(draw, depth + 1)
    forms = "[{}]", "[{}, null]", "{{'a': {}}}", "map {{'k': {}}}", "range(400)"
    return draw.choice(forms).format(inner)


def _write_text(draw: random.Random, path: Path) -> None:
    head = draw.choice((b"", b"", b"model,prompt,nice\n", b"model_a,model_b,winner\n", b"[", b"{"))
    pieces = (
        b"a,b,c\n",
        b'{"a": 1}\n',
        b"[",
        b'{"a":',
        b"[],",
        b"{},",
        b"0",
        b"\n",
        b",",
        b'"',
        b" ",
    )
    piece, times = draw.choice(pieces) * draw.choice(_SIZES[:4]), draw.choice((1, 9, 300, 9000))
    opened = gzip.GzipFile(path, "wb", 1) if path.suffix == ".gz" else path.open("wb")
    with opened as file:
        file.write(head)
        for _ in range(min(times, (100 << 20) // len(piece))):
            file.write(piece)


def _change(draw: random.Random, name: str) -> str:
    """Write a file with changes under another name; return that."""
    content = Path(name).read_bytes()
    for _ in range(draw.randrange(4)):
        content = changed(draw, content)
    path = Path("odd") / Path(name).name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return str(path)


def changed(draw: random.Random, content: bytes) -> bytes:
    """Change one thing: a word or a value in most cases, else bytes."""
    tokens = list(_TOKEN.finditer(content))
    if tokens and draw.random() < 0.6:
        begin, end = draw.choice(tokens).span()
        kinds = (draw.choice(_NUMBERS), draw.choice(_TEXTS), json.dumps(value(draw)))
        new = draw.choice(kinds).encode(errors="surrogateescape")
        return content[:begin] + (b'"%b"' % new if draw.random() < 0.3 else new) + content[end:]
    begin = draw.randrange(len(content) + 1)
    end = min(len(content), begin + draw.choice((0, 1, 1, 20, 400)))
    new = (b"", b"", draw.randbytes(1), content[begin:end] * 2, draw.choice(_PIECES))
    piece = draw.choice(_NESTED) if draw.random() < 0.03 else draw.choice(new)
    return content[:begin] + piece + (content[end:] if draw.random() < 0.9 else b"")


KINDS: dict[str, Callable[[random.Random], list[str]]] = {
    "arguments": arguments,
    "files": files,
    "settings": settings,
    "bombs": bombs,
}


if __name__ == "__main__":
    sys.exit(main())
