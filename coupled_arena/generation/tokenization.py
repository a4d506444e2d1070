"""One model and text: conversations as ids, ids as bytes and noise keys, what ends an answer.

It needs a model's tokenizer and configuration, not its weights. So it is the same for a model that
decodes in this process and for one that a server holds.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase
from typing import Any, NamedTuple, cast

from tokenizers import Tokenizer

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError, PromptError, PromptLengthError
from coupled_arena.generation.templates import rendered
from coupled_arena.generation.vocabulary import Vocabulary, read_tokenizer

# Conversations as token ids, in which every control token is the chat template's own.
#
# A chat template writes control tokens around what was said, and a tokenizer finds them by their
# names in the whole text: a question that spells such names would open turns of its own. So what
# was said is told apart from what the template wrote, by marks on its characters, and names of
# control tokens within it are read as the words they are. Whatever spells none has the ids it
# always had.
#
# The library's `sanitize_control_tokens` sees only names that a message spells whole: none that a
# template forms by dropping words, or a normalizer by folding letters. It leaves most tokens that
# are added but not special, and knows neither models without a template nor beginnings of answers.

Message = Mapping[str, str]  # role, content

_EVERYTHING = re.compile(r"\w+|\S")
_BRACKET = re.compile(r"[<>\[\]{}|\N{FULLWIDTH VERTICAL LINE}]")
# Elements that vocabularies know as words of their own, for texts that are written in HTML.
_ELEMENT = re.compile(
    r"</?(a|b|blockquote|br|caption|code|div|em|h[1-6]|hr|i|img|li|ol|p|pre|s|span|strong|sub|sup"
    r"|table|tbody|td|tfoot|th|thead|tr|u|ul)>"
)
_PRIVATE = range(0x10FFFD, 0x100000, -1)  # characters that no text has a meaning for


class _Found(NamedTuple):
    """A control token in a text, and the characters it was read from."""

    id: int
    start: int
    end: int


def control_tokens(tokenizer: Any) -> dict[int, str]:
    """Return the tokens that no message may contain, by id.

    These are the special tokens, and of the others that were added those that are set in brackets
    or bars, or that the template writes. White space, words and HTML are read as text by any model,
    so they stay the tokens they are.
    """
    template = json.dumps(tokenizer.chat_template or "", ensure_ascii=False)
    added = tokenizer.added_tokens_decoder.items()
    return {number: token.content for number, token in added if _controls(token, template)}


def _controls(token: Any, template: str) -> bool:
    name: str = token.content
    words = re.sub(r"[\s\N{LOWER ONE EIGHTH BLOCK}]", "", name)
    if not words:
        return False
    if token.special:
        return True
    if words.isalnum():
        return False
    return name in template or bool(_BRACKET.search(name) and not _ELEMENT.fullmatch(name))


def _text_encoder(tokenizer: Any) -> Tokenizer:
    """Return what turns a text into ids, as `tokenizer` would: all of it, without padding.

    The library's own call takes longer, and some words of a text for orders: with CodeLlama's
    ``<FILL_ME>`` it fills in, and with two of them it fails.
    """
    encoder: Tokenizer = tokenizer.backend_tokenizer
    encoder.no_truncation()
    encoder.no_padding()
    encoder.encode_special_tokens = getattr(tokenizer, "split_special_tokens", False)
    return encoder


class PromptEncoder:
    """Turns conversations into ids for one tokenizer.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerFast
    options : mapping
        What the chat template is told besides the conversation.
    """

    def __init__(self, tokenizer: Any, options: Mapping[str, Any]) -> None:
        self._tokenizer = tokenizer
        self._options = options
        self._text_encoder = _text_encoder(tokenizer)
        self._control = control_tokens(tokenizer)
        ends = {name[place] for name in map(str.strip, self._control.values()) for place in (0, -1)}
        used = set("".join(self._control.values()).casefold())
        # A letter, for a run of them is few tokens; of none of the names, or it might complete one.
        self._veil = next(c for c in (*ascii_lowercase, chr(_PRIVATE.start)) if c not in used)
        self._edges = re.compile("|".join(map(re.escape, sorted(ends))) or "(?!)")

    @property
    def rules(self) -> list[Any]:
        """All that the ids of a conversation follow from, as JSON has it."""
        tokenizer = self._tokenizer
        return [
            type(tokenizer).__qualname__,
            tokenizer.backend_tokenizer.to_str(),
            tokenizer.chat_template,
            {name: str(token) for name, token in tokenizer.special_tokens_map.items()},
            getattr(tokenizer, "split_special_tokens", False),
            dict(self._options),
        ]

    def encode(self, messages: Sequence[Message], begun: str = "") -> list[int]:
        """Return the ids of a conversation and the beginning of the next answer.

        Raises
        ------
        PromptError
            The template refuses the conversation, or it cannot be read without control tokens.
        """
        if not self._tokenizer.chat_template:  # a base model continues plain text
            text = "\n\n".join([*(m["content"] for m in messages), *[begun] * bool(begun)])
            marks = _Marks.free_in(text)
            return self._ids(marks.around(_EVERYTHING, text), marks, begins=True)
        said = begun, *(message["content"] for message in messages)
        marks = _Marks.free_in(*said)
        plain, marked = self._rendered(messages, marks.around_all(_EVERYTHING, messages))
        if marks.gone(plain) != plain:  # the template writes such characters, too
            marks = _Marks.free_in(plain, *said)
            (marked,) = self._rendered(marks.around_all(_EVERYTHING, messages))
        text = self._attributed(messages, plain, marked, marks) + marks.around(_EVERYTHING, begun)
        return self._ids(text, marks, begins=False)

    def _attributed(
        self, messages: Sequence[Message], plain: str, marked: str, marks: _Marks
    ) -> str:
        """Return the rendered conversation with marks around what was said in it.

        `marked` is what the template makes of messages with marks around all words.
        """
        if marks.gone(marked) == plain:
            return marked
        (marked,) = self._rendered(marks.around_all(self._edges, messages))
        if marks.gone(marked) == plain:
            return marked
        # This template acts on names of control tokens in messages. To a visitor's it must not;
        # what a model thought aloud it may drop, as long as that leaves no control token behind.
        asked = [message for message in messages if message["role"] != "assistant"]
        rest = iter(marks.around_all(self._edges, asked))
        (kept,) = self._rendered([m if m["role"] == "assistant" else next(rest) for m in messages])
        same = self._written(kept, marks) == self._written(marked, marks)
        return kept if same else marked

    def _rendered(self, *conversations: Sequence[Message]) -> list[str]:
        try:
            template = self._tokenizer.get_chat_template()
        except ValueError as error:
            reason = str(error).splitlines()[0]
            raise PromptError(f"A chat template refuses this conversation: {reason}") from error
        known = {**self._tokenizer.special_tokens_map, **self._options}
        return rendered(template, conversations, known)

    def _written(self, text: str, marks: _Marks) -> list[int]:
        """Return the control tokens outside of all marks."""
        return [token.id for token in self._read(marks.hidden(text, self._veil), begins=False)[1]]

    def _ids(self, text: str, marks: _Marks, *, begins: bool) -> list[int]:
        plain = marks.gone(text)
        ids, found = self._read(plain, begins=begins)
        _, own = self._read(marks.hidden(text, self._veil), begins=begins)
        return ids if found == own else self._split(plain, own, begins=begins)

    def _read(self, text: str, *, begins: bool) -> tuple[list[int], list[_Found]]:
        """Return a text's ids as the tokenizer reads it, and the control tokens among them."""
        read = self._text_encoder.encode(text, add_special_tokens=begins)
        placed = zip(read.ids, read.offsets, strict=True)
        found = [_Found(number, *place) for number, place in placed if number in self._control]
        unknown = self._tokenizer.unk_token_id  # it also stands for characters without a token
        return read.ids, [
            token
            for token in found
            if token.id != unknown or self._control[unknown] in text[token.start : token.end]
        ]

    def _split(self, text: str, own: list[_Found], *, begins: bool) -> list[int]:
        """Return a text's ids where only some control tokens are such, and the rest is words."""
        splitter, stand_ins = self._splitter
        pieces, done = [], 0
        for token in own:
            pieces += [text[done : token.start]]
            if token.end > token.start:  # else it was put before or after the text
                read, name = text[token.start : token.end], self._control[token.id]
                stand_in = stand_ins[token.id]
                pieces += [read.replace(name, stand_in) if name in read else stand_in]
            done = token.end
        text = "".join([*pieces, text[done:]])
        ids: list[int] = splitter.encode(text, add_special_tokens=begins).ids
        unknown = self._tokenizer.unk_token_id
        expected = [token.id for token in own if token.id != unknown]
        if [n for n in ids if n in self._control and n != unknown] != expected:
            raise PromptError(
                "This text spells control tokens that a model cannot read as words: reword it."
            )
        return ids

    @cached_property
    def _splitter(self) -> tuple[Tokenizer, dict[int, str]]:
        """The same tokenizer with other names for its control tokens, which nobody can guess."""
        secret = secrets.token_hex(16)
        end = chr(_PRIVATE.start)
        stand_ins = {n: f"{end}{secret}-{number}{end}" for number, n in self._control.items()}
        spec = json.loads(self._tokenizer.backend_tokenizer.to_str())
        for token in spec["added_tokens"]:
            token["content"] = stand_ins.get(token["content"], token["content"])
        _rename(spec["model"], stand_ins)
        splitter = Tokenizer.from_str(json.dumps(spec))
        splitter.no_truncation()
        splitter.no_padding()
        return splitter, {number: stand_ins[name] for number, name in self._control.items()}


