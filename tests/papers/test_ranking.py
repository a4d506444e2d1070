"""The ranking paper's figures and tables, from made-up votes and from the public ones."""

from __future__ import annotations

import csv
import json

import pytest

from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.item import Needs
from coupled_arena.papers.ranking import RANKING, published
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.resampling import Resampling, ResamplingPlan, resample_judges
from coupled_arena.views.figures.resampling import position_figure, rank_set_figure
from coupled_arena.views.figures.trade_offs import Agreement, trade_off_figure, votes_figure
from tests.papers.test_shared_judges import lines, made_up, source_of
from tests.stats.real_votes import FOLDER, golden, needs_real_votes
from tests.stats.test_shared_comparisons import rows, shared

PAPER = "prediction-powered-ranking"
QUICK = ("--repeats", 3, "--figures", "html")


@pytest.fixture
def files(tmp_path):
    """Votes on three models, and verdicts of two judges on most of them."""
    table = made_up(("gpt", "sage"))
    for name in ("human", "gpt", "sage"):
        (tmp_path / name).write_text(lines(table, name))
    verdicts = [f"{judge}={tmp_path / judge}" for judge in ("gpt", "sage")]
    return ["--votes", tmp_path / "human", "--verdicts", verdicts[0], "--verdicts", verdicts[1]]


def test_every_figure_and_table_of_the_paper_is_made():
    names = [item.name for item in RANKING.items]
    assert names[:15] == [f"figure-{number}" for number in range(1, 16)]
    assert names[15:] == ["table-1", "simulated-coverage", "simulated-overlap"]
    assert all(item.make for item in RANKING.items)


