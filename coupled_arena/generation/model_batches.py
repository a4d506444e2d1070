"""The replies of one model that are written together, for the engine.

A model in this process writes one token of each reply a step. A server writes at its own pace, and
a step takes in what has arrived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Protocol

import torch

from coupled_arena.core.records import Finish, Sampler, Sampling
from coupled_arena.generation.byte_coupling import ByteWalk, lay_open
from coupled_arena.generation.devices import to_device
from coupled_arena.generation.draws import Draw, read_draw
from coupled_arena.generation.language_model import (
    LanguageModel,
    LocalModel,
    Reading,
    ServedModel,
    Stream,
)
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.running import Line
from coupled_arena.generation.sampling import (
    NO_NUMBER,
    NOT_AMONG,
    draw,
    draw_at,
    draw_inverse,
    draw_likeliest,
    has_few,
    outcome_scores,
)

Fail = Callable[[Line, Exception], None]


class ModelBatch(Protocol):
    """Replies of one model.

    Attributes
    ----------
    waits : bool
        Whether a step may have nothing to do but wait.
    """

    waits: bool

    @property
    def model(self) -> LanguageModel:
        """Who writes them."""
        ...

    @property
    def lines(self) -> list[Line]:
        """The replies that are not finished."""
        ...

    def admit(self, lines: list[Line], read: Mapping[tuple[int, ...], Reading]) -> None:
        """Take in new lines, of whose prompts some may have been read before."""
        ...

    def step(self, fail: Fail) -> None:
        """Advance all lines; tell of those that cannot go on."""
        ...

    def close(self) -> None:
        """Drop all lines."""
        ...


class LocalBatch:
    """Replies that are decoded here, in one batch."""

    waits = False

    def __init__(
        self, model: LocalModel, noise: GumbelCache, walk: ByteWalk, most_tokens: int | None
    ) -> None:
        self.model = model
        self.lines: list[Line] = []
        self._noise = noise
        self._walk = walk
        self._batch = model.start_batch(most_tokens)
        self._stops = torch.tensor(
            sorted(model.vocabulary.stops), dtype=torch.int64, device=model.device
        )

    def admit(self, lines: list[Line], read: Mapping[tuple[int, ...], Reading]) -> None:
        """Read the prompts of new lines."""
        self._batch.add([line.contender.prompt for line in lines], read)
        self.lines += lines

    def step(self, fail: Fail) -> None:  # noqa: ARG002 - one line cannot fail alone
        """Draw one token for every line, then compute the next logits of those that go on."""
        self._drop_finished()  # cancelled since the last step
        self._draw()
        self._drop_finished()
        if self.lines:
            last = torch.tensor([line.tokens[-1] for line in self.lines])
            self._batch.advance(to_device(last, self.model.device))

    def close(self) -> None:
        """Drop all lines."""
        self.lines = []  # a failed step may have drawn for some of them and not for others

    def _draw(self) -> None:
        """Draw a token for every line; this is where a step waits for the device, once."""
        groups = self._by_sampling()
        drawn = [self._drawn(sampling, rows) for sampling, rows in groups.items()]
        rows = [row for chosen in groups.values() for row in chosen]
        outcomes = torch.cat(drawn).tolist() if drawn else []
        outcomes = self._from_all(rows, outcomes)
        if NO_NUMBER in outcomes:
            raise ValueError("The model computed what is no number.")
        for row, outcome in zip(rows, outcomes, strict=True):
            self.lines[row].take(outcome)

    def _from_all(self, rows: list[int], outcomes: list[int]) -> list[int]:
        """Draw those again that were not among the likeliest; rarely there are any."""
        missing = [row for row, outcome in zip(rows, outcomes, strict=True) if outcome == NOT_AMONG]
        if not missing:
            return outcomes
        groups: dict[Sampling, list[int]] = defaultdict(list)
        for row in missing:
            groups[self.lines[row].sampling].append(row)
        again: dict[int, int] = {}
        for sampling, some in groups.items():
            again.update(zip(some, self._drawn(sampling, some, few=False).tolist(), strict=True))
        return [again.get(row, outcome) for row, outcome in zip(rows, outcomes, strict=True)]

    def _drawn(self, sampling: Sampling, rows: list[int], *, few: bool = True) -> torch.Tensor:
        """Return the outcomes of lines with the same sampling.

        Parameters
        ----------
        few : bool
            Whether a GPU may draw among the likeliest alone; `NOT_AMONG` where others count too.
        """
        logits = self._batch.logits
        if len(rows) < len(self.lines):
            logits = logits[to_device(torch.tensor(rows), self.model.device)]
        if few and self._has_few(logits, sampling, rows):
            places = [self.lines[row].place for row in rows]
            return draw_likeliest(logits, self._stops, sampling, self._noise, places)
        scores = outcome_scores(logits, self._stops, sampling)
        self._open(scores, rows)
        if not sampling.temperature:
            return draw(scores, None)
        places = [self.lines[row].place for row in rows]
        if sampling.by_bytes:
            return self._walk.draw(scores, places)
        if sampling.coupling == Sampler.INVERSE.coupling:
            return draw_inverse(scores, self._noise.uniforms(places), self._noise.order)
        if scores.device.type == "cpu":
            return draw_at(scores, self._noise, places)
        # On a GPU all noise is made in the time in which one would ask how little is needed.
        return draw(scores, self._noise.at(places))

    def _has_few(self, logits: torch.Tensor, sampling: Sampling, rows: list[int]) -> bool:
        """Tell whether a draw among the likeliest will do, and nobody wants to see it."""
        seen = any(self.lines[row].opened and not self.lines[row].tokens for row in rows)
        plain = sampling.coupling == Sampler.GUMBEL.coupling and logits.device.type != "cpu"
        return plain and not seen and has_few(sampling, logits.shape[1])

    def _open(self, scores: torch.Tensor, rows: list[int]) -> None:
        """Keep what is behind the first draw of those lines for which that was asked."""
        for at, line in enumerate(self.lines[row] for row in rows):
            if line.opened and not line.tokens:
                line.draw = self._laid_open(scores[at], line)

    def _laid_open(self, scores: torch.Tensor, line: Line) -> Draw:
        if line.sampling.by_bytes:
            return lay_open(self._walk, scores, line.place, line.contender.within, line.opened)
        noise = self._noise.at([line.place])[0] if line.sampling.temperature else None
        return read_draw(scores, noise, self.model.vocabulary, line.opened)

    def _by_sampling(self) -> dict[Sampling, list[int]]:
        groups: dict[Sampling, list[int]] = defaultdict(list)
        for row, line in enumerate(self.lines):
            groups[line.sampling].append(row)
        return groups

    def _drop_finished(self) -> None:
        rows = [row for row, line in enumerate(self.lines) if not line.finish]
        if len(rows) < len(self.lines):
            self.lines = [self.lines[row] for row in rows]
            self._batch.keep(rows)


class ServedBatch:
    """Replies that a server writes."""

    waits = True

    def __init__(self, model: ServedModel) -> None:
        self.model = model
        self._streams: dict[Line, Stream] = {}

    @property
    def lines(self) -> list[Line]:
        """The replies that are not finished."""
        return list(self._streams)

    def admit(
        self,
        lines: list[Line],
        read: Mapping[tuple[int, ...], Reading],  # noqa: ARG002 - a server reads by itself
    ) -> None:
        """Ask the server for new replies."""
        for line in lines:
            self._streams[line] = self.model.start_stream(
                line.contender.prompt, line.contender.seed, line.turn, line.sampling, line.limit
            )

    def step(self, fail: Fail) -> None:
        """Take in the tokens that have arrived."""
        for line, stream in list(self._streams.items()):
            if not line.finish:
                self._take(line, stream, fail)
            if line.finish:
                stream.close()
                del self._streams[line]

    def close(self) -> None:
        """Drop all lines."""
        for stream in self._streams.values():
            stream.close()
        self._streams = {}

    @staticmethod
    def _take(line: Line, stream: Stream, fail: Fail) -> None:
        stopped = stream.stopped  # asked before the tokens: there are none after it
        try:
            for token in stream.tokens_after(len(line.tokens)):
                if not line.finish:
                    line.take(token)
            if stopped:
                line.end(Finish.STOP)
            stream.check()
        except Exception as error:  # noqa: BLE001 - a server may fail in any way
            if not line.finish:
                fail(line, error)
