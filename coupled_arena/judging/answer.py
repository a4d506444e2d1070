"""What a judge may answer, and what it answered: in exactly the form asked for, or nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coupled_arena.core.records import Outcome
from coupled_arena.core.verdicts import Probabilities

REASON = "reason"


@dataclass(frozen=True)
class Ballot:
    """What a judge may answer: one label, as JSON under one key.

    Attributes
    ----------
    meanings : mapping of str to Outcome or bool
        What each label says: who is better, or whether an answer is right.
    reasons : bool
        Whether it is to give its reason before the label, under another key.
    """

    key: str
    meanings: Mapping[str, Outcome | bool]
    reasons: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """What may stand under the key."""
        return tuple(self.meanings)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of an answer."""
        reason = {REASON: {"type": "string"}} if self.reasons else {}
        properties = {**reason, self.key: {"type": "string", "enum": list(self.labels)}}
        return {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        }

    def form(self, label: str) -> str:
        """Return an answer as the judge is asked to write it."""
        reason = f'"{REASON}": "(why, in one or two sentences)", ' if self.reasons else ""
        return f'{{{reason}"{self.key}": "{label}"}}'


_VERDICTS = {"A": Outcome.FIRST, "B": Outcome.SECOND, "tie": Outcome.TIE}
VERDICT = Ballot("verdict", _VERDICTS)
VERDICT_OR_BOTH_BAD = Ballot("verdict", _VERDICTS | {"both_bad": Outcome.BOTH_BAD})
GRADE = Ballot("grade", {"right": True, "wrong": False})

_LONGEST = 4096  # characters of an answer that may still be a verdict
_FENCE = "```"

Token = tuple[str, Mapping[str, float]]
"""A token of an answer, and the logarithms of the probabilities of what it could have been."""


def read_label(raw: str, ballot: Ballot) -> str | None:
    """Return the label that an answer is, None if it is anything else.

    It is ``{"verdict": "A"}``, with any white space, by itself or in one Markdown code block.
    Nothing is searched for: an answer that only contains a verdict may be quoting one. A reason may
    stand beside it where the judge was asked for one.
    """
    given = _pairs(raw)
    if ballot.reasons and len(given) == 2:
        given = tuple(pair for pair in given if pair[0] != REASON or not isinstance(pair[1], str))
    return next((label for label in ballot.labels if given == ((ballot.key, label),)), None)


def read_reason(raw: str) -> str | None:
    """Return the reason that stands in an answer beside its verdict; None if it has none."""
    reasons = [value for key, value in _pairs(raw) if key == REASON and isinstance(value, str)]
    return reasons[0].strip() or None if reasons else None


def _pairs(raw: str) -> tuple[tuple[str, Any], ...]:
    """Return keys and values of an answer that is one JSON object; nothing of any other."""
    if len(raw) > _LONGEST:
        return ()
    text = _unfenced(raw.strip())
    try:
        # As pairs, for a repeated key would otherwise vanish.
        given = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return ()
    return tuple(given) if isinstance(given, _Pairs) else ()


def _unfenced(text: str) -> str:
    """Return what stands in a Markdown code block; any other text as it is.

    Without an expression, which takes the cube of the length on a fence before empty lines.
    """
    if not (text.startswith(_FENCE) and text.endswith(_FENCE)):
        return text
    body = text.removeprefix(_FENCE).removesuffix(_FENCE).removeprefix("json")
    end = len(body.rstrip())
    begin = len(body) - len(body.lstrip()) if end else body.find("\n") + 1  # all of it is blank
    first, last = body.rfind("\n", 0, begin), body.rfind("\n", end)
    return body[first + 1 : last] if 0 <= first < last else text


class _Pairs(tuple):
    """A JSON object, which no JSON array equals."""

    __slots__ = ()


def label_probabilities(
    raw: str, label: str, labels: Sequence[str], tokens: Sequence[Token]
) -> dict[str, float]:
    """Return the probability of each verdict, among all verdicts, at the token that tells.

    Parameters
    ----------
    raw : str
        The answer; `label` is its verdict.
    tokens : sequence of Token
        The answer's tokens in order; together they spell it.

    Returns
    -------
    dict of str to float
        Their sum is 1, and what the server does not list has 0. Empty where the tokens do not
        spell the answer or tell nothing.
    """
    spelled = "".join(token for token, _ in tokens)
    quoted = f'"{label}"'
    if raw.strip() not in spelled or quoted not in spelled:
        return {}
    at = spelled.rindex(quoted) + 1
    begin = 0
    for token, alternatives in tokens:
        if begin <= at < begin + len(token):
            lead = token[: at - begin]
            weights = dict.fromkeys(labels, 0.0)
            for other, logarithm in alternatives.items():
                if other.startswith(lead) and (begun := _begun(other[len(lead) :], labels)):
                    weights[begun] += math.exp(min(logarithm, 0.0))
            total = sum(weights.values())
            if not (total > 0 and math.isfinite(total)):
                return {}
            return {label: weight / total for label, weight in weights.items()}
        begin += len(token)
    return {}


def probabilities_of(ballot: Ballot, probabilities: Mapping[str, float]) -> Probabilities | None:
    """Return how likely each way to decide was; "both bad" prefers neither, as a tie does.

    None of a ballot that decides nothing between two answers, and without probabilities.
    """
    if not probabilities or not set(_VERDICTS.values()) <= set(ballot.meanings.values()):
        return None
    summed = dict.fromkeys(Outcome, 0.0)
    for label, probability in probabilities.items():
        summed[Outcome(ballot.meanings[label])] += probability
    neither = summed[Outcome.TIE] + summed[Outcome.BOTH_BAD]
    return Probabilities(summed[Outcome.FIRST], summed[Outcome.SECOND], neither)


def _begun(text: str, labels: Sequence[str]) -> str | None:
    """Return the label that a token's text begins, or holds with its closing quote."""
    if not text:
        return None
    for label in labels:
        if f'{label}"'.startswith(text) or text.startswith(f'{label}"'):
            return label
    return None
