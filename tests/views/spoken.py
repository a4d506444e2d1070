"""All computed sentences, each on results that call for it, in the language in force."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np

from coupled_arena.analysis import voter_report
from coupled_arena.analysis.agreement import AnnotatorAgreement, OwnAgreement
from coupled_arena.analysis.audit.plan import Crowd, PlanGoal, VotePlan
from coupled_arena.analysis.gate.plan import GatePlan, PromptsNeeded
from coupled_arena.analysis.gate.result import (
    BOARD,
    CandidateGate,
    Churn,
    Cost,
    GateReport,
    GateSettings,
)
from coupled_arena.analysis.gate.stored import GateRows, GateStanding
from coupled_arena.analysis.gate.worth import NoiseWorth
from coupled_arena.analysis.model_sizes import ModelSize
from coupled_arena.analysis.risk.result import RiskSettings, risk_report
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.analysis.style.judge import HeldAgreement, JudgeStyle, TraitBeside
from coupled_arena.analysis.style.result import (
    ControlledModel,
    Score,
    Share,
    StyleBoard,
    TraitEffect,
)
from coupled_arena.analysis.style.rows import Counted, Obstacle, ObstructedError
from coupled_arena.analysis.voter_report import VoterReport, VoterRow
from coupled_arena.battles.first_divergence import Divergence, Option, Reason
from coupled_arena.battles.replay import Replay
from coupled_arena.core.choices import (
    BoardSource,
    Copula,
    Correction,
    Cutoff,
    Look,
    Measure,
    PValues,
    Ties,
    Trait,
    Voters,
)
from coupled_arena.core.language import _
from coupled_arena.core.records import Mode
from coupled_arena.generation.draws import Candidate
from coupled_arena.stats.closeness import Mean
from coupled_arena.stats.coupling.score_tables import ScoreTable
from coupled_arena.stats.gate.betting import Verdict
from coupled_arena.stats.judges.planner import Needs
from coupled_arena.stats.krippendorff import Agreement
from coupled_arena.stats.risk.dominance import Order
from coupled_arena.stats.simulation.rank_set_runs import Ranking
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables.exclusions import Excluded
from coupled_arena.store.tables.gates import ScoredPrompt, StoredGate
from coupled_arena.views.model_pages import trend
from coupled_arena.views.model_sizes import size_facts
from coupled_arena.views.words import methods
from coupled_arena.views.words.agreement import NO_JUDGE, agreement_findings, own_agreement_words
from coupled_arena.views.words.audit import (
    audit_findings,
    audit_verdict,
    key_words,
)
from coupled_arena.views.words.coupling import (
    calculator_findings,
    coupling_verdict,
    coupling_warnings,
    coupling_words,
)
from coupled_arena.views.words.experiments import resampling_verdict
from coupled_arena.views.words.first_divergence import divergence_words, replay_words
from coupled_arena.views.words.gate import coupling_words as coupling_words_of_gate
from coupled_arena.views.words.gate import gate_plan_words, gate_warnings, gate_words, verdict_name
from coupled_arena.views.words.gate_costs import churn_words, cost_words
from coupled_arena.views.words.gate_runs import progress_words, standing_verdict, state_name
from coupled_arena.views.words.glossary import glossary
from coupled_arena.views.words.leaderboard import judge_words, mode_words
from coupled_arena.views.words.names import without_both, without_data
from coupled_arena.views.words.plan import plan_findings
from coupled_arena.views.words.risk import risk_findings, risk_verdict, risk_warnings
from coupled_arena.views.words.style import (
    judge_style_warnings,
    judge_style_words,
    style_warnings,
    style_words,
)
from coupled_arena.views.words.verdict import board_verdict
from coupled_arena.views.words.votes import excluded_words, told_words, voters_words
from tests.views import made_up_laws, spoken_boards

COLOURS = ("mauve", "ochre", "plum", "coral", "olive", "ivory", "khaki")
METRICS = ("teal", "taupe")
_METHODS = (
    *(
        methods.BOARD,
        methods.LINES,
        methods.AUDIT,
        methods.COUPLING,
        methods.RISK,
        methods.EXPERIMENTS,
    ),
    methods.GATE,
)
_ONE, _TWO, _THREE = COLOURS[:3]


def spoken(found):
    """Yield every sentence by the case that calls for it; `found` is that of `drawn.results`."""
    speakers = {
        "board": spoken_boards.boards(),
        "warnings": spoken_boards.estimates(),
        "modes": _modes(),
        "style": _styles(),
        "style of a judge": _judge_styles(),
        "judge": _judged_boards(found["judged board"].analysis),
        "audit": _audits(found["audit"].analysis),
        "graded": _audits(found["graded"].analysis),
        "size": _sizes(),
        "plan": _plans(),
        "coupling": _couplings(found["coupling"].analysis),
        "gate": _gates(),
        "closeness": made_up_laws.said(),
        "run of a gate": _gate_runs(),
        "risk": _risks(),
        "agreement": _agreements(),
        "experiment": _experiments(),
        "own": _own(),
        "parting": _partings(),
        "replay": _replays(),
        "voters": _voters(),
        "method": map(_, _METHODS),
        "term": (f"{each['title']}: {each['meaning']}" for each in glossary()),
        "no judge": iter([_(NO_JUDGE)]),
        "no data": (said(COLOURS[:n]) for said in (without_data, without_both) for n in (1, 2)),
    }
    for name, sentences in speakers.items():
        for at, sentence in enumerate(sentences):
            yield f"{name} {at}", str(sentence)


def _modes():
    rates = np.linspace(0.2, 0.8, len(COLOURS))
    pairs = [*combinations(COLOURS, 2)]
    for flips, compared in ((0, 1), (0, 7), (2, 7), (6, 7), (9, 7)):
        difference = np.where(np.arange(len(COLOURS)) < compared, 0.1, np.nan)
        for change, low, high in (
            (np.nan, 0, 0),
            (np.inf, 0, 0),
            (-1, 0, 0),
            (0.1, -0.1, 0.3),
            (0.4, 0.1, np.inf),
            (0.4, 0.1, 0.6),
            (-0.4, -0.6, -0.1),
        ):
            modes = SimpleNamespace(
                models=COLOURS,
                averages=SimpleNamespace(coupled=rates, difference=difference),
                flips=tuple(pairs[:flips]),
                tie_change=change,
                tie_interval=lambda alpha, ends=(low, high): ends,
            )
            for modes.people, modes.both in ((None, None), (2, 0), (1200, 3)):
                estimates = SimpleNamespace(modes=modes)
                yield mode_words(SimpleNamespace(estimates=estimates, alpha=0.05))


def _styles():
    """Yield what is said of style: every trait, clear or not, and all that may be in the way."""
    clear, luck = Share(0.7, 0.6, 0.8), Share(0.5, 0.4, 0.6)
    held = Score(*(0.0,) * 4, 1, 1, 1, *(0.0,) * 4)
    nothing = np.zeros(0)
    for moved, prompts, without in ((0, 1, 0), (1, 2, 1), (2, 2, 2), (6, 500, 1200)):
        empty = Counted(COLOURS, 0, 0, without, tuple(Trait), (), nothing, nothing)
        counted = replace(
            empty, comparisons=9, prompts=prompts, constant=tuple(Trait)[:2], people=1200
        )
        for share in (clear, luck):
            effects = tuple(
                TraitEffect(trait, *(0.0,) * 4, share, share, None, 1.0, 1.0) for trait in Trait
            )
            rows = tuple(
                ControlledModel(name, held, replace(held, rank=1 + (at < moved)))
                for at, name in enumerate(COLOURS)
            )
            yield from style_words(StyleBoard(None, 0.05, rows, effects))
        for found in (None, *map(ObstructedError, Obstacle)):
            named = found and ObstructedError(found.obstacle, tuple(Trait))
            for each in (empty, counted):
                estimates = SimpleNamespace(obstructed=named, counted=each)
                yield from style_warnings(SimpleNamespace(estimates=estimates))


def _sizes():
    for size in (
        ModelSize(),
        ModelSize(_ONE, _TWO, "none", 999_999_999, 0.5),
        ModelSize(_ONE, _TWO, _THREE, 1_500_000_000, 2.0),
        ModelSize(quantization=_THREE, bytes_per_weight=1.3),
    ):
        yield from (f"{name}: {value}" for name, value in size_facts(size))
    points = ((1, 0.5, 0.0, 1.0), (2, 0.6, 0.2, 0.9))
    found = trend(SimpleNamespace(trend=points, alpha=0.05))
    yield from (found["note"], found["last"], *(dot["said"] for dot in found["dots"]))


def _judge_styles():
    """Yield what is said of a judge beside people: every trait, clear or not, all obstacles."""
    held, half = HeldAgreement(0.6, 0.5, 0.7), Share(0.5, 0.4, 0.6)
    nothing = np.zeros(0)
    counted = Counted(COLOURS, 9, 1, 0, tuple(Trait), (), nothing, nothing)
    for low, agreement in ((-0.1, None), (0.1, held)):
        traits = tuple(
            TraitBeside(effect, effect, 0.2, low, 0.3)
            for effect in (
                TraitEffect(trait, *(0.0,) * 4, half, half, None, 1.0, 1.0) for trait in Trait
            )
        )
        for obstructed in (None, ObstructedError(Obstacle.PROMPTS)):
            estimates = SimpleNamespace(obstructed=obstructed, counted=counted)
            found = JudgeStyle(estimates, 0.05, traits, (), agreement, agreement)
            yield from judge_style_words(found)
            yield from judge_style_warnings(found)


def _judged_boards(board):
    yield judge_words(board)
    yield board_verdict(board)
    for saved, weights in product((None, 0.2, 1500), ((0.4,), (0.1, 0.3))):
        by_source = {
            BoardSource.PPR: SimpleNamespace(power_tuning=0.4, judge_weights=weights),
            BoardSource.HUMAN: SimpleNamespace(human=1200),
        }
        selection = Selection(judge=spoken_boards.JUDGE, more_judges=(_ONE,) * (len(weights) - 1))
        estimates = SimpleNamespace(by_source=by_source, votes_saved=saved, selection=selection)
        yield judge_words(SimpleNamespace(sizes=lambda source: {_ONE: 2.5}, estimates=estimates))


def _audits(base):
    yield audit_verdict(base)
    yield audit_findings(base)
    estimates, rows = base.estimates, base.models
    nothing = replace(base, estimates=replace(estimates, outcomes=0 * estimates.outcomes))
    yield audit_verdict(nothing)
    yield audit_findings(nothing)
    for changes in (
        {"tau_max": None},
        {"tau_max_low": None},
        {"tau_max_low": 0.9, "tau_max_high": 3.0, "tau_max": 1.5, "tau": 1.2},
        {"tau_max_low": 1.1, "tau_max_high": 30.0, "tau_max": 12.5, "tau": 1.2},
        {"bias_low": None, "judge_bias": 0.1},
        {"judge_bias": 0.1, "bias_low": -0.1, "bias_high": 0.3},
        {"judge_bias": 0.1, "bias_low": 0.05, "bias_high": 0.15},
        {"judge_bias": -0.1, "bias_low": -0.15, "bias_high": -0.05},
        {"at_frontier": True},
        {"n": 0},
        {"n": 1, "rho": None},
    ):
        changed = tuple(replace(row, **changes) for row in rows)
        one = (changed[0], *(replace(row, n=9, rho=0.5, at_frontier=False) for row in rows[1:]))
        known = replace(base, models=changed, board_explained=0.5)
        for gap, alone in ((0.5, 0), (0.001, 1200)):
            told = replace(known, largest_bias=0.1, smallest_gap=gap)
            yield audit_findings(replace(told, estimates=replace(estimates, alone=alone)))
        yield audit_findings(replace(known, models=one))
    yield from _audits_of_estimates(base)


def _audits_of_estimates(base):
    estimates, ranges = base.estimates, dict.fromkeys(Ties, (0.5, 1.5))
    orders, lengths = estimates.orders, estimates.lengths
    for clusters, swapped, silent, readers in ((1, 0, 1, 0), (5, 40, 2, 30), (500, 40, 5, 0)):
        changed = replace(
            estimates,
            means=replace(estimates.means, clusters=clusters),
            orders=replace(orders, first=5, second=3, swapped=swapped, unreadable=swapped),
            lengths=replace(lengths, judge_longer=20, judge_all=30, human_all=readers),
            silent=COLOURS[:silent],
            mixed=tuple(Mode),
            reworded=silent,
        )
        shown = replace(base, estimates=changed, tau_max_range=ranges, first_by_people=0.4)
        yield audit_findings(shown)
    if estimates.voted is not None:  # of people, not of a benchmark
        one = (
            {"people": 1, "worth": None},
            {"people": 9, "worth": 89.0},
            {"people": 9, "worth": 9.0},
        )
        voted = [{"voted": replace(estimates.voted, votes=90, **each)} for each in one]
        for change in (*voted, {"voters": Voters.THESE}, {"majority": True}):
            yield audit_findings(replace(base, estimates=replace(estimates, **change)))
    for only in Mode:
        yield " ".join(key_words(replace(base, estimates=replace(estimates, only=only))))


def _plans():
    for lead, cutoff, n, limit in product(
        (None, 0.03), (Cutoff.MAX_T, Cutoff.ANY_TIME), (1, 1200), (2.5, np.inf)
    ):
        goal = PlanGoal(_ONE, _TWO, cutoff=cutoff, price=0.5)
        for votes, there in ((n, 0), (n + 1, 0), (1, n - 1), (1, n)):
            needs = Needs(n, votes, 10 * n, 3.0, 1.5, limit)
            plan = VotePlan(goal, spoken_boards.JUDGE, needs, there, there, lead, 2.3, 4)
            yield plan_findings(plan)
            several = replace(goal, more=spoken_boards.COLOURS[2:3])
            yield plan_findings(replace(plan, question=several))
            for between, judge in product((0.1, 0.01), ("", spoken_boards.JUDGE)):
                crowd = Crowd(30, 100.0, 30.0, 1.0, 3000, 0.01, between, 0.05)
                yield plan_findings(replace(plan, people=crowd, judge=judge))
            if lead is not None:
                likely = {"estimated_lead": -0.05, "votes_least": n, "votes_most": 9 * n}
                yield plan_findings(replace(plan, **likely))


def _couplings(base):
    pair = base.pairs[0]
    for low, high, savings, gap in (
        (0.1, 0.4, 0.3, 0.0),
        (-0.4, -0.1, -0.3, 9.0),
        (-0.1, 0.4, 0.2, 0.0),
        (-1.0, 0.4, 0.2, 0.0),
        (-0.1, 0.4, np.nan, 0.0),
    ):
        changed = replace(
            pair, savings=savings, savings_low=low, savings_high=high, identity_gap=gap
        )
        yield from coupling_words(base, changed)
        yield from (coupling_verdict(base, each) for each in base.by_saving)
        for left_out in (0, 1, 2):
            scores = replace(base.scores, left_out=left_out)
            yield from coupling_warnings(replace(base, pairs=(changed, changed), scores=scores))
        costly = replace(
            changed,
            variances_coupled=changed.variances_independent,
            difference_error_coupled=changed.difference_error_independent,
        )
        for each, answers in product((changed, costly), (1, 3)):
            yield calculator_findings(each, 0.1, answers, 0.05)
    rng = np.random.default_rng(3)
    blocks = [np.repeat(5 * rng.normal(size=60), 4)[:, None] + np.zeros(2) for _ in range(2)]
    shifted = [(b + 0.1 * rng.normal(size=b.shape)).reshape(120, 2, 2) for b in blocks]
    scores = replace(base.scores, table=ScoreTable(COLOURS[:2], *shifted))
    yield from coupling_warnings(replace(base, scores=scores))


def _gates():
    """Every verdict, of scores and votes, known and unknown, with all that noise may be worth."""
    row = CandidateGate(_TWO, Verdict.UNKNOWN, "t", 0.5, 0.4, -0.1, -0.2, 0.1, 9, 9, 2, 5, 5, 1, 1)
    report = GateReport(
        *(_ONE, (row,), GateSettings(), Measure.SCORES, METRICS[0], (0.0, 1.0), True)
    )
    groups, once = {"prompts": 18}, GateSettings(look=Look.ONCE)
    worth = NoiseWorth(0.4, 0.3, 0.5, 0.8)
    for verdict in Verdict:
        known = None if verdict is Verdict.UNKNOWN else 5
        yield from _gate(report, replace(row, verdict=verdict, known_after=known))
        yield from _gate(report, replace(row, verdict=verdict, known_after=known, **groups))
        yield verdict_name(verdict)
    for difference in (-0.01, 0.0, 0.01):
        yield from _gate(report, replace(row, verdict=Verdict.AS_GOOD, difference=difference))
    for further in (1, 30, None):
        for changes in ({}, groups, {"method": BOARD}):
            yield from _gate(report, replace(row, further=further, **changes))
    for each in (worth, replace(worth, low=-0.1), None):
        for coupled in (True, False):
            yield from _gate(replace(report, coupled=coupled), replace(row, worth=each))
    yield from _gate(replace(report, coupled=False), replace(row, repeated=9))
    for after in (4, None):
        yield from _gate(report, replace(row, independent=True, independent_after=after))
    yield from _gate(replace(report, settings=once), row)
    yield from _gate(report, replace(row, missing=0.3))
    for largest in (None, 12):
        counted = replace(report, settings=GateSettings(largest_group=largest))
        yield from _gate(counted, replace(row, uneven=True))
    yield from _gate(replace(report, measure=Measure.VOTES), row)
    share = Mean(0.2, 0.1, 0.3)
    for measured, alone in product((True, False), (share, None)):
        changed = replace(row, churn=Churn(9, measured, share, share, alone, alone))
        yield from churn_words(replace(report, candidates=(changed,)))
    for cost, large in ((Cost(1.0, 1e6, 9.0), Cost(4.0, 4e6, 3.0)), (Cost(1.0), Cost(4.0))):
        costly = replace(report, candidates=(replace(row, cost=cost),), base_cost=large)
        yield from cost_words(costly)
    yield from gate_words(replace(report, candidates=(row, row)))
    needed = PromptsNeeded("coupled", 0.1, 90, 100, 200)
    protocols = "coupled", "independent", "as here"
    rows = [replace(needed, protocol=each) for each in protocols]
    rows += [replace(needed, most=None), replace(needed, least=None)]
    for prompts in (1, 50):
        aim = _ONE, _TWO, METRICS[0], 0.02, 0.05, 0.8
        yield from gate_plan_words(GatePlan(*aim, prompts, prompts, 1, tuple(rows)))
    for groups in (1, 20):
        yield from gate_plan_words(GatePlan(*aim, 50, groups, 1, tuple(rows)))
    for prompts in (1, 50):
        seconds = GatePlan(*aim, prompts, prompts, 1, tuple(rows), seconds=60.0)
        yield from gate_plan_words(seconds)
        yield from gate_plan_words(GatePlan(*aim, 0, 0, 1, tuple(rows), answers_read=prompts))


_PROMPT = ScoredPrompt("A question", "", "b", Mode.COUPLED, ((1.0, 1.0),))


def _gate_runs():
    """Every way in which a gate of the app goes on."""
    planned = ("7", _ONE, _TWO, METRICS[0], 0.02, 0.05, "ff", 1)
    row = CandidateGate(
        _TWO, Verdict.UNKNOWN, "t", 0.5, 0.4, -0.1, -0.2, 0.1, 9, 9, 1, None, 1, 1, 1
    )
    found = GateReport(
        *(_ONE, (row,), GateSettings(), Measure.SCORES, METRICS[0], (0.0, 1.0), True)
    )
    far = replace(found, candidates=(replace(row, further=900),))
    for prompts, report in product((1, 300), (None, found, far)):
        gate = StoredGate(*planned, ("b",) * prompts, datetime(2026, 3, 1, tzinfo=UTC))
        standing = GateStanding(gate, report, GateRows((_PROMPT,) * min(9, prompts)))
        yield standing_verdict(standing)
        for running in (True, False):
            yield state_name(standing, running=running)
            yield progress_words(standing, running=running, crowded=running)


def _gate(report, row):
    found = replace(report, candidates=(row,))
    yield from (*gate_words(found), *coupling_words_of_gate(found), *gate_warnings(found))


def _risks():
    for shifts in ([3, 0], [3, 3, 0], [0, 0, 0]):
        for copula, (correction, p_values) in product(
            Copula, zip(Correction, PValues, strict=True)
        ):
            settings = RiskSettings(
                bootstraps=99, correction=correction, p_values=p_values, copula=copula
            )
            yield from _ranked(_scores(shifts), settings)
    yield from _ranked(_scores([1, 0], prompts=400), RiskSettings(bootstraps=99, paired=False))
    weights = RiskSettings(bootstraps=5, copula=Copula.EMPIRICAL, weights=(1, 2))
    yield from _ranked(_scores([3, 0], prompts=2), weights)
    still = _scores([0, 0, 0], prompts=40)
    same = replace(still, values=(still.values[0], still.values[0], 0 * still.values[2]))
    yield from _ranked(same, RiskSettings(bootstraps=99, copula=Copula.EMPIRICAL))
    opposed = tuple(values[:, :1] * (1, -1) for values in still.values)
    yield from _ranked(
        replace(still, values=opposed), RiskSettings(bootstraps=99, copula=Copula.EMPIRICAL)
    )
    one = same.with_metrics(METRICS[:1])
    yield from _ranked(one, RiskSettings(bootstraps=99, copula=Copula.NONE))
    yield from _orders()


def _scores(shifts, prompts=60):
    rng = np.random.default_rng(3)
    own = tuple(f"q{at}" for at in range(prompts))
    values = tuple(shift + rng.normal(size=(prompts, 2)) for shift in shifts)
    k = len(shifts)
    return RiskScores(COLOURS[:k], METRICS, (own,) * k, values)


def _ranked(scores, settings):
    report = risk_report(scores, settings)
    for view in report.views:
        yield risk_findings(report, view)


def _orders():
    """Yield what is said of every kind of order, of metrics that are merits and of others."""
    report = risk_report(_scores([3, 1, 0, 0], prompts=40), RiskSettings(bootstraps=99))
    turned = replace(report.view, mean_win_rates=-report.view.mean_win_rates)
    yield risk_findings(report, turned)
    for lower, unjudged, pairs, k in product(
        (METRICS[:1], METRICS, ()),
        ((), METRICS),
        ((), [(0, 1), (0, 2), (0, 3)], [(0, 1)], [(0, 1), (2, 1), (3, 1)], _CIRCLE, _ONE_FREE),
        (1, 4),
    ):
        known = replace(
            report.scores, lower_is_better=frozenset(lower), unjudged=frozenset(unjudged)
        )
        wins = np.zeros((4, 4), dtype=bool)
        for one, other in pairs:
            wins[one, other] = True
        order = SimpleNamespace(relative=SimpleNamespace(wins=wins))
        view = replace(report.view, models=report.view.models[:k], dominance={Order.SECOND: order})
        told = replace(report, scores=known)
        yield risk_verdict(told, view)
        yield from risk_warnings(told)


_CIRCLE = [(0, 1), (1, 2), (2, 3), (3, 0)]
_ONE_FREE = [(0, 1), (1, 2), (2, 3), (3, 1)]


def _agreements():
    for battles, votes, prompts, (alpha, low) in product(
        (0, 1, 12), (1, 30), (1, 2, 200), ((None, None), (0.5, None), (0.5, 0.3))
    ):
        at = Agreement(alpha, low, low and 0.7, 0.1, 0.2, votes, votes, prompts, votes or None)
        yield agreement_findings(
            AnnotatorAgreement(Selection(), 0.05, at, battles, 1200, max(battles, 1))
        )


def _experiments():
    for gain, repeats in ((0.1, 5), (0.5, 40), (-0.5, 40), (0.0, 40)):
        qualities = [
            SimpleNamespace(
                ranking=ranking, human=60, alpha=0.05, size=size, size_error=0.1, intersection=0.9
            )
            for ranking, size in ((Ranking.HUMAN, 3.0), (Ranking.PPR, 3.0 - gain))
        ]
        plan = SimpleNamespace(human=(60,), total=300)
        result = SimpleNamespace(plan=plan, repeats=repeats, qualities=qualities)
        yield resampling_verdict(result, spoken_boards.JUDGE)


def _own():
    for n, low in product((1, 1200), (0.0, 0.4)):
        yield own_agreement_words(OwnAgreement(spoken_boards.JUDGE, 1, n, n, low, 1.0, 0.05))


def _partings():
    yield from divergence_words(_reason(texts=("end", "control")))
    for position, options in product((0, 1, 1200), (True, False)):
        texts = ("end", "more")
        told = _reason(position=position, options=options, texts=texts, by_bytes=True)
        yield from divergence_words(told)
    for position, coupled in product((0, 1, 1200), (True, False)):
        yield from divergence_words(_reason(position=position, coupled=coupled))
        yield from divergence_words(_reason(position=position, options=False))
    for ours, theirs, luck in product((0.7, 0.01), (0.1, 0.6), (-3.0, -0.5, 0.1, 5.0)):
        yield from divergence_words(_reason(chances=(ours, theirs), noises=(luck, 0.0)))
    yield from divergence_words(_reason(noises=(None, None)))
    for seen, least in product(
        ((True, True), (True, False), (False, True)), ((0.01, 0.0), (0.0, 0.01))
    ):
        yield from divergence_words(_reason(seen=seen, least=least))
        yield from divergence_words(_reason(seen=seen, least=least, by_bytes=True))
    yield from divergence_words(_reason(least=(None, 0.0), again=(True, False)))


def _reason(
    *,
    position=3,
    coupled=True,
    options=True,
    texts=("text", "text"),
    chances=(0.7, 0.2),
    noises=(0.4, 0.1),
    seen=(True, True),
    least=(0.01, 0.0),
    again=(True, True),
    by_bytes=False,
):
    """Return why two answers parted; `seen`: whether each model saw the other's, and its own."""
    mine, yours = (
        Candidate(at + 1, "v", kind, chance, noise)
        for at, (kind, chance, noise) in enumerate(zip(texts, chances, noises, strict=True))
    )
    theirs, own = seen
    found = (
        Option("v", texts[0], (mine, mine if theirs else None), (True, False)),
        Option("u", texts[1], (yours if theirs else None, yours if own else None), (False, True)),
    )
    midst = ((position, 1),) * 2  # of a token
    parting = Divergence(0, position, "", (1, 2), midst, by_bytes=by_bytes)
    return Reason(parting, COLOURS[:2], coupled, found if options else (), least, again)


def _replays():
    yield replay_words(Replay("v", identical=True))
    for gap in (None, 0.125):
        yield replay_words(Replay("v", False, 3, 1, _ONE, gap))


_NO_SHARE = voter_report.Share(0, 0.0, 0.0, 1.0)
_HABITS = voter_report.Habits(_NO_SHARE, _NO_SHARE, 0.0)


def _voters():
    yield voters_words(VoterReport((), 0, 0.05, 0.25))
    row = VoterRow("ann", 3, 1.0, 1, 0.0, 0.0, False, "against the others", _HABITS)
    for suspects, more in product((0, 1, 2), (0, 3)):
        rows = [replace(row, suspect=n < suspects) for n in range(max(suspects, 1) + more)]
        yield voters_words(VoterReport(tuple(rows), 1 + more, 0.05, 0.25))
    unsure, sure = (voter_report.ToldRow("m", 0.2, low, 0.3) for low in (-0.1, 0.1))
    for rows in ((), (unsure,), (sure,)):
        told = voter_report.ToldReport(300, 12, rows, 0.1)
        yield told_words(VoterReport((row,), 3, 0.05, 0.25, told=told))
    yield excluded_words(Excluded(1, 9))
    yield excluded_words(Excluded(3, 9))
