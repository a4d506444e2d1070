"""Why answers differ: where two models part, and where a replay leaves what is stored."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from coupled_arena.battles.first_divergence import Option, Reason
from coupled_arena.core.language import N_, _, ngettext
from coupled_arena.generation.running import OPENING

if TYPE_CHECKING:
    from coupled_arena.battles.replay import Replay

# What a model's odds say for its own choice, what the noise does, and which weighs more.
_AS_AND_AGREES = N_("{model} finds {option} {times:.3g} times as likely, and the noise agrees.")
_LESS_AND_NEITHER = N_(
    "{model} finds {option} {times:.3g} times less likely, and the noise does not favour it either."
)
_AS_OUTWEIGHS = N_(
    "{model} finds {option} {times:.3g} times as likely, which outweighs it ({more:.2f} against "
    "{less:.2f})."
)
_AS_NOT_ENOUGH = N_(
    "{model} finds {option} {times:.3g} times as likely, which does not outweigh it ({more:.2f} "
    "against {less:.2f})."
)
_LESS_OUTWEIGHED = N_(
    "{model} finds {option} {times:.3g} times less likely, which the noise outweighs ({more:.2f} "
    "against {less:.2f})."
)
_LESS_NOT_ENOUGH = N_(
    "{model} finds {option} {times:.3g} times less likely, which the noise does not outweigh "
    "({more:.2f} against {less:.2f})."
)


def option_words(option: Option) -> str:
    """Return what an outcome is called: its characters in quotes, or what it does."""
    if option.kind == "end":
        return _("the end of the answer")
    if option.kind == "control":
        return _("a control token")
    if option.kind == "more":
        return _("more text")
    shown = option.text.replace("\n", "\\n").replace("\t", "\\t")
    return _("“{text}”").format(text=shown)


def divergence_words(reason: Reason) -> tuple[str, ...]:
    """Return the sentences: where, why, and what could not be told."""
    return (_where(reason), *_why(reason), *_doubts(reason))


def _where(reason: Reason) -> str:
    parts = [
        _("{model} has {option}").format(model=model, option=option_words(option))
        for place, model in enumerate(reason.models)
        for option in reason.options
        if option.chosen[place]
    ]
    n, by_bytes = reason.divergence.position, reason.divergence.by_bytes
    if by_bytes:
        text = _differ_by_bytes(n) if parts else _begin_by_bytes(n)
    else:
        text = _differ(n) if parts else _begin(n)
    return text.format(n=n, parts=", ".join(parts))


def _differ(n: int) -> str:
    if not n:
        return _("From the first token on the answers differ: {parts}.")
    return ngettext(
        "After {n:,} token in common the answers differ: {parts}.",
        "After {n:,} tokens in common the answers differ: {parts}.",
        n,
    )


def _begin(n: int) -> str:
    if not n:
        return _("From the first token on.")
    return ngettext("After {n:,} token in common.", "After {n:,} tokens in common.", n)


def _differ_by_bytes(n: int) -> str:
    if not n:
        return _("From the first byte on the answers differ: {parts}.")
    return ngettext(
        "After {n:,} byte in common the answers differ: {parts}.",
        "After {n:,} bytes in common the answers differ: {parts}.",
        n,
    )


def _begin_by_bytes(n: int) -> str:
    if not n:
        return _("From the first byte on.")
    return ngettext("After {n:,} byte in common.", "After {n:,} bytes in common.", n)


def _why(reason: Reason) -> Iterator[str]:
    if not reason.coupled:
        yield _("Each model had its own noise, so they may differ even if they agree on the odds.")
        return
    pair = _pair(reason)
    if pair is None:
        return
    noises = [_noise(option) for option in pair]
    if None in noises:
        yield _("At temperature 0 each model takes what it finds likeliest: there is no noise.")
        return
    favour = (noises[0] or 0.0) - (noises[1] or 0.0)
    lucky = pair[0] if favour > 0 else pair[1]
    text = _("The noise, the same for both, favours {option} by {favour:.2f}.")
    yield text.format(option=option_words(lucky), favour=abs(favour))
    yield _weighed(reason, 0, pair, favour)
    yield _weighed(reason, 1, pair, -favour)


def _pair(reason: Reason) -> tuple[Option, Option] | None:
    """Return what each of two models chose, where both choices are open."""
    if len(reason.models) != 2 or None in reason.divergence.chosen:
        return None
    found = [option for place in (0, 1) for option in reason.options if option.chosen[place]]
    if len(found) != 2 or None in reason.least:
        return None
    return found[0], found[1]


def _noise(option: Option) -> float | None:
    return next(seen for seen in option.seen if seen is not None).noise


def _weighed(reason: Reason, place: int, pair: tuple[Option, Option], luck: float) -> str:
    """Weigh a model's odds, own choice over the other's, against what the noise gives it."""
    model, own, other = reason.models[place], pair[place], pair[1 - place]
    ours, theirs = own.seen[place], other.seen[place]
    if ours is None:
        text = _("{option} is no longer among the likeliest tokens of {model}.")
        return text.format(model=model, option=option_words(own))
    if theirs is None:
        cut = _("{model} cannot draw {option}: top-k or top-p cuts it off.")
        rare = _("{option} is not among the likeliest tokens of {model}.")
        if _asks_for_byte(reason, place):  # the tokens may have no such byte, or begin otherwise
            cut = _(
                "{model} cannot draw {option}: no token within top-k and top-p continues with it."
            )
        text = cut if reason.least[place] == 0 else rare
        return text.format(model=model, option=option_words(other))
    odds = math.log(ours.probability / theirs.probability)
    more, less = (odds, -luck) if odds > 0 else (luck, -odds)
    return _(_balance(odds, luck)).format(
        model=model, option=option_words(own), times=math.exp(abs(odds)), more=more, less=less
    )


def _asks_for_byte(reason: Reason, place: int) -> bool:
    return reason.divergence.by_bytes and reason.divergence.reached[place][1] != OPENING


def _balance(odds: float, luck: float) -> str:
    if (odds > 0) == (luck > 0):
        return _AS_AND_AGREES if luck > 0 else _LESS_AND_NEITHER
    # A model that is drawn again may choose otherwise, and then its own choice weighs less.
    enough = odds + luck > 0
    if odds > 0:
        return _AS_OUTWEIGHS if enough else _AS_NOT_ENOUGH
    return _LESS_OUTWEIGHED if enough else _LESS_NOT_ENOUGH


def _doubts(reason: Reason) -> Iterator[str]:
    served = [m for m, least in zip(reason.models, reason.least, strict=True) if least is None]
    other = [m for m, again in zip(reason.models, reason.again, strict=True) if again is False]
    if served:
        text = _("{models}: on a server that does not report probabilities.")
        yield text.format(models=", ".join(served))
    if other:
        text = _(
            "{models}: another token wins when the draw is repeated. Either rounding in another "
            "batch shape decides, or the model has changed."
        )
        yield text.format(models=", ".join(other))


def replay_words(result: Replay) -> str:
    """Return whether a battle came out the same, and if not, from where on and how clearly."""
    if result.identical:
        return _("identical")
    if result.score_gap is None:
        text = _(
            "differs from token {token} of {model}, turn {turn}; the stored token cannot be drawn "
            "there, or its probability is unknown"
        )
    else:
        text = _(
            "differs from token {token} of {model}, turn {turn}; the token drawn now beats the "
            "stored one by {gap:.3g}"
        )
    return text.format(
        token=result.first_difference, model=result.model, turn=result.turn, gap=result.score_gap
    )
