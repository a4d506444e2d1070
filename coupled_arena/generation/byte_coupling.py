"""Bytes coupling: drawing a token byte by byte, so that any two vocabularies read one noise.

A model's next token is a string of bytes. A walk from the root of the trie of all spellings draws
it, one question after the other. Each is answered with the probability that it has given the
answers before it. So the token has the model's probability. Each question reads noise of its own:

================== ============================ ============================= ================
question           asked                        answered by                   noise at offset
================== ============================ ============================= ================
stop, or text?     where a token begins         Gumbel-max: the end, each     o, its beginning
                                                control token, text
which next byte?   where the token goes on      Gumbel-max over bytes         of that byte
does it end here?  where both are possible      a uniform number              of the next byte
which of these?    where spellings are repeated Gumbel-max, by tokens' keys   of the next byte
================== ============================ ============================= ================

The offset counts the bytes of the answer; a token that adds none moves it by one. The token that
goes on at an offset reads the noise of its next byte, or else the token that begins there does.
Both never do, and no other number is read twice either. So whole answers have the model's own law,
up to uniform numbers of 32 bits. `docs/byte-coupling.md` has the proof. Asking "does it end, or
which byte?" as one Gumbel-max would read the bytes' noise twice, and break it.

Weights are whole numbers of 2**-60. Sums of them are exact in any order. So a node weighs the same
here and on a GPU, and nothing exactly when nothing below it is possible.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, starmap
from operator import eq
from typing import Any, Literal

import numpy as np
import torch

from coupled_arena.core.extras import compiled
from coupled_arena.generation.devices import to_device
from coupled_arena.generation.draws import Candidate, Draw, outcome_kind
from coupled_arena.generation.noise import (
    POSITIONS_PER_BLOCK,
    gumbel,
    gumbel_at,
    noise_words,
    signed,
    words_at,
)
from coupled_arena.generation.sampling import NO_NUMBER
from coupled_arena.generation.vocabulary import BYTE_KEYS, OFFSETS, QUESTION_KEYS, Vocabulary

# The spellings of a vocabulary as a trie of bytes: which tokens begin alike.
#
# Text tokens are laid out by their bytes, so that all that begin alike lie side by side, and those
# that end where others go on come first. A node of the trie is then a stretch of that order, and
# what all its tokens weigh together is the difference of two prefix sums.

Whole = np.ndarray


@dataclass(frozen=True)
class ByteTrie:
    """A trie whose nodes are numbered by depth, then by their bytes; the first is the root.

    Attributes
    ----------
    order : int64 array, shape (m,)
        Ids of the text tokens by their bytes, those of one spelling by id.
    silent : int64 array
        Ids that add no bytes to a text: control tokens, and such as are spelled by none.
    low, high : int64 arrays, one entry a node
        A node's tokens are ``order[low:high]``.
    ends : int64 array likewise
        How many of them end there: ``order[low : low + ends]``, more than one where spellings are
        repeated.
    first, children : int64 arrays likewise
        A node's children are numbered ``first`` to ``first + children - 1``.
    byte : int64 array likewise
        The byte that leads to a node; 0 at the root.
    most_alike : int
        How many tokens have one spelling, at most.
    """

    order: Whole
    silent: Whole
    low: Whole
    high: Whole
    ends: Whole
    first: Whole
    children: Whole
    byte: Whole

    @property
    def most_alike(self) -> int:
        """How many tokens have one spelling, at most; 1 where there are none."""
        return int(self.ends.max(initial=1))


def make_trie(spellings: Sequence[bytes | None]) -> ByteTrie:
    """Return the trie of a vocabulary.

    Parameters
    ----------
    spellings : sequence of (bytes or None)
        Raw bytes of each id; None for control tokens.
    """
    spoken = sorted((s, number) for number, s in enumerate(spellings) if s)
    texts = [text for text, _ in spoken]
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    shared = np.array([0, *starmap(_common, pairwise(texts))], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    written = np.frombuffer(b"".join(texts), dtype=np.uint8)

    levels = [(np.zeros(1, np.int64), np.full(1, len(texts), np.int64), np.zeros(1, np.int64))]
    parents: list[Whole] = []
    for depth in range(1, int(lengths.max(initial=0)) + 1):
        # Where a token does not go on from the one before it, another prefix of this depth begins.
        edges = np.append(np.flatnonzero(shared[: len(texts)] < depth), len(texts))
        low = edges[:-1][lengths[edges[:-1]] >= depth]
        high = edges[np.searchsorted(edges, low, side="right")]
        parents.append(np.searchsorted(levels[-1][0], low, side="right") - 1)
        levels.append((low, high, written[starts[low] + depth - 1].astype(np.int64)))
    low, high, byte = (np.concatenate(column) for column in zip(*levels, strict=True))
    sizes = [len(level[0]) for level in levels]
    depths = np.repeat(np.arange(len(levels)), sizes)
    # Counted among all tokens: how many have ended before a node's last, of its own length.
    counts = [np.bincount(of, minlength=size) for of, size in zip(parents, sizes, strict=False)]
    children = np.concatenate([*counts, np.zeros(sizes[-1], np.int64)])
    return ByteTrie(
        order=np.array([number for _, number in spoken], dtype=np.int64),
        silent=np.array([n for n, s in enumerate(spellings) if not s], dtype=np.int64),
        low=low,
        high=high,
        ends=_ends(low, high, depths, lengths),
        first=1 + np.cumsum(children) - children,
        children=children,
        byte=byte,
    )


def token_ends(ending: Any, below: Any, word: Any) -> Any:
    """Answer "does a token end here?" where ``ending`` of the weight ``below`` a node does.

    Where none of it does the answer is no, where all of it does it is yes, whatever the word. Of
    tensors words are float64, for 32 bits do not go into what torch makes of a whole number.
    """
    return (word + 0.5) / 2**32 * below < ending


def _common(one: bytes, other: bytes) -> int:
    """Return how many bytes two spellings begin with in common."""
    equal = map(eq, one, other)
    return next((at for at, same in enumerate(equal) if not same), min(len(one), len(other)))


def _ends(low: Whole, high: Whole, depths: Whole, lengths: Whole) -> Whole:
    """Return how many tokens of each node are as long as it is deep; they are its first."""
    ends = np.zeros(len(low), np.int64)
    at = np.flatnonzero(low < high)
    while len(at):
        here = low[at] + ends[at]
        inside = here < high[at]
        at, here = at[inside], here[inside]
        at = at[lengths[here] == depths[at]]
        ends[at] += 1
    return ends


Places = list[tuple[int, int, int]]
_ONE = 2.0**60
_ROOT = 0
_CACHED = 1 << 18  # weights that a processor's cache holds: two megabytes


class ByteWalk:
    """Draws for one vocabulary."""

    def __init__(self, vocabulary: Vocabulary, device: torch.device) -> None:
        self.vocabulary = vocabulary
        self._device = device

    @cached_property
    def trie(self) -> ByteTrie:
        """Its spellings; made when first asked for, in a second for the largest vocabularies."""
        return make_trie(self.vocabulary.spellings)

    def draw(self, scores: torch.Tensor, places: Places) -> torch.Tensor:
        """Return the drawn outcome of each row.

        Parameters
        ----------
        scores : float64 tensor, shape (n, v + 1)
            As `outcome_scores` returns them.
        places : list of (seed, turn, offset), length n

        Returns
        -------
        int64 tensor, shape (n,)
            `NO_NUMBER` where the model computed what is no number.
        """
        table = torch.tensor([(signed(seed), turn, offset) for seed, turn, offset in places])
        loop = _loop() if self._device.type == "cpu" else None
        if loop is None:
            places_there = to_device(table, self._device).unbind(1)
            return self._draw_together(whole_weights(scores), *places_there)
        drawn = torch.empty(len(scores), dtype=torch.int64)
        rows = max(1, _CACHED // scores.shape[1])
        parts = (scores.split(rows), table.split(rows), drawn.split(rows))
        for part, at, into in zip(*parts, strict=True):
            loop(whole_weights(part).numpy(), at.numpy(), *self._arrays, into.numpy())
        return drawn

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        """All that the loop needs of the vocabulary: the trie, and keys."""
        trie = self.trie
        nodes = (trie.low, trie.high, trie.ends, trie.first, trie.children, trie.byte)
        keys = self.vocabulary.keys
        return trie.order, trie.silent, nodes, keys, BYTE_KEYS, QUESTION_KEYS

    @cached_property
    def _tensors(self) -> dict[str, torch.Tensor]:
        """The same on the device."""
        names = ("order", "silent", "low", "high", "ends", "first", "children", "byte")
        on_device = {name: getattr(self.trie, name) for name in names}
        silent_keys = self.vocabulary.keys[np.append(self.trie.silent, self.vocabulary.end)]
        on_device |= {"bytes": BYTE_KEYS, "keys": self.vocabulary.keys}
        on_device |= {"token_end": QUESTION_KEYS[:1]}
        on_device |= {"openings": np.append(silent_keys, QUESTION_KEYS[1])}
        return {name: to_device(torch.from_numpy(x), self._device) for name, x in on_device.items()}

    def _draw_together(
        self,
        weights: torch.Tensor,
        seeds: torch.Tensor,
        turns: torch.Tensor,
        offsets: torch.Tensor,
    ) -> torch.Tensor:
        """Walk all rows at once, a level of the trie after the other."""
        on = self._tensors
        rows = torch.arange(len(weights), device=weights.device)
        sums = torch.nn.functional.pad(weights[:, on["order"]].cumsum(1), (1, 0))
        silent = torch.cat((weights[:, on["silent"]], weights[:, -1:], sums[:, -1:]), dim=1)
        opening = _largest(silent, _words(seeds, turns, offsets, on["openings"]))
        outcomes = torch.cat((on["silent"], on["silent"].new_tensor([weights.shape[1] - 1, -1])))
        drawn = outcomes[opening]
        node = torch.full_like(rows, _ROOT)
        walking = drawn < 0
        while walking.any():
            node = torch.where(walking, self._child(node, sums, seeds, turns, offsets), node)
            offsets = torch.where(walking, (offsets + 1) % OFFSETS, offsets)
            low, ends = on["low"][node], on["ends"][node]
            begin = sums[rows, low]
            ending, all_below = sums[rows, low + ends] - begin, sums[rows, on["high"][node]] - begin
            words = _words(seeds, turns, offsets, on["token_end"])[:, 0].to(torch.float64)
            walking = walking & ~token_ends(ending, all_below, words)
        token = self._alike(node, weights, seeds, turns, offsets)
        return torch.where(drawn < 0, token, drawn).masked_fill(~weights.any(dim=1), NO_NUMBER)

    def _alike(
        self, node: torch.Tensor, weights: torch.Tensor, *place: torch.Tensor
    ) -> torch.Tensor:
        """Return one of the tokens that end at each row's node."""
        on = self._tensors
        if not len(on["order"]):
            return node  # of rows that have drawn a token without a spelling
        at = torch.arange(self.trie.most_alike, device=node.device)
        there = at < on["ends"][node][:, None]
        token = on["order"][torch.where(there, on["low"][node][:, None] + at, 0)]
        masses = weights.gather(1, token).masked_fill(~there, 0)
        seeds, turns, offsets = (x[:, None].expand(token.shape).flatten() for x in place)
        words = words_at(seeds, turns, offsets, on["keys"][token].flatten()).view(token.shape)
        return token.gather(1, _largest(masses, words)[:, None])[:, 0]

    def _child(
        self,
        node: torch.Tensor,
        sums: torch.Tensor,
        seeds: torch.Tensor,
        turns: torch.Tensor,
        offsets: torch.Tensor,
    ) -> torch.Tensor:
        """Return the child of each row's node that its next byte leads to."""
        on = self._tensors
        at = torch.arange(int(on["children"][node].max()), device=node.device)
        there = at < on["children"][node][:, None]
        child = torch.where(there, on["first"][node][:, None] + at, _ROOT)
        masses = sums.gather(1, on["high"][child]) - sums.gather(1, on["low"][child])
        words = _words(seeds, turns, offsets, on["bytes"]).gather(1, on["byte"][child])
        best = _largest(masses.masked_fill(~there, 0), words)
        return child.gather(1, best[:, None])[:, 0]


