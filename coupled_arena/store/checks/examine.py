"""All checks of a database, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.store.checks import schema
from coupled_arena.store.checks.check import Cursor, Finding
from coupled_arena.store.checks.contents import CONTENTS
from coupled_arena.store.checks.counted import COMPARISONS, COUNTED
from coupled_arena.store.checks.named import NAMED
from coupled_arena.store.checks.orphans import ORPHANS, OTHERS

CHECKS = (schema.STEPS, *ORPHANS, *OTHERS, *CONTENTS, *COUNTED, NAMED)


def examine(cursor: Cursor) -> Iterator[Finding]:
    """Yield what each check of a database of the newest schema finds, in order.

    All of it is read several times, which takes seconds with a million votes. Where a block cannot
    be read, or a table is not there, the checks after that one have nothing to go by.
    """
    for look in (schema.blocks, schema.parts):
        found = look(cursor)
        yield found
        if found.wrong:
            return
    for check in CHECKS:
        yield check.run(cursor)


def faults(cursor: Cursor) -> list[str]:
    """Return what a snapshot that is to be restored must not have; nothing if it is whole."""
    found = schema.blocks(cursor)
    if found.wrong:
        return [f"{found.first}"]
    each = (check.run(cursor) for check in (*ORPHANS, COMPARISONS))
    return [
        f"not so: {finding.holds} ({finding.wrong:,}; the first is {finding.first})"
        for finding in each
        if finding.wrong
    ]
