"""Staged rows into battles, votes and verdicts that the store lacks."""

from __future__ import annotations

from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.tables import derived_rows
from coupled_arena.store.transfer.staged_rows import reject

BINDING = ("imported", "", "")
"""Model, prompt hash and sampling of a judge whose verdicts come from a file, which has none."""

# Rows that say the same of the same: whoever pastes a file twice has not voted twice. The window
# tells apart rows that only share a hash.
_PASTED = """
create or replace temp table pasted as
with hashed as (
    select n, hash(file, battle, voter, n % 2, first, outcome) as h from staged where known
)
select n
from (
    select n, row_number() over (
        partition by
            file, battle, voter, n % 2, first, outcome, likely, given_at, prompts, replies_a,
            replies_b
        order by n
    ) as nth
    from staged
    where known and problem is null
        and n in (
            select n from hashed where h in (select h from hashed group by h having count(*) > 1)
        )
)
where nth > 1
"""
_REPEATED = """
create or replace temp table repeated as
with named as (
    select
        n, file, battle, apart, if(apart, '', voter) as voter, if(apart, 0, n % 2) as half,
        if(
            judged and one_order and not apart,
            [first, second],
            [least(first, second), greatest(first, second)]
        ) as pair
    from staged
    where not own and leader = n
),
hashed as (select *, hash(file, battle, voter, half, pair) as h from named)
select n, apart, nth
from (
    select
        n, apart,
        row_number() over (partition by file, battle, voter, half, pair order by n) - 1 as nth
    from hashed
    where h in (select h from hashed group by h having count(*) > 1)
)
where nth > 0
"""
_SEPARATE = """
update staged set battle = md5(staged.battle || '/' || nth)
from repeated
where staged.leader = repeated.n
"""

_SHOWN = """
create or replace temp table shown as
select
    battle, n, text_row, given_at,
    coalesce(models, [first, second]) as models,
    coalesce(battles.mode, first_rows.mode, 'unknown') as mode,
    coalesce(battles.seed, first_rows.seed, 0) as seed,
    models is null as fresh
from (
    select
        battle,
        min(n) as n,
        coalesce(
            min(n) filter (
                coalesce(len(prompts), 0) + coalesce(len(replies_a), 0)
                    + coalesce(len(replies_b), 0) > 0
            ),
            min(n)
        ) as text_row,
        min(given_at) as given_at,
        arg_min(first, n) as first,
        arg_min(second, n) as second,
        arg_min(mode, n) as mode,
        arg_min(seed, n) as seed
    from staged
    group by battle
) as first_rows
left join battles using (battle)
"""

# Exports differ in the blanks of a text.
_BARE = "nullif(trim(regexp_replace({}, '\\s+', ' ', 'g')), '')"
_OTHERS = f"""
select
    staged.n,
    case
        when [first, second] <> models and [second, first] <> models then if(
            own,
            'its battle is of ' || array_to_string(models, ', ') || ' here',
            'its key is of ' || models[1] || ' and ' || models[2]
                || ' in this dataset already: use another --dataset'
        )
        when not own and {_BARE.format("staged.prompts[1]")}
                <> {_BARE.format("coalesce(turns.prompt, told.prompt)")}
            then 'its key is of another question in this dataset already: use another --dataset'
        when staged.mode <> shown.mode then 'its battle is ' || shown.mode || ' here'
        when staged.seed <> shown.seed then 'its battle has another seed here'
    end as reason
from staged
join shown using (battle)
left join turns on not shown.fresh and turns.battle = staged.battle and turns.turn = 0
left join (
    select battle, arg_min(prompts[1], n) as prompt
    from staged
    where prompts[1] <> ''
    group by battle
) as told on shown.fresh and told.battle = staged.battle
where reason is not null
"""

