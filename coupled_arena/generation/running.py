"""Turns as the engine decodes them: what was asked for, and the replies as they grow.

Here the engine also waits where servers write all that runs. No model computes here: nothing of
torch is loaded, so the web server uses it, too.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Finish, Sampling
from coupled_arena.generation.draws import Draw
from coupled_arena.generation.language_model import LanguageModel

# Where the engine waits when all that runs is written by servers.

_arrived = threading.Event()


def announce_arrival() -> None:
    """Wake the engine: a token has arrived, or a stream has ended."""
    _arrived.set()


def wait_for_arrival(seconds: float) -> None:
    """Return once something has arrived since the last wait, or after so many seconds."""
    _arrived.wait(seconds)
    _arrived.clear()


OPENING = -1
"""Of a token not even whether it has bytes is known."""


@dataclass(frozen=True)
class Contender:
    """One model's part in one turn: its name, the seed of its noise, and its prompt's ids.

    The prompt may end with tokens of the answer, which are ``written``: noise goes on after them.
    Which byte of the first draw to keep, where draws are opened and noise is read for each. It is
    the one after so many ``within`` the token or, for `OPENING`, whether there is a byte at all.
    """

    model: str
    seed: int
    prompt: tuple[int, ...]
    written: tuple[int, ...] = ()
    within: int = 0


@dataclass(frozen=True)
class Request:
    """One turn of a battle, ready to decode.

    Attributes
    ----------
    opened : int
        How many of the likeliest outcomes of the first draw to keep, see `Line.draw`.
    begun : bool
        Whether words were put into the models' mouths, from which the answers go on.
    """

    contenders: tuple[Contender, ...]
    sampling: Sampling
    turn: int = 0
    opened: int = 0
    begun: bool = False


class Announced(threading.Event):
    """An event that tells it when it is first set."""

    def __init__(self, *tell: Callable[[], object]) -> None:
        super().__init__()
        self._listeners = list(tell)

    def then(self, tell: Callable[[], object]) -> None:
        """Call this, too, once it is set; at once if it is."""
        self._listeners.append(tell)
        if self.is_set():
            tell()

    def set(self) -> None:
        """Set it, and tell."""
        was_set = self.is_set()
        super().set()
        if not was_set:
            for tell in tuple(self._listeners):
                tell()


class Worker(Protocol):
    """Who decodes for many visitors at once."""

    @property
    def battles(self) -> int:
        """How many turns are waiting or running."""
        ...

    @property
    def waiting(self) -> int:
        """How many of them have not begun."""
        ...

    @property
    def alive(self) -> bool:
        """Whether turns are taken in."""
        ...

    @property
    def failing(self) -> bool:
        """Whether step after step has failed, and none gone well since."""
        ...

    @property
    def hung(self) -> bool:
        """Whether it is started again because a step did not end."""
        ...

    @property
    def quiet(self) -> bool:
        """Whether nothing has been heard of it for half a minute."""
        ...

    @property
    def away(self) -> int:
        """How many models may still join, whose servers do not answer."""
        ...

    @property
    def left_out(self) -> Mapping[str, str]:
        """Why models do not take part, by name."""
        ...

    @property
    def speeds(self) -> Mapping[str, float]:
        """The tokens that each model on a processor has written in a second of its own steps."""
        ...

    def check(self, request: Request) -> None:
        """Raise PromptLengthError where the memory never holds such a turn."""
        ...

    def submit(self, request: Request) -> Running:
        """Hand in a turn; raise PromptError where no more are taken in."""
        ...


def trouble_of(worker: Worker) -> str:
    """Return why a worker decodes nothing, for the host; empty while it does."""
    if not worker.alive and worker.hung:
        return "models are being loaded again: a step did not end"
    if not worker.alive:
        return "models are being loaded again"
    if worker.quiet:
        return "nothing is heard of the process that decodes"
    return "step after step fails" if worker.failing else ""


class Line:
    """One reply being written, token by token.

    Attributes
    ----------
    draw : Draw or None
        The first draw laid open, where that was asked for and the model computes here.
    """

    def __init__(self, contender: Contender, request: Request, model: LanguageModel) -> None:
        self.contender = contender
        self.turn = request.turn
        self.sampling = request.sampling
        self.limit = min(
            request.sampling.max_new_tokens, model.context_length - len(contender.prompt)
        )
        self.opened = request.opened
        self.draw: Draw | None = None
        self.tokens: list[int] = []
        self.text = ""
        self.finish: Finish | None = None
        self._lengths: list[int] = []  # of the text, after each token
        self._vocabulary = model.vocabulary
        self._begun = request.begun
        self._decoder = model.vocabulary.decoder(begun=request.begun)
        self._by_bytes = request.sampling.by_bytes
        self._position = self._vocabulary.first_offset(begun=self._begun) if self._by_bytes else 0
        self._move(contender.written)

    @property
    def longest(self) -> int:
        """How many tokens prompt and reply may have in all."""
        return len(self.contender.prompt) + self.limit

    @property
    def place(self) -> tuple[int, int, int]:
        """Seed and turn of the next token's noise, and its position or, by bytes, its offset."""
        return self.contender.seed, self.turn, self._position

    def take(self, outcome: int) -> None:
        """Append the drawn outcome: a token, or the end."""
        if outcome == self._vocabulary.end:
            self.end(Finish.STOP)
            return
        self.tokens.append(outcome)
        self._move((outcome,))
        self.text += self._decoder.feed(outcome)
        self._lengths.append(len(self.text))
        if len(self.tokens) >= self.limit:
            self.end(Finish.LENGTH)

    def _move(self, tokens: Iterable[int]) -> None:
        """Let the next noise be that after these tokens."""
        for token in tokens:
            if self._by_bytes:
                self._position = self._vocabulary.next_offset(self._position, token)
            else:
                self._position += 1

    def text_after(self, tokens: int) -> str:
        """Return the text of the first so many tokens, all of it where there are no more."""
        if tokens >= len(self.tokens):
            return self.text
        return self.text[: self._lengths[tokens - 1]] if tokens else ""

    def cut(self, tokens: int) -> None:
        """Stop the reply after so many tokens, unless it ended by itself before."""
        if tokens < len(self.tokens):
            del self.tokens[tokens:]
            self.text = self._vocabulary.text(self.tokens, begun=self._begun)
            self.finish = Finish.CANCELLED
        else:
            self.end(Finish.CANCELLED)

    def end(self, finish: Finish) -> None:
        """Close the reply, unless it is closed."""
        if self.finish is None:
            self.text += self._decoder.close()
            self.finish = finish


