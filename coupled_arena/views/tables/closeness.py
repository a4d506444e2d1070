"""How close two models are, as tables: everywhere, by position, by kind of token, by answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from coupled_arena.analysis.closeness import AnswerRead, Closeness, Going, Part
from coupled_arena.core.language import N_, _, number
from coupled_arena.stats.closeness import Mean
from coupled_arena.views.tables.table import BETWEEN, Column, Table, span, table_of
from coupled_arena.views.words.closeness import closeness_warnings, closeness_words

# Column, attribute, meaning and heading.
_SHARES = (
    (
        *("total_variation", "total_variation"),
        *("Mean total variation of the two laws of the next token", N_("Total variation")),
    ),
    (
        *("same_top", "same_top"),
        *("Share of positions with the same likeliest token", N_("Same likeliest")),
    ),
    (
        *("agreement_coupled", "coupled"),
        *("Probability that both draw the same token from one noise stream", N_("Coupled")),
    ),
    (
        *("agreement_independent", "independent"),
        *("Probability that both draw the same token by independent noise", N_("Independent")),
    ),
    (
        *("agreement_best", "best"),
        *("The same by the best coupling: 1 less the total variation", N_("Best possible")),
    ),
)
_DIVERGENCES = (
    (
        *("kl", "kl"),
        "Mean KL divergence of model a's law from model b's in nats, without top-k and top-p; "
        "temperature 1 in place of 0",
    ),
    ("kl_reverse", "kl_reverse", "The same of model b's law from model a's"),
    (
        *("kl_sampled", "sampled_kl"),
        "As `kl`, with top-k and top-p, over positions where it is finite",
    ),
    ("kl_sampled_reverse", "sampled_kl_reverse", "As `kl_reverse`, likewise"),
    (
        *("kl_infinite", "infinite"),
        "Share of positions where it is infinite: model b excludes what model a may draw",
    ),
    (
        *("kl_infinite_reverse", "infinite_reverse"),
        "Share of positions where model a excludes what model b may draw",
    ),
)


def _mean(
    name: str, attribute: str, meaning: str, heading: str = "", form: str = ".1%"
) -> tuple[Column[Part], ...]:
    """Return a mean, and the ends of its interval."""

    def of(row: Part) -> Mean:
        return getattr(row, attribute)

    def end(which: str) -> Callable[[Part], float]:
        return lambda row: getattr(of(row), which)

    return (
        Column(name, float, meaning, end("value"), heading, form),
        Column(
            f"{name}_low",
            float,
            "Lower end of its interval, clustered by prompt",
            end("low"),
            N_("{level} interval") if heading else "",
            lambda row: span(of(row).low, of(row).high, form),
            by=name,
        ),
        Column(f"{name}_high", float, "Upper end", end("high")),
    )


_MEASURES: tuple[Column[Part], ...] = (
    Column(
        "positions", int, "Tokens and ends of answers that both models read", heading=N_("Tokens")
    ),
    Column("answers", int, "Answers that these are in", heading=N_("Answers")),
    *(column for each in _SHARES for column in _mean(*each)),
    *(column for each in _DIVERGENCES for column in _mean(*each)),
    Column(
        "untold",
        float,
        "Mean probability that servers do not tell of, at most, in both models together",
    ),
)
_READ = tuple(name for name, *_rest in _SHARES)


def _first(row: Part) -> str:
    if row.first is None or row.last is None:
        return ""
    ends = dict.fromkeys((row.first + 1, row.last + 1))
    return "\N{EN DASH}".join(number(end, ",") for end in ends)


PLACES: tuple[Column[Part], ...] = (
    Column("first", int, "First place in the answer, from 0", heading=N_("Token"), text=_first),
    Column("last", int, "Last place in the answer"),
    *_MEASURES,
)
KINDS: tuple[Column[Part], ...] = (
    Column(
        "kind",
        str,
        "`letters`, `digits`, `punctuation`, `whitespace`, or `other`: the end of the answer, "
        "control tokens, parts of characters",
        heading=N_("Kind of token"),
        text=lambda row: _(row.kind.label) if row.kind else "",
    ),
    *_MEASURES,
)


def _expected(attribute: str, name: str, said: str) -> tuple[Column[Closeness], ...]:
    """Return what is expected of whole answers under one kind of noise."""
    columns: list[Column[Closeness]] = []
    for what, meaning in (
        ("common", f"Tokens that both answers begin with, {said}"),
        ("identical", f"Share of answers that are the same throughout, {said}"),
    ):
        key = f"{what}_tokens_{name}" if what == "common" else f"{what}_{name}"
        columns.append(Column(key, float, meaning, _end(attribute, what, "value")))
        columns.append(
            Column(f"{key}_low", float, "Lower end of its interval", _end(attribute, what, "low"))
        )
        columns.append(Column(f"{key}_high", float, "Upper end", _end(attribute, what, "high")))
    return tuple(columns)


def _end(attribute: str, what: str, which: str) -> Callable[[Closeness], float | None]:
    def read(row: Closeness) -> float | None:
        found = getattr(row, attribute)
        return None if found is None else getattr(getattr(found, what), which)

    return read


def _lifted(column: Column[Part]) -> Column[Closeness]:
    return Column(
        *(column.name, column.kind, column.meaning),
        lambda row: column.of(row.overall),
        column.heading,
        lambda row: column.read(row.overall),
        by=column.by,
    )


CLOSENESS: tuple[Column[Closeness], ...] = (
    Column(
        *("model_a", str, "The first model"),
        lambda row: row.models[0],
        N_("Pair"),
        lambda row: BETWEEN.join(row.models),
    ),
    Column("model_b", str, "The second model", lambda row: row.models[1]),
    *map(_lifted, _MEASURES),
    *_expected("coupled", "coupled", "expected from one noise stream"),
    *_expected("independent", "independent", "expected by independent noise"),
    *_expected("best", "best", "at most, by any coupling"),
    *_expected("observed", "observed", "counted in coupled battles of both; empty without any"),
    Column(
        *("battles_observed", int, "How many battles that were"),
        lambda row: len(row.readings.observed),
    ),
)


@dataclass(frozen=True, eq=False)
class _Answer:
    """An answer, and what was found along it."""

    found: Closeness
    answer: AnswerRead

    def mean(self, name: str) -> float:
        return float(getattr(self.found.readings.laws, name)[self.answer.positions].mean())

    def last(self, name: str) -> float:
        return float(getattr(self.found.readings.together, name)[self.answer.positions][-1])


def _of(name: str) -> Callable[[_Answer], Any]:
    return lambda row: getattr(row.answer, name)


def _along(name: str, attribute: str) -> Column[_Answer]:
    return Column(name, float, "Mean along the answer", lambda row: row.mean(attribute))


ANSWERS: tuple[Column[_Answer], ...] = (
    Column("battle", str, "Id of the battle; one of fresh answers is not stored", _of("battle")),
    Column("turn", int, "Number of the question in it, from 0", _of("turn")),
    Column("place", int, "The reply's place in it", _of("place")),
    Column("model", str, "Who wrote it", lambda row: row.found.models[row.answer.writer]),
    Column(
        *("positions", int, "Tokens, and its end"),
        lambda row: row.answer.positions.stop - row.answer.positions.start,
    ),
    *(_along(name, attribute) for name, attribute, *_rest in _SHARES),
    Column(
        *("identical_coupled", float),
        "Probability that the other model writes it, too, from one noise stream",
        lambda row: row.last("coupled"),
    ),
    Column(
        *("identical_independent", float, "The same by independent noise"),
        lambda row: row.last("independent"),
    ),
)

GOING: tuple[Column[dict[str, Any]], ...] = (
    Column("tokens", int, "Tokens that both have written; answers that ended stay as they are"),
    Column("coupled", float, "Share of answers that are expected to be the same so far, coupled"),
    Column("independent", float, "The same by independent noise"),
    Column("best", float, "A bound for every coupling"),
)


def measures(found: Closeness) -> Table[Closeness]:
    """Return all that is said of the two models as one row."""
    table = table_of(CLOSENESS, (found,), alpha=found.alpha)
    return table.showing("model_a", "positions", *_READ)


def places(found: Closeness) -> Table[Part]:
    """Return a row for each stretch of the answer."""
    return table_of(PLACES, found.places, alpha=found.alpha).showing("first", "positions", *_READ)


def kinds(found: Closeness) -> Table[Part]:
    """Return a row for each kind of token."""
    return table_of(KINDS, found.kinds, alpha=found.alpha).showing("kind", "positions", *_READ)


def answers(found: Closeness) -> Table[_Answer]:
    """Return a row for each answer that was read."""
    return table_of(ANSWERS, (_Answer(found, each) for each in found.readings.answers))


def going_table(curve: Going) -> Table[dict[str, Any]]:
    """Return how likely both still write the same, by the number of tokens."""
    names = [column.name for column in GOING]
    rows = zip(*(np.asarray(getattr(curve, name)).tolist() for name in names), strict=True)
    return table_of(GOING, (dict(zip(names, row, strict=True)) for row in rows))


def closeness_tables(found: Closeness, curve: Going) -> dict[str, Table[Any]]:
    """Return all tables by name."""
    return {
        "closeness": measures(found),
        "positions": places(found),
        "kinds": kinds(found),
        "answers": answers(found),
        "survival": going_table(curve),
    }


def closeness_answer(found: Closeness, curve: Going) -> dict[str, Any]:
    """Return how close two models are as JSON values."""
    (row,) = measures(found).records()
    return {
        **row,
        "by_position": places(found).records(),
        "by_kind": kinds(found).records(),
        "survival": going_table(curve).records(),
        "left_out": dict(found.readings.left_out),
        "words": list(closeness_words(found)),
        "warnings": list(closeness_warnings(found)),
    }


def closeness_text(found: Closeness) -> str:
    """Return how close two models are for a terminal."""
    parts = [*closeness_words(found), "", places(found).text(), "", kinds(found).text()]
    warnings = closeness_warnings(found)
    return "\n".join([*parts, *([""] if warnings else []), *warnings])
