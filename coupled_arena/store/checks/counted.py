"""What follows from other tables, worked out again in another way than the store's own views.

A fault of a view would be in `comparisons` and in the view: comparing them would not show it.
"""

from __future__ import annotations

from coupled_arena.store.checks.check import AGAIN, Check

_START = "Start the app: it finds the waiting voters anew."
_ROWS = """
with last_votes as (
    select
        battle, voter,
        arg_max(
            {ranks: ranks, bad: both_bad, source: source, moment: cast_at, shown: shown}, seq
        ) as v
    from votes
    group by battle, voter
),
rules as (
    select voter, coalesce(since, '-infinity') as since, coalesce(until, 'infinity') as until
    from exclusions
    where exclusion not in (select exclusion from inclusions)
),
counted as (
    select *
    from last_votes
    anti join rules as hers
        on hers.voter = last_votes.voter and v.moment >= hers.since and v.moment < hers.until
    anti join (from rules where voter is null) as anybodys
        on v.moment >= anybodys.since and v.moment < anybodys.until
    anti join waiting_voters as newcomers
        on newcomers.voter = last_votes.voter and v.source = 'human'
    anti join naming_replies as telling
        on telling.battle = last_votes.battle and v.source = 'human'
),
seats as (
    select battle, unnest(models) as model, generate_subscripts(models, 1) as seat from battles
),
numbered as (select battle, seat, model_no from seats join models using (model)),
pairs as (
    select a.battle, a.seat as i, b.seat as j, a.model_no as model_a, b.model_no as model_b
    from numbered as a
    join numbered as b on a.battle = b.battle and a.seat < b.seat
),
voted as (
    select
        pairs.*, voter, coalesce(v.source = 'identical', false) as identical,
        -- The voter saw the place from 0 that stands earlier in `shown` first.
        list_filter(v.shown, lambda x: x in (pairs.i - 1, pairs.j - 1))[1] as seen_first,
        if(seen_first = pairs.j - 1, -1, 1) as way,
        case
            when voter is null then null
            when v.bad then 'both_bad'
            else (['first', 'tie', 'second'])[
                2 + way * sign(v.ranks[pairs.i] - v.ranks[pairs.j])::int
            ]
        end as preferred,
        s.battle is not null and preferred in ('first', 'second') as says_nothing
    from pairs
    left join counted using (battle)
    left join same_words as s on s.battle = pairs.battle and s.i = pairs.i and s.j = pairs.j
),
asked as (
    select
        battle, judge, first_place, second_place,
        arg_max({said: outcome, p: p_first, q: p_second}, seq) as v
    from verdicts
    where outcome is not null
    group by all
),
facing as (
    select battle, judge, first_place + 1 as i, second_place + 1 as j, v.said, v.p, v.q
    from asked
    where first_place < second_place
    union all
    select
        battle, judge, second_place + 1, first_place + 1,
        coalesce(map {'first': 'second', 'second': 'first'}[v.said], v.said), v.q, v.p
    from asked
    where first_place > second_place
),
said as (
    select
        battle, i, j, judge_no,
        if(min(said) = max(said), min(said), 'tie') as verdict,
        if(count(p) < count(*), null, avg(p)) as p_first,
        if(count(q) < count(*), null, avg(q)) as p_second,
        count(*) filter (said = 'first') not in (0, count(*))
            or count(*) filter (said = 'second') not in (0, count(*)) as flipped
    from facing
    join judges using (judge)
    group by battle, i, j, judge_no
),
whole as (
    select voted.*, 0 as judge_no, null as verdict, null as p_first, null as p_second,
        false as flipped
    from voted
    union all by name
    select voted.*, judge_no, verdict, p_first, p_second, flipped
    from voted join said using (battle, i, j)
),
asked_first as (
    select battle, prompt, prompt_id, category, language from turns where turn = 0
)
select
    battle_no,
    hash(
        prompt_no, judge_no::int, mode::text,
        if(way = 1, model_a, model_b), if(way = 1, model_b, model_a),
        if(says_nothing, null, preferred)::text,
        if(
            way = 1, verdict,
            coalesce(map {'first': 'second', 'second': 'first'}[verdict], verdict)
        ),
        identical, voter, category, language,
        if(way = 1, p_first, p_second), if(way = 1, p_second, p_first), flipped
    ) as row_hash
from whole
join battles using (battle)
left join asked_first using (battle)
join prompts on prompt_key = md5(
    case when prompt <> '' then prompt when prompt_id is not null then prompt_id else battle end
)
"""
_KEPT = """
select
    battle_no,
    hash(
        prompt_no, judge_no::int, mode::text, model_a, model_b,
        human::text, verdict::text, identical, voter, category, language, p_first, p_second, flipped
    ) as row_hash
from comparisons
"""


def _unlike(one: str, other: str) -> str:
    """Return the query for battles whose rows differ: another number of them, or other ones."""
    sums = "select battle_no, count(*) as n, sum(row_hash::hugeint) as h from ({}) group by all"
    return f"""
    select coalesce(battle, 'number ' || battle_no)
    from ({sums.format(one)}) as one
    full join ({sums.format(other)}) as other using (battle_no)
    left join battles using (battle_no)
    where one.n is distinct from other.n or one.h is distinct from other.h
    """


_WORDS = """
select battle, list({turn: turn, text: text} order by turn) as words, place + 1 as seat
from replies
group by battle, place
having max(length(text)) > 0
"""
_SAME_WORDS = f"""
with said as ({_WORDS}),
same as (
    select a.battle, a.seat as i, b.seat as j
    from said as a join said as b on a.battle = b.battle and a.words = b.words and a.seat < b.seat
)
select battle
from ((from same except all from same_words) union (from same_words except all from same))
"""
# What takes long is to count Markdown; the rest tells whether rows are there and of these texts.
_STYLES = """
with long as (
    select battle, model, sum(length(text)) as n, count(distinct place) as sides
    from replies
    group by all
),
meant as (
    select battle_no, model_no, n::bigint as characters
    from long join battles using (battle) join models using (model)
    where sides = 1 and len(list_filter(battles.models, lambda m: m = long.model)) = 1
),
kept as (select battle_no, model_no, characters from reply_styles)
select battle
from ((from meant except all from kept) union (from kept except all from meant))
join battles using (battle_no)
"""
_PROMPTS = """
select prompt_key
from prompts
left join (
    select prompt_no, count(*) as n from comparisons where judge_no = 0 group by all
) using (prompt_no)
where comparisons <> coalesce(n, 0)
"""
_WAITING = """
with cast_last as (
    select voter, battle, arg_max(source, seq) as source from votes group by battle, voter
),
own as (
    select voter, count(*) as n
    from cast_last join battles using (battle)
    where source = 'human' and mode <> 'unknown'
    group by voter
),
meant as (select voter from own, probation where n < probation.votes)
select voter
from ((from meant except from waiting_voters) union (from waiting_voters except from meant))
"""

COMPARISONS = Check(
    "counts",
    "comparisons match the votes and verdicts",
    _unlike(_ROWS, _KEPT),
    AGAIN,
)
COUNTED: tuple[Check, ...] = (
    COMPARISONS,
    Check("equal replies", "equal replies are marked as equal", _SAME_WORDS, AGAIN),
    Check("lengths", "each model's length of reply matches its texts", _STYLES, AGAIN),
    Check("waiting voters", "exactly the voters with too few votes wait", _WAITING, _START),
    Check("prompt counts", "each prompt has its number of comparisons", _PROMPTS, AGAIN),
)
