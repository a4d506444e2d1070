"""Counts and estimates for one selection of comparisons: the slow part of a leaderboard.

A `coupled_arena.analysis.leaderboard.result.Leaderboard` shows them at one error level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from coupled_arena.analysis.leaderboard.clusters import (
    InClusters,
    compare_board_modes,
    in_clusters,
    judged_counts,
    modes_in_clusters,
    voter_sums,
)
from coupled_arena.analysis.live import Kept
from coupled_arena.core.choices import BoardSource, Covariance, TieScore, Voters, Weighting
from coupled_arena.core.errors import StoreError
from coupled_arena.core.language import _, ngettext
from coupled_arena.core.records import Mode
from coupled_arena.core.sql import Cursor
from coupled_arena.stats.counts import JudgedCounts, PairCounts
from coupled_arena.stats.coupling.modes import ModeComparison
from coupled_arena.stats.ranking.estimates import Estimate, estimate, estimate_from_votes
from coupled_arena.stats.ranking.mixes import Stratum, mixed
from coupled_arena.stats.ranking.rank_sets import DRAWS, LIVE_DRAWS, Separation
from coupled_arena.stats.ranking.sides import Sides
from coupled_arena.stats.ranking.strata import MINIMUM_PER_PAIR, PairPrompts
from coupled_arena.stats.ranking.verdict_shift import ShiftTest, verdict_shift, without_verdicts
from coupled_arena.store.database import Store
from coupled_arena.store.queries import clusters, comparisons
from coupled_arena.store.queries.battle_conditions import visible_models
from coupled_arena.store.queries.benchmark_scores import reworded
from coupled_arena.store.queries.comparisons import Counts, Selection
from coupled_arena.store.queries.judge_quality import JudgeUse, judge_use
from coupled_arena.store.queries.matched_comparisons import Comparisons, number_voters
from coupled_arena.store.tables.exclusions import BY_DEFAULT, Counting, Excluded, excluded


@dataclass(frozen=True)
class Method:
    """How win-rates are estimated from counts; without `ties` by what the covariance goes with.

    Attributes
    ----------
    mix : tuple of (str, float)
        Categories with their weights, of a board that is a mix of them.
    """

    weighting: Weighting = Weighting.STRATIFIED
    covariance: Covariance = Covariance.CORRECTED
    ties: TieScore | None = None
    voters: Voters = Voters.LIKE
    mix: tuple[tuple[str, float], ...] = ()

    @property
    def tie_score(self) -> TieScore:
        """What a tie counts for; the published covariance is of ties that are no win."""
        return TieScore.of(self.ties, self.covariance)

    @property
    def of_people(self) -> bool:
        """Whether win-rates hold for people like the voters."""
        return self.voters is Voters.LIKE and self.covariance is Covariance.CORRECTED


@dataclass(frozen=True, eq=False)
class BoardEstimates:
    """What the comparisons of one selection say, before an error level is chosen.

    Attributes
    ----------
    votes : PairCounts
        All votes, those on identical replies included.
    identical : PairCounts
        The ties of identical replies, which nobody was asked about.
    judged : JudgedCounts
        Comparisons with a verdict of the selected judge, or with one of each; by what it said,
        however that is scored.
    by_source : mapping of BoardSource to Estimate
        Those that there are data for.
    modes : ModeComparison or None
        Coupled against independent, where both have votes (on a store without votes: verdicts).
    mixed : tuple of Mode
        The modes that the comparisons come from.
    left_out : int
        Comparisons that are not counted: votes that rank equal answers apart.
    version : tuple of int
        `Store.version` before the votes were read, so that no vote after it can be overlooked.
    idle : tuple of str
        Models that nobody has compared with another one, but those of open rounds alone.
    use : JudgeUse
        How the selected judge is heard.
    reworded : int
        Questions of benchmarks that were put in several ways, which are counted together.
    excluded, counting : Excluded, Counting
        How many of all votes of the store do not count by default; which do all the same.
    sides : Sides or None
        What being shown first does, where people voted.
    shift : ShiftTest or None
        Whether verdicts alone differ from verdicts beside votes, where they could say anything.
    """

    selection: Selection
    method: Method
    votes: PairCounts
    identical: PairCounts
    judged: JudgedCounts
    by_source: Mapping[BoardSource, Estimate]
    modes: ModeComparison | None
    mixed: tuple[Mode, ...]
    left_out: int
    version: tuple[int, ...]
    idle: tuple[str, ...]
    draws: int
    use: JudgeUse = field(default_factory=JudgeUse)
    reworded: int = 0
    excluded: Excluded = field(default_factory=lambda: Excluded(0, 0))
    counting: Counting = BY_DEFAULT
    sides: Sides | None = None
    shift: ShiftTest | None = None
    _separations: dict[BoardSource, Separation] = field(
        default_factory=dict[BoardSource, Separation]
    )

    def separation(self, source: BoardSource) -> Separation:
        """Return which models differ, on the board of one source."""
        if source not in self._separations:
            self._separations[source] = Separation(self.by_source[source], self.draws)
        return self._separations[source]

    @property
    def asked(self) -> PairCounts:
        """Comparisons that a person decided."""
        return PairCounts(self.votes.models, self.votes.counts - self.identical.counts)

    @property
    def unjudged(self) -> int:
        """Votes without a verdict of the selected judge, or without one of each; 0 without one."""
        if not self.selection.judge:
            return 0
        judged = self.judged.votes.comparisons
        return int((self.votes.comparisons.sum() - judged.sum()) // 2)

    @property
    def votes_saved(self) -> float | None:
        """Human comparisons that would have to be added for the judge's gain in variance."""
        human = self.by_source.get(BoardSource.HUMAN)
        powered = self.by_source.get(BoardSource.PPR)
        if human is None or powered is None or human.models != powered.models:
            return None
        alone, together = np.trace(human.covariance), np.trace(powered.covariance)
        if not together > 0:  # votes that never varied
            return None
        return float(human.human * (alone / together - 1)) if np.isfinite(alone) else None