def whole_weights(scores: torch.Tensor) -> torch.Tensor:
    """Return each outcome's probability in whole 2**-60, int64 of the shape of ``scores``.

    Where the model computed what is no number, all are 0.
    """
    return torch.softmax(scores, dim=1).nan_to_num_(0.0).mul_(_ONE).to(torch.int64)


def _largest(masses: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
    """Return the place of each row's largest log weight plus noise, int64 of shape (n,)."""
    return (masses.to(torch.float64).log() + gumbel(words)).argmax(dim=1)


def _words(
    seeds: torch.Tensor, turns: torch.Tensor, offsets: torch.Tensor, keys: torch.Tensor
) -> torch.Tensor:
    """Return the noise word of each row for each key, int64 of shape (n, k)."""
    made = torch.stack(noise_words(seeds, turns, offsets // POSITIONS_PER_BLOCK, keys))
    return made[offsets % POSITIONS_PER_BLOCK, torch.arange(len(seeds), device=keys.device)]


@cache
def _loop() -> Any:
    """Return the compiled walk; None where numba is not installed."""
    loops = compiled("coupled_arena.generation.compiled_loops")
    return loops and loops.fill_drawn


# The questions of bytes coupling one by one, as they lead to an outcome: for laying draws open.


@dataclass(frozen=True)
class Question:
    """A question that a walk asks on its way to an outcome.

    Attributes
    ----------
    kind : str
        One of four. At "opening" it is the end of the answer, a token without bytes, or text. At
        "byte" it is the next byte, at "token end" whether the token ends here. At "spelling" it is
        which of several tokens that spell alike.
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
        How many bytes of the token are known. The question is which one follows. For `OPENING` it
        is whether text follows at all. So it is where the token that is drawn has no bytes.
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
