"""Votes as tables: who votes how, which votes are excluded, which answers name a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from coupled_arena.analysis.voter_report import BurstRow, Share, ToldRow, VoterReport, VoterRow
from coupled_arena.core.language import N_, number
from coupled_arena.stats.told_effects import FEWEST_VOTERS, FEWEST_VOTES, OFTEN
from coupled_arena.store.tables.exclusions import Exclusion
from coupled_arena.store.tables.guards import OriginShare
from coupled_arena.store.tables.naming import NamingReply
from coupled_arena.views.tables.table import Column, Table, span, table_of
from coupled_arena.views.words.votes import told_words

_MOST = 20  # rows in a terminal

VOTERS: tuple[Column[VoterRow], ...] = (
    Column("voter", str, "Hash of the voter's cookie, or a name", heading=N_("Voter")),
    Column("votes", int, "Votes on two different models and texts", heading=N_("Votes")),
    Column("share", float, "Of all such votes", heading=N_("Share"), text=".1%"),
    Column("most_in_a_minute", int, "Most votes within 60 seconds", heading=N_("Most in a minute")),
    Column(
        "log_e_value",
        float,
        "Natural logarithm of the evidence, now, that they do not vote as the others",
    ),
    Column(
        "peak_log_e_value",
        float,
        "The most that it ever was",
        heading=N_("Log of the e-value"),
        text=".1f",
    ),
    Column(
        "suspect",
        bool,
        "Whether it is enough now, or ever was for one voter alone",
        heading=N_("Unlike the others"),
        text=lambda row: row.bet if row.suspect else "",
    ),
    Column("bet", str, "Which bet on their votes has won most"),
    Column("repeats", int, "Battles that came twice", lambda row: row.habits.same.of),
    Column(
        "same",
        float,
        "Share of the battles that came twice with the same vote, sides exchanged",
        lambda row: row.habits.same.share,
        N_("Same when asked again"),
        lambda row: _interval(row.habits.same),
    ),
    Column("same_low", float, "Lower end of its 95% interval", lambda row: row.habits.same.low),
    Column("same_high", float, "Upper end", lambda row: row.habits.same.high),
    Column(
        "first_side",
        float,
        "Share of the votes for one answer that are for the answer shown first",
        lambda row: row.habits.first.share,
        N_("For the first answer"),
        lambda row: _interval(row.habits.first),
    ),
    Column(
        "first_side_low", float, "Lower end of its 95% interval", lambda row: row.habits.first.low
    ),
    Column("first_side_high", float, "Upper end", lambda row: row.habits.first.high),
    Column(
        "median_seconds",
        float,
        "Median time between a vote and the one before, without breaks of ten minutes",
        lambda row: row.habits.median_seconds,
        N_("Seconds a vote"),
        ".0f",
    ),
)
TOLD: tuple[Column[ToldRow], ...] = (
    Column("model", str, "The model", heading=N_("Model")),
    Column(
        "change",
        float,
        "What 30 reveals add to its share of votes, against the other models",
        heading=N_("Change"),
        text="+.1%",
    ),
    Column("low", float, "Lower end of the 95% interval, for all models together"),
    Column(
        "high",
        float,
        "Upper end",
        heading=N_("95% interval"),
        text=lambda row: span(row.low, row.high, "+.1%"),
    ),
)


ORIGINS: tuple[Column[OriginShare], ...] = (
    Column("origin", str, "What tells a place from others; no address", heading=N_("Origin")),
    Column("votes", int, "Votes that came from there", heading=N_("Votes")),
    Column("voters", int, "Different voters", heading=N_("Voters")),
    Column("share", float, "Of all with an origin", heading=N_("Share"), text=".1%"),
)


BURSTS: tuple[Column[BurstRow], ...] = (
    Column(
        "since",
        str,
        "When it began (UTC)",
        lambda row: row.since.isoformat(),
        N_("Since"),
        lambda row: f"{row.since:%Y-%m-%d %H:%M}",
    ),
    Column("seconds", int, "How long it is", heading=N_("Seconds")),
    Column("voters", int, "Different voters in it", heading=N_("Voters")),
    Column("usual", float, "Mean of the past: an hour, or a day", heading=N_("Usual"), text=".2f"),
    Column("p_value", float, "Of the test, for all windows together", heading="p", text=".2g"),
)


def bursts_table(found: VoterReport, most: int | None = None) -> Table[BurstRow]:
    """Return a row for each time with more voters than usual, or for so many."""
    return table_of(BURSTS, found.bursts[:most])


def origins_table(found: VoterReport) -> Table[OriginShare]:
    """Return a row for each of the places that most votes came from."""
    return table_of(ORIGINS, found.origins)


def _interval(share: Share) -> str:
    if not share.of:
        return "\N{EN DASH}"
    return f"{number(share.share, '.0%')} ({span(share.low, share.high, '.0%')})"


def told_table(found: VoterReport) -> Table[ToldRow]:
    """Return a row for each model: what many reveals change."""
    return table_of(TOLD, found.told.rows if found.told else ())


def voters_table(found: VoterReport, most: int | None = None) -> Table[VoterRow]:
    """Return a row for each voter, or for so many, the most evidence first."""
    return table_of(VOTERS, found.rows[:most])


def voters_answer(found: VoterReport) -> dict[str, Any]:
    """Return the report as JSON values."""
    return {
        "voters": voters_table(found).records(),
        "suspects": sum(row.suspect for row in found.rows),
        "votes": found.votes,
        "alpha": found.alpha,
        "tolerance": found.tolerance,
        "origins": origins_table(found).records(),
        "bursts": bursts_table(found).records(),
        "told": found.told
        and {
            "models": told_table(found).records(),
            "reveals": OFTEN,
            "votes": found.told.votes,
            "voters": found.told.voters,
            "needed_votes": FEWEST_VOTES,
            "needed_voters": FEWEST_VOTERS,
            "p_value": found.told.p_value if found.told.rows else None,
        },
    }


def voters_text(found: VoterReport) -> str:
    """Return the report for a terminal: the voters with the most evidence."""
    if not found.rows:
        return "No votes yet."
    suspects = sum(row.suspect for row in found.rows)
    head = (
        f"{len(found.rows):,} voters, {found.votes:,} votes: {suspects:,} too unlike the others "
        f"(error level {found.alpha:g} over all voters, tolerance {found.tolerance:g})."
    )
    lines = [head, voters_table(found, _MOST).text()]
    if (more := len(found.rows) - _MOST) > 0:
        lines.append(f"and {more:,} more; --json lists them all.")
    if found.bursts:
        lines += ["", "When more voted than usual:", bursts_table(found, _MOST).text()]
    if found.origins:
        lines += ["", "Where most votes came from:", origins_table(found).text()]
    if words := told_words(found):
        lines += ["", words]
    if found.told and found.told.rows:
        lines += [told_table(found).text()]
    return "\n".join(lines)


def _taken_back(name: str) -> Any:
    return lambda row: getattr(row.taken_back, name) if row.taken_back else None


def _exactly(moment: datetime | None) -> str | None:
    return moment and moment.isoformat()


def _minute(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""


EXCLUSIONS: tuple[Column[Exclusion], ...] = (
    Column("exclusion", str, "What `include` takes back", lambda row: row.id, N_("Exclusion")),
    Column(
        "voter",
        str,
        "Voter of the votes that do not count; none: anybody",
        heading=N_("Voter"),
        text=lambda row: row.voter or "anybody",
    ),
    Column(
        "since",
        str,
        "Votes from this time on (UTC); none: all before",
        lambda row: _exactly(row.since),
        N_("Since"),
        lambda row: _minute(row.since),
    ),
    Column(
        "until",
        str,
        "Votes before this time; none: all to come, too",
        lambda row: _exactly(row.until),
        N_("Until"),
        lambda row: _minute(row.until),
    ),
    Column("reason", str, "Why", lambda row: row.decision.reason, N_("Reason")),
    Column("made_by", str, "Who decided it", lambda row: row.decision.made_by, N_("By")),
    Column(
        "made_at",
        str,
        "When",
        lambda row: _exactly(row.decision.made_at),
        N_("At"),
        lambda row: _minute(row.decision.made_at),
    ),
    Column("taken_back_because", str, "Why the votes count again", _taken_back("reason")),
    Column("taken_back_by", str, "Who took it back", _taken_back("made_by")),
    Column(
        "taken_back_at",
        str,
        "When: none while it stands",
        lambda row: _exactly(row.taken_back.made_at) if row.taken_back else None,
        N_("Taken back"),
        lambda row: _minute(row.taken_back.made_at) if row.taken_back else "",
    ),
)


def exclusions_table(found: Sequence[Exclusion]) -> Table[Exclusion]:
    """Return a row for each exclusion, the first one first."""
    return table_of(EXCLUSIONS, found)


def exclusions_answer(found: Sequence[Exclusion]) -> dict[str, Any]:
    """Return the exclusions as JSON values."""
    return {"exclusions": exclusions_table(found).records()}


def exclusions_text(found: Sequence[Exclusion]) -> str:
    """Return the exclusions for a terminal."""
    return exclusions_table(found).text() if found else "No votes are excluded."


NAMES: tuple[Column[NamingReply], ...] = (
    Column("battle", str, "The battle", heading="Battle", text=lambda row: row.battle[:12]),
    Column("turn", int, "The turn of the conversation, from 0", heading="Turn"),
    Column("place", int, "The place of the answer, from 0", heading="Place"),
    Column("model", str, "Which model wrote it", heading="Model"),
    Column("found", str, "What stands in the answer", heading="Name"),
    Column("votes", int, "Votes of people that stand on this battle", heading="Votes"),
)


def names_table(found: Sequence[NamingReply]) -> Table[NamingReply]:
    """Return a row for each answer, the newest battle first."""
    return table_of(NAMES, found)


def names_answer(found: Sequence[NamingReply]) -> dict[str, Any]:
    """Return the answers as JSON values."""
    return {"answers": names_table(found).records()}


def names_text(found: Sequence[NamingReply]) -> str:
    """Return the answers for a terminal."""
    return names_table(found).text() if found else "No answer names a model."
