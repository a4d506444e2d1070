"""Stores with anything that the program can write, made up by hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from coupled_arena.core.rationales import Criterion, Rationale
from coupled_arena.core.records import (
    Battle,
    Finish,
    Mode,
    Origin,
    Outcome,
    Prompt,
    Reply,
    Sampling,
    Score,
    Source,
    Vote,
)
from coupled_arena.core.verdicts import Probabilities, Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.tables import judges, scores, votes
from coupled_arena.store.work_queues.judging import PendingSolutions
from tests.batches import at_once

# What breaks readers of files: quotes, line breaks of all kinds, NUL, marks of byte order, JSON.
ODD = [
    "",
    '"',
    "'",
    "\n",
    "\r",
    "\r\n",
    "\0",
    "\ufeff",
    "{",
    "[1]",
    "null",
    "\\N",
    "\x1f",
    "\x85",
    "\u2028",
    "a,b",
    "=1+1",
    "'-2",
    "é🎲",
]
UNICODE = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.lists(st.sampled_from(ODD), max_size=4).map("".join), st.text(UNICODE, max_size=8)
)
NAMES = st.sampled_from(["alpha", "beta", "or/ga", 'nist\'s "4-bit"'])
IDS = st.integers(0, 2**128 - 1).map("{:032x}".format)
EARLIEST = datetime(2020, 1, 1, tzinfo=UTC)
MOMENTS = st.timedeltas(timedelta(0), timedelta(days=2000)).map(lambda later: EARLIEST + later)
MAYBE = st.none() | TEXTS
PROMPTS = st.builds(Prompt, TEXTS, MAYBE, MAYBE, MAYBE, TEXTS, TEXTS)
SAMPLINGS = st.builds(
    Sampling,
    st.floats(0, 10),
    st.integers(0, 2**31 - 1),
    st.floats(0, 1),
    st.integers(1, 32_768),
    st.just("token"),
)
JUDGES = {"gpt": ("gpt-4o", "ab12", '{"swap": "both"}'), "elsewhere": ("imported", "", "")}


def _bind_judges(cursor):
    for judge, bound in JUDGES.items():
        judges.bind(cursor, judge, *bound)


@dataclass(frozen=True)
class Made:
    """What a store is to hold, in the order in which it is written."""

    battles: tuple[Battle, ...]
    votes: tuple[tuple[Vote, bool], ...]
    verdicts: tuple[Verdict, ...]
    marks: tuple[tuple[str, Score], ...]
    correct: tuple[bool | None, ...]
    reasons: tuple[tuple[Rationale, str], ...]
    judged: tuple[tuple[str, str], ...]

    def fill(self, store: Store) -> None:
        """Write it all by the program's own ways."""
        store.write(_bind_judges)
        store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
        store.write(
            lambda cursor: scores.declare(
                cursor, "toxicity", source="import", higher_is_better=False
            )
        )
        with at_once(store) as batch:
            for battle in self.battles:
                batch.add_battle(battle, [mark for id, mark in self.marks if id == battle.id])
            batch.votes += self.votes
            batch.verdicts += self.verdicts
        store.write(lambda cursor: [votes.give_reasons(cursor, *given) for given in self.reasons])
        store.write(lambda cursor: [votes.add_reveals(cursor, [told]) for told in self.judged])
        with PendingSolutions(store, "gpt") as pending:
            asked = [solution for page in pending.pages() for solution in page]
            given = zip(asked, self.correct, strict=False)
            graded = [one.answered("gpt", correct, f'"{correct}"\n') for one, correct in given]
            if graded:
                pending.add(graded)


@st.composite
def battles(draw, id):
    models = tuple(draw(st.lists(NAMES, min_size=2, max_size=4)))
    turns = draw(st.integers(1, 3))
    return Battle(
        id=id,
        models=models,
        mode=draw(st.sampled_from(list(Mode))),
        seed=draw(st.integers(0, 2**64 - 1)),
        nonce=draw(st.binary(min_size=16, max_size=16)),
        sampling=draw(SAMPLINGS),
        origin=draw(st.sampled_from(list(Origin))),
        prompts=tuple(draw(PROMPTS) for _ in range(turns)),
        replies=tuple(
            Reply(
                turn,
                place,
                draw(TEXTS),
                tuple(draw(st.lists(st.integers(0, 2**31 - 1), max_size=3))),
                draw(st.sampled_from(list(Finish))),
            )
            for turn in range(turns)
            for place in range(len(models))
        ),
        arithmetic=draw(st.dictionaries(st.sampled_from(["torch", "or/ga/dtype"]), TEXTS)),
        created_at=draw(MOMENTS),
        experiment=draw(st.none() | st.just("00000000000000ff")),
        repetition=draw(st.none() | st.integers(0, 9)),
        chance=draw(st.none() | st.floats(0, 1)),
    )


