"""The commands that let votes count no more, take that back, and list which do not and why."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from coupled_arena.api.checks import voter_of
from coupled_arena.api.stores import ArenaStore
from coupled_arena.cli.shared import Config, Db, Json, reading, show
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import load_settings

Why = Annotated[str, typer.Option("--reason", help="Reason, kept with the decision.")]
Who = Annotated[
    str, typer.Option("--by", help="Name of the person who decides, kept with the decision.")
]


def exclude(
    reason: Why,
    by: Who,
    voter: Annotated[
        list[str] | None,
        typer.Option(help="An annotator's name, or a voter; may be given several times."),
    ] = None,
    origin: Annotated[
        str | None, typer.Option(help="Voters with votes from one place: see `voters`.")
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="Votes from this time on, such as 2026-11-23T14:00 (UTC).")
    ] = None,
    until: Annotated[str | None, typer.Option(help="Votes before this time.")] = None,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Exclude votes of a voter or of a time; they are kept, and `include` takes it back.

    A rule also covers later votes. Boards show the share of excluded votes.
    """
    settings = load_settings(config, db=db)
    from coupled_arena.core.records import new_id
    from coupled_arena.store.tables.exclusions import Decision, Exclusion, moment_of
    from coupled_arena.store.tables.exclusions import exclude as write
    from coupled_arena.store.tables.guards import voters_from
    from coupled_arena.store.transfer.snapshots import open_for_writing

    begin, end, made = moment_of(since), moment_of(until), Decision(reason, by, datetime.now(UTC))
    with open_for_writing(settings.db, create=False) as store:
        voters = [
            name and voter_of(ArenaStore(settings.db), store, name) for name in voter or [None]
        ]
        if origin:
            with store.cursor() as cursor:
                found = voters_from(cursor, origin)
            if not found:
                raise ArenaError(f"No vote came from {origin[:40]!r}.")
            voters = [*(voters if voter else []), *found]
        rules = [Exclusion(new_id(), who, begin, end, made) for who in dict.fromkeys(voters)]
        votes = store.write(lambda cursor: [write(cursor, rule) for rule in rules])
    rows = [
        {"exclusion": rule.id, "voter": rule.voter, "votes": n}
        for rule, n in zip(rules, votes, strict=True)
    ]
    lines = [f"{n:,} votes are excluded: {rule.id}" for rule, n in zip(rules, votes, strict=True)]
    show({"exclusions": rows}, as_json, lambda: "\n".join(lines))


def include(
    names: Annotated[list[str], typer.Argument(metavar="EXCLUSION", help="Id of an exclusion.")],
    reason: Why,
    by: Who,
    config: Config = None,
    db: Db = None,
) -> None:
    """Take exclusions back: their votes count again, unless another exclusion covers them."""
    settings = load_settings(config, db=db)
    from coupled_arena.store.tables.exclusions import Decision
    from coupled_arena.store.tables.exclusions import include as write
    from coupled_arena.store.transfer.snapshots import open_for_writing

    made, wanted = Decision(reason, by, datetime.now(UTC)), list(dict.fromkeys(names))
    with open_for_writing(settings.db, create=False) as store:
        store.write(lambda cursor: [write(cursor, name, made) for name in wanted])
    typer.echo(f"Taken back: {', '.join(wanted)}", err=True)


def exclusions(config: Config = None, db: Db = None, as_json: Json = False) -> None:
    """List all exclusions with author, time and reason, also those that were taken back."""
    settings = load_settings(config, db=db)
    from coupled_arena.store.tables.exclusions import exclusions as read
    from coupled_arena.views.tables.votes import exclusions_answer, exclusions_text

    with reading(settings) as store, store.cursor() as cursor:
        found = read(cursor)
    show(exclusions_answer(found), as_json, lambda: exclusions_text(found))


def names(config: Config = None, db: Db = None, as_json: Json = False) -> None:
    """List answers that name a model or its maker: votes on them do not count by default.

    [How answers are recognised](trust.md#answers-that-name-a-model).
    """
    settings = load_settings(config, db=db)
    from coupled_arena.store.tables.naming import naming_replies
    from coupled_arena.views.tables.votes import names_answer, names_text

    with reading(settings) as store, store.cursor() as cursor:
        found = list(naming_replies(cursor))
    show(names_answer(found), as_json, lambda: names_text(found))
