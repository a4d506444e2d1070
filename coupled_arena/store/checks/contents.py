"""What the rows of a database must say, each by itself and beside others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from coupled_arena.core.rationales import Criterion
from coupled_arena.core.records import Finish, Mode, Origin, Outcome, Source
from coupled_arena.core.sql import Cursor, quoted
from coupled_arena.store.checks.check import AGAIN, RESTORE, Check, Finding
from coupled_arena.store.tables import naming, times

_LEAVE_OUT = "`coupled-arena exclude` lets them count no more; a snapshot may hold them whole."
_MEND = (
    "`coupled-arena doctor --mend` puts right what was milliseconds, and replaces what is no time; "
    "it keeps a copy of the file."
)
_MERGED = "A clock was wrong, here or where they were imported from. Set it right; nothing is lost."


def _among(values: type[StrEnum]) -> str:
    return f"({', '.join(quoted(value.value) for value in values)})"


# SHA-256 of the nonce and the seed's 8 bytes, the lowest first, which `printf` has last.
_COMMITMENT = """
with hexed as (
    select battle, commitment, nonce, printf('%016x', seed) as x from battles
    where commitment <> '' or octet_length(nonce) > 0
)
select battle from hexed
where commitment <> sha256(nonce || unhex(
    x[15:16] || x[13:14] || x[11:12] || x[9:10] || x[7:8] || x[5:6] || x[3:4] || x[1:2]
))
"""
_BATTLES = f"""
select battle from battles
where not coalesce(
    len(models) > 0 and list_count(models) = len(models)
    and mode in {_among(Mode)} and origin in {_among(Origin)}
    and isfinite(temperature) and temperature >= 0 and top_p between 0 and 1
    and top_k >= 0 and max_new_tokens >= 0 and coalesce(chance between 0 and 1, true),
    false
)
"""
# Turns count from 0 without a gap.
_TURNS = """
select battle
from battles
left join (
    select battle, count(*) as turns, min(turn) as first, max(turn) as last from turns group by all
) using (battle)
where coalesce(first <> 0 or last + 1 <> turns, false)
"""
_REPLIES = f"""
select concat_ws(' ', battle, turn, place)
from replies
join battles using (battle)
where finish not in {_among(Finish)} or place < 0 or models[place + 1] is distinct from model
"""


_SHOWN = "coalesce(list_sort(shown) = range(len(models)), true)"


def _ranks(
    table: str, vote: str = "vote", also: str = "true", known: str = "v.source in " + _among(Source)
) -> str:
    return f"""
    select {vote}
    from {table} as v
    join battles using (battle)
    where not ({known}) or not coalesce(
        len(ranks) = len(models) and list_count(ranks) = len(ranks) and list_min(ranks) = 1
        and (not both_bad or list_max(ranks) = 1) and {also},
        false
    )
    """


_VERDICTS = f"""
select verdict
from verdicts
join battles using (battle)
where first_place = second_place or least(first_place, second_place) < 0
    or greatest(first_place, second_place) >= len(models)
    or outcome not in {_among(Outcome)}
    or (p_first is null) <> (p_second is null) or (p_first is null) <> (p_tie is null)
    or not coalesce(least(p_first, p_second, p_tie) >= 0, true)
    -- As they come in: `import` takes three numbers that were rounded to so many places.
    or not coalesce(abs(p_first + p_second + p_tie - 1) <= 1e-6, true)
"""
_RATIONALES = f"""
select rationale from rationales
where list_has_any(list_transform(criteria, lambda c: c not in {_among(Criterion)}), [true])
"""
_EXCLUSIONS = """
select exclusion from exclusions
where (voter is null and since is null and until is null) or coalesce(since >= until, false)
    or trim(reason) = '' or trim(made_by) = ''
