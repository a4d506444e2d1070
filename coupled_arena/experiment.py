"""Batch runs: generate battles that can be interrupted and continued, and replay stored ones."""

from __future__ import annotations

import hashlib
import json
import math
import random
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tqdm import tqdm

from coupled_arena.errors import PromptError
from coupled_arena.generation.lockstep import LockstepEngine, Running, decode
from coupled_arena.generation.turns import (
    Models,
    before_turn,
    check_replayable,
    next_request,
    score_gap,
    with_turn,
)
from coupled_arena.interrupts import on_interrupt
from coupled_arena.records import Battle, Finish, Mode, Origin, Prompt, Reply, Sampling, seed_to_hex
from coupled_arena.store.database import Store


@dataclass(frozen=True)
class Plan:
    """What a batch run is to make: every prompt, repetition and mode.

    Attributes
    ----------
    seed : int
        The experiment's seed; with prompt and repetition it fixes each battle's noise.
    repetitions : int
        Seeds per prompt.
    """

    prompts: tuple[Prompt, ...]
    models: tuple[str, ...]
    modes: tuple[Mode, ...]
    repetitions: int
    seed: int
    sampling: Sampling

    def battles(self) -> Iterator[tuple[Battle, Prompt]]:
        """Yield the planned battles, unanswered; the same plan yields the same ids and seeds."""
        for repetition in range(self.repetitions):
            for prompt in self.prompts:
                for mode in self.modes:
                    yield self._battle(prompt, repetition, mode), prompt

    def _battle(self, prompt: Prompt, repetition: int, mode: Mode) -> Battle:
        seed = int.from_bytes(_digest(8, self.seed, prompt.text, repetition), "little")
        identity = (self.seed, prompt.text, repetition, mode, self.models, asdict(self.sampling))
        order = list(self.models)
        random.Random(seed).shuffle(order)  # whoever annotates must not know a side by its place
        return Battle(
            id=_digest(16, *identity).hex(),
            models=tuple(order),
            mode=mode,
            seed=seed,
            nonce=secrets.token_bytes(16),
            sampling=self.sampling,
            origin=Origin.GENERATE,
            prompts=(),
            replies=(),
            experiment=seed_to_hex(self.seed),
            repetition=repetition,
        )


def _digest(size: int, *parts: object) -> bytes:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=size).digest()


@dataclass(frozen=True)
class Generated:
    """What a batch run made; ``skipped`` battles were already stored."""

    battles: int
    replies: int
    tokens: int
    seconds: float
    skipped: int


def generate(
    plan: Plan, models: Models, store: Store, *, at_once: int, progress: bool = True
) -> Generated:
    """Decode the battles of a plan that are not stored yet, and store each as it ends.

    Parameters
    ----------
    at_once : int
        Battles that decode in one batch.
    progress : bool
        Show a bar on stderr.

    Raises
    ------
    KeyboardInterrupt
        What is done is stored; the same plan goes on from there.
    """
    started = time.perf_counter()
    stored = store.battles_of(seed_to_hex(plan.seed))
    todo = [(battle, prompt) for battle, prompt in plan.battles() if battle.id not in stored]
    total = len(plan.prompts) * len(plan.modes) * plan.repetitions
    replies = tokens = 0
    interrupted = threading.Event()  # an exception in the middle of a write comes out as another
    with (
        on_interrupt(interrupted.set),
        tqdm(total=total, initial=total - len(todo), unit="battle", disable=not progress) as bar,
    ):
        for battle in _decode_all(todo, models, at_once, interrupted):
            store.add_battle(battle)
            replies += len(battle.replies)
            tokens += sum(len(reply.tokens) for reply in battle.replies)
            seconds = time.perf_counter() - started
            bar.set_postfix_str(f"{tokens / seconds:.0f} tokens/s", refresh=False)
            bar.update()
    seconds = time.perf_counter() - started
    return Generated(len(todo), replies, tokens, seconds, total - len(todo))


