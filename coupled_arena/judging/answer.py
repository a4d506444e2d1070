"""What a judge answered: a verdict in exactly the form asked for, or none."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from coupled_arena.records import Outcome

LABELS = {
    "A": Outcome.FIRST,
    "B": Outcome.SECOND,
    "tie": Outcome.TIE,
    "both_bad": Outcome.BOTH_BAD,
}
_LONGEST = 4096  # characters of an answer that may still be a verdict
_CODE_BLOCK = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)

Token = tuple[str, Mapping[str, float]]
"""A token of an answer, and the logarithms of the probabilities of what it could have been."""


def allowed_labels(*, both_bad: bool) -> tuple[str, ...]:
    """Return the verdicts that a judge may give, as it spells them."""
    return tuple(label for label in LABELS if both_bad or LABELS[label] is not Outcome.BOTH_BAD)


def schema(labels: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of an answer."""
    return {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": list(labels)}},
        "required": ["verdict"],
        "additionalProperties": False,
    }


def read_label(raw: str, labels: Sequence[str]) -> str | None:
    """Return the verdict that an answer is, None if it is anything else.

    It is ``{"verdict": "A"}``, with any white space, by itself or in one Markdown code block.
    Nothing is searched for: an answer that only contains a verdict may be quoting one.
    """
    if len(raw) > _LONGEST:
        return None
    text = raw.strip()
    if block := _CODE_BLOCK.fullmatch(text):
        text = block[1]
    try:
        # As pairs, for a repeated key would otherwise vanish.
        said = json.loads(text, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return None
    return next((label for label in labels if said == (("verdict", label),)), None)


def label_probability(
    raw: str, label: str, labels: Sequence[str], tokens: Sequence[Token]
) -> float | None:
    """Return the probability of the verdict given, among all verdicts, at the token that tells.

    Parameters
    ----------
    raw : str
        The answer; `label` is its verdict.
    tokens : sequence of Token
        The answer's tokens in order; together they spell it.

    Returns
    -------
    float or None
        None where the tokens do not spell the answer or tell nothing.
    """
    spelled = "".join(token for token, _ in tokens)
    quoted = f'"{label}"'
    if raw.strip() not in spelled or quoted not in spelled:
        return None
    at = spelled.rindex(quoted) + 1
    begin = 0
    for token, alternatives in tokens:
        if begin <= at < begin + len(token):
            lead = token[: at - begin]
            weights = dict.fromkeys(labels, 0.0)
            for other, logarithm in alternatives.items():
                if other.startswith(lead) and (said := _begun(other[len(lead) :], labels)):
                    weights[said] += math.exp(min(logarithm, 0.0))
            total = sum(weights.values())
            return weights[label] / total if total > 0 and math.isfinite(total) else None
        begin += len(token)
    return None


def _begun(text: str, labels: Sequence[str]) -> str | None:
    """Return the label that a token's text begins, or holds with its closing quote."""
    if not text:
        return None
    for label in labels:
        if f'{label}"'.startswith(text) or text.startswith(f'{label}"'):
            return label
    return None