@st.composite
def votes_on(draw, battle):
    """Votes of a few people, some changed; the last may be revealed."""
    made = []
    for voter in draw(st.lists(st.sampled_from(["ann", "bob", TRICKY]), unique=True)):
        said = draw(st.lists(st.booleans(), min_size=1, max_size=3))
        for number, _ in enumerate(said, start=1):
            both_bad = draw(st.booleans())
            size = len(battle.models)
            ranks = draw(st.lists(st.integers(1, size), min_size=size, max_size=size))
            lowest = min(ranks)
            ranks = (1,) * size if both_bad else tuple(rank - lowest + 1 for rank in ranks)
            vote = Vote(
                draw(IDS),
                battle.id,
                voter,
                ranks,
                both_bad,
                draw(st.sampled_from(list(Source))),
                draw(st.booleans()),
                draw(MOMENTS),
            )
            made.append((vote, number == len(said) and draw(st.booleans())))
    return made


TRICKY = 'O\'Neil, "the\nvoter"'


PROBABILITIES = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(
    lambda cuts: Probabilities(min(cuts), max(cuts) - min(cuts), 1 - max(cuts))
)


@st.composite
def verdicts_on(draw, battle):
    pairs = [(i, j) for i in range(len(battle.models)) for j in range(len(battle.models)) if i != j]
    return [
        Verdict(
            draw(IDS),
            battle.id,
            draw(st.sampled_from(list(JUDGES))),
            *pair,
            draw(st.none() | st.sampled_from(list(Outcome))),
            draw(TEXTS),
            probability=draw(st.none() | st.floats(0, 1)),
            probabilities=draw(st.none() | PROBABILITIES),
            judged_at=draw(MOMENTS),
        )
        for pair in draw(st.lists(st.sampled_from(pairs), unique=True))
    ]


@st.composite
def marks_on(draw, battle):
    finite = st.floats(-1e9, 1e9)
    return [
        (battle.id, Score(0, place, metric, draw(finite), draw(MAYBE)))
        for metric in draw(st.sets(st.sampled_from(["quiz", "toxicity"])))
        for place in range(len(battle.models))
    ]


@st.composite
def reasons_for(draw, vote):
    """Rationales of a vote, some changed or taken back."""
    criteria = st.lists(st.sampled_from(list(Criterion)), unique=True).map(tuple)
    said = st.builds(Rationale, IDS, st.just(vote.id), criteria, TEXTS, MOMENTS)
    some = draw(st.lists(said, max_size=2)) if vote.source is Source.HUMAN else []
    return [(each, vote.voter) for each in some]


def with_ids_of_their_own(made):
    """Return what was made first by each id, in its order: who knows the names votes no more."""
    kept = {}
    for each in made:
        kept.setdefault(each[0].id, each)
    return tuple(kept.values())


@st.composite
def stores(draw):
    """Return a `Made`: a few rich ones take less time than many poor ones."""
    ids = draw(st.lists(IDS, min_size=4, max_size=8, unique=True))
    made = [draw(battles(id)) for id in ids]
    cast = with_ids_of_their_own(vote for battle in made for vote in draw(votes_on(battle)))
    verdicts = [(verdict,) for battle in made for verdict in draw(verdicts_on(battle))]
    return Made(
        tuple(made),
        cast,
        tuple(verdict for (verdict,) in with_ids_of_their_own(verdicts)),
        tuple(mark for battle in made for mark in draw(marks_on(battle))),
        tuple(draw(st.lists(st.none() | st.booleans(), max_size=4))),
        with_ids_of_their_own(given for vote, _ in cast for given in draw(reasons_for(vote))),
        tuple((id, f"who asked: {draw(TEXTS)}") for id in ids if draw(st.booleans())),
    )
