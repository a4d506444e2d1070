"""How a judge is heard, where its verdicts do not just count."""

from __future__ import annotations

from collections.abc import Iterator

from coupled_arena.core.language import ngettext
from coupled_arena.store.queries.judge_quality import JudgeUse


def use_words(use: JudgeUse) -> Iterator[str]:
    """Say where a judge abstains, and where its verdicts have no probabilities."""
    if use.abstained:
        said = ngettext(
            "The judge said different things in both orders on {n:,} of {judged:,} comparisons, "
            "and abstains there: {votes:,} vote counts without it.",
            "The judge said different things in both orders on {n:,} of {judged:,} comparisons, "
            "and abstains there: {votes:,} votes count without it.",
            use.abstained_voted,
        )
        yield said.format(n=use.abstained, judged=use.comparisons, votes=use.abstained_voted)
    if use.without_probability:
        said = ngettext(
            "{n:,} of {judged:,} comparisons has no probabilities of the judge: its verdict there "
            "counts as 0 or 1.",
            "{n:,} of {judged:,} comparisons have no probabilities of the judge: its verdicts "
            "there count as 0 or 1.",
            use.without_probability,
        )
        yield said.format(n=use.without_probability, judged=use.comparisons)
