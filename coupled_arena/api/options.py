"""Options that several analyses have, each with its sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from annotated_doc import Doc
from annotated_types import Ge

from coupled_arena.api.declared import Field, Level, Pairs, Tracked
from coupled_arena.core import choices
from coupled_arena.core.language import N_
from coupled_arena.core.process import Track

Judge = Annotated[str | None, Field(N_("Judge")), Doc("The judge; needed if there are several.")]
Mode = Annotated[choices.Battles | str, Field(N_("Battles")), Doc("Battles that count.")]
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
    Doc("Ties are a win for neither, or left out."),
]
TieScore = Annotated[
    choices.TieScore | str | None,
    Field(N_("A tie is"), first=choices.TieScore.HALF),
    Doc(
        "A tie is half a win for both, or a win for neither. By default `half`, and `loss` "
        "with the published covariance."
    ),
]
Mix = Annotated[
    Sequence[str] | Mapping[str, str] | None,
    Pairs("CATEGORY=WEIGHT"),
    Doc(
        "Win rates of a mix of categories, as in math=2,code=1: the weighted mean of those of each."
    ),
]
Map = Annotated[
    Sequence[str] | Mapping[str, str] | None,
    Pairs(),
    Doc(
        "Of files of votes: a column of ours and the one that it is in the file, as in "
        "winner=label. Or a word for the winner and its meaning, as in 1=model_a."
    ),
]
JudgeScore = Annotated[
    choices.JudgeScore | str,
    Doc("A verdict counts as 0 or 1, or as the judge's probability to prefer each model."),
]
Flips = Annotated[
    choices.Flips | str,
    Doc("Verdicts that differ between the two orders: a tie, or ignored."),
]
Control = Annotated[
    choices.Control | str,
    Field(
        N_("Style held fixed"),
        N_("Adds scores with the length of replies, or also their Markdown, held fixed."),
    ),
    Doc("Scores with the length of replies held fixed, or also their Markdown."),
]
Weighting = Annotated[
    choices.Weighting | str,
    Field(N_("Weighting")),
    Doc(
        "Equal weights in the mean over opponents: for each opponent, also "
        "for each order, or for each comparison."
    ),
]
Covariance = Annotated[
    choices.Covariance | str,
    Field(N_("Covariance")),
    Doc("The corrected covariance, or the published one."),
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
    Doc("Rank-sets hold for all models together, or each by itself (narrower)."),
]
Voters = Annotated[
    choices.Voters | str,
    Field(N_("The board speaks for")),
    Doc(
        "Rank-sets and intervals hold for people like these voters, or for exactly these. "
        "People like these have tastes of their own."
    ),
]
OfAnnotators = Annotated[
    choices.Voters | str,
    Doc("The interval holds for people like these annotators, or for exactly these."),
]
Metric = Annotated[str | None, Doc("Metric of scores in files that decides the winner.")]
BradleyTerry = Annotated[bool, Doc("Add Bradley-Terry scores.")]
Seed = Annotated[int, Ge(0), Doc("Seed of all random draws.")]
Repeats = Annotated[int, Ge(1), Doc("Number of draws.")]
Progress = Annotated[Track, Tracked()]

# Of runs: how models answer many prompts.

Modes = Annotated[choices.Modes | str, Doc("How models draw their noise.")]
Repetitions = Annotated[int, Ge(1), Doc("Repetitions of each question.")]
ExperimentSeed = Annotated[int, Ge(0), Doc("Seed of the whole experiment.")]
Temperature = Annotated[
    float | Sequence[float] | None,
    Doc("Sampling temperature; 0 is greedy. A list such as `0.1,0.5,1` runs each."),
]
TopK = Annotated[int | None, Doc("Keep the k likeliest tokens; 0 keeps all.")]
TopP = Annotated[
    float | Sequence[float] | None,
    Doc("Share of probability to keep. A list such as `0.9,1` runs each."),
]
MaxNewTokens = Annotated[int | None, Doc("Longest reply, in tokens.")]
Sampler = Annotated[
    choices.RunSampler | str,
    Doc(
        "How noise becomes a token: Gumbel-max, or [inverse "
        "transform](coupling.md#another-sampler) for comparison."
    ),
]
Coupling = Annotated[
    choices.Coupling | str | None,
    Doc(
        "Noise for each token or for each byte; `auto` uses bytes [if vocabularies "
        "differ](byte-coupling.md). By default the settings decide."
    ),
]
AtOnce = Annotated[int, Ge(1), Doc("Battles decoded in one batch.")]
