"""Published numbers stand beside the paper's own models and data by any spelling, else nowhere."""

from __future__ import annotations

import tomllib
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coupled_arena.core.records import Mode, Outcome
from coupled_arena.core.verdicts import Verdict
from coupled_arena.papers.coupled_generation import published as coupled
from coupled_arena.papers.item import KnownNames, beside_published, folded
from coupled_arena.papers.making import item_of, paper_of
from coupled_arena.papers.ranking import published as ranked
from coupled_arena.papers.risk import published as risk
from coupled_arena.papers.source import PaperSettings, PaperSource
from coupled_arena.store.database import Store
from coupled_arena.store.tables import judges
from tests.batches import at_once
from tests.stored import fill

PRESET = Path(__file__).resolve().parents[2] / "data" / "presets" / "papers.toml"
AUTHORS = {  # as the notebook on the comparisons calls them
    "Llama": (
        *("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8q-Instruct"),
        *("meta-llama/Llama-3.1-4q-Instruct", "meta-llama/Llama-3.2-3B-Instruct"),
        *("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", "meta-llama/Llama-3.2-1B-Instruct"),
    ),
    "Qwen": (
        *("Qwen/Qwen3-8B", "Qwen/Qwen2.5-7B-Instruct-q8", "Qwen/Qwen2.5-7B-Instruct"),
        *("Qwen/Qwen2.5-7B-Instruct-q4", "Qwen/Qwen2.5-7B-Instruct-AWQ"),
        *("Qwen/Qwen2.5-3B-Instruct", "Qwen/Qwen2.5-1.5B-Instruct"),
        "alibaba-pai/DistilQwen2.5-3B-Instruct",
    ),
    "Mistral": tuple(
        f"mistralai/Mistral-7B-Instruct-{end}"
        for end in ("v0.3", "v0.3-q8", "v0.3-q4", "v0.2", "v0.1")
    ),
}
PRESETS = [each["name"] for each in tomllib.loads(PRESET.read_text())["models"]]


def made_rows(paper, name, source):
    items = (item_of(paper_of(paper), name),)
    return [row for row in beside_published(items, items[0].make(source)) if row.made is not None]


def test_a_name_is_known_whatever_its_signs_and_its_owner():
    names = KnownNames({"Llama 2 7b": ("seven",), "Llama 2 13b": ()})
    assert names.name_of("meta-llama/llama_2-7B") == names.name_of("Seven") == "Llama 2 7b"
    assert names.name_of("llama-2-70b") is None
    assert names.all_of(["seven", "Llama-2-13B"]) == {
        "seven": "Llama 2 7b",
        "Llama-2-13B": "Llama 2 13b",
    }
    for other in (["seven"], ["seven", "Llama 2 13b", "x"], ["seven", "llama-2-7b"], []):
        assert names.all_of(other) == {}


@pytest.mark.parametrize("known", [*coupled.FAMILIES.values(), risk.INSTRUCTED, risk.COMPLETING])
def test_no_spelling_stands_for_two_models(known):
    every = [folded(each) for name, more in known.spellings.items() for each in (name, *more)]
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("family", AUTHORS)
def test_the_names_of_the_preset_and_of_the_authors_are_the_papers(family):
    preset = [name for name in PRESETS if family in name]
    for names in (preset, AUTHORS[family], list(coupled.FAMILIES[family].spellings)):
        assert coupled.family_of(names) == family
        assert sorted(coupled.paper_names(names).values()) == sorted(
            coupled.FAMILIES[family].spellings
        )


def judged(names, judge, questions):
    """Return a store of battles of all models, each pair judged, coupled or not."""
    store = Store.in_memory()
    modes = (Mode.COUPLED, Mode.INDEPENDENT)
    asked = [f"Question {n}?" for n in range(questions)]
    battles = fill(store, asked, names, modes=modes, repetitions=1)
    store.write(lambda cursor: judges.bind(cursor, judge, "model", "hash", "{}"))
    rng = np.random.default_rng(2)
    said = (Outcome.FIRST, Outcome.SECOND, Outcome.TIE)
    with at_once(store) as batch:
        batch.verdicts += [
            Verdict(f"{b.id}{i}{j}", b.id, judge, i, j, said[rng.integers(3)], "")
            for b in battles
            for i, j in combinations(range(len(b.models)), 2)
        ]
    return store


def win_rates(store):
    return made_rows("coupled-generation", "figure-3", PaperSource(PaperSettings(), lambda: store))


@pytest.mark.parametrize("spelling", ["preset", pytest.param("authors", marks=pytest.mark.slow)])
def test_win_rates_stand_beside_the_published_ones_by_each_spelling(monkeypatch, spelling):
    """Six ranks, rates and half intervals under two protocols, and ties of three pairs."""
    monkeypatch.setattr(coupled, "QUESTIONS", 3)
    of = {"preset": [n for n in PRESETS if "Llama" in n], "authors": AUTHORS["Llama"]}
    with judged(of[spelling], "gpt-4o", 3) as store:
        assert len(win_rates(store)) == 39


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "judge", "questions"),
    [
        (AUTHORS["Llama"], "another-judge", 3),
        (AUTHORS["Llama"], "gpt-4o", 2),
        (AUTHORS["Llama"][1:], "gpt-4o", 3),
        ((*AUTHORS["Llama"][1:], "SmolLM2-135M"), "gpt-4o", 3),
    ],
)
def test_nothing_published_stands_beside_other_models_judges_or_questions(
    monkeypatch, names, judge, questions
):
    monkeypatch.setattr(coupled, "QUESTIONS", 3)
    with judged(names, judge, questions) as store:
        assert win_rates(store) == []


