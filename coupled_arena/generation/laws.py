"""The laws of the next token along an answer that is already there, of two models side by side.

A model reads its prompt and then the answer, as given. At each token it tells with which
probabilities it would have drawn there. No noise is read, for nothing is drawn. Laws of two models
are laid out over the same outcomes, which are those that share noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch

from coupled_arena.core.choices import TokenKind
from coupled_arena.core.errors import ModelError
from coupled_arena.core.records import Sampling
from coupled_arena.generation.devices import to_device
from coupled_arena.generation.language_model import (
    LanguageModel,
    LocalModel,
    ServedModel,
    Told,
    is_served,
)
from coupled_arena.generation.sampling import outcome_scores
from coupled_arena.generation.vocabulary import Vocabulary

_LOGITS = 1 << 22  # numbers of a chunk of logits: 16 MB
_SCORES = 1 << 19  # numbers of a chunk of laws: 4 MB, of which there are four
ModelPair = tuple[LanguageModel, LanguageModel]
_UNTOLD = 2  # outcomes at the end of the list, for what servers do not tell of either model


@dataclass(frozen=True, eq=False)
class LawChunk:
    """Laws of both models at some positions of an answer.

    Attributes
    ----------
    first, second : ndarray of float64, shape (m, v)
        Log-weights of all outcomes under the sampling asked for; -inf is impossible.
    whole_first, whole_second : ndarray of float64, shape (m, v)
        The same without top-k and top-p, and at temperature 1 where that asked for is 0.
    drawn : ndarray of int64, shape (m,)
        The outcome that the answer has.
    untold : ndarray of float64, shape (m,)
        How much probability servers do not tell of, at most, in both models together.
    """

    first: np.ndarray
    second: np.ndarray
    whole_first: np.ndarray
    whole_second: np.ndarray
    drawn: np.ndarray
    untold: np.ndarray


class Outcomes:
    """The outcomes of two vocabularies as one list: those with the same noise key are the same.

    Attributes
    ----------
    vocabularies : tuple of Vocabulary
    keys : int64 array, shape (v,)
        Noise keys of all outcomes of either vocabulary, each once.
    places : tuple of int64 array
        Where each outcome of the first vocabulary stands in the list, and of the second.
    """

    def __init__(self, first: Vocabulary, second: Vocabulary) -> None:
        self.vocabularies = first, second
        if np.array_equal(first.keys, second.keys):
            self.keys = first.keys
            self.places = (np.arange(len(self.keys)),) * 2
        else:
            self.keys = np.union1d(first.keys, second.keys)
            self.places = (
                np.searchsorted(self.keys, first.keys),
                np.searchsorted(self.keys, second.keys),
            )

    @property
    def shared(self) -> float:
        """The share of the smaller vocabulary that the other one has, too."""
        sizes = [len(vocabulary.keys) for vocabulary in self.vocabularies]
        return (sum(sizes) - len(self.keys)) / min(sizes)

    def translated(self, tokens: Sequence[int], writer: int) -> list[int]:
        """Return tokens of one model as ids of the other, up to the first that it lacks."""
        keys = self.vocabularies[writer].keys
        found: list[int] = []
        for token in tokens:
            if (there := self._ids[1 - writer].get(int(keys[token]))) is None:
                break
            found.append(there)
        return found

    def laid_out(self, law: _Laws, of: int, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a model's two laws over the outcomes of the list, and what it leaves untold."""
        places = self.places[of]
        if width == len(places):  # and so they are those of the list
            return law.asked, law.whole

        def spread(weights: np.ndarray) -> np.ndarray:
            spread = np.full((len(weights), width), -np.inf)
            spread[:, places] = weights[:, : len(places)]
            if weights.shape[1] > len(places):
                spread[:, len(self.keys) + of] = weights[:, -1]
            return spread

        asked = spread(law.asked)
        return asked, asked if law.whole is law.asked else spread(law.whole)

    @cached_property
    def _ids(self) -> tuple[dict[int, int], ...]:
        return tuple(
            {int(key): number for number, key in enumerate(vocabulary.keys[:-1])}
            for vocabulary in self.vocabularies
        )


