"""A second route to estimates with a judge whose scores are real numbers, or that abstains.

Rows are votes (a, b, h, likely) and others (a, b, likely), with `likely` the probabilities that the
judge prefers a and b, or None where it abstains.
"""

from __future__ import annotations

import numpy as np

from coupled_arena.stats.counts import JudgedCounts
from tests.stats.several_judges import score

MIDDLES = {4: (0, 1), 5: (0, 2), 6: (1, 2)}


def drawn(rng, k, votes, alone, *, likely=True, abstains=0.0):
    """Return rows by chance: the judge knows something of what people will say."""
    rows = []
    for n in range(votes + alone):
        a, b = rng.permutation(k)[:2].tolist()
        truth = rng.dirichlet([1.2 + (a < b), 1.2, 0.4])
        h = int(rng.choice(4, p=[*truth[:2], truth[2] / 2, truth[2] / 2]))
        told = rng.dirichlet(9 * truth + 0.1)
        told = told if likely else np.eye(3)[rng.choice(3, p=told)]
        said = (
            None if rng.random() < abstains * (1 - np.abs(truth[0] - truth[1])) else tuple(told[:2])
        )
        if n < votes:
            rows.append((a, b, h, said))
        elif said:
            rows.append((a, b, said))
    return [row for row in rows if len(row) == 4], [row for row in rows if len(row) == 3]


def mixtures(said):
    """Return the weights of the eight codes of each row (p, q), shape (n, 8); NaN: it abstains."""
    p = np.column_stack([said, 1 - said.sum(axis=1)])
    weights = np.zeros((len(p), 8))
    weights[:, :3] = p * (2 * p - 1)
    for code, (i, j) in MIDDLES.items():
        weights[:, code] = 4 * p[:, i] * p[:, j]
    return np.where(np.isnan(p[:, :1]), np.eye(8)[7], weights)


def counts_of(votes, alone, k):
    """Return the counts of rows."""
    a, b, h, said = zip(*votes, strict=True)
    c, d, more = zip(*alone, strict=True) if alone else ([], [], [])
    both, rest = (
        np.array([(np.nan, np.nan) if one is None else one for one in each], float).reshape(-1, 2)
        for each in (said, more)
    )
    return counts_of_arrays((a, b, h, both), (c, d, rest), k)


def counts_of_arrays(votes, alone, k):
    """Return the counts of columns a, b, h and (p, q), and of a, b and (p, q)."""
    labelled, unlabelled = np.zeros((k, k, 4, 8)), np.zeros((k, k, 8))
    np.add.at(labelled, tuple(np.array(x, int) for x in votes[:3]), mixtures(votes[3]))
    np.add.at(unlabelled, tuple(np.array(x, int) for x in alone[:2]), mixtures(alone[2]))
    return JudgedCounts(tuple("abcdefgh"[:k]), labelled, unlabelled)


def judged(said, role, half):
    """Return the judge's score of a model, NaN where it abstains."""
    if said is None:
        return np.nan
    return said[role] + (half and (1 - sum(said)) / 2)


def by_rows(votes, alone, k, key, *, half=False, counted=False, prompts=None):
    """Return θ, covariance and λ by loops over rows.

    Parameters
    ----------
    key : callable
        The stratum of a model, its opponent and its role.
    counted : bool
        Whether λ and the covariance are those of Algorithm 4, with one stratum a model.
    prompts : (sequence, sequence), optional
        Of votes and of others; without them each row has its own.
    """
    strata = {}
    for n, (a, b, h, said) in enumerate(votes):
        for role, (m, o) in enumerate([(a, b), (b, a)]):
            there = strata.setdefault((m, key(m, o, role)), ([], []))
            there[0].append((n, score(h, role, half), judged(said, role, half)))
    for n, (a, b, said) in enumerate(alone):
        for role, (m, o) in enumerate([(a, b), (b, a)]):
            strata[m, key(m, o, role)][1].append((n, judged(said, role, half)))
    found = {}
    gain = cost = spread = 0.0
    for place, (both, more) in strata.items():
        who, h, g = np.array(both).T
        spoke = ~np.isnan(g)
        others, G = np.array(more).T
        found[place] = who.astype(int), h, g, spoke, others.astype(int), G
        m, hs, gs = spoke.sum(), h[spoke], g[spoke]
        together = ((hs - hs.mean()) * (gs - gs.mean())).sum()
        if counted:
            gain, spread = gain + together, spread + ((G - G.mean()) ** 2).sum()
            continue
        gain += together / (len(h) * (m - 1))
        cost += gs.var(ddof=1) / m + G.var(ddof=1) / len(G)
    if counted:
        n, m, N = len(votes), sum(said is not None for *_, said in votes), len(alone)
        gain, cost = m / (m + N) * gain / (n * m), spread / N**2
    tuning = gain / cost
    share = {m: sum(1 for place in found if place[0] == m) for m in range(k)}
    theta, errors = np.zeros(k), (np.zeros((len(votes), k)), np.zeros((len(alone), k)))
    asked = prompts or (range(len(votes)), range(len(votes), len(votes) + len(alone)))
    for (m, _), (who, h, g, spoke, others, G) in found.items():
        sizes = len(h), spoke.sum(), len(G)
        rows = (0, who), (0, who[spoke]), (1, others)
        parts = [len({asked[i][row] for row in these}) for i, these in rows]
        factor = [1.0 if counted else np.sqrt(n / (n - 1)) for n in parts]
        theta[m] += (h.mean() - tuning * g[spoke].mean() + tuning * G.mean()) / share[m]
        own = factor[0] * (h - h.mean()) / sizes[0]
        own[spoke] -= tuning * factor[1] * (g[spoke] - g[spoke].mean()) / sizes[1]
        np.add.at(errors[0], (who, m), own / share[m])
        more = tuning * factor[2] * (G - G.mean()) / sizes[2]
        np.add.at(errors[1], (others, m), more / share[m])
    sums = {}
    for prompt, error in zip([*asked[0], *asked[1]], np.concatenate(errors), strict=True):
        sums[prompt] = sums.get(prompt, 0) + error
    return theta, sum(np.outer(e, e) for e in sums.values()), tuning
