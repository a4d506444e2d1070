"""What changes beside the scores, and what it costs: churn of answers, bytes, memory, speed.

Two equal models give other answers wherever their noise differs. So what a candidate changes stands
beside what independent noise alone would change. Nothing here decides a verdict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from coupled_arena.analysis.gate.result import CandidateGate, Churn, Cost, GateReport
from coupled_arena.analysis.model_sizes import size_of
from coupled_arena.core.records import Mode, seed_to_hex
from coupled_arena.stats.closeness import Mean, clustered_mean
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.gate_answers import GateAnswer, begun, gate_answers, newest_facts
from coupled_arena.store.tables import scores as score_rows

Both = tuple[GateAnswer, GateAnswer]


def with_churn_and_costs(
    report: GateReport,
    store: Store,
    metric: str | None,
    selection: Selection,
    battles: Collection[str] | None = None,
    seed: int | None = None,
) -> GateReport:
    """Return a report with what the store knows of answers and costs beside the scores.

    Parameters
    ----------
    metric : str, optional
        As `read_paired` takes it, with selection, battles and seed. Other battles on the same
        prompts, drawn alike, only tell what independent noise changes.
    """
    models = (report.base, *(each.model for each in report.candidates))
    with store.cursor() as cursor:
        name = score_rows.one_metric(list(score_rows.metrics(cursor)), metric)
        answers = _of_run(gate_answers(cursor, name, models, selection), seed)
        facts = {model: newest_facts(cursor, model) for model in models}
    return with_answers_and_facts(report, answers, facts, battles)


def with_answers_and_facts(
    report: GateReport,
    answers: Sequence[GateAnswer],
    facts: Mapping[str, Mapping[str, str]],
    battles: Collection[str] | None = None,
) -> GateReport:
    """Return a report with churn and costs of rows that somebody read.

    Parameters
    ----------
    facts : mapping of str to mapping
        Of each model what its battles hold.
    """
    costs = {model: cost_of(each) for model, each in facts.items()}

    def filled(each: CandidateGate) -> CandidateGate:
        found = churn(answers, report.base, each.model, report.settings.alpha, battles)
        return replace(each, churn=found, cost=costs[each.model])

    return replace(
        report, candidates=tuple(map(filled, report.candidates)), base_cost=costs[report.base]
    )


def _of_run(answers: tuple[GateAnswer, ...], seed: int | None) -> tuple[GateAnswer, ...]:
    """Return the answers of one of several runs."""
    runs = {each.experiment for each in answers} - {None}
    if seed is None or len(runs) < 2:
        return answers
    return tuple(each for each in answers if each.experiment == seed_to_hex(seed))


def with_speeds(report: GateReport, speeds: Mapping[str, float]) -> GateReport:
    """Return a report with the tokens a second that the models of a run have written."""

    def faster(cost: Cost | None, model: str) -> Cost:
        return replace(cost or Cost(), tokens_per_second=speeds.get(model))

    return replace(
        report,
        base_cost=faster(report.base_cost, report.base),
        candidates=tuple(
            replace(each, cost=faster(each.cost, each.model)) for each in report.candidates
        ),
    )


def cost_of(facts: Mapping[str, str]) -> Cost:
    """Return what a model costs, of the facts that its battles hold."""
    size = size_of(facts)
    return Cost(size.bytes_per_weight, size.memory)


# Churn.


def churn(
    answers: Sequence[GateAnswer],
    base: str,
    candidate: str,
    alpha: float = 0.05,
    battles: Collection[str] | None = None,
) -> Churn | None:
    """Return the share of answers that a candidate changes, beside that of independent noise.

    Independent noise is measured, where there are such battles. Else the base's answer of one
    repetition is compared with the candidate's of another. Coupling keeps each model's law, so
    these are two draws with noise of their own.

    Parameters
    ----------
    battles : collection of str, optional
        The coupled battles that count. Others, and independent ones, count as independent noise, on
        the same prompts and drawn alike.

    Returns
    -------
    Churn or None
        None where the two have no answers in one battle.
    """
    coupled = list(_pairs(answers, base, candidate, Mode.COUPLED))
    alone = list(_pairs(answers, base, candidate, Mode.INDEPENDENT))
    repeated = coupled
    if battles is not None:
        own = frozenset(battles)
        coupled = [both for both in coupled if both[0].battle in own]
        asked = {_question(both) for both in coupled}
        alone, repeated = (
            [both for both in some if _question(both) in asked] for some in (alone, repeated)
        )
    if not coupled:
        return None
    across = alone or list(_across(repeated))
    return Churn(
        *(len(coupled), bool(alone)),
        *(_share(coupled, name, alpha) for name in ("text", "read")),
        *((_share(across, name, alpha) if across else None) for name in ("text", "read")),
    )


def _pairs(answers: Sequence[GateAnswer], base: str, candidate: str, mode: Mode) -> Iterator[Both]:
    """Yield the answers of both models in each battle of a mode."""
    battles: dict[str, dict[str, GateAnswer]] = defaultdict(dict)
    for each in answers:
        if each.mode is mode and each.model in (base, candidate):
            battles[each.battle].setdefault(each.model, each)
    for both in battles.values():
        if len(both) == 2:
            yield both[base], both[candidate]


def _question(both: Both) -> tuple[str, str]:
    """Return the prompt of a battle, and how its answers were drawn."""
    return both[0].key, both[0].drawn


def _across(pairs: Sequence[Both]) -> Iterator[Both]:
    """Yield each base's answer beside the candidate's of every other repetition of the prompt."""
    by_question: dict[tuple[str, str], list[Both]] = defaultdict(list)
    for both in pairs:
        by_question[_question(both)].append(both)
    for some in by_question.values():
        for at, (base, _) in enumerate(some):
            yield from ((base, candidate) for n, (_, candidate) in enumerate(some) if n != at)


def _share(pairs: Sequence[Both], name: str, alpha: float) -> Mean:
    """Return the share of pairs that differ in what an attribute says, clustered by prompt."""
    differ = [getattr(one, name) != getattr(other, name) for one, other in pairs]
    keys = {key: at for at, key in enumerate(dict.fromkeys(one.key for one, _ in pairs))}
    clusters = np.array([keys[one.key] for one, _ in pairs], np.int64)
    return clustered_mean(np.array(differ, np.float64), clusters, alpha)


# How long a battle takes.


def seconds_a_battle(store: Store, models: Sequence[str]) -> float | None:
    """Return the seconds that a battle of some models took, by when those of a run began.

    While so many battles run at once, one begins as another ends. So the time in which as many
    have begun as run at once is how long one lasts; the median does not mind a pause.

    Returns
    -------
    float or None
        Seconds of the whole machine for one battle; None where too few were made in a run.
    """
    with store.cursor() as cursor:
        moments, most = begun(cursor, models)
    times = np.array([each.timestamp() for each in moments])
    if len(times) <= most:
        return None
    found = float(np.median(times[most:] - times[:-most])) / most
    return found if found > 0 else None
