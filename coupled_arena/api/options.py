"""Options that several analyses have, each with its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from annotated_doc import Doc
from annotated_types import Ge

from coupled_arena.api.declared import Field, Level, Tracked
from coupled_arena.core import choices
from coupled_arena.core.language import N_
from coupled_arena.stats.progress import Track

Judge = Annotated[str | None, Field(N_("Judge")), Doc("The judge; needed where there are several.")]
Mode = Annotated[choices.Battles | str, Field(N_("Battles")), Doc("Which battles count.")]
Alpha = Annotated[
    float,
    Level(),
    Field(N_("Error level alpha"), least=0.01, most=0.4, step=0.01),
    Doc("Error level, not the confidence."),
]
Models = Annotated[Sequence[str] | None, Doc("Only these models.")]
Category = Annotated[
    str | None,
    Field(N_("Category"), nothing=N_("Any category")),
    Doc("Only prompts of this category."),
]
Language = Annotated[
    str | None,
    Field(N_("Language"), nothing=N_("Any language")),
    Doc("Only prompts in this language."),
]
Ties = Annotated[
    choices.Ties | str,
    Field(N_("Ties")),
    Doc("Comparisons that are ties count as wins for neither, or are left out."),
]
TieScore = Annotated[
    choices.TieScore | str,
    Field(N_("A tie is")),
    Doc("A tie is a win for neither, or half a win for both."),
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
    choices.Control | str,
    Field(
        N_("Style held fixed"),
        N_("Adds scores that the length of replies, or their Markdown too, cannot move."),
    ),
    Doc("Hold the length of replies fixed, or their Markdown too."),
]
Weighting = Annotated[
    choices.Weighting | str,
    Field(N_("Weighting")),
    Doc(
        "What the mean over opponents weighs: each opponent the same, each order too, or each "
        "comparison."
    ),
]
Covariance = Annotated[
    choices.Covariance | str, Field(N_("Covariance")), Doc("The one that holds, or the papers'.")
]
Cutoff = Annotated[
    choices.Cutoff | str,
    # People watch a page: what holds at one look would sooner or later be wrong there.
    Field(N_("Cut-off of rank-sets"), first=choices.Cutoff.ANY_TIME),
    Doc("How rank-sets allow for comparing all models at once."),
]
Scope = Annotated[
    choices.Scope | str,
    Field(N_("Rank-sets hold")),
    Doc("Rank-sets that hold for all models together, or each by itself, which are narrower."),
]
Metric = Annotated[str | None, Doc("Which metric of scores in files tells who wins.")]
BradleyTerry = Annotated[bool, Doc("Add Bradley-Terry scores.")]
Seed = Annotated[int, Ge(0), Doc("Seed of what is drawn at random.")]
Repeats = Annotated[int, Ge(1), Doc("How often to draw.")]
Progress = Annotated[Track, Tracked()]