def read_estimates(
    store: Store,
    selection: Selection = Selection(),
    method: Method = Method(),
    draws: int = DRAWS,
    *,
    judge_alone: bool = True,
    modes_by_judge: bool = False,
) -> BoardEstimates:
    """Count the comparisons as they are now and estimate what they allow.

    Parameters
    ----------
    judge_alone : bool
        Whether to estimate from the verdicts alone, too; not from those of several judges, nor
        where they are not taken as they are.
    modes_by_judge : bool
        Whether to compare the modes by the verdicts where there are votes, too.

    Raises
    ------
    StoreError
        The selection names a judge or model that the store does not know, or too many judges.
    """
    if method.mix:
        return _read_mix(store, selection, method, draws, judge_alone=judge_alone)
    return _read_whole(
        *(store, selection, method, draws), judge_alone=judge_alone, modes_by_judge=modes_by_judge
    )


def _read_whole(
    store: Store,
    selection: Selection,
    method: Method,
    draws: int,
    *,
    judge_alone: bool,
    modes_by_judge: bool,
) -> BoardEstimates:
    version, plain = store.version(), selection.plain
    judge_alone &= len(selection.judges) < 2 and selection == plain
    with store.cursor() as cursor:
        cursor.execute("begin")  # counts and cluster sums of one moment
        people = number_voters(cursor) if method.of_people else 0
        part = _read_one(cursor, selection, method, people, judge_alone, tested=True)
        counts, votes, found = part.counts, part.votes, part.found
        voted = not modes_by_judge and bool(votes.comparisons.any())
        modes = _modes(part.read.of(plain), plain, counts, voted=voted, shared=part.shared)
        use, several = judge_use(cursor, selection), reworded(cursor, selection, compared=True)
        idle = visible_models(cursor, sorted({*part.models} - {*counts.models}))
        left = excluded(cursor)
        cursor.execute("commit")
    by_source, test = _tested(found)
    identical = PairCounts(counts.models, counts.votes[:, 1].sum(0))
    return BoardEstimates(
        *(selection, method, votes, identical, judged_counts(counts), by_source, modes),
        *(_mixed(counts), counts.left_out, version),
        idle=idle,
        draws=draws,
        use=use,
        reworded=several,
        excluded=left,
        counting=store.counted,
        sides=found.sides,
        shift=test,
    )


def read_estimate(
    store: Store, selection: Selection, method: Method, source: BoardSource
) -> Estimate | None:
    """Return what `read_estimates` says of one source, and nothing else; None without its data."""
    with store.cursor() as cursor:
        cursor.execute("begin")
        people = number_voters(cursor) if method.of_people else 0
        found = _read_one(cursor, selection, method, people, source is BoardSource.JUDGE)
        cursor.execute("commit")
    return found.found.by_source.get(source)


@dataclass(frozen=True, eq=False)
class _ReadOne:
    """What one selection says, without what only a whole board tells; ``models`` are all named."""

    models: Sequence[str]
    counts: Counts
    votes: PairCounts
    made: Mapping[BoardSource, Estimate]
    found: InClusters
    read: Comparisons
    shared: bool


