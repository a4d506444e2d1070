"""What a judge's grades of single answers are worth, wherever the answers come from."""

from __future__ import annotations

import numpy as np

from coupled_arena.analysis.audit.read import AuditEstimates, influences
from coupled_arena.core.choices import Ties
from coupled_arena.core.records import Mode
from coupled_arena.stats.counts import OUTCOMES
from coupled_arena.stats.judges.agreement import Agreement
from coupled_arena.stats.judges.graded import GradedAnswers
from coupled_arena.stats.judges.powered_means import PoweredMeans
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.judge_biases import Lengths, Orders


def graded_estimates(
    answers: GradedAnswers,
    selection: Selection,
    benchmark: str,
    silent: tuple[str, ...] = (),
    unreadable: int = 0,
    version: tuple[int, ...] = (),
) -> AuditEstimates:
    """Estimate from answers whose truth is known, clustered by prompt.

    Parameters
    ----------
    answers : GradedAnswers
    selection : Selection
        With a judge.
    benchmark : str
        What knows the truth.
    silent : tuple of str
        Models of which the judge has graded nothing.
    unreadable : int
        What the judge was asked about and never graded readably.
    version : tuple of int
        Of the store, where there is one.
    """
    table = Agreement.of(answers.own, Ties.LOSS)
    means = PoweredMeans.of_sample(answers, Ties.LOSS)
    gram = answers.cluster_gram(means.human_influence, means.judge_influence)
    means = means.clustered(gram, answers.prompts)
    bias, rho = influences(table, Ties.LOSS)
    squares = np.diag(answers.cluster_gram(bias, rho)) * means.inflation
    outcomes = np.zeros((len(OUTCOMES), len(OUTCOMES)), dtype=np.int64)
    outcomes[:2, :2] = answers.own.labelled.sum(0)[:2, :2]
    return AuditEstimates(
        selection=selection,
        ties=Ties.LOSS,
        benchmark=benchmark,
        judged=None,
        votes=None,
        outcomes=outcomes,
        alone=int(answers.own.unlabelled.sum()),
        tables={Ties.LOSS: table},
        means=means,
        bias_variance=np.split(squares, 2)[0],
        rho_variance=np.split(squares, 2)[1],
        silent=silent,
        orders=Orders(0, 0, 0, unreadable, 0, 0, 0, 0),
        lengths=Lengths(0, 0, 0, 0),
        mixed=(selection.mode or Mode.UNKNOWN,),
        version=version,
        answers=answers,
    )