def test_a_hundred_questions_are_computer_science_only_where_the_category_says_so():
    assert coupled.benchmark_of(100, "college_computer_science") == "college computer science"
    assert coupled.benchmark_of(100, "abstract_algebra") is None
    assert coupled.benchmark_of(100, None) is None
    assert coupled.benchmark_of(1319, None) == "GSM8K"
    assert coupled.benchmark_of(1319, "law") is None


def scores(path, models, categories, metrics, prompts=24):
    """Write scores of models, the first the best, on prompts of some categories."""
    rng = np.random.default_rng(5)
    rows = [
        {
            "model": model,
            "prompt": f"p{at}",
            "category": categories[at % len(categories)],
            **{metric: rng.normal() - place for metric in metrics},
        }
        for place, model in enumerate(models)
        for at in range(prompts)
    ]
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def of_scores(path, **chosen):
    def no_store():
        raise AssertionError("The store is not asked for.")

    return PaperSource(PaperSettings(**chosen), no_store, (path,))


HUB = (
    *("meta-llama/Llama-2-7b-hf", "meta-llama/Llama-2-13b-hf", "meta-llama/Llama-2-70b-hf"),
    *("mosaicml/mpt-30b", "tiiuae/falcon-40b"),
)
KINDS = ["toxic_gen_only", "Non-toxic (Gen Only)"]


@pytest.mark.parametrize(("table", "rows"), [("table-2", 20), ("table-6", 60), ("table-7", 40)])
def test_ranks_of_completions_stand_beside_those_of_hub_names(tmp_path, table, rows):
    """Of one kind of text half of tables 2 and 6: the other kind is a table of its own."""
    path = scores(tmp_path / "a.csv", HUB, KINDS, ("identity_attack", "threat"))
    assert len(made_rows("risk", table, of_scores(path))) == rows
    path = scores(tmp_path / "b.csv", ("SmolLM", *HUB[1:]), KINDS, ("identity_attack", "threat"))
    assert made_rows("risk", table, of_scores(path)) == []


def test_prompts_of_unclear_kinds_have_no_published_ranks(tmp_path):
    path = scores(tmp_path / "a.csv", HUB, ["toxic", "mild"], ("threat",))
    assert made_rows("risk", "table-6", of_scores(path)) == []
    both = [*KINDS, "Toxic (Prompt + Gen)", "Non-toxic (Prompt + Gen)"]
    assert "all" not in risk.scenario_names(both, "all")
    assert risk.scenario_names(KINDS, "all")["all"] == "All combined (Gen Only)"


SMALL = ("SmolLM-135M", "SmolLM-360M", "SmolLM-1.7B")


@pytest.mark.parametrize(
    "item",
    ["figure-1", "figure-2", *(pytest.param(f"table-{n}", marks=pytest.mark.slow) for n in (4, 5))],
)
def test_agreement_of_twelve_models_stands_beside_no_others(tmp_path, monkeypatch, item):
    """The .848 of Mix-Instruct stood beside three small models' own."""
    monkeypatch.setattr(risk, "PROMPTS", 24)
    settings = {"judges": ("chatgpt",), "sizes": (5,), "repeats": 2}
    metrics = ("quality", "harm", "chatgpt")
    path = scores(tmp_path / "small.csv", SMALL, ["x"], metrics)
    assert made_rows("risk", item, of_scores(path, **settings)) == []
    path = scores(tmp_path / "own.csv", tuple(risk.INSTRUCTED.spellings), ["x"], metrics)
    assert made_rows("risk", item, of_scores(path, **settings))
    monkeypatch.setattr(risk, "PROMPTS", 25)
    assert made_rows("risk", item, of_scores(path, **settings)) == []


@pytest.mark.slow
def test_rankings_by_another_judge_stand_beside_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(risk, "PROMPTS", 24)
    models = tuple(risk.INSTRUCTED.spellings)
    path = scores(tmp_path / "own.csv", models, ["x"], ("quality", "harm", "sage"))
    rows = made_rows("risk", "table-4", of_scores(path, judges=("sage",)))
    assert rows
    assert not any("@judge" in row.what for row in rows)
    assert made_rows("risk", "figure-1", of_scores(path, judges=("sage",))) == []


def test_the_ranking_papers_judges_are_known_by_their_versions():
    assert ranked.judge_name("gpt-4-0125-preview") == "gpt-4"
    assert ranked.judge_name("claude-3-opus-20240229") == "claude-3"
    assert (ranked.judge_name("sage"), ranked.judge_name(None)) == ("sage", None)
