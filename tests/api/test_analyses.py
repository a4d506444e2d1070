"""Audit, coupling and risk from notebooks: what the commands say, from stores and DataFrames."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.core.errors import ArenaError, ScoreError
from coupled_arena.core.settings import load_settings
from coupled_arena.store.database import Store
from coupled_arena.views.figures import registry
from tests.battles.variants import save_variants
from tests.battles.variants import variants as load_variants
from tests.store.conftest import make_battle, make_vote
from tests.store.test_comparisons import World
from tests.views import rubbish


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "arena.duckdb"
    with Store.open(path) as store:
        World(store, make_battle, make_vote, 5)
    return path


@pytest.fixture(scope="module")
def benchmarked(tmp_path_factory):
    path = tmp_path_factory.mktemp("scored") / "arena.duckdb"
    with Store.open(path) as store:
        rubbish.fill(store)
    return path


@pytest.fixture(scope="module")
def protocols():
    """Scores of three models on 30 prompts, 4 repetitions; coupling makes them equal more often."""
    rng = np.random.default_rng(3)
    easy = rng.random(30).repeat(4)
    frames = []
    for noise in ("Coupled", "Independent"):
        shared = rng.random(120)
        draws = {m: shared if noise == "Coupled" else rng.random(120) for m in "uvw"}
        scores = {
            m: (draws[m] < easy * k).astype(int) for m, k in zip("uvw", (1, 0.9, 0.8), strict=True)
        }
        frames.append(pd.DataFrame({"Noise": noise, "Subject": ["a", "b"] * 60, **scores}))
    frame = pd.concat(frames, ignore_index=True)
    frame["Subject"] = np.where(np.arange(240) % 120 < 60, "sums", "facts")
    return frame


@pytest.fixture(scope="module")
def risks():
    rng = np.random.default_rng(4)
    rows = [
        {"model": m, "prompt": f"p{n}", "quality": rng.normal(at), "toxicity": rng.random() * at}
        for m, at in (("u", 0.2), ("v", 0.6), ("w", 1.0))
        for n in range(40)
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def variants(tmp_path_factory):
    folder = tmp_path_factory.mktemp("variants")
    save_variants(folder)
    return ca.Models(load_variants(folder), load_settings())


def said(call, *arguments):
    code, out, err = call(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.mark.slow
def test_an_audit_is_what_the_command_says(database, call):
    found = ca.audit(ca.open(database), judge="gpt", ties="drop", alpha=0.1)
    expected = said(
        *(call, "audit", "--db", database, "--judge", "gpt", "--ties", "drop", "--alpha", 0.1)
    )
    assert found.to_dict() == expected
    assert found.to_frame().model.tolist() == [row["model"] for row in expected["models"]]
    assert found.warnings == tuple(expected["warnings"])
    assert "gpt" in repr(found)


def test_coupling_of_a_frame_is_that_of_the_file(protocols, call, tmp_path):
    protocols.to_csv(tmp_path / "scores.csv", index=False)
    found = ca.coupling(protocols, seeds=4, category="sums", error=0.1)
    expected = said(
        *(call, "coupling", "--scores", tmp_path / "scores.csv", "--seeds", 4),
        *("--category", "sums", "--error", 0.1),
    )
    assert found.answer["pairs"] == expected["pairs"]
    frame = ca.coupling(protocols, seeds=4).to_frame()
    assert list(zip(frame.model_a, frame.model_b, strict=True)) == [
        ("u", "v"),
        ("u", "w"),
        ("v", "w"),
    ]


def test_the_covariance_is_that_of_numpy(protocols):
    frame = ca.coupling(protocols, seeds=4).to_frame().set_index(["model_a", "model_b"])
    coupled = protocols[protocols.Noise == "Coupled"]
    for a, b in frame.index:
        both = coupled[[a, b]].to_numpy().reshape(30, 4, 2)
        within = np.mean([np.cov(prompt.T)[0, 1] for prompt in both])
        assert frame.mean_covariance[a, b] == pytest.approx(within, abs=1e-12)


def test_coupling_of_a_store_is_what_the_command_says(benchmarked, call):
    with pytest.raises(ArenaError):
        ca.coupling(ca.open(benchmarked), metric="no such metric")
    expected = said(call, "coupling", "--db", benchmarked)
    assert ca.coupling(ca.open(benchmarked)).to_dict() == expected


def test_risk_of_a_frame_is_that_of_the_file(risks, call, tmp_path):
    risks.to_csv(tmp_path / "scores.csv", index=False)
    found = ca.risk(risks, lower_is_better=["toxicity"], bootstraps=200, correction="holm")
    expected = said(
        *(call, "risk", tmp_path / "scores.csv", "--lower-is-better", "toxicity"),
        *("--bootstraps", 200, "--correction", "holm"),
    )
    assert found.to_dict() == expected
    assert set(found.to_frame().model) == set("uvw")
    assert set(found.to_frame("toxicity").model) == set("uvw")
    assert len(found.to_frame("second_order")) == 6


def test_logs_are_ranked_from_python_too(tmp_path):
    row = {"judge": ["gpt-4", "single-v1"], "turn": 1}
    logs = {}
    for model, better in (("a", 0), ("b", 2)):
        logs[model.upper()] = tmp_path / f"{model}.jsonl"
        logs[model.upper()].write_text(
            "".join(
                json.dumps(row | {"model": model, "question_id": n, "score": n + better}) + "\n"
                for n in range(1, 6)
            )
        )
    of_logs = ["a", "b"]
    for given, names in ((tmp_path, of_logs), ([*logs.values()], of_logs), (logs, ["A", "B"])):
        found = ca.risk(given, bootstraps=20)
        assert found.to_dict()["models"] == names
        assert found.to_dict()["mean_risk"]["mean"] == [3, 5]
    with pytest.raises(ArenaError, match="cannot be read: No such file"):
        ca.risk(tmp_path / "absent")


@pytest.mark.slow
def test_risk_of_a_store_is_what_the_command_says(database, call):
    expected = said(
        *(call, "risk", "--db", database, "--metrics", "verdicts", "--judge", "gpt"),
        *("--bootstraps", 200, "--models", "a,b", "--independent"),
    )
    found = ca.risk(
        ca.open(database),
        metrics=["verdicts"],
        judge="gpt",
        models=["a", "b"],
        paired=False,
        bootstraps=200,
    )
    assert found.to_dict() == expected


# These need a store with texts, or with sizes of models.
ELSEWHERE = (registry.STYLE_EFFECTS, registry.GATE_COSTS, registry.BOARD_MEMORY)
FIGURES = [figure for figure in registry.FIGURES if figure not in ELSEWHERE]
KINDS = sorted({figure.result for figure in FIGURES})


@pytest.fixture(scope="module")
def results(database, protocols, risks, variants):
    store = ca.open(database)
    return {
        "leaderboard": ca.leaderboard(store, judge="gpt"),
        "audit": ca.audit(store, judge="gpt"),
        "coupling": ca.coupling(protocols, seeds=4),
        "gate": ca.gate("u", "v", protocols, seeds=4),
        "closeness": ca.closeness(variants, ["Why?", "How?", "What?"], max_new_tokens=6),
        "risk": ca.risk(risks, lower_is_better=["toxicity"], bootstraps=50),
        "resample": ca.resample(store, judge="gpt", human=[20, 30], total=40, repeats=2),
    }


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: f"{figure.result}-{figure.name}")
def test_every_figure_is_drawn_under_its_name_and_a_former_one(results, figure):
    made = ca.plot(results[figure.result], figure.name, dark=True)
    assert made.data or made.layout.shapes
    assert made.layout.meta["file"] == figure.file
    assert figure.title in made.layout.title.text
    assert made.layout.meta["csv"]
    if figure.former:
        assert ca.plot(results[figure.result], figure.former, dark=True).to_dict() == made.to_dict()


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_that_is_not_there(results, kind):
    with pytest.raises(ArenaError, match="no figure 'pie'; it has: "):
        ca.plot(results[kind], "pie")
    assert ca.plot(results[kind]).to_dict() == ca.plot(results[kind], None).to_dict()


def test_figures_of_one_pair_and_of_one_metric(results):
    two = ca.plot(results["coupling"], "variance", pair=("w", "u"))
    assert two.to_dict() != ca.plot(results["coupling"], "variance").to_dict()
    one = ca.plot(results["risk"], "tails", metric="toxicity")
    assert one.to_dict() != ca.plot(results["risk"], "tails").to_dict()
    with pytest.raises(ArenaError, match="no pair"):
        ca.plot(results["coupling"], "variance", pair=("u", "nobody"))
    with pytest.raises(ArenaError, match="no metric 'odd' here, only portfolio, quality, toxicity"):
        ca.plot(results["risk"], metric="odd")
    with pytest.raises(ArenaError, match="pair is for a result of coupling"):
        ca.plot(results["risk"], pair=("u", "v"))
    with pytest.raises(ArenaError, match=r"plot draws what .* returned, not DataFrame"):
        ca.plot(results["risk"].to_frame())
    assert repr(results["risk"].tables["models"]).startswith("<Table of 3 rows: ")
    with pytest.raises(ArenaError, match="no table 'odd' here, only models, first_order"):
        results["risk"].to_frame("odd")


@pytest.mark.parametrize("kind", KINDS)
def test_results_print_and_show_their_tables(results, kind):
    result = results[kind]
    frame = result.to_frame()
    assert len(frame) > 0
    for model in frame.iloc[:, 0]:
        assert model in str(result)
        assert model in result._repr_html_()
    assert len(repr(result).splitlines()) == 1
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        (lambda p, r: ca.coupling(p, seeds=7), "7 repetitions do not divide"),
        (lambda p, r: ca.coupling(p, seeds=4, metric="exact"), "`metric` is for a store"),
        (lambda p, r: ca.coupling(p, seeds=4, models="uv"), "Give several models"),
        (lambda p, r: ca.coupling(p, seeds=4, models=["u", "x"]), "has no x"),
        (lambda p, r: ca.coupling("scores.csv"), "scores.csv cannot be read as"),
        (lambda p, r: ca.coupling(p, seeds=4, error=-1), "positive"),
        (lambda p, r: ca.risk(r, judge="gpt"), "`judge` is for a store"),
        (lambda p, r: ca.risk(r, lower_is_better=["quality", "odd"]), "no metric 'odd'"),
        (
            lambda p, r: ca.risk(r, lower_is_better=["quality"], higher_is_better=["quality"]),
            "choose one",
        ),
        (lambda p, r: ca.risk(r, portfolio="gaussian"), "`portfolio` is one of"),
        (lambda p, r: ca.risk(r.drop(columns="prompt")), "prompt"),
        (lambda p, r: ca.risk(r.assign(quality=np.nan)), "empty cell on every prompt"),
    ],
)
def test_questions_that_make_no_sense(protocols, risks, question, complaint):
    with pytest.raises((ArenaError, ScoreError), match=complaint):
        question(protocols, risks)


DATA = {"store", "scores", "progress", "higher_is_better", "copula"}


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("leaderboard", ca.leaderboard),
        ("audit", ca.audit),
        ("coupling", ca.coupling),
        ("risk", ca.risk),
    ],
)
def test_results_carry_every_setting(results, kind, function):
    of_store = {"judge", "mode"} if kind == "risk" else set()
    wanted = set(inspect.signature(function).parameters) - DATA - of_store
    assert wanted <= set(results[kind].settings)


def test_settings_are_those_that_were_used():
    few = pd.DataFrame({"model_a": ["x"], "model_b": ["y"], "winner": ["a"]})
    board = ca.rank(few, weighting="stratified")
    assert board.settings["weighting"] == board.to_dict()["weighting"] == "count"


@pytest.mark.parametrize("settings", [{"truth": "votez"}, {"ties": "win"}])
def test_a_misspelt_value_is_refused(database, settings):
    with pytest.raises(ArenaError, match="is one of"):
        ca.audit(ca.open(database), judge="gpt", **settings)