class Running:
    """A turn being decoded; other threads may read `texts`, wait for `done` and ask to cancel.

    Attributes
    ----------
    texts : tuple of str
        All replies as of the last whole step, to the same number of tokens: they grow together,
        whichever model is faster.
    begun : bool
        Whether it decodes, or did; until then it waits.
    ahead : int or None
        How many turns begin before this one; None where nobody has counted them, or it has begun.
    most_rows : int
        Most battles that decoded at the same time as this one, itself included.
    spoken : Announced
        Set once there are words.
    done : Announced
    error : ArenaError or None
        Why the turn broke off, if it did.
    """

    def __init__(self, request: Request, lines: tuple[Line, ...]) -> None:
        self.request = request
        self.lines = lines
        self.texts: tuple[str, ...] = tuple("" for _ in lines)
        self.begun = False
        self.ahead: int | None = None
        self.most_rows = 0
        self.spoken = Announced()
        self.done = Announced()
        self.cancelled = threading.Event()
        self.error: ArenaError | None = None

    def begin(self) -> None:
        """Wait no more."""
        self.begun, self.ahead = True, None

    def show(self, texts: tuple[str, ...]) -> None:
        """Make texts visible to readers."""
        self.texts = texts
        if any(texts) and not self.spoken.is_set():
            self.spoken.set()

    def publish(self) -> None:
        """Make the state after a whole step visible to readers."""
        common = self._common
        self.show(tuple(line.text_after(common) for line in self.lines))
        if all(line.finish for line in self.lines):
            self.done.set()

    def cancel(self) -> None:
        """End all replies with what its readers have seen of them."""
        common = self._common
        for line in self.lines:
            line.cut(common)

    @property
    def _common(self) -> int:
        """How many tokens may be shown: as many as the slowest unfinished reply has."""
        longest = max(len(line.tokens) for line in self.lines)
        return min((len(x.tokens) for x in self.lines if not x.finish), default=longest)

    def fail(self, error: ArenaError) -> None:
        """End the turn for a reason that is not the model's."""
        self.error = error
        self.cancel()
        self.publish()


# Waiting on an event loop for turns that another thread or process decodes.


def end_of(running: Running) -> asyncio.Event:
    """Return an event of the running loop that is set at the end of a turn."""
    return on_loop(running.done)


def on_loop(moment: Announced) -> asyncio.Event:
    """Return an event of the running loop that is set with one of other threads."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    moment.then(partial(_set, loop, event))
    return event


async def decoded(worker: Worker, request: Request) -> Running:
    """Return a turn once it is decoded; one that is given up is stopped.

    Raises
    ------
    PromptError
        Too many wait already, or there is no room for it.
    ModelError
        Decoding failed.
    """
    running = worker.submit(request)
    try:
        await end_of(running).wait()
    finally:
        running.cancelled.set()
    if running.error:
        raise running.error
    return running


def _set(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the loop is closed, and nobody waits any more
        loop.call_soon_threadsafe(ended.set)
