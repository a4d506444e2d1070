"""Where the answers of a battle part, and why: that one draw, made again and laid open.

Where noise is read byte by byte, replies are first laid out as the bytes they are written in.
Nothing is said or shown here: `views` has the words and the table.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, zip_longest

from coupled_arena.core.errors import BattleError, ModelError
from coupled_arena.core.language import _
from coupled_arena.core.records import Battle, Finish, Mode, Reply, Sampler
from coupled_arena.generation.capacity import Capacity
from coupled_arena.generation.draws import Candidate, Draw
from coupled_arena.generation.language_model import LanguageModel, holds_keys, is_served
from coupled_arena.generation.running import OPENING, Contender, Request, Running, Worker, decoded
from coupled_arena.generation.turns import Models, before_turn, check_replayable, next_request
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


# The draw at which answers part.


OPENED = 64  # outcomes of each model; what lies beyond is rarer than all of them
_SHOWN = 5  # the likeliest of each model, beside those that were drawn


@dataclass(frozen=True)
class Divergence:
    """The first position at which not all replies of a turn have the same token, or byte.

    Attributes
    ----------
    position : int
        Tokens that all replies have in common; where noise is read byte by byte, bytes.
    common : str
        What these say.
    chosen : tuple of (int or None)
        By place, the noise key of what came next; None where the reply was cut off there.
    reached : tuple of (int, int)
        By place, whole tokens before it, and bytes of the next token before it.
    by_bytes : bool
        Whether noise is read byte by byte.
    """

    turn: int
    position: int
    common: str
    chosen: tuple[int | None, ...]
    reached: tuple[tuple[int, int], ...] = ()
    by_bytes: bool = False


@dataclass(frozen=True)
class Option:
    """An outcome in the eyes of all models.

    Attributes
    ----------
    text, kind : see `Candidate`
    seen : tuple of (Candidate or None)
        By place; None where it is none of the likeliest that were opened.
    chosen : tuple of bool
        By place, whether the reply goes on with it.
    """

    text: str
    kind: str
    seen: tuple[Candidate | None, ...]
    chosen: tuple[bool, ...]


@dataclass(frozen=True)
class Reason:
    """Why replies parted.

    Attributes
    ----------
    models : tuple of str
        By place.
    coupled : bool
        All models read the same noise.
    options : tuple of Option
        Those that were drawn, then the likeliest of any model.
    least : tuple of (float or None)
        By place, how likely an outcome can be that was not opened; None for a model on a server
        that tells no probabilities.
    again : tuple of (bool or None)
        By place, whether the draw came out as it had; None where there is nothing to compare.
    """

    divergence: Divergence
    models: tuple[str, ...]
    coupled: bool
    options: tuple[Option, ...]
    least: tuple[float | None, ...]
    again: tuple[bool | None, ...]


def find_divergence(
    battle: Battle, models: Mapping[str, LanguageModel], turn: int
) -> Divergence | None:
    """Return where the replies of a turn part; None where they never do.

    Raises
    ------
    BattleError
        A model of it is not here, or it has no tokens to compare.
    """
    check_replayable(battle, models)
    replies = _replies(battle, turn)
    vocabularies = [models[name].vocabulary for name in battle.models]
    begun = bool(battle.prompts[turn].prefix)
    if battle.sampling.by_bytes:
        written = zip(replies, vocabularies, strict=True)
        return _first_difference(turn, [steps(*one, begun=begun) for one in written])
    for position in count():
        chosen = tuple(
            _outcome(reply, position, vocabulary)
            for reply, vocabulary in zip(replies, vocabularies, strict=True)
        )
        known = {key for key in chosen if key is not None}
        if len(known) > 1:
            common = vocabularies[0].text(replies[0].tokens[:position], begun=begun)
            return Divergence(turn, position, common, chosen, ((position, 0),) * len(replies))
        if all(position >= len(reply.tokens) for reply in replies):
            return None
    raise AssertionError("unreachable")


def _first_difference(turn: int, written: list[list[Step]]) -> Divergence | None:
    """Return where replies differ in their bytes first, in the midst of a token or not."""
    for position, column in enumerate(zip_longest(*written)):
        if len({step.key for step in column if step}) > 1:
            common = b"".join(step.byte for step in written[0][:position])
            text = codecs.getincrementaldecoder("utf-8")("replace").decode(common)
            ends = any(step and not step.byte for step in column)
            asked = [step and step.asked(ends=ends) for step in column]
            chosen = tuple(step and step.key for step in asked)
            # Of a reply that was cut off nothing is known; its first draw is as good as any.
            reached = tuple((step.token, step.within) if step else (0, 0) for step in asked)
            return Divergence(turn, position, text, chosen, reached, by_bytes=True)
    return None


def reopening(battle: Battle, models: Models, divergence: Divergence) -> Request:
    """Return what makes that one draw again; models on servers have no part in it.

    Raises
    ------
    PromptError
        There is no room for it.
    """
    question = battle.prompts[divergence.turn]
    asked = next_request(models, before_turn(battle, divergence.turn), question).contenders
    replies = _replies(battle, divergence.turn)
    contenders: list[Contender] = []
    for at in _places_here(battle, models):
        tokens, within = divergence.reached[at]
        written = replies[at].tokens[:tokens]
        read = (*asked[at].prompt, *written)
        contenders.append(replace(asked[at], prompt=read, written=written, within=within))
    once = replace(battle.sampling, max_new_tokens=1)
    begun = bool(question.prefix)
    return Request(tuple(contenders), once, divergence.turn, opened=OPENED, begun=begun)


def explain(
    battle: Battle,
    models: Models,
    divergence: Divergence,
    running: Running,
    told: Mapping[int, Draw] | None = None,
) -> Reason:
    """Return what a `reopening` that is done has to say.

    Parameters
    ----------
    told : mapping of int to Draw, optional
        By place, the draws of models on servers, as far as these tell.
    """
    draws = [(told or {}).get(place) for place in range(len(battle.models))]
    for place, line in zip(_places_here(battle, models), running.lines, strict=True):
        draws[place] = line.draw
    return Reason(
        divergence,
        battle.models,
        battle.mode is Mode.COUPLED,
        _options(draws, divergence.chosen),
        tuple(map(_least, draws)),
        tuple(map(_same_outcome, draws, divergence.chosen)),
    )


def explain_divergence(
    battle: Battle, models: Models, turn: int, kv_tokens: int | None = None
) -> Reason:
    """Return why the replies of a turn part, decoded here.

    Parameters
    ----------
    kv_tokens : int, optional
        Tokens whose keys and values each model holds at most; else what free memory allows.

    Raises
    ------
    BattleError
        They do not part, there is no such turn, or the battle cannot be replayed here.
    PromptLengthError
        There is no room for it.
    """
    from coupled_arena.generation.lockstep import LockstepEngine, decode  # torch: seconds

    divergence = _checked_divergence(battle, models, turn)
    engine = LockstepEngine(models, Capacity(kv_tokens=kv_tokens))
    (running,) = decode(engine, [reopening(battle, models, divergence)])
    return explain(battle, models, divergence, running, _told(battle, models, divergence))


def _told(battle: Battle, models: Models, divergence: Divergence) -> dict[int, Draw]:
    """Ask servers for the draw at which replies part; those that tell nothing are left out."""
    from coupled_arena.generation.lockstep import told_draw

    question = battle.prompts[divergence.turn]
    asked = next_request(models, before_turn(battle, divergence.turn), question).contenders
    replies = _replies(battle, divergence.turn)
    told: dict[int, Draw] = {}
    for place, name in enumerate(battle.models):
        model = models[name]
        if divergence.by_bytes or not is_served(model):
            continue
        index, _within = divergence.reached[place]
        tokens = replies[place].tokens
        outcome = tokens[index] if index < len(tokens) else model.vocabulary.end
        prompt = (*asked[place].prompt, *tokens[:index])
        noise = (asked[place].seed, divergence.turn, index)
        with suppress(ModelError):
            told[place] = told_draw(model, prompt, noise, outcome, battle.sampling, OPENED)
    return told


async def explain_with(worker: Worker, models: Models, battle: Battle, turn: int) -> Reason:
    """Return why the replies of a turn part, decoded beside what else a worker does.

    Raises
    ------
    BattleError
        They do not part, or the battle cannot be replayed here.
    PromptError
        Too many wait already, or there is no room for it.
    ModelError
        Decoding failed.
    """
    divergence = _checked_divergence(battle, models, turn)
    running = await decoded(worker, reopening(battle, models, divergence))
    return explain(battle, models, divergence, running)


def _checked_divergence(battle: Battle, models: Models, turn: int) -> Divergence:
    there = len(battle.prompts)
    if not 0 <= turn < there:
        text = _("Battle {id} has no turn {turn}: it has {there}, from 0.")
        raise BattleError(text.format(id=battle.id, turn=turn, there=there))
    if battle.sampling.coupling == Sampler.INVERSE.coupling:
        text = _(
            "Battle {id} was drawn by inverse transform: only draws by Gumbel-max can be explained."
        )
        raise BattleError(text.format(id=battle.id))
    if divergence := find_divergence(battle, models, turn):
        return divergence
    text = _("Battle {id}: its answers of turn {turn} do not differ.")
    raise BattleError(text.format(id=battle.id, turn=turn))


def _replies(battle: Battle, turn: int) -> list[Reply]:
    return sorted((r for r in battle.replies if r.turn == turn), key=lambda reply: reply.place)


def _outcome(reply: Reply, position: int, vocabulary: Vocabulary) -> int | None:
    """Return the noise key of what a reply has at a position; None where that is not known."""
    if position < len(reply.tokens):
        return int(vocabulary.keys[reply.tokens[position]])
    ended = position == len(reply.tokens) and reply.finish is Finish.STOP
    return int(vocabulary.keys[vocabulary.end]) if ended else None


def _places_here(battle: Battle, models: Models) -> list[int]:
    return [place for place, name in enumerate(battle.models) if holds_keys(models[name])]


def _options(draws: Sequence[Draw | None], chosen: Sequence[int | None]) -> tuple[Option, ...]:
    seen = [{c.key: c for c in draw.candidates} if draw else {} for draw in draws]
    likely = [c for draw in draws if draw for c in draw.candidates[:_SHOWN]]
    likely.sort(key=lambda candidate: -candidate.probability)
    drawn = [known[key] for key in chosen for known in seen if key in known]
    return tuple(
        Option(
            candidate.text,
            candidate.kind,
            tuple(known.get(candidate.key) for known in seen),
            tuple(candidate.key == key for key in chosen),
        )
        for candidate in {c.key: c for c in (*drawn, *likely)}.values()
    )


def _least(draw: Draw | None) -> float | None:
    if draw is None:
        return None
    likeliest = [c.probability for c in draw.candidates[:OPENED]]
    return likeliest[-1] if draw.possible > len(likeliest) else 0.0


def _same_outcome(draw: Draw | None, chosen: int | None) -> bool | None:
    if draw is None or chosen is None:
        return None
    return draw.candidates[draw.drawn].key == chosen
