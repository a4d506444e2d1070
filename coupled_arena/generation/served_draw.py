"""What a model server and its client tell each other: an answer's noise, and which weights it has.

Both ends import this module: the client (`remote`) and the logits processor in the server
(`vllm_plugin`). A server that lacks the processor, has another vocabulary or another version of the
noise answers the proof with other tokens.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import torch

from coupled_arena.core.records import Sampling
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.sampling import draw, draw_at, outcome_scores
from coupled_arena.generation.vocabulary import Vocabulary

FIRST_RUNNER, SECOND_RUNNER = (
    f"coupled_arena.generation.{module}" for module in ("vllm_plugin", "vllm_runner_v2")
)
ARGUMENT = "coupled_arena"  # the name among a request's extra arguments
NOISE_VERSION = 1
_MOST_STOPS = 1000
_DIGITS = 16  # of a fingerprint: of a vocabulary, or of weights
_DRAWN = 6  # tokens of a proof, with either setting
PROOF_TOKENS = _DIGITS + 1 + 2 * _DRAWN


@dataclass(frozen=True)
class ServedDraw:
    """One answer's noise and filters.

    Attributes
    ----------
    seed : int
        64 bits, unsigned.
    position : int
        Index in the reply of the first token asked for: above 0 where a lost stream goes on.
    stops : tuple of int
        Ids that end the answer.
    proof : bool
        The tokens asked for are those of `proof`, whatever the model says.
    weights : str
        Digest of the weights that are asked; others end the answer at once. Empty for any.
    """

    seed: int
    turn: int
    temperature: float
    top_k: int
    top_p: float
    stops: tuple[int, ...]
    position: int = 0
    proof: bool = False
    weights: str = ""

    @property
    def sampling(self) -> Sampling:
        """Its filters."""
        return Sampling(temperature=self.temperature, top_k=self.top_k, top_p=self.top_p)

    def to_argument(self) -> str:
        """Return it as JSON; the seed in hex, for not all readers have integers of 64 bits."""
        return json.dumps({**asdict(self), "seed": f"{self.seed:016x}", "noise": NOISE_VERSION})

    def request(self, written: int) -> dict[str, Any]:
        """Return what a server is asked for this answer, after so many of its tokens."""
        return {
            "temperature": 0,
            "extra_body": {
                "ignore_eos": True,
                "stop_token_ids": [min(self.stops)] if self.stops else [],
                "return_token_ids": True,
                "skip_special_tokens": False,
                "vllm_xargs": {ARGUMENT: replace(self, position=written).to_argument()},
            },
        }

    @classmethod
    def from_argument(cls, text: Any) -> ServedDraw:
        """Read `to_argument`.

        Raises
        ------
        ValueError
            It is of another version, or incomplete.
        """
        try:
            fields = json.loads(text)
            if (version := fields.pop("noise")) != NOISE_VERSION:
                raise ValueError(f"noise version {version} is asked for, {NOISE_VERSION} is here")
            fields["seed"] = int(fields["seed"], 16)
            fields["stops"] = tuple(fields["stops"])
            fields |= {name: float(fields[name]) for name in ("temperature", "top_p")}
            read = cls(**fields)
            read._check()
        except (
            *(TypeError, KeyError, AttributeError, ValueError),
            *(OverflowError, RecursionError),
        ) as error:
            raise ValueError(f"{ARGUMENT}: {error}") from error
        return read

    def _check(self) -> None:
        """Refuse what would break off the answers of everybody else in the batch."""
        counts = (self.turn, self.position, self.top_k, *self.stops)
        whole = all(type(count) is int and 0 <= count < 2**31 for count in counts)
        warm = self.temperature == 0 or 1e-6 <= self.temperature <= 1e6
        few = 0 < self.top_p <= 1 and len(self.stops) <= _MOST_STOPS
        flags = type(self.proof) is bool and type(self.weights) is str
        if not (whole and warm and few and 0 <= self.seed < 2**64 and flags):
            raise ValueError("a number in it is out of range")


PROOF = ServedDraw(
    seed=0x0123456789ABCDEF, turn=3, temperature=0.7, top_k=40, top_p=0.9, stops=(), proof=True
)


def drawn_ids(
    logits: torch.Tensor,
    noise: GumbelCache,
    asked: ServedDraw,
    sequences: list[tuple[int, int, int]],
) -> torch.Tensor:
    """Draw the next token of answers that share filters and stops.

    Parameters
    ----------
    logits : tensor, shape (n, v)
    asked : ServedDraw
        Of any of them.
    sequences : list of (seed, turn, position), length n

    Returns
    -------
    int64 tensor, shape (n,)
        Ids; the first of the stops stands for the end of the answer. Any id at all where no
        outcome is possible, for an error would end the answers of everybody in the batch.
    """
    width = logits.shape[1]
    known = [stop for stop in asked.stops if stop < width]
    stops = torch.tensor(known, dtype=torch.int64, device=logits.device)
    logits = torch.nan_to_num(logits.double(), nan=-torch.inf, neginf=-torch.inf)
    hopeless = (logits == -torch.inf).all(dim=1, keepdim=True)
    scores = outcome_scores(logits.masked_fill(hopeless, 0.0), stops, asked.sampling)
    drawn = draw_at(scores, noise, sequences) if asked.temperature else draw(scores, None)
    return drawn.masked_fill(drawn >= width, min(known, default=0)).clamp(min=0)


def proof(vocabulary: Vocabulary, noise: GumbelCache, asked: ServedDraw) -> list[int]:
    """Return the tokens that only a server with this noise and this vocabulary answers.

    16 digits of the vocabulary's fingerprint and the noise's version, as ids. Then tokens drawn
    from logits that depend on nothing but the id, all of them different. They are drawn with the
    filters that were asked for, and from the whole law, late in an answer that one of its likeliest
    ends.
    """
    digits = [int(digit, 16) for digit in vocabulary.fingerprint]
    ids = torch.arange(vocabulary.end, dtype=torch.float64, device=noise.device)
    logits = (ids * 2_654_435_761 % 2**32 / 2**28).expand(_DRAWN, -1)
    likeliest = logits[0].topk(3).indices.tolist()
    whole = replace(asked, temperature=1.0, top_k=0, top_p=1.0, stops=tuple(likeliest))
    drawn: list[int] = []
    for setting, begin in ((replace(asked, stops=()), 0), (whole, 1000)):
        places = [(asked.seed, asked.turn, begin + place) for place in range(_DRAWN)]
        drawn += drawn_ids(logits, noise, setting, places).tolist()
    return [*digits, NOISE_VERSION, *drawn]


def proof_of_server(
    vocabulary: Vocabulary, noise: GumbelCache, asked: ServedDraw, weights: ServedWeights
) -> list[int]:
    """Return the tokens that a server answers: those of `proof`, then which weights it holds."""
    return [*proof(vocabulary, noise, asked), *weights.to_ids()]


def ends_at_once(asked: ServedDraw, weights: ServedWeights) -> bool:
    """Tell whether a server must not answer, since it holds other weights than those asked."""
    return bool(asked.stops) and asked.weights not in ("", weights.digest)


def weights_in(answer: Sequence[int]) -> ServedWeights | None:
    """Return which weights a server says in its proof that it holds."""
    return ServedWeights.from_ids(answer[-WEIGHTS_TOKENS:])


def proof_request(asked: ServedDraw, tokens: int) -> dict[str, Any]:
    """Return what a server is asked for a proof of so many tokens and its weights.

    The answer is streamed: a slow server takes minutes for it, but seconds for a token.
    """
    return {
        "prompt": [0],
        "max_tokens": tokens + WEIGHTS_TOKENS,
        "temperature": 0,
        "stream": True,
        "extra_body": {
            "ignore_eos": True,
            "return_token_ids": True,
            "vllm_xargs": {ARGUMENT: asked.to_argument()},
        },
    }


def is_proof(answer: Sequence[int]) -> bool:
    """Tell whether an answer is a proof of this version, of whatever vocabulary and weights."""
    marks = answer[:_DIGITS]
    return len(answer) >= PROOF_TOKENS and max(marks) < 16 and answer[_DIGITS] == NOISE_VERSION


def option(plugin: str) -> str:
    """Return the option of vLLM's default runner, and of its first, that loads such a class."""
    return (
        f"--logits-processors {SECOND_RUNNER}:{plugin} "
        f"(with VLLM_USE_V2_MODEL_RUNNER=0: {FIRST_RUNNER}:{plugin})"
    )


