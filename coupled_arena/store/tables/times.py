"""Which times can be, how a file's number or text becomes one, and how readers get one that is odd.

A time of a vote can be between 2000 and tomorrow. A database may hold others: a clock was wrong, or
an older version took milliseconds for seconds.
"""

from __future__ import annotations

_FIRST = 946_684_800  # 2000-01-01 in seconds since 1970
EARLIEST = "timestamptz '2000-01-01 00:00:00+00'"
LATEST = "(now() + interval 1 day)"

# Python's years are 1 to 9999, DuckDB's reach to 294247, and there is infinity.
_SHOWN_FIRST, _SHOWN_LAST = (
    f"timestamptz '{day} 00:00:00+00'" for day in ("0001-01-02", "9999-12-30")
)


def shown(column: str) -> str:
    """Return SQL for the time nearest to a column's that Python can hold."""
    # Of nothing and a time `least` takes the time.
    return f"if({column} is null, null, least(greatest({column}, {_SHOWN_FIRST}), {_SHOWN_LAST}))"


def utc(column: str) -> str:
    """Return SQL for a column's time as readers get it.

    It has no zone, since aware times would need pytz.
    """
    return f"({shown(column)} at time zone 'UTC')"


def odd(column: str) -> str:
    """Return SQL: whether a column's time cannot be."""
    return f"coalesce({column} not between {EARLIEST} and {LATEST}, false)"


def unbound(column: str) -> str:
    """Return SQL: whether a bound that somebody chose, which may be far off, is none."""
    return f"coalesce({column} not between {_SHOWN_FIRST} and {_SHOWN_LAST}, false)"


# The four units never overlap: the seconds of 2000 in milliseconds are the year 31969 in seconds.
# `decimal(28, 9)` holds nanoseconds, and its products with a million, exactly.
_UNITS = "\n".join(
    f"when n between {_FIRST} * {unit}::bigint and epoch({LATEST}) * {unit}::bigint "
    f"then make_timestamptz(({microseconds})::bigint)"
    for unit, microseconds in (
        (1, "n * 1000000"),
        (10**3, "n * 1000"),
        (10**6, "n"),
        (10**9, "n / 1000"),
    )
)
_FORMATS = "['%Y%m%d', '%Y%m%dT%H%M%S', '%Y%m%dT%H%M%SZ', '%a, %d %b %Y %H:%M:%S GMT']"
MACROS = f"""
set session TimeZone = 'UTC';
create or replace temp macro time_of_number(n) as case {_UNITS} end;
create or replace temp macro possible(t) as if({odd("t")}, null, t);
create or replace temp macro time_text(value) as
    if(lower(trim(value)) in ('', 'nan', 'nat', 'none', 'null', '<na>'), null, trim(value));
create or replace temp macro moment(value) as coalesce(
    time_of_number(try_cast(value as decimal(28, 9))),
    possible(try_cast(value as timestamptz)),
    possible(try_strptime(value, {_FORMATS}) at time zone 'UTC'),
    possible(try_strptime(value, '%a, %d %b %Y %H:%M:%S %z'))
);
create or replace temp macro put_right(t) as if(not isfinite(t), null, coalesce(
    possible(time_of_number((epoch_us(t) / 1000000.)::decimal(28, 9))),
    if(
        epoch_us(t) between 20000101000000 and 99991231000000 and epoch_us(t) % 1000000 = 0,
        possible(try_strptime((epoch_us(t) // 1000000)::text, '%Y%m%d') at time zone 'UTC'),
        null
    )
));
create or replace temp macro a_time(value) as coalesce(
    put_right(try_cast(value as timestamptz)),
    if({unbound("try_cast(value as timestamptz)")}, null, try_cast(value as timestamptz))
);
"""
"""Macros for a cursor. ``moment`` reads a text of a file; ``put_right`` mends a stored time that
cannot be: its seconds since 1970 are milliseconds and the like, or the digits of a date."""
