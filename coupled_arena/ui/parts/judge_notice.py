"""A quiet line while the live judge does not answer."""

from __future__ import annotations

from coupled_arena.battles.judge_runs.live import LiveJudge
from coupled_arena.core.language import _
from coupled_arena.ui.parts.notice import Notice

_LOOK = 3.0  # seconds between looks


def judge_notice(judge: LiveJudge) -> Notice:
    """Return the line."""

    def says() -> str:
        if judge.answering:
            return ""
        return _(
            "The judge {judge} does not answer at the moment. Votes count as ever; its "
            "verdicts will follow."
        ).format(judge=judge.name)

    return Notice(says, "judge-notice", _LOOK)
