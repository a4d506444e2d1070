"""Errors of an audit: comparisons on one prompt depend on each other, and those by one voter.

The store adds up what comparisons add to each number, by prompt and by voter. This module knows no
error level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from coupled_arena.analysis.leaderboard.clusters import stacked
from coupled_arena.core.choices import JudgeScore, Ties
from coupled_arena.core.sql import Cursor
from coupled_arena.stats.counts import FloatArray, JudgedCounts
from coupled_arena.stats.judges.powered_means import PoweredMeans
from coupled_arena.stats.judges.samples import Compared, OwnInfluence
from coupled_arena.stats.judges.voter_tastes import (
    Ballots,
    Tasted,
    cells_of_models,
    for_people,
    shares_of,
)
from coupled_arena.stats.ranking.voter_tastes import Shares
from coupled_arena.store.queries import clusters
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.matched_comparisons import Comparisons


@dataclass(frozen=True, eq=False)
class Voted:
    """Who voted beside verdicts, where it matters.

    Attributes
    ----------
    people, votes : int
        Votes of nobody known are one person's each.
    worth : float or None
        As many votes, each by a person of its own, tell as much of how often people prefer models.
        None where intervals do not depend on who voted: one person did, or each vote is another's.
    """

    people: int
    votes: int
    worth: float | None

    @property
    def alone(self) -> bool:
        """Whether one person cast all votes: then nothing is known of other people."""
        return self.people < 2


@dataclass(frozen=True, eq=False)
class Errors:
    """What an audit knows of its errors: see `AuditEstimates`, whose fields these are."""

    means: PoweredMeans
    bias_variance: FloatArray
    rho_variance: FloatArray
    bias_degrees: FloatArray | None
    rho_degrees: FloatArray | None
    voted: Voted | None


def with_errors(
    cursor: Cursor,
    selection: Selection,
    judged: JudgedCounts,
    means: PoweredMeans,
    bias_and_rho: Sequence[OwnInfluence],
    *,
    people: int,
) -> Errors:
    """Return what is known where comparisons on one prompt, or by one voter, share something.

    Parameters
    ----------
    judged : JudgedCounts
    means : PoweredMeans
        As if no comparison depended on another.
    bias_and_rho : sequence of OwnInfluence
        What comparisons add to the errors of the judge's bias, and of artanh ρ.
    people : int
        How many voted, by `number_voters`; 0 where intervals are for exactly these.
    """
    plain = np.diag(np.concatenate([np.diag(Compared(judged).gram(x, x)) for x in bias_and_rho]))
    prompts = bool(judged.models) and clusters.clusters_overlap(cursor)
    people = people if judged.models else 0
    if not prompts and not people:
        return _errors(means, plain, None, None)
    ties, by_verdict = means.ties, replace(selection, judge_score=JudgeScore.VERDICT)
    summed = [
        _summed(cursor, of, means.models, influences, ties, prompts=prompts, people=people)
        for of, influences in (
            (selection, [means.human_influence, means.judge_influence]),
            (by_verdict, bias_and_rho),
        )
    ]
    powered, own = summed
    these, variance = means, plain
    if prompts:
        these = means.clustered(powered.gram.sum, powered.gram.clusters)
        variance = own.gram.sum * these.inflation
    if not people:
        return _errors(these, variance, None, None)
    cell = np.tile(np.arange(len(means.models)), 2)
    tasted = for_people(own.ballots, own.adds, cell, plain, variance, own.prompts)
    made = these.of_people(powered.ballots, powered.adds, powered.prompts)
    voted = Voted(powered.ballots.voters, int(judged.votes.counts.sum()), made.votes_worth)
    return _errors(made, variance, tasted, voted)


def _errors(
    means: PoweredMeans, variance: FloatArray, tasted: Tasted | None, voted: Voted | None
) -> Errors:
    k = len(means.models)
    rows = np.eye(2 * k)
    degrees = means.degrees_of(rows[:k])
    halves = degrees, degrees
    if tasted is not None:
        variance = tasted.covariance
        every = np.array([tasted.degrees(row, means.degrees) for row in rows])
        halves = every[:k], every[k:]
    bias, rho = np.split(np.diag(variance), 2)
    return Errors(means, bias, rho, *halves, voted)


@dataclass(frozen=True, eq=False)
class _Summed:
    """What comparisons add up to by prompt, and by voter where people voted.

    `adds` is what a vote of a kind adds to each number, `prompts` how votes are spread over them.
    """

    gram: clusters.Gram
    ballots: Ballots
    adds: csr_array
    prompts: Shares | None


def _summed(
    cursor: Cursor,
    selection: Selection,
    models: tuple[str, ...],
    influences: Sequence[OwnInfluence],
    ties: Ties,
    *,
    prompts: bool,
    people: int,
) -> _Summed:
    of_pairs = [each.of_pairs for each in influences]
    cells, k = stacked(of_pairs), len(models)
    read = Comparisons(cursor, selection, models, people)
    gram, counted = clusters.Gram(cells, 2 * k), read.by_voter(models, cells)
    counts_in = cells_of_models(k, of_pairs[0].labelled.shape[3], ties)
    total, on_prompts = np.zeros(len(counted.kinds)), list[csr_array]()
    for block in read.blocks(models, cells):
        found = block.by_prompt
        if prompts:
            gram.add(found)
        if people:
            voted = csr_array(found[:, counted.kinds])
            total += np.asarray(voted.sum(axis=0), dtype=np.float64).ravel()
            on_prompts.append(voted)
    ballots = Ballots(counted.by_voter, counted.repeated, counts_in, total)
    spread: Shares | None = None
    for voted in on_prompts if prompts else []:
        more = shares_of(voted, counts_in, ballots.size)
        spread = more if spread is None else spread + more
    adds = csr_array(cells.by_model(2 * k)[counted.kinds])
    return _Summed(gram, ballots, adds, spread)