union all
select exclusion from inclusions where trim(reason) = '' or trim(made_by) = ''
"""
_BLIND = """
select vote
from votes
join reveals using (battle, voter)
where cast_at > revealed_at
"""
_MOMENTS = {
    "battles": ("battle", "created_at"),
    "votes": ("vote", "cast_at"),
    "pending_votes": ("vote", "cast_at"),
    "reveals": ("battle", "revealed_at"),
    "rationales": ("rationale", "given_at"),
    "verdicts": ("verdict", "judged_at"),
    "grades": ("grade", "graded_at"),
    "exclusions": ("exclusion", "made_at"),
    "repeats": ("second_vote", "cast_at"),
    "gates": ("gate", "begun_at"),
    "inclusions": ("exclusion", "made_at"),
    "schema_version": ("'schema ' || version", "applied_at"),
}
_FUTURE = " union all ".join(
    f"select {item} from {table} where {moment} > now()"
    for table, (item, moment) in _MOMENTS.items()
)
_ODD = " union all ".join(
    [
        *(
            f"select {item} from {table} where {times.odd(moment)}"
            for table, (item, moment) in _MOMENTS.items()
        ),
        *(
            f"select exclusion from exclusions where {times.unbound(bound)}"
            for bound in ("since", "until")
        ),
    ]
)
_EARLY = """
select vote from votes join battles using (battle) where cast_at < created_at
union all
select verdict from verdicts join battles using (battle) where judged_at < created_at
union all
select exclusion
from inclusions join exclusions using (exclusion)
where inclusions.made_at < exclusions.made_at
"""
# New rows get numbers after all others, or the newest vote of somebody would not be the last.
_NUMBERED = {
    "vote_seq": "select max(seq) from votes",
    "verdict_seq": "select max(seq) from verdicts",
    "grade_seq": "select max(seq) from grades",
    "rationale_seq": "select max(seq) from rationales",
    "exclusion_seq": "select max(seq) from exclusions",
    "battle_seq": "select max(battle_no) from battles",
    "prompt_seq": "select max(prompt_no) from prompts",
    "judge_seq": "select max(judge_no) from judges",
}
_SEQUENCES = " union all ".join(
    f"select sequence_name from duckdb_sequences() where sequence_name = {quoted(sequence)} "
    f"and coalesce(last_value, start_value - 1) < coalesce(({newest}), 0)"
    for sequence, newest in _NUMBERED.items()
)
_UNIQUE = " union all ".join(
    f"select '{table} ' || {column} from {table} group by {column} having count(*) > 1"
    for table, column in (
        *(("votes", "seq"), ("verdicts", "seq"), ("grades", "seq"), ("rationales", "seq")),
        *(("battles", "battle_no"), ("prompts", "prompt_no"), ("models", "model_no")),
        *(("judges", "judge_no"), ("pending_votes", "vote")),
    )
)

CONTENTS: tuple[Check, ...] = (
    Check("battle values", "each battle has models and possible values", _BATTLES, RESTORE),
    Check(
        "commitments",
        "each battle's commitment is the hash of its nonce and seed",
        _COMMITMENT,
        "Seed, nonce or commitment was changed after it was shown. " + RESTORE,
    ),
    Check("turn numbers", "the turns of each battle are 0, 1, 2 and so on", _TURNS, RESTORE),
    Check("reply places", "each reply is of its place's model", _REPLIES, RESTORE),
    Check(
        "ranks",
        "each vote ranks the models of its battle, 1 the best",
        _ranks("votes", also=_SHOWN),
        RESTORE,
    ),
    Check(
        "pending ranks", "so does each vote that can be undone", _ranks("pending_votes"), RESTORE
    ),
    Check(
        "repeated ranks",
        "so does each second vote, and it says in which order it was shown",
        _ranks("repeats", "second_vote", _SHOWN, "true"),
        RESTORE,
    ),
    Check("blind", "nobody voted after the models were revealed to them", _BLIND, _LEAVE_OUT),
    Check("verdict places", "each verdict is about two places of its battle", _VERDICTS, RESTORE),
    Check(
        "score values",
        "each score is a number",
        "select concat_ws(' ', battle, turn, place, metric) from scores where not isfinite(score)",
        RESTORE,
    ),
    Check("criteria", "each rationale has known criteria", _RATIONALES, RESTORE),
    Check(
        "rules",
        "each exclusion has a voter or a time, a reason and an author",
        _EXCLUSIONS,
        "`coupled-arena include` takes one back, `exclude` makes it anew.",
    ),
    Check("times", "each time is between 2000 and tomorrow", _ODD, _MEND),
    Check("future", "nothing is from the future", _FUTURE, _MERGED),
    Check("order of time", "no vote or verdict is older than its battle", _EARLY, _MERGED),
    Check("sequences", "new rows get new numbers", _SEQUENCES, RESTORE),
    Check("numbers", "no number is given twice", _UNIQUE, RESTORE),
)


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
    "repeats": ("second_vote", "votes", "using (battle, voter)"),
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


@dataclass(frozen=True)
class _NamedCheck(Check):
    """The query says what is kept, to be held against what is found."""

    def run(self, cursor: Cursor) -> Finding:
        """Look, changing nothing."""
        found, kept = Counter(naming.found_anew(cursor)), Counter(self._kept(cursor))
        unlike = sorted({*(found - kept), *(kept - found)})
        first = " ".join(map(str, unlike[0])) if unlike else None
        return Finding(self.name, self.holds, len(unlike), first, self.advice)

    def _kept(self, cursor: Cursor) -> list[tuple[str, int, int, str]]:
        return cursor.execute(self.query).fetchall()


NAMED = _NamedCheck(
    "names",
    "answers that name a model are marked, by the list in force",
    "select battle, turn, place, found from naming_replies",
    "Start the app, or `import` anything: whatever writes looks through all answers again.",
)
