"""The tables of the data dictionary that say what columns say of themselves, and the glossary.

    python -m tests.dictionary

Headings, what stands below them, and all other chapters are written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import coupled_arena
from coupled_arena.core.vote_columns import VOTE_COLUMNS
from coupled_arena.papers import item as papers
from coupled_arena.papers.coupled_generation import example, pairs, rates
from coupled_arena.papers.judge import figures as judges
from coupled_arena.papers.ranking import tables as ranking_tables
from coupled_arena.papers.risk import ranking
from coupled_arena.papers.risk import ways as risk_tables
from coupled_arena.store.database import Store
from coupled_arena.store.tables.described import (
    ARENA,
    FILES,
    JUDGES,
    METRICS,
    TURNS,
    StoredColumn,
    StoredTable,
)
from coupled_arena.store.transfer.foreign_rows import FORMS
from coupled_arena.store.transfer.vote_formats import FORMATS
from coupled_arena.views.figures.registry import FIGURES
from coupled_arena.views.tables import flat, stored
from coupled_arena.views.tables.declared import TABLES, in_answer
from coupled_arena.views.tables.table import Column
from coupled_arena.views.words.glossary import GLOSSARY
from tests.installed import REPOSITORY


def headings(command: str) -> dict[str, tuple[Column[Any], ...]]:
    """Return the tables of a command by the heading that each, or several alike, have."""
    alike: dict[tuple[Column[Any], ...], list[str]] = {}
    for name, table in TABLES[command].items():
        alike.setdefault(table.columns, []).append(name)
    return {f"{command}: {', '.join(names)}": columns for columns, names in alike.items()}


RESULTS: Mapping[str, tuple[Column[Any], ...]] = {
    **{name: found for command in TABLES for name, found in headings(command).items()},
    "reproduce coupled-generation: pairs of models": pairs.PANELS,
    "reproduce coupled-generation: gains": pairs.GAINS,
    "reproduce coupled-generation: curves": pairs.PROTOCOL_CURVES,
    "reproduce coupled-generation: spreads": pairs.SPREADS,
    "reproduce coupled-generation: ranks": rates.PROTOCOL_PLACES,
    "reproduce coupled-generation: win rates": rates.PROTOCOL_PAIRS,
    "reproduce coupled-generation: ties": rates.PROTOCOL_TIES,
    "reproduce coupled-generation: worked example": example.WORKED_EXAMPLE,
    "reproduce risk: rankings": risk_tables.RANKINGS,
    "reproduce risk: agreement": risk_tables.AGREEMENTS,
    "reproduce risk: stability": ranking.STABILITY,
    "reproduce risk: power": risk_tables.POWER,
    "reproduce risk: consistency": risk_tables.CONSISTENCY,
    "reproduce risk: violation ratios": risk_tables.RATIOS,
    "reproduce risk: densities": risk_tables.DENSITIES,
    "reproduce: items": papers.LISTED,
    "reproduce: beside the published numbers": papers.PUBLISHED,
    "reproduce: rankings by judge": ranking_tables.JUDGED_RANKINGS,
    "reproduce: rank-sets by judge": ranking_tables.JUDGED_RANK_SETS,
    "reproduce: positions by judge": ranking_tables.JUDGED_POSITIONS,
    "reproduce: what is likeliest, by judge": ranking_tables.JUDGED_LIKELIEST,
    "reproduce: compared pairs": ranking_tables.PAIR_SIZES,
    "reproduce: compared models": ranking_tables.COMPARED,
    "reproduce: worth of judges": judges.WORTHS,
    "reproduce: ranks by judges": judges.RANKED,
    "flat table of votes": flat.FLAT,
    "replies of `generate` in Python": stored.REPLIES,
}

_SETTINGS = "| `settings…` | What it was made with, by the names of the options |\n"
PAGE = REPOSITORY / "docs" / "data-dictionary.md"
TERMS = REPOSITORY / "docs" / "glossary.md"
_TERMS = """# Glossary

