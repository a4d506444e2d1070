"""A judge's probabilities in place of its verdicts, and what it abstains from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from coupled_arena.core.choices import Ties, TieScore, Weighting
from coupled_arena.stats.counts import JudgedCounts
from coupled_arena.stats.judges.powered_means import PoweredMeans
from coupled_arena.stats.ranking.estimates import estimate, estimate_from_votes
from coupled_arena.stats.ranking.rank_sets import Separation, intervals
from coupled_arena.stats.simulation.rank_set_runs import binomial_error
from tests.stats.scored_rows import by_rows, counts_of, counts_of_arrays, drawn, judged
from tests.stats.several_judges import score

K = 3
WAYS = {
    "probabilities": {"likely": True},
    "abstains": {"likely": False, "abstains": 0.5},
    "both": {"likely": True, "abstains": 0.5},
}
STRATA = {
    Weighting.STRATIFIED: lambda model, opponent, role: opponent,
    Weighting.POSITION: lambda model, opponent, role: (opponent, role),
    Weighting.COUNT: lambda model, opponent, role: 0,
}


@pytest.mark.parametrize("ties", list(TieScore))
@pytest.mark.parametrize("weighting", list(Weighting))
@pytest.mark.parametrize("way", WAYS)
def test_against_loops_over_rows(way, weighting, ties):
    rows = drawn(np.random.default_rng(5), K, 400, 900, **WAYS[way])
    abstained = sum(said is None for *_, said in rows[0])
    assert (abstained > 50) == (way != "probabilities")
    half, counted = ties is TieScore.HALF, weighting is Weighting.COUNT
    theta, covariance, tuning = by_rows(*rows, K, STRATA[weighting], half=half, counted=counted)
    found = estimate(counts_of(*rows, K), weighting, ties=ties)
    assert found.weighting is weighting
    assert (found.human, found.judge_only) == (len(rows[0]), len(rows[1]))
    assert 0.05 < found.power_tuning == pytest.approx(tuning, abs=1e-10)
    assert found.theta == pytest.approx(theta, abs=1e-10)
    assert found.covariance == pytest.approx(covariance, abs=1e-10)


@pytest.mark.parametrize("votes", [500, 20], ids=["enough", "filled in"])
@pytest.mark.parametrize("weighting", list(Weighting))
def test_sure_probabilities_are_verdicts(weighting, votes):
    """A judge that is certain each time is one whose verdicts count, also where pairs are thin."""
    rows, alone = drawn(np.random.default_rng(1), K, votes, 400, likely=False)
    mixed = counts_of(rows, alone, K)
    assert not mixed.labelled[..., 4:].any()
    plain = JudgedCounts(
        mixed.models,
        mixed.labelled[..., :4].astype(np.int64),
        mixed.unlabelled[..., :4].astype(np.int64),
    )
    one, other = estimate(mixed, weighting), estimate(plain, weighting)
    for name in ("theta", "covariance", "degrees", "floor", "size", "certain_size", "free"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-12), name
    assert one.warnings == other.warnings
    assert (one.sparse is None) == (votes == 500 or weighting is not Weighting.STRATIFIED)


def test_a_judge_that_always_abstains_leaves_votes_alone():
    rows, _ = drawn(np.random.default_rng(2), K, 300, 0)
    silent = counts_of([(*row[:3], None) for row in rows], [], K)
    alone = estimate_from_votes(silent.votes)
    found = estimate(silent)
    assert found.power_tuning == 0
    assert found.theta == pytest.approx(alone.theta, abs=1e-12)
    assert found.covariance == pytest.approx(alone.covariance, abs=1e-12)


RUNS, ALPHA = 1_000, 0.05
STRENGTHS = np.array([0.7, 0.2, 0.0])


def truth():
    """Return the win rates that the world has: means over its prompts, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    rates = np.zeros((K, K))
    for a in range(K):
        for b in range(K):
            lean = STRENGTHS[a] - STRENGTHS[b] + 2 * nodes
            rates[a, b] = weights @ (0.9 * expit(lean))
    return (rates.sum(1) - np.diag(rates)) / (K - 1)


def simulated(rng, likely, abstains):
    """Return counts of a world with 60 votes and 240 verdicts alone a pair, both kinds of scores.

    Prompts differ in how far two models are apart, and a tenth of all comparisons are ties. The
    judge is calibrated: it knows the chances. By verdicts it is asked in both orders and says
    what is likelier, with noise on each; where it does not say the same twice it calls a tie, or
    abstains.
    """
    pairs = np.repeat([(0, 1), (0, 2), (1, 2)], 300, axis=0)
    pairs = np.where(rng.random((len(pairs), 1)) < 0.5, pairs, pairs[:, ::-1])
    lean = STRENGTHS[pairs[:, 0]] - STRENGTHS[pairs[:, 1]] + rng.normal(0, 2, len(pairs))
    chances = 0.9 * expit(np.column_stack([lean, -lean]))
    draw = rng.random(len(pairs))
    h = np.where(draw < chances[:, 0], 0, np.where(draw < 0.9, 1, 2))
    heard = (lean[:, None] + rng.normal(0, 1.5, (len(pairs), 2))) > 0
    flipped = heard[:, 0] != heard[:, 1]
    said = chances.copy() if likely else np.column_stack([heard[:, 0], ~heard[:, 0]]) * 1.0
    said[flipped] = np.nan if abstains else said[flipped] if likely else 0.0
    voted = np.tile(np.arange(300) < 60, 3)
    alone = ~voted & ~np.isnan(said[:, 0])
    rows = (*pairs[voted].T, h[voted], said[voted]), (*pairs[alone].T, said[alone])
    return counts_of_arrays(*rows, K)


