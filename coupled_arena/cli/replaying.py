"""The commands that decode a stored battle again: replay, explain."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from coupled_arena.cli.shared import Config, Db, Json, Preset, reading, show
from coupled_arena.core.extras import require
from coupled_arena.core.records import Battle
from coupled_arena.core.settings import Settings, load_settings

BattleId = Annotated[
    str, typer.Argument(metavar="BATTLE_ID", help="Id of a battle, or its beginning.")
]


def replay_battle(
    battle: BattleId,
    config: Config = None,
    preset: Preset = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Decode a stored battle again from its seed and compare."""
    require("arena", "A model")
    settings = load_settings(config, preset=preset, db=db)
    from coupled_arena.battles.replay import replay
    from coupled_arena.views.words.replay import replay_words

    stored, models = _loaded(settings, battle)
    result = replay(stored, models, settings.battle.kv_tokens)
    show(asdict(result), as_json, lambda: f"{result.battle}: {replay_words(result)}")


def explain(
    battle: BattleId,
    turn: Annotated[
        int, typer.Option(min=0, help="Number of the question in the battle, from 0.")
    ] = 0,
    config: Config = None,
    preset: Preset = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Explain the first difference between the answers of a stored battle, by its draw."""
    require("arena", "A model")
    settings = load_settings(config, preset=preset, db=db)
    from coupled_arena.battles.first_divergence import explain_divergence
    from coupled_arena.views.tables.parting import parting_answer, parting_text

    stored, models = _loaded(settings, battle)
    reason = explain_divergence(stored, models, turn, settings.battle.kv_tokens)
    show(parting_answer(reason), as_json, lambda: parting_text(reason))


def _loaded(settings: Settings, battle: str) -> tuple[Battle, Any]:
    """Return a stored battle, and those of its models that are configured."""
    from coupled_arena.generation.loading import load_named

    with reading(settings) as store:
        stored = store.battle(battle)
    known = {spec.name for spec in settings.catalog.models}
    return stored, load_named(settings, [name for name in stored.models if name in known])
