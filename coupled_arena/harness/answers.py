"""Answers for a harness, one request at a time: their noise follows from what is asked.

Two runs of one task, with two models, ask the same. So their answers are coupled, whenever and
wherever they run, and nothing has to bring the models together.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from coupled_arena.core.catalog import first_problem
from coupled_arena.core.errors import PromptError, SettingsError
from coupled_arena.core.extras import require
from coupled_arena.core.records import Finish, Sampler, Sampling
from coupled_arena.core.settings import SamplingSettings, load_settings

COUPLINGS = (Sampler.GUMBEL.coupling, Sampler.BYTES.coupling)
# What would change the law of an answer, and cannot be had here.
UNKNOWN = (
    *("stop_seqs", "best_of", "frequency_penalty", "presence_penalty", "logit_bias"),
    *("logprobs", "top_logprobs", "prompt_logprobs", "response_schema"),
    *("extra_body", "reasoning_effort", "reasoning_tokens"),
)
_SEEDS = 1 << 64


@dataclass(frozen=True)
class Answer:
    """What a model wrote.

    Attributes
    ----------
    read, written : int
        Tokens of the conversation, and of the answer.
    whole : bool
        Whether the model ended it; else it was cut off.
    """

    text: str
    read: int
    written: int
    whole: bool


class Answers:
    """One model of the catalog, and the seed of its noise.

    Parameters
    ----------
    name : str
        As ``coupled-arena models`` lists it.
    config : str, optional
        TOML file with settings and a catalog.
    preset : str, optional
        A catalog that comes with the program.
    seed : int
        64 bits. Models with the same seed are coupled.
    coupling : str
        "token", or "bytes" for models of different vocabularies: the same for both.
    at_once : int
        Answers that decode together.
    unknown : Any
        What a harness passes on besides, which is refused.

    Raises
    ------
    SettingsError
        The catalog has no such model, or a setting is unknown or out of range.
    ModelError
        Its weights cannot be had.
    """

    def __init__(
        self,
        name: str,
        *,
        config: str | None = None,
        preset: str | None = None,
        seed: int = 0,
        coupling: str = COUPLINGS[0],
        at_once: int = 16,
        **unknown: Any,
    ) -> None:
        if not name:
            raise SettingsError("Name a model of the catalog: `coupled-arena models` lists them.")
        if unknown:
            known = (name for name in Answers.__init__.__kwdefaults__ or () if name != "config")
            raise SettingsError(
                f"Coupled models take {', '.join(known)}, and no {', '.join(unknown)}."
            )
        if coupling not in COUPLINGS:
            raise SettingsError(f"coupling is one of {', '.join(COUPLINGS)}, not {coupling!r}.")
        if type(at_once) is not int or at_once < 1:
            raise SettingsError(f"at_once is a whole number from 1, not {at_once!r}.")
        _check_seed(seed)
        require("arena", "A model")
        settings = load_settings(Path(config) if config else None, preset=preset)
        from coupled_arena.generation.capacity import Capacity
        from coupled_arena.generation.language_model import brings_noise
        from coupled_arena.generation.loading import load_named
        from coupled_arena.generation.lockstep import LockstepEngine
        from coupled_arena.generation.worker import EngineWorker

        models = load_named(settings, [name])
        if brings_noise(models[name]):
            raise SettingsError(
                f"{name} draws with noise of its server: a harness takes models with the arena's."
            )
        self.at_once = at_once
        self._name, self._model, self._seed = name, models[name], seed
        self._table, self._coupling = settings.sampling.model_dump(), coupling
        capacity = Capacity(most_at_once=at_once, kv_tokens=settings.battle.kv_tokens)
        self._worker = EngineWorker(LockstepEngine(models, capacity))
        self._asked: Counter[Hashable] = Counter()

    async def answer(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        repetition: int = 0,
        sample: Hashable = None,
        **given: Any,
    ) -> Answer:
        """Return the model's answer to a conversation.

        Parameters
        ----------
        messages : sequence of mapping
            Each has a ``role`` (system, user, assistant) and a ``content``.
        repetition : int
            Which answer to this conversation it is: each has noise of its own.
        sample : hashable, optional
            Who asks. The same question asked again by the same sample has new noise, too.
        given : Any
            What the harness wants: ``temperature``, ``top_k``, ``top_p``, ``max_tokens``, ``seed``.

        Raises
        ------
        SettingsError
            It wants what cannot be had here.
        PromptError
            The conversation is empty, or longer than the model's context.
        ModelError
            Decoding failed.
        """
        from coupled_arena.generation.running import Contender, Request, decoded

        if not messages:
            raise PromptError("There is no message to answer.")
        sampling = self._sampling_of(given)
        seed = _check_seed(self._seed if given.get("seed") is None else given["seed"])
        asked = sample, noise_seed(seed, messages, repetition, 0)
        noise = noise_seed(seed, messages, repetition, self._asked[asked])
        self._asked[asked] += 1
        ids = self._model.encode(list(map(dict, messages)))
        begun = messages[-1]["role"] == "assistant"
        request = Request((Contender(self._name, noise, ids),), sampling, begun=begun)
        (line,) = (await decoded(self._worker, request)).lines
        return Answer(line.text, len(ids), len(line.tokens), line.finish is Finish.STOP)

    def close(self) -> None:
        """Stop decoding."""
        self._worker.close()

    def _sampling_of(self, given: Mapping[str, Any]) -> Sampling:
        unknown = [name for name in UNKNOWN if given.get(name)]
        if (given.get("num_choices") or 1) > 1:
            unknown.append("num_choices")
        if unknown:
            raise SettingsError(
                f"Coupled models take no {' and no '.join(unknown)}: leave that out."
            )
        names = {"max_tokens": "max_new_tokens"}
        wanted = {
            names.get(name, name): given[name]
            for name in ("temperature", "top_k", "top_p", "max_tokens")
            if given.get(name) is not None
        }
        try:
            sampling = SamplingSettings(**(self._table | wanted)).sampling()
        except ValidationError as error:
            raise SettingsError(first_problem(error)) from None
        return replace(sampling, coupling=self._coupling)


def _check_seed(seed: object) -> int:
    if type(seed) is not int or not 0 <= seed < _SEEDS:
        raise SettingsError(f"seed is a whole number from 0 to 2^64 - 1, not {seed!r}.")
    return seed


def noise_seed(
    seed: int, messages: Sequence[Mapping[str, str]], repetition: int, before: int
) -> int:
    """Return the seed of an answer's noise: 64 bits, unsigned.

    It is the BLAKE2b hash with an 8-byte digest of a JSON list, in UTF-8 and without spaces. The
    list has the seed, the repetition, how often the same was asked before, and the messages. A
    message is a list of its role and its content.
    """
    said = [[each["role"], each["content"]] for each in messages]
    text = json.dumps([seed, repetition, before, said], separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
