"""What runs in the two locked processes of one test: the program, and the tests that call it.

The program never sees its tests, and they are not in its process: it is called over a pipe and
returns plain values. Only the tests' process holds the pipe on which success is told. So a program
passes by returning right values and in no other way.

Started by `sandbox` in interpreters of their own: the standard library alone is imported here.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from types import ModuleType
from typing import Any, BinaryIO

from coupled_arena.tasks.sandbox_lock import limit, lock

# Values on a pipe between two processes that do not trust each other, one JSON line each.
#
# Only plain values of Python travel, so reading one runs no code. The standard library alone is
# imported here: see `lock`.

LONGEST = 4 << 20  # bytes of one line


class TooLongError(ValueError):
    """A line that is longer than any honest answer."""


def send(stream: BinaryIO, message: dict[str, Any]) -> None:
    """Write one message."""
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


def receive(stream: BinaryIO) -> dict[str, Any]:
    """Read one message.

    Raises
    ------
    EOFError
        Nobody will write any more.
    ValueError
        What came is no message.
    """
    line = stream.readline(LONGEST + 1)
    if not line.endswith(b"\n"):
        if len(line) > LONGEST:
            raise TooLongError(f"an answer longer than {LONGEST >> 20} MiB")
        raise EOFError
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("an answer that is no message")
    return message


def pack(value: Any) -> Any:
    """Return a value in JSON, with its type where JSON has none.

    Raises
    ------
    TypeError
        It is not a plain value, such as a function or an object of a class of its own.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    for kind, name in _SEQUENCES.items():
        if isinstance(value, kind):
            return [name, [pack(part) for part in value]]
    if isinstance(value, dict):
        return ["dict", [[pack(key), pack(part)] for key, part in value.items()]]
    if isinstance(value, complex):
        return ["complex", [value.real, value.imag]]
    if isinstance(value, bytes | bytearray):
        return ["bytes", list(value)]
    if isinstance(value, range):
        return ["range", [value.start, value.stop, value.step]]
    if isinstance(value, Iterator):
        return ["iter", [pack(part) for part in value]]
    if hasattr(value, "as_integer_ratio"):
        return ["ratio", list(value.as_integer_ratio())]
    raise TypeError(f"a value of type {type(value).__name__} cannot be compared")


def unpack(packed: Any) -> Any:
    """Return what was packed.

    Raises
    ------
    ValueError, TypeError
        Nothing was ever packed like this.
    """
    if not isinstance(packed, list):
        if isinstance(packed, dict):
            raise ValueError("an answer that is no value")
        return packed
    name, parts = packed
    if name == "dict":
        return {unpack(key): unpack(part) for key, part in parts}
    if name in _FROM_NUMBERS:
        return _FROM_NUMBERS[name](*parts)
    return _FROM_PARTS[name](unpack(part) for part in parts)


_SEQUENCES = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}
_FROM_PARTS = {name: kind for kind, name in _SEQUENCES.items()} | {"bytes": bytes, "iter": iter}
_FROM_NUMBERS = {"complex": complex, "range": range, "ratio": Fraction}


_ANSWER = 300  # characters of a reason
# Modules that do something when they are imported, or need a screen.
_ACTIVE = {"antigravity", "this", "idlelib", "turtledemo", "turtle", "tkinter", "test", "lib2to3"}
# What they import only when it is needed: too late here.
_LATER = {
    "datetime": ["_strptime"],
    "time": ["_strptime"],
    "socket": ["encodings.idna"],
    "codecs": ["encodings.rot_13", "encodings.hex_codec", "encodings.base64_codec"],
}
_DOTTED = re.compile(r"[A-Za-z]\w*(?:\.[A-Za-z]\w*)*")


class CandidateError(Exception):
    """What the tested program raised, or that it does not answer."""


