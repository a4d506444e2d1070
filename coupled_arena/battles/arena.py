"""Rounds: one visitor's battle from the question to the reveal.

A round lives in this process under an unguessable id, tied to the visitor who opened it. Its battle
is stored once the answers are done, stopped or voted on.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from coupled_arena.battles.blind_view import Reveal, RoundView
from coupled_arena.battles.pair_sampling import ArenaRules, WhoseTurn, new_battle
from coupled_arena.battles.rounds import (
    OVER,
    STILL_WRITTEN,
    OpenRounds,
    Round,
    check_comparable,
    check_question,
    check_ranks,
    level,
    request_of,
    same_words,
)
from coupled_arena.battles.undo import Votes, check_open
from coupled_arena.battles.viewers import Viewers
from coupled_arena.core.errors import ArenaError, PromptError, VoteError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Battle, Finish, Prompt, Source, Vote, new_id
from coupled_arena.generation.running import Worker, trouble_of
from coupled_arena.generation.turns import Models, settled, with_turn
from coupled_arena.store.database import Store

_log = logging.getLogger(__name__)
_BROKEN = N_("The models broke off, and this round was dropped. Start another.")
_NOT_BEGUN = N_("This question was dropped before its answers began.")
_ASKED_BLIND = N_(
    "This question is open in your battle: vote there first, then compare models on it."
)
_COMPARED = N_("You compared named models on this question, so it is over. Ask another one.")
_ASKED_TWICE = N_(
    "You have yet to vote on this question: vote in that battle first, or ask something else."
)
_ASKED_AGAIN = N_("You asked this question again, so this battle is over.")
_STORING = 64  # rounds that are stored at the same time
_LAST_STEP = 3.0  # seconds that a step of the engine may still take when the arena closes


class Arena:
    """All rounds of this process.

    Parameters
    ----------
    models : mapping of str to LanguageModel
        The models that take part.
    worker : Worker
        Decodes for everybody.
    store : Store
        Where battles and votes go.
    rng : random.Random
        Source of pairs, sides, modes and seeds; unpredictable unless a test says otherwise.
    whose_turn : WhoseTurn, optional
        How likely pairs are; all alike without it.
    """

    def __init__(
        self,
        models: Models,
        worker: Worker,
        store: Store,
        rules: ArenaRules,
        rng: random.Random | None = None,
        whose_turn: WhoseTurn | None = None,
    ) -> None:
        self.models = models
        self.worker = worker
        self.store = store
        self._draw = partial(
            new_battle,
            sampling=rules.sampling,
            coupled_share=rules.coupled_share,
            rng=rng or random.SystemRandom(),
        )
        self._whose_turn = whose_turn
        self._rounds = OpenRounds()
        self.round_of = self._rounds.of
        self._asking = threading.Lock()
        self._viewers = Viewers(rules.patience)
        self._storing = ThreadPoolExecutor(_STORING, "storing")
        self._votes = Votes(store, rules.undo_seconds, held_over=rules.held_over)
        for current in self._votes.left_over():
            self._rounds.add(current)
        self.named = self._votes.named
        self.closing = False  # no more questions are taken, and answers stop

    def trouble(self) -> str:
        """Return why new rounds are not answered, for the host; empty while they are."""
        return trouble_of(self.worker)

    def close(self) -> None:
        """Take no more questions, stop the answers and store them as they are."""
        self.closing = True
        self._votes.close()
        running = [current for current in self._rounds.all() if current.state.pending]
        for current in running:
            self.stop(current.owner, current.id)
        deadline = time.monotonic() + _LAST_STEP
        for current in running:
            self._close(current, deadline)

    def _close(self, current: Round, deadline: float) -> None:
        pending = current.state.pending
        if pending and not pending[1].done.wait(max(0.0, deadline - time.monotonic())):
            _log.warning("A round was dropped: its answers did not stop in time.")
            return
        try:
            self._settle(current)
        except ArenaError as error:
            _log.warning("A round was dropped: %s", error)

    def ask(self, owner: str, prompt: Prompt, size: int = 2) -> str:
        """Open a round on a prompt and return its id; the answers begin once there is room.

        A question of the same visitor that still waits for its answers gives up its place.

        Raises
        ------
        PromptError
            The prompt is blank or too long, or too many battles run and wait. Or the visitor has
            yet to vote on this question in another round.
        """
        names = tuple(self.models)
        chances = self._whose_turn.chances(names) if self._whose_turn else None
        drawn = self._draw(names, size, chances=chances)
        sampling = settled(drawn.sampling, drawn.models, self.models)
        current = Round(owner, replace(drawn, sampling=sampling))
        self._begin(current, prompt)
        return current.id

    def follow_up(self, owner: str, round_id: str, text: str) -> None:
        """Continue a round with another question to the same models."""
        current = self._rounds.of(owner, round_id)
        with current.changing:
            if current.state.reveal:
                raise PromptError(_(OVER))
            if current.state.held or current.state.judging:
                raise PromptError(
                    _("You have voted, or the judge is reading: undo that to ask on.")
                )
            if current.state.error:
                raise PromptError(current.state.error)
            if current.state.pending:
                raise PromptError(_(STILL_WRITTEN))
            self._begin(current, Prompt(text))

    def view(self, owner: str, round_id: str) -> RoundView:
        """Return what the visitor may see of a round of theirs."""
        return self._rounds.of(owner, round_id).state.view()

    async def watch(self, owner: str, round_id: str) -> AsyncGenerator[RoundView]:
        """Yield a running round again and again until its turn is over.

        Answers that nobody watches any more are stopped, unless their visitor is expected.
        """
        current = self._rounds.of(owner, round_id)
        if pending := current.state.pending:
            with self._viewers.watching(current, pending[1]) as moments:
                while not pending[1].done.is_set():
                    yield current.state.view()
                    await self._viewers.pause(moments)
        yield await self.look(owner, round_id)

    async def look(self, owner: str, round_id: str) -> RoundView:
        """Return what the visitor may see; what is over is stored first: a turn, a vote's time."""
        current = self._rounds.of(owner, round_id)
        if current.state.held:
            await self._stored(self._votes.confirm_if_due, current)
        pending = current.state.pending
        if pending and pending[1].done.is_set():
            await self._stored(self._settle, current)
        return current.state.view()

    async def _stored(self, work: Callable[[Round], object], current: Round) -> None:
        """Do what waits for the store in one of many threads: writes that wait are shared."""
        await asyncio.get_running_loop().run_in_executor(self._storing, work, current)

    def expect(self, owner: str, round_id: str | None = None) -> None:
        """Let a visitor's answers go on for the patience: they are about to watch them.

        If a round is named, its answers are stopped unless they are watched then.
        """
        self._viewers.expect(owner)
        current = self._rounds.of(owner, round_id) if round_id else None
        if current and current.state.pending:
            self._viewers.stop_unwatched(current, current.state.pending[1])

    def newest(self, owner: str) -> str | None:
        """Return the id of the round that the visitor opened last; None if they have none."""
        return self._rounds.newest(owner)

    def stop(self, owner: str, round_id: str) -> None:
        """Stop the answers of a round where they are; it can still be voted on."""
        current = self._rounds.of(owner, round_id)
        if current.state.pending:
            current.state.pending[1].cancelled.set()

    def vote(
        self,
        owner: str,
        round_id: str,
        ranks: Sequence[int],
        *,
        both_bad: bool = False,
        origin: str | None = None,
    ) -> Reveal | None:
        """Record a vote and return who was who; blocks until the vote is safe on disk.

        Nobody is told who was who, and None is returned, as long as the vote can be undone.

        Parameters
        ----------
        ranks : sequence of int
            Rank of each answer in order of presentation, 1 is best, equal ranks are ties.
        both_bad : bool
            All answers are bad; all ranks are 1.
        origin : str, optional
            Where the vote came from, see `Origins`; stored with the vote in one transaction.

        Raises
        ------
        VoteError
            Not the visitor's round, already voted on, or nothing to see yet. Or ranks that do not
            order its answers, or that order answers with the same words.
        """
        current = self._rounds.of(owner, round_id)
        with current.changing:
            check_open(current)
            if current.state.error:
                raise VoteError(current.state.error)
            checked = check_ranks(ranks, len(current.state.battle.models), both_bad=both_bad)
            pending = current.state.pending
            early = pending is not None and pending[1].begun and not pending[1].done.is_set()
            seen = current.state.view().conversations
            check_comparable(checked, seen, running=early)
            self._settle(current)
            if current.state.reveal or current.state.error:
                return current.revealed()
            # The last step of a model may have brought it to where another one already was.
            kept = current.state.view().conversations
            check_comparable(checked, kept, running=False)
            same = same_words(seen, kept)
            ranks = level(checked, same)
            vote = Vote(
                new_id(), current.state.battle.id, owner, ranks, both_bad, Source.HUMAN, early
            )
            return self._votes.cast(current, vote, same, origin)

    def undo(self, owner: str, round_id: str) -> None:
        """Take back a vote whose time is not over; answers that it stopped stay stopped.

        Raises
        ------
        VoteError
            Not the visitor's round, or no vote of it can be undone.
        """
        self._votes.undo(self._rounds.of(owner, round_id))

    def confirm(self, owner: str, round_id: str) -> None:
        """Let a vote count before its time is over, and tell who was who."""
        self._votes.confirm(self._rounds.of(owner, round_id))

    def explain(self, owner: str, vote: str, criteria: object, comment: object) -> None:
        """Store why a vote of the visitor's was cast; see `Votes.explain`."""
        self._votes.explain(owner, vote, criteria, comment, self._rounds.own(owner))

    def check_named(self, owner: str, text: str) -> None:
        """Keep a visitor's rounds blind when named models are to answer a text.

        Named answers to the same question tell who is who. Of earlier rounds, which the page shows
        no more, those on this question are over.

        Raises
        ------
        PromptError
            The visitor's newest round, or one whose vote can be undone, has this question.
        """
        self._keep_blind(owner, text, _ASKED_BLIND, _COMPARED)

    def _keep_blind(
        self, owner: str, text: str, open_now: str, over: str, asking: Round | None = None
    ) -> None:
        """Refuse a text that a visitor's open battle asks; end earlier ones that ask it.

        The round that asks does not matter, nor one whose answers have not begun: it gives up its
        place. A vote that can be undone counts at once.
        """
        newest = self.newest(owner)
        for current in self._rounds.own(owner):
            if current is asking or not current.asks(text):
                continue
            with current.changing:
                state = current.state
                if state.reveal or state.error:
                    continue
                if asking and not state.battle.prompts:
                    current.stop_waiting()
                    if state.pending and not state.pending[1].begun:
                        continue
                if asking and state.held:
                    self._votes.confirm(current)
                    continue
                if current.id == newest or state.held or state.judging:
                    raise PromptError(_(open_now))
                self.stop(owner, current.id)
                current.change(error=_(over))

    def revealed_battle(self, owner: str, round_id: str) -> Battle:
        """Return the battle of a round that was voted on; raise VoteError before."""
        state = self._rounds.of(owner, round_id).state
        if not state.reveal:
            raise VoteError(_("Vote first: the names are shown after your vote."))
        return state.battle

    def _begin(self, current: Round, prompt: Prompt) -> None:
        check_question(prompt)
        if self.closing:
            raise PromptError(_("The arena is closing. Try again in a minute."))
        self.store.check_file()  # nobody should read answers that cannot be voted on
        request = request_of(self.models, self.worker, current.state.battle, prompt)
        with self._asking:
            self._keep_blind(current.owner, prompt.text, _ASKED_TWICE, _ASKED_AGAIN, current)
            current.change(pending=(prompt, self.worker.submit(request)))
            self._rounds.add(current)
            for other in self._rounds.own(current.owner):
                if other is not current:
                    other.stop_waiting()

    def _settle(self, current: Round) -> None:
        """Stop the running turn if it is not done, store it, and tie identical answers."""
        with current.changing:
            if not current.state.pending or current.state.error:
                return
            prompt, running = current.state.pending
            running.cancelled.set()
            running.done.wait()
            if running.error:
                current.change(error=_(_BROKEN))  # what has been said stays in sight
                return
            if not running.begun:
                self._withdraw(current)
                return
            battle = with_turn(current.state.battle, prompt, running, self.models)
            whole = all(reply.finish is not Finish.CANCELLED for reply in battle.replies)
            if whole and battle.identical:
                self._votes.tie(current, battle)
                return
            self.store.add_battle(battle)
            current.change(battle=battle, pending=None)

    def _withdraw(self, current: Round) -> None:
        """Undo a question that was never answered: nothing of it is worth a vote."""
        if current.state.battle.prompts:
            current.change(pending=None)
        else:
            current.change(error=_(_NOT_BEGUN))