def _decode_all(
    todo: Iterable[tuple[Battle, Prompt]],
    models: Models,
    at_once: int,
    interrupted: threading.Event,
) -> Iterator[Battle]:
    """Yield battles as they end, refilling the batch, so that none waits for the slowest."""
    engine = LockstepEngine(models)
    waiting = iter(todo)
    active: list[tuple[Battle, Prompt, Running]] = []
    while True:
        while len(active) < at_once and (following := next(waiting, None)):
            battle, prompt = following
            running = engine.prepare(next_request(models, battle, prompt.text))
            engine.add(running)
            active.append((battle, prompt, running))
        if not active:
            return
        engine.step()
        if interrupted.is_set():
            raise KeyboardInterrupt
        ended = [entry for entry in active if entry[2].done.is_set()]
        active = [entry for entry in active if not entry[2].done.is_set()]
        yield from (with_turn(battle, prompt, run, models) for battle, prompt, run in ended)


@dataclass(frozen=True)
class Replay:
    """A battle decoded again and compared token by token.

    Attributes
    ----------
    first_difference : int or None
        Position of the first token that differs, in the first reply that does.
    turn, model : the reply it lies in
    score_gap : float or None
        By how much the token drawn now beats the stored one. A gap near 0 is the rounding of
        another batch shape, device or library version; a larger one is another model or text.
        None where the stored token could not be drawn at all.
    """

    battle: str
    identical: bool
    first_difference: int | None = None
    turn: int | None = None
    model: str | None = None
    score_gap: float | None = None


def replay(battle: Battle, models: Models) -> Replay:
    """Decode a stored battle again from its seed.

    Raises
    ------
    BattleError
        A model of it is not configured, or it holds no noise to replay.
    """
    check_replayable(battle, models)
    for turn, prompt in enumerate(battle.prompts):
        request = next_request(models, before_turn(battle, turn), prompt.text)
        lines = decode(LockstepEngine(models), [request])[0].lines
        for reply in (reply for reply in battle.replies if reply.turn == turn):
            index = _first_difference(reply, tuple(lines[reply.place].tokens))
            if index is not None:
                return _difference(battle, models, reply, index)
    return Replay(battle.id, identical=True)


def _difference(battle: Battle, models: Models, reply: Reply, index: int) -> Replay:
    model = models[battle.models[reply.place]]
    outcome = reply.tokens[index] if index < len(reply.tokens) else model.vocabulary.end
    gap = score_gap(models, battle, reply, index, outcome)
    return Replay(
        battle.id,
        identical=False,
        first_difference=index,
        turn=reply.turn,
        model=model.name,
        score_gap=gap if math.isfinite(gap) else None,
    )


def _first_difference(reply: Reply, again: tuple[int, ...]) -> int | None:
    """Return where a stored reply departs from its repetition, if it does."""
    for index, (stored, drawn) in enumerate(zip(reply.tokens, again, strict=False)):
        if stored != drawn:
            return index
    shorter = min(len(reply.tokens), len(again))
    cut = reply.finish is Finish.CANCELLED and len(again) >= len(reply.tokens)
    return None if cut or len(again) == len(reply.tokens) else shorter


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read prompts: one a line (``.txt``), or JSON lines with ``text`` or ``prompt``.

    Raises
    ------
    PromptError
        The file cannot be read, a line is wrong, or there is no prompt in it.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{path} cannot be read as UTF-8 text: {error}.") from error
    parse = _json_prompt if path.suffix == ".jsonl" else (lambda line, _: Prompt(line.strip()))
    prompts = tuple(
        parse(line, f"{path}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    )
    if not prompts:
        raise PromptError(f"{path} holds no prompt.")
    return prompts


def _json_prompt(line: str, where: str) -> Prompt:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise PromptError(f"{where}: not valid JSON ({error.msg}).") from error
    text = (row.get("text") or row.get("prompt")) if isinstance(row, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise PromptError(f'{where}: needs a "text" (or "prompt") that is not blank.')
    known = (row.get(key) for key in ("id", "category", "language"))
    name, category, language = (None if value is None else str(value) for value in known)
    return Prompt(text, name, category, language)
