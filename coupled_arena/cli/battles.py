"""Battles: the list of those behind a number, one replayed, one explained."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from coupled_arena.cli.shared import Config, Db, Json, Preset, reading, show
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.extras import require
from coupled_arena.core.records import Battle
from coupled_arena.core.settings import Settings, load_settings


def battles(
    address: Annotated[
        str,
        typer.Argument(
            metavar="ADDRESS",
            help="An [address of the page](battles.md#addresses), complete or from "
            "`?` on. Without one: all battles.",
        ),
    ] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=1 << 31, help="Number of battles, the newest first.")
    ] = 20,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV on stdout.")] = False,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """List the battles of an address of the Past battles tab, also those that the tab hides."""
    settings = load_settings(config, db=db)
    from coupled_arena.analysis.battles import read_battles
    from coupled_arena.views.addresses import read_address, unknown_parts
    from coupled_arena.views.tables.stored import battle_table, battles_answer, battles_text

    query = address.rpartition("?")[2]
    asked = read_address(query)
    if unknown := unknown_parts(query):
        raise ArenaError(
            f"No part of an address of battles is called {', '.join(unknown)}: see "
            "docs/battles.md#addresses."
        )
    if asked.battle or asked.model or asked.mine:
        raise ArenaError(
            "Give the address of a list, with voter=LABEL rather than one's own votes: "
            "'?tab=battles&a=MODEL&b=MODEL'."
        )
    with reading(settings) as store:
        found = read_battles(store, asked.wanted, "nothing", size=limit)
    if as_csv:
        typer.echo(battle_table(found).csv(), nl=False)
    else:
        show(battles_answer(found), as_json, lambda: battles_text(found))


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
    from coupled_arena.views.words.first_divergence import replay_words

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
    from coupled_arena.views.tables.first_divergence import divergence_answer, divergence_text

    stored, models = _loaded(settings, battle)
    reason = explain_divergence(stored, models, turn, settings.battle.kv_tokens)
    show(divergence_answer(reason), as_json, lambda: divergence_text(reason))


def _loaded(settings: Settings, battle: str) -> tuple[Battle, Any]:
    """Return a stored battle, and those of its models that are configured."""
    from coupled_arena.generation.loading import load_named
    from coupled_arena.generation.turns import check_noise_known

    with reading(settings) as store:
        stored = store.battle(battle)
    check_noise_known(stored)  # before the models, which take a while to load
    known = {spec.name for spec in settings.catalog.models}
    return stored, load_named(settings, [name for name in stored.models if name in known])
