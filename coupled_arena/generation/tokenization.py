"""One model and text: conversations as ids, ids as bytes and noise keys, what ends an answer.

It needs a model's tokenizer and configuration, not its weights, so it is the same for a model that
decodes in this process and for one that a server holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError, PromptError, PromptLengthError
from coupled_arena.generation.prompt_encoding import Message, PromptEncoder
from coupled_arena.generation.vocabulary import Vocabulary, read_tokenizer


class Tokenization:
    """What a model reads and writes.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerFast
    generation_config : transformers.GenerationConfig or None
        Declares ids that end an answer.
    outputs : int
        Width of the model's output layer.
    context_length : int
        Most tokens of prompt and reply together.

    Attributes
    ----------
    vocabulary : Vocabulary
    context_length : int

    Raises
    ------
    ModelError
        The tokenizer cannot be coupled, a stop token of the catalog is not in it, or its chat
        template takes no question.
    """

    def __init__(
        self,
        spec: ModelSpec,
        tokenizer: Any,
        generation_config: Any,
        *,
        outputs: int,
        context_length: int,
    ) -> None:
        self._spec = spec
        self._prompts = PromptEncoder(tokenizer, spec.chat_template_options)
        self.context_length = context_length
        stops = _stops(spec, generation_config, tokenizer)
        self._outputs = outputs
        try:
            self.vocabulary: Vocabulary = read_tokenizer(tokenizer, outputs, stops)
        except ModelError as error:
            raise ModelError(f"Model {spec.name!r} cannot be coupled: {error}") from error
        self._probe()

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return the token ids of a conversation, ready for the next answer.

        A last message of the assistant is the beginning of that answer. The model's own system
        prompt gives way to one of the conversation.

        Raises
        ------
        PromptLengthError
            The conversation leaves no room for an answer in the model's context.
        PromptError
            The model's chat template refuses it.
        """
        if self._spec.system_prompt and messages[0]["role"] != "system":
            messages = [{"role": "system", "content": self._spec.system_prompt}, *messages]
        begun = messages[-1]["content"] if messages[-1]["role"] == "assistant" else ""
        ids = self._prompts.encode(messages[:-1] if begun else messages, begun)
        if len(ids) >= self.context_length:
            raise PromptLengthError(
                f"The conversation has {len(ids):,} tokens and the models here read at most "
                f"{self.context_length:,}: shorten it."
            )
        if max(ids, default=0) >= self._outputs:  # a mark of the tokenizer's that was never trained
            raise PromptError(f"{self._spec.name} has no weights for a token of this conversation.")
        return tuple(ids)

    def _probe(self) -> None:
        """Refuse a template that takes no question, say for the system prompt of the catalog."""
        try:
            self.encode([{"role": "user", "content": "Hello"}])
        except PromptError as error:
            raise ModelError(f"Model {self._spec.name!r} can be asked nothing: {error}") from error


def _stops(spec: ModelSpec, generation_config: Any, tokenizer: Any) -> set[int]:
    """Return the ids that end an answer: the model's, the tokenizer's and the catalog's."""
    declared = getattr(generation_config, "eos_token_id", None)
    stops = set(declared if isinstance(declared, list) else [declared])
    stops.add(tokenizer.eos_token_id)
    known = tokenizer.get_vocab()
    for token in spec.stop_tokens:
        if token not in known:
            raise ModelError(f"Model {spec.name!r}: stop token {token!r} is not in its vocabulary.")
        stops.add(known[token])
    return cast(set[int], stops - {None})
