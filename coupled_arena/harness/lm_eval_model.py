"""The model ``coupled`` of lm-evaluation-harness: answers of two runs share noise.

The harness looks for models in a list of its own, and knows no entry points. So this module
registers the model, and as a program then runs the harness's own command:
``python -m coupled_arena.harness.lm_eval_model run --model coupled --model_args model=NAME``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

# The harness registers its own models late, and only if no other one is there yet.
import lm_eval.models  # noqa: F401  # pyright: ignore[reportMissingImports]
from lm_eval.__main__ import cli_evaluate  # pyright: ignore[reportMissingImports]
from lm_eval.api.model import LM  # pyright: ignore[reportMissingImports]
from lm_eval.api.registry import register_model  # pyright: ignore[reportMissingImports]

from coupled_arena.core.errors import ArenaError, SettingsError
from coupled_arena.harness.answers import Answer, Answers

_MESSAGES = "messages:"  # what begins a prompt that is a conversation
_OF_TOKENS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
_KNOWN = {"until", "do_sample", "temperature", "top_k", "top_p", "seed", *_OF_TOKENS}


@register_model("coupled")
class CoupledLM(LM):
    """A model of the catalog in this process.

    Parameters
    ----------
    model : str
        As ``coupled-arena models`` lists it.
    arena : str, optional
        The TOML file of settings.
    batch_size : int or str, optional
        Answers that decode together; what is no number is 16.
    max_batch_size, device : optional
        What the harness gives every model; the catalog has its own.
    others : Any
        ``preset``, ``seed``, ``coupling`` and ``at_once``, as `Answers` takes them.
    """

    def __init__(
        self,
        model: str = "",
        *,
        arena: str | None = None,
        batch_size: int | str | None = None,
        max_batch_size: int | None = None,
        device: str | None = None,
        **others: Any,
    ) -> None:
        super().__init__()
        del max_batch_size, device
        # The harness's default is 1, which would decode one answer after the other.
        together = int(batch_size or 1) if str(batch_size or 1).isdigit() else 1
        at_once = together if together > 1 else 16
        self._answers = Answers(model, config=arena, **{"at_once": at_once, **others})

    def close(self) -> None:
        """Stop decoding."""
        self._answers.close()

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """Return an answer to each request, up to the first of its stops."""
        del disable_tqdm  # there is no bar
        return asyncio.run(self._all(requests))

    async def _all(self, requests: Sequence[Any]) -> list[str]:
        # In this order, so that a question asked again has the same noise in both runs.
        free = asyncio.Semaphore(self._answers.at_once)

        async def one(prompt: str, wanted: Mapping[str, Any]) -> str:
            async with free:
                answer = await self._answers.answer(_messages(prompt), **_settings(wanted))
            return _stopped(answer, wanted)

        return list(await asyncio.gather(*(one(*request.args) for request in requests)))

    def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> NoReturn:
        """Refuse: there is no noise in the likelihood of a given answer."""
        del disable_tqdm
        names = ", ".join(sorted({str(request.task_name) for request in requests}))
        raise ArenaError(
            f"The model `coupled` draws answers, and {names} asks for log-likelihoods, which have "
            "no noise to share: take --model hf for these, or a task of type generate_until."
        )

    loglikelihood_rolling = loglikelihood

    def apply_chat_template(
        self, chat_history: Sequence[Mapping[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """Return a conversation as a text that is the same for all models."""
        # Each model's own template follows; it continues a last message of the assistant.
        del add_generation_prompt
        return _MESSAGES + json.dumps(list(map(dict, chat_history)), ensure_ascii=False)

    @property
    def tokenizer_name(self) -> str:
        """What the harness's cache of prompts calls the conversations."""
        return "coupled-arena messages"


def _messages(prompt: str) -> list[dict[str, str]]:
    if prompt.startswith(_MESSAGES):
        with suppress(ValueError):  # a prompt may begin with the same word
            return json.loads(prompt.removeprefix(_MESSAGES))
    return [{"role": "user", "content": prompt}]


def _settings(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is wanted by the names of `Answers.answer`; without sampling as likely as can be.

    Raises
    ------
    SettingsError
        Something is wanted that would change the law of an answer, and cannot be had.
    """
    unknown = sorted(name for name in wanted if name not in _KNOWN and wanted[name])
    if unknown:
        raise SettingsError(
            f"Coupled models take no {' and no '.join(unknown)}: leave that out of --gen_kwargs."
        )
    sampled = wanted.get("do_sample", "temperature" in wanted)
    if isinstance(sampled, str):
        sampled = sampled.lower() == "true"
    found = {name: wanted[name] for name in ("top_k", "top_p", "seed") if name in wanted}
    found["temperature"] = wanted.get("temperature", 1.0) if sampled else 0.0
    most = [wanted[name] for name in _OF_TOKENS if wanted.get(name) is not None]
    return found | {"max_tokens": int(most[0])} if most else found


def _stopped(answer: Answer, wanted: Mapping[str, Any]) -> str:
    """Return an answer up to its first stop.

    An answer that is cut has the law of one that ended there: no later token can change a stop.
    """
    until = wanted.get("until") or []
    stops = [until] if isinstance(until, str) else until
    ends = [answer.text.find(stop) for stop in stops if stop]
    return answer.text[: min((end for end in ends if end >= 0), default=None)]


if __name__ == "__main__":
    cli_evaluate()