def _rename(model: dict[str, Any], names: Mapping[str, str]) -> None:
    """Rename entries of a tokenizer's model, so that no text can become one of them."""
    vocabulary = model["vocab"]
    if isinstance(vocabulary, dict):
        model["vocab"] = {names.get(name, name): number for name, number in vocabulary.items()}
    else:
        model["vocab"] = [[names.get(name, name), score] for name, score in vocabulary]
    if "merges" in model:
        pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
        model["merges"] = [
            pair for pair in pairs if not any(name in names for name in (*pair, "".join(pair)))
        ]
    if model.get("unk_token"):
        model["unk_token"] = names.get(model["unk_token"], model["unk_token"])


@dataclass(frozen=True)
class _Marks:
    """Two characters that a text does not hold, put around pieces of it."""

    opening: str
    closing: str

    @classmethod
    def free_in(cls, *texts: str) -> _Marks:
        taken = set().union(*texts)
        free = (chr(code) for code in _PRIVATE if chr(code) not in taken)
        return cls(next(free), next(free))

    def around(self, pieces: re.Pattern[str], text: str) -> str:
        return pieces.sub(rf"{self.opening}\g<0>{self.closing}", text)

    def around_all(
        self, pieces: re.Pattern[str], messages: Sequence[Message]
    ) -> list[dict[str, str]]:
        return [{**m, "content": self.around(pieces, m["content"])} for m in messages]

    def gone(self, text: str) -> str:
        return text.replace(self.opening, "").replace(self.closing, "")

    def hidden(self, text: str, veil: str) -> str:
        """Put a veil in place of each marked character, so that places stay what they are."""
        inside = f"[^{self.opening}{self.closing}]+"
        pairs = re.compile(f"{self.opening}({inside}){self.closing}")
        return self.gone(pairs.sub(lambda found: veil * len(found[1]), text))


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
    reading : str
        Equal for models that read every conversation as the same ids, or refuse it alike. A model
        and its quantizations do.

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
        rules = [*self._prompts.rules, spec.system_prompt, context_length, outputs]
        written = json.dumps(rules, sort_keys=True, default=str)
        self.reading = hashlib.blake2b(written.encode()).hexdigest()

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