# What is not known of the sampling is written as what would change nothing.
_BATTLES = """
insert into battles (
    battle, created_at, origin, mode, seed, nonce, commitment, models,
    temperature, top_k, top_p, max_new_tokens, coupling, arithmetic
)
select battle, given_at, 'import', mode, seed, '', '', models, 1, 0, 1, 0, 'unknown', map {}
from shown
where fresh
order by n
"""
# There may be answers to more questions than are given.
_TURNS = """
create or replace temp table file_turns as
select
    battle, fresh, turn, coalesce(prompts[turn + 1], '') as prompt,
    question as prompt_id, category, language,
    if(turn = 0, coalesce(system, ''), '') as system
from (
    select *, unnest(range(greatest(
        1, coalesce(len(prompts), 0), coalesce(len(replies_a), 0), coalesce(len(replies_b), 0)
    )))::integer as turn
    from (select battle, text_row as n, fresh from shown)
    join staged using (battle, n)
);
create or replace temp table file_replies as
select battle, fresh, turn, place, models[place + 1] as model, texts[turn + 1] as text
from (
    select *, unnest(range(len(texts)))::integer as turn
    from (
        select
            battle, fresh, models, unnest([0, 1]) as side,
            if(first = models[1], side, 1 - side) as place,
            if(side = 0, replies_a, replies_b) as texts
        from (select battle, text_row as n, fresh, models from shown)
        join staged using (battle, n)
    )
)
where texts[turn + 1] is not null
"""
_ADD_TURNS = """
insert into turns (battle, turn, prompt, prompt_id, category, language, system)
select battle, turn, prompt, prompt_id, category, language, system
from file_turns
where fresh
order by battle  -- an index takes a million random keys faster in their order
"""
_ADD_REPLIES = """
insert into replies
select battle, turn, place, model, text, [], 'stop'
from file_replies
where fresh
"""
# Texts that a file lacked, and a later one has. What is stored stays: a row completes its battle
# only where it says the same of all that is there, and of a battle that has texts only the gaps.
_COMPLETED = """
create or replace temp table known_texts as
select battle, max(length(prompt)) = 0 and count(text) = 0 as bare
from turns
left join replies using (battle, turn)
where battle in (
    select battle from battles join shown using (battle)
    where not fresh and origin = 'import' and len(battles.models) = 2
)
group by battle;
create or replace temp table agreed as
from known_texts
where battle not in (
    select battle
    from file_turns as given join turns using (battle, turn)
    where not fresh and (
        (turns.prompt <> '' and given.prompt <> '' and turns.prompt <> given.prompt)
        or (turns.system <> '' and given.system <> '' and turns.system <> given.system)
    )
    union all
    select battle
    from file_replies as given join replies using (battle, turn, place)
    where not fresh and replies.text <> given.text
);
create or replace temp table filled_turns as
select battle, turn, given.prompt, given.system
from file_turns as given join turns using (battle, turn) join agreed using (battle)
where (turns.prompt = '' and given.prompt <> '') or (turns.system = '' and given.system <> '');
create or replace temp table new_turns as
select given.* exclude (fresh, bare)
from (from file_turns join agreed using (battle) where bare) as given
anti join turns using (battle, turn);
create or replace temp table new_replies as
select given.* exclude (fresh, bare)
from (from file_replies join agreed using (battle)) as given
anti join replies using (battle, turn, place)
where bare or (battle, turn) in (select (battle, turn) from turns);
create or replace temp table completed as
select battle from filled_turns union select battle from new_turns
union select battle from new_replies
"""
_TOUCHED = """
create or replace temp table touched as
select battle from shown where fresh union select battle from completed
"""
_COMPLETE = (
    """
    update turns set
        prompt = if(turns.prompt = '', filled_turns.prompt, turns.prompt),
        system = if(turns.system = '', filled_turns.system, turns.system)
    from filled_turns
    where turns.battle = filled_turns.battle and turns.turn = filled_turns.turn
    """,
    """
    insert into turns (battle, turn, prompt, prompt_id, category, language, system)
    select battle, turn, prompt, prompt_id, category, language, system from new_turns
    """,
    "insert into replies select battle, turn, place, model, text, [], 'stop' from new_replies",
)


def drop_pasted(cursor: Cursor) -> int:
    """Drop rows that repeat another one; return how many."""
    cursor.execute(_PASTED)
    rows = value_of(
        cursor,
        "select count(distinct (file, line)) from staged where n in (select n from pasted)",
    )
    cursor.execute("delete from staged where leader in (select n from pasted)")
    return rows


