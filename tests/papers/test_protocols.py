"""Pairs of models under both protocols, all prompts and by subject: loops, scipy, tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import gaussian_kde, norm

from coupled_arena.analysis.coupling.score_tables import write_score_table
from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.coupled_generation.pairs import (
    TOLERANCES,
    compare_protocols,
    compare_subjects,
    gain_table,
    panel_table,
    protocol_curves,
    spread_table,
)
from coupled_arena.papers.densities import density_of, joint_density_of
from coupled_arena.papers.source import PaperSettings, PaperSource
from coupled_arena.stats.coupling.error_curves import published_curves
from coupled_arena.stats.coupling.score_tables import ScoreTable
from coupled_arena.store.database import Store
from tests.stats.test_score_tables import DIGITS, FOLDER, golden, needs_real_scores

PROMPTS, SEEDS, MODELS = 24, 5, ("ann", "bob", "cas")
SUBJECTS = ("law",) * 10 + ("art",) * 13 + ("one",)


def made_up():
    """Right or wrong answers, in coupled ones by the same luck."""
    rng = np.random.default_rng(4)
    ease = rng.uniform(0.2, 0.8, (PROMPTS, 1, 1)) + np.array([0.0, 0.05, 0.15])
    luck = rng.uniform(size=(PROMPTS, SEEDS, 1)), rng.uniform(size=(PROMPTS, SEEDS, 3))
    return ScoreTable(MODELS, *((one < ease).astype(float) for one in luck))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "scores.csv"
    write_score_table(made_up(), path)
    head, *rows = path.read_text().splitlines()
    subjects = [subject for subject in SUBJECTS for _ in range(SEEDS)] * 2
    lines = [f"{row},{subject}" for row, subject in zip(rows, subjects, strict=True)]
    path.write_text("\n".join([f"{head},Subject", *lines]))

    def with_(**settings):
        chosen = {"seeds": SEEDS, "repeats": 20, **settings}
        return PaperSource(PaperSettings(**chosen), Store.in_memory, (Path(path),))

    return with_


def test_panels_are_those_of_loops(source):
    found = compare_protocols(source())
    table = made_up()
    curves = published_curves(table, repeats=20)
    rows = panel_table(found.panels).records()
    assert [(row["model_a"], row["model_b"]) for row in rows] == list(curves.pairs)
    for at, (row, panel) in enumerate(zip(rows, found.panels, strict=True)):
        i, j = (MODELS.index(row[name]) for name in ("model_a", "model_b"))
        medians = {"coupled": [], "independent": []}
        covariances = []
        for q in range(PROMPTS):
            a, b = table.coupled[q, :, i], table.coupled[q, :, j]
            covariances.append(np.cov(a, b)[0, 1])
            for name, values in medians.items():
                scores = getattr(table, name)[q]
                values.append(np.var(scores[:, i] - scores[:, j], ddof=1))
        assert row["subject"] is None
        assert row["mean_covariance"] == pytest.approx(np.mean(covariances), abs=1e-12)
        for name, values in medians.items():
            assert row[f"median_variance_{name}"] == pytest.approx(np.median(values), abs=1e-12)
        assert (panel.mean == curves.mean[:, at]).all()
        assert panel.gains == {level: curves.gain(at, level) for level in TOLERANCES}


def test_spreads_hold_every_prompt_once(source):
    found = compare_protocols(source())
    rows = spread_table(found.panels).records()
    for panel in found.panels:
        pair = panel.pair
        mine = [r for r in rows if (r["model_a"], r["model_b"]) == (pair.model_a, pair.model_b)]
        names = ("covariance", "variance_coupled", "variance_independent")
        again = [[row[name] for name in names] for row in mine for _ in range(row["prompts"])]
        values = (pair.covariances, pair.variances_coupled, pair.variances_independent)
        assert sorted(again) == sorted(np.round(np.stack(values, axis=1), 12).tolist())
        assert len(mine) < PROMPTS  # equal prompts share a row


def test_subjects_are_tables_of_their_own(source):
    found = compare_subjects(source(models=("ann", "cas")))
    assert [panel.subject for panel in found.panels] == ["art", "law"]
    assert found.too_few == ("one",)
    for panel in found.panels:
        alone = compare_protocols(source(models=("ann", "cas"), category=panel.subject))
        assert alone.panels[0].pair.savings == panel.pair.savings
        assert alone.panels[0].gains == panel.gains
        assert panel.pair.covariances.shape == (SUBJECTS.count(panel.subject),)
    curves = protocol_curves(found.panels).records()
    assert {row["subject"] for row in curves} == {"art", "law"}
    assert len(gain_table(found.panels)) == 2 * len(TOLERANCES)


def test_sizes_and_repeats_may_be_chosen(source):
    (panel, *_) = compare_protocols(source(sizes=(60, 30, 30))).panels
    assert panel.sizes.tolist() == [30, 60]
    with pytest.raises(ArenaError, match="between 1 and 120"):
        compare_protocols(source(sizes=(500,)))
    with pytest.raises(ArenaError, match="two repeats"):
        compare_protocols(source(repeats=1))
    with pytest.raises(ArenaError, match="name one with --metrics"):
        compare_protocols(PaperSource(PaperSettings(metrics=("a", "b")), Store.in_memory))


@needs_real_scores
def test_medians_on_the_published_scores():
    scores = FOLDER / "gsm8k_llama.csv"
    settings = PaperSettings(repeats=2, sizes=(20, 40))
    found = compare_protocols(PaperSource(settings, Store.in_memory, (scores,)))
    names = {
        "median_variance_coupled": "median_var_coupled",
        "median_variance_independent": "median_var_indep",
        "mean_covariance": "mean_cov_coupled",
        "savings": "savings_pooled",
    }
    for row in panel_table(found.panels).records():
        wanted = golden()["pairs"][f"{row['model_a']} | {row['model_b']}"]
        for ours, theirs in names.items():
            assert row[ours] == pytest.approx(wanted[theirs], abs=DIGITS)


def test_a_density_is_a_sum_of_normal_laws():
    values = np.random.default_rng(1).normal(2, 3, 40)
    x, density = density_of(values)
    width = values.std(ddof=1) * 40 ** (-1 / 5)
    by_loop = [np.mean([norm.pdf(at, value, width) for value in values]) for at in x]
    assert density == pytest.approx(np.array(by_loop), rel=1e-9)
    assert trapezoid(density, x) == pytest.approx(1, abs=0.005)  # three bandwidths hold .997
    flat = density_of(np.full(5, 0.3))
    assert flat[0].mean() == pytest.approx(0.3)
    assert not flat[1].any()


def test_a_joint_density_is_scipys_where_it_exists():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1, 30), rng.normal(1, 2, 30)
    axis, density = joint_density_of(a, b)
    kernel = gaussian_kde([a, b])
    for i, j in ((0, 5), (20, 40), (31, 30)):
        assert density[i, j] == pytest.approx(float(kernel([axis[j], axis[i]])[0]), rel=1e-9)
    inside = trapezoid(trapezoid(density, axis, axis=1), axis)
    assert inside == pytest.approx(1, abs=0.02)
    assert joint_density_of(a, np.zeros(30)) is None
    assert joint_density_of(a, a) is None
    # Two points are on a line, whatever rounding makes of their covariance.
    for seed in range(20):
        assert joint_density_of(*np.random.default_rng(seed).random((2, 2))) is None
