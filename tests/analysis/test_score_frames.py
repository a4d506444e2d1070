"""Tables of scores as DataFrames and in other forms of file: the numbers of the CSV."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from coupled_arena.analysis.coupling.score_tables import (
    read_subject_scores,
    subject_scores_from_frame,
)
from coupled_arena.analysis.risk.scores import read_risk_scores, risk_scores_from_frame
from coupled_arena.core.errors import ScoreError

NOISE = ["Coupled"] * 4 + ["Independent"] * 4
COUPLED = pd.DataFrame(
    {
        "Noise": NOISE,
        "left": [0.5, 1.0, 0.0, 1.0, 0.25, 1.0, 0.0, 1.0],
        "right": [True, False, True, False, False, False, True, True],
        "Subject": ["law", "law", "art", "art"] * 2,
    }
)
WIDE = pd.DataFrame(
    {
        "model": ["a", "a", "b", "b"],
        "prompt": [1, 2, 1, 2],
        "truth": [1, 0, 1, 1],
        "toxicity": [0.1, 1e-7, 0.3, 0.4],
    }
)
LONG = WIDE.melt(["model", "prompt"], var_name="metric", value_name="score")


def written(frame, folder):
    """Return the paths of one table in every form."""
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_csv(folder / "a.csv.gz", index=False)
    frame.to_json(folder / "a.jsonl", orient="records", lines=True)
    frame.to_json(folder / "a.json", orient="records")
    frame.to_parquet(folder / "a.parquet")
    return sorted(folder.iterdir())


def test_coupling_scores_are_the_same_in_every_form(tmp_path):
    wanted = subject_scores_from_frame(COUPLED, 2)
    assert (wanted.table.models, wanted.subjects) == (("left", "right"), ("law", "art"))
    assert wanted.table.coupled.tolist() == [[[0.5, 1], [1, 0]], [[0, 1], [1, 0]]]
    for path in written(COUPLED, tmp_path):
        found = read_subject_scores(path, 2)
        assert found.subjects == wanted.subjects
        np.testing.assert_array_equal(found.table.coupled, wanted.table.coupled)
        np.testing.assert_array_equal(found.table.independent, wanted.table.independent)


@pytest.mark.parametrize("frame", [WIDE, LONG], ids=["wide", "long"])
def test_risk_scores_are_the_same_in_every_form(tmp_path, frame):
    wanted = risk_scores_from_frame(frame, lower_is_better=["toxicity"])
    assert (wanted.models, wanted.metrics) == (("a", "b"), ("truth", "toxicity"))
    assert wanted.prompts == (("1", "2"),) * 2
    assert wanted.values[0].tolist() == [[1, 0.1], [0, 1e-7]]
    for path in written(frame, tmp_path):
        found = read_risk_scores(path, lower_is_better=["toxicity"])
        assert (found.models, found.prompts, found.metrics) == (
            *(wanted.models, wanted.prompts, wanted.metrics),
        )
        np.testing.assert_array_equal(found.values, wanted.values)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"left": np.nan}, "two models, prompts and repetitions at least. Left out, for a cell is"),
        ({"left": np.inf}, "row 0: 'inf' in column 'left' is not a score"),
        ({"left": "yes"}, "row 0: 'yes' in column 'left' is not a score"),
        ({"Noise": "Paired"}, "the table, row 0: Noise is 'Paired'"),
        ({"Noise": None}, "the table, row 0: Noise is ''"),
        ({"Noise": "Coupled"}, "the table has no row with Independent in the column Noise"),
        ({"Category": "law"}, "must name a column Noise"),
    ],
)
def test_frames_that_make_no_sense(changes, complaint):
    with pytest.raises(ScoreError) as caught:
        subject_scores_from_frame(COUPLED.assign(**changes), 2)
    assert complaint in str(caught.value)


def test_a_missing_score_of_a_wide_frame_is_counted():
    frame = WIDE.assign(toxicity=[0.1, np.nan, 0.3, 0.4])
    with pytest.raises(ScoreError, match=r"least\. Left out, for a score is missing: 1 prompt\."):
        risk_scores_from_frame(frame)
    assert risk_scores_from_frame(frame, ["truth"]).metrics == ("truth",)


def test_rows_are_called_as_their_index_is():
    frame = LONG.set_index(pd.Index(list("wxyz" * 2), name="entry")).assign(score=["?"] * 8)
    with pytest.raises(ScoreError, match=r"mine, entry w: '\?' in column 'score'"):
        risk_scores_from_frame(frame, name="mine")
