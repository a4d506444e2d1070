"""The coupling command on real scores, and on tables that make no sense."""

from __future__ import annotations

import json

import pytest

from coupled_arena.store.database import Store
from tests.stats.test_score_tables import DIGITS, FOLDER, golden, needs_real_scores

TABLE = """Noise,a,b
Coupled,1,1
Coupled,0,0
Coupled,1,1
Coupled,0,1
Independent,1,0
Independent,0,1
Independent,1,1
Independent,0,0
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(TABLE)
    return path


@needs_real_scores
def test_golden_savings_by_the_command(call):
    code, out, _ = call(
        *("coupling", "--scores", FOLDER / "gsm8k_llama.csv", "--seeds", 10, "--json")
    )
    assert code == 0
    pairs = json.loads(out)["pairs"]
    assert len(pairs) == 15
    names = {
        "mean_covariance": "mean_cov_coupled",
        "mean_variance_coupled": "mean_var_coupled",
        "mean_variance_independent": "mean_var_indep",
        "pooled_variance_coupled": "pooled_var_coupled",
        "pooled_variance_independent": "pooled_var_indep",
        "savings": "savings_pooled",
    }
    for pair in pairs:
        wanted = golden()["pairs"][f"{pair['model_a']} | {pair['model_b']}"]
        assert (pair["prompts"], pair["seeds"]) == (1319, 10)
        for ours, theirs in names.items():
            assert pair[ours] == pytest.approx(wanted[theirs], abs=DIGITS)


def test_a_small_table_by_hand(call, table):
    """Differences 0, 0, 0, -1 coupled and 1, -1, 0, 0 independent: variances 1/4 and 2/3."""
    arguments = ("--seeds", 2, "--error", 0.5, "--published", "--json")
    code, out, _ = call("coupling", "--scores", table, *arguments)
    assert code == 0
    (pair,) = json.loads(out)["pairs"]
    assert pair["savings"] == pytest.approx(1 - (1 / 4) / (2 / 3))
    assert pair["mean_covariance"] == pytest.approx(1 / 4)  # 1/2 and 0
    # Prompt means -1/2 and 0 vary by 1/8, half of what is within explains all of it.
    assert pair["prompts_needed_coupled"] == 4  # ceil of 1.96² / .5² times 1/4
    assert pair["prompts_needed_independent"] == 16  # of 1
    code, out, _ = call("coupling", "--scores", table, "--seeds", 2)
    assert code == 0
    assert "a | b" in out
    assert "62.5%" in out


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("Noise,a,b", "Model,a,b", "must name a column Noise"),
        ("Noise,a,b", "Noise,a,a", "must give each column its own name"),
        ("Coupled,0,1\n", "", "3 rows of Coupled, which 2 repetitions do not divide"),
        ("Coupled,0,1\n", "Coupled,0\n", "line 5 has 2 columns, the first line 3"),
        ("Coupled,0,1\n", "Paired,0,1\n", "line 5: Noise is 'Paired'"),
        ("Coupled,0,1\n", "Coupled,0,nan\n", "line 5: 'nan' in column 'b' is not a score"),
        ("Coupled,0,1\n", "Coupled,0,yes\n", "line 5: 'yes' in column 'b' is not a score"),
        ("Independent,1,0\nIndependent,0,1\n", "", "same prompts"),
        (TABLE, "", "must name a column Noise"),
        (TABLE, "Noise,a,b\n", "has no row with Coupled as Noise"),
    ],
)
def test_tables_that_make_no_sense(call, table, old, new, complaint):
    assert old in TABLE
    table.write_text(TABLE.replace(old, new))
    code, out, err = call("coupling", "--scores", table, "--seeds", 2)
    assert (code, out) == (1, "")
    assert complaint in err
    assert "Traceback" not in err


def test_files_that_are_no_tables(call, tmp_path):
    (tmp_path / "binary.csv").write_bytes(b"\xff\x00\x81")
    (tmp_path / "wide.csv").write_text("model,prompt", encoding="utf-16")
    for name, complaint in (
        ("absent.csv", "cannot be read as a CSV file"),
        ("binary.csv", "line 1 is not valid UTF-8"),
        ("wide.csv", "it is in UTF-16: save it in UTF-8"),
    ):
        code, _, err = call("coupling", "--scores", tmp_path / name)
        assert code == 1
        assert name in err
        assert complaint in err


@pytest.mark.parametrize("options", [("--alpha", 1), ("--error", 0)])
def test_options_out_of_range(call, table, options):
    code, _, err = call("coupling", "--scores", table, "--seeds", 2, *options)
    assert code == 1
    assert "alpha" in err


def test_the_text_tells_how_far_proposition_1_holds(call, table):
    code, out, _ = call("coupling", "--scores", table, "--seeds", 2, "--json")
    (pair,) = json.loads(out)["pairs"]
    gap = f"{pair['identity_gap']:+.4f} ± {pair['identity_gap_error']:.4f}"
    code, out, _ = call("coupling", "--scores", table, "--seeds", 2)
    assert code == 0
    assert "Proposition 1: gap" in out
    assert gap in out
    assert "zero but for chance" in out


@pytest.mark.parametrize(
    "name", ["arena.duckdb", "votes.csv", "folder"], ids=["database", "votes", "folder"]
)
def test_what_is_no_table_of_scores_is_not_overwritten(call, table, tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "votes.csv").write_text("model_a,model_b,winner\nred,blue,tie\n")
    Store.open(tmp_path / "arena.duckdb").close()
    path = tmp_path / name
    before = path.read_bytes() if path.is_file() else None
    code, out, err = call("coupling", "--scores", table, "--seeds", 2, "--out", path)
    assert (code, out) == (1, "")
    assert "no table of scores: give another name" in " ".join(err.split())
    assert before == (path.read_bytes() if path.is_file() else None)


def test_a_table_of_scores_is_written_anew(call, table, tmp_path):
    for _ in range(2):
        code, _, err = call(
            "coupling", "--scores", table, "--seeds", 2, "--out", tmp_path / "o.csv"
        )
        assert (code, "o.csv holds 8 rows" in " ".join(err.split())) == (0, True)
