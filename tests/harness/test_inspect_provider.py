"""Inspect's own runs of two models: coupled by their seed, read by `gate`."""

from __future__ import annotations

import asyncio
import json

import pytest

from coupled_arena.core.errors import ArenaError
from tests.small_models import catalog_of, save_small_models

inspect_ai = pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ChatMessageTool, GenerateConfig, get_model  # noqa: E402
from inspect_ai.scorer import includes  # noqa: E402
from inspect_ai.solver import generate  # noqa: E402

import coupled_arena.harness.inspect_provider  # noqa: E402, F401 - else by its entry point


@pytest.fixture
def model(tmp_path):
    save_small_models(tmp_path, ("small-red",))
    path = tmp_path / "arena.toml"
    path.write_text(catalog_of(red="small-red", copy="small-red"))
    return lambda name: get_model(f"coupled/{name}", arena=str(path), seed=7)


def test_two_runs_with_one_seed_are_coupled_and_the_gate_reads_them(model, tmp_path, call):
    samples = [Sample(id=n, input=f"Question {n}?", target="in") for n in range(4)]
    task = inspect_ai.Task(dataset=samples, solver=generate(), scorer=includes())
    found = {}
    for name in ("red", "copy"):
        (log,) = inspect_ai.eval(
            task,
            model=model(name),
            epochs=2,
            max_tokens=12,
            log_dir=str(tmp_path / name),
            display="none",
        )
        assert log.status == "success"
        found[name] = {(s.id, s.epoch): s.output.completion for s in log.samples}
        assert {s.output.stop_reason for s in log.samples} <= {"stop", "max_tokens"}
        assert all(0 < s.output.usage.output_tokens <= 12 for s in log.samples)
    assert found["red"] == found["copy"]
    assert len(set(found["red"].values())) == 8
    logs = (f"--scores={name}={tmp_path / name}" for name in found)
    _, out, error = call("gate", "red", "copy", *logs, "--margin", "0.3", "--json")
    assert json.loads(out)["candidates"][0]["difference"] == 0, error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"config": GenerateConfig(stop_seqs=["."])}, "take no stop_seqs"),
        ({"tools": [inspect_ai.tool.bash()]}, "call no tools"),
        ({"input": [ChatMessageTool(content="4")]}, "read texts alone"),
    ],
)
def test_what_it_cannot_do_is_refused(model, options, message):
    asked = {"input": "Which way is up?"} | options
    with pytest.raises(ArenaError, match=message):
        asyncio.run(model("red").generate(**asked))
