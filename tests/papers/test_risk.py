"""Figures and tables of the paper on risk, from small tables and by simulation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from coupled_arena.core.choices import Copula
from coupled_arena.core.errors import ArenaError, ScoreError
from coupled_arena.papers.making import item_of, paper_of
from coupled_arena.papers.risk import published
from coupled_arena.papers.risk.published import tau_name
from coupled_arena.papers.risk.ranking import stabilities
from coupled_arena.papers.risk.scores import JudgedScores, read_judged_scores
from coupled_arena.papers.risk.ways import (
    WAYS,
    named,
    rankings_by_estimates,
    risk_settings,
)
from coupled_arena.papers.source import PaperSettings, PaperSource
from coupled_arena.stats.risk.dominance import one_against_all, violation_ratios
from coupled_arena.stats.risk.mean_risk import Risk, mean_risk
from coupled_arena.stats.risk.portfolio import portfolio

RISK = paper_of("risk")
MODELS = ("able", "baker", "charlie", "dog")


def no_store():
    raise AssertionError("The store is not asked for.")


def source(path=None, **chosen):
    return PaperSource(PaperSettings(**chosen), no_store, (path,) if path else ())


@pytest.fixture
def table(tmp_path):
    """Scores of four models on 60 prompts by two metrics and a judge; each better than the next."""
    rng = np.random.default_rng(3)
    hard = rng.normal(size=60)
    rows = [
        {
            "model": model,
            "prompt": f"p{at}",
            "category": "toxic" if at % 2 else "mild",
            "likeness": hard[at] - 0.8 * place + rng.normal(),
            "mistakes": np.exp(0.5 * place + 0.3 * rng.normal() - 0.2 * hard[at]),
            "gpt": 2 * round(hard[at] - place + rng.normal()),
        }
        for place, model in enumerate(MODELS)
        for at in range(60)
    ]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def judged(table, **chosen):
    return source(table, judges=("gpt",), lower_is_better=("mistakes",), **chosen)


def made(name, of):
    return item_of(RISK, name).make(of)


def test_all_items_of_the_paper_are_there():
    names = {item.name for item in RISK.items}
    assert names == {f"figure-{at}" for at in range(1, 14)} | {f"table-{at}" for at in range(1, 8)}
    assert all(item.make for item in RISK.items)


def test_the_ranks_of_table_4_have_the_taus_of_appendix_a():
    """So they are copied rightly: the paper states both."""
    ranks = {way: [int(at) for at in text.split()] for way, text in published.INSTRUCTIONS.items()}
    for one, other in (("R-SSD @P(IC)", "RA(R-SSD @M)"), ("R-FSD @P(IC)", "RA(R-FSD @M)")):
        tau = kendalltau(ranks[one], ranks[other]).statistic
        assert int(tau * 1000) / 1000 == published.TABLE_4[tau_name(one, other)]
    every = [*published.INSTRUCTIONS.values(), *published.THRESHOLDS.values()]
    assert all(sorted(map(int, text.split())) == list(range(1, 13)) for text in every)


@pytest.mark.parametrize("item", [items[0] for items in RISK.groups()], ids=lambda item: item.name)
def test_every_item_is_made_of_a_small_table(item, table):
    found = item.make(judged(table, sizes=(10, 40), repeats=2))
    assert found.tables
    assert all(len(each) for each in found.tables.values())
    assert all(np.isfinite(value) for value in found.values.values())
    if item.name.startswith("figure"):
        assert all(figure.data for figure in found.figures.values())
        assert found.figures


def test_published_ranks_are_of_ways_to_rank_that_there_are(table):
    ways = {way.name for way in WAYS}
    stated = [what.split(": ")[0] for what in (*published.TABLE_4, *published.TABLE_5)]
    assert {way for way in stated if not way.startswith("Kendall")} <= ways
    taus = [what for what in published.TABLE_4 if what.startswith("Kendall")]
    assert len(taus) == 4
    assert made("table-4", judged(table)).values == {}  # four models of our own


def test_scenarios_are_the_categories_and_all(table):
    ranks = made("table-6", judged(table)).tables["ranks"].records()
    assert list(dict.fromkeys(row["scenario"] for row in ranks)) == ["mild", "toxic", "all prompts"]
    only = made("table-6", judged(table, category="toxic")).tables["ranks"].records()
    assert only == [row for row in ranks if row["scenario"] == "toxic"]


def test_rankings_of_estimates_by_hand(table):
    given = read_judged_scores(judged(table))
    assert given.scores.metrics == ("likeness", "mistakes")
    judge = [x[:, 0] for x in given.judge.oriented()]
    found = named(rankings_by_estimates(given.scores.oriented(), judge))
    joined = portfolio(given.scores.oriented(), Copula.INDEPENDENT)
    second = one_against_all(violation_ratios(joined))[1]
    assert found["R-SSD @P(IC)"].tolist() == [1 + sum(o < own for o in second) for own in second]
    gini = [mean_risk(sample).score(Risk.GINI) for sample in judge]
    assert found["mu - Gini @judge"].tolist() == [1 + sum(o > own for o in gini) for own in gini]
    assert set(found) == {way.name for way in WAYS if not way.name.startswith("eps")}


def test_stability_of_all_prompts_is_one(table):
    given = read_judged_scores(judged(table))
    found = stabilities(given, (20, 50, 5000), 3, seed=1)
    assert {row.size for row in found} == {20, 50, 60}
    assert all(row.tau == pytest.approx(1) for row in found if row.size == 60)
    own = {row.size: row for row in found if row.ranking == "R-SSD @judge"}
    assert all(row.tau == row.judge_tau for row in own.values())
    again = stabilities(given, (20, 50), 3, seed=1)
    assert again == found
    alone = stabilities(JudgedScores(given.scores), (20,), 1, seed=1)
    assert all(np.isnan(row.judge_tau) for row in alone)


def test_draws_that_tie_all_models_are_counted_and_hide_no_other(tmp_path):
    path = tmp_path / "scores.csv"
    rows = [
        (model, at, int(at < right)) for model, right in (("a", 3), ("b", 5)) for at in range(9)
    ]
    pd.DataFrame(rows, columns=["model", "prompt", "right"]).to_csv(path, index=False)
    made = item_of(RISK, "figure-2").make(source(path, sizes=(2, 4), repeats=20))
    rows = made.tables["stability"].records()
    first = next(row for row in rows if row["ranking"] == "MWR @P(IC)")
    assert 0 < first["tied"] < 20
    assert first["tau"] == 1
    assert "Draws that tie all models have no tau: the mean is of the others." in made.notes
    names = [name for name in made.figures["own"].layout.annotations if name.text]
    heights = [name.yshift for name in names if "@" in name.text]
    assert heights == sorted(set(heights), reverse=True)  # from the top on, none on another
    assert len(heights) > 5


def test_prompts_are_drawn_the_same_for_all_models(table):
    given = read_judged_scores(judged(table))
    some = given.drawn(7, np.random.default_rng(2)).every
    assert (some.size, some.paired, len(set(some.prompts[0]))) == (7, True, 7)
    whole = {
        (model, prompt): row
        for model, own, values in zip(
            given.every.models, given.every.prompts, given.every.values, strict=True
        )
        for prompt, row in zip(own, values.tolist(), strict=True)
    }
    for model, own, values in zip(some.models, some.prompts, some.values, strict=True):
        assert [whole[model, prompt] for prompt in own] == values.tolist()


def test_so_many_bootstrap_samples_that_a_pair_can_win(table):
    scores = read_judged_scores(judged(table)).scores
    assert risk_settings(scores).bootstraps == 4 * (4**2 * 20 - 1)
    assert risk_settings(scores, alpha=0.5).bootstraps == 1000


@pytest.mark.slow
def test_violated_areas_of_two_models(table):
    found = made("figure-4", judged(table, models=("baker", "able")))
    (first, second) = found.tables["ratios"].records()
    assert (first["model"], first["opponent"], second["order"]) == ("baker", "able", 2)
    assert second["violation"] > 0.9
    assert second["violation_cdf"] > 0.9
    laws = made("figure-4", source())
    assert laws.values["violation ratio, second order"] == pytest.approx(0.4447, abs=1e-4)


def test_curves_end_at_all_replies(table):
    rows = made("figure-8", judged(table)).tables["curves"].records()
    assert {row["share"] for row in rows if row["model"] == "able"} == {
        at / 200 for at in range(1, 201)
    }
    for model in MODELS:
        own = [row["quantile"] for row in rows if row["model"] == model]
        assert all(low <= high for low, high in pairwise(own))


@pytest.mark.parametrize(
    ("name", "chosen", "said"),
    [
        ("figure-2", {"sizes": (60, 70)}, "There are 60 prompts"),
        ("figure-1", {"judges": ("nobody",)}, "no metric 'nobody'"),
        ("figure-1", {"judges": ("gpt", "likeness")}, "one judge"),
        ("figure-1", {"metrics": ("gpt",), "lower_is_better": ()}, "no metric beside 'gpt'"),
        ("figure-3", {"judges": ()}, "--judge"),
        ("table-4", {"models": ("able", "zebra")}, "no model 'zebra'"),
        ("table-6", {"category": "odd"}, "has mild, toxic"),
        ("figure-4", {"models": ("able",)}, "two models"),
        ("figure-5", {"sizes": (1,)}, "--sizes"),
    ],
)
def test_what_cannot_be_made_says_so(name, chosen, said, table):
    of = source(table, **{"judges": ("gpt",), "lower_is_better": ("mistakes",), **chosen})
    with pytest.raises(ArenaError, match=said):
        made(name, of)


def test_scores_that_are_all_the_same(tmp_path):
    path = tmp_path / "same.csv"
    path.write_text(
        "model,prompt,score\n" + "".join(f"m{at % 2},p{at // 2},1\n" for at in range(8))
    )
    with pytest.raises(ScoreError, match="the same"):
        made("figure-11", source(path))
    with pytest.raises(ScoreError, match="the same"):
        made("figure-4", source(path))
    ranks = made("table-4", source(path)).tables["ranks"].records()
    assert {row["rank_order2_portfolio"] for row in ranks} == {1}


def test_densities_of_what_is_better_lower_are_called_negated(table):
    figures = made("figure-11", judged(table)).figures
    titles = {name: figure.layout.xaxis.title.text for name, figure in figures.items()}
    assert titles == {"likeness": "likeness", "mistakes": "mistakes, negated"}
    assert min(figures["mistakes"].data[0].x) < -1