def main() -> None:
    """Read what is to be done from standard input, lock this process and do it."""
    order = json.load(sys.stdin)
    limit(order["seconds"], order["memory"])
    _load_modules(" ".join(order["sources"]))
    role = {"program": _program, "tests": _tests}[order["role"]]
    streams = [os.fdopen(number, mode) for number, mode in order["pipes"]]
    streams.append(os.fdopen(os.dup(1), "wb"))
    _silence()
    if order["locked"]:
        try:
            lock(order["parent"])
        except OSError as error:
            send(streams[-1], {"refused": str(error)})
            return
    role(order, *streams)


def _load_modules(text: str) -> None:
    """Import the modules that a text mentions, since nothing can be opened later."""
    for name in sorted(set(_DOTTED.findall(text))):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names or top in _ACTIVE:
            continue
        try:
            module = importlib.import_module(top)
            if hasattr(module, "__path__"):
                importlib.import_module(name)
            for later in _LATER.get(top, ()):
                importlib.import_module(later)
        except ImportError:  # of another system, or an attribute and no module
            continue


def _silence() -> None:
    """Leave nothing to read, and a file in memory, which may not grow, to write to."""
    nothing = os.open(os.devnull, os.O_RDWR)
    printed = os.memfd_create("printed") if sys.platform == "linux" else os.dup(nothing)
    for number, instead in enumerate((nothing, printed, printed)):
        os.dup2(instead, number)
    os.close(nothing)
    os.close(printed)


def _program(order: dict[str, Any], calls: BinaryIO, answers: BinaryIO, unheard: BinaryIO) -> None:
    """Run the program, then answer calls of its function until nobody calls any more."""
    unheard.close()
    module = ModuleType("candidate")
    sys.modules["candidate"] = module
    failure: BaseException | None = None
    try:
        exec(_compiled(order["sources"]), module.__dict__)
    except BaseException as error:  # noqa: BLE001 - a program may raise anything; it is told
        failure = error
    while True:
        try:
            call = receive(calls)
        except EOFError:
            return
        send(answers, _answered(module, order["entry_point"], call, failure))


def _compiled(sources: list[str]) -> Any:
    """Return the first of several readings of one answer that is a program at all."""
    problem: Exception | None = None
    for source in sources:
        try:
            return compile(source, "candidate", "exec")
        except (SyntaxError, ValueError) as error:
            problem = problem or error
    raise problem or ValueError("no program")


def _answered(
    module: ModuleType, name: str, call: dict[str, Any], failure: BaseException | None
) -> dict[str, Any]:
    if failure is not None:
        return {"raised": _described(failure)}
    try:
        function = getattr(module, name)
        return {"value": pack(function(*unpack(call["positional"]), **unpack(call["named"])))}
    except BaseException as error:  # noqa: BLE001 - as above
        return {"raised": _described(error)}


def _tests(order: dict[str, Any], calls: BinaryIO, answers: BinaryIO, verdict: BinaryIO) -> None:
    """Run the tests on the program at the other end, and tell whether all of them passed."""
    called = _caller(calls, answers)
    names: dict[str, Any] = {}
    stub, tests = order["sources"]
    try:
        exec(stub, names)
        names[order["entry_point"]] = called  # some tests use the name
        exec(tests, names)
        names[order["entry_point"]] = called
        names["check"](called)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the tests did not pass
        send(verdict, {"passed": False, "reason": _described(error)})
        return
    send(verdict, {"passed": True, "reason": ""})


def _caller(calls: BinaryIO, answers: BinaryIO) -> Callable[..., Any]:
    def call(*positional: Any, **named: Any) -> Any:
        try:
            send(calls, {"positional": pack(positional), "named": pack(named)})
            answer = receive(answers)
        except (EOFError, BrokenPipeError):
            raise CandidateError("the program ended before it answered") from None
        if "value" not in answer:
            raise CandidateError(str(answer.get("raised", "an answer that is no value")))
        return unpack(answer["value"])

    return call


def _described(error: BaseException) -> str:
    words = str(error)[:_ANSWER].strip()
    name = "" if isinstance(error, CandidateError) else type(error).__name__
    return ": ".join(part for part in (name, words) if part)
