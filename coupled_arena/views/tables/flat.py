"""The columns of the flat table of votes, as its dictionary and its card tell them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from coupled_arena.core.choices import ExportFormat
from coupled_arena.core.errors import StoreError
from coupled_arena.core.files import reason
from coupled_arena.core.version import VERSION
from coupled_arena.store.transfer.flat import FILES, FlatCounts, judge_columns
from coupled_arena.views.tables.table import Column

FLAT: tuple[Column[Any], ...] = (
    Column("vote", str, "Id of the vote: the pairs of one vote share it"),
    Column("cast_at", datetime, "When the vote was cast, UTC"),
    Column("battle", str, "Id of the battle: the answers that were compared"),
    Column("turns", int, "Number of the battle's questions"),
    Column("prompt_id", str, "Id of the first question in its library, benchmark or import"),
    Column("prompt", str, "Text of the first question; missing in imports without texts"),
    Column("category", str, "Category of the first question"),
    Column("language", str, "Language of the first question"),
    Column("origin", str, "`arena` (the battle tab), `generate` (a batch run), `import`"),
    Column("mode", str, "`coupled`, `independent`, or `unknown` for imports that do not say"),
    Column("seed", str, "Seed of the noise, 16 hexadecimal digits; missing where unknown"),
    Column("temperature", float, "0 is greedy; missing, like the next three, for imports"),
    Column("top_k", int, "Likeliest tokens that were kept; 0: all"),
    Column("top_p", float, "Share of probability that was kept; 1: all"),
    Column("max_new_tokens", int, "Longest answer, in tokens"),
    Column("model_a", str, "The model shown first of the two"),
    Column("model_b", str, "The model shown after it"),
    Column("place_a", int, "Position of `model_a` on the screen, 0 is the first"),
    Column("place_b", int, "Position of `model_b`; above 1 only where three or more were shown"),
    Column("winner", str, "`model_a`, `model_b`, `tie` or `both_bad`"),
    Column(
        "counted",
        bool,
        "Whether leaderboards count the row: not a model against itself, nor a preference between "
        "answers with the same words",
    ),
    Column("source", str, "`human`, or `identical`: a tie of equal answers, nobody was asked"),
    Column("early", bool, "Cast before the answers had ended"),
    Column("voter", str, "Pseudonym of the voter, as in the other export files"),
    Column("tokens_a", int, "Tokens of `model_a`'s answers, all turns; missing where unknown"),
    Column("tokens_b", int, "Likewise of `model_b`'s"),
    Column(
        "judge_NAME_ab",
        str,
        "What the judge of this name said with `model_a` shown first, in the words of `winner`; "
        "missing: not asked, or unreadable",
    ),
    Column("judge_NAME_ba", str, "Likewise with `model_b` shown first"),
)


def columns_of(judges: Iterable[str]) -> list[tuple[str, Column[Any]]]:
    """Return the columns of a table with these judges, each with its name there."""
    *fixed, first, second = FLAT
    named = [(column.name, column) for column in fixed]
    for judge in judges:
        named += zip(judge_columns(judge), (first, second), strict=True)
    return named


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
