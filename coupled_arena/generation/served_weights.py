"""Which weights a model server holds, told by its plugin: the same for every layout over devices.

The server's own tensors say nothing that lasts: they are split over devices and packed for kernels.
So its checkpoint's files are hashed: of each tensor the name, type, shape and four pieces of 1 KiB,
in the order of the names, and the configuration. A change of single numbers between the pieces is
not seen; another quantization, fine-tune or precision is. Both ends import this module: it needs
nothing but the standard library.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

_PIECES = 4
_PIECE = 1024  # bytes
_DIGITS = 16
_NAMED = 32  # bytes of type and quantization
_LONGEST_HEADER = 100_000_000  # bytes, as the format has it
WEIGHTS_TOKENS = _DIGITS + 2 * _NAMED


@dataclass(frozen=True)
class ServedWeights:
    """What tells the weights of one server from those of another.

    Attributes
    ----------
    digest : str
        16 hex digits over the checkpoint, the type and the quantization.
    dtype, quantization : str
        As the server computes with them.
    """

    digest: str
    dtype: str
    quantization: str

    def __str__(self) -> str:
        packed = "" if self.quantization == "none" else f", {self.quantization}"
        return f"{self.digest} ({self.dtype}{packed})"

    def to_ids(self) -> list[int]:
        """Return it as so many token ids below 16, which every vocabulary has."""
        named = f"{self.dtype}/{self.quantization}".encode("ascii", "replace")
        text = self.digest + named[:_NAMED].ljust(_NAMED).hex()
        return [int(digit, 16) for digit in text]

    @classmethod
    def from_ids(cls, ids: Sequence[int]) -> ServedWeights | None:
        """Read `to_ids`; None where it is something else, as of an older plugin."""
        if len(ids) != WEIGHTS_TOKENS or not all(0 <= number < 16 for number in ids):
            return None
        text = "".join(f"{number:x}" for number in ids)
        named = bytes.fromhex(text[_DIGITS:])
        if not (named.isascii() and named.decode().isprintable() and b"/" in named):
            return None
        dtype, _, quantization = named.decode().rstrip().partition("/")
        return cls(text[:_DIGITS], dtype, quantization)


def weights_of(folder: Path, dtype: str, quantization: str) -> ServedWeights:
    """Return the identity of a checkpoint as it is computed with.

    Raises
    ------
    OSError, ValueError
        Its files cannot be read.
    """
    files = sorted(folder.glob("*.safetensors"))
    read = sorted(line for file in files for line in _tensors(file))
    if not files:  # other formats: as many pieces of each file as a large one has tensors
        others = [f for kind in ("*.gguf", "*.bin", "*.pt") for f in sorted(folder.glob(kind))]
        read = [f"{file.name} {_sampled(file, 256)}" for file in others]
    if not read:
        raise ValueError(f"no weights in {folder}")
    config = folder / "config.json"
    configuration = json.loads(config.read_text("utf-8")) if config.is_file() else {}
    described = json.dumps([read, configuration, dtype, quantization], sort_keys=True)
    digest = hashlib.sha256(described.encode()).hexdigest()[:_DIGITS]
    return ServedWeights(digest, dtype, quantization or "none")


def _tensors(path: Path) -> Iterator[str]:
    """Yield a line for each tensor of a file of safetensors."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > _LONGEST_HEADER:
            raise ValueError(f"{path} is no file of safetensors")
        header: dict[str, Any] = json.loads(file.read(length))
        header.pop("__metadata__", None)
        for name, tensor in header.items():
            begin, end = tensor["data_offsets"]
            sample = _sample(file, 8 + length + begin, end - begin, _PIECES)
            yield f"{name} {tensor['dtype']} {tensor['shape']} {sample}"


def _sampled(path: Path, pieces: int) -> str:
    size = path.stat().st_size
    with path.open("rb") as file:
        return f"{size} {_sample(file, 0, size, pieces)}"


def _sample(file: BinaryIO, begin: int, size: int, pieces: int) -> str:
    """Return the hash of evenly spaced pieces, the first and the last bytes among them."""
    hashed = hashlib.sha256()
    whole = size <= pieces * _PIECE
    for piece in range(1 if whole else pieces):
        file.seek(begin + (size - _PIECE) * piece // (pieces - 1) if piece else begin)
        hashed.update(file.read(size if whole else _PIECE))
    return hashed.hexdigest()


# With which weights each model of a server was first met, kept in the cache of weights.
#
# Votes are cast on a name. A server that holds other weights under it would mix two models.

MET = "served_weights.json"


def remember(cache: Path, name: str, weights: ServedWeights) -> ServedWeights | None:
    """Keep the weights of a first meeting; return those of an earlier one where they differ."""
    path = cache / MET
    met: dict[str, dict[str, str]] = {}
    with suppress(OSError, ValueError):  # nobody was met, or a crash cut it short
        met = dict(json.loads(path.read_text("utf-8")))
    with suppress(TypeError, KeyError):
        before = ServedWeights(**met[name])
        return None if before == weights else before
    met[name] = asdict(weights)
    cache.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps(met, indent=1), "utf-8")
    beside.replace(path)
    return None
