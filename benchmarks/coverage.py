"""Do rank-sets and intervals keep their promise? Against known truths, setting by setting.

    python -m benchmarks.coverage [--repeats 1000] [--only WORD] [--options | --judges]
    python -m benchmarks.coverage --watch [--votes 2000] [--repeats 1000] [--only WORD]
    python -m benchmarks.coverage --campaigns [--judges | --watch] [--repeats 1000] [--only WORD]
    python -m benchmarks.coverage --audits [--repeats 1000] [--only WORD]
    python -m benchmarks.coverage --silent [--repeats 1000] [--only WORD]

Each form takes `--ties loss`: a tie is a win for neither, as in the papers.

Each setting is drawn again and again; what is counted is how often the 95 % rank-sets of all models
together hold the true ranks, and each interval the true win rate, by votes alone and
prediction-powered. What is below the nominal level by more than three binomial errors is marked.
With --watch somebody looks after every 20 votes: how often are the rank-sets right at all looks?
With --options: marginal rank-sets, by the model that is covered least.
With --judges: several judges together, beside the best of them alone.
With --campaigns: few people vote often, by tastes of their own. How often do rank-sets hold, for
exactly these voters (as if nobody had a taste) and for people like these? With --judges too: with
two or three judges. With --watch too: voters come one after the other, and somebody looks after
every 25 votes from the third voter on.
With --audits: how often do the intervals of an audit hold there?
With --silent: a judge says nothing on a share of one model's losses, or verdicts alone are on
prompts that favour this model. How often do rank-sets hold, and how often are verdicts not used?
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from tqdm import tqdm

from coupled_arena.core.choices import Cutoff, Design, Scope, TieScore, Voters
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.ranking.estimates import estimate
from coupled_arena.stats.ranking.rank_sets import LIVE_DRAWS, Separation
from coupled_arena.stats.ranking.rank_sets import intervals as rank_intervals
from coupled_arena.stats.simulation.audit_votes import NUMBERS
from coupled_arena.stats.simulation.audit_votes import held as audits_held
from coupled_arena.stats.simulation.coverage import (
    Simulation,
    SimulationPlan,
    estimate_drawn,
    simulate,
)
from coupled_arena.stats.simulation.rank_set_runs import Ranking, binomial_error
from coupled_arena.stats.simulation.truths import Campaign, SimulatedTruth, evenly
from coupled_arena.stats.simulation.watching import WatchPlan, watch

LEVEL = 0.95
EVERY = 20  # votes from look to look
EVERY_OF_CAMPAIGN = 25
OPTIONS = {
    "default": (Cutoff.MAX_T, Scope.JOINT),
    "marginal": (Cutoff.MAX_T, Scope.MARGINAL),
    "marginal step-down": (Cutoff.STEP_DOWN, Scope.MARGINAL),
}
CAMPAIGN_DRAWS = 5000  # behind the cut-off: an error level of .05 is held within .003
SILENT_DRAWS = 2000
Setting = tuple[str, SimulatedTruth]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--only", default="", help="settings whose name has this word")
    parser.add_argument("--watch", action="store_true", help="at all looks together")
    parser.add_argument("--votes", type=int, default=2000, help="of a board that is watched")
    parser.add_argument("--options", action="store_true", help="marginal sets")
    parser.add_argument("--judges", action="store_true", help="several together")
    parser.add_argument("--campaigns", action="store_true", help="few people who vote often")
    parser.add_argument("--audits", action="store_true", help="of a judge, in campaigns")
    parser.add_argument("--silent", action="store_true", help="a judge is silent, or elsewhere")
    parser.add_argument("--ties", type=TieScore, choices=list(TieScore), default=TieScore.HALF)
    given = parser.parse_args()
    how = given.repeats, given.ties
    if given.silent:
        head("setting", "boards", "votes", "PPR, unchecked", "PPR", "verdicts not used", "variance")
        wanted = (one for one in silent_settings() if given.only in one[0])
        lines = (checked(*one, *how) for one in wanted)
    elif given.audits:
        head("setting", "audits", *(f"{name}: these, like, width" for name in NUMBERS))
        wanted = (one for one in audited_campaigns() if given.only in one[0])
        lines = (audited(*one, given.repeats) for one in wanted)
    elif given.campaigns and given.judges:
        head("setting", "boards", "judges", "max-t", "size", "intervals", "width")
        wanted = (one for one in judged_campaigns() if given.only in one[0])
        lines = (judged(*one, *how) for one in wanted)
    elif given.campaigns and given.watch:
        head("setting", "boards", "looks", "any-time, at the last", "any-time, at all", "size")
        wanted = (one for one in watched_campaigns() if given.only in one[0])
        lines = (watched_campaign(*one, *how) for one in wanted)
    elif given.campaigns:
        columns = "these voters", "people like these", "PPR", "size", "interval", "PPR"
        head("setting", "boards", *columns, "width, these", "width, like these")
        wanted = (one for one in campaigns() if given.only in one[0])
        lines = (campaign(*one, *how) for one in wanted)
    elif given.judges:
        head("setting", "boards", "judges", "max-t", "size", "intervals", "width")
        lines = (judged(*one, *how) for one in judged_settings() if given.only in one[0])
    elif given.options:
        head("setting", *(f"{name} {what}" for name in OPTIONS for what in ("covered", "size")))
        lines = (optional(*one, *how) for one in settings() if plain_votes(*one, given))
    elif given.watch:
        head("setting", "max-t, at the last", "max-t, at all", "any-time, at all", "first after")
        all_settings = watched_settings(given.votes)
        lines = (watched(*one, *how) for one in all_settings if given.only in one[0])
    else:
        columns = [f"{name} {who}" for name in ("max-t", "step-down") for who in ("votes", "PPR")]
        head("setting", *columns, "sizes", "intervals votes", "intervals PPR", "filled in")
        lines = (covered(*one, *how) for one in settings() if given.only in one[0])
    for line in lines:
        print(line, flush=True)


def settings() -> Iterator[Setting]:
    """Yield truths: few votes and many, near and far models, shared prompts, biased judges."""
    for k in (2, 3, 5, 12):
        for votes in (3, 6, 10, 30, 100):
            yield f"k={k}, {votes} votes a pair", plain(k, votes)
    for votes in (6, 30):
        yield f"k=40, {votes} votes a pair", plain(40, votes)
    for votes in (6, 30):
        yield f"k=5, {votes} votes a pair, no ties", plain(5, votes, ties=0.0)
        for spread in (0.1, 1.0):
            yield f"k=5, {votes} votes a pair, spread {spread:g}", plain(5, votes, spread)
        for name, bias in (("the first", "toward_first"), ("a model", "toward_last")):
            yield f"k=5, {votes} votes a pair, judge for {name}", plain(5, votes, **{bias: 0.3})
    for k in (5, 12):
        for design in (Design.RANDOM, Design.UNBALANCED):
            yield f"k={k}, {design} pairs, 30 votes each", plain(k, 30, design=design)
    for k, prompts, voters in (
        *((3, 2, 10), (5, 2, 10), (5, 5, 10), (5, 10, 10), (5, 20, 20), (5, 100, 2)),
        *((12, 2, 5), (12, 5, 5), (12, 20, 5)),
    ):
        yield f"k={k}, {prompts} prompts a pair, {voters} voters", shared(k, prompts, voters)


def watched_settings(votes: int) -> Iterator[Setting]:
    """Yield truths of boards that grow to so many votes."""
    for k in (2, 3, 5, 12):
        yield f"k={k}, equal", grown(votes, k)
    yield "k=5, 5,000 verdicts", grown(votes, 5, judge_only=5000)
    yield "k=5, unbalanced", grown(votes, 5, design=Design.UNBALANCED)
    for k, voters in ((2, 5), (5, 10)):
        how = {"design": Design.VOTERS, "voters": voters, "prompt_effect": 1.5}
        yield f"k={k}, {voters} voters a prompt", grown(votes, k, **how)  # type: ignore[arg-type]
    yield "k=2, .40 against .30", grown(votes, 2, spread=0.2877)
    yield "k=5, spread 2", grown(votes, 5, spread=2.0)


def judged_settings() -> Iterator[Setting]:
    """Yield truths with one to three judges, who repeat .5, .45 and .4 of votes."""
    for spread, bias in ((0.0, 0.0), (0.5, 0.0), (0.5, 0.3)):
        for more in ((), (0.45,), (0.45, 0.4)):
            name = f"k=5, 30 votes a pair, spread {spread:g}, toward the first {bias:g}"
            yield name, plain(5, 30, spread, more_judges=more, toward_first=bias)


def campaigns() -> Iterator[tuple[str, Campaign]]:
    """Yield campaigns of equal models: few voters and many, tastes or none, shared prompts."""
    for k, voters, each, prompts, taste, effect in (
        *((2, 5, 100, None, 0.7, 0.0), (2, 10, 100, None, 0.3, 0.0), (2, 30, 100, 60, 0.7, 1.0)),
        *((2, 10, 100, 60, 0.7, 1.0), (2, 1000, 3, 50, 0.7, 1.0), (2, 30, 60, None, 0.0, 0.0)),
        *((5, 5, 100, None, 0.7, 0.0), (5, 10, 100, None, 0.7, 0.0), (5, 30, 100, 60, 0.7, 1.0)),
        *((5, 10, 100, 15, 0.7, 1.0), (5, 20, 50, 20, 0.0, 1.0), (5, 30, 60, None, 0.0, 0.0)),
        *((8, 5, 100, None, 0.7, 0.0), (8, 10, 100, 60, 0.7, 1.0), (12, 10, 100, None, 0.7, 0.0)),
        (12, 100, 10, None, 0.7, 0.0),
    ):
        on = f", {prompts} prompts, effect {effect:g}" if prompts else ""
        name = f"k={k}, {voters:,} voters x {each}{on}, taste {taste:g}"
        shared = {"prompts": prompts, "prompt_effect": effect, "judge_only": voters * each}
        yield name, Campaign(evenly(k, 0), voters, voters * each, taste, **shared)  # type: ignore[arg-type]
    for k in (2, 5):
        name = f"k={k}, 200 voters by Zipf, 3,000 votes, taste 0.5"
        yield name, Campaign(evenly(k, 0), 200, 3000, 0.5, uneven=True, judge_only=3000)
    name = "k=5, 10 voters x 100, taste 0.7, spread 1"
    yield name, Campaign(evenly(5, 1), 10, 1000, 0.7, judge_only=1000)


def judged_campaigns() -> Iterator[tuple[str, Campaign]]:
    """Yield campaigns with two and three judges, who repeat .5, .45 and .4 of votes."""
    for k in (2, 3, 5):
        for voters in (10, 30):
            for more in ((0.45,), (0.45, 0.4)):
                name = f"k={k}, {voters} voters x 100, 60 prompts, effect 1, taste 0.7"
                shared = {"prompts": 60, "prompt_effect": 1.0, "judge_only": voters * 100}
                yield name, Campaign(evenly(k, 0), voters, voters * 100, more_judges=more, **shared)  # type: ignore[arg-type]


def audited_campaigns() -> Iterator[tuple[str, Campaign]]:
    """Yield campaigns of three equal models with a judge, on shared prompts."""
    for voters in (5, 10, 30):
        for taste in (0.0, 0.7):
            name = f"{voters} voters x 100, 60 prompts, effect 1, taste {taste:g}"
            votes = voters * 100
            shared = {"prompts": 60, "prompt_effect": 1.0, "judge_only": votes}
            yield name, Campaign(evenly(3, 0), voters, votes, taste, **shared)  # type: ignore[arg-type]


def watched_campaigns() -> Iterator[tuple[str, Campaign]]:
    """Yield campaigns of equal models, on a prompt for each vote."""
    for k in (2, 3, 5):
        for voters, each in ((10, 100), (30, 100), (100, 30)):
            for taste in (0.0, 0.3, 0.7):
                name = f"k={k}, {voters} voters x {each}, taste {taste:g}"
                yield name, Campaign(evenly(k, 0), voters, voters * each, taste)


def silent_settings() -> Iterator[tuple[str, SimulatedTruth | Campaign]]:
    """Yield truths of five equal models, the last of which a judge or its prompts treat apart."""
    for silent in (0.1, 0.2, 0.4):
        yield (
            f"600 + 3,000, silent on {silent:.0%} of losses",
            drawn_apart(600, 3000, silent=silent),
        )
    judges = {"half-noise": 0.5, "quarter": 0.25, "perfect": 1.0}
    for judge, quality in judges.items():
        for shift in (0.0, 0.2, 0.35, 0.5, 0.7, 1.0):
            how = {"judge_quality": quality, "alone_shift": shift}
            yield f"600 + 3,000, {judge} judge, shift {shift:g}", drawn_apart(600, 3000, **how)
    for shift in (0.1, 0.15, 0.2, 0.3, 0.5):
        name = f"5,000 + 50,000, half-noise judge, shift {shift:g}"
        yield name, drawn_apart(5000, 50000, alone_shift=shift)
    for silent, shift in ((0.0, 0.0), (0.4, 0.0), (0.0, 0.5), (0.0, 1.0)):
        name = f"10 voters x 100, 60 prompts, taste .7, silent {silent:.0%}, shift {shift:g}"
        shared = {"prompt_effect": 1.0, "prompts": 60, "judge_only": 5000}
        apart = {"silent": silent, "alone_shift": shift}
        yield name, Campaign(evenly(5, 0), 10, 1000, 0.7, **shared, **apart)  # type: ignore[arg-type]


def drawn_apart(human: int, judge_only: int, **how: float) -> SimulatedTruth:
    return SimulatedTruth(evenly(5, 0), human, judge_only, ties=0.3, **how)  # type: ignore[arg-type]


def plain(k: int, votes: int, spread: float = 0.0, **changes: object) -> SimulatedTruth:
    pairs = k * (k - 1) // 2
    how = {"ties": 0.3, **changes}
    return SimulatedTruth(evenly(k, spread), pairs * votes, 5 * pairs * votes, **how)  # type: ignore[arg-type]


def shared(k: int, prompts: int, voters: int) -> SimulatedTruth:
    pairs = k * (k - 1) // 2
    how = {"design": Design.VOTERS, "prompt_effect": 1.5, "voters": voters}
    return SimulatedTruth(evenly(k, 0), pairs * prompts * voters, pairs * 30, ties=0.3, **how)  # type: ignore[arg-type]


def grown(
    votes: int, k: int, spread: float = 0.0, judge_only: int = 0, **changes: object
) -> SimulatedTruth:
    return SimulatedTruth(evenly(k, spread), votes, judge_only, ties=0.3, **changes)  # type: ignore[arg-type]


def covered(name: str, truth: SimulatedTruth, repeats: int, ties: TieScore) -> str:
    cutoffs = (Cutoff.MAX_T, Cutoff.STEP_DOWN)
    result = simulate(SimulationPlan(truth, repeats, cutoffs=cutoffs, ties=ties), bar(name))
    by = {(one.cutoff, one.ranking): one for one in result.rank_sets}
    found = [by[cutoff, who] for cutoff in cutoffs for who in (Ranking.HUMAN, Ranking.PPR)]
    shares = [marked(one.coverage, result.repeats) for one in found]
    sizes = ", ".join(f"{one.size:.2f}" for one in found)
    filled = f"{result.filled / result.repeats:.2f}"
    return row(name, *shares, sizes, *intervals(result), filled)


def campaign(name: str, truth: Campaign, repeats: int, ties: TieScore) -> str:
    """Return how rank-sets and intervals of a campaign fare."""
    whom = {
        "these": (Ranking.HUMAN, Voters.THESE),
        "like": (Ranking.HUMAN, Voters.LIKE),
        "powered": (Ranking.PPR, Voters.LIKE),
    }
    (low, high), theta, alpha = truth.ranks, truth.win_rates(ties), 1 - LEVEL
    held, inside, widths, sizes = ({name: [] for name in whom} for _ in range(4))
    for repeat in bar(name)(range(repeats)):
        drawn = truth.draw(np.random.default_rng([34, repeat]))
        for board, (ranking, voters) in whom.items():
            made = estimate_drawn(drawn, ranking, voters=voters, ties=ties)
            found = Separation(made, CAMPAIGN_DRAWS).rank_sets(alpha)
            ends = rank_intervals(made, alpha)
            held[board].append(((found.low <= low) & (high <= found.high)).all())
            inside[board].append(np.mean((ends[0] <= theta) & (theta <= ends[1])))
            widths[board].append(np.mean(ends[1] - ends[0]))
            sizes[board].append(found.sizes.mean())
    shares = [marked(float(np.mean(held[board])), repeats) for board in whom]
    covers = [marked(float(np.mean(inside[board])), repeats) for board in ("like", "powered")]
    wide = [f"{np.mean(widths[board]):.3f}" for board in ("these", "like")]
    return row(name, f"{repeats:,}", *shares, f"{np.mean(sizes['like']):.2f}", *covers, *wide)


def checked(name: str, truth: SimulatedTruth | Campaign, repeats: int, ties: TieScore) -> str:
    """Return how rank-sets fare by votes alone, and with verdicts, checked or not."""
    (low, high), alpha = truth.ranks, 1 - LEVEL
    held = {which: [] for which in ("votes", "unchecked", "PPR")}
    unused, variances = [], []
    for repeat in bar(name)(range(repeats)):
        drawn = truth.draw(np.random.default_rng([34, repeat]))
        people = estimate_drawn(drawn, Ranking.HUMAN, ties=ties)
        unchecked = estimate_drawn(drawn, Ranking.PPR, ties=ties, check=False)
        powered = estimate_drawn(drawn, Ranking.PPR, ties=ties)
        for which, made in (("votes", people), ("unchecked", unchecked)):
            found = Separation(made, SILENT_DRAWS).rank_sets(alpha)
            held[which].append(((found.low <= low) & (high <= found.high)).all())
        used = powered.power_tuning == unchecked.power_tuning
        held["PPR"].append(held["unchecked" if used else "votes"][-1])
        unused.append(not used)
        variances.append(np.trace(unchecked.covariance) / np.trace(people.covariance))
    shares = [marked(float(np.mean(held[which])), repeats) for which in held]
    return row(name, f"{repeats:,}", *shares, f"{np.mean(unused):.3f}", f"{np.mean(variances):.2f}")


def judged(name: str, truth: SimulatedTruth | Campaign, repeats: int, ties: TieScore) -> str:
    """Return how rank-sets and intervals of votes with all judges fare."""
    how = {"cutoffs": (Cutoff.MAX_T,), "draws": CAMPAIGN_DRAWS, "ties": ties}
    plan = SimulationPlan(truth, repeats, **how)  # type: ignore[arg-type]
    result = simulate(plan, bar(name))
    sets = next(one for one in result.rank_sets if one.ranking is Ranking.PPR)
    found = next(one for one in result.intervals if one.ranking is Ranking.PPR)
    held = marked(sets.coverage, result.repeats), f"{sets.size:.3f}"
    width = f"{found.width:.4f}"
    judges = str(1 + len(truth.more_judges))
    inside = marked(float(found.coverage.mean()), result.repeats)
    return row(name, f"{result.repeats:,}", judges, *held, inside, width)


def plain_votes(name: str, truth: SimulatedTruth, given: argparse.Namespace) -> bool:
    return given.only in name and truth.design is not Design.VOTERS


def optional(name: str, truth: SimulatedTruth, repeats: int, ties: TieScore) -> str:
    """Return how each option fares, prediction-powered."""
    low, high = truth.ranks
    held, sizes = {name: [] for name in OPTIONS}, {name: [] for name in OPTIONS}
    for repeat in bar(name)(range(repeats)):
        drawn = truth.draw(np.random.default_rng([16, repeat]))
        assert isinstance(drawn, JudgedCounts)
        made = estimate(drawn, ties=ties)
        if made.models != truth.models:  # a model without a vote may have any place
            continue
        for option, (cutoff, scope) in OPTIONS.items():
            found = Separation(made, LIVE_DRAWS).rank_sets(1 - LEVEL, cutoff, scope)
            right = (found.low <= low) & (high <= found.high)
            held[option].append(right if scope is Scope.MARGINAL else [right.all()])
            sizes[option].append(found.sizes.mean())
    cells: list[str] = []
    for option in OPTIONS:
        least = float(np.mean(held[option], axis=0).min())
        cells += [marked(least, len(held[option])), f"{np.mean(sizes[option]):.2f}"]
    return row(name, *cells)


def intervals(result: Simulation) -> list[str]:
    """Return the mean coverage over models, whose intervals are not independent."""
    return [marked(float(one.coverage.mean()), result.repeats) for one in result.intervals]


def watched(name: str, truth: SimulatedTruth, repeats: int, ties: TieScore) -> str:
    cutoffs = (Cutoff.MAX_T, Cutoff.ANY_TIME)
    plan = SimulationPlan(truth, repeats, cutoffs=cutoffs, draws=2000, ties=ties)
    result = watch(WatchPlan(plan, EVERY), bar(name))
    who = Ranking.PPR if truth.judge_only else Ranking.HUMAN
    once, always = (
        next(one for one in result.cutoffs if (one.ranking, one.cutoff) == (who, cutoff))
        for cutoff in cutoffs
    )
    after = f"{always.separated:.2f}"
    if always.separated > 0.5:
        after += f" ({always.votes:,.0f} votes)"
    shares = (once.coverage_at_last, once.coverage, always.coverage)
    return row(name, *(marked(share, result.repeats) for share in shares), after)


def audited(name: str, truth: Campaign, repeats: int) -> str:
    """Return how often intervals of audits hold, and how much wider those for people like these."""
    found = [audits_held(truth, repeats, voters=like) for like in (False, True)]
    (these, narrow), (like, wide) = found
    cells = (
        f"{marked(one, repeats)}, {marked(other, repeats)}, {ratio:.2f}"
        for one, other, ratio in zip(these, like, wide / narrow, strict=True)
    )
    return row(name, f"{repeats:,}", *cells)


def watched_campaign(name: str, truth: Campaign, repeats: int, ties: TieScore) -> str:
    """Return how any-time rank-sets fare where one voter comes after the other."""
    plan = SimulationPlan(truth, repeats, cutoffs=(Cutoff.ANY_TIME,), ties=ties)
    result = watch(WatchPlan(plan, EVERY_OF_CAMPAIGN), bar(name))
    found = next(one for one in result.cutoffs if one.ranking is Ranking.HUMAN)
    looks = truth.votes // EVERY_OF_CAMPAIGN - 2 * truth.votes // truth.voters // EVERY_OF_CAMPAIGN
    cells = (marked(share, result.repeats) for share in (found.coverage_at_last, found.coverage))
    return row(name, f"{result.repeats:,}", str(looks), *cells, f"{found.size:.2f}")


def bar(name: str):
    return lambda repeats: tqdm(repeats, desc=name, leave=False)


def marked(share: float, repeats: int) -> str:
    low = share < LEVEL - 3 * binomial_error(LEVEL, repeats)
    return f"{share:.3f}{' **low**' if low else ''}"


def head(*columns: str) -> None:
    print(row(*columns))
    print(row(*("---" for _ in columns)))


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
