"""A model's own page as plain values: how strong it is, where, against whom, and how it is made."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from itertools import groupby
from typing import Any

from coupled_arena.analysis.battles import FoundBattles
from coupled_arena.analysis.leaderboard.one_model import ModelSummary, Strength
from coupled_arena.core.language import _, chained, ngettext, number
from coupled_arena.core.records import Sampling
from coupled_arena.store.queries.battle_search import BattleFilter, Rater
from coupled_arena.store.queries.model_pages import Day
from coupled_arena.views.addresses import list_address, model_address
from coupled_arena.views.battle_pages import list_page
from coupled_arena.views.inline_figures import Frame, Scale, ribbon
from coupled_arena.views.levels import interval_at, level
from coupled_arena.views.markup import nameless
from coupled_arena.views.model_sizes import size_facts

FEW = 20
"""Comparisons below which a row says so."""

_BARS = 40  # of the figure; more days than these are taken together


def model_page(found: ModelSummary, battles: FoundBattles) -> dict[str, Any]:
    """Return a model's page.

    Parameters
    ----------
    battles : FoundBattles
        Some of its battles.
    """
    counted = BattleFilter(model=found.model, rater=Rater.PEOPLE)
    many = battles.tally.battles
    see_all = ngettext("{n:,} battle: see them all", "{n:,} battles: see them all", many)
    return {
        "model": found.model,
        "headline": headline(found),
        "glance": [list(each) for each in size_facts(found.size)],
        "votes": list_address(counted) if found.overall else None,
        "trend": trend(found),
        "categories": {
            "note": category_words(found),
            "heads": [
                _("Category"),
                _("Win rate"),
                interval_at(found.alpha),
                _("Votes"),
                _("Note"),
            ],
            "rows": [_category(each, found) for each in found.categories],
        },
        "opponents": {
            "note": opponent_words(found),
            "heads": [
                *(_("Opponent"), _("Win rate"), interval_at(found.alpha), _("Won, of how many")),
                _("Note"),
            ],
            "rows": [_opponent(each, found.model) for each in found.opponents],
        },
        "history": history(found.days),
        "facts": _facts(found),
        "battles": list_page(battles, mine=False)["rows"],
        "all": {
            "text": see_all.format(n=many),
            "href": list_address(BattleFilter(model=found.model)),
        },
    }


def trend(found: ModelSummary) -> dict[str, Any] | None:
    """Return the win rate over time as a figure and as a table; None of fewer than two points.

    Places are percents of the figure's width and height.
    """
    points = found.trend
    if len(points) < 2:
        return None
    scale = Scale.of((low, high) for *_rest, low, high in points)
    shape = ribbon(points, scale, Frame(0, 100, 0, 100))
    heads = [_("Votes on the board"), _("Win rate"), interval_at(found.alpha)]
    rows = [
        [number(n, ","), number(rate, ".1%"), _between(low, high)] for n, rate, low, high in points
    ]
    after = [_votes_on_board(n) for n, *_rest in points]
    said = _("{votes}: {rate} ({interval})")
    note = _(
        "Win rate on the board of the first votes, and then of more and more. The band is its "
        "interval, {level}, however often you look."
    )
    return {
        "line": shape.line,
        "ribbon": shape.around,
        "even": shape.even,
        "dots": [
            {"x": x, "y": y, "said": said.format(votes=votes, rate=row[1], interval=row[2])}
            for (x, y), votes, row in zip(shape.dots, after, rows, strict=True)
        ],
        "high": number(scale.high, ".0%"),
        "low": number(scale.low, ".0%"),
        "first": rows[0][0],
        "last": after[-1],
        "note": note.format(level=level(found.alpha)),
        "heads": heads,
        "rows": rows,
    }


def _votes_on_board(n: int) -> str:
    return ngettext("{n:,} comparison on the board", "{n:,} comparisons on the board", n).format(
        n=n
    )


def headline(found: ModelSummary) -> str:
    """Return how often people prefer the model."""
    if (overall := found.overall) is None:
        return _("Nobody has voted on this model yet.")
    text = ngettext(
        "People prefer it in {rate} of comparisons with all others, each weighing the same "
        "({interval}, {level}; {n:,} comparison).",
        "People prefer it in {rate} of comparisons with all others, each weighing the same "
        "({interval}, {level}; {n:,} comparisons).",
        overall.comparisons,
    ).format(
        rate=_rate(overall),
        interval=_interval(overall),
        level=interval_at(found.alpha),
        n=overall.comparisons,
    )
    few = _("That is few.")
    return f"{text} {few}" if overall.comparisons < FEW else text


def category_words(found: ModelSummary) -> str:
    """Return which categories differ from the whole, and what the intervals allow for."""
    if not found.categories or not found.overall:
        return _("No category has votes on this model.")
    apart = [each.name for each in found.categories if _place(each, found.overall) != "even"]
    sentences = [_("No category differs clearly from the overall win rate yet.")]
    if apart:
        text = _("Different from the overall win rate, because the intervals do not meet: {names}.")
        sentences = [text.format(names=", ".join(apart))]
    if len(found.categories) > 1:
        text = _(
            "The {n} intervals hold together, so a category does not stand out by search alone."
        )
        sentences.append(text.format(n=len(found.categories)))
    if left := found.more_categories:
        text = ngettext(
            "{n} more with fewer votes is left out.",
            "{n} more with fewer votes are left out.",
            left,
        )
        sentences.append(text.format(n=left))
    return " ".join(sentences)


def opponent_words(found: ModelSummary) -> str:
    """Return what the intervals of the opponents allow for."""
    if not found.opponents:
        return _("It has no votes against any opponent yet.")
    if len(found.opponents) == 1:
        return _("A tie is half a win for both.")
    text = _("The {n} intervals hold together. A tie is half a win for both.")
    return text.format(n=len(found.opponents))


def history(days: tuple[Day, ...]) -> dict[str, Any]:
    """Return the votes over time as bars, each of as many days."""
    if not days:
        return {"bars": [], "note": ""}
    first, last = days[0].day, days[-1].day
    step = -(-((last - first).days + 1) // _BARS)
    bars = [
        {"from": str(first + timedelta(step * at)), "votes": 0, "wins": 0}
        for at in range((last - first).days // step + 1)
    ]
    for at, group in groupby(days, lambda each: (each.day - first).days // step):
        within = list(group)
        bars[at]["votes"] = sum(each.comparisons for each in within)
        bars[at]["wins"] = sum(each.wins for each in within)
    note = ngettext(
        "Votes on pairs for each day, by when the battles were made (UTC): {first} to {last}. The "
        "solid part was won.",
        "Votes on pairs for each {n} days, by when the battles were made (UTC): {first} to {last}. "
        "The solid part was won.",
        step,
    )
    return {"bars": bars, "note": note.format(n=step, first=first, last=last)}


def _category(each: Strength, found: ModelSummary) -> list[dict[str, Any]]:
    assert found.overall, "a category has votes"
    to = BattleFilter(model=found.model, rater=Rater.PEOPLE, category=each.name)
    text = {
        "even": _("cannot be told from overall"),
        "higher": _("higher than overall"),
        "lower": _("lower than overall"),
    }[_place(each, found.overall)]
    return _cells(each.name, None, each, number(each.comparisons, ","), to, text)


def _opponent(each: Strength, model: str) -> list[dict[str, Any]]:
    to = BattleFilter(model=model, other=each.name, rater=Rater.PEOPLE)
    won = f"{number(each.wins, ',')}/{number(each.comparisons, ',')}"
    return _cells(each.name, model_address(each.name), each, won, to, "")


def _cells(
    name: str, page: str | None, each: Strength, count: str, to: BattleFilter, note: str
) -> list[dict[str, Any]]:
    notes = [note] * bool(note) + [_("few votes")] * (each.comparisons < FEW)
    return [
        {"text": name, "href": page},
        {"text": _rate(each), "href": None, "value": each.win_rate},
        {"text": _interval(each), "href": None, "value": each.win_rate},
        {"text": count, "href": list_address(to), "value": each.comparisons},
        {"text": ", ".join(notes), "href": None},
    ]


def _place(each: Strength, overall: Strength) -> str:
    if each.low > overall.high:
        return "higher"
    return "lower" if each.high < overall.low else "even"


def _facts(found: ModelSummary) -> list[list[str]]:
    facts = [
        [
            name,
            chained(
                _("{one} or {other}"),
                [nameless(each) if name == "source" else each for each in values],
            ),
        ]
        for name, values in found.facts.items()
    ]
    drawn = [
        _("{sampling} (battles: {n:,})").format(sampling=_sampled(sampling), n=n)
        for sampling, n in found.samplings[:3]
    ]
    return [*facts, *[[_("Sampling"), "; ".join(drawn)]] * bool(drawn)]


def _sampled(sampling: Sampling) -> str:
    return ", ".join(f"{name} {value}" for name, value in asdict(sampling).items())


def _rate(each: Strength) -> str:
    return number(min(max(each.win_rate, 0.0), 1.0), ".1%")


def _interval(each: Strength) -> str:
    return _between(each.low, each.high)


def _between(low: float, high: float) -> str:
    return _("{low:.1%} to {high:.1%}").format(low=low, high=high)
