"""Tables of scores with empty cells, several settings, rows twice, or other repetitions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.analysis.coupling.score_tables import subject_scores_from_frame
from coupled_arena.analysis.risk.scores import risk_scores_from_frame
from coupled_arena.core.errors import ScoreError
from coupled_arena.stats.coupling.score_tables import other_blocks

PROMPTS, SEEDS = 60, 6


def answers():
    """A table of scores for `ca.risk`: two models on five prompts, two repetitions each."""
    rng = np.random.default_rng(0)
    rows = [(m, f"p{q}", s) for m in "ab" for q in range(5) for s in (1, 2)]
    frame = pd.DataFrame(rows, columns=["model", "prompt", "seed"])
    return frame.assign(Temperature=0.7, truth=rng.normal(size=20), wit=rng.normal(size=20))


def protocols(seed=0):
    """A table of scores for `ca.coupling`: prompts of many difficulties."""
    rng = np.random.default_rng(seed)
    rows = []
    for noise in ("Coupled", "Independent"):
        for prompt, chance in enumerate(np.random.default_rng(9).beta(0.5, 0.5, PROMPTS)):
            drawn = rng.random((SEEDS, 2))
            drawn[:, 1] = drawn[:, 0] if noise == "Coupled" else drawn[:, 1]
            rows += [(noise, prompt, *map(int, pair)) for pair in drawn < [chance, 0.9 * chance]]
    return pd.DataFrame(rows, columns=["Noise", "Prompt", "a", "b"])


def test_prompts_with_an_empty_cell_are_left_out_for_all_models():
    frame = answers()
    frame.loc[3, "truth"] = np.nan  # model a, prompt p1
    found = risk_scores_from_frame(frame)
    wanted = risk_scores_from_frame(frame[frame.prompt != "p1"])
    assert found.prompts == wanted.prompts == (("p0", "p2", "p3", "p4"),) * 2
    np.testing.assert_array_equal(found.values, wanted.values)
    assert found.notes == ("Left out, for a score is missing: 1 prompt.",)
    assert not risk_scores_from_frame(frame, ["wit"]).notes
    long = frame.melt(["model", "prompt", "seed"], ["truth", "wit"], "metric", "score")
    np.testing.assert_array_equal(risk_scores_from_frame(long).values, wanted.values)


def test_an_index_that_was_saved_is_no_metric():
    frame = answers().reset_index(names="Unnamed: 0").reset_index(names="Unnamed: 0.1")
    assert risk_scores_from_frame(frame).metrics == ("truth", "wit")
    assert risk_scores_from_frame(frame, ["Unnamed: 0"]).metrics == ("Unnamed: 0",)


def test_a_model_without_a_whole_prompt_is_named():
    frame = answers()
    frame.loc[frame.model == "b", "truth"] = None
    with pytest.raises(ScoreError, match=r"empty cell on every prompt of a\. Leave out the model"):
        risk_scores_from_frame(frame)


@pytest.mark.parametrize("columns", [["model", "prompt"], ["model", "prompt", "metric"]])
def test_columns_that_say_how_an_answer_was_drawn_are_no_scores(columns):
    frame = answers()
    assert risk_scores_from_frame(frame).metrics == ("truth", "wit")
    assert risk_scores_from_frame(frame, ["seed"]).metrics == ("seed",)
    frame.loc[4:, "Temperature"] = 0.2
    kept = ["model", "prompt", "seed", "Temperature"]
    table = frame.melt(kept, ["truth", "wit"], "metric", "score") if columns[2:] else frame
    with pytest.raises(ScoreError, match=r"several settings: Temperature is '0\.7', '0\.2'\. Keep"):
        risk_scores_from_frame(table)


def test_an_answer_that_is_there_twice_is_named():
    frame = answers()
    twice = pd.concat([frame, frame.iloc[[7]]], ignore_index=True)
    wanted = "row 20 repeats a row above it: model 'a', prompt 'p3', seed '2'"
    with pytest.raises(ScoreError, match=wanted):
        risk_scores_from_frame(twice)


def test_both_protocols_lose_a_prompt_with_an_empty_cell(call, tmp_path):
    frame = protocols()
    empty = frame.astype({"a": object})
    empty.loc[2 * SEEDS, "a"] = None
    found = subject_scores_from_frame(empty, SEEDS)
    whole = subject_scores_from_frame(frame, SEEDS).table
    kept = np.arange(PROMPTS) != 2
    np.testing.assert_array_equal(found.table.coupled, whole.coupled[kept])
    np.testing.assert_array_equal(found.table.independent, whole.independent[kept])
    said = "Left out because repetitions are missing: 1 prompt."
    assert said in ca.coupling(empty, seeds=SEEDS).to_dict()["warnings"]
    empty.to_csv(tmp_path / "scores.csv", index=False)
    arguments = ("coupling", "--scores", tmp_path / "scores.csv", "--seeds", SEEDS)
    code, out, _ = call(*arguments, "--json")
    assert (code, json.loads(out)["warnings"]) == (0, [said])
    assert said in call(*arguments)[1]


def test_a_column_of_prompts_betrays_other_repetitions():
    frame = protocols()
    assert subject_scores_from_frame(frame, SEEDS).table.models == ("a", "b")
    for seeds in (2, 3, 4, 12):
        with pytest.raises(ScoreError, match=f"'[0-9]+' does not have {seeds} rows that follow"):
            subject_scores_from_frame(frame, seeds)
    other = frame.assign(Prompt=np.where(frame.Noise == "Coupled", frame.Prompt, -frame.Prompt))
    with pytest.raises(ScoreError, match="the same prompts in the same order"):
        subject_scores_from_frame(other, SEEDS)
    several = frame.assign(temperature=np.where(frame.Prompt < 9, 0.2, 0.7))
    with pytest.raises(ScoreError, match=r"several settings: temperature is '0\.2', '0\.7'"):
        subject_scores_from_frame(several, SEEDS)


@pytest.mark.parametrize("seeds", [2, 3, 12])
def test_rows_themselves_betray_other_repetitions(seeds):
    frame = pd.concat([protocols(s).sort_values("Noise", kind="stable") for s in range(4)])
    frame = frame.sort_values("Noise", kind="stable").drop(columns="Prompt")
    assert not other_blocks(subject_scores_from_frame(frame, SEEDS).table)
    assert other_blocks(subject_scores_from_frame(frame, seeds).table)
    warned = ca.coupling(frame, seeds=seeds).to_dict()["warnings"]
    assert any(f"other places than every {seeds} rows" in text for text in warned)
    assert not ca.coupling(frame, seeds=SEEDS).to_dict()["warnings"]