The page explains each term in one sentence: beside the pointer, at the focus, or at a tap.

| term | meaning |
|---|---|
"""
_OF_TERMS = """
One sentence leaves out much. The definitions stand in [the leaderboard](leaderboard.md),
[the audit](audit.md), [coupling](coupling.md), [the gate](gate.md) and [risk](risk.md).
"""
_TABLE = re.compile(r"^\|.*\|\n(?:^\|.*\|\n)+", re.MULTILINE)


def terms() -> str:
    """Return the page of the glossary."""
    rows = (f"| {each.title} | {each.meaning} |\n" for each in GLOSSARY)
    return _TERMS + "".join(rows) + _OF_TERMS


def page() -> str:
    """Return the page with these tables as they are now."""
    before, chapter, after = _chapter(PAGE.read_text(encoding="utf-8"), "Columns of results")
    sections = re.split(r"^(?=### )", chapter, flags=re.MULTILINE)
    told = {_heading(each): each for each in sections[1:]}
    made = "".join(_with_table(told.get(name), name, each) for name, each in RESULTS.items())
    before, votes, between = _chapter(
        before + sections[0] + made + after, "Tables of votes from elsewhere"
    )
    page = before + _TABLE.sub(lambda _: vote_columns(), votes, count=1) + between
    before, forms, after = _chapter(page, "Votes of other tools")
    page = before + _TABLE.sub(lambda _: other_forms(), forms, count=1) + after
    before, answers, after = _chapter(page, "JSON of the commands")
    for command in TABLES:
        answers = re.sub(
            rf"^### {command}( \w+)? json\n.*?(?=^### |\Z)",
            lambda found, command=command: answer(command, found[0]),
            answers,
            flags=re.MULTILINE | re.DOTALL,
        )
    told = before + answers + after
    before, _figures, after = _chapter(told, "Figures of results")
    told = before + figures() + after
    stored = {each.name: stored_columns(each) for each in (*FILES.values(), TURNS, JUDGES, METRICS)}
    told = _with_tables(told, "Tables of a store", stored)
    files = {f"{each.name} file": file_columns(each) for each in (*FILES.values(), ARENA)}
    return _with_tables(told, "Export files", files)


def figures() -> str:
    """Return the chapter of all figures: names, results, how to read them."""
    rows = (
        f"| `{each.name}` | `{each.result}` | {each.title} | {each.reading} |" for each in FIGURES
    )
    head = "", "Each has one name in `ca.plot`, tabs, reports and saved files.", ""
    titles = "| figure | of | title | how to read it |", "|---|---|---|---|"
    return "\n".join((*head, *titles, *rows, ""))


def answer(command: str, section: str) -> str:
    """Return what the page says of an answer: of rows where their columns are told."""
    places: dict[str, list[str]] = {}
    for name, at in in_answer(command):
        places.setdefault(at, []).append(name)
    for at, names in places.items():
        known = {column.name for name in names for column in TABLES[command][name].columns}
        keys = "|".join(f"\\.{column}" for column in known)
        rows = re.compile(rf"^\| `{re.escape(at)}\[\](…|{keys})` .*\n", re.MULTILINE)
        if found := rows.search(section):
            links = ", ".join(f"[{name}](#{_anchor(command, name)})" for name in names)
            before, after = section[: found.start()], rows.sub("", section[found.start() :])
            section = f"{before}| `{at}[]…` | Columns of the table {links} |\n{after}"
    if command in coupled_arena.__all__ and "settings" not in section:
        section = f"{section.rstrip()}\n{_SETTINGS}\n"
    for table in TABLES[command].values():
        if table.at == "":
            names = "|".join(column.name for column in table.columns)
            section = re.sub(rf"^\| `({names})` .*\n", "", section, flags=re.MULTILINE)
            told = "".join(f"| `{each.name}` | {each.meaning} |\n" for each in table.columns)
            section = section.replace("|---|---|\n", f"|---|---|\n{told}", 1)
    return section


def _anchor(command: str, name: str) -> str:
    heading = next(each for each in headings(command) if name in re.split(r": |, ", each)[1:])
    return heading.replace(" ", "-").replace(":", "").replace(",", "")


def columns(found: Iterable[Column[Any]]) -> str:
    """Return a table of columns."""
    rows = (f"| `{each.name}` | {each.kind.__name__} | {each.meaning} |" for each in found)
    return "\n".join(("| column | type | meaning |", "|---|---|---|", *rows)) + "\n"


def vote_columns() -> str:
    """Return the table of the columns of votes that are read."""
    rows = (
        f"| {', '.join(f'`{name}`' for name in each.names)} | {each.meaning} | "
        f"{'yes' if each.ranked else 'no'} |"
        for each in VOTE_COLUMNS
    )
    return "\n".join(("| columns | meaning | `ca.rank` |", "|---|---|---|", *rows)) + "\n"


def other_forms() -> str:
    """Return the table of the forms of other tools: what tells each, and what is taken from it."""
    rows = [(form.title, form.needed, form.columns) for form in FORMS]
    rows += [(form.title, form.columns, {}) for form in FORMATS[:-1]]
    told = (
        f"| {title} | {', '.join(f'`{name}`' for name in needed)} | "
        + "; ".join(f"{ours}: `{theirs}`" for ours, theirs in columns.items())
        + " |"
        for title, needed, columns in rows
    )
    head = "| form | columns that tell it | what becomes of its columns |", "|---|---|---|"
    return "\n".join((*head, *told)) + "\n"


def stored_columns(table: StoredTable) -> str:
    """Return the table of the columns of a table as a fresh database has it."""
    with Store.in_memory() as store, store.cursor() as cursor:
        told = cursor.execute(f"describe {table.name}").fetchall()
    rows = (f"| `{name}` | {kind} | {table.meanings[name]} |" for name, kind, *_ in told)
    return "\n".join(("| column | type | meaning |", "|---|---|---|", *rows)) + "\n"


def file_columns(table: StoredTable) -> str:
    """Return the table of the columns of a file; those that are stored so need no words."""
    rows = (
        f"| `{each.name}` | {each.kind.shown} |{_in_file(each, table)} |"
        for each in table.columns
        if each.kind
    )
    return "\n".join(("| column | type | meaning |", "|---|---|---|", *rows)) + "\n"


def _in_file(column: StoredColumn, table: StoredTable) -> str:
    own = column.table == table.name and table.name in FILES
    meaning = column.kind.note.format(t=table.name) or ("" if own else column.meaning)
    return f" {meaning}" if meaning else ""


def _with_tables(text: str, chapter: str, made: Mapping[str, str]) -> str:
    """Return the page with the first table below each of some headings of a chapter made anew."""
    before, found, after = _chapter(text, chapter)
    sections = re.split(r"^(?=### )", found, flags=re.MULTILINE)
    return before + "".join(_replaced(each, made.get(_heading(each))) for each in sections) + after


def _replaced(section: str, table: str | None) -> str:
    return _TABLE.sub(lambda _: table, section, count=1) if table else section


def _chapter(text: str, name: str) -> tuple[str, str, str]:
    before, heading, rest = text.partition(f"\n## {name}\n")
    chapter, following, after = rest.partition("\n## ")
    return before + heading, chapter, following + after


def _heading(section: str) -> str:
    return section.partition("\n")[0].removeprefix("### ")


def _with_table(section: str | None, name: str, found: Iterable[Column[Any]]) -> str:
    if section is None:
        return f"### {name}\n\n{columns(found)}\n"
    return _TABLE.sub(lambda _: columns(found), section, count=1)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    TERMS.write_text(terms(), encoding="utf-8")
