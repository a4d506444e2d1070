"""How many more votes a question takes; the statistics tried out on votes and on a known truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_doc import Doc
from annotated_types import Ge

from coupled_arena.api import options
from coupled_arena.api.checks import Files, check_store, judge_if_any, only_judge, selection_of
from coupled_arena.api.declared import Field, Level, analysis, refuse
from coupled_arena.api.gates import planned_gate
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core import choices
from coupled_arena.core.choices import (
    Covariance,
    Cutoff,
    Design,
    Pairing,
    Ties,
    TieScore,
    Weighting,
)
from coupled_arena.core.errors import ArenaError, in_one_line
from coupled_arena.core.language import N_
from coupled_arena.core.process import Track

if TYPE_CHECKING:
    import pandas as pd

    from coupled_arena.analysis.audit.plan import VotePlan
    from coupled_arena.analysis.gate.plan import GatePlan
    from coupled_arena.stats.counts import JudgedCounts
    from coupled_arena.stats.simulation.coverage import Simulation, SimulationPlan
    from coupled_arena.stats.simulation.noisy_judges import NoisyJudges
    from coupled_arena.stats.simulation.resampling import Resampling
    from coupled_arena.stats.simulation.truths import SimulatedTruth
    from coupled_arena.stats.simulation.watching import Watch
    from coupled_arena.store.database import Store
    from coupled_arena.store.queries.comparisons import Selection


@analysis
def plan(
    store: ArenaStore | pd.DataFrame | Files,
    model: str,
    *,
    margin: Annotated[
        float | None,
        Doc(
            "Plan a [gate](gate.md) instead: prompts that show that the model is as good as the "
            "one in `against`, by the scores of a pilot."
        ),
    ] = None,
    against: Annotated[
        str | None,
        Field(N_("Aim"), nothing=N_("An interval of its win rate")),
        Doc("Separate it from this model; from A,B: from both at once."),
    ] = None,
    closeness: Annotated[
        str | Path | None,
        Doc(
            "With `margin`: a file with the JSON of the command [closeness](closeness.md). It "
            "takes the place of a pilot, before anything is scored."
        ),
    ] = None,
    width: Annotated[
        float,
        Field(N_("Width of the interval"), step=0.01),
        Doc("Width of the interval, from end to end."),
    ] = 0.05,
    lead: Annotated[
        float | None,
        Doc("True difference of the two; by default the current estimate, less its chance."),
    ] = None,
    power: Annotated[
        float,
        Field(N_("Probability to separate"), step=0.05),
        Doc("Probability that the leaderboard separates them."),
    ] = 0.8,
    verdicts_per_vote: Annotated[
        float,
        Field(N_("Verdicts for each vote"), least=0),
        Doc("Verdicts on other comparisons, for each vote."),
    ] = 10,
    price: Annotated[
        float | None, Field(N_("Price of a verdict"), least=0), Doc("Price of one verdict.")
    ] = None,
    cutoff: Annotated[
        choices.Cutoff | str,
        Doc(
            "Cut-off of the board: for one look, or any-time for a watched board; chi2 has no plan."
        ),
    ] = "max-t",
    judge: options.Judge = None,
    ties: Annotated[
        choices.Ties | str,
        Field(N_("Ties")),
        Doc(
            "Of a win rate: ties are a win for neither, or left out. With `against` they are "
            "half a win."
        ),
    ] = "loss",
    mode: options.Mode = "all",
    alpha: options.Alpha = 0.05,
    category: options.Category = None,
    language: options.Language = None,
) -> Result[VotePlan | GatePlan]:
    """Report how many more votes a win-rate needs, or the separation of two models.

    With `against` the two are separated on the leaderboard, which compares all its models at once.
    With `margin` the report is how many prompts a gate needs.

    Parameters
    ----------
    store : ArenaStore, DataFrame, or files
        With `margin` also scores of a pilot, as `gate` takes them.
    model : str
        Model of the win-rate.

    Returns
    -------
    Result
        Table: "plan", of one row; with `margin` "prompts".

    Raises
    ------
    ArenaError
        The store does not know a name, or has too few votes to plan by.
    """
    from coupled_arena.analysis.audit.plan import PLANNED, PlanGoal, plan_interval, plan_separation
    from coupled_arena.analysis.audit.verdicts import read_audit_estimates
    from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
    from coupled_arena.views.tables.audit import plan_answer, plan_table
    from coupled_arena.views.words.plan import plan_words

    if margin is not None:
        of_votes = {"width": width, "lead": lead, "verdicts_per_vote": verdicts_per_vote}
        of_votes |= {"price": price, "cutoff": cutoff, "judge": judge, "ties": ties}
        refuse(plan, of_votes, "with `margin`", "plans of votes")
        chosen = {"mode": mode, "category": category, "language": language}
        if closeness is not None:
            refuse(plan, chosen, "with `closeness`", "plans by scores")
        return planned_gate(store, model, against, (margin, alpha, power), chosen, closeness)
    refuse(plan, {"closeness": closeness}, "without `margin`", "a gate")
    if against is not None and ties == Ties.DROP:
        raise ArenaError("The leaderboard keeps ties: leave out `ties` drop with `against`.")
    if cutoff not in PLANNED:
        raise ArenaError(f"`cutoff` of a plan is one of {', '.join(PLANNED)}, not {cutoff}.")
    goal = PlanGoal(
        *(model, None, width, power, lead, alpha),
        cutoff=Cutoff(cutoff),
        verdicts_per_vote=verdicts_per_vote,
        price=price,
    )
    with check_store(store).reading() as opened:
        selection = selection_of(opened, mode, None, None, category, language)
        # To separate two, votes are enough: a judge has a part in it where there is one.
        found = only_judge if against is None else judge_if_any
        selection = replace(selection, judge=judge or found(opened))
        if against is None:
            made = plan_interval(read_audit_estimates(opened, selection, Ties(ties)), goal)
        else:
            board = read_estimates(opened, selection)
            others = [against] if against in board.votes.models else against.split(",")
            goal = replace(goal, other=others[0], more=tuple(others[1:]))
            made = plan_separation(board, goal)
    return Result(
        "More votes",
        made,
        {"model": model, "judge": made.judge},
        {"plan": plan_table(made)},
        plan_answer(made),
        lambda: "\n".join(plan_words(made)),
    )


@analysis
def resample(
    store: ArenaStore,
    *,
    human: Annotated[
        Sequence[int] | None, Doc("Comparisons that keep their vote; by default a fifth.")
    ] = None,
    total: Annotated[
        int | None,
        Ge(1),
        Field(N_("Comparisons of each subset")),
        Doc("Comparisons of each random subset; by default four fifths of all."),
    ] = None,
    repeats: Annotated[
        options.Repeats, Field(N_("Repeats"), first=100, least=10, most=1000, step=10)
    ] = 200,
    balanced: Annotated[
        bool,
        Field(N_("The same number in every pair"), first=True),
        Doc("Equal numbers in every pair."),
    ] = False,
    judge: Annotated[
        str | None,
        Field(N_("Judge")),
        Doc("The judge of the verdicts; needed if there are several."),
    ] = None,
    alpha: Annotated[Sequence[float], Level(), Doc("Error levels.")] = (0.05,),
    covariance: options.Covariance = "corrected",
    weighting: options.Weighting = "stratified",
    cutoff: options.Cutoff = "max-t",
    models: options.Models = None,
    mode: options.Mode = "all",
    category: options.Category = None,
    language: options.Language = None,
    seed: options.Seed = 0,
    progress: options.Progress = iter,
) -> Result[Resampling]:
    """Rank random subsets of the stored votes, with few votes and a judge against many votes.

    Parameters
    ----------
    store : ArenaStore
    progress : callable
        Is given the numbers of the repeats and passes them on: a bar, or an early end.

    Returns
    -------
    Result
        Tables: "rankings" and "rank_sets".

    Raises
    ------
    ArenaError
        The store does not know a name, or has too few comparisons.
    """
    from coupled_arena.stats.simulation import resampling
    from coupled_arena.stats.simulation.subsets import fitting_sizes
    from coupled_arena.views.tables import experiments as tables

    with check_store(store).reading() as opened:
        selection = selection_of(opened, mode, None, models, category, language)
        name, counts, warnings = _judged(opened, replace(selection, judge=judge))
    with in_one_line():
        sizes = fitting_sizes(counts, balanced=balanced, total=total)
        made = resampling.ResamplingPlan(
            total=sizes.total,
            human=(sizes.human,) if human is None else tuple(human),
            repeats=repeats,
            alphas=tuple(alpha),
            balanced=balanced,
            weighting=Weighting(weighting),
            covariance=Covariance(covariance),
            cutoff=Cutoff(cutoff),
            seed=seed,
        )
        result = resampling.resample(counts, made, progress)
    result = replace(result, warnings=(*warnings, *result.warnings))
    answer = tables.resampling_answer(result, name)
    return Result(
        "Random subsets",
        result,
        {"judge": name, "human": made.human, "total": made.total},
        {"rankings": tables.rankings(result), "rank_sets": tables.rank_sets(result)},
        answer,
        lambda: tables.resampling_text(result, answer),
    )


def _judged(store: Store, selection: Selection) -> tuple[str, JudgedCounts, tuple[str, ...]]:
    """Return the judge's name, the comparisons with votes and its verdicts, and what warns."""
    from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
    from coupled_arena.analysis.rewordings import pooled_words

    judge = selection.judge or only_judge(store)
    read = read_estimates(store, replace(selection, judge=judge))
    counts = read.judged if selection.models else read.judged.with_both
    return judge, counts, tuple(pooled_words(read.reworded))