@pytest.mark.slow
def test_a_whole_run_with_two_judges(call, files, tmp_path):
    out = tmp_path / "out"
    code, text, err = call("reproduce", PAPER, *files, *QUICK, "--out", out, "--json")
    assert code == 0, err
    answer = json.loads(text)
    assert (answer["left_out"], answer["kept"]) == ([], [])
    made = {one["item"]: one for one in answer["items"]}
    assert set(made) == {"figure-1", "figure-2", "figure-3", "figure-5", "simulated-coverage"}
    assert made["figure-3"]["also"] == [
        "figure-4",
        *(f"figure-{number}" for number in range(9, 16)),
    ]
    ranked = made["figure-1"]["tables"]["published"]
    methods = {(row["ranking"], row["judge"]) for row in ranked}
    both = {(ranking, judge) for ranking in ("judge", "ppr") for judge in ("gpt", "sage")}
    assert methods == {("baseline", None), ("human", None), *both}
    assert {row["alpha"] for row in ranked} >= {0.01, 0.4}
    assert len(ranked) == 6 * 10
    with (out / f"{PAPER}-figure-1-corrected.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 60
    assert (out / f"{PAPER}-figure-1-intersection-sage.html").exists()
    sets = made["figure-3"]["tables"]["rank-sets"]
    shares = [row["probability"] for row in sets if row["judge"] == "sage"]
    assert sum(shares) == pytest.approx(2 * 3)  # each of three models, two rankings
    assert any("draw has" in note for note in made["figure-1"]["notes"])
    # Nothing of these data may pass for what the paper says of its own.
    assert all(row["made"] is None for row in made["figure-1"]["published"])


@pytest.mark.slow
def test_votes_alone_have_their_pairs_and_say_what_is_missing(call, files, tmp_path):
    code, text, err = call(
        "reproduce", PAPER, *files[:2], *QUICK, "--out", tmp_path / "out", "--json"
    )
    assert code == 0, err
    answer = json.loads(text)
    assert {one["item"] for one in answer["items"]} == {"figure-5", "simulated-coverage"}
    assert {one["item"] for one in answer["left_out"]} == {"figure-1", "figure-2", "figure-3"}
    assert all("No judge has a verdict here" in one["reason"] for one in answer["left_out"])
    needs = {item.name: item.needs for item in RANKING.items}
    assert needs["figure-1"] is Needs.VERDICTS
    (pairs,) = (one for one in answer["items"] if one["item"] == "figure-5")
    assert all(row["made"] is None for row in pairs["published"])
    assert sum(row["comparisons"] for row in pairs["tables"]["pairs"]) == 400


@pytest.mark.slow
@pytest.mark.parametrize("battles", [3, 8, 30])
def test_few_votes_are_enough_for_a_figure(call, tmp_path, battles):
    table = made_up(("gpt",), seed=1, n=battles)
    for row in table:
        row["gpt"] = row["gpt"] or 0
    for name in ("human", "gpt"):
        (tmp_path / name).write_text(lines(table, name))
    votes = ["--votes", tmp_path / "human", "--verdicts", f"gpt={tmp_path / 'gpt'}"]
    for item in ("figure-1", "figure-2", "figure-3"):
        code, _, err = call("reproduce", PAPER, item, *votes, *QUICK, "--out", tmp_path / "out")
        assert code == 0, err


@pytest.mark.slow
def test_more_votes_than_there_are(call, files, tmp_path):
    for item in ("figure-1", "simulated-overlap"):
        options = ["--sizes", 99999, "--out", tmp_path / "out"]
        code, _, err = call("reproduce", PAPER, item, *files, *QUICK, *options)
        assert code == 1
        assert err.splitlines()[-1].startswith("Error: --sizes 99999: ")
    assert not (tmp_path / "out").exists()


def experiment() -> dict[str, Resampling]:
    plan = ResamplingPlan(450, (45, 150), 6, alphas=(0.05, 0.4), balanced=False, draws=200)
    return resample_judges(shared(rows()), plan)


def test_a_line_for_each_way_to_rank():
    results = experiment()
    for agreement in Agreement:
        figure = trade_off_figure(results, 150, agreement)
        assert len(figure.data) == 4 + 1 + 4  # judges alone, few votes, few votes and judges
        for line, (judge, result) in zip(figure.data[5:], results.items(), strict=True):
            assert judge in line.name
            known = {one.alpha: one for one in result.qualities if one.ranking is Ranking.PPR}
            few = [
                one for one in result.qualities if one.ranking is Ranking.PPR and one.human == 150
            ]
            assert list(line.x) == [getattr(one, agreement) for one in few]
            assert list(line.y) == [one.size for one in few]
            assert len(known) == 2


def test_bars_of_shares_stay_between_none_and_all():
    for line in votes_figure(experiment(), Agreement.COVERAGE).data:
        bars = line.error_x
        for share, up, down in zip(line.x, bars.array, bars.arrayminus, strict=True):
            assert 0 <= share - down <= share <= share + up <= 1
            assert up + down > 0.2  # six repeats tell little, of none and of all of them, too


def test_names_stand_at_all_lines_or_in_the_key():
    one = dict(list(experiment().items())[:1])
    for figure in (votes_figure(one), trade_off_figure(one, 150)):
        named = [line.name for line in figure.data if line.text]
        key = " ".join(figure.layout.title.subtitle.text.split())
        assert all(line.name in (named or key) for line in figure.data)


def test_a_panel_for_each_judge_or_way_to_rank(monkeypatch):
    monkeypatch.setattr("coupled_arena.views.figures.resampling._MOST_SETS", 1)
    results = experiment()
    figure = votes_figure(results, Agreement.COVERAGE)
    assert len(figure.data) == 4 * 2
    assert {line.xaxis for line in figure.data} == {"x", "x2", "x3", "x4"}
    assert len(position_figure(results, 45).data) == 1 + 4 + 1 + 4
    bars = rank_set_figure(results, 45, tuple(Ranking)).data
    assert len(bars) == 3 * (1 + 4 + 1 + 4)
    assert all(sum(bar.y) == pytest.approx(1) for bar in bars)  # rare rank-sets together, too


@pytest.mark.slow
@needs_real_votes
def test_the_papers_numbers_from_its_data(call, tmp_path):
    """With 100 repeats instead of 1,000, of GPT-4 alone: within what so few repeats can tell."""
    options = ["--votes", FOLDER / "human.json", "--models", ",".join(golden()["models"])]
    options += ["--verdicts", f"gpt-4={FOLDER / 'gpt-4-0125-preview.json'}", "--alpha", "0.05,0.4"]
    options += ["--repeats", 100, "--figures", "html", "--out", tmp_path, "--json"]
    code, text, err = call("reproduce", PAPER, "figure-1", *options)
    assert code == 0, err
    answer = json.loads(text)
    rows = answer["tables"]["published"]
    errors = {
        (row["ranking"], row["alpha"]): (row["size_error"], row["intersection_error"])
        for row in rows
    }
    checked = 0
    kinds = {"llm gpt-4": "judge", "ppr gpt-4": "ppr", "human only": "human"}
    for row in answer["published"]:
        method, alpha = (
            row["what"].split(",")[0],
            float(row["what"].split("alpha ")[1].split(":")[0]),
        )
        if method not in kinds or row["made"] is None:
            continue
        size, share = errors[kinds[method], alpha]
        error = size if row["what"].endswith(published.SIZE) else share
        # The paper's has an error of its own, a thousand repeats'.
        assert abs(row["difference"]) < 4 * (1.1**0.5) * error + 0.001, row
        checked += 1
    assert checked == 3 * 2 * 2
    code, text, err = call("reproduce", PAPER, "figure-9", *options)
    assert code == 0, err
    stated = {row["what"]: row["made"] for row in json.loads(text)["published"]}
    assert abs(stated[published.elsewhere("llm gpt-4")] - 7) <= 1
    assert abs(stated[published.elsewhere("ppr gpt-4")] - 3) <= 1
    code, text, err = call("reproduce", PAPER, "figure-5", *options)
    stated = {row["what"]: row["made"] for row in json.loads(text)["published"]}
    assert (stated["comparisons"], stated["comparisons of the least pair"]) == (14947, 96)


def test_without_a_judge_it_says_so(tmp_path):
    source = source_of(tmp_path, made_up(()), ())
    (first, *_) = RANKING.items
    with pytest.raises(ArenaError, match="No judge has a verdict here"):
        first.make(source)
