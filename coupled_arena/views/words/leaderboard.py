"""What the leaderboard says in words and numbers, as HTML."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

import numpy as np
from markupsafe import Markup

from coupled_arena.analysis.leaderboard.board_estimates import BoardEstimates
from coupled_arena.analysis.leaderboard.result import Leaderboard, MissingVotes
from coupled_arena.analysis.rewordings import pooled_words
from coupled_arena.core.choices import BoardSource, Scope, TieScore, Voters, Weighting
from coupled_arena.core.language import _, ngettext, number
from coupled_arena.core.records import Mode
from coupled_arena.stats.coupling.modes import ModeComparison
from coupled_arena.stats.ranking.strata import MINIMUM_PER_PAIR
from coupled_arena.stats.ranking.verdict_shift import ShiftTest
from coupled_arena.views.levels import level
from coupled_arena.views.markup import bold, joined, listed, paragraph, worded
from coupled_arena.views.words.audit import judge_use_words
from coupled_arena.views.words.names import modes_named, named
from coupled_arena.views.words.people import taste_words
from coupled_arena.views.words.votes import fragility_words, left_out_words, uncounted_words

_MOST_FLIPS = 5  # that are named; the others are only counted
_LEAST_P = 0.001  # below it, how small a probability is says nothing more
_WISHES = 5  # pairs that are named as short of votes, likewise
_BOLD = {"bold": Markup("<b>"), "end": Markup("</b>")}  # around what a translation has there


def board_warnings(board: Leaderboard) -> tuple[str, ...]:
    """Return sentences on what this board cannot say yet, and what would help."""
    own = board.estimate.warnings if board.estimate else ()
    judges = board.estimates.selection.judges
    if board.source is not BoardSource.HUMAN and board.estimate is None:
        own = (_unheard(judges),)
    return (
        *_meaning(board),
        *_mixture(board.estimates.mixed),
        *_people(board),
        *pooled_words(board.estimates.reworded),
        *left_out_words(board.estimates),
        *fragility_words(board.fragility),
        *_not_judged(board),
        *(judge_use_words(board.estimates.use) if board.source is BoardSource.PPR else ()),
        *own,
        *_sides(board),
        *_wishes(board.missing),
        *_idle(board),
    )


def judge_words(board: Leaderboard) -> Markup:
    """Say what the judge adds to people's votes."""
    human, powered = (board.sizes(source) for source in (BoardSource.HUMAN, BoardSource.PPR))
    if not human or not powered:
        return Markup("")
    before, after = (fmean(of.values()) for of in (human, powered))
    text = ngettext(
        "With this judge a model keeps {after} possible ranks on average, instead of {before} by "
        "people alone. {weights} {saved}",
        "With these judges a model keeps {after} possible ranks on average, instead of {before} by "
        "people alone. {weights} {saved}",
        len(board.estimates.selection.judges),
    )
    return paragraph(
        worded(
            text,
            after=bold(number(after, ".1f")),
            before=bold(number(before, ".1f")),
            weights=_weights(board.estimates),
            saved=_saved(board.estimates),
        )
    )


def mode_words(board: Leaderboard) -> Markup:
    """Say what coupling changes besides win rates."""
    modes = board.estimates.modes
    if modes is None:
        return Markup("")
    flips = _ordered_flips(modes)
    text = Markup("{ties} {order}").format(ties=_ties(modes, board.alpha), order=_order(modes))
    return joined([paragraph(text), listed(_flips(flips), "hint"), *_who_compares(modes)])


def _who_compares(modes: ModeComparison) -> Iterator[Markup]:
    """Say whom the comparison speaks for, where people voted often."""
    if modes.people is None:
        return
    text = _("This comparison holds for people like its {n:,} voters.")
    yield paragraph(text.format(n=modes.people), "hint")
    if not modes.both:
        yield paragraph(
            _(
                "Each of them voted in one mode only, so their tastes blur the difference: who "
                "votes in both modes tells more."
            ),
            "hint",
        )


def nothing_counted(board: Leaderboard) -> str:
    """Say why a board has nothing to draw."""
    selection = board.estimates.selection
    if board.source is BoardSource.PPR and board.estimates.judged.verdicts.comparisons.any():
        return _("This board needs battles that have both a vote and a verdict.")
    if selection.voter:
        return _("You have not voted on anything that this board shows.")
    if selection.category or selection.language or selection.mode:
        return _("Nothing fits this selection yet.")
    if board.source is not BoardSource.HUMAN:
        return _("There are no verdicts that this board could use.")
    if excluded := tuple(uncounted_words(board.estimates)):
        return " ".join(excluded)
    return _("No votes yet. Cast the first one in the Battle tab.")


def _unheard(judges: tuple[str, ...]) -> str:
    """Say that there is nothing for a board to hear of its judges."""
    if len(judges) == 1:
        return _("{judge} has no verdict here that this board could use.").format(judge=judges[0])
    return _("{judges} have no verdicts on one battle here that this board could use.").format(
        judges=named(judges)
    )


