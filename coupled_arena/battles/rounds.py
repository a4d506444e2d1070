"""A round on the server: its state, what its owner may see, what counts as a vote or a question.

Nothing is stored here and nothing decoded: `arena` and `annotation` drive rounds.
"""

from __future__ import annotations

import re
import threading
import time
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from coupled_arena.battles.blind_view import (
    Conversations,
    Groups,
    Judging,
    Reasons,
    Recorded,
    Reveal,
    RoundView,
    TurnView,
)
from coupled_arena.core.errors import PromptError, PromptLengthError, VoteError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import (
    Battle,
    Finish,
    Mode,
    Origin,
    Prompt,
    Vote,
    new_id,
    seed_to_hex,
)
from coupled_arena.generation.running import Contender, Request, Worker
from coupled_arena.generation.turns import Models, messages, next_request

if TYPE_CHECKING:
    from coupled_arena.battles.judge_runs.request import Asked
    from coupled_arena.generation.running import Running


# What counts as a vote, and what its acceptance tells.


def check_ranks(ranks: Sequence[int], size: int, *, both_bad: bool) -> tuple[int, ...]:
    """Return ranks that order so many answers, or raise VoteError."""
    whole = all(type(rank) is int for rank in ranks)
    if not whole or len(ranks) != size or min(ranks) != 1 or max(ranks) > size:
        text = _("A vote gives each of the {size} answers a place from 1 (best) to {size}.")
        raise VoteError(text.format(size=size))
    if both_bad and max(ranks) > 1:
        raise VoteError(_("If all answers are bad, none is better: all have place 1."))
    return tuple(ranks)


def same_words(*moments: Conversations) -> Groups:
    """Return which answers had the same words at one of some moments, by place.

    Answers that are each the same as a third are the same as each other; places that stand alone
    are left out.
    """
    group = list(range(len(moments[0])))
    for texts in moments:
        for one, other in combinations(range(len(texts)), 2):
            if texts[one] == texts[other]:
                group = [group[one] if name == group[other] else name for name in group]
    groups = [tuple(at for at, own in enumerate(group) if own == name) for name in sorted({*group})]
    return tuple(places for places in groups if len(places) > 1)


def level(ranks: Sequence[int], groups: Groups) -> tuple[int, ...]:
    """Return ranks in which answers with the same words share the best place given to one of them.

    Whoever puts these words first has said so of all answers that consist of them. Places without
    a gap are left.
    """
    if not groups:
        return tuple(ranks)
    levelled = list(ranks)
    for group in groups:
        for place in group:
            levelled[place] = min(ranks[other] for other in group)
    taken = sorted({*levelled})
    return tuple(taken.index(rank) + 1 for rank in levelled)


def check_comparable(ranks: Sequence[int], shown: Conversations, *, running: bool) -> None:
    """Raise VoteError where all answers have the same words, and so none can be better."""
    if len({*shown}) > 1:
        return
    if not any(shown[0]):
        raise VoteError(_("There is nothing to compare yet: wait for the first words."))
    if running:
        raise VoteError(
            _("The answers are the same so far: wait for the first difference, or stop them.")
        )
    if len({*ranks}) > 1:
        raise VoteError(
            _("The answers have the same words, so none is better: vote a tie, or ask a follow-up.")
        )


def reveal_of(
    battle: Battle, vote: Vote, *, reveals_seed: bool = True, same: Groups = ()
) -> Reveal:
    """Return what the voter is told once the vote is safe."""
    shown = reveals_seed and bool(commitment_of(battle))
    return Reveal(
        vote=vote.id,
        battle=battle.id,
        models=battle.models,
        ranks=vote.ranks,
        both_bad=vote.both_bad,
        source=vote.source,
        early=vote.early,
        mode=battle.mode,
        seed=seed_to_hex(battle.seed) if shown else None,
        nonce=battle.nonce.hex() if shown else None,
        commitment=commitment_of(battle),
        same=same,
    )


def decided_reveal(battle: Battle) -> Reveal:
    """Return what a visitor is told once a judge has decided in their place."""
    return Reveal(
        vote=None,
        battle=battle.id,
        models=battle.models,
        ranks=(),
        both_bad=False,
        source=None,
        early=False,
        mode=battle.mode,
        seed=seed_to_hex(battle.seed),
        nonce=battle.nonce.hex(),
        commitment=commitment_of(battle),
    )


def commitment_of(battle: Battle) -> str:
    """Return what binds a battle to its seed; empty for battles from elsewhere, which have none."""
    return "" if battle.mode is Mode.UNKNOWN or not battle.nonce else battle.commitment


