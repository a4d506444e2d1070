"""A second route to the audit: row by row, with numpy's own covariances and correlations."""

from __future__ import annotations

import numpy as np

from coupled_arena.stats.counts import JudgedCounts

NAMES = tuple("abcdefghijkl")


def counts_of(labelled, unlabelled):
    """Return counts of arrays (k, k, 4, 4) and (k, k, 4)."""
    return JudgedCounts(NAMES[: len(labelled)], np.array(labelled), np.array(unlabelled))


def drawn_counts(rng, k=3, human=200, alone=500, repeats=0.5):
    """Draw comparisons of models of which people prefer the later ones; the judge half echoes."""
    law = echo_law(k, repeats)
    return counts_of(
        rng.multinomial(human, law.ravel()).reshape(law.shape),
        rng.multinomial(alone, law.sum(2).ravel()).reshape(k, k, 4),
    )


def echo_law(k, repeats):
    """Return the probability of (first, second, vote, verdict), shape (k, k, 4, 4)."""
    law = np.zeros((k, k, 4, 4))
    for a in range(k):
        for b in range(k):
            if a != b:
                vote = np.array([1 + a, 1 + b, 0.8, 0.4]) / (3.2 + a + b)
                guess = np.array([0.35, 0.3, 0.3, 0.05])
                law[a, b] = vote[:, None] * ((1 - repeats) * guess + repeats * np.eye(4))
                law[a, b] *= 1 + (a + 2 * b) % 3  # pairs are unequally frequent
    return law / law.sum()


def rows_of(counts):
    """Return arrays (a, b, h, g) of comparisons with a vote, and (a, b, g) of those without."""
    cells, alone = np.argwhere(counts.labelled >= 0), np.argwhere(counts.unlabelled >= 0)
    both = np.repeat(cells, counts.labelled.ravel(), axis=0)
    return both, np.repeat(alone, counts.unlabelled.ravel(), axis=0)


def seen_by(model, first, second, outcome):
    """Return, for the comparisons of a model, 1 won, 0 lost, -1 tied."""
    at = (first == model) | (second == model)
    place = np.where(first == model, 0, 1)
    won = np.where(outcome > 1, -1, (outcome == place).astype(int))
    return won[at]


def scores(counts, model):
    """Return votes and verdicts of a model on comparisons with both, and verdicts on the others."""
    both, alone = rows_of(counts)
    a, b, h, g = both.T
    c, d, e = alone.T
    return seen_by(model, a, b, h), seen_by(model, a, b, g), seen_by(model, c, d, e)


def pairs_of(counts, model, *, drop):
    """Return s and s~ of a model, with ties as losses or dropped."""
    human, judge, _ = scores(counts, model)
    if drop:
        kept = (human >= 0) & (judge >= 0)
        human, judge = human[kept], judge[kept]
    return np.maximum(human, 0), np.maximum(judge, 0)
