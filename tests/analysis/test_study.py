"""The study of quantized models: word problems, roundings and faults, and a run of small ones."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from benchmarks import study
from benchmarks.studied import models as study_models
from benchmarks.studied.figure import study_figure
from benchmarks.studied.models import Variant, as_gguf, hotter, in_other_words, on_grid, spec_of
from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.records import seed_to_hex
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.store.database import Store
from tests.small_models import save_small_models

RED = "small-red"


def test_word_problems_are_those_of_a_seed_and_have_one_answer():
    found = study.problems(400)
    assert found == study.problems(500)[:400]
    assert len({each.prompt.text for each in found}) == 400
    for each in found:
        assert 0 <= int(each.reference) <= 100
        begun, equals, nothing = each.prompt.prefix.partition(" =")
        assert (eval(begun), equals, nothing) == (int(each.reference), " =", "")
        assert study.Problems().score(each, f" {each.reference}.").score == 1
        assert study.Problems().score(each, " 101.").score == 0


@pytest.mark.parametrize(
    ("text", "solved"),
    [
        (r"has (\d+) \w+ and gets (\d+) more", lambda a, b: a + b),
        (r"had (\d+) \w+ and gave (\d+)", lambda a, b: a - b),
        (r"are (\d+) boxes with (\d+)", lambda a, b: a * b),
        (r"shares (\d+) \w+ equally among (\d+)", lambda a, b: a / b),
        (r"found (\d+) \w+, on Tuesday (\d+), and lost (\d+)", lambda a, b, c: a + b - c),
        (r"shelf has (\d+) \w+\. \w+ takes (\d+) and \w+ takes (\d+)", lambda a, b, c: a - b - c),
    ],
)
def test_word_problems_are_solved_as_they_read(text, solved):
    found = [(re.search(text, each.prompt.text), each) for each in study.problems(300)]
    some = [(match, each) for match, each in found if match]
    assert some
    for match, each in some:
        assert solved(*map(int, match.groups())) == int(each.reference)


def test_a_grid_keeps_its_ends_and_is_off_by_half_a_step():
    matrix = np.random.default_rng(1).normal(size=(4, 64)).astype(np.float32)
    rows = matrix.reshape(-1, 32)
    for bits in (2, 3, 8):
        rounded = on_grid(bits)(matrix).reshape(-1, 32)
        step = (rows.max(1) - rows.min(1)) / (2**bits - 1)
        assert (np.abs(rounded - rows).max(1) <= step * 0.5001).all()
        assert max(len(np.unique(row)) for row in rounded) <= 2**bits
    assert np.array_equal(on_grid(2)(np.ones((2, 32), np.float32)), np.ones((2, 32)))
    errors = [np.square(as_gguf(kind)(matrix) - matrix).mean() for kind in ("Q8_0", "Q5_0", "Q4_0")]
    assert errors == sorted(errors)


@pytest.fixture
def small(tmp_path):
    save_small_models(tmp_path, (RED,))
    return tmp_path / RED


def logits(folder):
    network = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.inference_mode():
        return network(torch.arange(300, 320)[None]).logits


def test_a_hotter_model_has_all_logits_scaled_alike(small):
    before = logits(small)
    hotter(small)
    assert torch.allclose(logits(small), before * 7 / 9, atol=1e-4)


def test_the_other_template_is_the_one_that_is_read(small):
    in_other_words(small)
    asked = [{"role": "user", "content": "Why?"}]
    read = AutoTokenizer.from_pretrained(small).apply_chat_template(
        asked, tokenize=False, add_generation_prompt=True
    )
    assert read == "### user:\nWhy?\n\n### response:\n"


def test_a_variant_without_its_package_is_left_out(small, tmp_path):
    base = ModelSpec(name=RED, folder=small, dtype="float32", device_map="cpu")
    absent = Variant("x", 4, needs="no_such_package")
    assert spec_of(absent, base, tmp_path, tmp_path) is None
    made = spec_of(Variant("2 bits", 3, rounding=on_grid(2)), base, tmp_path, tmp_path)
    assert made.folder.is_dir()
    assert not torch.equal(logits(made.folder), logits(small))


@pytest.mark.parametrize("rounded", [Variant("2 bits", 3, rounding=on_grid(2)), Variant("same", 4)])
def test_a_variant_computes_where_its_original_does(small, tmp_path, rounded):
    base = ModelSpec(name=RED, folder=small, dtype="float32", device_map="cuda:1")
    assert spec_of(rounded, base, tmp_path, tmp_path).device_map == "cuda:1"
    assert study_models.original(study_models.SMOL, tmp_path, "cuda:1").device_map == "cuda:1"


@pytest.mark.slow
def test_a_variant_that_does_not_load_leaves_the_others_to_answer(small, tmp_path, monkeypatch):
    base = ModelSpec(name=RED, folder=small, dtype="float32", device_map="cpu")
    group = Variant("same", 4), Variant("broken", 4)
    load = study.load

    def loaded(spec, cache):
        if spec.name.endswith("broken"):
            raise ModelError("It does not load.")
        return load(spec, cache)

    monkeypatch.setattr(study, "load", loaded)
    asked = study.Study(tmp_path, tmp_path, {"quiz": 2}, 1, 2, 8, 0.05)
    study.run_group(asked, RED, 0, base, group)
    with Store.open(study.store_of(asked, RED, 0, "quiz")) as store:
        ids = store.battles_of(seed_to_hex(study.SEED))
        models = {name for each in ids for name in store.battle(each).models}
    assert models == {RED, f"{RED} same"}


@pytest.mark.slow
def test_a_run_of_small_models_makes_tables_and_a_figure(small, tmp_path, monkeypatch, capsys):
    """Once, and again from what is there; a fault is found worse."""
    base = ModelSpec(name=RED, folder=small, dtype="float32", device_map="cpu")
    groups = {RED: ((Variant("Q8_0", 8.5, rounding=as_gguf("Q8_0")),),)}
    for module in (study, study_models):
        monkeypatch.setattr(module, "GROUPS", groups)
    monkeypatch.setattr(study, "original", lambda *_: base)
    monkeypatch.setattr(study, "published", lambda *_: iter(()))
    asked = ["study", "--work", str(tmp_path / "work"), "--closeness", "6"]
    asked += ["--quiz", "12", "--problems", "6", "--at-once", "16"]
    monkeypatch.setattr(sys, "argv", asked)
    study.main()
    first = capsys.readouterr().out
    assert first.count(f"| {RED} Q8_0 | 8.5 | quiz |") == 1
    assert first.count(f"| {RED} Q8_0 | 8.5 | problems |") == 1
    monkeypatch.setattr(study, "run_group", None)  # nothing is left to do
    study.main()
    assert capsys.readouterr().out == first


def gate(verdict, difference, low, high):
    return SimpleNamespace(verdict=verdict, difference=difference, low=low, high=high)


def test_the_figure_has_a_panel_for_each_task_and_a_mark_for_each_verdict():
    found = [
        ("M bf16", "quiz", gate(Verdict.AS_GOOD, 0.01, -0.02, 0.03)),
        ("M bf16", "problems", gate(Verdict.UNKNOWN, -0.04, -0.09, 0.0)),
        ("M 2 bits", "problems", gate(Verdict.WORSE, -0.5, -0.6, -0.4)),
    ]
    figure = study_figure(found, 0.05)
    assert [title.text for title in figure.layout.annotations] == ["quiz", "problems"]
    drawn = {
        (trace.xaxis, trace.name, model): (x - left, x, x + right)
        for trace in figure.data
        for model, x, left, right in zip(
            *(trace.y, trace.x, trace.error_x.arrayminus or (), trace.error_x.array or ()),
            strict=False,
        )
    }
    assert drawn == {
        ("x", "as good", "M bf16"): pytest.approx((-0.02, 0.01, 0.03)),
        ("x2", "cannot tell", "M bf16"): pytest.approx((-0.09, -0.04, 0.0)),
        ("x2", "worse", "M 2 bits"): pytest.approx((-0.6, -0.5, -0.4)),
    }
    named = [trace.name for trace in figure.data if trace.showlegend]
    assert named == ["as good", "worse", "cannot tell"]
    assert {line.x0 for line in figure.layout.shapes} == {-0.05, 0.0}
