"""Values on a pipe between two processes that do not trust each other, one JSON line each.

Only plain values of Python travel, so reading one runs no code. The standard library alone is
imported here: see `lock`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, BinaryIO

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
