"""Gates that let models answer: what each of them plans, on a cursor that somebody opened.

What a gate found is stored nowhere: it follows from the scores of its battles, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from coupled_arena.core.records import Mode
from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.tables.times import utc


@dataclass(frozen=True)
class StoredGate:
    """What a gate plans.

    Attributes
    ----------
    id : str
    metric : str
        The benchmark.
    margin, alpha : float
        The error level holds for all candidates together.
    experiment : str
        Seed of the noise, and of the order of the prompts: 16 hexadecimal digits.
    answers : int
        Battles on each prompt.
    battles : tuple of str
        Ids of all that are planned, in the order in which their prompts were drawn.
    begun_at : datetime
    candidates : tuple of str
        All that are judged together; none where the candidate is judged by itself.
    """

    id: str
    base: str
    candidate: str
    metric: str
    margin: float
    alpha: float
    experiment: str
    answers: int
    battles: tuple[str, ...]
    begun_at: datetime
    candidates: tuple[str, ...] = ()

    @property
    def judged(self) -> tuple[str, ...]:
        """The candidates that are judged together, this one among them."""
        return self.candidates or (self.candidate,)

    @property
    def prompts(self) -> int:
        """How many prompts are planned."""
        return len(self.battles) // self.answers

    @property
    def asks(self) -> tuple[str, str, str, float, float]:
        """What is asked: base, candidate, benchmark, margin, error level."""
        return self.base, self.candidate, self.metric, self.margin, self.alpha


@dataclass(frozen=True)
class ScoredPrompt:
    """A prompt that all models of a gate have answered.

    Attributes
    ----------
    text, category : str
        How the prompt begins. The category is empty where there is none.
    battle : str
        The first battle on it.
    mode : Mode
        Of its battles.
    scores : tuple of tuples of float
        Of the base and of the candidates, battle by battle.
    """

    text: str
    category: str
    battle: str
    mode: Mode
    scores: tuple[tuple[float, ...], ...]


def add(cursor: Cursor, gate: StoredGate) -> None:
    """Write what a gate plans; to write it again changes nothing."""
    cursor.execute(
        "insert into gates values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
        [
            *(gate.id, *gate.asks, gate.experiment, gate.answers, list(gate.battles)),
            *(gate.begun_at, list(gate.candidates) or None),
        ],
    )


def stored(cursor: Cursor) -> tuple[StoredGate, ...]:
    """Return all gates, the newest first."""
    rows = cursor.execute(
        "select gate, base, candidate, metric, margin, alpha, experiment, answers, battles, "
        f"{utc('begun_at')}, candidates from gates "
        "order by begun_at desc, list_position(candidates, candidate), gate"
    )
    return tuple(
        StoredGate(
            *row[:8],
            battles=tuple(row[8]),
            begun_at=row[9].replace(tzinfo=UTC),
            candidates=tuple(row[10] or ()),
        )
        for row in rows.fetchall()
    )


_SCORED = """
with planned as (
    select
        unnest(battles) as battle, generate_subscripts(battles, 1) as nth, metric,
        list_concat([base], coalesce(candidates, [candidate])) as judged
    from gates
    where gate = $gate
)
select
    planned.nth, planned.battle, left(turns.prompt, 200),
    coalesce(turns.category, ''),
    battles.mode,
    list({'model': battles.models[scores.place + 1], 'score': score}) as marks
from planned
join battles using (battle)
join scores on scores.battle = planned.battle and scores.metric = planned.metric
join turns on turns.battle = planned.battle and turns.turn = 0
where scores.turn = 0 and planned.nth > $before
    and list_contains(judged, battles.models[scores.place + 1])
group by planned.nth, planned.battle, turns.prompt, turns.category, battles.mode, judged
having count(distinct battles.models[scores.place + 1]) = len(judged)
order by nth
"""


def scored_prompts(cursor: Cursor, gate: StoredGate, before: int = 0) -> tuple[ScoredPrompt, ...]:
    """Return the prompts that count, and come after so many that are known already.

    A prompt counts if all before it are answered whole. What ended out of turn waits: short answers
    end first, and are right more or less often.
    """
    values = {"gate": gate.id, "before": before * gate.answers}
    rows = cursor.execute(_SCORED, values).fetchall()
    models = gate.base, *gate.judged
    found: list[ScoredPrompt] = []
    for at, answered in groupby(rows, key=lambda row: (row[0] - 1) // gate.answers - before):
        of_prompt = list(answered)
        if at != len(found) or len(of_prompt) < gate.answers:
            break
        _nth, battle, text, category, mode, _scores = of_prompt[0]
        marks = [{each["model"]: each["score"] for each in row[5]} for row in of_prompt]
        of_models = tuple(tuple(each[model] for model in models) for each in marks)
        found.append(ScoredPrompt(text, category, battle, Mode(mode), of_models))
    return tuple(found)


def count(cursor: Cursor) -> int:
    """Return how many there are."""
    return value_of(cursor, "select count(*) from gates")
