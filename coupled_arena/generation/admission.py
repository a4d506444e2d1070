"""Who decodes next: turns wait in the order they came, then their prompts are read in chunks.

A turn is let in once there is room for all that it may write, so none runs out of it midway; those
behind it wait as long as it does, so nobody is overtaken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from coupled_arena.generation.capacity import Capacity, Room
from coupled_arena.generation.language_model import (
    LanguageModel,
    LocalModel,
    Reading,
    Readings,
    is_served,
)
from coupled_arena.generation.running import Line, Running

_PROMPT_TOKENS = 512  # read in one step, for which all that runs waits: a second or so
Lose = Callable[[LanguageModel, list[Running], Exception], None]


class Admission:
    """Turns that do not decode yet.

    Parameters
    ----------
    models : mapping of str to LanguageModel
    room : Room
    capacity : Capacity
    """

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
        """Read as many tokens of prompts as a step may; return who can decode now.

        Prompts that the step reads whole are left to whoever joins them to the batch, in one go.
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
