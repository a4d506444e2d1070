"""The tables of the data dictionary that say what columns say of themselves.

    python -m tests.dictionary

Headings, what stands below them, and all other chapters are written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from coupled_arena.core.vote_columns import VOTE_COLUMNS
from coupled_arena.papers import item as papers
from coupled_arena.papers.coupled_generation import example, pairs, rates
from coupled_arena.papers.judge import figures as judges
from coupled_arena.papers.ranking import tables as ranking_tables
from coupled_arena.papers.risk import stability
from coupled_arena.papers.risk import tables as risk_tables
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
from coupled_arena.views.tables import (
    agreement,
    audit,
    battles,
    bradley_terry,
    coupling,
    exclusions,
    experiments,
    findings,
    flat,
    judge_style,
    leaderboard,
    modes,
    naming,
    parting,
    replies,
    risk,
    simulations,
    soft,
    style,
    sweep,
    voters,
)
from coupled_arena.views.tables.table import Column
from tests.installed import REPOSITORY

RESULTS: Mapping[str, tuple[Column[Any], ...]] = {
    "leaderboard": leaderboard.STANDINGS,
    "leaderboard: rank-set sizes": leaderboard.RANK_SET_SIZES,
    "leaderboard: pairs": leaderboard.HEAD_TO_HEAD,
    "leaderboard: Bradley-Terry": bradley_terry.BRADLEY_TERRY,
    "leaderboard: style, models": style.STYLE_MODELS,
    "leaderboard: style, traits": style.STYLE_EFFECTS,
    "coupled against independent: models": modes.MODE_MODELS,
    "coupled against independent: pairs": modes.MODE_PAIRS,
    "audit: models": audit.AUDIT_MODELS,
    "audit: differences": audit.DIFFERENCES,
    "audit: soft": soft.AUDIT_SOFT,
    "audit: style, traits": judge_style.JUDGE_STYLE_TRAITS,
    "audit: style, models": judge_style.JUDGE_STYLE_MODELS,
    "plan": audit.PLAN,
    "agreement": agreement.AGREEMENT,
    "exclusions": exclusions.EXCLUSIONS,
    "names": naming.NAMES,
    "doctor": findings.FINDINGS,
    "voters": voters.VOTERS,
    "places of votes": voters.ORIGINS,
    "bursts": voters.BURSTS,
    "battles behind a number": battles.FOUND_BATTLES,
    "coupling: pairs": coupling.PAIRS,
    "coupling: prompts of a pair": coupling.PROMPTS,
    "coupling: error curves of a pair": coupling.CURVES,
    "reproduce coupled-generation: pairs of models": pairs.PANELS,
    "reproduce coupled-generation: gains": pairs.GAINS,
    "reproduce coupled-generation: curves": pairs.PROTOCOL_CURVES,
    "reproduce coupled-generation: spreads": pairs.SPREADS,
    "reproduce coupled-generation: ranks": rates.PROTOCOL_PLACES,
    "reproduce coupled-generation: win rates": rates.PROTOCOL_PAIRS,
    "reproduce coupled-generation: ties": rates.PROTOCOL_TIES,
    "reproduce coupled-generation: worked example": example.WORKED_EXAMPLE,
    "coupling: samplings side by side": sweep.SWEEP,
    "risk: models": risk.MODELS,
    "risk: pairs": risk.PAIRS,
    "risk: mean less risk": risk.MEAN_RISKS,
    "risk: curves": risk.CURVES,
    "reproduce risk: rankings": risk_tables.RANKINGS,
    "reproduce risk: agreement": risk_tables.AGREEMENTS,
    "reproduce risk: stability": stability.STABILITY,
    "reproduce risk: power": risk_tables.POWER,
    "reproduce risk: consistency": risk_tables.CONSISTENCY,
    "reproduce risk: violation ratios": risk_tables.RATIOS,
    "reproduce risk: densities": risk_tables.DENSITIES,
    "resample: rankings": experiments.RANKINGS,
    "resample: rank-sets": experiments.RANK_SETS,
    "simulate: rank-sets": experiments.COVERAGE,
    "simulate: rank-sets that are watched": experiments.WATCHED,
    "simulate: intervals": experiments.INTERVALS,
    "explain: options": parting.PARTING,
    "reproduce: items": papers.LISTED,
    "reproduce: beside the published numbers": papers.PUBLISHED,
    "reproduce: rankings by judge": ranking_tables.JUDGED_RANKINGS,
    "reproduce: rank-sets by judge": ranking_tables.JUDGED_RANK_SETS,
    "reproduce: positions by judge": ranking_tables.JUDGED_POSITIONS,
    "reproduce: what is likeliest, by judge": ranking_tables.JUDGED_LIKELIEST,
    "reproduce: compared pairs": ranking_tables.PAIR_SIZES,
    "reproduce: compared models": ranking_tables.COMPARED,
    "reproduce: noisy judges": simulations.NOISY,
    "reproduce: worth of judges": judges.WORTHS,
    "reproduce: ranks by judges": judges.RANKED,
    "flat table of votes": flat.FLAT,
    "replies of `generate` in Python": replies.REPLIES,
}

PAGE = REPOSITORY / "docs" / "data-dictionary.md"
_TABLE = re.compile(r"^\|.*\|\n(?:^\|.*\|\n)+", re.MULTILINE)


def page() -> str:
    """Return the page with these tables as they are now."""
    before, chapter, after = _chapter(PAGE.read_text(encoding="utf-8"), "Columns of results")
    sections = re.split(r"^(?=### )", chapter, flags=re.MULTILINE)
    told = {_heading(each): each for each in sections[1:]}
    made = "".join(_with_table(told.get(name), name, each) for name, each in RESULTS.items())
    before, votes, between = _chapter(
        before + sections[0] + made + after, "Tables of votes from elsewhere"
    )
    told = before + _TABLE.sub(lambda _: vote_columns(), votes, count=1) + between
    stored = {each.name: stored_columns(each) for each in (*FILES.values(), TURNS, JUDGES, METRICS)}
    told = _with_tables(told, "Tables of a store", stored)
    files = {f"{each.name} file": file_columns(each) for each in (*FILES.values(), ARENA)}
    return _with_tables(told, "Export files", files)


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
