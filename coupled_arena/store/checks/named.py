"""Which answers name a model, looked for again: by the program, for SQL does not read sentences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from coupled_arena.store.checks.check import Check, Cursor, Finding
from coupled_arena.store.tables import naming


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
    "answers that name a model are known to, by the list in force",
    "select battle, turn, place, found from naming_replies",
    "Start the app, or `import` anything: whatever writes looks through all answers again.",
)
