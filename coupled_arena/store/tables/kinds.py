"""What the values of an export may be, as SQL: how they are written, and how they are read back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from coupled_arena.core.rationales import Criterion
from coupled_arena.core.records import Finish, Mode, Origin, Outcome, Source
from coupled_arena.core.sql import quoted


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
    shown : str
        What its type is in a file, for readers.
    written : str
        SQL: what is written of the column ``{f}``.
    note : str
        What that is, of the table called ``{t}``; empty where it is the column as it is.
    """

    type: str
    value: str
    name: str
    shown: str = "text"
    written: str = "{f}"
    note: str = ""

    @property
    def nested(self) -> bool:
        """Whether it is a list or a map, which is JSON in a CSV file."""
        return self.type.endswith(("[]", ")"))


def _list(item: str, nulls: str) -> str:
    strict = f"try(from_json_strict({{f}}, '[\"{item}\"]'))"
    return strict if nulls else f"if(list_count({strict}) = len({strict}), {strict}, null)"


_WHOLE = "if(regexp_full_match({f}, '[0-9]+([.]0+)?'), try_cast({f} as %s), null)"
KINDS: dict[str, Kind] = {
    "name": Kind("text", "nullif({f}, '')", "a name"),
    "text": Kind("text", "{f}", "a text"),
    "number": Kind(
        "double",
        "if(isfinite(try_cast({f} as double)), try_cast({f} as double), null)",
        "a number",
        "number",
    ),
    "share": Kind(
        "double",
        "if(try_cast({f} as double) between 0 and 1, try_cast({f} as double), null)",
        "from 0 to 1",
        "number",
    ),
    "whole": Kind("integer", _WHOLE % "integer", "a whole number from 0 on", "integer"),
    # Numbers of the store have gaps, and would not come back by an import: a file counts anew.
    "order": Kind(
        "bigint",
        _WHOLE % "bigint",
        "a whole number from 0 on",
        "integer",
        "row_number() over (order by {f})",
        "Order of the {t} in this file, from 1",
    ),
    "flag": Kind("boolean", "try_cast({f} as boolean)", "true or false", "boolean"),
    # A clock may have been wrong, so that any time which can be shown is taken. What is none of
    # those may be milliseconds: of a file that went through pandas, or of an older version.
    "moment": Kind("timestamptz", "coalesce(moment({f}), a_time({f}))", "a time", "time"),
    # Not `to_timestamp`, which cuts off what a double is short of: from 2038 on, a microsecond.
    "seconds": Kind(
        "timestamptz",
        "coalesce("
        "moment({f}), "
        "try(make_timestamptz((try_cast({f} as decimal(24, 6)) * 1000000)::bigint)))",
        "a time in seconds",
        "number",
    ),
    # JavaScript, and all that reads JSON as JavaScript does, has no 64-bit integers.
    "seed": Kind(
        "ubigint",
        "if(regexp_full_match({f}, '[0-9a-f]{{16}}'), try_cast('0x' || {f} as ubigint), null)",
        "of 16 hexadecimal digits",
        written="printf('%016x', {f})",
        note="16 hexadecimal digits",
    ),
    "bytes": Kind(
        "blob",
        "if(regexp_full_match({f}, '([0-9a-f]{{2}})*'), try(unhex({f})), null)",
        "hexadecimal",
        written="lower(hex({f}))",
        note="32 hexadecimal digits",
    ),
    "names": Kind("text[]", _list("VARCHAR", ""), "a list of names", "list of text"),
    "texts": Kind("text[]", _list("VARCHAR", "may be"), "a list of texts", "list of text"),
    "wholes": Kind(
        "integer[]",
        f"if(regexp_full_match({{f}}, '[\\[\\], 0-9]*'), {_list('INTEGER', '')}, null)",
        "a list of whole numbers",
        "list of integers",
    ),
    "facts": Kind(
        "map(text, text)",
        "try_cast(try({f}::json) as map(text, text))",
        "an object of texts",
        "map of text",
    ),
    "messages": Kind("text", "{f}", "a text", "list"),
}


def _list_of(choices: type[StrEnum]) -> Kind:
    known = ", ".join(quoted(choice.value) for choice in choices)
    names = _list("VARCHAR", "")
    all_known = f"if(list_has_all([{known}], {names}), {names}, null)"
    return Kind("text[]", all_known, f"a list of {', '.join(choices)}", "list of text")


def _one_of(choices: type[StrEnum]) -> Kind:
    known = ", ".join(quoted(choice.value) for choice in choices)
    return Kind("text", f"if({{f}} in ({known}), {{f}}, null)", "one of " + ", ".join(choices))


KINDS.update(
    (choices.__name__.lower(), _one_of(choices))
    for choices in (Mode, Origin, Finish, Source, Outcome)
)
KINDS["criteria"] = _list_of(Criterion)
