"""Audits that follow the store."""

from __future__ import annotations

from dataclasses import replace

from coupled_arena.analysis.audit.read import AuditEstimates, read_audit_estimates
from coupled_arena.analysis.live import Kept
from coupled_arena.analysis.style.judge import read_judge_style
from coupled_arena.core.choices import Control, Ties
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection


class LiveAudits:
    """Audits that are made again only when the store has changed; for any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: Kept[tuple[Selection, Ties], AuditEstimates] = Kept(store)
        self._styled: Kept[tuple[Selection, Ties, Control], AuditEstimates] = Kept(store)

    def get(
        self, selection: Selection, ties: Ties, control: Control = Control.NONE
    ) -> AuditEstimates:
        """Return what `read_audit_estimates` does; the same object until the store changes.

        With `control` also what `read_judge_style` says with that held fixed.
        """
        plain = self._kept.get(
            (selection, ties), lambda: read_audit_estimates(self._store, selection, ties)
        )
        if control is Control.NONE:
            return plain
        return self._styled.get(
            (selection, ties, control),
            lambda: replace(plain, style=read_judge_style(self._store, selection, control)),
        )
