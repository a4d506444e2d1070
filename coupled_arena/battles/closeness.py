"""Two models read the same answers, stored or fresh, and tell of their laws at each token.

What follows from the laws is said in `analysis.closeness`. An answer is read by both models after
the conversation that its writer had, each in its own template.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TypeVar

import numpy as np

from coupled_arena.analysis.closeness import KINDS, AnswerRead, LeftOut, Observed, Readings
from coupled_arena.battles.batch import BatchPlan, generate
from coupled_arena.core.errors import BattleError, ModelError, PromptError
from coupled_arena.core.records import Battle, Finish, Mode, Prompt, Reply, Sampler, Sampling
from coupled_arena.generation.language_model import LanguageModel, is_served
from coupled_arena.generation.laws import (
    LawChunk,
    Outcomes,
    Text,
    read_as_written,
    read_pair,
    reads_otherwise,
    token_kind,
)
from coupled_arena.generation.turns import Models, before_turn, messages, settled
from coupled_arena.stats.closeness import (
    LawPairs,
    coarse_divergences,
    compare_laws,
    divergences,
    joined,
    rows_of,
)
from coupled_arena.store.database import Store
from coupled_arena.store.queries import replies

T = TypeVar("T")
Pair = tuple[str, str]
Compared = tuple[LawPairs, np.ndarray]
"""Two laws at some positions; and three columns: divergences without filters, what is untold."""
Shown = Callable[[Sequence["Asked"]], Iterable["Asked"]]
"""Passes answers on while they are read, to show how far one is."""


@dataclass(frozen=True)
class Asked:
    """A reply to be read: its battle, and what it is in it."""

    battle: Battle
    reply: Reply

    @property
    def cluster(self) -> Prompt:
        """What the conversation begins with: answers after one beginning depend on each other."""
        return self.battle.prompts[0]


def some_of(items: Sequence[T], most: int | None, seed: int) -> list[T]:
    """Return so many items at most, drawn at random, in their order."""
    if most is None or len(items) <= most:
        return list(items)
    picked = np.random.default_rng(seed).permutation(len(items))[:most]
    return [items[at] for at in sorted(picked.tolist())]


def check_vocabularies(names: Pair, models: Models, sampling: Sampling) -> Outcomes:
    """Return the outcomes of two models, which draw with noise for each token.

    Raises
    ------
    ModelError
        Their vocabularies differ, so that they are coupled by bytes: no token is the same draw.
    """
    outcomes = Outcomes(*(models[name].vocabulary for name in names))
    if settled(replace(sampling, temperature=1.0), names, models).by_bytes:
        raise ModelError(
            f"{names[0]} and {names[1]} have different vocabularies ({outcomes.shared:.0%} of the "
            "tokens are common), so they draw by bytes, and laws of tokens do not compare. Compare "
            "variants of one model, add --coupling token, or see `generate` and `explain`."
        )
    return outcomes


def stored_answers(
    store: Store, names: Pair, most: int, seed: int, asked: Sampling, chosen: Sequence[str]
) -> tuple[list[Asked], Sampling]:
    """Return a random sample of the stored replies of either model, and how the laws are drawn.

    Parameters
    ----------
    most : int
        How many replies at most.
    asked : Sampling
        Temperature, top-k and top-p; those that are not chosen are taken from the record.
    chosen : sequence of str
        Names of the settings that somebody has asked for.

    Raises
    ------
    BattleError
        There is no such reply, or replies were drawn in several ways and none is asked for.
    """
    with store.cursor() as cursor:
        written = replies.written(cursor, names)
    if not written:
        raise BattleError(
            f"There are no stored answers of {' or '.join(dict.fromkeys(names))} that were decoded "
            "here. Give prompts with --prompts or --task, or run `generate` first."
        )
    written, sampling = _drawn_alike(written, asked, chosen)
    battles: dict[str, Battle] = {}
    found: list[Asked] = []
    for each in some_of(written, most, seed):
        if each.battle not in battles:
            battles[each.battle] = store.battle(each.battle)
        battle = battles[each.battle]
        reply = next(r for r in battle.replies if (r.turn, r.place) == (each.turn, each.place))
        found.append(Asked(battle, reply))
    return found, sampling


_SETTINGS = ("temperature", "top_k", "top_p")


def _drawn_alike(
    written: list[replies.Written], asked: Sampling, chosen: Sequence[str]
) -> tuple[list[replies.Written], Sampling]:
    """Return the replies that were drawn as asked, or all where none was, and the sampling.

    Settings that nobody chose are those of the replies where these agree, else those of the run.
    """
    places = {_SETTINGS.index(name): getattr(asked, name) for name in chosen}
    ways = dict.fromkeys(each.drawn for each in written)
    fitting = [way for way in ways if all(way[at] == value for at, value in places.items())]
    if len(fitting) > 1:
        told = "; ".join(f"temperature {t:g}, top-k {k}, top-p {p:g}" for t, k, p in fitting)
        raise BattleError(
            f"These answers were drawn in several ways: {told}. Choose one with --temperature, "
            "--top-k and --top-p."
        )
    if not fitting:
        each = {name: {way[at] for way in ways} for at, name in enumerate(_SETTINGS)}
        alike = {name: min(found) for name, found in each.items() if len(found) == 1}
        kept = {name: value for name, value in alike.items() if name not in chosen}
        return written, replace(asked, **kept)
    (way,) = fitting
    sampling = replace(asked, **dict(zip(_SETTINGS, way, strict=True)))
    return [each for each in written if each.drawn == way], sampling


def fresh_answers(
    prompts: Sequence[Prompt],
    names: Pair,
    models: Models,
    sampling: Sampling,
    *,
    seed: int,
    at_once: int,
    kv_tokens: int | None = None,
    progress: bool = False,
) -> list[Asked]:
    """Let both models answer prompts, coupled, and return all answers."""
    plan = BatchPlan(tuple(prompts), names, (Mode.COUPLED,), 1, seed, (sampling,)).settled(models)
    with Store.in_memory() as store:
        generate(plan, models, store, at_once=at_once, kv_tokens=kv_tokens, progress=progress)
        battles = [store.battle(battle.id) for battle, _ in plan.battles()]
    return [Asked(battle, reply) for battle in battles for reply in battle.replies]


def read_answers(
    asked: Sequence[Asked], names: Pair, models: Models, sampling: Sampling, shown: Shown = iter
) -> Readings:
    """Let both models read answers, and compare their laws at each token.

    Parameters
    ----------
    sampling : Sampling
        Which laws are compared.

    Raises
    ------
    ModelError
        The vocabularies differ, or a model computed what is no number, or a server tells nothing.
    PromptError
        No answer can be read.
    """
    outcomes = check_vocabularies(names, models, sampling)
    reader = _Reader((models[names[0]], models[names[1]]), names, outcomes, sampling)
    for each in shown(asked):
        reader.read(each)
    if not reader.answers:
        raise PromptError(reader.why_nothing())
    return reader.readings(_observed(asked, names, sampling, reader.clusters))


_TOGETHER = 16  # answers that are read together, where models read as they write


class _Reader:
    """Reads one answer after the other; equal ones once."""

    def __init__(
        self,
        models: tuple[LanguageModel, LanguageModel],
        names: Pair,
        outcomes: Outcomes,
        sampling: Sampling,
    ) -> None:
        self.answers: list[AnswerRead] = []
        self.clusters: dict[Prompt, int] = {}
        self._models, self._names = models, names
        self._outcomes, self._sampling = outcomes, sampling
        self._left_out: Counter[str] = Counter()
        self._trouble: Exception | None = None
        self._stepping = any(map(reads_otherwise, models)) and not any(map(is_served, models))
        alone = not all(getattr(model, "batchable", True) for model in models)
        self._together = _TOGETHER if self._stepping and not alone else 1
        self._read: dict[Text, Compared] = {}
        self._waiting: dict[Text, Text] = {}
        self._order: list[Text] = []
        self._kinds: list[int] = []
        self._places: list[int] = []
        self._ends: list[bool] = []

    def read(self, asked: Asked) -> None:
        """Add an answer, or note why it is left out."""
        battle, reply = asked.battle, asked.reply
        writer = self._names.index(battle.models[reply.place])
        vocabulary = self._models[writer].vocabulary
        begun = bool(battle.prompts[reply.turn].prefix)
        known = all(token < vocabulary.end for token in reply.tokens)
        if not known or vocabulary.text(reply.tokens, begun=begun) != reply.text:
            self._left_out[LeftOut.OTHER_TEXT] += 1
            return
        try:
            text = self._text(asked, writer)
        except PromptError as error:
            self._left_out[LeftOut.UNREADABLE] += 1
            self._trouble = error
            return
        if not text.tokens and not text.ended:
            self._left_out[LeftOut.UNREADABLE] += 1
            return
        # The same words by the other model are read once, though they count for both.
        shared = replace(text, tokens=self._shared(text), writer=0)
        self._order.append(shared)
        self._note(asked, text, writer, len(text.drawn(self._outcomes)))
        if shared not in self._read and shared not in self._waiting:
            self._waiting[shared] = text
        if len(self._waiting) >= self._together:
            self._read_waiting()

    def _read_waiting(self) -> None:
        texts = list(self._waiting.values())
        if not texts:
            return
        found = self._stepped(texts) if self._stepping else list(map(self._laws, texts))
        self._read |= zip(self._waiting, found, strict=True)
        self._waiting = {}

    def _stepped(self, texts: list[Text]) -> list[Compared]:
        """Return what `_laws` does, where models read as they write, all texts a step."""
        parts: list[list[Compared]] = [[] for _ in texts]
        steps = read_as_written(self._models, self._outcomes, texts, self._sampling)
        for which, chunk in steps:
            pair, others = _compared(chunk, told=False)
            for row, text in enumerate(which):
                parts[text].append((rows_of(pair, [row]), others[[row]]))
        return [_joined(part) for part in parts]

    def _shared(self, text: Text) -> tuple[int, ...]:
        """Return the tokens as noise keys, by which they are the same for both models."""
        keys = self._outcomes.vocabularies[text.writer].keys
        return tuple(keys[list(text.tokens)].tolist())

    def _text(self, asked: Asked, writer: int) -> Text:
        battle, reply = asked.battle, asked.reply
        conversation = messages(
            before_turn(battle, reply.turn), reply.place, battle.prompts[reply.turn]
        )
        first, second = (model.encode(conversation) for model in self._models)
        prompts = (tuple(first), tuple(second))
        # A server must have room for a token more than it reads.
        room = min(
            model.context_length - len(prompt) - 1
            for model, prompt in zip(self._models, prompts, strict=True)
        )
        whole = len(reply.tokens) < room
        ended = reply.finish is Finish.STOP and whole
        return Text(prompts, reply.tokens[: max(room, 0)], writer, ended)

    def _laws(self, text: Text) -> Compared:
        """Return both laws compared, along a text that is read at once."""
        told = any(map(is_served, self._models))
        chunks = read_pair(self._models, self._outcomes, text, self._sampling)
        return _joined([_compared(chunk, told=told) for chunk in chunks])

    def _note(self, asked: Asked, text: Text, writer: int, positions: int) -> None:
        battle, reply = asked.battle, asked.reply
        begin = len(self._places)
        vocabulary = self._models[writer].vocabulary
        drawn = [*text.tokens, *([vocabulary.end] if text.ended else [])][:positions]
        kinds = (token_kind(vocabulary, outcome) for outcome in drawn)
        self._kinds += [KINDS.index(kind) for kind in kinds]
        self._ends += [outcome == vocabulary.end for outcome in drawn]
        self._places += range(positions)
        self.answers.append(
            AnswerRead(
                battle.id,
                reply.turn,
                reply.place,
                writer,
                self.clusters.setdefault(asked.cluster, len(self.clusters)),
                slice(begin, begin + positions),
                drawn_so=_alike(battle.sampling, self._sampling),
            )
        )

    def why_nothing(self) -> str:
        """Return why no answer could be read."""
        if self._trouble:
            return f"None of the answers can be read by both models: {self._trouble}"
        return (
            "The stored tokens do not spell the stored answers: other versions of these models "
            "wrote them. Generate answers anew, with --prompts or --task."
        )

    def readings(self, observed: tuple[Observed, ...]) -> Readings:
        """Return all that was read."""
        self._read_waiting()
        laws, others = _joined([self._read[text] for text in self._order])
        whole_kl, whole_kl_reverse, untold = others.T
        return Readings(
            models=self._names,
            sampling=self._sampling,
            laws=laws,
            whole_kl=whole_kl,
            whole_kl_reverse=whole_kl_reverse,
            kind=np.array(self._kinds, np.int64),
            place=np.array(self._places, np.int64),
            ends=np.array(self._ends, np.bool_),
            untold=untold,
            answers=tuple(self.answers),
            observed=observed,
            left_out=dict(self._left_out),
        )


def _compared(chunk: LawChunk, *, told: bool) -> Compared:
    pair = compare_laws(chunk.first, chunk.second, chunk.drawn)
    whole = pair.kl, pair.kl_reverse
    if told:
        pair = _with_known_divergences(pair, chunk)
        whole = coarse_divergences(chunk.whole_first, chunk.whole_second)
    elif chunk.whole_first is not chunk.first or chunk.whole_second is not chunk.second:
        whole = divergences(chunk.whole_first, chunk.whole_second)
    return pair, np.stack([*whole, chunk.untold], axis=1)


def _joined(parts: Sequence[Compared]) -> Compared:
    return joined([laws for laws, _ in parts]), np.concatenate([others for _, others in parts])


def _with_known_divergences(pair: LawPairs, chunk: LawChunk) -> LawPairs:
    """Return a pair with divergences of what is told, where a server leaves something out."""
    known = coarse_divergences(chunk.first, chunk.second)
    untold = chunk.untold > 0
    kl, kl_reverse = (
        np.where(untold, least, exact)
        for least, exact in zip(known, (pair.kl, pair.kl_reverse), strict=True)
    )
    return replace(pair, kl=kl, kl_reverse=kl_reverse)


def _alike(one: Sampling, other: Sampling) -> bool:
    """Tell whether two samplings have the same laws; greedy ones have, whatever they keep."""
    if one.temperature == other.temperature == 0:
        return True
    laws = [(each.temperature, each.top_k, each.top_p) for each in (one, other)]
    return laws[0] == laws[1]


def _observed(
    asked: Sequence[Asked],
    names: Pair,
    sampling: Sampling,
    clusters: dict[Prompt, int],
) -> tuple[Observed, ...]:
    """Return how coupled battles of both models came out, each turn once."""
    each = {(one.battle.id, one.reply.turn): one for one in asked}
    return tuple(
        observed for one in each.values() for observed in _came_out(one, names, sampling, clusters)
    )


def _came_out(
    asked: Asked, names: Pair, sampling: Sampling, clusters: dict[Prompt, int]
) -> Iterator[Observed]:
    battle, turn = asked.battle, asked.reply.turn
    coupled = battle.mode is Mode.COUPLED and battle.sampling.coupling == Sampler.GUMBEL.coupling
    if turn or not (coupled and _alike(battle.sampling, sampling)):
        return  # later turns answer conversations that differ already
    if asked.cluster not in clusters or not set(names) <= set(battle.models):
        return
    places = [battle.models.index(names[0])]
    places.append(len(battle.models) - 1 - battle.models[::-1].index(names[1]))
    if places[0] == places[1]:
        return  # the model itself, which has one answer here
    pair = [r for place in places for r in battle.replies if (r.turn, r.place) == (0, place)]
    if len(pair) < 2 or any(reply.finish is Finish.CANCELLED for reply in pair):
        return
    one, other = pair
    equal = takewhile(lambda at: at[0] == at[1], zip(one.tokens, other.tokens, strict=False))
    identical = one.tokens == other.tokens and one.finish is other.finish
    yield Observed(clusters[asked.cluster], len(list(equal)), identical)
