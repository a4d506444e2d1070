"""The judge: the only client of a network in this package, through the ``openai`` SDK.

Nothing that leaves this module (answers, errors, representations) holds the key.
"""

from __future__ import annotations

import asyncio
import email.utils
import random
import time
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import urlsplit

import openai
from openai.types.chat import ChatCompletion
from openai.types.chat.chat_completion import Choice

from coupled_arena.core.errors import JudgeError, NoAnswerError
from coupled_arena.core.verdicts import Matchup, Question, Solution
from coupled_arena.judging.answer import (
    Ballot,
    Token,
    label_probabilities,
    probabilities_of,
    read_label,
)
from coupled_arena.judging.prompt import messages
from coupled_arena.judging.spec import Answer, JudgeSpec

# Which failures of a server pass, and how long to wait for that.

_PASSING = {408, 409, 425, 429}
_FIRST, _LONGEST = 0.5, 10.0  # seconds between attempts


def is_passing(error: Exception) -> bool:
    """Return whether the same request may succeed later."""
    if not isinstance(error, openai.APIStatusError):
        return True
    if error.code == "insufficient_quota":  # comes as 429, and waiting does not pay the bill
        return False
    return error.status_code in _PASSING or error.status_code >= 500


def pause(error: Exception, attempt: int, jitter: random.Random) -> float:
    """Return how many seconds to wait after a failure, the first being attempt 0.

    The server's ``Retry-After`` counts, with a little more so that not all come back at once.
    """
    backoff = min(_LONGEST, _FIRST * 2**attempt) * jitter.uniform(0.5, 1.0)
    asked = _retry_after(error)
    return backoff if asked is None else asked + jitter.uniform(0.0, 0.5)


def _retry_after(error: Exception) -> float | None:
    if not isinstance(error, openai.APIStatusError):
        return None
    given = error.response.headers.get("retry-after", "")
    if given.isascii() and given.isdigit():
        return float(given)
    date = email.utils.parsedate_tz(given)
    try:
        return None if date is None else max(email.utils.mktime_tz(date) - time.time(), 0.0)
    except (ValueError, OverflowError):  # a year that no calendar has
        return None


_KEPT = 16_384  # characters of an answer that are stored
_SHOWN = 200  # characters of a server's message that are shown
_TOP = 5  # alternatives of a token; the most that all servers grant
_REFUSALS = {400, 413, 422}
# What the SDK stumbles over, or this module, in a body that is not what it should be.
_MALFORMED = (
    openai.APIResponseValidationError,
    *(ValueError, TypeError, AttributeError, IndexError, RecursionError, OverflowError),
)
_PROBES = (
    Matchup("", 0, 1, ("What is 2 + 2?",), ("4",), ("5",)),
    Solution("", "What is 2 + 2?", "4"),
)


@dataclass(frozen=True)
class _Form:
    """What a request uses beyond the minimum, which not every server takes."""

    schema: str = "json_schema"  # or the older "json_object", or nothing
    logprobs: bool = True
    length: str = "max_tokens"

    def plainer(self, complaint: str) -> _Form | None:
        """Return the form without what a server complains of, None if nothing is left."""
        if self.length == "max_tokens" and self.length in complaint:
            return replace(self, length="max_completion_tokens")
        blamed = "response_format" in complaint or "schema" in complaint
        if self.logprobs and not (self.schema and blamed):
            return replace(self, logprobs=False)
        if self.schema:
            return replace(self, schema="json_object" if self.schema == "json_schema" else "")
        return None

    def options(self, ballot: Ballot, max_tokens: int) -> dict[str, Any]:
        """Return the request's arguments."""
        options: dict[str, Any] = {self.length: max_tokens}
        if self.schema == "json_schema":
            shape = {"name": ballot.key, "strict": True, "schema": ballot.schema}
            options["response_format"] = {"type": "json_schema", "json_schema": shape}
        elif self.schema:
            options["response_format"] = {"type": "json_object", "schema": ballot.schema}
        if self.logprobs:
            options |= {"logprobs": True, "top_logprobs": _TOP}
        return options


