"""One thing that must hold in a database, as a query for what breaks it."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from coupled_arena.core.files import reason
from coupled_arena.core.sql import Cursor

RESTORE = "Bring a whole snapshot back with `coupled-arena restore`."
AGAIN = "`export` this database and `import` that into a new one, which makes them anew."


@dataclass(frozen=True)
class Check:
    """What must hold.

    Attributes
    ----------
    name : str
        One word or two, the same in every version.
    holds : str
        What is so in a whole database, as a sentence goes on after the name.
    query : str
        SQL for what breaks it: a row each, whose first column tells which it is.
    advice : str
        What to do about those.
    """

    name: str
    holds: str
    query: str
    advice: str

    def run(self, cursor: Cursor) -> Finding:
        """Look, changing nothing."""
        counted = f"select count(*), min(item::text) from ({self.query}) as wrong(item)"
        try:
            wrong, first = cursor.execute(counted).fetchall()[0]
        except duckdb.ProgrammingError:
            raise  # the query is wrong, not the database
        except duckdb.Error as error:
            return Finding(self.name, self.holds, 1, f"it cannot be read: {reason(error)}", RESTORE)
        return Finding(self.name, self.holds, wrong, first, self.advice)


@dataclass(frozen=True)
class Finding:
    """What a check has found.

    Attributes
    ----------
    wrong : int
        How many break it; 0 where all is well.
    first : str or None
        The first of them: an id, a file, or why nothing can be told.
    """

    check: str
    holds: str
    wrong: int
    first: str | None
    advice: str