@dataclass(frozen=True)
class Text:
    """An answer as two models read it.

    Attributes
    ----------
    prompts : tuple of (tuple of int)
        The conversation before it, as ids of each model.
    tokens : tuple of int
        As ids of the model that wrote it.
    writer : int
        0 or 1.
    ended : bool
        Whether its writer ended it: the end is an outcome like others.
    """

    prompts: tuple[tuple[int, ...], tuple[int, ...]]
    tokens: tuple[int, ...]
    writer: int
    ended: bool

    def drawn(self, outcomes: Outcomes) -> np.ndarray:
        """Return the outcomes of the list that it consists of.

        They end with the first token that the other model lacks, if there is one.
        """
        places = outcomes.places[self.writer]
        there = len(outcomes.translated(self.tokens, self.writer))
        drawn = places[list(self.tokens[: there + 1])]
        whole = self.ended and there == len(self.tokens)
        return np.append(drawn, places[-1]) if whole else drawn

    def ids(self, outcomes: Outcomes) -> tuple[Sequence[int], Sequence[int]]:
        """Return its tokens as ids of each model."""
        other = outcomes.translated(self.tokens, self.writer)
        return (self.tokens, other) if self.writer == 0 else (other, self.tokens)


def read_pair(
    models: ModelPair, outcomes: Outcomes, text: Text, sampling: Sampling
) -> Iterator[LawChunk]:
    """Yield the laws of both models along an answer, some positions at a time."""
    drawn = text.drawn(outcomes)
    told = any(map(is_served, models))
    width = len(outcomes.keys) + (_UNTOLD if told else 0)
    rows = max(1, _SCORES // width)
    first, second = (
        _laws(model, prompt, tokens, len(drawn), rows, sampling)
        for model, prompt, tokens in zip(models, text.prompts, text.ids(outcomes), strict=True)
    )
    same = models[0] is models[1] and text.prompts[0] == text.prompts[1]
    pairs = ((law, law) for law in first) if same else zip(first, second, strict=True)
    for at, pair in zip(range(0, len(drawn), rows), pairs, strict=True):
        yield _chunk(pair, outcomes, width, drawn[at : at + rows])


def _chunk(laws: tuple[_Laws, _Laws], outcomes: Outcomes, width: int, drawn: Any) -> LawChunk:
    (one, whole_one), (other, whole_other) = (
        outcomes.laid_out(law, of, width) for of, law in enumerate(laws)
    )
    return LawChunk(one, other, whole_one, whole_other, drawn, laws[0].untold + laws[1].untold)


def reads_otherwise(model: LanguageModel) -> bool:
    """Tell whether a text that is read at once has other laws than one that is written.

    Where activations are rounded to 8 bits, a hair decides between two of them. The two laws were
    .07 apart in total variation, nearly as far as those of a model and its 8-bit version.
    """
    return getattr(model, "eight_bits", False)


def read_as_written(
    models: ModelPair, outcomes: Outcomes, texts: Sequence[Text], sampling: Sampling
) -> Iterator[tuple[list[int], LawChunk]]:
    """Yield both laws at the next position of each of some answers, and which answers these are.

    Both models read as they write, a token a step; so each law is the one that tokens were drawn
    from, to the last bit.
    """
    local = [cast(LocalModel, model) for model in dict.fromkeys(models)]
    drawn = [text.drawn(outcomes) for text in texts]
    ids = [text.ids(outcomes) for text in texts]
    rows = max(1, _SCORES // len(outcomes.keys))
    batches = [model.start_batch() for model in local]
    stops = [_stops(model) for model in local]
    for of, batch in enumerate(batches):
        batch.add([text.prompts[of] for text in texts])
    going = list(range(len(texts)))
    for step in range(max(map(len, drawn))):
        for at in range(0, len(going), rows):
            some = going[at : at + rows]
            laws = [
                local_laws(batch.logits[at : at + rows], ends, sampling)
                for batch, ends in zip(batches, stops, strict=True)
            ]
            here = np.array([drawn[text][step] for text in some])
            yield some, _chunk((laws[0], laws[-1]), outcomes, len(outcomes.keys), here)
        on = [row for row, text in enumerate(going) if len(drawn[text]) > step + 1]
        if not on:
            return
        if len(on) < len(going):
            going = [going[row] for row in on]
            for batch in batches:
                batch.keep(on)
        for of, batch in enumerate(batches):
            following = torch.tensor([ids[text][of][step] for text in going])
            batch.advance(to_device(following, local[of].device))


def _stops(model: LocalModel) -> torch.Tensor:
    return torch.tensor(sorted(model.vocabulary.stops), dtype=torch.int64, device=model.device)


def _laws(
    model: LanguageModel,
    prompt: Sequence[int],
    tokens: Sequence[int],
    positions: int,
    rows: int,
    sampling: Sampling,
) -> Iterator[_Laws]:
    """Yield a model's laws at so many positions, so many at a time."""
    if is_served(model):
        told = model.told_laws(prompt, tokens, positions)
        for at in range(0, positions, rows):
            yield told_laws(told[at : at + rows], model.vocabulary, sampling)
        return
    local = cast(LocalModel, model)
    stops = _stops(local)
    kept = max(rows, _LOGITS // model.vocabulary.end // rows * rows)
    for logits in local.read_along(prompt, tokens[: positions - 1], kept):
        for part in logits.split(rows):
            yield local_laws(part, stops, sampling)


def local_laws(logits: torch.Tensor, stops: torch.Tensor, sampling: Sampling) -> _Laws:
    """Return the laws of logits under a sampling, and without its filters.

    Raises
    ------
    ModelError
        The model computed what is no number.
    """
    if not torch.isfinite(logits.amax(dim=1)).all():
        raise ModelError("The model computed what is no number.")
    unfiltered = _unfiltered(sampling)
    whole = outcome_scores(logits, stops, unfiltered)
    if sampling == unfiltered:
        asked = whole
    elif sampling.temperature:
        asked = outcome_scores(logits, stops, sampling)
    else:  # of equal ones the first, as in a draw
        likeliest = outcome_scores(logits, stops, sampling).argmax(dim=1, keepdim=True)
        asked = torch.full_like(whole, -torch.inf).scatter_(1, likeliest, 0.0)
    arrays = [asked.cpu().numpy()]
    arrays.append(arrays[0] if asked is whole else whole.cpu().numpy())
    return _Laws(arrays[0], arrays[1], np.zeros(len(logits)))


def _unfiltered(sampling: Sampling) -> Sampling:
    return replace(sampling, temperature=sampling.temperature or 1.0, top_k=0, top_p=1.0)


# What a server tells of a law: its likeliest tokens, and the one that the text goes on with, which
# may be any. So the last one told is perhaps none of the likeliest, and only those before it are.
# All others weigh so much at most.


def told_laws(told: Sequence[Told], vocabulary: Vocabulary, sampling: Sampling) -> _Laws:
    """Return the laws that a server tells of, with the weight of what it does not as last column.

    Parameters
    ----------
    told : sequence of mapping of int to float
        At each position, log-probabilities by id.
    """
    asked, whole = (
        np.stack([_told_law(each, vocabulary, how) for each in told])
        for how in (sampling, _unfiltered(sampling))
    )
    with np.errstate(divide="ignore"):
        total = np.logaddexp.reduce(asked, axis=1)
    return _Laws(asked, whole, np.exp(asked[:, -1] - total))


def told_scores(
    model: ServedModel, prompt: Sequence[int], outcome: int, sampling: Sampling
) -> np.ndarray:
    """Return the log-weights of the outcomes that a server tells of after a prompt.

    Returns
    -------
    float64 array, shape (v + 2,)
        -inf where nothing is told; last, all that is not told together, at most. At temperature 0
        they are those of temperature 1.

    Raises
    ------
    ModelError
        It tells nothing.
    """
    following = [outcome] if outcome < model.vocabulary.end else []
    told = model.told_laws(prompt, following, 1)
    laws = told_laws(told, model.vocabulary, sampling)
    return (laws.asked if sampling.temperature else laws.whole)[0]


def _told_law(told: Told, vocabulary: Vocabulary, sampling: Sampling) -> np.ndarray:
    """Return log-weights of all outcomes and of the rest, shape (v + 2,)."""
    law = np.full(vocabulary.end + 2, -np.inf)
    ids = np.fromiter(told, np.int64, len(told))
    logs = np.fromiter(told.values(), np.float64, len(told))
    order = np.argsort(-logs, kind="stable")
    ids, logs = ids[order], logs[order]
    rest = _rest(logs, vocabulary.end, sampling.temperature or 1.0)
    if not sampling.temperature:
        ids, logs, rest = ids[:1], np.zeros(1), -np.inf
    logs = logs / (sampling.temperature or 1.0)
    if 0 < sampling.top_k < len(ids):
        kept = logs >= logs[sampling.top_k - 1]
        ids, logs, rest = ids[kept], logs[kept], -np.inf
    if sampling.top_p < 1:
        shares = np.exp(logs - np.logaddexp(np.logaddexp.reduce(logs), rest))
        reached = np.flatnonzero(np.cumsum(shares[:-1]) >= sampling.top_p)
        if len(reached):
            kept = logs >= logs[reached[0]]
            ids, logs, rest = ids[kept], logs[kept], -np.inf
    ends = np.isin(ids, list(vocabulary.stops))
    law[ids[~ends]] = logs[~ends]
    if ends.any():
        law[vocabulary.end] = np.logaddexp.reduce(logs[ends])
    law[-1] = rest
    return law


def _rest(logs: np.ndarray, size: int, temperature: float) -> float:
    """Return what all tokens that are not told weigh at a temperature, at most, as a logarithm.

    None is likelier than the last but one that is told. Below temperature 1 they weigh most where
    as many as can be are as likely as that, above it where all are equally likely.
    """
    left = 1 - math.fsum(np.exp(logs))
    if left <= 1e-6 or len(logs) >= size:  # what rounding of 32 bits leaves
        return -math.inf
    power = 1 / temperature
    if power >= 1:
        return math.log(left) + (power - 1) * float(logs[-2:][0])
    return power * math.log(left) + (1 - power) * math.log(size - len(logs))


def token_kind(vocabulary: Vocabulary, outcome: int) -> TokenKind:
    """Return what an outcome is in a text; of several, the first in the order of `TokenKind`."""
    spelling = vocabulary.spellings[outcome] if outcome != vocabulary.end else None
    if not spelling:
        return TokenKind.OTHER
    text = spelling.decode("utf-8", errors="ignore")
    if any(character.isalpha() for character in text):
        return TokenKind.LETTERS
    if any(character.isdigit() for character in text):
        return TokenKind.DIGITS
    if not text:  # bytes that are no character by themselves
        return TokenKind.OTHER
    return TokenKind.WHITESPACE if text.isspace() else TokenKind.PUNCTUATION


@dataclass(frozen=True, eq=False)
class _Laws:
    """Laws of one model.

    Attributes
    ----------
    asked, whole : ndarray of float64, shape (m, v + 1) or (m, v + 2)
        Log-weights under the sampling asked for and without its filters; of a model on a server
        the last column is what it does not tell of.
    untold : ndarray of float64, shape (m,)
    """

    asked: np.ndarray
    whole: np.ndarray
    untold: np.ndarray
