"""Boards by a judge's probabilities, or without its flips, from a store to JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import coupled_arena as ca
from coupled_arena.analysis.leaderboard.board_estimates import Method, read_estimates
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.core.choices import BoardSource, Flips, JudgeScore, Voters
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Prompt
from coupled_arena.core.verdicts import Probabilities
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.judge_quality import own_models
from coupled_arena.store.tables import judges
from coupled_arena.views.words.leaderboard import board_warnings
from tests.batches import at_once, judge
from tests.stats.scored_rows import by_rows
from tests.stats.test_judge_scores import seen_by
from tests.store.conftest import make_battle, make_vote

MODELS, SAID = "abc", ("first", "second", "tie")
RANKS = ((1, 2), (2, 1), (1, 1))
TURNED = {"first": "second", "second": "first", "tie": "tie"}
WAYS = [
    (JudgeScore.PROBABILITY, Flips.TIE),
    (JudgeScore.VERDICT, Flips.ABSTAIN),
    (JudgeScore.PROBABILITY, Flips.ABSTAIN),
]


@pytest.fixture(scope="module")
def drawn():
    """Battles of two: (models, prompt, votes, [(order, verdict, probabilities or None)])."""
    rng = np.random.default_rng(12)
    battles = []
    for number in range(540):
        pair = list(combinations(range(3), 2))[number % 3]
        lean = rng.normal(0.4, 1.5)
        votes = [int(rng.choice(3, p=_law(lean))) for _ in range(max(number % 5 - 2, 0))]
        said = []
        for turned in (False, True)[: 1 + (number % 7 > 0)]:
            law = _law((-1 if turned else 1) * 1.2 * lean + rng.normal(0.3, 0.8))
            verdict = SAID[int(rng.choice(3, p=law))]
            said.append((turned, verdict, Probabilities(*law) if rng.random() < 0.9 else None))
        battles.append((pair, number // 6, votes, said))
    return battles


def _law(lean):
    first = 0.8 / (1 + np.exp(-lean))
    return [first, 0.8 - first, 0.2]


@pytest.fixture(scope="module")
def path(drawn, tmp_path_factory):
    path = tmp_path_factory.mktemp("judges") / "arena.duckdb"
    with Store.open(path) as store, at_once(store) as batch:
        for pair, prompt, votes, said in drawn:
            names = [MODELS[i] for i in pair]
            battle = make_battle(*names, prompts=(Prompt(f"Why {prompt}?"),), replies=())
            batch.add_battle(battle)
            for voter, vote in enumerate(votes):
                batch.cast(make_vote(battle, *RANKS[vote], voter=f"voter {voter}"))
            for turned, verdict, likely in said:
                judge(batch, "x", battle, *((1, 0) if turned else (0, 1)), verdict, likely)
    return path


@pytest.fixture(scope="module")
def store(path):
    with Store.open(path, read_only=True) as opened:
        yield opened


def scored(drawn, score, flips):
    """Return rows as `by_rows` takes them, their prompts, and what is to be told of them."""
    votes, alone, prompts, told = [], [], ([], []), {"abstained": 0, "votes": 0, "without": 0}
    for pair, prompt, said, judged in drawn:
        ways = {TURNED[v] if turned else v for turned, v, _ in judged}
        likely = [(p.second, p.first) if t else (p.first, p.second) for t, _, p in judged if p]
        hard = ways.pop() if len(ways) == 1 else "flip"
        times = max(len(said), 1)
        if flips is Flips.ABSTAIN and hard == "flip":
            g = None
            told["abstained"] += times
            told["votes"] += len(said)
        elif score is JudgeScore.PROBABILITY and len(likely) == len(judged):
            g = tuple(np.mean(likely, axis=0))
        else:
            g = (float(hard == "first"), float(hard == "second"))
            told["without"] += times * (score is JudgeScore.PROBABILITY)
        for h in said:
            votes.append((*pair, h, g))
            prompts[0].append(prompt)
        if not said and g:
            alone.append((*pair, g))
            prompts[1].append(prompt)
    return votes, alone, prompts, told


@pytest.mark.slow
@pytest.mark.parametrize(("score", "flips"), WAYS)
def test_the_board_is_what_loops_over_prompts_make_of_probabilities(drawn, store, score, flips):
    votes, alone, prompts, told = scored(drawn, score, flips)
    theta, covariance, tuning = by_rows(
        votes, alone, 3, lambda m, o, role: o, half=True, prompts=prompts
    )
    method = Method(voters=Voters.THESE)
    found = read_estimates(store, Selection("x", judge_score=score, flips=flips), method)
    powered, use = found.by_source[BoardSource.PPR], found.use
    assert (powered.human, powered.judge_only) == (len(votes), len(alone))
    assert 0.05 < powered.power_tuning == pytest.approx(tuning, abs=1e-10)
    assert powered.theta == pytest.approx(theta, abs=1e-10)
    assert powered.covariance == pytest.approx(covariance, abs=1e-10)
    assert (use.abstained, use.abstained_voted, use.without_probability) == tuple(told.values())
    assert use.comparisons == sum(max(len(said), 1) for _, _, said, _ in drawn)


def test_what_was_said_is_told_however_it_is_scored(store):
    plain, scored = (
        read_estimates(store, Selection("x", judge_score=score)) for score in JudgeScore
    )
    assert (plain.judged.labelled == scored.judged.labelled).all()
    assert plain.modes == scored.modes
    assert BoardSource.JUDGE in plain.by_source
    assert BoardSource.JUDGE not in scored.by_source


def test_the_board_says_what_it_left_out(path, store, drawn):
    arguments = {"judge_score": "probability", "flips": "abstain"}
    found = ca.leaderboard(ca.open(path), judge="x", **arguments)
    told = scored(drawn, JudgeScore.PROBABILITY, Flips.ABSTAIN)[-1]
    assert {name: found.settings[name] for name in arguments} == arguments
    answer = json.loads(json.dumps(found.to_dict()))
    assert {name: answer[name] for name in arguments} == arguments
    names = ("abstained", "abstained_votes", "without_probability")
    assert [answer[name] for name in names] == list(told.values())
    estimates = read_estimates(store, found.analysis.estimates.selection)
    first, second = (said for said in board_warnings(leaderboard(estimates)) if "judge" in said)
    assert f"{told['abstained']} of " in first
    assert f"abstains there. {told['votes']} votes count without it." in first
    assert second.startswith(f"{told['without']} of ")
    assert second.endswith("count as 0 or 1.")


@pytest.mark.parametrize("changes", [{"judge_score": "probability"}, {"flips": "abstain"}])
def test_verdicts_alone_count_as_they_are(path, changes):
    with pytest.raises(ArenaError, match="counts them as they are"):
        ca.leaderboard(ca.open(path), source="judge", judge="x", **changes)
    with pytest.raises(ArenaError, match="need one judge"):
        ca.leaderboard(ca.open(path), **changes)
    with pytest.raises(ArenaError, match=r"`(judge_score|flips)` is one of"):
        ca.leaderboard(ca.open(path), judge="x", **dict.fromkeys(changes, "loud"))


def test_a_selection_is_plain_or_not():
    plain = Selection("x", category="maths")
    assert plain.plain == plain
    assert replace(plain, flips=Flips.ABSTAIN).plain == plain


@pytest.mark.parametrize(("score", "flips"), WAYS)
def test_an_audit_corrects_by_probabilities_and_counts_verdicts(drawn, path, score, flips):
    votes, alone, _, told = scored(drawn, score, flips)
    found = ca.audit(ca.open(path), judge="x", judge_score=score.value, flips=flips.value)
    answer = found.to_dict()
    names = ("abstained", "abstained_votes", "without_probability")
    assert [answer[name] for name in names] == list(told.values())
    assert (answer["judge_score"], answer["flips"]) == (score.value, flips.value)
    spoken = [row for row in votes if row[3] is not None]
    assert answer["comparisons"] == len(spoken)
    assert answer["judge_only_comparisons"] == len(alone)
    for row in answer["models"]:
        h, g, more = seen_by(MODELS.index(row["model"]), votes, alone)
        spoke = ~np.isnan(g)
        assert (row["votes"], row["judge_only"]) == (len(h), len(more))
        assert row["b"] == pytest.approx(h.mean(), abs=1e-12)
        y, f = h - h.mean(), np.where(spoke, g - g[spoke].mean(), 0)
        n, N = spoke.sum(), len(more)
        tuning = (y @ f / (len(h) * n)) / (f @ f / n * (1 / n + 1 / N))
        assert row["lambda"] == pytest.approx(tuning, abs=1e-10)
        powered = h.mean() + tuning * (more.mean() - g[spoke].mean())
        assert row["powered"] == pytest.approx(powered, abs=1e-10)
    said = " ".join(answer["warnings"])
    assert ("abstains there" in said) == (flips is Flips.ABSTAIN)
    assert ("count as 0 or 1" in said) == (score is JudgeScore.PROBABILITY)


def test_audits_refuse_what_does_not_go_together(path):
    store = ca.open(path)
    with pytest.raises(ArenaError, match="leave ties as they are"):
        ca.audit(store, judge="x", ties="drop", flips="abstain")
    with pytest.raises(ArenaError, match="leave them out with grades"):
        ca.audit(store, judge="x", truth="benchmark", judge_score="probability")


def test_an_audit_tells_how_a_judge_takes_its_own_models_and_its_probabilities(drawn, path):
    store = ca.open(path)
    answer = ca.audit(store, judge="x", own=["a", "b"]).to_dict()
    judged = people = n = 0
    likely, said = [], []
    for pair, _, votes, verdicts in drawn:
        ways = {TURNED[v] if turned else v for turned, v, _ in verdicts}
        hard = ways.pop() if len(ways) == 1 else "tie"
        chances = [(p.second, p.first) if t else (p.first, p.second) for t, _, p in verdicts if p]
        for vote in votes:
            if pair != (0, 1):  # of two own models neither is preferred to another's
                n += 1
                judged += hard == "first"
                people += vote == 0
            if len(chances) == len(verdicts):
                p, q = np.mean(chances, axis=0)
                likely.append([p, q, 1 - p - q])
                said.append(np.eye(3)[vote])
    own = answer["self_preference"]
    assert own["models"] == ("a", "b")
    assert (own["comparisons"], own["judge"], own["people"]) == (n, judged / n, people / n)
    assert own["difference"] == pytest.approx((judged - people) / n)
    assert own["low"] < own["difference"] < own["high"]
    found = answer["calibration"]
    brier = ((np.array(likely) - np.array(said)) ** 2).sum(1).mean()
    assert (found["comparisons"], found["brier"]) == (len(likely), pytest.approx(brier, abs=1e-10))
    assert ca.audit(store, judge="x").to_dict()["self_preference"] is None
    with pytest.raises(ArenaError, match="No battle has z"):
        ca.audit(store, judge="x", own=["z"])


@pytest.mark.parametrize(
    ("judge_model", "own"),
    [
        ("gpt-4-0613", ["GPT 4", "openai/gpt-4"]),
        ("gpt-4o", []),
        ("Qwen/Qwen3-8B", ["qwen3-8b", "Qwen3-8B-4bit"]),
        ("imported", []),
    ],
)
def test_own_models_go_by_their_names(judge_model, own):
    names = ["GPT 4", "openai/gpt-4", "qwen3-8b", "Qwen3-8B-4bit", "imported", "llama"]
    with Store.in_memory() as store:
        store.add_battle(make_battle(*names, replies=()))
        store.write(lambda cursor: judges.bind(cursor, "strict", judge_model, "", "{}"))
        with store.cursor() as cursor:
            assert sorted(own_models(cursor, Selection("strict"))) == sorted(own)