@analysis
def simulate(
    *,
    models: Annotated[int, Ge(2), Doc("Number of models.")] = 5,
    ties: Annotated[float, Doc("Probability of a tie.")] = 0.2,
    spread: Annotated[float, Doc("Log-odds between best and worst; 0: all are equal.")] = 1.0,
    human: Annotated[Sequence[int], Doc("Comparisons with a vote and a verdict.")] = (500,),
    judge_only: Annotated[int, Doc("Comparisons with a verdict alone.")] = 5000,
    judge_quality: Annotated[float, Doc("Probability that the verdict repeats the vote.")] = 0.5,
    more_judges: Annotated[
        Sequence[float] | None, Doc("The same for further judges, combined with the first.")
    ] = None,
    judge_noise: Annotated[
        Sequence[float] | None,
        Doc("The ranking paper's truths: judges with win rates off by up to this amount."),
    ] = None,
    toward_first: Annotated[
        float, Doc("Probability that the verdict goes to the model shown first.")
    ] = 0.0,
    toward_last: Annotated[
        float,
        Doc("Probability that the verdict goes to the weakest model of all, if it takes part."),
    ] = 0.0,
    design: Annotated[
        choices.Design | str,
        Doc(
            "How pairs are drawn; clustered: rankings that share prompts; "
            "voters: several votes on each battle."
        ),
    ] = "balanced",
    prompt_effect: Annotated[
        float, Doc("For clustered and voters: spread of the prompt effect, in log-odds.")
    ] = 1.0,
    voters: Annotated[int, Doc("For voters: their number on each battle.")] = 10,
    repeats: options.Repeats = 200,
    alpha: options.Alpha = 0.05,
    covariance: options.Covariance = "corrected",
    weighting: options.Weighting = "stratified",
    cutoff: Annotated[choices.Cutoff | str | None, Doc("Cut-off; by default all.")] = None,
    tie_score: options.TieScore = None,
    watch: Annotated[
        int | None,
        Ge(1),
        Doc("Look after each so many votes: are rank-sets right at all looks together?"),
    ] = None,
    pairing: Annotated[
        choices.Pairing | str,
        Doc(
            "With `watch`: how pairs are drawn. first: more pairs that decide the best model. "
            "places: pairs that decide any rank."
        ),
    ] = "uniform",
    seed: options.Seed = 0,
    progress: options.Progress = iter,
) -> Result[tuple[Simulation, ...] | Watch | NoisyJudges]:
    """Draw votes from a known truth, and count how often rank-sets and intervals contain it.

    Parameters
    ----------
    progress : callable
        Is given the numbers of the repeats and passes them on: a bar, or an early end.

    Returns
    -------
    Result
        Tables: "rank_sets" and "intervals", with `watch` "watched", with `judge_noise` "noisy".

    Raises
    ------
    ArenaError
        An option is out of range, or does not go with another one.
    """
    if pairing != Pairing.UNIFORM and not watch:
        raise ArenaError(f"`pairing` {pairing} chooses after each look: name `watch`, too.")
    if not human:
        raise ArenaError("`human` needs a number of comparisons, or several.")
    how = _Repeated(
        tuple(human),
        repeats,
        alpha,
        Covariance(covariance),
        Weighting(weighting),
        Cutoff(cutoff) if cutoff else None,
        TieScore(tie_score) if tie_score else None,
        seed,
        progress,
    )
    if judge_noise:
        other = {"ties": ties, "spread": spread, "judge_quality": judge_quality, "watch": watch}
        other |= {"more_judges": more_judges, "toward_first": toward_first}
        other |= {"toward_last": toward_last, "design": design, "tie_score": tie_score}
        where = "with `judge_noise`, which draws its own truths"
        refuse(simulate, other, where, "other simulations")
        return how.noisy(models, judge_only, tuple(judge_noise))
    from coupled_arena.stats.simulation import truths

    def drawn(n: int) -> truths.SimulatedTruth:
        return truths.SimulatedTruth(
            strengths=truths.evenly(models, spread),
            human=n,
            judge_only=judge_only,
            ties=ties,
            judge_quality=judge_quality,
            more_judges=tuple(more_judges or ()),
            toward_first=toward_first,
            toward_last=toward_last,
            design=Design(design),
            prompt_effect=prompt_effect,
            voters=voters,
        )

    return how.watched(drawn, watch, Pairing(pairing)) if watch else how.covered(drawn)