@pytest.fixture(scope="module")
def runs(request):
    """Estimates of the same worlds, however the judge is heard, and of votes alone.

    The mean of a variance is known to a few hundredths by a tenth of them; a coverage is not.
    """
    found, runs = {}, RUNS if request.config.getoption("all") else RUNS // 10
    for way, heard in {
        "verdict": (False, False),
        "probability": (True, False),
        "abstain": (False, True),
        "both": (True, True),
    }.items():
        rng = np.random.default_rng([3, 1])
        counts = [simulated(rng, *heard) for _ in range(runs)]
        found[way] = [estimate(one) for one in counts]
    found["people"] = [estimate_from_votes(one.votes) for one in counts]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", ["people", "verdict", "probability", "abstain", "both"])
def test_rank_sets_and_intervals_keep_their_promise(runs, way):
    rates = truth()
    ranks = 1 + (rates > rates[:, None]).sum(1)
    covered, within = 0, np.zeros(K)
    for one in runs[way]:
        sets = Separation(one, 4_000).rank_sets(ALPHA)
        covered += bool(((sets.low <= ranks) & (ranks <= sets.high)).all())
        low, high = intervals(one, ALPHA)
        within += (low <= rates) & (rates <= high)
    allowed = 3 * binomial_error(1 - ALPHA, RUNS)
    assert covered / RUNS >= 1 - ALPHA - allowed
    assert within / RUNS == pytest.approx(1 - ALPHA, abs=allowed)
    bias = np.mean([one.theta for one in runs[way]], axis=0) - rates
    error = np.std([one.theta for one in runs[way]], axis=0) / RUNS**0.5
    assert (np.abs(bias) < 4 * error).all()


@pytest.mark.slow
def test_probabilities_say_more_than_verdicts(runs):
    """By a calibrated judge that is noisy in each order, with 4 verdicts alone for each vote."""
    variance = {way: np.mean([np.trace(e.covariance) for e in made]) for way, made in runs.items()}
    saved = {way: variance["people"] / variance[way] - 1 for way in variance}
    assert saved["probability"] > 1.5 * saved["verdict"] > 0.1
    assert saved["abstain"] > saved["verdict"]


def seen_by(model, votes, alone):
    """Return arrays h and g (NaN: abstained) of a model's votes, and g of its others."""
    both = [
        (score(h, a != model, half=False), judged(said, a != model, half=False))
        for a, b, h, said in votes
        if model in (a, b)
    ]
    more = [judged(said, a != model, half=False) for a, b, said in alone if model in (a, b)]
    return *np.array(both).T, np.array(more)


@pytest.mark.parametrize("way", WAYS)
def test_audits_say_what_rows_say(way):
    votes, alone = drawn(np.random.default_rng(7), K, 300, 700, **WAYS[way])
    means = PoweredMeans.of(counts_of(votes, alone, K), Ties.LOSS)
    errors = np.zeros((2, K, len(votes) + len(alone)))
    for m in range(K):
        h, g, more = seen_by(m, votes, alone)
        spoke = ~np.isnan(g)
        n, echoes, N = len(h), spoke.sum(), len(more)
        f = np.where(spoke, g - g[spoke].mean(), 0)
        y = h - h.mean()
        covariance = y @ f / (n * echoes)
        tuning = covariance / (f @ f / echoes * (1 / echoes + 1 / N))
        correction = more.mean() - g[spoke].mean()
        assert means.human[m] == pytest.approx(h.mean(), abs=1e-12)
        assert means.power_tuning[m] == pytest.approx(tuning, abs=1e-10)
        assert means.powered[m] == pytest.approx(h.mean() + tuning * correction, abs=1e-10)
        explained = covariance**2 / ((y @ y / n**2) * (f @ f / echoes**2))
        assert means.rho_squared[m] == pytest.approx(explained, abs=1e-10)
        assert means.tau[m] == pytest.approx(1 / (1 - explained / (1 + echoes / N)), abs=1e-10)
        here = [m in row[:2] for row in votes]
        there = [False] * len(votes) + [m in row[:2] for row in alone]
        errors[0, m, : len(votes)][here] = y / n
        errors[1, m, : len(votes)][here] = -f / echoes
        errors[1, m, there] = (more - more.mean()) / N
    stacked = errors.reshape(2 * K, -1)
    assert means.covariance == pytest.approx(stacked @ stacked.T, abs=1e-12)


@pytest.mark.slow
def test_audits_of_probabilities_keep_their_promise():
    """Intervals of win-rates with the judge, each comparison weighing the same."""
    rates, within, widths = truth(), {}, {}
    for way, heard in {"verdict": (False, False), "probability": (True, False)}.items():
        rng = np.random.default_rng(11)
        made = [PoweredMeans.of(simulated(rng, *heard), Ties.LOSS) for _ in range(RUNS)]
        bounds = np.array([one.powered_interval(ALPHA) for one in made])
        within[way] = ((bounds[:, 0] <= rates) & (rates <= bounds[:, 1])).mean(axis=0)
        widths[way] = (bounds[:, 1] - bounds[:, 0]).mean()
        assert within[way] == pytest.approx(1 - ALPHA, abs=3 * binomial_error(1 - ALPHA, RUNS))
    assert widths["probability"] < 0.95 * widths["verdict"]
