"""Replies as the bytes that they are written in, for answers whose noise is read byte by byte."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from coupled_arena.core.records import Finish, Reply
from coupled_arena.generation.running import OPENING
from coupled_arena.generation.vocabulary import BYTE_KEYS, QUESTION_KEYS, Vocabulary


@dataclass(frozen=True)
class Step:
    """A byte of a reply, a token without any, or its end.

    Attributes
    ----------
    key : int
        Its noise key.
    byte : bytes
        Empty where it adds none to the text.
    token, within : int
        Index of its token in the reply, and of the byte in the token.
    """

    key: int
    byte: bytes
    token: int
    within: int

    def asked(self, *, ends: bool) -> Step:
        """Return what is to be laid open where another reply has no byte here, but ends, say.

        At a token's beginning that is whether there is text at all, rather than which.
        """
        if not ends or self.within:
            return self
        key = int(QUESTION_KEYS[1]) if self.byte else self.key
        return replace(self, key=key, within=OPENING)


def steps(reply: Reply, vocabulary: Vocabulary, *, begun: bool) -> list[Step]:
    """Return a reply step by step; without its end, where it was cut off."""
    return list(_steps(reply, vocabulary, begun=begun))


def _steps(reply: Reply, vocabulary: Vocabulary, *, begun: bool) -> Iterator[Step]:
    unread = vocabulary.strips_first_space and not begun
    for index, token in enumerate(reply.tokens):
        spelling = vocabulary.spellings[token]
        if not spelling:
            yield Step(int(vocabulary.keys[token]), b"", index, 0)
            continue
        for within, byte in enumerate(spelling):
            if not (unread and not within and byte == ord(" ")):  # which is no part of the text
                yield Step(int(BYTE_KEYS[byte]), bytes([byte]), index, within)
        unread = False
    if reply.finish is Finish.STOP:
        yield Step(int(vocabulary.keys[vocabulary.end]), b"", len(reply.tokens), 0)