def _weights(estimates: BoardEstimates) -> Markup:
    """Say what the verdicts of each judge weigh."""
    estimate, judges = estimates.by_source[BoardSource.PPR], estimates.selection.judges
    total = bold("\N{GREEK SMALL LETTER LAMDA} = " + number(estimate.power_tuning, ".2f"))
    if len(judges) == 1:
        text = _(
            "Its verdicts weigh {total}: 0 ignores the judge, 1 takes it as seriously as people."
        )
        return worded(text, total=total)
    text = _(
        "Where all of them judged, their verdicts weigh {weights}, together {total}. 0 ignores "
        "the judges; 1 takes them as seriously as people."
    )
    weights = Markup(", ").join(
        Markup("{} <b>{}</b>").format(judge, number(weight, ".2f"))
        for judge, weight in zip(judges, estimate.judge_weights, strict=True)
    )
    return worded(text, weights=weights, total=total)


def _saved(estimates: BoardEstimates) -> Markup:
    saved = estimates.votes_saved
    if saved is None:
        return Markup("")
    judges = len(estimates.selection.judges)
    if saved < 0.5:
        return Markup(ngettext("It saves no votes here.", "They save no votes here.", judges))
    text = ngettext(
        "To be as certain without it, the board would need {bold}{saved:,.0f} more "
        "comparisons{end} by people, besides its {human:,}.",
        "To be as certain without them, the board would need {bold}{saved:,.0f} more "
        "comparisons{end} by people, besides its {human:,}.",
        judges,
    )
    human = estimates.by_source[BoardSource.HUMAN].human
    return worded(text, saved=saved, human=human, **_BOLD)


def _ties(modes: ModeComparison, alpha: float) -> Markup:
    if np.isnan(modes.tie_change):
        return Markup(_("Neither protocol has ties."))
    if np.isinf(modes.tie_change):
        return Markup(
            _("Only coupled battles ended in ties: too few to say how frequent they are.")
        )
    if modes.tie_change == -1:
        return Markup(
            _(
                "Only independent battles ended in ties so far: too few to say how frequent they "
                "are."
            )
        )
    low, high = modes.tie_interval(alpha)
    change = modes.tie_change
    if low <= 0 <= high:
        text = _(
            "Too early to say whether ties are more or less frequent in coupled battles: "
            "{change:+.0%} ({interval})."
        )
    elif change > 0:
        text = _("Ties are {bold}{change:.0%} more frequent{end} in coupled battles ({interval}).")
    else:
        change = -change
        text = _("Ties are {bold}{change:.0%} less frequent{end} in coupled battles ({interval}).")
    interval = _("{low:+.0%} to any, {level} interval")
    if np.isfinite(high):
        interval = _("{low:+.0%} to {high:+.0%}, {level} interval")
    interval = interval.format(low=low, high=high, level=level(alpha))
    return worded(text, change=change, interval=interval, **_BOLD)


def _order(modes: ModeComparison) -> str:
    if modes.flips:
        return _("By the estimates alone, which may be chance, rankings flip:")
    if np.isfinite(modes.averages.difference).sum() < 2:
        return _("Rankings need pairs with {n} votes in both.").format(n=MINIMUM_PER_PAIR)
    return _("By the estimates alone, both rank the models in the same order.")


def _flips(flips: list[tuple[str, str]]) -> Iterator[str]:
    for above, below in flips[:_MOST_FLIPS]:
        text = _("{above} is above {below} in coupled battles and below it in independent ones")
        yield worded(text, above=bold(above), below=bold(below))
    if (others := len(flips) - _MOST_FLIPS) > 0:
        text = ngettext(
            "{n} more pairs change their order", "{n} more pairs change their order", others
        )
        yield text.format(n=others)


def _ordered_flips(modes: ModeComparison) -> list[tuple[str, str]]:
    """Return the flips, the one that is above in coupled battles first."""
    rate = dict(zip(modes.models, modes.averages.coupled, strict=True))
    return [(a, b) if rate[a] > rate[b] else (b, a) for a, b in modes.flips]


def _meaning(board: Leaderboard) -> Iterator[str]:
    """Say in what win rates and rank-sets are others than those of most boards."""
    if mix := board.estimates.method.mix:
        whole = sum(weight for _name, weight in mix)
        parts = ", ".join(f"{name} {weight / whole:.0%}" for name, weight in mix)
        yield _("This board is a mix of categories: {parts}.").format(parts=parts)
    if board.estimates.method.tie_score is TieScore.LOSS:
        yield _(
            "A tie counts as a win for neither. These win rates do not compare with those of "
            "boards where a tie is half a win for both."
        )
    if board.scope is Scope.MARGINAL:
        text = _(
            "Each rank-set holds at {level} for its model alone, if you chose the model before "
            "you looked. All rank-sets together hold less often."
        )
        yield text.format(level=level(board.alpha))


