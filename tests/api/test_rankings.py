"""Ranking from notebooks: by a table of votes, and by a store."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.core.errors import ArenaError, VoteError
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.export import export
from tests.families import first_of
from tests.stats.real_votes import FOLDER, golden, lines_of, needs_real_votes
from tests.store.conftest import make_battle, make_vote
from tests.store.test_comparisons import World

ESTIMATES = ["model", "win_rate", "standard_error", "low", "high", "rank", "rank_low", "rank_high"]


def by_hand(frame, model, tie=0.5):
    """Mean over opponents of the share of wins: what stratified weighting is, from the rows."""
    shares = []
    for other in sorted({*frame.model_a, *frame.model_b} - {model}):
        met = frame[frame.model_a.isin([model, other]) & frame.model_b.isin([model, other])]
        won = (met.model_a == model) & (met.winner == "model_a")
        won |= (met.model_b == model) & (met.winner == "model_b")
        tied = ~met.winner.isin(["model_a", "model_b"])
        shares.append((won + tie * tied).mean())
    return np.mean(shares)


@pytest.fixture(scope="module")
def votes():
    rng = np.random.default_rng(7)
    sides = np.array([rng.permutation(list("xyz"))[:2] for _ in range(300)])
    return pd.DataFrame(
        {
            "model_a": sides[:, 0],
            "model_b": sides[:, 1],
            "winner": rng.choice(
                ["model_a", "model_b", "tie", "both_bad"], 300, p=[0.4, 0.3, 0.2, 0.1]
            ),
            "judge's mood": "odd",
        }
    )


@pytest.mark.parametrize("name", ["category", "language"])
def test_a_selection_that_no_comparison_has_is_refused(tmp_path, name):
    path = tmp_path / "arena.duckdb"
    Store.open(path).close()
    with pytest.raises(ArenaError, match=f"has the {name} 'no'. There are: none"):
        ca.leaderboard(ca.open(path), **{name: "no"})


def test_win_rates_are_the_means_of_the_shares(votes):
    board = ca.rank(votes).to_frame().set_index("model")
    assert sorted(board.index) == ["x", "y", "z"]
    for model in board.index:
        assert board.win_rate[model] == pytest.approx(by_hand(votes, model), abs=1e-12)
    assert board.win_rate.is_monotonic_decreasing
    assert board["rank"].tolist() == [1, 2, 3]
    assert ((board.rank_low <= board["rank"]) & (board["rank"] <= board.rank_high)).all()
    assert board.human_votes.sum() == 2 * len(votes)


def test_a_winner_may_be_said_in_several_ways(votes):
    word = votes.copy()
    word["winner"] = [
        {"model_a": row.model_a, "model_b": row.model_b}.get(row.winner, row.winner)
        for row in votes.itertuples()
    ]
    short = votes.replace({"winner": {"model_a": "A", "model_b": "b", "both_bad": "tie (bothbad)"}})
    expected = ca.rank(votes).to_frame()
    for same in (
        word,
        short,
        votes.sample(frac=1, random_state=1),
        votes.set_index("model_a").reset_index(),
    ):
        pd.testing.assert_frame_equal(ca.rank(same).to_frame(), expected, atol=1e-12)


def test_votes_on_one_prompt_say_less_than_votes_on_many(votes):
    shared = votes.assign(prompt=np.arange(len(votes)) // 30)
    alone, together = (ca.rank(frame).to_frame() for frame in (votes, shared))
    assert together.win_rate.tolist() == pytest.approx(alone.win_rate.tolist(), abs=1e-12)
    assert (together.standard_error != alone.standard_error).all()
    own = votes.assign(prompt=[f"question {n}" for n in range(len(votes))], voter="ann")
    pd.testing.assert_frame_equal(ca.rank(own).to_frame(), alone)


def test_settings_travel_with_the_result(votes):
    board = ca.rank(votes, alpha=0.2, cutoff="bonferroni", weighting="count", bradley_terry=True)
    assert board.settings["alpha"] == 0.2
    assert repr(board).startswith("<Leaderboard: source='human', alpha=0.2")
    assert set(board.tables) == {"models", "pairs", "bradley_terry"}
    assert len(board.to_frame("pairs")) == 6
    assert board.to_dict()["weighting"] == "count"
    assert json.loads(json.dumps(board.to_dict())) == board.to_dict()
    narrow = ca.rank(votes, alpha=0.2).to_frame()
    wide = ca.rank(votes, alpha=0.01).to_frame()
    assert (wide.high - wide.low > narrow.high - narrow.low).all()
    with pytest.raises(AttributeError):
        board.title = "another"


def test_what_a_notebook_shows_is_escaped(votes):
    shown = ca.rank(votes.replace("x", "<b>x</b>"))._repr_html_()
    assert "&lt;b&gt;x&lt;/b&gt;" in shown
    assert "<b>x</b>" not in shown


def test_both_modes_are_compared(votes):
    board = ca.rank(
        votes.assign(mode=np.where(np.arange(len(votes)) % 2, "coupled", "independent"))
    )
    modes = board.to_frame("modes").set_index("model")
    for mode in ("coupled", "independent"):
        half = votes[(np.arange(len(votes)) % 2 == 1) == (mode == "coupled")]
        for model in "xyz":
            assert modes[mode][model] == pytest.approx(by_hand(half, model, tie=0), abs=1e-12)


@needs_real_votes
@pytest.mark.parametrize(
    "name", [pytest.param("hash_n990", marks=pytest.mark.slow), "balanced_n990_N5346"]
)
def test_real_votes_with_a_judge_meet_the_golden_values(name):
    human, judge = (
        pd.read_json(FOLDER / file, lines=True)
        for file in ("human.json", "gpt-4-0125-preview.json")
    )
    voted, alone = lines_of(name)
    frame = human[["model_a", "model_b", "winner"]].assign(verdict=judge.winner)
    frame.loc[alone, "winner"] = None
    frame = frame.loc[[*voted, *alone]]
    expected = golden()["ppr"][name]["gpt4"]
    by_model = ca.rank(frame, ties="loss").to_frame().set_index("model").loc[golden()["models"]]
    assert by_model.win_rate.tolist() == pytest.approx(expected["stratified"]["theta"], abs=1e-11)
    assert by_model.standard_error.tolist() == pytest.approx(
        expected["stratified"]["se"], abs=1e-11
    )
    for cutoff in ("chi2", "bonferroni"):
        for alpha, ranks in expected["stratified"]["rank_sets"].get(cutoff, {}).items():
            found = ca.rank(frame, cutoff=cutoff, alpha=float(alpha), ties="loss")
            found = found.to_frame().set_index("model")
            assert found.loc[golden()["models"], ["rank_low", "rank_high"]].values.tolist() == ranks
    published = ca.rank(frame, weighting="count", covariance="published").to_frame()
    theta = published.set_index("model").loc[golden()["models"]].win_rate
    assert theta.tolist() == pytest.approx(expected["count"]["theta"], abs=1e-11)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"winner": "x"}, None),
        ({"winner": "nobody"}, "Row 0: winner is 'nobody', which is unknown; known are model_a"),
        ({"winner": None}, "Row 0: winner is missing"),
        ({"winner": float("nan")}, "winner is missing"),
        ({"model_a": ""}, "Row 0: model_a is missing"),
        ({"model_b": None}, "model_b is missing"),
        ({"model_b": "x"}, "a model meets itself"),
        ({"model_a": "b", "model_b": "y", "winner": "b"}, "names one model, and the side of the"),
    ],
)
def test_rows_that_say_nothing(changes, complaint):
    frame = pd.DataFrame([{"model_a": "x", "model_b": "y", "winner": "tie", **changes}])
    if complaint is None:
        assert ca.rank(frame, ties="loss").to_frame().wins.tolist() == [1, 0]
        return
    with pytest.raises(VoteError, match=complaint):
        ca.rank(frame)


def test_the_first_of_many_wrong_rows_is_named(votes):
    wrong = votes.set_axis(range(100, 400)).astype({"winner": object})
    wrong.loc[[105, 110], "winner"] = "left"
    with pytest.raises(VoteError, match=r"Row 105: winner is 'left'.* \(1 more such row\)"):
        ca.rank(wrong)


@pytest.mark.parametrize(
    ("given", "settings", "complaint"),
    [
        (None, {"alpha": 0}, "`alpha` is an error level between 0 and 1"),
        (
            None,
            {"cutoff": "max"},
            "`cutoff` is one of max-t, step-down, any-time, bonferroni, chi2, not 'max'",
        ),
        (None, {"sets": "alone"}, "`sets` is one of joint, marginal, not 'alone'"),
        (None, {"ties": "drop"}, "`ties` is one of half, loss, not 'drop'"),
        (None, {"source": "ppr"}, "'ppr' needs verdicts: a column verdict .* rows here are votes"),
        (None, {"source": "crowd"}, "`source` is one of human, judge, ppr"),
        (7, {}, "votes is a pandas DataFrame"),
        ([{"model_a": "x"}], {}, "holds no paths of files, but dict: make one table"),
        ({"model_a": ["x"]}, {}, "holds no paths of files, but list: make one table"),
        ("votes.csv", {}, "votes.csv cannot be read as a CSV file: No such file"),
        (None, {"metric": "f1"}, "`metric` is about scores: leave it out with votes"),
        (None, {"alpha": "0.1"}, "`alpha` is an error level between 0 and 1"),
        (pd.DataFrame({"model_a": ["x"]}), {}, r"no column model_b or winner; .*here: 'model_a'"),
        (pd.DataFrame({"model_a": [], "model_b": [], "winner": []}), {}, "no rows"),
    ],
)
def test_questions_that_make_no_sense(votes, given, settings, complaint):
    with pytest.raises(ArenaError, match=complaint):
        ca.rank(votes if given is None else given, **settings)


def csv_file(votes, path):
    votes.to_csv(path)


def tsv_file(votes, path):
    votes.to_csv(path, sep="\t", index=False)


def json_file(votes, path):
    votes.to_json(path, orient="records")


def lines_file(votes, path):
    votes.to_json(path, orient="records", lines=True)


WRITTEN = {
    "votes.csv": csv_file,
    "votes.csv.gz": csv_file,
    "votes.tsv": tsv_file,
    "votes.json": json_file,
    "votes.jsonl.gz": lines_file,
    "votes without ending": lines_file,
    "votes.parquet": pd.DataFrame.to_parquet,
}


@pytest.mark.parametrize("name", first_of(*WRITTEN, keep=3))
def test_a_file_of_votes_is_ranked_as_its_table(votes, tmp_path, name):
    WRITTEN[name](votes, tmp_path / name)
    found = ca.rank(tmp_path / name)
    pd.testing.assert_frame_equal(found.to_frame(), ca.rank(votes).to_frame())
    assert found.to_dict()["read"] == "votes"
    assert str(found).startswith("These files hold votes.\n")


def test_several_files_of_votes_are_one_table(votes, tmp_path):
    csv_file(votes[:100], tmp_path / "one.csv")
    lines_file(votes[100:], tmp_path / "two.jsonl")
    files = [str(tmp_path / "one.csv"), tmp_path / "two.jsonl"]
    pd.testing.assert_frame_equal(ca.rank(files).to_frame(), ca.rank(votes).to_frame())
    with (tmp_path / "two.jsonl").open("a") as stream:
        stream.write('{"model_a": "x", "model_b": "y", "winner": "left"}\n')
    with pytest.raises(
        VoteError, match=r"two\.jsonl, line 201: winner is 'left', which is unknown"
    ):
        ca.rank(files)


def test_published_formats_are_ranked_as_they_are_imported(votes, tmp_path):
    flags = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"}
    votes = votes[votes.winner != "both_bad"]
    told = votes.assign(
        id=range(len(votes)),
        **{name: (votes.winner == word).astype(int) for name, word in flags.items()},
    )
    csv_file(told.drop(columns="winner"), tmp_path / "kaggle.csv")
    found = ca.rank(tmp_path / "kaggle.csv").to_frame()
    wanted = ca.rank(votes).to_frame()
    pd.testing.assert_frame_equal(found[["model", "wins"]], wanted[["model", "wins"]])
    broken = told.assign(winner_tie=1).drop(columns="winner")
    csv_file(broken, tmp_path / "broken.csv")
    with pytest.raises(VoteError, match=r"line 2: exactly one of winner_model_a.* more such rows"):
        ca.rank(tmp_path / "broken.csv")


def test_scores_are_ranked_from_a_table_as_from_a_file(tmp_path):
    rows = [(model, prompt, (prompt * len(model)) % 7) for model in "ab" for prompt in range(9)]
    scores = pd.DataFrame(rows, columns=["model", "prompt", "quiz"])
    scores.loc[::2, "quiz"] += 1
    csv_file(scores[:9], tmp_path / "a.csv")
    scores[9:].to_parquet(tmp_path / "b.parquet")
    found = ca.rank(scores)
    assert found.to_dict()["read"] == "scores"
    of_files = ca.rank([tmp_path / "a.csv", tmp_path / "b.parquet"])
    pd.testing.assert_frame_equal(of_files.to_frame(), found.to_frame())
    risks = [
        ca.risk(each, bootstraps=20).to_dict()
        for each in (scores, [tmp_path / "a.csv", str(tmp_path / "b.parquet")])
    ]
    assert risks[0] == risks[1]


def test_a_confidence_for_an_error_level_is_doubted(votes):
    with pytest.warns(UserWarning, match=r"0\.9 makes 10% intervals.* of 90% give 0\.1"):
        board = ca.rank(votes, alpha=0.9)
    assert board.settings["alpha"] == 0.9


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "arena.duckdb"
    with Store.open(path) as store:
        World(store, make_battle, make_vote, 5)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("judge", [None, "gpt"])
def test_a_store_s_comparisons_rank_as_the_store_does(database, judge):
    store = ca.open(database)
    stored = ca.leaderboard(store, judge=judge, alpha=0.1)
    ranked = ca.rank(store.comparisons(judge), alpha=0.1)
    pd.testing.assert_frame_equal(
        ranked.to_frame()[ESTIMATES], stored.to_frame()[ESTIMATES], atol=1e-12
    )
    modes = [each.to_frame("mode_pairs") for each in (ranked, stored)]
    pd.testing.assert_frame_equal(*modes, atol=1e-12)


@pytest.mark.parametrize("format", ["flat", pytest.param("flat-csv", marks=pytest.mark.slow)])
def test_a_flat_table_in_a_file_counts_as_its_store_does(database, tmp_path, format):
    with Store.open(database, read_only=True) as store:
        (file,) = export(store, tmp_path, format)
    columns = ["model", "win_rate", "wins"]
    ranked = [ca.rank(each).to_frame()[columns] for each in (file, ca.open(database).comparisons())]
    pd.testing.assert_frame_equal(*ranked, atol=1e-12)
    read = pd.read_csv(file) if format == "flat-csv" else pd.read_parquet(file)
    pd.testing.assert_frame_equal(ca.rank(read).to_frame()[columns], ranked[0], atol=1e-12)
    other = tmp_path / "other.jsonl"
    row = {"model_a": "p", "model_b": "q", "winner": "model_a"}
    other.write_text("".join(json.dumps(row | {"question_id": n}) + "\n" for n in range(9)))
    both = ca.rank([file, other]).to_frame()
    assert set(both["model"]) == {*ranked[0]["model"], "p", "q"}


def test_a_leaderboard_is_what_the_command_says(database, call):
    code, out, _ = call(
        *("leaderboard", "--db", database, "--judge", "gpt", "--mode", "coupled"),
        *("--weighting", "count", "--bradley-terry", "--json"),
    )
    assert code == 0
    board = ca.leaderboard(
        ca.open(database), judge="gpt", mode="coupled", weighting="count", bradley_terry=True
    )
    assert board.to_dict() == json.loads(out)
    assert board.to_frame().win_rate.tolist() == [m["win_rate"] for m in board.answer["models"]]


def test_a_judge_must_be_named_where_there_are_several(database):
    store = ca.open(database)
    with pytest.raises(ArenaError, match=r"Choose a judge with `judge`: gpt, other\."):
        ca.leaderboard(store, source="judge")
    with pytest.raises(ArenaError, match="no judge 'nobody'"):
        ca.leaderboard(store, judge="nobody")
    with pytest.raises(ArenaError, match=r"open one with coupled_arena\.open"):
        ca.leaderboard(str(database))
    with pytest.raises(ArenaError, match="Give several models"):
        ca.leaderboard(store, models="a")


def test_five_lines_from_a_csv_file(votes):
    file = io.StringIO(votes.to_csv(index=False))
    board = ca.rank(pd.read_csv(file))
    assert ca.plot(board, "rank_sets").layout.title.text
