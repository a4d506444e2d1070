"""The tables that an export brings back: which columns stand for which content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coupled_arena.store.transfer.export_tables import COLUMNS


@dataclass(frozen=True)
class MergedTable:
    """A table of the store and the temporary one of its name, with ``in_`` before it.

    Attributes
    ----------
    keys, content : sequence of str
        Columns; the keys stand for the content.
    called : str
        SQL: a row's name, where another row has its keys.
    order : str
        In which rows are added.
    besides : sequence of str
        Columns that grow, and are not compared.
    moves : bool
        Whether something that is kept of its battles follows from it, such as comparisons.
    tells_battle : bool
        Whether it is what a voter or judge has seen: rows about another one's battle go with it.
    """

    name: str
    keys: Sequence[str]
    content: Sequence[str]
    called: str
    order: str
    besides: Sequence[str] = ()
    moves: bool = False
    tells_battle: bool = False

    @property
    def stored(self) -> str:
        """The table of the store that it is held against."""
        return "battles" if self.name == "arena" else self.name


_IN_TURNS = ("prompts", "prefixes", "prompt_ids", "categories", "languages", "systems")
_IN_REVEALS = ("told_to", "told_at")
_BY_NUMBER = "file, seq nulls last, line"
BATTLES = MergedTable(
    "battles",
    ["battle"],
    [
        name
        for name in COLUMNS["battles"]
        if name not in ("battle", "arithmetic", *_IN_TURNS, *_IN_REVEALS)
    ],
    "'battle ' || battle",
    "created_at, battle",
    ["arithmetic"],
    moves=True,
    tells_battle=True,
)
TURNS = MergedTable(
    "turns",
    ["battle", "turn"],
    ["prompt", "prompt_id", "category", "language", "system", "prefix"],
    "'turn ' || turn || ' of battle ' || battle",
    "battle, turn",
    moves=True,
    tells_battle=True,
)
REPLIES = MergedTable(
    "replies",
    ["battle", "turn", "place"],
    ["model", "text", "tokens", "finish"],
    "'the reply at turn ' || turn || ' and place ' || place || ' of battle ' || battle",
    "battle, turn, place",
    moves=True,
    tells_battle=True,
)
VOTES = MergedTable(
    "votes",
    ["vote"],
    ["battle", "voter", "ranks", "both_bad", "source", "early", "cast_at"],
    "'vote ' || vote",
    _BY_NUMBER,
    moves=True,
)
RATIONALES = MergedTable(
    "rationales",
    ["rationale"],
    ["vote", "criteria", "comment", "given_at"],
    "'rationale ' || rationale",
    _BY_NUMBER,
)
JUDGES = MergedTable(
    "judges",
    ["judge"],
    ["model", "prompt_hash", "sampling"],
    "'the judge ' || judge",
    "judge",
)
VERDICTS = MergedTable(
    "verdicts",
    ["verdict"],
    [
        *("battle", "judge", "first_place", "second_place"),
        *("outcome", "raw", "probability", "p_first", "p_second", "p_tie", "judged_at"),
    ],
    "'verdict ' || verdict",
    _BY_NUMBER,
    moves=True,
)
ARENA = MergedTable(
    "arena", ["battle"], ["mode", "seed", "models"], "'battle ' || battle", "battle"
)
METRICS = MergedTable(
    "metrics", ["metric"], ["higher_is_better", "source"], "'the metric ' || metric", "metric"
)
SCORES = MergedTable(
    "scores",
    ["battle", "turn", "place", "metric"],
    ["score", "answer"],
    "'the ' || metric || ' of turn ' || turn || ' and place ' || place || ' of battle ' || battle",
    "battle, turn, place, metric",
)
EXCLUSIONS = MergedTable(
    "exclusions",
    ["exclusion"],
    ["voter", "since", "until", "reason", "made_by", "made_at"],
    "'exclusion ' || exclusion",
    _BY_NUMBER,
)
GRADES = MergedTable(
    "grades",
    ["grade"],
    ["answer_key", "judge", "correct", "raw", "probability", "graded_at"],
    "'grade ' || grade",
    _BY_NUMBER,
)