@dataclass(frozen=True)
class _Repeated:
    """What is drawn how often, and how it is ranked."""

    sizes: tuple[int, ...]
    repeats: int
    alpha: float
    covariance: Covariance
    weighting: Weighting
    cutoff: Cutoff | None
    ties: TieScore | None
    seed: int
    progress: Track

    def covered(
        self, drawn: Callable[[int], SimulatedTruth]
    ) -> Result[tuple[Simulation, ...] | Watch | NoisyJudges]:
        from coupled_arena.stats.simulation import coverage
        from coupled_arena.views.tables import experiments as tables
        from coupled_arena.views.tables.experiments import simulations_answer, simulations_text

        with in_one_line():
            plans = [self._plan(drawn(n)) for n in self.sizes]
        found = tuple(coverage.simulate(plan, self.progress) for plan in plans)
        frames = {"rank_sets": tables.coverage(found[0]), "intervals": tables.intervals(found[0])}
        answer = simulations_answer(found)
        return self._result(found, frames, answer, lambda: simulations_text(found))

    def watched(
        self, drawn: Callable[[int], SimulatedTruth], every: int, pairing: Pairing
    ) -> Result[tuple[Simulation, ...] | Watch | NoisyJudges]:
        from coupled_arena.stats.simulation import watching
        from coupled_arena.views.tables.experiments import watched, watched_answer

        if len(self.sizes) != 1:
            raise ArenaError("`watch` looks at votes as they come: give one number to `human`.")
        with in_one_line():
            plan = watching.WatchPlan(self._plan(drawn(self.sizes[0])), every, pairing)
        seen = watching.watch(plan, self.progress)
        frames = {"watched": watched(seen)}
        return self._result(seen, frames, watched_answer(seen), lambda: watched(seen).text())

    def noisy(
        self, models: int, judge_only: int, noise: tuple[float, ...]
    ) -> Result[tuple[Simulation, ...] | Watch | NoisyJudges]:
        from coupled_arena.stats.simulation import noisy_judges
        from coupled_arena.views.tables.experiments import noisy, noisy_answer

        with in_one_line():
            plan = noisy_judges.NoisyPlan(
                models=models,
                sizes=tuple((n, judge_only) for n in self.sizes),
                noise=noise,
                repeats=self.repeats,
                alpha=self.alpha,
                weighting=self.weighting,
                covariance=self.covariance,
                cutoff=self.cutoff or Cutoff.MAX_T,
                seed=self.seed,
            )
        tried = noisy_judges.try_noisy_judges(plan, self.progress)
        frames = {"noisy": noisy(tried)}
        return self._result(tried, frames, noisy_answer(tried), lambda: noisy(tried).text())

    def _result(
        self, found: Any, frames: dict[str, Any], answer: dict[str, Any], text: Callable[[], str]
    ) -> Result[Any]:
        return Result("Simulation", found, {}, frames, answer, text)

    def _plan(self, truth: SimulatedTruth) -> SimulationPlan:
        from coupled_arena.stats.simulation.coverage import SimulationPlan

        return SimulationPlan(
            truth=truth,
            repeats=self.repeats,
            alpha=self.alpha,
            cutoffs=(self.cutoff,) if self.cutoff else tuple(Cutoff),
            weighting=self.weighting,
            covariance=self.covariance,
            ties=self.ties,
            seed=self.seed,
        )
