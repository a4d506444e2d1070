"""Battles as a table of their replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from coupled_arena.core.language import N_
from coupled_arena.core.records import Battle, Reply, seed_to_hex
from coupled_arena.views.tables.table import Column, Table, table_of

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
        "prompt",
        str,
        "What was asked",
        heading=N_("Prompt"),
        text=lambda row: _short(row.prompt),
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