def separate(cursor: Cursor) -> int:
    """Make battles of their own of a voter's rows with one key; return how many rows these are.

    It comes before rows are left out, so that those of people and judge still match in order.
    """
    # A judge on one question in both orders gave two halves of one judgement; of people the order
    # tells nothing, for they are shown models in any. A row with a verdict for each order has both.
    # A verdict beside a vote goes where its vote goes.
    cursor.execute(_REPEATED)
    cursor.execute(_SEPARATE)
    rows = """
        select count(distinct (file, line)) from staged join repeated using (n)
        where not repeated.apart
    """
    return value_of(cursor, rows)


def add_battles(cursor: Cursor) -> int:
    """Write the battles that are not there yet; return their number."""
    cursor.execute(_SHOWN)
    reject(cursor, _OTHERS)
    added = value_of(cursor, _BATTLES)
    for statement in (_TURNS, _ADD_TURNS, _ADD_REPLIES):
        cursor.execute(statement)
    return added


def complete(cursor: Cursor) -> int:
    """Write the texts that known battles lack and these rows have; return of how many battles."""
    cursor.execute(_COMPLETED)
    completed = value_of(cursor, "select count(*) from completed")
    if completed:
        derived_rows.forget(cursor, "battle in (select battle from completed)")
        for statement in _COMPLETE:
            cursor.execute(statement)
    cursor.execute(_TOUCHED)
    return completed


_OUTCOMES = """
create or replace temp table outcomes as
select
    staged.n, battle, voter, source, staged.given_at, raw, outcome, likely,
    first <> models[1] as turned,
    md5(concat_ws('/', battle, {kind}, voter)) as id
from staged
join shown using (battle)
where {judged}
"""
_NEW = """
create or replace temp table new as
select *
from outcomes
where n in (select min(n) from outcomes group by id) and {absent}
"""
_ADD_VOTES = """
insert into votes (vote, battle, voter, ranks, both_bad, source, early, cast_at, shown)
select
    id, battle, voter,
    case
        when outcome in ('tie', 'both_bad') then [1, 1]
        when (outcome = 'first') <> turned then [1, 2]
        else [2, 1]
    end,
    outcome = 'both_bad', source, false, given_at, if(turned, [1, 0], null)
from new
order by n
"""
_OTHER_VOTES = """
select n, outcomes.voter || ' has voted otherwise on this already' as reason
from outcomes
join current_votes using (battle, voter)
where outcome is distinct from case
    when both_bad then 'both_bad'
    when ranks[1] = ranks[2] then 'tie'
    when (ranks[1] < ranks[2]) <> turned then 'first'
    else 'second'
end
"""
_ADD_VERDICTS = """
insert into verdicts (
    verdict, battle, judge, first_place, second_place, outcome, raw, probability,
    p_first, p_second, p_tie, judged_at
)
select
    id, battle, voter, turned::integer, 1 - turned::integer, outcome, raw,
    greatest(likely, 1 - likely), 1 - likely, likely, if(likely is null, null, 0), given_at
from new
order by n
"""
_OTHER_VERDICTS = """
select n, outcomes.voter || ' has judged otherwise on this already' as reason
from outcomes
join verdicts on verdict = id
where outcomes.outcome is distinct from verdicts.outcome
"""


def add_votes(cursor: Cursor) -> int:
    """Write the votes that are not there yet; return their number."""
    cursor.execute(_OUTCOMES.format(kind="'vote'", judged="not judged"))
    cursor.execute(_NEW.format(absent="(battle, voter) not in (select (battle, voter) from votes)"))
    cursor.execute("insert into touched select battle from new")
    added = value_of(cursor, _ADD_VOTES)
    reject(cursor, _OTHER_VOTES)
    return added


def add_verdicts(cursor: Cursor) -> int:
    """Write the verdicts that are not there yet; return their number."""
    cursor.execute(_OUTCOMES.format(kind="'verdict', first <> models[1]", judged="judged"))
    cursor.execute(_NEW.format(absent="id not in (select verdict from verdicts)"))
    cursor.execute("insert into touched select battle from new")
    added = value_of(cursor, _ADD_VERDICTS)
    reject(cursor, _OTHER_VERDICTS)
    if added:
        cursor.execute(
            "insert into judges (judge, model, prompt_hash, sampling) "
            "select distinct voter, ?, ?, ? from new order by voter on conflict do nothing",
            [*BINDING],
        )
    return added