def _people(board: Leaderboard) -> Iterator[str]:
    """Say how many people voted, and what it costs that each has a taste."""
    if board.estimates.method.voters is Voters.THESE:
        yield _("This board holds for exactly the people who voted, and for nobody else.")
    tastes = board.estimate.tastes if board.estimate else None
    if tastes is None or tastes.voters == tastes.votes:
        return
    if tastes.alone:
        yield _("One person cast all votes: this board speaks for that person only.")
        return
    more = _("More people help this board, not more comparisons by the same people.")
    yield from taste_words(tastes.voters, tastes.votes, tastes.worth, more)


def _sides(board: Leaderboard) -> Iterator[str]:
    """Say what being shown first does, and whether sides were drawn by lot."""
    sides = board.estimates.sides
    if sides is None or board.source is BoardSource.JUDGE:
        return
    if np.isfinite(sides.effect):
        bounds = sides.effect, *sides.interval(board.alpha)
        text = _(
            "The answer shown first won {effect:.1%} of the comparisons more than the other "
            "({low:+.1%} to {high:+.1%}, {level} interval)."
        )
        if sides.effect < 0:
            bounds = -bounds[0], -bounds[2], -bounds[1]
            text = _(
                "The answer shown second won {effect:.1%} of the comparisons more than the other "
                "({low:+.1%} to {high:+.1%}, {level} interval)."
            )
        said = dict(zip(("effect", "low", "high"), bounds, strict=True))
        yield text.format(**said, level=level(board.alpha))
    if sides.by_lot:
        return
    if board.estimate and board.estimate.weighting is Weighting.POSITION:
        yield _(
            "Left and right were not drawn at random: both orders of each pair weigh the same here."
        )
    else:
        yield _(
            "Left and right were not drawn at random, and not all pairs have {n} votes in each "
            "order. The win rates therefore contain the effect of being shown first."
        ).format(n=MINIMUM_PER_PAIR)
    if pairs := sides.one_sided:
        text = ngettext(
            "{n} pair was always shown in one order: {pairs}.",
            "{n} pairs were always shown in one order: {pairs}.",
            len(pairs),
        )
        names = named([f"{a}\N{EN DASH}{b}" for a, b in pairs], _WISHES)
        yield text.format(n=len(pairs), pairs=names)


def _mixture(modes: tuple[Mode, ...]) -> Iterator[str]:
    if len(modes) > 1:
        text = _("This board mixes battles of different modes: {modes}.")
        yield text.format(modes=modes_named(modes))


def _not_judged(board: Leaderboard) -> Iterator[str]:
    """Say where verdicts are missing, where they add nothing, and where they are not used."""
    estimates, judges = board.estimates, board.estimates.selection.judges
    if not judges or board.source is BoardSource.JUDGE:
        return
    powered, shift = estimates.by_source.get(BoardSource.PPR), estimates.shift
    if shift is not None and shift.different:
        yield _other_comparisons(shift)
    elif board.source is BoardSource.HUMAN:
        if powered is None:
            yield _unheard(judges)
        elif not powered.power_tuning > 0:
            text = _("Verdicts of {judges} add nothing here: this board counts votes alone.")
            yield text.format(judges=named(judges))
    elif others := estimates.unjudged:
        text = ngettext(
            "{others:,} of {n:,} comparisons has no verdict of {judges}: it counts as it is.",
            "{others:,} of {n:,} comparisons have no verdict of {judges}: they count as they are.",
            others,
        )
        n = int(estimates.votes.comparisons.sum()) // 2
        yield text.format(others=others, n=n, judges=named(judges))


def _other_comparisons(shift: ShiftTest) -> str:
    """Say that verdicts alone would not correct votes."""
    text = _(
        "Verdicts without a vote are on other comparisons than votes ({model} {shift:+.1%}, {p}): "
        "this board does not use them."
    )
    p = f"p < {number(_LEAST_P, 'g')}" if shift.p < _LEAST_P else f"p = {number(shift.p, '.1g')}"
    return text.format(model=shift.model, shift=shift.shift, p=p)


def _wishes(missing: tuple[MissingVotes, ...]) -> Iterator[str]:
    for pair in missing[:_WISHES]:
        text = ngettext("{n} more vote in {pair}", "{n} more votes in {pair}", pair.votes)
        yield text.format(n=pair.votes, pair=f"{pair.first}\N{EN DASH}{pair.second}")
    if (others := len(missing) - _WISHES) > 0:
        text = ngettext(
            "{n} more pair without enough votes", "{n} more pairs without enough votes", others
        )
        yield text.format(n=others)


def _idle(board: Leaderboard) -> Iterator[str]:
    names = board.idle
    if not names:
        return
    judged = board.source is BoardSource.JUDGE
    text = _("No verdicts yet: {models}.") if judged else _("No votes yet: {models}.")
    yield text.format(models=named(names, _WISHES) if len(names) > _WISHES else ", ".join(names))
