"""The lockstep engine: every model of every running battle advances by one token a step.

Rows of one model are batched over battles; a model that has finished its answer idles, and a
cancelled battle leaves the batch at once. The position of a token is its index in the reply. So it
depends on nothing but the reply itself: neither on the batch nor on when the battle came in.
"""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

import torch

from coupled_arena.core.errors import ArenaError, ModelError
from coupled_arena.core.language import _
from coupled_arena.core.records import Battle, Reply, Sampler, Sampling
from coupled_arena.generation.byte_coupling import ByteWalk, byte_gap
from coupled_arena.generation.capacity import Capacity, Room
from coupled_arena.generation.devices import tokens_that_fit, wait_for_device
from coupled_arena.generation.draws import Draw, read_draw
from coupled_arena.generation.language_model import (
    LanguageModel,
    LocalModel,
    Reading,
    Readings,
    ServedModel,
    is_served,
)
from coupled_arena.generation.laws import told_scores
from coupled_arena.generation.model_batches import LocalBatch, ModelBatch, ServedBatch
from coupled_arena.generation.noise import POSITIONS_PER_BLOCK, GumbelCache
from coupled_arena.generation.running import Line, Request, Running, wait_for_arrival
from coupled_arena.generation.sampling import inverse_gap, outcome_scores
from coupled_arena.generation.turns import Models, before_turn, next_request

# Who decodes next: turns wait in the order they came, then their prompts are read in chunks.
#
# A turn is let in once there is room for all that it may write, so none runs out of it midway;
# those behind it wait as long as it does, so nobody is overtaken.

_PROMPT_TOKENS = 512  # read at a time, for which all that runs waits: a second or so
_READING = 10.0  # seconds after which a step reads no more: its process is ended if it lasts long
Lose = Callable[[LanguageModel, list[Running], Exception], None]


