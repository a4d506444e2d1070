"""Rows that speak of others, which must be there."""

from __future__ import annotations

from coupled_arena.store.checks.check import AGAIN, RESTORE, Check

_BELONGS = {
    "turns": ("battle", "battles", "using (battle)"),
    "replies": ("concat_ws(' ', battle, turn, place)", "turns", "using (battle, turn)"),
    "votes": ("vote", "battles", "using (battle)"),
    "reveals": ("battle", "battles", "using (battle)"),
    "pending_votes": ("vote", "battles", "using (battle)"),
    "rationales": ("rationale", "votes", "using (vote)"),
    "pending_rationales": ("rationale", "pending_votes", "using (vote)"),
    "verdicts": ("verdict", "battles", "using (battle)"),
    "scores": (
        "concat_ws(' ', battle, turn, place, metric)",
        "replies",
        "using (battle, turn, place)",
    ),
    "grades": ("grade", "benchmark_answers", "using (answer_key)"),
    "origins": (
        "vote_id",
        "(select vote from votes union all select vote from pending_votes)",
        "on vote = vote_id",
    ),
    "inclusions": ("exclusion", "exclusions", "using (exclusion)"),
}
_FOLLOWS = {
    "comparisons": ("battle_no", "battles", "using (battle_no)"),
    "same_words": ("battle", "battles", "using (battle)"),
    "naming_replies": (
        "concat_ws(' ', battle, turn, place)",
        "replies",
        "using (battle, turn, place)",
    ),
    "reply_styles": ("battle_no", "battles", "using (battle_no)"),
}
_NAMED = {
    "judges": (
        "select judge from (select judge from verdicts union select judge from grades) "
        "anti join judges using (judge)",
        "every judge that said something is known",
    ),
    "metrics": (
        "select distinct metric from scores anti join metrics using (metric)",
        "every metric that has scores is known",
    ),
    "models": (
        "select distinct model from (select unnest(models) as model from battles) "
        "anti join models using (model)",
        "every model of a battle has its number",
    ),
}


def _orphans(table: str, whose: tuple[str, str, str], advice: str) -> Check:
    item, other, key = whose
    return Check(
        table,
        f"all {table} belong to something",
        f"select {item} from {table} anti join {other} {key}",
        advice,
    )


ORPHANS: tuple[Check, ...] = tuple(
    _orphans(table, whose, RESTORE) for table, whose in _BELONGS.items()
)
"""What was written once, and belongs to something else that was."""

OTHERS: tuple[Check, ...] = (
    *(_orphans(table, whose, AGAIN) for table, whose in _FOLLOWS.items()),
    *(Check(name, holds, query, RESTORE) for name, (query, holds) in _NAMED.items()),
)
"""What follows from it, and names that have numbers or meanings."""
