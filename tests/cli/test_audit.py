"""`audit` and `plan` on the command line: real votes against the golden file, bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest

from coupled_arena.core.choices import Ties
from coupled_arena.store.database import Store
from tests.batches import at_once, judge
from tests.stats.real_votes import FOLDER, needs_real_votes
from tests.stats.test_judge_audit import BOUNDS, CHECKED, GOLDEN, PLAIN, SECTIONS
from tests.store.conftest import make_battle, make_vote

RENAMED = {"power_tuning_limit": "lambda_limit"}
CONTRACT = {
    *("model", "b", "p", "q", "agreement", "balanced_agreement", "judge_bias", "rho_squared"),
    "tau_max",
}


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A database with all comparisons by people and by GPT-4, imported by the command line."""
    from coupled_arena.cli import main

    db = tmp_path_factory.mktemp("real") / "arena.duckdb"
    for command in (
        ["import", FOLDER / "human.json"],
        ["import", FOLDER / "gpt-4-0125-preview.json", "--judge", "gpt-4"],
    ):
        with pytest.raises(SystemExit) as stopped:
            main([*map(str, command), "--db", str(db)])
        assert not stopped.value.code
    return db


@pytest.fixture
def answer(call):
    def ask(*arguments):
        code, out, err = call(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return ask


@pytest.mark.slow
@needs_real_votes
@pytest.mark.parametrize("section", SECTIONS)
def test_all_real_votes(answer, real, section):
    golden = json.loads(GOLDEN.read_text())
    models = ",".join(golden["models"])
    found = answer("audit", "--db", real, "--models", models, "--ties", SECTIONS[section].value)
    assert found["judge"] == "gpt-4"
    rows = {row["model"]: row for row in found["models"]}
    assert set(rows) == set(golden["models"])
    names = {**PLAIN, BOUNDS[0]: "rho_squared_least", BOUNDS[1]: "rho_squared_most"}
    for model, row in rows.items():
        assert set(row) >= CONTRACT
        expected = {
            name: value
            for name, value in golden[section]["gpt4"][model].items()
            if name not in (*CHECKED, "tau_ci90")
        }
        for name, value in expected.items():
            ours = row[RENAMED.get(names[name], names[name])]
            assert ours == pytest.approx(value, abs=1e-9), (model, name)
    assert found["row_agreement"] == pytest.approx(0.569, abs=5e-4)
    assert found["first_by_people"] == pytest.approx(0.359, abs=5e-4)
    # Within pairs, from a regression of votes on verdicts with one slope; a tie is half a win.
    # With ties for losses it is .0692.
    assert found["board_explained"] == pytest.approx(0.0989, abs=5e-5)
    assert 10 * found["board_tau_max"] == pytest.approx(11.10, abs=5e-3)
    orders = found["orders"]
    assert orders["first"] / 14_947 == pytest.approx(0.400, abs=5e-4)
    assert len(found["differences"]) == 66
    assert any("adds nothing yet" in warning for warning in found["warnings"])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Two models, forty comparisons with both labels and thirty with a verdict alone."""
    db = tmp_path_factory.mktemp("small") / "small.duckdb"
    rng = np.random.default_rng(3)
    with Store.open(db) as store, at_once(store) as batch:
        for i in range(70):
            battle = make_battle("a", "b", prompts=(), replies=())
            batch.add_battle(battle)
            best = rng.random() < 0.6
            if i < 40:
                batch.cast(make_vote(battle, *((1, 2) if best else (2, 1))))
            said = best if rng.random() < 0.8 else not best
            judge(batch, "gpt", battle, 0, 1, "first" if said else "second")
    return db


def test_a_small_store(call, answer, small):
    found = answer("audit", "--db", small, "--alpha", "0.1")
    assert (found["judge"], found["comparisons"], found["judge_only_comparisons"]) == (
        "gpt",
        40,
        30,
    )
    for row in found["models"]:
        assert 0 < row["lambda"] < row["lambda_limit"]
        assert 1 < row["tau"] < row["tau_max"]
    (lead,) = found["differences"]
    assert lead["powered_low"] < lead["powered"] < lead["powered_high"]
    code, out, _ = call("audit", "--db", small)
    assert code == 0
    assert "With gpt, 10 human votes tell as much as" in out
    assert "ties loss, alpha 0.05" in out


def test_a_plan(call, answer, small):
    asked = ("plan", "a", "--db", small, "--width", "0.05", "--price", "0.002")
    found = answer(*asked)
    assert found["votes"] < found["votes_alone"]
    assert found["cost"] == pytest.approx(0.002 * found["verdicts_to_buy"])
    code, out, _ = call(*asked)
    assert code == 0
    assert out.splitlines() == found["words"]
    apart = answer("plan", "a", "--against", "b", "--lead", "0.1", "--db", small)
    assert apart["cost"] is None
    assert (apart["lead"], apart["power"]) == (0.1, 0.8)
    assert (apart["cutoff"], apart["board_models"]) == ("max-t", 2)
    assert apart["critical_value"] == pytest.approx(1.96, abs=0.02)
    lead = ("--lead", "0.1")
    watched = answer("plan", "a", "--against", "b", *lead, "--cutoff", "any-time", "--db", small)
    once = answer("plan", "a", "--against", "b", *lead, "--db", small)
    assert watched["cutoff"] == "any-time"
    assert watched["votes_alone"] > once["votes_alone"]
    assert "and at all looks" in watched["words"][0]
    assert (found["cutoff"], found["board_models"]) == (None, None)
    assert found["critical_value"] == pytest.approx(1.96, abs=0.001)


@pytest.mark.slow
@needs_real_votes
def test_a_plan_to_separate_a_model_from_several_at_once(answer, real):
    """More votes than for the harder one alone, by any chance to fail on the other."""
    one, other, both = (
        answer("plan", "gpt-4", "--against", names, "--lead", 0.03, "--db", real)
        for names in ("claude-v1", "gpt-3.5-turbo", "claude-v1,gpt-3.5-turbo")
    )
    assert both["other"] == "claude-v1,gpt-3.5-turbo"
    needed = [each["votes_alone"] / each["votes_there"] for each in (one, other, both)]
    assert needed[2] > 1.02 * max(needed[:2])
    assert "from claude-v1 and gpt-3.5-turbo at once" in both["words"][0]


@pytest.mark.slow
@needs_real_votes
def test_a_plan_for_a_place_on_the_leaderboard_of_all_models(answer, real):
    """Twenty models at once: a cut-off of 3.5, for which a test of two alone plans for 40 %."""
    board = answer("leaderboard", "--db", real, "--source", "human")
    found = answer("plan", "gpt-4", "--against", "claude-v1", "--db", real)
    assert found["board_models"] == len(board["models"])
    assert 3.2 < found["critical_value"] < 3.7
    alone = ((found["critical_value"] + 0.8416) / (1.96 + 0.8416)) ** 2
    assert alone > 2
    rates = {row["model"]: row["win_rate"] for row in board["models"]}
    assert found["estimated_lead"] == pytest.approx(rates["gpt-4"] - rates["claude-v1"])
    assert 0 < found["lead"] < found["estimated_lead"]  # some of it may be chance
    assert found["votes_least"] < found["votes_alone"] < found["votes_most"]
    told = answer("plan", "gpt-4", "--against", "claude-v1", "--lead", 0.03, "--db", real)
    assert told["lead"] == 0.03
    assert told["estimated_lead"] is told["votes_least"] is None
    assert "with probability 0.8 takes" in found["words"][0]
    assert 1 < found["tau_max"] < 1.2  # within pairs GPT-4 explains little


def test_a_store_with_votes_alone(call, tmp_path):
    db = tmp_path / "votes.duckdb"
    Store.open(db).close()
    code, _, err = call("audit", "--db", db)
    assert code == 1
    assert err == "Error: There are no verdicts here: let a judge judge, or import verdicts.\n"


def test_votes_alone_plan_a_separation(call, tmp_path):
    votes, db = tmp_path / "votes.csv", tmp_path / "arena.duckdb"
    b_wins = np.random.default_rng(0).random(120) < 0.4
    lines = (f"{n % 60},a,b,{'ab'[int(won)]},voter {n % 23}\n" for n, won in enumerate(b_wins))
    votes.write_text("id,model_a,model_b,winner,voter\n" + "".join(lines))
    assert call("import", votes, "--db", db)[0] == 0
    asked = ("plan", "a", "--against", "b", "--db", db)
    for lead, said in (("0.1", "There are 120 votes. Still needed: "), ("0.4", "enough.")):
        code, out, err = call(*asked, "--lead", lead)
        assert (code, err) == (0, "")
        assert said in out
        assert not any(word in out for word in ("judge", "verdict"))
    made = json.loads(call(*asked, "--json")[1])
    of_judges = ("verdicts", "verdicts_to_buy", "verdicts_per_vote", "votes", "cost", "tau")
    assert {made[name] for name in of_judges} == {None}
    assert made["votes_to_cast_alone"] >= 0
    code, _, err = call("plan", "a", "--db", db)
    assert (code, "let a judge judge" in err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("audit", "--judge", "nobody"), "no judge 'nobody'"),
        (("audit", "--alpha", "5"), "error level between 0 and 1"),
        (("audit", "--models", "a,zeta"), "No battle has zeta"),
        (("plan", "zeta"), "no verdict on 'zeta'"),
        (("plan", "a", "--against", "a"), "from itself"),
        (("plan", "a", "--width", "0"), "width"),
        (("plan", "a", "--against", "b", "--power", "2"), "power"),
        (("plan", "a", "--against", "b", "--ties", "drop"), "leave out --ties drop"),
        (("plan", "a", "--verdicts-per-vote", "-1"), "verdicts for each vote"),
        (("plan", "a", "--price", "-1"), "price"),
    ],
)
def test_what_cannot_be_answered_is_told_in_one_line(call, small, arguments, message):
    code, out, err = call(*arguments, "--db", small)
    assert (code, out) == (1, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("arguments", [("audit", "--ties", "win"), ("plan",)])
def test_wrong_usage(call, small, arguments):
    assert call(*arguments, "--db", small)[0] == 2


def test_the_choices_are_those_of_the_statistics(call):
    code, out, _ = call("audit", "--help")
    assert code == 0
    assert f"<{'|'.join(Ties)}>" in out
