"""Options that several analyses have, each with its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from annotated_doc import Doc
from annotated_types import Ge

from coupled_arena.api.declared import Level, Tracked
from coupled_arena.core import choices
from coupled_arena.stats.progress import Track

Judge = Annotated[str | None, Doc("The judge; needed where there are several.")]
Mode = Annotated[choices.Battles | str, Doc("Which battles count.")]
Alpha = Annotated[float, Level(), Doc("Error level, not the confidence.")]
Models = Annotated[Sequence[str] | None, Doc("Only these models.")]
Category = Annotated[str | None, Doc("Only prompts of this category.")]
Language = Annotated[str | None, Doc("Only prompts in this language.")]
Ties = Annotated[
    choices.Ties | str, Doc("Comparisons that are ties count as wins for neither, or are left out.")
]
TieScore = Annotated[
    choices.TieScore | str, Doc("A tie is a win for neither, or half a win for both.")
]
JudgeScore = Annotated[
    choices.JudgeScore | str,
    Doc("A judge's verdict counts as 0 or 1, or as likely as it was to prefer each."),
]
Flips = Annotated[
    choices.Flips | str,
    Doc("What a judge says that does not say the same in both orders: a tie, or nothing."),
]
Control = Annotated[
    choices.Control | str, Doc("Hold the length of replies fixed, or their Markdown too.")
]
Weighting = Annotated[
    choices.Weighting | str,
    Doc(
        "What the mean over opponents weighs: each opponent the same, each order too, or each "
        "comparison."
    ),
]
Covariance = Annotated[choices.Covariance | str, Doc("The one that holds, or the papers'.")]
Cutoff = Annotated[
    choices.Cutoff | str, Doc("How rank-sets allow for comparing all models at once.")
]
Scope = Annotated[
    choices.Scope | str,
    Doc("Rank-sets that hold for all models together, or each by itself, which are narrower."),
]
Voters = Annotated[
    choices.Voters | str,
    Doc(
        "Whom win rates and rank-sets hold for: people like these voters, who have tastes of their "
        "own, or exactly these voters."
    ),
]
Metric = Annotated[str | None, Doc("Which metric of scores in files tells who wins.")]
BradleyTerry = Annotated[bool, Doc("Add Bradley-Terry scores.")]
Seed = Annotated[int, Ge(0), Doc("Seed of what is drawn at random.")]
Repeats = Annotated[int, Ge(1), Doc("How often to draw.")]
Progress = Annotated[Track, Tracked()]
