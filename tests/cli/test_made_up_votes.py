"""The commands on made-up files in the published formats, against routes from rows.

What the golden files check where the real votes and scores are there, these check everywhere.
"""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

from tests.stats.judged_rows import counts_of as judged_counts
from tests.stats.judged_rows import echo_law, pairs_of
from tests.stats.reference import Rows, power_tuning, powered, rank_sets_chi2, stratified

MODELS = ("ant-7b", "bee-13b", "cat-30b", "dog-70b")
K = len(MODELS)
VOTES, ALONE = 1500, 2500
WINNERS = ("model_a", "model_b", "tie", "tie (bothbad)")
NOBODY = Rows(*(np.zeros(0, dtype=int) for _ in range(4)))


@pytest.fixture(scope="module")
def rows():
    """Comparisons with a vote and a verdict, and comparisons with a verdict alone."""
    law = echo_law(K, 0.5)
    law = (law + law.swapaxes(0, 1)) / 2  # sides by lot: else both orders would weigh the same
    drawn = np.random.default_rng(12).choice(K * K * 16, VOTES + ALONE, p=law.ravel())
    a, b, h, g = np.unravel_index(drawn, (K, K, 4, 4))
    return tuple(Rows(*(x[part] for x in (a, b, h, g))) for part in np.s_[:VOTES, VOTES:])


def lines_of(human, alone, *, numbered):
    """Return the two files' lines as published: each row once by people, once by the judge."""
    files = [], []
    for first, (part, labels) in enumerate(((human, "hg"), (alone, " g"))):
        for n, (a, b) in enumerate(zip(part.a, part.b, strict=True), start=first * VOTES):
            row = {"question_id": f"q{n}", "model_a": MODELS[a], "model_b": MODELS[b]}
            row |= {"num": n} if numbered else {}
            for file, label in zip(files, labels, strict=True):
                if label != " ":
                    winner = WINNERS[getattr(part, label)[n - first * VOTES]]
                    file.append(json.dumps(row | {"winner": winner}))
    return files


@pytest.fixture(scope="module", params=[True, False], ids=["by number", "by question"])
def db(rows, tmp_path_factory, request):
    """A database with these comparisons, imported by the command line."""
    from coupled_arena.cli import main

    folder = tmp_path_factory.mktemp("votes")
    for name, lines in zip(
        ("human", "judge"), lines_of(*rows, numbered=request.param), strict=True
    ):
        (folder / f"{name}.json").write_text("\n".join(lines))
        judge = ["--judge", "gpt-4"] if name == "judge" else []
        command = ["import", folder / f"{name}.json", *judge, "--db", folder / "arena.duckdb"]
        with pytest.raises(SystemExit) as stopped:
            main([str(word) for word in command])
        assert not stopped.value.code
    return folder / "arena.duckdb"


@pytest.fixture
def board(call, db):
    """Return win rates, standard errors and rank-sets in the order of the models; the answer."""

    def read(*options):
        code, out, err = call("leaderboard", "--db", db, "--json", *options)
        assert code == 0, err
        answer = json.loads(out)
        found = {row["model"]: row for row in answer["models"]}
        columns = ("win_rate", "standard_error", "rank_low", "rank_high")
        return (*np.array([[found[m][name] for m in MODELS] for name in columns]), answer)

    return read


AS_LOSSES, PUBLISHED = ("--ties", "loss"), ("--covariance", "published")


def errors(covariance):
    return np.sqrt(np.diag(covariance))


@pytest.mark.slow
@pytest.mark.parametrize("source", ["human", "judge"])
def test_votes_and_verdicts_by_themselves(board, rows, source):
    own, _ = rows
    if source == "judge":
        a, b, g = (np.concatenate([getattr(part, x) for part in rows]) for x in "abg")
        own = Rows(a, b, g, g)
    theta, published, corrected = powered(own, NOBODY, K)
    options = ("--source", source, "--cutoff", "chi2", "--weighting", "count")
    # Of the published covariance ties are losses, unless one says otherwise.
    for kind, covariance in ((PUBLISHED, published), (AS_LOSSES, corrected)):
        rate, error, low, high, answer = board(*options, *kind)
        assert rate == pytest.approx(theta, abs=1e-11)
        assert error == pytest.approx(errors(covariance), abs=1e-11)
        assert (low.tolist(), high.tolist()) == tuple(
            sets.tolist() for sets in rank_sets_chi2(theta, covariance, 0.05)
        )
    assert answer["human_comparisons"] == VOTES
    theta, covariance, _ = stratified(own, NOBODY, K)
    rate, error, *_ = board("--source", source, *AS_LOSSES)
    assert rate == pytest.approx(theta, abs=1e-11)
    assert error == pytest.approx(errors(covariance), abs=1e-11)


