"""What `import coupled_arena` offers, and what it costs."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

import coupled_arena as ca
from coupled_arena.cli import analyses, generation

HEAVY = ("torch", "transformers", "gradio", "pandas", "numpy", "scipy", "duckdb", "plotly", "typer")


def modules_after(code):
    finished = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json\nprint(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(finished.stdout)) & set(HEAVY)


def test_importing_it_loads_nothing_heavy():
    assert modules_after("import coupled_arena; dir(coupled_arena)") == set()


@pytest.mark.slow
def test_ranking_loads_neither_models_nor_the_page():
    code = "import pandas as pd, coupled_arena as ca\n"
    code += "ca.rank(pd.DataFrame({'model_a': ['x'], 'model_b': ['y'], 'winner': ['tie']}))"
    assert modules_after(code) & {"torch", "transformers", "gradio", "typer"} == set()


@pytest.mark.parametrize("name", ca.__all__)
def test_every_name_is_there_and_documented(name):
    value = getattr(ca, name)
    assert name in dir(ca)
    assert len(inspect.getdoc(value).splitlines()) >= 1
    if inspect.isfunction(value):
        documented = inspect.getdoc(value)
        for parameter in inspect.signature(value).parameters:
            assert parameter in documented, parameter


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'elo'"):
        _ = ca.elo


@pytest.mark.parametrize(
    ("function", "command", "own"),
    [
        (ca.rank, analyses.leaderboard, {"votes"}),
        (ca.generate, generation.generate, {"models", "prompts", "mode", "progress"}),
    ],
)
def test_a_keyword_is_the_command_s_flag_and_has_its_default(function, command, own):
    flags = inspect.signature(command).parameters
    for name, parameter in inspect.signature(function).parameters.items():
        if name in own:
            continue
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert (parameter.default or None) == (flags[name].default or None), name
