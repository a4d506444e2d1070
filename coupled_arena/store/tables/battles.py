"""Writing and reading battles, on a cursor that somebody else opened."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import duckdb

from coupled_arena.core.errors import BattleError
from coupled_arena.core.records import Battle, Finish, Mode, Origin, Prompt, Reply, Sampling
from coupled_arena.store.tables.times import utc

_Keys = set[tuple[int, ...]]

_SHORTEST_PREFIX = 8
ANSWERED = """
battles
join (select battle, count(*) as turns from turns group by all) using (battle)
join (
    select battle, count(*) as replies, bool_or(finish = 'cancelled') as stopped
    from replies
    group by all
) using (battle)
"""
"""Battles that have an answer, with their turns and replies, and whether any was stopped."""

_ADD_TURN = """
insert into turns (battle, turn, prompt, prompt_id, category, language, system, prefix)
values (?, ?, ?, ?, ?, ?, ?, ?)
"""


def add(cursor: duckdb.DuckDBPyConnection, battle: Battle) -> bool:
    """Write what is not there yet of a battle; return whether anything was.

    Raises
    ------
    BattleError
        Another battle has this id.
    """
    stored = cursor.execute(
        "select seed, models from battles where battle = ?", [battle.id]
    ).fetchone()
    if stored is None:
        _insert_battle(cursor, battle)
    elif (stored[0], tuple(stored[1])) != (battle.seed, battle.models):
        raise BattleError(f"Another battle is already stored as {battle.id}. Use a new id.")
    new = stored is None
    turns = _insert_turns(cursor, battle, new=new)
    replies = _insert_replies(cursor, battle, new=new)
    return new or turns or replies


def load(cursor: duckdb.DuckDBPyConnection, battle_id: str) -> Battle:
    """Return the battle with this id, or the only one whose id begins so.

    Raises
    ------
    BattleError
        There is no such battle, or more than one.
    """
    found = _resolve(cursor, battle_id)
    row = _one(
        cursor,
        f"""
        select models, mode, seed, nonce, temperature, top_k, top_p, max_new_tokens, coupling,
               origin, arithmetic, {utc("created_at")}, experiment, repetition, chance
        from battles
        where battle = ?
        """,
        found,
    )
    return Battle(
        id=found,
        models=tuple(row[0]),
        mode=Mode(row[1]),
        seed=row[2],
        nonce=row[3],
        sampling=Sampling(*row[4:9]),
        origin=Origin(row[9]),
        prompts=_prompts(cursor, found),
        replies=_replies(cursor, found),
        arithmetic=row[10],
        created_at=row[11].replace(tzinfo=UTC),
        experiment=row[12],
        repetition=row[13],
        chance=row[14],
    )


def of_experiment(cursor: duckdb.DuckDBPyConnection, experiment: str) -> set[str]:
    """Return the ids of the battles a batch run has already written."""
    rows = cursor.execute(
        "select battle from battles where experiment = ?", [experiment]
    ).fetchall()
    return {battle for (battle,) in rows}


def _insert_battle(cursor: duckdb.DuckDBPyConnection, battle: Battle) -> None:
    sampling = battle.sampling
    cursor.execute(
        """
        insert into battles (
            battle, created_at, origin, mode, seed, nonce, commitment, models,
            temperature, top_k, top_p, max_new_tokens, coupling,
            experiment, repetition, chance, arithmetic
        )
        values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::map(text, text))
        """,
        [
            *(battle.id, battle.created_at, battle.origin.value, battle.mode.value),
            *(battle.seed, battle.nonce, battle.commitment, list(battle.models)),
            *(sampling.temperature, sampling.top_k, sampling.top_p),
            *(sampling.max_new_tokens, sampling.coupling),
            *(battle.experiment, battle.repetition, battle.chance, dict(battle.arithmetic)),
        ],
    )


def _insert_turns(cursor: duckdb.DuckDBPyConnection, battle: Battle, *, new: bool) -> bool:
    query = "select turn from turns where battle = ?"
    stored: _Keys = set() if new else _keys(cursor, query, battle.id)
    rows = [
        [
            *(battle.id, turn, prompt.text, prompt.id),
            *(prompt.category, prompt.language, prompt.system, prompt.prefix),
        ]
        for turn, prompt in enumerate(battle.prompts)
        if (turn,) not in stored
    ]
    if rows:
        cursor.executemany(_ADD_TURN, rows)
    return bool(rows)


def _insert_replies(cursor: duckdb.DuckDBPyConnection, battle: Battle, *, new: bool) -> bool:
    query = "select turn, place from replies where battle = ?"
    stored: _Keys = set() if new else _keys(cursor, query, battle.id)
    rows = [
        [
            *(battle.id, reply.turn, reply.place, battle.models[reply.place]),
            *(reply.text, list(reply.tokens), reply.finish.value),
        ]
        for reply in battle.replies
        if (reply.turn, reply.place) not in stored
    ]
    if rows:
        cursor.executemany("insert into replies values (?, ?, ?, ?, ?, ?, ?)", rows)
    return bool(rows)


def _keys(cursor: duckdb.DuckDBPyConnection, query: str, battle_id: str) -> _Keys:
    return set(cursor.execute(query, [battle_id]).fetchall())


def _resolve(cursor: duckdb.DuckDBPyConnection, battle_id: str) -> str:
    if cursor.execute("select 1 from battles where battle = ?", [battle_id]).fetchone():
        return battle_id
    if len(battle_id) < _SHORTEST_PREFIX:
        raise BattleError(
            f"There is no battle {battle_id!r}. Give its id, or at least the first "
            f"{_SHORTEST_PREFIX} characters of it."
        )
    rows = cursor.execute(
        "select battle from battles where starts_with(battle, ?) limit 2", [battle_id]
    ).fetchall()
    if len(rows) > 1:
        raise BattleError(f"Several battles begin with {battle_id!r}. Give more of the id.")
    if not rows:
        raise BattleError(f"There is no battle {battle_id!r}. Check the id.")
    return rows[0][0]


def _prompts(cursor: duckdb.DuckDBPyConnection, battle_id: str) -> tuple[Prompt, ...]:
    rows = cursor.execute(
        """
        select prompt, prompt_id, category, language, system, prefix
        from turns
        where battle = ?
        order by turn
        """,
        [battle_id],
    ).fetchall()
    return tuple(Prompt(*row) for row in rows)


def _replies(cursor: duckdb.DuckDBPyConnection, battle_id: str) -> tuple[Reply, ...]:
    rows = cursor.execute(
        """
        select turn, place, text, tokens, finish
        from replies
        where battle = ?
        order by turn, place
        """,
        [battle_id],
    ).fetchall()
    return tuple(
        Reply(turn, place, text, tuple(tokens), Finish(finish))
        for turn, place, text, tokens, finish in rows
    )


def _one(cursor: duckdb.DuckDBPyConnection, query: str, battle_id: str) -> tuple[Any, ...]:
    row = cursor.execute(query, [battle_id]).fetchone()
    if row is None:
        raise BattleError(f"There is no battle {battle_id!r}. Check the id.")
    return row