def test_votes_with_a_judge(board, rows):
    human, alone = rows
    theta, covariance, tuning = stratified(human, alone, K)
    rate, error, *_, answer = board("--judge", "gpt-4", *AS_LOSSES)
    assert (answer["human_comparisons"], answer["judge_only_comparisons"]) == (VOTES, ALONE)
    assert answer["lambda"] == pytest.approx(tuning, abs=1e-11)
    assert rate == pytest.approx(theta, abs=1e-11)
    assert error == pytest.approx(errors(covariance), abs=1e-11)
    theta, _, covariance = powered(human, alone, K)
    rate, error, *_, answer = board("--judge", "gpt-4", "--weighting", "count", *AS_LOSSES)
    assert answer["lambda"] == pytest.approx(power_tuning(human, alone, K), abs=1e-11)
    assert rate == pytest.approx(theta, abs=1e-11)
    assert error == pytest.approx(errors(covariance), abs=1e-11)


@pytest.mark.parametrize("ties", ["loss", "drop"])
def test_the_audit(call, db, rows, ties):
    human, alone = rows
    labelled, unlabelled = np.zeros((K, K, 4, 4), int), np.zeros((K, K, 4), int)
    np.add.at(labelled, (human.a, human.b, human.h, human.g), 1)
    np.add.at(unlabelled, (alone.a, alone.b, alone.g), 1)
    code, out, err = call("audit", "--db", db, "--ties", ties, "--json")
    assert code == 0, err
    answer = json.loads(out)
    alike = np.minimum(human.h, 2) == np.minimum(human.g, 2)  # both bad is a tie, too
    assert answer["row_agreement"] == pytest.approx(alike.mean())
    assert answer["row_agreement_strict"] == pytest.approx((human.h == human.g).mean())
    assert answer["first_by_people"] == pytest.approx((human.h == 0).mean())
    found = {row["model"]: row for row in answer["models"]}
    for place, model in enumerate(MODELS):
        voted, judged = pairs_of(judged_counts(labelled, unlabelled), place, drop=ties == "drop")
        correlation = np.corrcoef(voted, judged)[0, 1]
        by_hand = {
            "n": len(voted),
            "b": voted.mean(),
            "p": judged[voted == 1].mean(),
            "q": 1 - judged[voted == 0].mean(),
            "judge_score": judged.mean(),
            "judge_bias": (judged - voted).mean(),
            "agreement": (judged == voted).mean(),
            "rho_squared": correlation**2,
            "tau_max": 1 / (1 - correlation**2),
        }
        assert {name: found[model][name] for name in by_hand} == pytest.approx(by_hand, abs=1e-12)


def test_a_plan_for_a_place_on_the_leaderboard(call, db, board):
    """The cut-off of six differences at once lies between one's and Bonferroni's."""
    rate, *_ = board("--source", "human")
    code, out, err = call("plan", MODELS[3], "--against", MODELS[0], "--db", db, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["board_models"] == K
    assert 1.96 < found["critical_value"] < 2.64
    assert found["estimated_lead"] == pytest.approx(rate[3] - rate[0])
    assert 0 < found["lead"] < found["estimated_lead"]  # what is chosen for its lead has less


def test_savings_of_a_table_of_scores(call, tmp_path):
    """Three models, 40 prompts of five repetitions; coupled ones share a part of their luck."""
    rng, names, prompts, seeds = np.random.default_rng(4), "xyz", 40, 5
    hard = rng.normal(size=(prompts, 1, 1))
    own = rng.normal(size=(2, prompts, seeds, 3))
    own[0] = 0.6 * own[0] + 0.8 * rng.normal(size=(prompts, seeds, 1))
    coupled, independent = right = (hard + own > 0.2 * np.arange(3)).astype(float)
    lines = [
        ",".join((noise, *(str(bool(x)) for x in row)))
        for noise, part in zip(("Coupled", "Independent"), right, strict=True)
        for row in part.reshape(-1, 3)
    ]
    (tmp_path / "scores.csv").write_text("\n".join(["Noise,x,y,z", *lines]))
    code, out, err = call(
        "coupling", "--scores", tmp_path / "scores.csv", "--seeds", seeds, "--json"
    )
    assert code == 0, err
    found = {(pair["model_a"], pair["model_b"]): pair for pair in json.loads(out)["pairs"]}
    assert len(found) == 3
    for i, j in combinations(range(3), 2):
        pair = found[names[i], names[j]]
        differences = [part[..., i] - part[..., j] for part in (coupled, independent)]
        within = [each.var(axis=1, ddof=1).mean() for each in differences]
        pooled = [each.var(ddof=1) for each in differences]
        covariances = [np.cov(each[:, i], each[:, j])[0, 1] for each in coupled]
        by_hand = {
            "mean_covariance": np.mean(covariances),
            "mean_variance_coupled": within[0],
            "mean_variance_independent": within[1],
            "pooled_variance_coupled": pooled[0],
            "pooled_variance_independent": pooled[1],
            "savings": 1 - pooled[0] / pooled[1],
        }
        assert (pair["prompts"], pair["seeds"]) == (prompts, seeds)
        assert {name: pair[name] for name in by_hand} == pytest.approx(by_hand, abs=1e-12)
