"""Questions of a benchmark in several wordings: told wherever their answers count together."""

from __future__ import annotations

import json

import pytest

from coupled_arena.analysis.audit.grades import read_key_estimates
from coupled_arena.analysis.audit.plan import PlanGoal, plan_interval, plan_separation
from coupled_arena.analysis.audit.result import audit
from coupled_arena.analysis.audit.verdicts import read_audit_estimates
from coupled_arena.analysis.coupling.savings import read_protocol_scores
from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.analysis.risk.replies import read_stored_scores
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.records import Mode, Outcome, Prompt, Score
from coupled_arena.core.verdicts import Matchup
from coupled_arena.papers.coupled_generation import win_rates
from coupled_arena.papers.judge import answers_worth, votes_worth
from coupled_arena.papers.ranking.tables import compared
from coupled_arena.papers.risk.curves import metric_densities
from coupled_arena.papers.source import PaperSettings, PaperSource
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores
from coupled_arena.views.words.audit import audit_warnings
from coupled_arena.views.words.leaderboard import board_warnings
from coupled_arena.views.words.plan import plan_words
from tests.batches import at_once
from tests.families import first_of
from tests.store.conftest import make_battle, make_vote

TOLD = "2 questions of a benchmark were put in different words"
ANN, ANN_OR_BOB = PlanGoal("ann"), PlanGoal("ann", "bob", lead=0.1)
RUNS = {
    "system": {"system": "Be brief."},
    "question": {"text": "Now then: {}"},
    "beginning": {"prefix": "The answer:"},
    "nothing": {},
}


def put(text, number, system="", prefix=""):
    return Prompt(text.format(f"What is {number}?"), f"q{number}", "sums", None, system, prefix)


def fill(store, changed):
    """Store two runs on two questions, the second in other words; votes and verdicts on all."""
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    runs = ({"text": "{}"}, {"text": "{}", **changed})
    battles = [
        make_battle("ann", "bob", mode=mode, prompts=(put(number=number, **run),), seed=seed)
        for seed, run in enumerate(runs)
        for number in range(2)
        for mode in (Mode.COUPLED, Mode.INDEPENDENT)
        for _ in range(2)
    ]
    with at_once(store) as batch:
        for at, battle in enumerate(battles):
            marks = [Score(0, place, "quiz", float((at + place) % 3 > 0), "9") for place in (0, 1)]
            batch.add_battle(battle, marks)
            batch.cast(make_vote(battle, 1, 2 - (at in (0, 3, 4, 5, 6, 9, 14))))
            met = Matchup(battle.id, 0, 1, ("",), ("",), ("",))
            batch.verdicts.append(met.answered("gpt", Outcome.FIRST, "…"))


@pytest.fixture(params=first_of("system", "nothing", "question", "beginning", keep=2))
def run(request):
    with Store.in_memory() as store:
        fill(store, RUNS[request.param])
        yield store, request.param != "nothing"


def said(store):
    """Return what is said of each analysis, by its name."""
    gpt = Selection(judge="gpt")
    source = PaperSource(PaperSettings(), lambda: store)
    return {
        "board": board_warnings(leaderboard(read_estimates(store))),
        "audit": audit_warnings(audit(read_audit_estimates(store, gpt))),
        "plan of an interval": plan_words(plan_interval(read_audit_estimates(store, gpt), ANN)),
        "plan of a place": plan_words(plan_separation(read_estimates(store, gpt), ANN_OR_BOB)),
        "key": audit_warnings(audit(read_key_estimates(store, Selection(judge="ann")))),
        "risk": read_stored_scores(store, metrics=["quiz"]).notes,
        "paper on judges, answers": answers_worth(source).notes,
        "paper on judges, votes": votes_worth(source).notes,
        "paper on coupling": win_rates(source).notes,
        "paper on ranking": compared(source).notes,
        "paper on risk": metric_densities(source).notes,
    }


def test_what_counts_together_is_told(run):
    store, mixed = run
    for name, notes in said(store).items():
        assert any(note.startswith(TOLD) for note in notes) == mixed, name


@pytest.mark.parametrize("run", first_of("question", "nothing"))
def test_what_is_drawn_again_and_again_is_told(run, call, tmp_path):
    with Store.open(tmp_path / "arena.duckdb") as store:
        fill(store, RUNS[run])
    command = ("resample", "--db", store.path, "--total", 12, "--human", 6, "--repeats", 2)
    code, out, _ = call(*command, "--json")
    assert code == 0
    warned = any(note.startswith(TOLD) for note in json.loads(out)["warnings"])
    assert warned == (run != "nothing")
    assert (TOLD in call(*command)[1]) == warned


def test_protocols_are_not_compared_over_wordings(run):
    store, mixed = run
    if not mixed:
        assert read_protocol_scores(store).table.coupled.shape == (2, 4, 2)
        return
    with pytest.raises(ScoreError, match="2 questions of quiz were put in different words"):
        read_protocol_scores(store)


def test_battles_that_nobody_compared_are_no_matter_on_a_board():
    """A benchmark beside votes on other questions does not make their board a mixture."""
    with Store.in_memory() as store:
        store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
        with at_once(store) as batch:
            for text in ("{}", "Now then: {}"):
                battle = make_battle("ann", "bob", prompts=(put(text, 1),))
                batch.add_battle(battle, [Score(0, 0, "quiz", 1.0, "9")])
            other = make_battle("ann", "bob", prompts=(Prompt("How are you?"),))
            batch.add_battle(other)
            batch.cast(make_vote(other, 1, 2))
        assert not read_estimates(store).reworded
