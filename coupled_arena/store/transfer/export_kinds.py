"""What the values of an export may be: from the text of a file to a typed value, as SQL."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from coupled_arena.core.rationales import Criterion
from coupled_arena.core.records import Finish, Mode, Origin, Outcome, Source
from coupled_arena.store.files import quoted


@dataclass(frozen=True)
class Kind:
    """What a value may be.

    Attributes
    ----------
    type : str
        Of DuckDB.
    value : str
        SQL: the value, from the text ``{f}``; null if the text is none.
    name : str
        What it is called where it is none.
    """

    type: str
    value: str
    name: str


def _list(item: str, nulls: str) -> str:
    strict = f"try(from_json_strict({{f}}, '[\"{item}\"]'))"
    return strict if nulls else f"if(list_count({strict}) = len({strict}), {strict}, null)"


_WHOLE = "if(regexp_full_match({f}, '[0-9]+([.]0+)?'), try_cast({f} as %s), null)"
KINDS: dict[str, Kind] = {
    "name": Kind("text", "nullif({f}, '')", "a name"),
    "text": Kind("text", "{f}", "a text"),
    "number": Kind(
        "double", "if(isfinite(try_cast({f} as double)), try_cast({f} as double), null)", "a number"
    ),
    "share": Kind(
        "double",
        "if(try_cast({f} as double) between 0 and 1, try_cast({f} as double), null)",
        "from 0 to 1",
    ),
    "whole": Kind("integer", _WHOLE % "integer", "a whole number from 0 on"),
    "order": Kind("bigint", _WHOLE % "bigint", "a whole number from 0 on"),
    "flag": Kind("boolean", "try_cast({f} as boolean)", "true or false"),
    # A clock may have been wrong, so that any time which can be shown is taken. What is none of
    # those may be milliseconds: of a file that went through pandas, or of an older version.
    "moment": Kind("timestamptz", "coalesce(moment({f}), a_time({f}))", "a time"),
    # Not `to_timestamp`, which cuts off what a double is short of: from 2038 on, a microsecond.
    "seconds": Kind(
        "timestamptz",
        "coalesce("
        "moment({f}), "
        "try(make_timestamptz((try_cast({f} as decimal(24, 6)) * 1000000)::bigint)))",
        "a time in seconds",
    ),
    "seed": Kind(
        "ubigint",
        "if(regexp_full_match({f}, '[0-9a-f]{{16}}'), try_cast('0x' || {f} as ubigint), null)",
        "of 16 hexadecimal digits",
    ),
    "bytes": Kind(
        "blob",
        "if(regexp_full_match({f}, '([0-9a-f]{{2}})*'), try(unhex({f})), null)",
        "hexadecimal",
    ),
    "names": Kind("text[]", _list("VARCHAR", ""), "a list of names"),
    "texts": Kind("text[]", _list("VARCHAR", "may be"), "a list of texts"),
    "wholes": Kind(
        "integer[]",
        f"if(regexp_full_match({{f}}, '[\\[\\], 0-9]*'), {_list('INTEGER', '')}, null)",
        "a list of whole numbers",
    ),
    "facts": Kind(
        "map(text, text)", "try_cast(try({f}::json) as map(text, text))", "an object of texts"
    ),
}


def _list_of(choices: type[StrEnum]) -> Kind:
    known = ", ".join(quoted(choice.value) for choice in choices)
    names = _list("VARCHAR", "")
    all_known = f"if(list_has_all([{known}], {names}), {names}, null)"
    return Kind("text[]", all_known, f"a list of {', '.join(choices)}")


def _one_of(choices: type[StrEnum]) -> Kind:
    known = ", ".join(quoted(choice.value) for choice in choices)
    return Kind("text", f"if({{f}} in ({known}), {{f}}, null)", "one of " + ", ".join(choices))


KINDS.update(
    (choices.__name__.lower(), _one_of(choices))
    for choices in (Mode, Origin, Finish, Source, Outcome)
)
KINDS["criteria"] = _list_of(Criterion)