def _read_one(
    cursor: Cursor,
    selection: Selection,
    method: Method,
    people: int,
    judge_alone: bool,
    *,
    tested: bool = False,
) -> _ReadOne:
    """Estimate one selection; where it is tested, the judge is held against the votes, too."""
    plain = selection.plain
    counts = (stored := comparisons.count(cursor, plain)).of(stored.compared)
    votes = PairCounts(counts.models, counts.votes.sum((0, 1)))
    scored = judged_counts(_scored_counts(cursor, selection, counts))
    shared = method.covariance is Covariance.CORRECTED and clusters.clusters_overlap(cursor)
    used = in_force(method, votes)
    prompts = pair_prompts(cursor, selection, used, votes.models) if shared else {}
    made = estimates_of(votes, scored, (used, method), prompts, judge_alone=judge_alone)
    shift = _shift(made, scored.with_silent(votes.counts), prompts) if tested else None
    read = Comparisons(cursor, selection, counts.models, people)
    found = in_clusters(read, made, votes, shift=shift, prompts=shared)
    return _ReadOne(stored.models, counts, votes, made, found, read, shared)


def _read_mix(
    store: Store, selection: Selection, method: Method, draws: int, *, judge_alone: bool
) -> BoardEstimates:
    """Count and estimate each category of a mix by itself, of the models that all have."""
    version, own = store.version(), replace(method, mix=())
    judge_alone &= len(selection.judges) < 2 and selection == selection.plain
    with store.cursor() as cursor:
        cursor.execute("begin")
        known = comparisons.categories(cursor)
        if unknown := [name for name, _weight in method.mix if name not in known]:
            text = _("No comparison has the category {names}. Known: {known}.")
            there = ", ".join(known) or _("none yet")
            raise StoreError(text.format(names=", ".join(unknown), known=there))
        kinds = [replace(selection, category=name) for name, _weight in method.mix]
        met = [comparisons.count(cursor, kind.plain) for kind in kinds]
        common = sorted(set.intersection(*(set(each.compared) for each in met)))
        people = number_voters(cursor) if own.of_people else 0
        parts = [
            _read_one(cursor, replace(kind, models=tuple(common)), own, people, judge_alone)
            for kind in (kinds if len(common) > 1 else ())
        ]
        several = comparisons.prompts_of_several(cursor, [name for name, _weight in method.mix])
        by_source = _mixed_sources(method.mix, parts, several)
        left, names = excluded(cursor), sorted({name for each in met for name in each.models})
        idle = visible_models(cursor, [name for name in names if name not in common])
        cursor.execute("commit")
    counts = _added_up([part.counts for part in parts], common if parts else ())
    votes = PairCounts(counts.models, counts.votes.sum((0, 1)))
    identical = PairCounts(counts.models, counts.votes[:, 1].sum(0))
    return BoardEstimates(
        *(selection, method, votes, identical, judged_counts(counts), by_source, None),
        *(_mixed(counts), counts.left_out, version),
        idle=idle,
        draws=draws,
        excluded=left,
        counting=store.counted,
    )


def _mixed_sources(
    mix: tuple[tuple[str, float], ...], parts: list[_ReadOne], several: int
) -> dict[BoardSource, Estimate]:
    """Return the mix of each source; so many prompts are in several of its categories."""
    found: dict[BoardSource, Estimate] = {}
    text = ngettext(
        "{n} prompt is in several categories of the mix. Its votes in them count as independent.",
        "{n} prompts are in several categories of the mix. Their votes in them count as "
        "independent.",
        several,
    )
    said = (text.format(n=several),) if several else ()
    for source in BoardSource:
        there = [part.found.by_source.get(source) for part in parts]
        models = {each.models for each in there if each is not None}
        if not there or None in there or len(models) > 1:
            continue
        strata: list[Stratum] = []
        for (name, weight), part in zip(mix, parts, strict=True):
            plain = part.made[source]
            known = voter_sums(part.read, plain, source) if part.read.people else (None, None)
            strata.append(Stratum(name, weight, part.found.by_source[source], *known))
        made = mixed(strata)
        found[source] = replace(made, warnings=(*made.warnings, *said))
    return found


def _added_up(parts: list[Counts], models: Sequence[str]) -> Counts:
    """Return the counts of all categories, of the models that all of them have."""
    if not parts:
        shape = len(Mode), 0, 0, 4
        none = np.zeros((len(Mode), 2, 0, 0, 4), np.int64)
        return Counts((), none, np.zeros((*shape, 4), np.int64), np.zeros(shape, np.int64), 0)
    whole = [part.of(models) for part in parts]
    return Counts(
        tuple(models),
        np.sum([part.votes for part in whole], axis=0),
        np.sum([part.labelled for part in whole], axis=0),
        np.sum([part.unlabelled for part in whole], axis=0),
        sum(part.left_out for part in whole),
    )


def _modes(
    read: Comparisons, selection: Selection, counts: Counts, *, voted: bool, shared: bool
) -> ModeComparison | None:
    """Compare the protocols, with what shares a prompt or a voter."""
    found = compare_board_modes(counts, voted=voted) if selection.mode is None else None
    if found is None:
        return None
    return modes_in_clusters(read, found, voted=voted, prompts=shared)


