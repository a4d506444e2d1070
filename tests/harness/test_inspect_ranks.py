"""Comparisons in Inspect's logs: verdicts of a judge, and the rank-sets that `ca.rank` says."""

from __future__ import annotations

import pandas as pd
import pytest

import coupled_arena as ca

inspect_ai = pytest.importorskip("inspect_ai", reason="the extra `inspect` is not installed")
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ModelOutput  # noqa: E402
from inspect_ai.scorer import SampleScore, Score  # noqa: E402
from inspect_ai.solver import solver  # noqa: E402

from coupled_arena.harness.inspect_ranks import UNREADABLE, rank_sets, verdict  # noqa: E402

WORDS = {"[[A]]": "model_a", "Not [[B]], so [[a]].": "model_a", "[[B]]": "model_b", "[[C]]": "tie"}


def evaluated(tmp_path, said):
    samples = [
        Sample(
            id=n, input="Which?", metadata={"model_a": "red", "model_b": "blue", "prompt": n % 6}
        )
        for n in range(len(said))
    ]

    @solver
    def judge():
        async def solve(state, generate):
            state.output = ModelOutput.from_content("judge", said[state.sample_id])
            return state

        return solve

    (log,) = inspect_ai.eval(
        inspect_ai.Task(dataset=samples, solver=judge(), scorer=verdict()),
        model="mockllm/model",
        log_dir=str(tmp_path),
        display="none",
    )
    return log


def test_a_log_has_the_win_rates_and_rank_sets_of_the_same_table(tmp_path):
    said = [*WORDS] * 6 + ["Both are fine."]
    log = evaluated(tmp_path, said)
    assert log.status == "success", log.error
    found = {
        name: each.value for score in log.results.scores for name, each in score.metrics.items()
    }
    table = pd.DataFrame(
        {
            "model_a": "red",
            "model_b": "blue",
            "winner": None,
            "verdict": [WORDS[text] for text in said[:-1]],
            "prompt_id": [str(n % 6) for n in range(24)],
        }
    )
    board = ca.rank(table).to_dict()
    assert board["source"] == "judge"
    assert found.pop(UNREADABLE) == 1
    assert found == {
        f"{row['model']} {name}": row[name]
        for row in board["models"]
        for name in ("win_rate", "rank_low", "rank_high")
    }
    assert found["red win_rate"] == pytest.approx((12 + 3) / 24)


def measured(value, **metadata):
    return rank_sets()([SampleScore(score=Score(value=value, metadata=metadata), sample_id="s")])


def test_a_winner_may_be_named_and_nothing_readable_is_no_rank():
    found = measured("blue", model_a="red", model_b="blue")
    assert (found["blue win_rate"], found["red rank_high"]) == (1, 2)
    assert measured(UNREADABLE, model_a="red", model_b="blue") == {UNREADABLE: 1}


def test_samples_without_the_names_of_models_are_refused():
    with pytest.raises(ca.ArenaError, match="Sample s has no model_b in its metadata"):
        measured("model_a", model_a="red")
