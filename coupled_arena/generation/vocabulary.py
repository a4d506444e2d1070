"""What a tokenizer's ids mean, as bytes and as noise keys.

Models share noise on every token whose bytes they share, whatever its id in each vocabulary. A
token's key is BLAKE2b with an 8-byte digest of a kind byte and the token's bytes, read as a
little-endian integer:

==== ==================== =====================================================
kind outcome              bytes
==== ==================== =====================================================
0    text token           its raw bytes
1    control token        its name
2    end of the answer    none: common to all models
3    repeated spelling    bytes, then its ordinal by id as uint32 little-endian
4    no outcome at all    none: the one number of inverse transform sampling
5    next byte            the byte: a question of bytes coupling
6    a token ends here    none: likewise
7    the text goes on     none: likewise, beside 1 and 2
==== ==================== =====================================================

No two outcomes of one vocabulary share a key.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from coupled_arena.core.errors import ModelError

TEXT, CONTROL, END, REPEATED, UNIFORM, BYTE, TOKEN_END, GO_ON = range(8)
OFFSETS = 1 << 32
"""Offsets of noise in bytes wrap: the one before the first is the last."""
_NAMED = 0.75  # share of a model's outputs that have a name; the rest pads to a round number
_BYTE_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def token_key(kind: int, spelling: bytes) -> int:
    """Return the unsigned 64-bit noise key of a token."""
    digest = hashlib.blake2b(bytes([kind]) + spelling, digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _signed_keys(*labels: tuple[int, bytes]) -> np.ndarray:
    return np.array([token_key(*label) for label in labels], dtype=np.uint64).view(np.int64)


BYTE_KEYS = _signed_keys(*((BYTE, bytes([byte])) for byte in range(256)))
"""Noise keys of the next byte, int64 of shape (256,)."""
QUESTION_KEYS = _signed_keys((TOKEN_END, b""), (GO_ON, b""))
"""Of "a token ends here" and "the text goes on"."""


@dataclass(frozen=True)
class Vocabulary:
    """The outcomes of one model's next-token draw.

    Attributes
    ----------
    spellings : tuple of (bytes or None)
        Raw bytes of each id as they appear in text; None for control tokens, which show nothing.
    stops : frozenset of int
        Ids that end the answer.
    keys : int64 array, shape (len(spellings) + 1,)
        Noise keys (signed view) of all ids and, last, of the end of the answer.
    fingerprint : str
        Equal for two vocabularies exactly when their keys are.
    strips_first_space : bool
        The tokenizer writes a space before the first word, which is no part of the text.
    """

    spellings: tuple[bytes | None, ...]
    stops: frozenset[int]
    keys: np.ndarray
    fingerprint: str
    strips_first_space: bool = False

    @cached_property
    def text_fingerprint(self) -> str:
        """Equal for two vocabularies exactly when they spell the same, whatever they control by."""
        spoken = np.fromiter(map(bool, self.spellings), bool, len(self.spellings))
        return hashlib.sha256(np.sort(self.keys[:-1][spoken]).tobytes()).hexdigest()[:16]

    @property
    def end(self) -> int:
        """Index of the outcome "the answer ends"."""
        return len(self.spellings)

    def first_offset(self, *, begun: bool = False) -> int:
        """Return the offset in bytes at which an answer's noise begins.

        A space that is no part of the text lies before it, for the text begins at 0 in all models.
        """
        return OFFSETS - 1 if self.strips_first_space and not begun else 0

    def next_offset(self, offset: int, token: int) -> int:
        """Return the offset after a token that begins at another; one without bytes counts one."""
        return (offset + len(self.spellings[token] or b"\0")) % OFFSETS

    def decoder(self, *, begun: bool = False) -> TextDecoder:
        """Return a decoder for one reply; one that was begun goes on in the midst of a text."""
        return TextDecoder(self, begun=begun)

    def text(self, tokens: Iterable[int], *, begun: bool = False) -> str:
        """Return the text of a whole reply; see `decoder`."""
        decoder = self.decoder(begun=begun)
        return "".join(map(decoder.feed, tokens)) + decoder.close()


class TextDecoder:
    """Turns tokens into text as they come, holding back the bytes of an unfinished character."""

    def __init__(self, vocabulary: Vocabulary, *, begun: bool = False) -> None:
        self._vocabulary = vocabulary
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._at_start = vocabulary.strips_first_space and not begun

    def feed(self, token: int) -> str:
        """Return the text that this token completes, possibly none."""
        spelling = self._vocabulary.spellings[token]
        if not spelling:
            return ""
        if self._at_start:
            spelling, self._at_start = spelling.removeprefix(b" "), False
        return self._utf8.decode(spelling)

    def close(self) -> str:
        """Return what an answer that ends inside a character leaves: a replacement mark."""
        return self._utf8.decode(b"", final=True)


def make_vocabulary(
    names: list[str | None],
    spellings: list[bytes | None],
    stops: Iterable[int],
    *,
    strips_first_space: bool = False,
) -> Vocabulary:
    """Compute the keys of a vocabulary.

    Parameters
    ----------
    names : list of (str or None)
        Each id's entry in the tokenizer; None for ids that only the model's output layer has.
    spellings : list of (bytes or None)
        Each id's raw bytes; None for control tokens.
    stops : iterable of int
        Ids that end the answer.
    """
    seen: Counter[tuple[int, bytes]] = Counter()
    keys: list[int] = []
    for number, (name, spelling) in enumerate(zip(names, spellings, strict=True)):
        kind = CONTROL if spelling is None else TEXT
        label = (name or f"<unnamed {number}>").encode() if spelling is None else spelling
        ordinal = seen[kind, label]
        seen[kind, label] += 1
        if ordinal:
            kind, label = REPEATED, label + ordinal.to_bytes(4, "little")
        keys.append(token_key(kind, label))
    keys.append(token_key(END, b""))
    if len(set(keys)) != len(keys):
        raise ModelError(
            "two tokens of its vocabulary have the same noise key; choose another model."
        )
    array = np.array(keys, dtype=np.uint64).view(np.int64)
    return Vocabulary(
        spellings=tuple(spellings),
        stops=frozenset(stops),
        keys=array,
        fingerprint=hashlib.sha256(array.tobytes()).hexdigest()[:16],
        strips_first_space=strips_first_space,
    )


def read_tokenizer(tokenizer: Any, outputs: int, stops: Iterable[int]) -> Vocabulary:
    """Read a Hugging Face fast tokenizer.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerFast
    outputs : int
        Width of the model's output layer, often padded beyond the tokenizer's last id.
    stops : iterable of int
        Ids that end the answer.

    Raises
    ------
    ModelError
        The tokenizer's way of spelling bytes is not known, or it is that of another model.
    """
    spell, strips = _speller(tokenizer)
    spell_added = spell if spell is _sentencepiece else str.encode  # Gemma has "▁▁" among these
    control = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    added = {number: token.content for number, token in tokenizer.added_tokens_decoder.items()}
    _check_size(tokenizer, outputs)
    names: list[str | None] = [None] * outputs
    spellings: list[bytes | None] = [None] * outputs
    for name, number in tokenizer.get_vocab().items():
        if number < outputs:
            names[number] = name
            if number in added:
                spellings[number] = None if number in control else spell_added(added[number])
            else:
                spellings[number] = spell(name)
    return make_vocabulary(names, spellings, stops, strips_first_space=strips)


def _check_size(tokenizer: Any, outputs: int) -> None:
    """Refuse words without weights, and a tokenizer that leaves more than padding unnamed."""
    known, added = tokenizer.get_vocab().values(), tokenizer.added_tokens_decoder
    named = sum(number < outputs for number in known)
    beyond = sum(number >= outputs and number not in added for number in known)
    if beyond or named < _NAMED * outputs:
        raise ModelError(
            f"its tokenizer has {len(known):,} tokens, and its weights are for {outputs:,}; copy "
            "the tokenizer of the model it was made from."
        )


def _speller(tokenizer: Any) -> tuple[Any, bool]:
    """Return a function from a token's name to its bytes, and whether a first space is stripped."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    decoder = json.loads(backend.to_str())["decoder"] if backend is not None else None
    steps = (decoder or {}).get("decoders", [decoder] if decoder else [])
    kinds = {step["type"] for step in steps}
    if "ByteLevel" in kinds:
        return _byte_level, False
    if kinds & {"ByteFallback", "Metaspace"}:  # Unigram models may have no bytes to fall back on
        return _sentencepiece, any(map(_strips_first_space, steps))
    raise ModelError(
        "its tokenizer is neither byte-level BPE nor of SentencePiece's kind; choose another model."
    )


def _strips_first_space(step: dict[str, Any]) -> bool:
    if step["type"] == "Metaspace":
        return step.get("prepend_scheme") != "never"
    return step["type"] == "Strip" and step["start"] > 0


def _byte_level(name: str) -> bytes:
    """Undo the alphabet in which byte-level BPE writes bytes as printable characters."""
    alphabet = _byte_alphabet()
    if all(character in alphabet for character in name):
        return bytes(alphabet[character] for character in name)
    return name.encode()


def _sentencepiece(name: str) -> bytes:
    match = _BYTE_FALLBACK.fullmatch(name)
    if match:
        return bytes([int(match[1], 16)])
    return name.replace("\N{LOWER ONE EIGHTH BLOCK}", " ").encode()


@cache
def _byte_alphabet() -> dict[str, int]:
    """Map GPT-2's characters to bytes: printable ones stand for themselves, others from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    shifted = {chr(0x100 + i): byte for i, byte in enumerate(others)}
    return {chr(byte): byte for byte in printable} | shifted
