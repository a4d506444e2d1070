"""The lockstep engine: every model of every running battle advances by one token a step.

Rows of one model are batched over battles; a model that has finished its answer idles, and a
cancelled battle leaves the batch at once. The position of a token is its index in the reply, so
it depends on nothing but the reply itself: neither on the batch nor on when the battle came in.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import torch

from coupled_arena.core.errors import ArenaError, ModelError
from coupled_arena.core.language import _
from coupled_arena.generation import arrivals
from coupled_arena.generation.admission import Admission
from coupled_arena.generation.byte_coupling import ByteWalk
from coupled_arena.generation.capacity import Capacity, Room
from coupled_arena.generation.lanes import Lane, LocalLane, ServedLane
from coupled_arena.generation.language_model import LanguageModel, LocalModel, is_served
from coupled_arena.generation.memory import tokens_that_fit
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.philox import POSITIONS_PER_BLOCK
from coupled_arena.generation.running import Line, Request, Running

_log = logging.getLogger(__name__)
_IDLE = 0.05  # seconds; who cancels is not heard of while a step waits


class LockstepEngine:
    """Decodes any number of battles at once; one thread drives it.

    Parameters
    ----------
    models : mapping of str to LanguageModel
        By name.
    capacity : Capacity
        Who comes beyond it waits.

    Attributes
    ----------
    room : Room
        Where keys and values lie.
    failures : int
        How often decoding failed since a step last went well.
    """

    def __init__(
        self, models: Mapping[str, LanguageModel], capacity: Capacity | None = None
    ) -> None:
        self.models = models
        self.capacity = capacity or Capacity()
        self.room = Room(models, self.capacity.kv_tokens or tokens_that_fit(models.values()))
        self.failures = 0
        self._tokens = 0  # of replies that have ended
        self._admission = Admission(models, self.room, self.capacity)
        self._running: list[Running] = []
        self._lanes: list[Lane] = []
        self._noise: dict[tuple[str, torch.device], GumbelCache] = {}
        self._walks: dict[tuple[str, torch.device], ByteWalk] = {}

    @property
    def battles(self) -> int:
        """How many turns are waiting or running."""
        return len(self._admission.turns) + len(self._running)

    def prepare(self, request: Request) -> Running:
        """Return a turn that waits to be added; any thread may call this.

        Raises
        ------
        PromptLengthError
            There would never be room for it.
        """
        lines = tuple(Line(c, request, self.models[c.model]) for c in request.contenders)
        self.room.check(lines)
        return Running(request, lines)

    def add(self, running: Running) -> None:
        """Take in a turn; it begins with the next step."""
        self._admission.add(running)

    def step(self) -> None:
        """Advance every model of every battle by one token.

        Where a model fails, the battles that wait for a word of it end with an error; all others
        go on as if nothing had happened.
        """
        self._admit()
        for running in self._running:
            if running.cancelled.is_set():
                running.cancel()
        if self._lanes and all(lane.waits for lane in self._lanes):
            arrivals.wait(_IDLE)
        for lane in self._lanes:
            self._advance(lane)
        self._lanes = [lane for lane in self._lanes if lane.lines]
        for running in self._running:
            running.most_rows = max(running.most_rows, len(self._running))
            running.publish()
        if any(running.error is None for running in self._running):
            self.failures = 0
        over = [running for running in self._running if running.done.is_set()]
        self._tokens += sum(len(line.tokens) for running in over for line in running.lines)
        self._running = [running for running in self._running if running not in over]
        self._forget()

    def take_tokens(self) -> int:
        """Return how many tokens the replies have that have ended since this was last asked."""
        tokens, self._tokens = self._tokens, 0
        return tokens

    def fail_all(self, error: ArenaError) -> None:
        """End every turn with an error and start afresh."""
        self.failures += 1
        for running in self._admission.turns + self._running:
            running.fail(error)
        self._admission.clear()
        self._running, self._lanes = [], []

    def _admit(self) -> None:
        held = [line for lane in self._lanes for line in lane.lines]
        self._admission.let_in(len(self._running), held)
        newcomers: dict[str, list[Line]] = defaultdict(list)
        for running in self._admission.read(self._lose):
            self._running.append(running)
            for line in running.lines:
                newcomers[line.contender.model].append(line)
        for name, lines in newcomers.items():
            for group in self._groups(self.models[name], lines):
                self._read(self.models[name], group)
        self._admission.forget_read()

    def _read(self, model: LanguageModel, lines: list[Line]) -> None:
        """Read the prompts of new lines: at once or, where that fails, battle by battle."""
        lines = [line for line in lines if not line.finish]  # another model may have failed
        try:
            if lines:
                read = self._admission.read_before(model.name)
                self._lane_for(model, lines).admit(lines, read)
            return
        except Exception as error:  # noqa: BLE001 - a model's program may raise anything
            battles = self._battles_of(lines)
            if len(battles) == 1:
                self._lose(model, battles, error)
                return
        # Outside of the handler, for the error holds on to what had been read: memory.
        for running in battles:
            self._read(model, [line for line in lines if line in running.lines])

    def _advance(self, lane: Lane) -> None:
        """Step a lane; what fails in it costs the battles whose replies it has not finished."""
        lines = list(lane.lines)
        try:
            lane.step(lambda line, error: self._drop(lane.model, self._battles_of([line]), error))
        except Exception as error:  # noqa: BLE001 - as above
            lane.close()
            unfinished = [line for line in lines if not line.finish]
            self._lose(lane.model, self._battles_of(unfinished), error)

    def _battles_of(self, lines: list[Line]) -> list[Running]:
        return [run for run in self._running if any(line in lines for line in run.lines)]

    def _lose(self, model: LanguageModel, battles: list[Running], error: Exception) -> None:
        self.failures += 1
        self._drop(model, battles, error)

    def _drop(self, model: LanguageModel, battles: list[Running], error: Exception) -> None:
        # Of a server's words none, which may repeat a question.
        why = type(error.__cause__).__name__ if error.__cause__ else error
        told = {"model": model.name, "lost": len(battles), "why": why}
        if isinstance(error, ArenaError):  # where it was raised tells nobody more
            _log.error("%(model)s failed; battles lost: %(lost)d (%(why)s)", told)
        else:
            _log.error("%(model)s failed; battles lost: %(lost)d", told, exc_info=error)
        for running in battles:
            running.fail(decoding_failed(error))

    def _groups(self, model: LanguageModel, lines: list[Line]) -> Iterator[list[Line]]:
        if getattr(model, "batchable", True):
            yield lines
        else:
            yield from ([line] for line in lines)

    def _lane_for(self, model: LanguageModel, lines: list[Line]) -> Lane:
        together = getattr(model, "batchable", True)
        for lane in self._lanes:
            if lane.model is model and together:
                return lane
        most = self.room.tokens if together else lines[0].longest
        self._lanes.append(self._new_lane(model, most))
        return self._lanes[-1]

    def _new_lane(self, model: LanguageModel, most_tokens: int | None) -> Lane:
        if is_served(model):
            return ServedLane(model)
        local = cast(LocalModel, model)
        return LocalLane(local, self._noise_of(local), self._walk_of(local), most_tokens)

    def _noise_of(self, model: LocalModel) -> GumbelCache:
        key = (model.vocabulary.fingerprint, model.device)
        if key not in self._noise:
            keys = torch.from_numpy(model.vocabulary.keys).to(model.device)
            self._noise[key] = GumbelCache(keys)
        return self._noise[key]

    def _walk_of(self, model: LocalModel) -> ByteWalk:
        key = (model.vocabulary.fingerprint, model.device)
        if key not in self._walks:
            self._walks[key] = ByteWalk(model.vocabulary, model.device)
        return self._walks[key]

    def _forget(self) -> None:
        places = {line.place for lane in self._lanes for line in lane.lines}
        blocks = {(s, turn, position // POSITIONS_PER_BLOCK) for s, turn, position in places}
        for noise in self._noise.values():
            noise.forget(blocks)


def decoding_failed(error: Exception) -> ModelError:
    """Return what those who wait for an answer are told of an error, in one line."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return ModelError(_("Decoding failed: {reason}").format(reason=reason))


def decode(engine: LockstepEngine, requests: Sequence[Request]) -> list[Running]:
    """Decode turns to their end, all at once.

    Raises
    ------
    ModelError
        One of them broke off.
    """
    runs = [engine.prepare(request) for request in requests]
    for running in runs:
        engine.add(running)
    while not all(running.done.is_set() for running in runs):
        engine.step()
    for running in runs:
        if running.error:
            raise running.error
    return runs
