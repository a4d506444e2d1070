"""Writing and reading battles, on a given cursor."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from coupled_arena.core.errors import BattleError
from coupled_arena.core.records import Battle, Finish, Mode, Origin, Prompt, Reply, Sampling
from coupled_arena.core.sql import Cursor, column_of
from coupled_arena.store.tables.times import utc

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

_ADD = """
insert into battles (
    battle, created_at, origin, mode, seed, nonce, commitment, models,
    temperature, top_k, top_p, max_new_tokens, coupling, experiment, repetition, chance, arithmetic
)
select
    unnest($battle), unnest($created_at), unnest($origin), unnest($mode),
    unnest($seed::ubigint[]), unnest($nonce::blob[]), unnest($commitment),
    unnest($models::text[][]), unnest($temperature::double[]), unnest($top_k),
    unnest($top_p::double[]),
    unnest($max_new_tokens), unnest($coupling), unnest($experiment::text[]),
    unnest($repetition::integer[]), unnest($chance::double[]),
    map(unnest($names::text[][]), unnest($values::text[][]))
"""
_ADD_TURNS = """
insert into turns (battle, turn, prompt, prompt_id, category, language, system, prefix)
select
    unnest($battle), unnest($turn), unnest($prompt), unnest($prompt_id::text[]),
    unnest($category::text[]), unnest($language::text[]), unnest($system::text[]),
    unnest($prefix::text[])
"""
_ADD_REPLIES = """
insert into replies (battle, turn, place, model, text, tokens, finish)
select
    unnest($battle), unnest($turn), unnest($place), unnest($model), unnest($text),
    unnest($tokens::integer[][]), unnest($finish)
"""


def add(cursor: Cursor, battle: Battle) -> bool:
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
        insert(cursor, [battle])
        return True
    if (stored[0], tuple(stored[1])) != (battle.seed, battle.models):
        raise BattleError(f"Another battle is already stored as {battle.id}. Use a new id.")
    return _complete(cursor, battle)


def insert(cursor: Cursor, battles: Sequence[Battle]) -> None:
    """Write battles of which nothing is there yet; they are numbered in this order."""
    columns: dict[str, list[Any]] = {
        "battle": [battle.id for battle in battles],
        **{name: [getattr(each, name) for each in battles] for name in _OF_A_BATTLE},
        "models": [list(battle.models) for battle in battles],
        "origin": [battle.origin.value for battle in battles],
        "mode": [battle.mode.value for battle in battles],
        **{name: [getattr(each.sampling, name) for each in battles] for name in _OF_A_SAMPLING},
        "names": [list(battle.arithmetic) for battle in battles],
        "values": [list(battle.arithmetic.values()) for battle in battles],
    }
    cursor.execute(_ADD, columns)
    _insert_turns(
        cursor,
        [
            (battle.id, turn, prompt)
            for battle in battles
            for turn, prompt in enumerate(battle.prompts)
        ],
    )
    _insert_replies(cursor, [(battle, reply) for battle in battles for reply in battle.replies])


_OF_A_BATTLE = ("created_at", "seed", "nonce", "commitment", "experiment", "repetition", "chance")
_OF_A_SAMPLING = ("temperature", "top_k", "top_p", "max_new_tokens", "coupling")


def load(cursor: Cursor, battle_id: str) -> Battle:
    """Return the battle with this id, or the only one whose id begins so.

    Raises
    ------
    BattleError
        There is no such battle, or more than one.
    """
    found = _resolve(cursor, battle_id)
    query = f"""
        select models, mode, seed, nonce, temperature, top_k, top_p, max_new_tokens, coupling,
               origin, arithmetic, {utc("created_at")}, experiment, repetition, chance
        from battles
        where battle = ?
    """
    row = cursor.execute(query, [found]).fetchall()[0]
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


def any_of(cursor: Cursor, battles: Sequence[str]) -> bool:
    """Return whether one of these battles is stored."""
    query = "select battle from battles where list_contains(?, battle) limit 1"
    return bool(column_of(cursor, query, [list(battles)]))


def of_experiment(cursor: Cursor, experiment: str) -> set[str]:
    """Return the ids of the battles a batch run has already written."""
    return set(column_of(cursor, "select battle from battles where experiment = ?", [experiment]))


def experiments(cursor: Cursor, models: Sequence[str]) -> list[str]:
    """Return the batch runs of exactly these models, in any order, the newest first."""
    return column_of(
        cursor,
        "select experiment from battles where origin = 'generate' and experiment is not null "
        "and len(models) = len($models) and list_has_all(models, $models) "
        "group by experiment order by max(battle_no) desc",
        {"models": list(models)},
    )


def _complete(cursor: Cursor, battle: Battle) -> bool:
    """Write the turns and replies of a stored battle that are not there yet."""
    turns = column_of(cursor, "select turn from turns where battle = ?", [battle.id])
    query = "select (turn, place) from replies where battle = ?"
    replies = column_of(cursor, query, [battle.id])
    later = [(battle.id, t, each) for t, each in enumerate(battle.prompts) if t not in turns]
    more = [(battle, each) for each in battle.replies if (each.turn, each.place) not in replies]
    _insert_turns(cursor, later)
    _insert_replies(cursor, more)
    return bool(later or more)


def _insert_turns(cursor: Cursor, turns: Sequence[tuple[str, int, Prompt]]) -> None:
    if not turns:
        return
    columns: dict[str, list[Any]] = {
        "battle": [battle for battle, *_ in turns],
        "turn": [turn for _, turn, _ in turns],
        "prompt": [prompt.text for *_, prompt in turns],
        "prompt_id": [prompt.id for *_, prompt in turns],
        **{
            name: [getattr(prompt, name) for *_, prompt in turns]
            for name in ("category", "language", "system", "prefix")
        },
    }
    cursor.execute(_ADD_TURNS, columns)


def _insert_replies(cursor: Cursor, replies: Sequence[tuple[Battle, Reply]]) -> None:
    if not replies:
        return
    columns: dict[str, list[Any]] = {
        "battle": [battle.id for battle, _ in replies],
        "turn": [reply.turn for _, reply in replies],
        "place": [reply.place for _, reply in replies],
        "model": [battle.models[reply.place] for battle, reply in replies],
        "text": [reply.text for _, reply in replies],
        "tokens": [list(reply.tokens) for _, reply in replies],
        "finish": [reply.finish.value for _, reply in replies],
    }
    cursor.execute(_ADD_REPLIES, columns)


def _resolve(cursor: Cursor, battle_id: str) -> str:
    if cursor.execute("select 1 from battles where battle = ?", [battle_id]).fetchone():
        return battle_id
    if len(battle_id) < _SHORTEST_PREFIX:
        raise BattleError(
            f"There is no battle {battle_id!r}. Give its id, or at least the first "
            f"{_SHORTEST_PREFIX} characters of it."
        )
    query = "select battle from battles where starts_with(battle, ?) limit 2"
    found = column_of(cursor, query, [battle_id])
    if len(found) > 1:
        raise BattleError(f"Several battles begin with {battle_id!r}. Give more of the id.")
    if not found:
        raise BattleError(f"There is no battle {battle_id!r}. Check the id.")
    return found[0]


def _prompts(cursor: Cursor, battle_id: str) -> tuple[Prompt, ...]:
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


def _replies(cursor: Cursor, battle_id: str) -> tuple[Reply, ...]:
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