def _scored_counts(cursor: Cursor, selection: Selection, counts: Counts) -> Counts:
    """Return the counts with verdicts scored as the selection says."""
    counted = counts if selection == selection.plain else comparisons.count(cursor, selection)
    return counted.of(counts.models)


def in_force(method: Method, votes: PairCounts) -> Method:
    """Return how win-rates are estimated: by order, where sides were not by lot and both met."""
    shown = votes.counts.sum(axis=2)
    met = (shown + shown.T > 0) & ~np.eye(len(shown), dtype=np.bool_)
    enough = bool((shown[met] >= MINIMUM_PER_PAIR).all())
    if method != replace(method, weighting=Weighting.STRATIFIED, covariance=Covariance.CORRECTED):
        return method
    # With sides by name and a first place worth .5 log-odds, 95 % rank-sets of five equal models
    # covered .005. Weights by order held .945 with sides by name in 80 % of the battles.
    complete = met.sum() == len(shown) * (len(shown) - 1)
    if not (enough and complete) or Sides.of(votes).by_lot:
        return method
    return replace(method, weighting=Weighting.POSITION)


class LiveEstimates:
    """Estimates that are computed again only when the store has changed; for any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: Kept[tuple[Selection, Method, bool], BoardEstimates] = Kept(store)

    def get(
        self,
        selection: Selection = Selection(),
        method: Method = Method(),
        *,
        judge_alone: bool = False,
    ) -> BoardEstimates:
        """Return the estimates of a selection; the same object until the store changes."""
        return self._kept.get(
            (selection, method, judge_alone),
            lambda: read_estimates(
                self._store, selection, method, LIVE_DRAWS, judge_alone=judge_alone
            ),
        )


def pair_prompts(
    cursor: Cursor, selection: Selection, method: Method, models: tuple[str, ...]
) -> dict[BoardSource, PairPrompts]:
    """Return on how many prompts the comparisons of each board are."""
    by_order = method.weighting is Weighting.POSITION
    found = clusters.pair_prompts(cursor, selection, models, by_order=by_order)
    nobody = np.zeros_like(found.votes)
    return {
        BoardSource.HUMAN: PairPrompts(models, found.votes, nobody),
        BoardSource.JUDGE: PairPrompts(models, found.verdicts, nobody),
        BoardSource.PPR: PairPrompts(models, found.votes, found.alone, found.labelled),
    }


def estimates_of(
    votes: PairCounts,
    judged: JudgedCounts,
    methods: tuple[Method, ...],
    prompts: Mapping[BoardSource, PairPrompts],
    *,
    judge_alone: bool,
) -> dict[BoardSource, Estimate]:
    """Return what there are data for, by the first method that they allow, else by the last."""
    method, *others = methods
    settings = method.weighting, method.covariance
    estimates: dict[BoardSource, Estimate] = {}
    labels = {BoardSource.HUMAN: votes}
    if judge_alone:
        labels[BoardSource.JUDGE] = judged.verdicts
    for source, counts in labels.items():
        if counts.comparisons.any():
            estimates[source] = estimate_from_votes(
                counts, *settings, prompts.get(source), method.tie_score
            )
    if judged.votes.comparisons.any():
        known = prompts.get(BoardSource.PPR)
        of_all = judged.with_silent(votes.counts)
        estimates[BoardSource.PPR] = estimate(of_all, *settings, known, method.tie_score)
    fell = method.weighting is not Weighting.COUNT and any(
        each.weighting is Weighting.COUNT for each in estimates.values()
    )
    if fell and others and others[0] != method:
        return estimates_of(votes, judged, tuple(others), prompts, judge_alone=judge_alone)
    return estimates


def _shift(
    estimates: Mapping[BoardSource, Estimate],
    counts: JudgedCounts,
    prompts: Mapping[BoardSource, PairPrompts],
) -> Estimate | None:
    """Return what verdicts alone say otherwise; the published covariance never asks."""
    powered = estimates.get(BoardSource.PPR)
    if powered is None or powered.kind is Covariance.PUBLISHED:
        return None
    return verdict_shift(powered, counts, prompts.get(BoardSource.PPR))


def _tested(found: InClusters) -> tuple[Mapping[BoardSource, Estimate], ShiftTest | None]:
    """Return the estimates, without verdicts alone where these are on other comparisons."""
    test, made = found.shift and ShiftTest.of(found.shift), found.by_source
    if test is None or not test.different:
        return made, test
    powered, people = made[BoardSource.PPR], made[BoardSource.HUMAN]
    return {**made, BoardSource.PPR: without_verdicts(powered, people)}, test


def _mixed(counts: Counts) -> tuple[Mode, ...]:
    sizes = counts.votes.sum((1, 2, 3, 4)) + counts.unlabelled.sum((1, 2, 3))
    return tuple(mode for mode, n in zip(Mode, sizes, strict=True) if n)
