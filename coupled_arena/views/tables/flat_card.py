"""The card of a flat table of votes: a README.md in the form that the hub reads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from coupled_arena.core.choices import ExportFormat
from coupled_arena.core.errors import StoreError
from coupled_arena.core.files import reason
from coupled_arena.core.version import VERSION
from coupled_arena.store.transfer.flat import FILES
from coupled_arena.store.transfer.flat_rows import FlatCounts
from coupled_arena.views.tables.flat import columns_of

NAME = "README.md"
_MARK = "<!-- Written by coupled-arena export -->"
_LICENSE = re.compile(r"[a-z0-9][a-z0-9.+-]*")  # as the hub spells them, such as cc-by-4.0
_SIZES = ("n<1K", 1_000), ("1K<n<10K", 10_000), ("10K<n<100K", 100_000), ("100K<n<1M", 1_000_000)


def check_license(license: str) -> None:
    """Refuse what is no licence's name on the hub, which may be any list of words in YAML.

    Raises
    ------
    StoreError
        It is none.
    """
    if not _LICENSE.fullmatch(license):
        raise StoreError(
            f"{license!r} is no licence as the hub spells them. Give one such as cc-by-4.0 or "
            "cc0-1.0; other: terms of your own."
        )


def check_folder(out: Path) -> None:
    """Refuse a folder with a README.md that is no card: it would be lost.

    Raises
    ------
    StoreError
        There is one, or it cannot be read.
    """
    path = out / NAME
    try:
        written = path.read_text(encoding="utf-8", errors="replace") if path.exists() else _MARK
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {reason(error)}.") from error
    if _MARK not in written:
        raise StoreError(
            f"{path} is no card of an export, and one would take its place. Choose another folder."
        )


def write_card(out: Path, text: str) -> Path:
    """Write a card into a folder that is there.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    path = out / NAME
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise StoreError(
            f"Nothing can be written to {out}: {reason(error)}. Choose another folder."
        ) from error
    return path


def card(
    held: FlatCounts, format: ExportFormat, fingerprint: str, *, license: str | None, complete: bool
) -> str:
    """Return the card's text.

    Parameters
    ----------
    held : FlatCounts
        What is in the table.
    format : ExportFormat
    fingerprint : str
        Of the store that it is from.
    license : str, optional
        As the hub spells it; without one the owner has given none.
    complete : bool
        Whether rounds that nobody has been shown the names of are in it.
    """
    return "\n".join(
        [
            *_front_matter(held, FILES[format], license),
            "",
            _MARK,
            "",
            "# Blind votes on answers of language models",
            "",
            "People saw answers to the same question side by side, without the models' names, and "
            "said which is better. Each row is one pair of models that one vote compares: a vote "
            "on two models has one row, a vote that ranks three has three, with the same `vote`. "
            "Only votes that stand are here; what a later vote of the same person replaced is not.",
            "",
            *_in_numbers(held),
            "",
            *_reading(FILES[format]),
            "",
            "## Columns",
            "",
            "| column | type | meaning |",
            "|---|---|---|",
            *_columns(held.judges),
            "",
            *_notes(format, complete),
            "",
            "## Provenance",
            "",
            f"Written by coupled-arena {VERSION} from a database with the fingerprint "
            f"`{fingerprint}` (SHA-256 of its whole export).",
            "",
            f"Licence: {license}." if license else "Licence: none was given by the owner.",
            "",
        ]
    )


def _front_matter(held: FlatCounts, file: str, license: str | None) -> list[str]:
    size = next((name for name, below in _SIZES if held.rows < below), "n>1M")
    return [
        "---",
        *([f"license: {license}"] if license else []),
        "pretty_name: Blind votes on answers of language models",
        "tags: [coupled-arena, human-feedback, preferences]",
        f"size_categories: ['{size}']",
        "configs:",
        "- config_name: default",
        "  data_files:",
        "  - split: train",
        f"    path: {file}",
        "---",
    ]


def _in_numbers(held: FlatCounts) -> list[str]:
    span = f"{held.first:%Y-%m-%d} to {held.last:%Y-%m-%d}" if held.first and held.last else "none"
    return [
        "| in it | |",
        "|---|---|",
        f"| rows | {held.rows:,} |",
        f"| votes | {held.votes:,} |",
        f"| voters | {held.voters:,} |",
        f"| battles | {held.battles:,} |",
        f"| cast (UTC) | {span} |",
        f"| models | {_names(held.models)} |",
        f"| judges | {_names(held.judges)} |",
    ]


def _reading(file: str) -> list[str]:
    read = "read_parquet" if file.endswith("parquet") else "read_csv"
    return [
        "```python",
        "import coupled_arena as ca",
        "import pandas as pd",
        "",
        f'votes = pd.{read}("{file}")',
        "print(ca.rank(votes[votes.counted]).to_frame())",
        "```",
    ]


def _columns(judges: Iterable[str]) -> list[str]:
    return [
        f"| {_code(name)} | {column.kind.__name__} | {column.meaning} |"
        for name, column in columns_of(judges)
    ]


def _notes(format: ExportFormat, complete: bool) -> list[str]:
    notes: list[str] = []
    if not complete:
        notes.append("Rounds whose names nobody has been shown yet are left out.")
    if format is ExportFormat.FLAT_CSV:
        notes.append(
            "In CSV a text that begins with =, +, -, @, a tab or a line break has an apostrophe "
            "before it, so that no spreadsheet takes it for a formula."
        )
    return [" ".join(["What is missing is unknown, never zero.", *notes])]


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(_code, names)) or "none"


def _code(text: str) -> str:
    """Return a text as code in a table's cell, whatever is in it."""
    plain = " ".join(text.replace("|", "\\|").split())
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"