ROUND_LIFETIME = 6 * 3600.0  # seconds
REVEALED_LIFETIME = 600.0  # of one that its owner has asked another question after
_SWEEP = 60.0  # seconds between two looks at everybody's rounds


@dataclass(frozen=True)
class Held:
    """A vote that can be undone until a moment of the monotonic clock; `same` as in `Reveal`."""

    vote: Vote
    same: Groups
    until: float

    def view(self) -> Recorded:
        """Return what its voter may see of it."""
        left = max(0.0, self.until - time.monotonic())
        return Recorded(self.vote.id, self.vote.ranks, self.vote.both_bad, self.vote.early, left)


@dataclass(frozen=True)
class RoundState:
    """Everything about a round at one moment; replaced whole, so that reading needs no lock."""

    battle: Battle
    pending: tuple[Prompt, Running] | None = None
    held: Held | None = None
    reveal: Reveal | None = None
    reasons: Reasons | None = None
    judging: Asked | None = None
    unjudged: Asked | None = None  # what a judge was asked last and has not decided
    error: str | None = None

    @property
    def vote(self) -> str | None:
        """The id of the vote, whether or not it can be undone."""
        return self.held.vote.id if self.held else self.reveal and self.reveal.vote

    def view(self) -> RoundView:
        """Return the part of it that its owner may see.

        Before the vote on a round of the battle tab a browser knows texts and nothing else of an
        answer. Else models that never find an end would be known by it. Whoever stopped the
        answers knows that some had not ended, and the round says so of all. Stored battles were
        made with one limit for all, and whoever judges an answer is to know that it was not its
        end.
        """
        tells_cuts = self.reveal is not None or self.battle.origin is not Origin.ARENA
        turns = [
            self._stored_turn(prompt, turn, tells_cuts=tells_cuts)
            for turn, prompt in enumerate(self.battle.prompts)
        ]
        if self.pending:
            prompt, running = self.pending
            turns.append(_turn(prompt, running.texts))
        return RoundView(
            size=len(self.battle.models),
            turns=tuple(turns),
            running=self.pending is not None and self.error is None,
            commitment=commitment_of(self.battle),
            recorded=self.held and self.held.view(),
            reveal=self.reveal,
            reasons=self.reasons,
            judging=self.judging
            and Judging(len(self.judging.verdicts), len(self.judging.questions)),
            unjudged=self.unjudged and self.unjudged.trouble_after(len(turns)),
            error=self.error,
            stored=self.battle.origin is not Origin.ARENA,
            ahead=self.pending[1].ahead if self.pending else None,
        )

    def _stored_turn(self, prompt: Prompt, turn: int, *, tells_cuts: bool) -> TurnView:
        replies = [reply for reply in self.battle.replies if reply.turn == turn]
        shown = _turn(prompt, (reply.text for reply in replies))
        stopped = tuple(reply.finish is Finish.CANCELLED for reply in replies)
        if not tells_cuts:
            return replace(shown, stopped=(any(stopped),) * len(stopped))
        limit = self.battle.sampling.max_new_tokens
        cuts = (limit if reply.finish is Finish.LENGTH else None for reply in replies)
        return replace(shown, cut_at=tuple(cuts), stopped=stopped)


def _turn(prompt: Prompt, texts: Iterable[str]) -> TurnView:
    return TurnView(prompt.text, tuple(prompt.prefix + text for text in texts), prompt.system)


class Round:
    """The server's side of a round; its state is secret until the reveal."""

    def __init__(self, owner: str, battle: Battle) -> None:
        self.id = new_id()
        self.owner = owner
        self.state = RoundState(battle)
        self.opened = time.monotonic()
        self.changing = threading.RLock()
        self.watchers = 0  # open pages that show its answers being written

    def change(self, **parts: Any) -> None:
        """Replace parts of the state; hold `changing` around whatever led to the change."""
        self.state = replace(self.state, **parts)

    def asks(self, text: str) -> bool:
        """Return whether a question of the round is the same as a text."""
        state = self.state
        asked = [*state.battle.prompts, *([state.pending[0]] if state.pending else [])]
        return any(same_question(text, prompt.text) for prompt in asked)

    def revealed(self) -> Reveal:
        """Return who was who; raise VoteError where that is not told."""
        if self.state.reveal is None:
            raise VoteError(self.state.error or _("This round was dropped: ask a new question."))
        return self.state.reveal

    def stop_waiting(self) -> None:
        """Give up the place of a question whose answers have not begun."""
        if self.state.pending and not self.state.pending[1].begun:
            self.state.pending[1].cancelled.set()


