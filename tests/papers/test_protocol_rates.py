"""Win-rates, ties and ranks under both protocols, against loops over the votes."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import chi2, norm, t

from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode, Outcome
from coupled_arena.core.verdicts import Verdict
from coupled_arena.papers.coupled_generation.rates import PROTOCOLS, protocol_rates
from coupled_arena.papers.source import PaperSettings, PaperSource
from coupled_arena.store.database import Store
from coupled_arena.store.tables import judges
from tests.batches import at_once
from tests.papers.protocol_votes import MODELS, vote_all
from tests.stored import fill

K = len(MODELS)


@pytest.fixture(scope="module")
def voted():
    """A store, its votes as rows, and what is found."""
    with Store.in_memory() as store:
        rows = vote_all(store)
        yield store, rows, protocol_rates(source_of(store))


def source_of(store, **settings):
    return PaperSource(PaperSettings(**settings), lambda: store)


def between(rows, mode, model, other):
    return [r for r in rows if (r.mode, r.model, r.other) == (mode, model, other)]


@pytest.mark.slow
def test_rates_of_pairs_and_their_tests(voted):
    _, rows, found = voted
    assert {(p.model, p.opponent) for p in found.pairs} == set(permutations(MODELS, 2))
    for pair in found.pairs:
        wins, sizes = [], []
        for mode in PROTOCOLS:
            here = between(rows, mode, pair.model, pair.opponent)
            wins.append(sum(r.won == 1 for r in here))
            sizes.append(len(here))
            assert pair.rates[mode].rate == pytest.approx(wins[-1] / sizes[-1], abs=1e-12)
        pooled = sum(wins) / sum(sizes)
        error = (pooled * (1 - pooled) * (1 / sizes[0] + 1 / sizes[1])) ** 0.5
        z = (wins[0] / sizes[0] - wins[1] / sizes[1]) / error
        assert pair.published_p_value == pytest.approx(2 * norm.sf(abs(z)), rel=1e-9)


@pytest.mark.slow
def test_intervals_allow_for_prompts_by_loops(voted):
    """Wilson's, with as many trials as leave the variance of means over prompts."""
    _, rows, found = voted
    prompts = sorted({r.prompt for r in rows})
    g = len(prompts)
    critical = t.ppf(0.975, g - 1)
    for pair in found.pairs:
        for mode in PROTOCOLS:
            here = between(rows, mode, pair.model, pair.opponent)
            rate = np.mean([r.won == 1 for r in here])
            sums = [sum((r.won == 1) - rate for r in here if r.prompt == p) for p in prompts]
            variance = g / (g - 1) * np.sum(np.square(sums)) / len(here) ** 2
            trials = rate * (1 - rate) / variance if variance else g
            shrink = 1 + critical**2 / trials
            centre = (rate + critical**2 / (2 * trials)) / shrink
            spread = rate * (1 - rate) / trials + (critical / (2 * trials)) ** 2
            half = critical * spread**0.5 / shrink
            ours = pair.rates[mode]
            assert (ours.low, ours.high) == pytest.approx((centre - half, centre + half), abs=1e-9)


def test_ties(voted):
    _, rows, found = voted
    assert [(each.model_a, each.model_b) for each in found.ties] == list(
        combinations([place.model for place in found.places], 2)
    )
    for each in found.ties:
        shares = [
            np.mean([r.won == 0 for r in between(rows, mode, each.model_a, each.model_b)])
            for mode in PROTOCOLS
        ]
        assert (each.coupled, each.independent) == pytest.approx(shares, abs=1e-12)
        assert each.change == pytest.approx(shares[0] / shares[1] - 1, abs=1e-12)
        assert each.low < each.change < each.high


def test_published_places_by_loops(voted):
    """Count-weighted means, the covariance divided by n² of all rows, chi-square rank-sets."""
    _, rows, found = voted
    order = [place.model for place in found.places]
    for mode in PROTOCOLS:
        here = [r for r in rows if r.mode is mode and r.model < r.other]  # each pair once
        n = len(here)
        won = {m: [r for r in rows if r.mode is mode and r.model == m] for m in order}
        mean = {m: np.mean([r.won == 1 for r in won[m]]) for m in order}
        residuals = np.zeros((K, n))
        for at, r in enumerate(here):
            residuals[order.index(r.model), at] = (r.won == 1) - mean[r.model]
            residuals[order.index(r.other), at] = (r.won == -1) - mean[r.other]
        covariance = residuals @ residuals.T / n**2
        cut = chi2.ppf(0.95, K)
        for i, place in enumerate(found.places):
            worse = sum(
                mean[order[j]] > mean[order[i]]
                and (mean[order[j]] - mean[order[i]]) ** 2
                > cut * (covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
                for j in range(K)
                if j != i
            )
            theirs = place.published[mode]
            assert theirs.win_rate == pytest.approx(mean[order[i]], abs=1e-12)
            assert theirs.standard_error == pytest.approx(covariance[i, i] ** 0.5, rel=1e-9)
            assert theirs.rank_low == 1 + worse
            # Too small by 2/k, and by what prompts have in common.
            assert place.ours[mode].standard_error > theirs.standard_error * K / 2


def test_what_is_asked_for_and_missing():
    with Store.in_memory() as store:
        with pytest.raises(ArenaError, match="no vote on coupled battles"):
            protocol_rates(source_of(store))
        fill(store, ["Only this?"])
        for judge in ("ann", "bob"):
            store.write(lambda c, judge=judge: judges.bind(c, judge, "model", "hash", "{}"))
        with pytest.raises(ArenaError, match="one judge's verdicts"):
            protocol_rates(source_of(store, judges=("ann", "bob")))


@pytest.mark.slow
def test_a_judge_is_heard_where_people_voted_too():
    """Its verdicts are nothing like the votes: all coupled battles tie, no others do."""
    with Store.in_memory() as store:
        vote_all(store, prompts=6, seeds=2)
        store.write(lambda cursor: judges.bind(cursor, "ann", "model", "hash", "{}"))
        with store.cursor() as cursor:
            ids = [id for (id,) in cursor.execute("select battle from battles").fetchall()]
        with at_once(store) as batch:
            for id in ids:
                mode = store.battle(id).mode
                outcome = Outcome.TIE if mode is Mode.COUPLED else Outcome.FIRST
                batch.verdicts += [
                    Verdict(f"{id}{i}{j}", id, "ann", i, j, outcome, "")
                    for i, j in combinations(range(K), 2)
                ]
        found = protocol_rates(source_of(store, judges=("ann",)))
        voted = protocol_rates(source_of(store))
    assert (found.judge, voted.judge) == ("ann", None)
    assert {(each.coupled, each.independent) for each in found.ties} == {(1.0, 0.0)}
    assert all(0 < each.coupled < 1 for each in voted.ties)
