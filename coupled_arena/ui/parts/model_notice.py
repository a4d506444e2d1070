"""A quiet line while models are left out because their servers do not answer."""

from __future__ import annotations

from coupled_arena.core.language import ngettext
from coupled_arena.generation.running import Worker
from coupled_arena.ui.parts.notice import Notice

_LOOK = 10.0  # seconds between looks


def model_notice(worker: Worker) -> Notice:
    """Return the line; it names no model, for a round tells nothing of who takes part."""

    def says() -> str:
        if not worker.away:
            return ""
        return ngettext(
            "One model is away: battles go on without, until the server answers.",
            "{n} models are away: battles go on without, until the server answers.",
            worker.away,
        ).format(n=worker.away)

    return Notice(says, "model-notice", _LOOK)
