"""What a store holds as tables: battles behind a number, replies, and what the checks found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from coupled_arena.analysis.battles import FoundBattles
from coupled_arena.core.language import N_
from coupled_arena.core.records import Battle, Reply, seed_to_hex
from coupled_arena.store.checks.check import Finding
from coupled_arena.store.queries.battle_search import FoundBattle
from coupled_arena.views.addresses import list_address
from coupled_arena.views.battle_pages import count_words
from coupled_arena.views.tables.table import Column, Table, table_of

FOUND_BATTLES: tuple[Column[FoundBattle], ...] = (
    Column("battle", str, "Id", heading=N_("Battle")),
    Column(
        "created_at",
        str,
        "When it was made, UTC, ISO 8601",
        lambda row: row.created_at.isoformat(),
        N_("Made (UTC)"),
        lambda row: f"{row.created_at:%Y-%m-%d %H:%M:%S}",
    ),
    Column("mode", str, "How its models drew their noise", heading=N_("Random numbers")),
    Column(
        "models",
        list,
        "Names in order of presentation",
        heading=N_("Models"),
        text=lambda row: " against ".join(row.models),
    ),
    Column("question", str, "Its first question; empty where an import brought none"),
    Column("votes", int, "Votes that stand", heading=N_("Votes")),
    Column("verdicts", int, "Verdicts of all judges, in every order", heading=N_("Verdicts")),
    Column("comparisons", int, "Pairs and voters that were selected; 0 where none were asked for"),
)


def battle_table(found: FoundBattles) -> Table[FoundBattle]:
    """Return a row for each battle of a page, the newest first."""
    return table_of(FOUND_BATTLES, found.battles)


def battles_answer(found: FoundBattles) -> dict[str, Any]:
    """Return a page of battles as JSON values."""
    return {
        "battles": found.tally.battles,
        "comparisons": found.tally.comparisons,
        "rows": battle_table(found).records(),
        "older": found.following and list_address(found.following),
    }


def battles_text(found: FoundBattles) -> str:
    """Return a page of battles for a terminal."""
    older = [f"Older ones: {list_address(found.following)}"] if found.following else []
    return "\n".join([battle_table(found).text(), count_words(found), *older])


_LONGEST = 80  # characters of a text that people read in a table


@dataclass(frozen=True)
class _Answered:
    battle: Battle
    reply: Reply

    @property
    def prompt(self) -> str:
        return self.battle.prompts[self.reply.turn].text


REPLIES: tuple[Column[_Answered], ...] = (
    Column(
        "prompt", str, "What was asked", heading=N_("Prompt"), text=lambda row: _short(row.prompt)
    ),
    Column(
        "mode",
        str,
        "coupled: one noise stream for all models; independent: one each",
        lambda row: row.battle.mode.value,
        heading=N_("Mode"),
    ),
    Column(
        "repetition",
        int,
        "Which of the prompt's seeds, from 0",
        lambda row: row.battle.repetition,
        heading=N_("Repetition"),
    ),
    Column(
        "model",
        str,
        "Who answered",
        lambda row: row.battle.models[row.reply.place],
        heading=N_("Model"),
    ),
    Column(
        "text",
        str,
        "The reply, as decoded",
        lambda row: row.reply.text,
        heading=N_("Reply"),
        text=lambda row: _short(row.reply.text),
    ),
    Column(
        "finish",
        str,
        "stop: the model ended it; length: the token limit did",
        lambda row: row.reply.finish.value,
        heading=N_("Finish"),
    ),
    Column("tokens", list, "Ids of its tokens", lambda row: list(row.reply.tokens)),
    Column("seed", str, "The battle's, 16 hex digits", lambda row: seed_to_hex(row.battle.seed)),
    Column("battle", str, "Its id", lambda row: row.battle.id),
    Column("place", int, "Position in the battle, from 0", lambda row: row.reply.place),
)


def replies(battles: Iterable[Battle]) -> Table[_Answered]:
    """Return a row for each reply, models in the order of their names within a battle."""
    return table_of(REPLIES, _answered(battles))


def _answered(battles: Iterable[Battle]) -> Iterator[_Answered]:
    for battle in battles:
        by_name = sorted(battle.replies, key=lambda r: (r.turn, battle.models[r.place], r.place))
        yield from (_Answered(battle, reply) for reply in by_name)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


FINDINGS: tuple[Column[Finding], ...] = (
    Column("check", str, "Its name"),
    Column("holds", str, "What is so in a whole database"),
    Column("wrong", int, "How many break it; 0: it holds"),
    Column("first", str, "The first of them, by its id; or why it cannot be told"),
    Column("advice", str, "What to do", lambda row: row.advice if row.wrong else None),
)


def findings_answer(found: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return what the checks found as JSON values."""
    return table_of(FINDINGS, found).records()


def findings_text(found: Sequence[Finding]) -> str:
    """Return what the checks found for a terminal: a line each."""
    return "\n".join(map(_line, found))


def _line(finding: Finding) -> str:
    if not finding.wrong:
        return f"ok     {finding.check}: {finding.holds}"
    return (
        f"WRONG  {finding.check}: {finding.holds}: not so {finding.wrong:,} times, the first is "
        f"{finding.first}. {finding.advice}"
    )
