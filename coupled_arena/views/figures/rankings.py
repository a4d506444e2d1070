"""What pictures of resampling experiments share: rankings, what they are called, how they look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go

from coupled_arena.core.language import N_, _
from coupled_arena.stats.intervals import critical_value, wilson
from coupled_arena.stats.simulation.rank_set_runs import Ranking, RankSetQuality, RankSetRuns
from coupled_arena.stats.simulation.resampling import Resampling
from coupled_arena.views.figures.caption import COVARIANCES, CUTOFF_NAMES
from coupled_arena.views.figures.theme import LINE, Theme, look, shortened, spoken

Results = Resampling | Mapping[str, Resampling]
"""An experiment with one judge, or by their names with several on the same comparisons."""

_SUBTITLE = 44  # characters of a line on a phone
_A_LINE = 4  # entries of a key on a line
_PALE = 0.45  # opacity of a judge alone, beside the same judge's help
_NAMES = {
    Ranking.BASELINE: N_("all votes"),
    Ranking.JUDGE: N_("judge only"),
    Ranking.HUMAN: N_("few votes only"),
    Ranking.PPR: N_("few votes and judge"),
}
# Of the command line alone, which has no other language.
_OF_SEVERAL = {Ranking.JUDGE: "{judge} only", Ranking.PPR: "few votes and {judge}"}
# Different to every kind of colour blindness, and readable on light and dark paper.
_COLOURS = {
    Ranking.BASELINE: "#7d8590",
    Ranking.JUDGE: "#d55e00",
    Ranking.HUMAN: "#c98a00",
    Ranking.PPR: "#0a84c6",
}
JUDGE_COLOURS = ("#0a84c6", "#d55e00", "#0b9e73", "#bd6a9c", "#5a63c8", "#8a8a00")
FEW = (Ranking.HUMAN, Ranking.PPR)  # rankings that depend on the number of votes
ALL = tuple(Ranking)


@dataclass(frozen=True)
class Shown:
    """How something looks.

    Attributes
    ----------
    opacity : float
        Of what is filled with its colour.
    dash : str
        Of its line.
    """

    name: str
    colour: str
    opacity: float = 1.0
    dash: str = "solid"


@dataclass(frozen=True, kw_only=True)
class Ranked(Shown):
    """One of the rankings of a picture.

    Attributes
    ----------
    votes : int
        How many of the comparisons keep theirs, where that plays a role.
    """

    result: Resampling
    ranking: Ranking
    votes: int

    @property
    def run(self) -> RankSetRuns:
        """Its rank-sets."""
        return self.result.run(self.ranking, self.votes if self.ranking in FEW else None)

    @property
    def qualities(self) -> list[RankSetQuality]:
        """How it fared, by error level."""
        few = self.votes if self.ranking in FEW else None
        found = [q for q in self.result.qualities if (q.ranking, q.human) == (self.ranking, few)]
        return sorted(found, key=lambda one: one.alpha)


def by_judge(results: Results) -> Mapping[str, Resampling]:
    """Return experiments by their judges' names."""
    return {"": results} if isinstance(results, Resampling) else results


def any_of(results: Results) -> Resampling:
    """Return one of the experiments, for what is the same in all of them."""
    return next(iter(by_judge(results).values()))


def ranked(results: Results, votes: int, kinds: Sequence[Ranking] = ALL) -> list[Ranked]:
    """Return the rankings of these kinds; with several judges, those that need one for each."""
    judges = by_judge(results)
    found: list[Ranked] = []
    for kind in (each for each in Ranking if each in kinds):
        if len(judges) == 1 or kind not in _OF_SEVERAL:
            one, name = any_of(results), _(_NAMES[kind])
            found.append(Ranked(name, _COLOURS[kind], result=one, ranking=kind, votes=votes))
            continue
        alone = kind is Ranking.JUDGE
        found += [
            Ranked(
                _OF_SEVERAL[kind].format(judge=shortened(judge)),
                JUDGE_COLOURS[place % len(JUDGE_COLOURS)],
                _PALE if alone else 1.0,
                "dot" if alone else "solid",
                result=result,
                ranking=kind,
                votes=votes,
            )
            for place, (judge, result) in enumerate(judges.items())
        ]
    return found


def share_bars(shares: Sequence[float], repeats: int) -> dict[str, object]:
    """Return bars of 95% around shares of so many repeats; none ends below 0 or above 1."""
    here = np.array(shares)
    size = np.full(len(here), repeats)
    low, high = wilson(here, here * (1 - here) / repeats, size, critical_value(0.05))
    ends = {"array": (high - here).tolist(), "arrayminus": (here - low).tolist()}
    return {"type": "data", "symmetric": False, **ends, "thickness": 1, "width": 0}


def usual_alpha(result: Resampling) -> tuple[int, float]:
    """Return index and value of the error level nearest to .05."""
    alphas = result.plan.alphas
    index = min(range(len(alphas)), key=lambda i: abs(alphas[i] - 0.05))
    return index, alphas[index]


def best_first(result: Resampling, index: int) -> list[int]:
    """Return the models' places in order of the baseline, at the error level of an index."""
    baseline = result.run(Ranking.BASELINE)
    middle = (baseline.low[index] + baseline.high[index]).mean(axis=0)
    return middle.argsort(kind="stable").tolist()


def settings_line(result: Resampling, votes: int, alpha: float) -> str:
    """Return what was drawn and how it was ranked, on one line."""
    return _(
        "{votes} of {total} votes, alpha {alpha:g}, {repeats} repeats, {cutoff}, {covariance}"
    ).format(
        votes=votes,
        total=result.plan.total,
        alpha=alpha,
        repeats=result.repeats,
        cutoff=_(CUTOFF_NAMES[result.plan.cutoff]),
        covariance=_(COVARIANCES[result.plan.covariance]),
    )


def finished(
    figure: go.Figure,
    title: str,
    subtitle: str,
    theme: Theme,
    *,
    height: int,
    marks: Sequence[str] = (),
) -> go.Figure:
    """Give a figure the look of all others; each line of `marks` says what colours mean."""
    lines = [*wrap(subtitle, _SUBTITLE), *marks]
    top = 66 + LINE * len(lines)
    figure.update_annotations(font={"size": 13, "color": theme.text})
    return figure.update_layout(
        **look(title, lines, theme),
        margin={"l": 18, "r": 24, "t": top + 24, "b": 40},
        height=height + LINE * len(lines),
        meta={"name": spoken(title, subtitle, *marks)},
    )


def key_of(sign: str, shown: Sequence[Shown]) -> list[str]:
    """Return lines that say what signs of the rankings' colours mean."""
    signs = [
        f'<span style="color:{one.colour};opacity:{one.opacity:g}">{sign}</span> {one.name}'
        for one in shown
    ]
    return ["   ".join(signs[i : i + _A_LINE]) for i in range(0, len(signs), _A_LINE)]
