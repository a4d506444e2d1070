"""Why answers parted, in sentences."""

from __future__ import annotations

import math

from coupled_arena.battles.parting import Option, Reason


def option_words(option: Option) -> str:
    """Return what an outcome is called: its characters in quotes, or what it does."""
    if option.kind == "end":
        return "the end of the answer"
    if option.kind == "control":
        return "a control token"
    shown = option.text.replace("\n", "\\n").replace("\t", "\\t")
    return f"\N{LEFT DOUBLE QUOTATION MARK}{shown}\N{RIGHT DOUBLE QUOTATION MARK}"


def parting_words(reason: Reason) -> tuple[str, ...]:
    """Return the sentences: where, why, and what could not be told."""
    return (_where(reason), *_why(reason), *_doubts(reason))


def _where(reason: Reason) -> str:
    count = reason.parting.position
    tokens = f"{count:,} tokens" if count != 1 else "1 token"
    beginning = f"After {tokens} in common" if count else "From the first token on"
    parts = [
        f"{model} has {option_words(option)}"
        for place, model in enumerate(reason.models)
        for option in reason.options
        if option.chosen[place]
    ]
    return f"{beginning} the answers differ: {', '.join(parts)}." if parts else f"{beginning}."


def _why(reason: Reason) -> list[str]:
    if not reason.coupled:
        return ["The models had noise of their own: they may part where they agree on the odds."]
    pair = _pair(reason)
    if pair is None:
        return []
    noises = [_noise(option) for option in pair]
    if None in noises:
        return ["At temperature 0 each model takes what it finds likeliest: there is no noise."]
    favour = (noises[0] or 0.0) - (noises[1] or 0.0)
    lucky = pair[0] if favour > 0 else pair[1]
    return [
        f"The noise, the same for both, favours {option_words(lucky)} by {abs(favour):.2f}.",
        _weighed(reason, 0, pair, favour),
        _weighed(reason, 1, pair, -favour),
    ]


def _pair(reason: Reason) -> tuple[Option, Option] | None:
    """Return what each of two models chose, where both choices are open."""
    if len(reason.models) != 2 or None in reason.parting.chosen:
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
        return f"{model} does not find {option_words(own)} among the likeliest any more."
    if theirs is None and reason.least[place] == 0:
        return f"{model} cannot draw {option_words(other)}: top-k or top-p cuts it off."
    if theirs is None:
        return f"{model} does not find {option_words(other)} among the likeliest."
    odds = math.log(ours.probability / theirs.probability)
    times = f"{math.exp(abs(odds)):.3g} times {'as' if odds > 0 else 'less'} likely"
    said = f"{model} finds {option_words(own)} {times}"
    if (odds > 0) == (luck > 0):
        return f"{said}, and the noise {'agrees' if luck > 0 else 'does not favour it either'}."
    # A model that is drawn again may choose otherwise, and then its own choice weighs less.
    weighs = "outweighs" if odds + luck > 0 else "does not outweigh"
    if odds > 0:
        return f"{said}, which {weighs} it ({odds:.2f} against {-luck:.2f})."
    return f"{said}, which the noise {weighs} ({luck:.2f} against {-odds:.2f})."


def _doubts(reason: Reason) -> list[str]:
    served = [m for m, least in zip(reason.models, reason.least, strict=True) if least is None]
    other = [m for m, again in zip(reason.models, reason.again, strict=True) if again is False]
    said = []
    if served:
        said.append(f"{', '.join(served)}: on a server, which keeps its probabilities to itself.")
    if other:
        said.append(
            f"{', '.join(other)}: drawn again, another token wins. The sums are as close as the "
            "rounding of another batch shape, or the model is not the one of then."
        )
    return said