class Judge:
    """Asks one model for verdicts or grades; an async context manager, inside one event loop.

    Parameters
    ----------
    base_url : str
        Where the server's API begins, usually ending in ``/v1``.
    key : str
        Blank for servers that need none.
    timeout : float
        Seconds for one attempt, from the request to the answer's last byte.
    patience : float
        Seconds for all attempts at one question.

    Attributes
    ----------
    requests, errors : int
        How often its server was asked, and how often that brought no answer.
    """

    def __init__(
        self,
        spec: JudgeSpec,
        *,
        base_url: str,
        key: str = "",
        timeout: float = 60.0,
        patience: float = 180.0,
    ) -> None:
        self.spec = spec
        self._url = base_url
        self._key = key
        self._timeout = timeout
        self._patience = patience
        self._form = _Form()
        self._agreed = False  # whether the server has taken a request in this form
        self._jitter = random.Random()
        self.requests = self.errors = 0

    async def __aenter__(self) -> Self:
        # The SDK insists on a key.
        self._client = openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._url,
            max_retries=0,
            timeout=self._timeout,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    @property
    def server(self) -> str:
        """The server as messages name it: its URL without a user and password."""
        parts = urlsplit(self._url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    async def ask(self, question: Question, stopping: asyncio.Event | None = None) -> Answer:
        """Ask a question, again and again while the trouble may pass.

        Parameters
        ----------
        stopping : asyncio.Event, optional
            Once it is set nothing is attempted again.

        Raises
        ------
        NoAnswerError
            This question had no answer in time, or one that is no answer of such an API.
        JudgeError
            No question will have an answer: the key, the model or the address is wrong.
        """
        stopping = stopping or asyncio.Event()
        begun, attempt = time.monotonic(), 0
        while True:
            try:
                async with asyncio.timeout(self._timeout):
                    return await self._negotiate(question)
            except _MALFORMED:
                raise NoAnswerError(
                    f"What {self.server} answers is not of an OpenAI-compatible API: check the "
                    "base URL, which usually ends in /v1."
                ) from None
            except (openai.OpenAIError, TimeoutError) as error:
                if not is_passing(error):
                    raise JudgeError(*self._explain(error)) from None
                wait = pause(error, attempt, self._jitter)
                left = begun + self._patience - time.monotonic()
                if stopping.is_set() or wait > left:
                    raise NoAnswerError(*self._explain(error)) from None
            attempt += 1
            await _sleep(wait, stopping)

    async def _negotiate(self, question: Question) -> Answer:
        """Ask in the richest form that the server takes."""
        form = self._form
        while True:
            try:
                answer = await self._request(question, form)
            except openai.APIStatusError as error:
                if not _is_refusal(error):
                    raise
                if self._agreed and form != self._form:  # another question found out meanwhile
                    form = self._form
                    continue
                plainer = None if self._agreed else form.plainer(_message(error))
                if plainer is None:
                    return await self._refused(question, error)
                form = plainer
            else:
                if not self._agreed:
                    self._form, self._agreed = form, True
                return answer

    async def _refused(self, question: Question, error: openai.APIStatusError) -> Answer:
        """Take a refusal for the answer, if the server refuses only this question."""
        if question in _PROBES:
            raise error
        if not self._agreed:
            await self._negotiate(_PROBES[self.spec.grades])
        return Answer(None, self._cleaned(f"refused: {_message(error)}"))

    async def _request(self, question: Question, form: _Form) -> Answer:
        options = form.options(self.spec.ballot, self.spec.max_tokens)
        if self.spec.temperature is not None:
            options["temperature"] = self.spec.temperature
        chat: Any = messages(self.spec.prompt, question, self.spec.ballot)
        self.requests += 1
        try:
            completion = await self._client.chat.completions.create(
                model=self.spec.model, messages=chat, **options
            )
            return self._read(completion, self.spec.ballot)
        except BaseException:  # whatever it is; also one that took too long
            self.errors += 1
            raise

    def _read(self, completion: ChatCompletion, ballot: Ballot) -> Answer:
        if not isinstance(completion, ChatCompletion):
            raise TypeError("no chat completion")
        choice = completion.choices[0]
        content = str(choice.message.content or choice.message.refusal or "")
        label = read_label(content, ballot)
        found: dict[str, float] = {}
        if label and (tokens := _tokens(choice)):
            found = label_probabilities(content, label, ballot.labels, tokens)
        usage = completion.usage
        return Answer(
            ballot.meanings[label] if label else None,
            self._cleaned(content),
            found.get(label) if label else None,
            tokens_in=int(usage.prompt_tokens or 0) if usage else 0,
            tokens_out=int(usage.completion_tokens or 0) if usage else 0,
            probabilities=probabilities_of(ballot, found),
        )

    def _cleaned(self, text: str) -> str:
        """Return a server's text without the key, of storable length and characters."""
        if self._key:
            text = text.replace(self._key, "***")
        text = text.encode("utf-8", errors="replace").decode("utf-8")
        return text if len(text) <= _KEPT else f"{text[:_KEPT]} … ({len(text):,} characters)"

    def _explain(self, error: Exception) -> tuple[str, str]:
        """Return what went wrong, with what the server says of it and without."""
        if isinstance(error, TimeoutError | openai.APITimeoutError):
            text = f"The judge at {self.server} gave no answer within {self._timeout:.0f} s."
            return text, text
        if not isinstance(error, openai.APIStatusError):
            text = f"The judge at {self.server} cannot be reached: check address and network."
            return text, text
        message = self._cleaned(_message(error))[:_SHOWN].rstrip(". ")
        advice = {
            401: "Set its key in COUPLED_ARENA_JUDGE_KEY.",
            403: "Set a key in COUPLED_ARENA_JUDGE_KEY that may use this model.",
            404: f"Check the model's name ({self.spec.model}) and the base URL.",
        }.get(error.status_code, "")
        problem = f"The judge at {self.server} answers HTTP {error.status_code}"
        return f"{problem}: {message}. {advice}".rstrip(), f"{problem}. {advice}".rstrip()


def _is_refusal(error: openai.APIStatusError) -> bool:
    """Return whether a server takes the request for wrong, rather than itself."""
    if error.status_code == 500:  # some answer so to an option that they do not know
        return any(name in _message(error) for name in ("response_format", "logprobs"))
    return error.status_code in _REFUSALS


def _message(error: openai.APIStatusError) -> str:
    """Return what a server says of an error, on one line."""
    body: Any = error.body
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail") or body.get("error") or body
    text = str(body or error.response.text)
    if text.lstrip().startswith("<"):
        text = error.response.reason_phrase  # a page of HTML for people
    return " ".join(text.split())


def _tokens(choice: Choice) -> list[Token]:
    """Return the tokens of an answer where the server tells them, as it should."""
    try:
        listed = choice.logprobs.content or [] if choice.logprobs else []
        return [
            (
                token.token,
                {other.token: float(other.logprob) for other in token.top_logprobs or []}
                | {token.token: float(token.logprob)},
            )
            for token in listed
        ]
    except (TypeError, ValueError, AttributeError, OverflowError):
        return []


async def _sleep(seconds: float, stopping: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stopping.wait(), seconds)
    except TimeoutError:
        return