class OpenRounds:
    """The rounds of this process, each under an unguessable id and tied to who opened it."""

    def __init__(self) -> None:
        self._rounds: dict[str, dict[str, Round]] = {}  # by owner, and by id in their order
        self._swept = time.monotonic()
        self._lock = threading.Lock()

    def add(self, current: Round) -> None:
        """Open a round."""
        with self._lock:
            now = time.monotonic()
            if now - self._swept > _SWEEP:
                self._swept = now
                self._rounds = {owner: own for owner in self._rounds if (own := self._kept(owner))}
            self._rounds[current.owner] = self._kept(current.owner) | {current.id: current}

    def all(self) -> list[Round]:
        """Return those of everybody."""
        with self._lock:
            return [current for own in self._rounds.values() for current in own.values()]

    def own(self, owner: str) -> list[Round]:
        """Return those of a visitor, the newest last."""
        with self._lock:
            return list(self._kept(owner).values())

    def of(self, owner: str, round_id: str) -> Round:
        """Return a visitor's round.

        Raises
        ------
        VoteError
            It is not open, or not theirs.
        """
        with self._lock:
            current = self._kept(owner).get(round_id)
        # One answer for "not yours" and "not there": a guess must not learn which.
        if current is None:
            raise VoteError(_("This round is not open (any more): ask a new question."))
        return current

    def newest(self, owner: str) -> str | None:
        """Return the id of the round that a visitor opened last; None if they have none.

        One that has broken off is left where it is.
        """
        return next((r.id for r in reversed(self.own(owner)) if not r.state.error), None)

    def _kept(self, owner: str) -> dict[str, Round]:
        """Return a visitor's rounds that are not over for long, the newest last."""
        own, now = self._rounds.get(owner, {}), time.monotonic()
        last = next(reversed(own), None)

        def lifetime(current: Round) -> float:
            done = current.state.reveal is not None and current.id != last
            return REVEALED_LIFETIME if done else ROUND_LIFETIME

        return {key: each for key, each in own.items() if now - each.opened < lifetime(each)}


# Whether a question can be answered, whichever models answer it.

LONGEST_PROMPT = 40_000  # characters
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL and halves of surrogate pairs

_TELLING = 10  # letters and digits that a text needs to tell a question that it is a part of

OVER = N_("This round is over: the models are known. Start the next one.")
STILL_WRITTEN = N_("The answers are still being written: wait, or stop them first.")


def check_question(prompt: Prompt) -> None:
    """Raise PromptError where a question is no text, or none that can be stored."""
    if not prompt.text.strip():
        raise PromptError(_("Write a question first, or choose one from the library."))
    if _UNSTORABLE.search(prompt.text):
        raise PromptError(_("The question holds characters that are no text: remove them."))
    if len(prompt.text) > LONGEST_PROMPT:
        text = _("Shorten the question: at most {most:,} characters.")
        raise PromptError(text.format(most=LONGEST_PROMPT))


def same_question(one: str, other: str) -> bool:
    """Return whether two texts ask the same, or one of them is a part of the other.

    Case, blanks, punctuation and forms of letters make no difference. Of a part, the shorter text
    has ten letters at least, and a third of the longer one's where it is cut from a question.

    Parameters
    ----------
    one : str
        What is asked now.
    other : str
        The question that it is compared with.
    """
    asked, question = _plain(one), _plain(other)
    if asked == question:
        return True
    if len(question) >= _TELLING and question in asked:
        return True
    return len(asked) >= max(_TELLING, len(question) / 3) and asked in question


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(filter(str.isalnum, folded)) or "".join(folded.split())


def request_of(models: Models, worker: Worker, battle: Battle, question: Prompt) -> Request:
    """Return what the engine needs to answer the battle's next question.

    Every model is asked, not only those of the battle. Else the prompts that are too long, or
    refused by a chat template, would tell which models a round has.

    Raises
    ------
    PromptError
        One of the models cannot answer it, or would never have room for it.
    """
    read: dict[tuple[str, int], tuple[int, ...]] = {}
    # Of a first question all places read the same, and models of one tokenizer always do. To read
    # a long one takes a while.
    known: dict[tuple[str, int], tuple[int, ...]] = {}
    try:
        for place in range(len(battle.models)):
            for model in models.values():
                alike = model.reading, place if battle.prompts else 0
                if alike not in known:
                    known[alike] = model.encode(messages(battle, place, question))
                ids = read[model.name, place] = known[alike]
                worker.check(Request((Contender(model.name, 0, ids),), battle.sampling))
    except PromptLengthError as error:
        raise PromptError(_("This conversation is too long for the models: shorten it.")) from error
    except PromptError as error:
        raise PromptError(
            _("The models cannot read this question: use other words, or start a new round.")
        ) from error
    return next_request(models, battle, question, read)
