"""The benchmark for GPUs, tried on the processor: who has a GPU runs it as it is."""

from __future__ import annotations

import itertools
import json
import sys

import pytest
import torch

from benchmarks import generation, gpu
from coupled_arena.core.settings import load_settings
from coupled_arena.generation.loading import load
from tests.small_models import NAMES, SMALL_MODELS, save_small_models


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    config = tmp_path / "arena.toml"
    config.write_text(SMALL_MODELS)
    save_small_models(tmp_path, NAMES[:1])
    monkeypatch.setattr(generation, "CLOCK", [*generation.CLOCK])
    monkeypatch.setattr(gpu, "COPIED", 1 << 16)  # no device is measured here
    # Ever faster, so that more tokens take longer whatever else the machine does.
    ticks = (float(n * n) for n in itertools.count())
    monkeypatch.setattr(gpu, "clock", lambda device: next(ticks))
    size = ["--rows", "1,3", "--tokens", "2", "--rounds", "1", "--models", NAMES[0]]

    def call(*options):
        monkeypatch.setattr(sys, "argv", ["gpu", "--config", str(config), *size, *options])
        gpu.main()
        return capsys.readouterr().out

    return call


@pytest.mark.slow
def test_what_it_tells(run, tmp_path):
    told = json.loads(run("--device", "cpu", "--json"))
    assert told["noise"] == {"same words": True, "values apart": 0.0}
    one, three = told["decoding"]
    assert (one["rows"], three["rows"]) == (1, 3)
    assert set(gpu.COMPARED) | {"floor"} <= one["rates"].keys()
    assert all(rate > 0 for row in (one, three) for rate in row["rates"].values())
    # 64,000 weights of the output layer, 73,728 and 320 of two layers and norms, in 4 bytes
    network = load(load_settings(tmp_path / "arena.toml").catalog[NAMES[0]], tmp_path).network
    step = 4 * (64_000 + 73_728 + 320)
    assert gpu.read_in_a_step(network) == step
    assert one["rates"]["floor"] == pytest.approx(told["bandwidth"] / step)


@pytest.mark.slow
def test_words_that_differ_are_an_error(run, monkeypatch):
    """As of a device that computes them otherwise."""
    words = iter(range(99))
    monkeypatch.setattr(
        gpu, "noise_words", lambda *_: (torch.tensor([next(words)]),) * 4, raising=True
    )
    with pytest.raises(SystemExit, match="not the processor's"):
        run("--device", "cpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(run):
    with pytest.raises(SystemExit) as ended:
        run()
    assert str(ended.value).startswith("torch finds no GPU here: ")
