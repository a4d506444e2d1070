"""A second route to estimates with several judges: vote by vote, and pair by pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from coupled_arena.stats.counts import JudgedCounts


def drawn_rows(rng, k, judges, votes, alone):
    """Return votes (a, b, h, verdicts) and others (a, b, verdicts), as lists.

    Judges echo votes, each a share of them, and one another.
    """
    rows = []
    for n in range(votes + alone):
        a, b = rng.permutation(k)[:2].tolist()
        h = int(rng.choice(4, p=[0.2 + 0.5 * (a < b), 0.7 - 0.5 * (a < b), 0.07, 0.03]))
        said = []
        for judge in range(judges):
            echo = [h, said[-1] if said else h, int(rng.integers(4))]
            said.append(int(rng.choice(echo, p=[0.3 + 0.1 * judge, 0.2, 0.5 - 0.1 * judge])))
        rows.append((a, b, h, tuple(said)) if n < votes else (a, b, tuple(said)))
    return rows[:votes], rows[votes:]


def counts_of(votes, alone, k, judges):
    """Return the counts of rows; codes are numbers to the base of four."""
    labelled = np.zeros((k, k, 4, 4**judges), dtype=np.int64)
    unlabelled = np.zeros((k, k, 4**judges), dtype=np.int64)
    for a, b, h, said in votes:
        labelled[a, b, h, int("".join(map(str, said)), 4)] += 1
    for a, b, said in alone:
        unlabelled[a, b, int("".join(map(str, said)), 4)] += 1
    return JudgedCounts(tuple("abcdefgh"[:k]), labelled, unlabelled)


def score(outcome, role, half):
    """Return what an outcome counts for in the model shown first (role 0) or second."""
    return float(outcome == role) if outcome < 2 or not half else 0.5


def by_pairs(votes, alone, k, judges, *, half=False, by_position=False):
    """Return θ, covariance and λ of the stratified or the position-weighted mean."""
    strata = list(_strata(votes, alone, k, half, by_position))
    weight = 1 / ((2 if by_position else 1) * (k - 1))
    gain, cost = np.zeros(judges), np.zeros((judges, judges))
    for _, human, said, more in strata:
        for role in range(2):
            if len(more) > 1:
                both = np.cov(np.column_stack([human[:, role], said[:, role]]).T) / len(human)
                gain += both[0, 1:]
                cost += both[1:, 1:] + np.atleast_2d(np.cov(more[:, role].T)) / len(more)
    tuning = np.linalg.solve(cost, gain)
    theta, covariance = np.zeros(k), np.zeros((k, k))
    for pair, human, said, more in strata:
        use = tuning if len(more) > 1 else 0 * tuning
        residual = human - said @ use
        theta[pair] += weight * residual.mean(0)
        block = np.cov(residual.T) / len(human)
        if len(more) > 1:
            theta[pair] += weight * (more @ use).mean(0)
            block = block + np.cov((more @ use).T) / len(more)
        covariance[np.ix_(pair, pair)] += weight**2 * block
    return theta, covariance, tuning


def _strata(votes, alone, k, half, by_position):
    """Yield (pair, h, g, g of others): arrays [row, role], [row, role, judge]."""
    for i, j in combinations(range(k), 2):
        for shown in [[(i, j)], [(j, i)]] if by_position else [[(i, j), (j, i)]]:
            human, said, more = [], [], []
            for a, b, h, verdicts in votes:
                if (a, b) in shown:
                    roles = (0, 1) if a == i else (1, 0)
                    human.append([score(h, role, half) for role in roles])
                    said.append([[score(g, role, half) for g in verdicts] for role in roles])
            for a, b, verdicts in alone:
                if (a, b) in shown:
                    roles = (0, 1) if a == i else (1, 0)
                    more.append([[score(g, role, half) for g in verdicts] for role in roles])
            judges = len(votes[0][3])
            more = np.array(more).reshape(-1, 2, judges)
            yield [i, j], np.array(human), np.array(said), more


def by_models(votes, alone, k, judges):
    """Return θ, corrected covariance and λ of the count-weighted mean: Algorithm 4, of vectors."""
    human, said, more = (_by_model(rows, k) for rows in _seen(votes, alone))

    def away(rows):
        return [x - x.mean(0) for x in rows]

    n, m = len(votes), len(alone)
    gain = sum(g.T @ h for g, h in zip(away(said), away(human), strict=True)) / n**2
    cost = sum(g.T @ g for g in away(more)) / m**2
    tuning = n / (n + m) * np.linalg.solve(cost, gain)
    theta = np.array(
        [
            (h - g @ tuning).mean() + (G @ tuning).mean()
            for h, g, G in zip(human, said, more, strict=True)
        ]
    )
    covariance = np.zeros((k, k))
    sizes, others = ([len(x) for x in rows] for rows in (human, more))
    centre = [(h - g @ tuning).mean() for h, g in zip(human, said, strict=True)]
    middle = [(G @ tuning).mean() for G in more]
    for a, b, h, verdicts in votes:
        s = np.zeros(k)
        for role, model in enumerate((a, b)):
            g = np.array([score(v, role, half=False) for v in verdicts])
            s[model] = (score(h, role, half=False) - g @ tuning - centre[model]) / sizes[model]
        covariance += np.outer(s, s)
    for a, b, verdicts in alone:
        s = np.zeros(k)
        for role, model in enumerate((a, b)):
            g = np.array([score(v, role, half=False) for v in verdicts])
            s[model] = (g @ tuning - middle[model]) / others[model]
        covariance += np.outer(s, s)
    return theta, covariance, tuning


def _seen(votes, alone):
    """Return rows (model, score of the vote), (model, scores of verdicts) twice."""
    human, said, more = [], [], []
    for a, b, h, verdicts in votes:
        for role, model in enumerate((a, b)):
            human.append((model, score(h, role, half=False)))
            said.append((model, [score(g, role, half=False) for g in verdicts]))
    for a, b, verdicts in alone:
        for role, model in enumerate((a, b)):
            more.append((model, [score(g, role, half=False) for g in verdicts]))
    return human, said, more


def _by_model(rows, k):
    return [np.array([value for model, value in rows if model == m]) for m in range(k)]
