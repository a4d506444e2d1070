"""The draw at which answers first differ, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coupled_arena.battles.first_divergence import Option, Reason
from coupled_arena.core.language import _, number
from coupled_arena.views.tables.table import Column, Table
from coupled_arena.views.words.first_divergence import divergence_words, option_words

_TAIL = 200  # characters of the common beginning that a page repeats


@dataclass(frozen=True)
class _Seen:
    """An outcome in the eyes of one model."""

    option: Option
    place: int
    model: str

    def of(self, name: str) -> Any:
        candidate = self.option.seen[self.place]
        return None if candidate is None else getattr(candidate, name)


FIRST_DIVERGENCE: tuple[Column[_Seen], ...] = (
    Column("text", str, "Characters of an outcome", lambda row: row.option.text),
    Column(
        "kind",
        str,
        "`text`, `control`, or `end` of the answer; by bytes also `more`: text, whichever",
        lambda row: row.option.kind,
    ),
    Column("place", int, "The model's place in the battle, from 0"),
    Column("model", str, "Name of the model"),
    Column(
        "probability",
        float,
        "After temperature, top-k and top-p; unknown where it is none of the 64 likeliest",
        lambda row: row.of("probability"),
    ),
    Column(
        "noise",
        float,
        "Standard Gumbel number, to be added to the logarithm of the probability",
        lambda row: row.of("noise"),
    ),
    Column(
        "chosen",
        bool,
        "Whether the reply goes on with it",
        lambda row: row.option.chosen[row.place],
    ),
)


def divergence_answer(reason: Reason) -> dict[str, Any]:
    """Return why replies parted as JSON values."""
    rows = [
        _Seen(option, place, model)
        for option in reason.options
        for place, model in enumerate(reason.models)
    ]
    return {
        "turn": reason.divergence.turn,
        "position": reason.divergence.position,
        "by_bytes": reason.divergence.by_bytes,
        "common": reason.divergence.common,
        "models": list(reason.models),
        "coupled": reason.coupled,
        "options": Table(FIRST_DIVERGENCE, tuple(rows)).records(),
        "least": list(reason.least),
        "again": list(reason.again),
        "words": list(divergence_words(reason)),
    }


def divergence_view(reason: Reason) -> dict[str, Any]:
    """Return why replies parted as a page draws it: sentences, and a table of words."""
    table = divergence_table(reason)
    common = reason.divergence.common
    return {
        "turn": reason.divergence.turn,
        "words": list(divergence_words(reason)),
        "common": ("\N{HORIZONTAL ELLIPSIS}" if len(common) > _TAIL else "") + common[-_TAIL:],
        "heads": [column.heading for column in table.columns],
        "rows": [[column.read(option) for column in table.columns] for option in reason.options],
        "shares": [[seen and seen.probability for seen in o.seen] for o in reason.options],
        "chosen": [list(option.chosen) for option in reason.options],
    }


def divergence_text(reason: Reason) -> str:
    """Return why replies parted for a terminal."""
    return "\n".join([*divergence_words(reason), "", divergence_table(reason).text()])


def divergence_table(reason: Reason) -> Table[Option]:
    """Return a row for each outcome: its noise, and what each model saw in it."""
    columns = [
        Column("token", str, "", option_words, heading=_next(reason)),
        *(
            Column(f"model {place}", str, "", _probability(reason, place), heading=model)
            for place, model in enumerate(reason.models)
        ),
        *_noise(reason),
    ]
    return Table(tuple(columns), reason.options)


def _next(reason: Reason) -> str:
    return _("Next byte") if reason.divergence.by_bytes else _("Next token")


def _probability(reason: Reason, place: int) -> Any:
    least = reason.least[place]

    def shown(option: Option) -> str | None:
        seen, mark = option.seen[place], " \N{LEFTWARDS ARROW}" if option.chosen[place] else ""
        if seen is not None:
            return f"{number(seen.probability, '.2%')}{mark}"
        if least is None:
            return mark.strip() or None
        return _("below {least:.2g}").format(least=least) if least else _("cannot be drawn")

    return shown


def _noise(reason: Reason) -> list[Column[Option]]:
    """Return the columns of noise: one for all models that read the same."""
    if reason.coupled:
        return [Column("noise", float, "", _common_noise, heading=_("Noise"), text="+.2f")]
    return [
        Column(
            f"noise {place}",
            float,
            "",
            _own_noise(place),
            _("Noise of {model}").format(model=model),
            "+.2f",
        )
        for place, model in enumerate(reason.models)
    ]


def _common_noise(option: Option) -> float | None:
    return next((seen.noise for seen in option.seen if seen is not None), None)


def _own_noise(place: int) -> Any:
    def read(option: Option) -> float | None:
        seen = option.seen[place]
        return None if seen is None else seen.noise

    return read
