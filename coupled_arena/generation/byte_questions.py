"""The questions of bytes coupling one by one, as they lead to an outcome: for laying draws open."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from coupled_arena.generation.byte_coupling import ByteWalk, whole_weights
from coupled_arena.generation.draws import Candidate, Draw, outcome_kind
from coupled_arena.generation.noise import gumbel_at, signed
from coupled_arena.generation.vocabulary import (
    BYTE_KEYS,
    OFFSETS,
    QUESTION_KEYS,
    Vocabulary,
)


@dataclass(frozen=True)
class Question:
    """A question that a walk asks on its way to an outcome.

    Attributes
    ----------
    kind : str
        "opening" (the end of the answer, a token without bytes, or text), "byte", "token end"
        (it ends here, or goes on), "spelling" (which of several that spell alike).
    keys : int64 array, shape (k,)
        Noise keys of the answers; of "token end" that of the question, twice.
    masses : int64 array, shape (k,)
        Whole weights.
    noise : float64 array, shape (k,)
        The answer is the largest log mass plus noise.
    wanted : int
        Which answer leads to the outcome.
    """

    kind: Literal["opening", "byte", "token end", "spelling"]
    keys: np.ndarray
    masses: np.ndarray
    noise: np.ndarray
    wanted: int

    @property
    def scores(self) -> np.ndarray:
        """Log mass plus noise, float64 of shape (k,)."""
        with np.errstate(divide="ignore"):  # what is impossible is -inf
            return np.log(self.masses) + self.noise


def questions(
    walk: ByteWalk, scores: torch.Tensor, place: tuple[int, int, int], outcome: int
) -> Iterator[Question]:
    """Yield what is asked on the way to an outcome, whether or not it is the one drawn.

    Parameters
    ----------
    scores : float64 tensor, shape (v + 1,)
    place : (seed, turn, offset)
    outcome : int
    """
    trie, keys = walk.trie, walk.vocabulary.keys
    weights = whole_weights(scores[None])[0].cpu().numpy()
    sums = np.append(0, weights[trie.order].cumsum())
    silent = np.append(trie.silent, walk.vocabulary.end)
    opened = np.append(keys[silent], QUESTION_KEYS[1])
    spoken = walk.vocabulary.spellings[outcome] if outcome < walk.vocabulary.end else b""
    wanted = len(silent) if spoken else int(np.flatnonzero(silent == outcome)[0])
    masses = np.append(weights[silent], sums[-1])
    yield Question("opening", opened, masses, _noise(place, opened), wanted)
    node = 0
    for byte in spoken or b"":
        below = np.arange(trie.first[node], trie.first[node] + trie.children[node])
        wanted = int(np.flatnonzero(trie.byte[below] == byte)[0])
        masses = sums[trie.high[below]] - sums[trie.low[below]]
        asked = BYTE_KEYS[trie.byte[below]]
        yield Question("byte", asked, masses, _noise(place, asked), wanted)
        node = below[wanted]
        place = (*place[:2], (place[2] + 1) % OFFSETS)
        low, ends = trie.low[node], trie.ends[node]
        ending, whole = sums[low + ends] - sums[low], sums[trie.high[node]] - sums[low]
        going = 0 if outcome in trie.order[low : low + ends] else 1
        yield _token_end(place, np.array([ending, whole - ending]), going)
    if spoken:
        alike = trie.order[trie.low[node] : trie.low[node] + trie.ends[node]]
        wanted = int(np.flatnonzero(alike == outcome)[0])
        yield Question("spelling", keys[alike], weights[alike], _noise(place, keys[alike]), wanted)


def byte_gap(
    walk: ByteWalk, scores: torch.Tensor, place: tuple[int, int, int], outcome: int
) -> float:
    """Return by how much another answer beats an outcome's, where it first does; 0 if it is drawn.

    Infinite where the outcome is impossible; parameters as of `questions`.
    """
    if scores[outcome] == -torch.inf:
        return math.inf
    for asked in questions(walk, scores, place, outcome):
        if gap := float(asked.scores.max() - asked.scores[asked.wanted]):
            return gap
    return 0.0


def lay_open(
    walk: ByteWalk, scores: torch.Tensor, place: tuple[int, int, int], within: int, most: int
) -> Draw:
    """Lay one question of a draw open.

    Parameters
    ----------
    within : int
        How many bytes of the token are known; which one follows is the question, or for `OPENING`
        whether text follows at all, as it is where the token that is drawn has none.
    most : int
        How many of the likeliest answers to tell, at most.
    """
    outcome = int(walk.draw(scores[None], [place])[0])
    asked = list(questions(walk, scores, place, outcome))
    following = [question for question in asked if question.kind == "byte"]
    question = following[min(within, len(following) - 1)] if following and within >= 0 else asked[0]
    shares = question.masses / question.masses.sum()
    possible = int((question.masses > 0).sum())
    likeliest = np.argsort(-shares, kind="stable")[: min(most, possible)].tolist()
    winner = int(question.scores.argmax())
    answers = likeliest if winner in likeliest else [*likeliest, winner]
    candidates = tuple(
        Candidate(
            key=int(question.keys[answer]),
            text=_text(int(question.keys[answer])),
            kind=_kind(walk.vocabulary, int(question.keys[answer])),
            probability=float(shares[answer]),
            noise=float(question.noise[answer]),
        )
        for answer in answers
    )
    return Draw(candidates, answers.index(winner), possible)


def _noise(place: tuple[int, int, int], keys: np.ndarray) -> np.ndarray:
    seeds, turns, offsets = (torch.full((len(keys),), signed(x)) for x in place)
    return gumbel_at(seeds, turns, offsets, torch.from_numpy(keys)).numpy()


def _token_end(place: tuple[int, int, int], masses: np.ndarray, wanted: int) -> Question:
    """Return the question as one of two Gumbel numbers: their difference is a logit."""
    keys = QUESTION_KEYS[[0, 0]]
    uniform = np.exp(-np.exp(-_noise(place, keys[:1])))
    noise = np.append(np.log1p(-uniform) - np.log(uniform), 0.0)
    return Question("token end", keys, masses, noise, wanted)


def _text(key: int) -> str:
    byte = np.flatnonzero(key == BYTE_KEYS)
    return bytes(byte.tolist()).decode("utf-8", errors="backslashreplace")


def _kind(vocabulary: Vocabulary, key: int) -> str:
    if key == QUESTION_KEYS[1]:
        return "more"
    if key in BYTE_KEYS:
        return "text"
    return outcome_kind(vocabulary, int(np.flatnonzero(vocabulary.keys == key)[0]))
