"""Boards with several judges, from a store: what counts, what is refused, what is said."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest

import coupled_arena as ca
from coupled_arena.analysis.leaderboard.board_estimates import Method, read_estimates
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.core.choices import BoardSource, TieScore, Voters, Weighting
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Prompt
from coupled_arena.stats.simulation.coverage import estimate_drawn
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.stats.simulation.rankings import Rankings
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.addresses import BoardAddresses
from coupled_arena.views.words.leaderboard import board_warnings, judge_words
from tests.batches import at_once, judge
from tests.boards import read_leaderboard
from tests.stats.several_judges import score
from tests.store.conftest import make_battle, make_vote

MODELS, JUDGES = "abc", ("x", "y")
SAID = ("first", "second", "tie")
RANKS = ((1, 2), (2, 1), (1, 1))
TOGETHER = Selection(judge="x", more_judges=("y",))


@pytest.fixture(scope="module")
def drawn():
    """Battles of two: (models, votes, verdicts of x and y or None), each on its own prompt."""
    rng = np.random.default_rng(12)
    battles = []
    for number in range(540):
        a, b = list(combinations(range(3), 2))[number % 3]
        lean = rng.normal(0.4, 2.0)
        votes = [int(rng.choice(3, p=_law(lean))) for _ in range(max(number % 5 - 2, 0))]
        verdicts = [int(rng.choice(3, p=_law(1.5 * lean))) for _ in JUDGES]
        missing = number % 11
        battles.append(
            ((a, b), votes, [v if missing != j else None for j, v in enumerate(verdicts)])
        )
    return battles


def _law(lean):
    first = 0.8 / (1 + np.exp(-lean))
    return [first, 0.8 - first, 0.2]


@pytest.fixture(scope="module")
def path(drawn, tmp_path_factory):
    path = tmp_path_factory.mktemp("judges") / "arena.duckdb"
    with Store.open(path) as store, at_once(store) as batch:
        for number, (pair, votes, verdicts) in enumerate(drawn):
            names = [MODELS[i] for i in pair]
            battle = make_battle(*names, prompts=(Prompt(f"Why {number}?"),), replies=())
            batch.add_battle(battle)
            for voter, vote in enumerate(votes):
                batch.cast(make_vote(battle, *RANKS[vote], voter=f"voter {voter}"))
            for name, said in zip((*JUDGES, "x, y"), (*verdicts, verdicts[0]), strict=True):
                if said is not None:
                    judge(batch, name, battle, 0, 1, SAID[said])
    return path


@pytest.fixture(scope="module")
def store(path):
    with Store.open(path, read_only=True) as opened:
        yield opened


def rows_of(drawn):
    """Return (prompt, a, b, vote, verdicts or None) of votes, and (prompt, a, b, verdicts)."""
    known = [(n, *pair, votes, g if None not in g else None) for n, (pair, votes, g) in drawn]
    votes = [(n, a, b, h, g) for n, a, b, said, g in known for h in said]
    return votes, [(n, a, b, g) for n, a, b, said, g in known if not said and g]


def by_loops(votes, alone):
    """Return θ, covariance and λ of the stratified mean, prompt by prompt; ties as losses."""
    pairs, gain, cost = [], np.zeros(2), np.zeros((2, 2))

    def scores(said):
        return [[score(g, role, half=False) for g in said] for role in range(2)]

    for pair in combinations(range(3), 2):
        here, others = ([row for row in rows if row[1:3] == pair] for rows in (votes, alone))
        heard = [row for row in here if row[-1]]
        h = np.array([[score(row[3], role, half=False) for role in range(2)] for row in here])
        g, more = (np.array([scores(row[-1]) for row in rows]) for rows in (heard, others))
        beside = h[[bool(row[-1]) for row in here]]
        for role in range(2):
            both = np.cov(np.column_stack([beside[:, role], g[:, role]]).T)
            gain += both[0, 1:] / len(h)
            cost += both[1:, 1:] / len(g) + np.cov(more[:, role].T) / len(more)
        pairs.append((list(pair), (here, h), (heard, g), (others, more)))
    tuning, theta, sums = np.linalg.solve(cost, gain), np.zeros(3), {}
    for pair, of_votes, beside, without in pairs:
        for (rows, values), weight in ((of_votes, None), (beside, -tuning), (without, tuning)):
            values = values if weight is None else values @ weight
            theta[pair] += values.mean(axis=0) / 2
            prompts = len({row[0] for row in rows})
            error = (values - values.mean(axis=0)) * np.sqrt(prompts / (prompts - 1))
            for row, both in zip(rows, error / len(rows) / 2, strict=True):
                sums.setdefault(row[0], np.zeros(3))[pair] += both
    return theta, sum(np.outer(s, s) for s in sums.values()), tuning


@pytest.mark.slow
def test_the_board_is_what_loops_over_prompts_make_of_votes_and_verdicts(drawn, store):
    """Votes count where one of both judges is silent; verdicts there do not."""
    votes, alone = rows_of(enumerate(drawn))
    assert len(alone) < sum(not said for _, said, _ in drawn)  # some only one has judged
    assert sum(row[-1] is None for row in votes) > 50
    theta, covariance, tuning = by_loops(votes, alone)
    method = Method(ties=TieScore.LOSS, voters=Voters.THESE)
    found = read_estimates(store, TOGETHER, method)
    together = found.by_source[BoardSource.PPR]
    assert (together.human, together.judge_only) == (len(votes), len(alone))
    assert together.judge_weights == pytest.approx(tuning, abs=1e-12)
    assert (np.array(tuning) > 0.05).all()
    assert together.theta == pytest.approx(theta, abs=1e-12)
    assert together.covariance == pytest.approx(covariance, abs=1e-12)
    assert together.clusters == len({row[0] for row in votes})
    assert found.unjudged == sum(row[-1] is None for row in votes)
    everyone = read_estimates(store, method=method).by_source[BoardSource.HUMAN]
    assert found.by_source[BoardSource.HUMAN].theta == pytest.approx(everyone.theta, abs=0)
    assert BoardSource.JUDGE not in found.by_source
    twice = read_estimates(store, Selection(judge="y", more_judges=("x",)), method)
    assert twice.by_source[BoardSource.PPR].judge_weights == pytest.approx(tuning[::-1], abs=1e-12)


def as_rankings(drawn):
    """Return the same as comparisons with voters: silent where a judge is, if somebody voted."""
    rows = []
    for n, (pair, votes, said) in enumerate(drawn):
        code = 16 if None in said else 4 * said[0] + said[1]
        known = [(n, *pair, vote, code, True, voter) for voter, vote in enumerate(votes)]
        rows += known or ([(n, *pair, 0, code, False, 0)] if code < 16 else [])
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Rankings(tuple(MODELS), *columns, judges=2)


def test_voters_have_tastes_beside_several_judges_too(drawn, store):
    rankings = as_rankings(drawn)
    for voters in Voters:
        found = read_estimates(store, TOGETHER, Method(voters=voters))
        for source, ranking in (
            (BoardSource.PPR, Ranking.PPR),
            (BoardSource.HUMAN, Ranking.HUMAN),
        ):
            one = found.by_source[source]
            expected = estimate_drawn(rankings, ranking, voters=voters)
            assert one.theta == pytest.approx(expected.theta, abs=1e-12)
            assert one.covariance == pytest.approx(expected.covariance, abs=1e-12)
            assert one.degrees == pytest.approx(expected.degrees, rel=1e-9)
            assert one.judge_weights == pytest.approx(expected.judge_weights, abs=1e-12)


@pytest.mark.parametrize("weighting", list(Weighting))
def test_a_judge_of_two_names_is_one(store, weighting):
    method = Method(weighting)
    one = read_estimates(store, Selection(judge="x"), method).by_source[BoardSource.PPR]
    both = Selection(judge="x", more_judges=("x, y",))  # who says the same
    two = read_estimates(store, both, method).by_source[BoardSource.PPR]
    assert sum(two.judge_weights) == pytest.approx(one.power_tuning, abs=1e-10)
    assert one.power_tuning > 0.1
    for name in ("theta", "covariance", "degrees", "floor", "size"):
        assert getattr(two, name) == pytest.approx(getattr(one, name), abs=1e-10), name


def test_what_is_said_of_several_judges(drawn, store):
    board = read_leaderboard(store, TOGETHER, Method(ties=TieScore.LOSS))
    x, y = board.estimate.judge_weights
    said = judge_words(board)
    assert "With these judges a model keeps" in said
    assert "To be as certain without them" in said
    assert f"x <b>{x:.2f}</b>, y <b>{y:.2f}</b>, together <b>λ = {x + y:.2f}</b>" in said
    votes = sum(len(said) for _, said, _ in drawn)
    others = sum(row[-1] is None for row in rows_of(enumerate(drawn))[0])
    warning = "{} of {} comparisons have no verdict of {}: they count as they are."
    assert warning.format(others, votes, "x and y") in board_warnings(board)
    alone = read_leaderboard(store, Selection(judge="x"))
    others = sum(len(said) for _, said, (of_x, _) in drawn if of_x is None)
    assert warning.format(others, votes, "x") in board_warnings(alone)
    people = leaderboard(board.estimates, source=BoardSource.HUMAN)
    assert not any("have no verdict" in said for said in board_warnings(people))
    row = board.standings[0]
    to, alone = BoardAddresses(board), BoardAddresses(read_leaderboard(store, Selection(judge="x")))
    assert to.standing(row, "judge_verdicts") is None
    assert "judge=x" in alone.standing(row, "judge_verdicts")
    with pytest.raises(ArenaError, match="verdicts alone is one judge's"):
        leaderboard(board.estimates, source=BoardSource.JUDGE)
    assert ca.plot(ca.leaderboard(ca.open(store.path), judge=JUDGES), "rank_sets")


def test_judges_without_a_battle_in_common(store):
    with Store.in_memory() as other:
        for name in JUDGES:
            battle = make_battle("a", "b", prompts=(Prompt(f"Why {name}?"),), replies=())
            other.add_battle(battle)
            other.cast(make_vote(battle, 1, 2))
            judge(other, name, battle, 0, 1, "first")
        board = read_leaderboard(other, TOGETHER)
    assert board.source is BoardSource.HUMAN
    assert board.estimate.human == 2
    assert "x and y have no verdicts on one battle here that this board could use." in (
        board_warnings(board)
    )


def nearly(answer):
    """Return an answer that equals others but for how DuckDB's threads round sums of floats."""
    if isinstance(answer, dict):
        return {name: nearly(part) for name, part in answer.items()}
    if isinstance(answer, list | tuple):
        return [nearly(part) for part in answer]
    return pytest.approx(answer, rel=1e-9) if isinstance(answer, float) else answer


