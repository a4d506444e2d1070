"""The command that takes data out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupled_arena.cli.shared import Config, Db, Excluded, Json, Named, reading, show
from coupled_arena.core.choices import ExportFormat, Uncounted
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.settings import load_settings

if TYPE_CHECKING:
    from coupled_arena.store.database import Store
    from coupled_arena.store.queries.battle_conditions import Hidden
    from coupled_arena.store.transfer.targets import HubDataset


def export(
    out: Annotated[Path, typer.Option(help="Folder to write to.")],
    format: Annotated[
        ExportFormat,
        typer.Option(
            help="File format. arena: votes as Chatbot Arena's rows. flat, flat-csv: [one "
            "table of votes](data-dictionary.md#flat-table-of-votes) for other programs, "
            "with its card."
        ),
    ] = ExportFormat.PARQUET,
    names: Annotated[
        bool, typer.Option("--names", help="Also the names of annotators with links.")
    ] = False,
    license: Annotated[
        str | None,
        typer.Option(
            help="Licence in the flat table's card, such as `cc-by-4.0`; without it "
            "the card says that there is none."
        ),
    ] = None,
    to_hub: Annotated[
        str | None,
        typer.Option(
            metavar="OWNER/NAME",
            help="Also [publish the flat table](hosting.md#votes-as-a-data-set-of-the-hub) "
            "as a data set of the hub: `OWNER/NAME`.",
        ),
    ] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="Make the data set public. Otherwise it is private, and a public one is refused.",
        ),
    ] = False,
    excluded: Excluded = Uncounted.LEAVE_OUT,
    named: Named = Uncounted.LEAVE_OUT,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Write battles, replies, votes, rationales, verdicts, scores and grades to files.

    Or write the flat table: one row for each pair of models that a vote compares.
    """
    settings = load_settings(config, db=db)
    flat = format in (ExportFormat.FLAT, ExportFormat.FLAT_CSV)
    if not flat and (license is not None or to_hub is not None or public):
        raise ArenaError("--license, --to-hub and --public are for --format flat and flat-csv.")
    if public and to_hub is None:
        raise ArenaError("--public says who may read the data set: name it with --to-hub.")
    if names and to_hub is not None:
        raise ArenaError("--names is not for the hub: leave one of --names and --to-hub out.")
    dataset = _dataset(to_hub, public)
    from coupled_arena.store.transfer import export as exports

    with reading(settings, excluded, named) as store:
        if flat:
            files = _with_card(store, out, format, license, "rounds" if dataset else "nothing")
        else:
            files = exports.export(store, out, format)
    if names:
        from coupled_arena.store.annotators import annotators_path, write_names

        files.append(write_names(annotators_path(settings.db), out))
    answer: dict[str, Any] = {"files": [str(path) for path in files]}
    if dataset:
        published = dataset.publish(out, [path.name for path in files], "Votes of a Coupled Arena")
        answer |= {"dataset": published.url, "private": published.private}
    show(answer, as_json, lambda: "\n".join(_lines(answer)))


def _dataset(name: str | None, public: bool) -> HubDataset | None:
    """Return where to publish, so that a wrong name costs no export."""
    if name is None:
        return None
    from coupled_arena.store.transfer.targets import HubDataset

    return HubDataset(name, public=public)


def _with_card(
    store: Store, out: Path, format: ExportFormat, license: str | None, hidden: Hidden
) -> list[Path]:
    """Write the flat table and its card."""
    from coupled_arena.store.transfer import flat
    from coupled_arena.store.transfer.export import export, fingerprint
    from coupled_arena.views.tables.flat import card, check_folder, check_license, write_card

    if license is not None:
        check_license(license)
    check_folder(out)
    files = export(store, out, format, hidden=hidden)
    with store.cursor() as cursor:
        flat.note_standing(cursor, hidden)
        held = flat.flat_counts(cursor)
    whole = hidden == "nothing"
    text = card(held, format, fingerprint(store), license=license, complete=whole)
    return [*files, write_card(out, text)]


def _lines(answer: dict[str, Any]) -> list[str]:
    if "dataset" not in answer:
        return answer["files"]
    readers = "only its owners may read it" if answer["private"] else "all the world may read it"
    return [*answer["files"], f"{answer['dataset']}: {readers}."]
