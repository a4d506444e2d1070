"""Inspect's provider ``coupled``: ``inspect eval TASK --model coupled/NAME -M seed=7``.

Inspect finds this module by its entry point, and gives it what stands after ``-M``.
"""

from __future__ import annotations

from typing import Any

from inspect_ai.model import (  # pyright: ignore[reportMissingImports]
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.solver._task_state import (  # pyright: ignore[reportMissingImports]
    sample_state,  # nothing public tells an answer's epoch
)

from coupled_arena.core.errors import PromptError
from coupled_arena.harness.answers import Answers


class CoupledModel(ModelAPI):
    """A model of the catalog in this process.

    Parameters
    ----------
    model_name : str
    model_args : Any
        ``arena``, the TOML file of settings; and those of `Answers`.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        *,
        arena: str | None = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        self._answers = Answers(model_name, config=arena, **model_args)

    async def generate(
        self, input: list[ChatMessage], tools: list[Any], tool_choice: Any, config: GenerateConfig
    ) -> ModelOutput:
        """Answer a conversation without tools."""
        del tool_choice  # there are no tools to choose from
        if tools:
            raise PromptError("Coupled models call no tools: take a task without them.")
        state = sample_state()
        answer = await self._answers.answer(
            [_said(message) for message in input],
            repetition=state.epoch - 1 if state else 0,
            sample=state.uuid if state else None,
            **config.model_dump(),
        )
        reason = "stop" if answer.whole else "max_tokens"
        output = ModelOutput.from_content(self.model_name, answer.text, stop_reason=reason)
        total = answer.read + answer.written
        output.usage = ModelUsage(
            input_tokens=answer.read, output_tokens=answer.written, total_tokens=total
        )
        return output

    def max_connections(self) -> int:
        """Return how many answers decode together."""
        return self._answers.at_once

    async def aclose(self) -> None:
        """Stop decoding."""
        self._answers.close()


def _said(message: ChatMessage) -> dict[str, str]:
    texts = isinstance(message.content, str) or all(
        part.type in ("text", "reasoning") for part in message.content
    )
    if message.role == "tool" or not texts:
        raise PromptError("Coupled models read texts alone, without pictures, sounds or tools.")
    return {"role": message.role, "content": message.text}


@modelapi(name="coupled")
def coupled() -> type[ModelAPI]:
    """Return the provider."""
    return CoupledModel