def objection(answer: Sequence[int], expected: Sequence[int]) -> str | None:
    """Return why a server's answer proves nothing; None where it is the one expected."""
    marks, given = _DIGITS, list(answer[: len(expected)])
    if len(given) != len(expected) or not is_proof(given):
        return f"it does not draw with this noise. Start vLLM with {option('CoupledNoise')}"
    if given[:marks] != expected[:marks]:
        theirs, ours = ("".join(f"{d:x}" for d in of[:marks]) for of in (given, list(expected)))
        return (
            f"its vocabulary is another one ({theirs}, not {ours}): name the checkpoint that it "
            "serves"
        )
    if given != list(expected):
        return "it draws other tokens from known logits: install the same version"
    if weights_in(answer) is None:
        return "it does not tell which weights it holds: install this version of the plugin there"
    return None


# Which weights a server holds, the same for every layout over devices. The server's own tensors say
# nothing that lasts: they are split over devices and packed for kernels. So its checkpoint's files
# are hashed: of each tensor the name, type, shape and four pieces of 1 KiB, in the order of the
# names, and the configuration. Not seen is a change of single numbers between the pieces; seen is
# another quantization, fine-tune or precision.

_PIECES = 4
_PIECE = 1024  # bytes
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
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(met, indent=1), "utf-8")
    temporary.replace(path)
    return None