class Admission:
    """Turns that do not decode yet."""

    def __init__(self, models: Mapping[str, LanguageModel], room: Room, capacity: Capacity) -> None:
        self._readings: Readings = {}  # of the first one's prompts
        self._models = models
        self._room = room
        self._most = capacity.most_at_once
        self._waiting: list[Running] = []
        self._admitted: list[Running] = []

    @property
    def turns(self) -> list[Running]:
        """All of them, first come first."""
        return self._admitted + self._waiting

    @property
    def reads(self) -> bool:
        """Whether prompts of turns that were let in are still to be read."""
        return bool(self._admitted)

    def add(self, running: Running) -> None:
        """Take in a turn."""
        self._waiting.append(running)

    def clear(self) -> None:
        """Forget all turns."""
        self._waiting, self._admitted, self._readings = [], [], {}

    def let_in(self, decoding: int, held: Iterable[Line]) -> None:
        """Let in those for whom there is room beside so many turns, and number the others."""
        self._drop_cancelled()
        lines = [*held, *(line for running in self._admitted for line in running.lines)]
        while self._waiting:
            first = self._waiting[0]
            lines += first.lines
            full = self._most is not None and decoding + len(self._admitted) >= self._most
            if full or not self._room.holds(lines):
                break
            self._admitted.append(self._waiting.pop(0))
            first.begin()
        for ahead, running in enumerate(self._waiting):
            running.ahead = ahead

    def read(self, lose: Lose) -> list[Running]:
        """Read as many tokens of prompts as may be at a time; return who can decode now.

        Prompts that are read whole are left to whoever joins them to the batch, in one go.
        """
        read = ready = 0
        for running in self._admitted:
            left = self._left(running)
            if read + left > _PROMPT_TOKENS:
                read += self._read_chunks(running, _PROMPT_TOKENS - read, lose)
                left = 0 if running.done.is_set() else self._left(running)
                if left:
                    break
            read += left
            ready += 1
        chosen, self._admitted = self._admitted[:ready], self._admitted[ready:]
        return [running for running in chosen if not running.done.is_set()]

    def read_before(self, model: str) -> dict[tuple[int, ...], Reading]:
        """Return the prompts of which a model has read some or all, for whoever decodes now."""
        return {prompt: read for (name, prompt), read in self._readings.items() if name == model}

    def forget_read(self) -> None:
        """Drop what has been read for nobody who still waits."""
        wanted = {key for running in self._admitted[:1] for key in self._prompts(running)}
        self._readings = {key: self._readings[key] for key in self._readings.keys() & wanted}

    def _drop_cancelled(self) -> None:
        for running in self.turns:
            if running.cancelled.is_set():
                running.cancel()  # nobody waits for the answer any more: there is nothing to read
                running.publish()
        self._admitted = [running for running in self._admitted if not running.done.is_set()]
        self._waiting = [running for running in self._waiting if not running.done.is_set()]

    def _prompts(self, running: Running) -> list[tuple[str, tuple[int, ...]]]:
        """Return model and prompt of what is to be read here, each once."""
        here = (c for c in running.request.contenders if not is_served(self._models[c.model]))
        return list(dict.fromkeys((c.model, tuple(c.prompt)) for c in here))

    def _left(self, running: Running) -> int:
        """Return how many tokens of a turn's prompts are still to be read."""
        read = self._readings
        keys = self._prompts(running)
        return sum(read[key].left if key in read else len(key[1]) for key in keys)

    def _read_chunks(self, running: Running, most: int, lose: Lose) -> int:
        """Read as many chunks of a turn's prompts as have so many tokens; return how many."""
        read = 0
        for name, prompt in self._prompts(running):
            model = cast(LocalModel, self._models[name])
            try:
                if (name, prompt) not in self._readings:
                    self._readings[name, prompt] = model.start_reading(prompt)
                reading = self._readings[name, prompt]
                # What is not read in chunks is read in a step of its own, however long it is.
                while reading.left and (
                    read + reading.next <= most or (most == _PROMPT_TOKENS and not read)
                ):
                    read += reading.next
                    reading.read()
            except Exception as error:  # noqa: BLE001 - a model's program may raise anything
                self._readings.pop((name, prompt), None)  # what it holds now, nobody knows
                lose(model, [running], error)
                break
            if reading.left:
                break
        return read


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
        self._decoded_for = 0.0  # seconds of the last step
        self._tokens = 0  # of replies that have ended
        self._written: dict[str, tuple[int, float]] = {}  # tokens and seconds, by model
        self._admission = Admission(models, self.room, self.capacity)
        self._running: list[Running] = []
        self._batches: list[ModelBatch] = []
        self._noise: dict[tuple[str, torch.device], GumbelCache] = {}
        self._walks: dict[tuple[str, torch.device], ByteWalk] = {}

    @property
    def waiting(self) -> int:
        """How many turns have not begun."""
        return sum(not running.begun for running in self._admission.turns)

    @property
    def battles(self) -> int:
        """How many turns are waiting or running; who has been told of the end counts no more."""
        turns = self._admission.turns + self._running
        return sum(not running.done.is_set() for running in turns)

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

        Where a model fails, the battles that wait for a word of it end with an error. All others go
        on as if nothing had happened.
        """
        self._admit()
        began = time.perf_counter()
        for running in self._running:
            if running.cancelled.is_set():
                running.cancel()
        if self._batches and all(batch.waits for batch in self._batches):
            wait_for_arrival(_IDLE)
        for batch in self._batches:
            self._advance(batch)
        self._batches = [batch for batch in self._batches if batch.lines]
        for running in self._running:
            running.most_rows = max(running.most_rows, len(self._running))
            running.publish()
        if any(running.error is None for running in self._running):
            self.failures = 0
        over = [running for running in self._running if running.done.is_set()]
        self._tokens += sum(len(line.tokens) for running in over for line in running.lines)
        self._running = [running for running in self._running if running not in over]
        self._forget()
        self._decoded_for = time.perf_counter() - began

    def take_tokens(self) -> int:
        """Return how many tokens the replies have that have ended since this was last asked."""
        tokens, self._tokens = self._tokens, 0
        return tokens

    def speeds(self) -> dict[str, float]:
        """Return the tokens that each model has written in a second of its own steps.

        Only of models on a processor. A GPU works on while the next model begins, and a server
        while nobody looks: there a step's time says nothing of its model.
        """
        written = list(self._written.items())  # a step may add one, in another thread
        return {name: n / seconds for name, (n, seconds) in written if n}

    def fail_all(self, error: ArenaError) -> None:
        """End every turn with an error and start afresh."""
        self.failures += 1
        for running in self._admission.turns + self._running:
            running.fail(error)
        self._admission.clear()
        self._running, self._batches = [], []

    def _admit(self) -> None:
        """Let turns in, and read prompts for about as long as the last step has decoded.

        Who waits for first words and who waits for further ones have half of the time each.
        """
        began, most = time.perf_counter(), min(self._decoded_for, _READING)
        held = [line for batch in self._batches for line in batch.lines]
        self._admission.let_in(len(self._running), held)
        self._read_some()
        while self._admission.reads and self._since(began) < most:
            self._read_some()

    def _since(self, began: float) -> float:
        """Return the seconds since a moment; what GPUs were told to do until now is done."""
        for model in self.models.values():
            if not is_served(model):
                wait_for_device(cast(LocalModel, model).device)
        return time.perf_counter() - began

    def _read_some(self) -> None:
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
                self._batch_for(model, lines).admit(lines, read)
            return
        except Exception as error:  # noqa: BLE001 - a model's program may raise anything
            battles = self._battles_of(lines)
            if len(battles) == 1:
                self._lose(model, battles, error)
                return
        # Outside of the handler, for the error holds on to what had been read: memory.
        for running in battles:
            self._read(model, [line for line in lines if line in running.lines])

    def _advance(self, batch: ModelBatch) -> None:
        """Step a batch; what fails in it ends the battles with unfinished replies there."""
        lines = list(batch.lines)
        before, started = sum(len(line.tokens) for line in lines), time.perf_counter()
        try:
            batch.step(lambda line, error: self._drop(batch.model, self._battles_of([line]), error))
            if isinstance(batch, LocalBatch) and batch.model.device.type == "cpu":
                n, seconds = self._written.get(batch.model.name, (0, 0.0))
                n += sum(len(line.tokens) for line in lines) - before
                seconds += time.perf_counter() - started
                self._written[batch.model.name] = n, seconds
        except Exception as error:  # noqa: BLE001 - as above
            batch.close()
            unfinished = [line for line in lines if not line.finish]
            self._lose(batch.model, self._battles_of(unfinished), error)

    def _battles_of(self, lines: list[Line]) -> list[Running]:
        return [run for run in self._running if any(line in lines for line in run.lines)]

    def _lose(self, model: LanguageModel, battles: list[Running], error: Exception) -> None:
        self.failures += 1
        self._drop(model, battles, error)

    def _drop(self, model: LanguageModel, battles: list[Running], error: Exception) -> None:
        # Of a server's words none, which may repeat a question.
        why = type(error.__cause__).__name__ if error.__cause__ else error
        fields = {"model": model.name, "lost": len(battles), "why": why}
        if isinstance(error, ArenaError):  # where it was raised tells nobody more
            _log.error("%(model)s failed; battles lost: %(lost)d (%(why)s)", fields)
        else:
            _log.error("%(model)s failed; battles lost: %(lost)d", fields, exc_info=error)
        for running in battles:
            running.fail(decoding_failed(error))

    def _groups(self, model: LanguageModel, lines: list[Line]) -> Iterator[list[Line]]:
        if getattr(model, "batchable", True):
            yield lines
        else:
            yield from ([line] for line in lines)

    def _batch_for(self, model: LanguageModel, lines: list[Line]) -> ModelBatch:
        together = getattr(model, "batchable", True)
        for batch in self._batches:
            if batch.model is model and together:
                return batch
        most = self.room.tokens if together else lines[0].longest
        self._batches.append(self._new_batch(model, most))
        return self._batches[-1]

    def _new_batch(self, model: LanguageModel, most_tokens: int | None) -> ModelBatch:
        if is_served(model):
            return ServedBatch(model)
        local = cast(LocalModel, model)
        return LocalBatch(local, self._noise_of(local), self._walk_of(local), most_tokens)

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
        places = {line.place for batch in self._batches for line in batch.lines}
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


def score_gap(models: Models, battle: Battle, reply: Reply, index: int, outcome: int) -> float:
    """Return by how much the winning outcome beats another at one position of a stored reply.

    Computed in a batch of one, with log-weights and noise as in the draw. A gap of the size of the
    arithmetic's rounding explains a difference; a larger one does not. By inverse transform it is
    how far the number lies from the other outcome's share of the probability. By bytes it is the
    gap at the first question that the other outcome loses. Where a server holds the model, the
    outcomes count that it tells of; NaN where it tells of none.
    """
    model = models[battle.models[reply.place]]
    question = battle.prompts[reply.turn]
    request = next_request(models, before_turn(battle, reply.turn), question)
    asked = request.contenders[reply.place]
    written = reply.tokens[:index]
    contender = replace(asked, prompt=(*asked.prompt, *written), written=written)
    place = (contender.seed, reply.turn, index)
    if is_served(model):
        try:
            return _told_gap(model, contender.prompt, place, outcome, battle.sampling)
        except ModelError:  # it tells nothing
            return math.nan
    model = cast(LocalModel, model)
    batch = model.start_batch()
    batch.add([list(contender.prompt)])
    stops = torch.tensor(sorted(model.vocabulary.stops), dtype=torch.int64, device=model.device)
    scores = outcome_scores(batch.logits, stops, battle.sampling)
    if battle.sampling.by_bytes:
        line = Line(contender, request, model)
        return byte_gap(ByteWalk(model.vocabulary, model.device), scores[0], line.place, outcome)
    if battle.sampling.temperature:
        noise = GumbelCache(torch.from_numpy(model.vocabulary.keys).to(model.device))
        if battle.sampling.coupling == Sampler.INVERSE.coupling:
            return inverse_gap(scores, noise.uniforms([place]), noise.order, outcome)
        scores = scores + noise.at([place])
    return float(scores.max() - scores[0, outcome])


def _told_gap(
    model: ServedModel,
    prompt: Sequence[int],
    place: tuple[int, int, int],
    outcome: int,
    sampling: Sampling,
) -> float:
    """Return by how much the best outcome that a server tells of beats another one."""
    scores = told_scores(model, prompt, outcome, sampling)[:-1]
    noise = _told_noise(model, place, sampling)
    scores = scores if noise is None else scores + noise.numpy()
    return float(scores.max() - scores[outcome])


def _told_noise(
    model: ServedModel, place: tuple[int, int, int], sampling: Sampling
) -> torch.Tensor | None:
    if not sampling.temperature:
        return None
    return GumbelCache(torch.from_numpy(model.vocabulary.keys)).at([place])[0]


def told_draw(
    model: ServedModel,
    prompt: Sequence[int],
    place: tuple[int, int, int],
    outcome: int,
    sampling: Sampling,
    most: int,
) -> Draw:
    """Return the draw after a prompt as far as a server tells of its law.

    Parameters
    ----------
    place : (seed, turn, position)
    outcome : int
        Told in any case, however unlikely.
    most : int
        How many of the likeliest to tell, at most.

    Raises
    ------
    ModelError
        It tells nothing.
    """
    scores = torch.from_numpy(told_scores(model, prompt, outcome, sampling))
    draw = read_draw(scores[:-1], _told_noise(model, place, sampling), model.vocabulary, most)
    return replace(draw, possible=draw.possible + int(scores[-1] > -math.inf))
