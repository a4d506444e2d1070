"""What will the board of a campaign be able to say? People, votes, prompts, a judge.

    python -m benchmarks.campaigns [--repeats 200] [--only WORD]
    python -m benchmarks.campaigns --people 30 --votes 50 [--prompts 200] [--verdicts 5000]
    python -m benchmarks.campaigns --figure docs/campaign [--repeats 200]

One model is ahead of equal others. Each campaign is drawn again and again. The table shows how wide
the 95 % interval of a win rate is, and how often the rank-sets name the best model: no other can be
first. Both are for people like the voters. --figure draws how often, by people and votes of each.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from scipy.optimize import brentq
from tqdm import tqdm

from benchmarks.coverage import CAMPAIGN_DRAWS
from coupled_arena.core.choices import TieScore
from coupled_arena.stats.ranking.rank_sets import Separation, intervals
from coupled_arena.stats.simulation.coverage import estimate_drawn
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.truths import Campaign
from coupled_arena.views.figures.images import write_pictures
from coupled_arena.views.figures.lines import Axes, Line, line_figure
from coupled_arena.views.figures.theme import Head
from coupled_arena.views.tables.table import Column, table_of

PEOPLE, EACH = (5, 10, 20, 30, 50, 100), (10, 30, 100)  # of the figure


@dataclass(frozen=True)
class Plan:
    """A campaign to be; defaults are those of the table.

    Attributes
    ----------
    people, votes : int
        Votes of each person.
    prompts : int
    verdicts : int
        Of a judge that repeats half of the votes; on comparisons without a vote.
    models : int
    best : float
        True win rate of the best model, a tie being half a win; all others are equal.
    taste : float
        Standard deviation of what a person adds to the strength of a model, in log-odds.
    """

    people: int = 10
    votes: int = 100
    prompts: int = 100
    verdicts: int = 0
    models: int = 5
    best: float = 0.65
    taste: float = 0.7

    def truth(self) -> Campaign:
        """Return the campaign; prompts add 1 log-odds, and three votes of ten are ties."""
        shared = {"prompts": self.prompts, "prompt_effect": 1.0, "judge_only": self.verdicts}
        votes = self.people * self.votes
        made = Campaign((0.0,) * self.models, self.people, votes, self.taste, **shared)  # type: ignore[arg-type]

        def ahead(lead: float) -> Campaign:
            return replace(made, strengths=(lead, *made.strengths[1:]))

        def short(lead: float) -> float:
            return float(ahead(lead).win_rates(TieScore.HALF)[0]) - self.best

        return ahead(float(brentq(short, 0, 10)))

    def __str__(self) -> str:
        name = f"{self.people:,} people x {self.votes} votes, {self.prompts:,} prompts"
        more = f", {self.verdicts:,} verdicts" if self.verdicts else ""
        for what in ("models", "best", "taste"):
            if (value := getattr(self, what)) != getattr(Plan, what):
                more += f", {what} {value:g}"
        return name + more


@dataclass(frozen=True)
class Outcome:
    """What boards of a campaign say: mean width of an interval, shares that name a model."""

    plan: Plan
    width: float
    named: float
    wrong: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--only", default="", help="settings whose name has this word")
    parser.add_argument("--figure", type=Path, help="file without its ending")
    for name, kind in Plan.__annotations__.items():
        parser.add_argument(f"--{name}", type={"int": int, "float": float}[kind])
    given = parser.parse_args()
    told = {name: getattr(given, name) for name in Plan.__annotations__}
    asked = {name: value for name, value in told.items() if value is not None}
    if given.figure and {"people", "votes"} & asked.keys():
        parser.error("--figure draws people and votes of its own")
    if given.figure:
        plans = [Plan(people, votes, **asked) for votes in EACH for people in PEOPLE]
    else:
        plans = [Plan(**asked)] if asked else list(settings())
    print("| campaign | votes | width | names the best | names another |\n|---|---|---|---|---|")
    found = []
    for plan in plans:
        if given.only in str(plan):
            found.append(run(plan, given.repeats))
            print(row(found[-1]), flush=True)
    if given.figure:
        for path in write_pictures({given.figure: figure(found, given.repeats)}, ("svg",)):
            print(path)


def settings() -> Iterator[Plan]:
    """Yield the rows of the table."""
    for people, votes in ((10, 100), (30, 33), (100, 10), (10, 300), (30, 100), (100, 30)):
        yield Plan(people, votes)
    for prompts in (20, 50, 1000):
        yield Plan(100, 10, prompts=prompts)
    for people, votes in ((10, 100), (100, 10)):
        yield Plan(people, votes, verdicts=5000)
    for changes in ({"models": 3}, {"models": 8}, {"best": 0.6}, {"best": 0.7}, {"taste": 0.3}):
        yield Plan(30, 33, **changes)  # type: ignore[arg-type]


def run(plan: Plan, repeats: int) -> Outcome:
    """Draw boards of a campaign."""
    truth, ranking = plan.truth(), Ranking.PPR if plan.verdicts else Ranking.HUMAN
    widths, named, wrong = [], [], []
    for repeat in tqdm(range(repeats), desc=str(plan), leave=False):
        drawn = truth.draw(np.random.default_rng([35, repeat]))
        made = estimate_drawn(drawn, ranking)
        low, high = intervals(made)
        widths.append((high - low).mean())
        last = Separation(made, CAMPAIGN_DRAWS).rank_sets().high.tolist()
        first = [model for model, rank in zip(made.models, last, strict=True) if rank == 1]
        named.append(first == [truth.models[0]])
        wrong.append(bool(first) and not named[-1])
    return Outcome(plan, *(float(np.mean(each)) for each in (widths, named, wrong)))


def row(found: Outcome) -> str:
    plan = found.plan
    cells = f"{plan.people * plan.votes:,}", f"{found.width:.3f}", f"{found.named:.2f}"
    return f"| {' | '.join((str(plan), *cells, f'{found.wrong:.3f}'))} |"


def figure(found: list[Outcome], repeats: int) -> go.Figure:
    """Return how often the best model is named, by people; a line for each number of votes."""
    plan = found[0].plan
    lines = []
    for votes in EACH:
        at = [one for one in found if one.plan.votes == votes]
        people = [one.plan.people for one in at]
        lines.append(Line(f"{votes} votes each", people, [one.named for one in at]))
    columns = (
        Column("people", int, "People"),
        Column("votes", int, "Votes of each"),
        Column("named", float, "Share of boards that name the best model"),
    )
    rows = [
        {"people": one.plan.people, "votes": one.plan.votes, "named": one.named} for one in found
    ]
    subtitle = (
        f"Share of {repeats} simulated boards that name the best of {plan.models} models, which "
        f"wins {plan.best:.0%}.",
        f"Tastes {plan.taste:g} log-odds, {plan.prompts} prompts; people like the voters, 95%.",
    )
    numbers = table_of(columns, rows)
    head = Head("campaign", "More people, or more votes of each?", subtitle, numbers)
    axes = Axes(
        "People", "Boards that name the best model", logarithmic=True, share_y=True, y_range=(0, 1)
    )
    return line_figure(lines, axes, head, points=True)


if __name__ == "__main__":
    main()