def test_the_command_and_the_function_say_which_judges(path, call):
    def answer(*options):
        code, out, err = call("leaderboard", "--db", path, "--json", *options)
        assert code == 0, err
        return json.loads(out)

    both = answer("--judge", "x,y, x")
    assert (both["judge"], both["judges"], both["source"]) == (None, ["x", "y"], "ppr")
    assert both["lambda"] == pytest.approx(sum(both["lambdas"]), abs=1e-12)
    assert len(both["lambdas"]) == 2
    result = ca.leaderboard(ca.open(path), judge=("x", "y", "x"))
    assert result.to_dict() == nearly(both)
    assert result.settings["judge"] == ("x", "y")
    one = answer("--judge", "x,x")
    assert one == nearly(answer("--judge", "x"))
    assert (one["judge"], one["judges"], one["lambdas"]) == ("x", ["x"], [one["lambda"]])
    assert answer("--judge", "x, y")["judge"] == "x, y"  # there is a judge of this name
    people = answer("--judge", "x,y", "--source", "human")
    assert (people["judges"], people["lambdas"]) == (["x", "y"], [0.0, 0.0])
    assert answer()["judges"] == []
    code, out, _ = call("leaderboard", "--db", path, "--judge", "x,y")
    weights = ", ".join(f"{j} {w:.3f}" for j, w in zip("xy", both["lambdas"], strict=True))
    assert code == 0
    assert f"weights of the judges, where all of them judged: {weights}" in out


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--judge", "x,nobody"], "There is no judge 'nobody'. Judges here: x, x, y, y."),
        (["--judge", "x,y,v,w"], "At most 3 judges can be taken together, not 4: x, y, v, w."),
        (["--judge", "x,y", "--source", "judge"], "verdicts alone is one judge's"),
        (["--judge", ","], "names nothing"),
    ],
)
def test_judges_that_cannot_be_taken_together(path, call, options, why):
    code, out, err = call("leaderboard", "--db", path, *options)
    assert (code, out) == (1, "")
    assert why in err


def test_names_of_judges_in_python(path):
    with pytest.raises(ArenaError, match="no judge 'nobody'"):
        ca.leaderboard(ca.open(path), judge=["x", "nobody"])
    together = ca.leaderboard(ca.open(path), judge="x,y").to_dict()
    listed = ca.leaderboard(ca.open(path), judge=["x", "y"]).to_dict()
    assert together == nearly(listed)
