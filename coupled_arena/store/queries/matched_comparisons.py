"""The selected comparisons, read once, and matched with kinds as often as sums need it.

Sums over prompts and over voters are products of tables of these with what kinds add. In SQL they
would take longer, and their last digits depend on the order in which threads find rows. All
functions work on a given cursor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from coupled_arena.core.records import Mode, Outcome
from coupled_arena.core.sql import Cursor, value_of
from coupled_arena.store.queries.comparisons import (
    CODES,
    FloatArray,
    IntArray,
    Selection,
    condition_of,
    model_numbers,
    places_of,
)
from coupled_arena.store.queries.verdict_source import verdict_source

AnyInts = NDArray[np.integer[Any]]  # many: most are of 32 bits

_BLOCK = 1 << 23  # sums at once: 64 MB
_TABLE = 1 << 24  # codes up to which a table says the kind of each: 64 MB
_VOTED = len(Outcome) + 1  # codes of votes, and that of none


@dataclass(frozen=True, eq=False)
class InfluenceCells:
    """Numbers that belong to kinds of comparisons: what each adds to some sum.

    A model compared with itself adds nothing.

    All arrays have one length. A comparison is of the kind of a row if its columns agree; a column
    left None does not matter. But without `verdict` each vote counts once, judged or not. With the
    code of silence among the verdicts it does, too: see `verdict_source`.

    Attributes
    ----------
    model_a, model_b : ndarray of int64
        Indices of the models shown first and second.
    mode, human, verdict : ndarray of int64 or None
        Codes as in `Counts`; ``human`` -1 stands for "no vote".
    first, second : ndarray of float64
        What the comparison adds for the model shown first, and for the other.
    on_all : ndarray of float64 or csr_array, shape (rows, numbers), or None
        What it adds for every model, where that may be more than these two; or to other numbers.
    """

    model_a: IntArray
    model_b: IntArray
    first: FloatArray
    second: FloatArray
    mode: IntArray | None = None
    human: IntArray | None = None
    verdict: IntArray | None = None
    on_all: FloatArray | csr_array | None = None

    def by_model(self, k: int) -> FloatArray | csr_array:
        """Return what the kinds add for each of k models, shape (rows, k)."""
        if self.on_all is not None:
            return self.on_all
        rows = np.arange(len(self.first))
        both = np.concatenate([rows, rows]), np.concatenate([self.model_a, self.model_b])
        return csr_array((np.concatenate([self.first, self.second]), both), (len(rows), k))


@dataclass(frozen=True, eq=False)
class Block:
    """Comparisons on some of the prompts, each with its kind.

    Attributes
    ----------
    prompt, cell : ndarray of an integer type
        Numbers of the prompt within the block, and of the kind.
    weight : ndarray of float64
        1, except where judges count with weights.
    shape : (int, int)
        Prompts and kinds.
    """

    prompt: AnyInts
    cell: AnyInts
    weight: FloatArray
    shape: tuple[int, int]

    def of(self, kinds: IntArray) -> Block:
        """Return the comparisons of some kinds, which are numbered anew."""
        place = np.full(self.shape[1], -1)
        place[kinds] = np.arange(len(kinds))
        cell = place[self.cell]
        at = cell >= 0
        return Block(self.prompt[at], cell[at], self.weight[at], (self.shape[0], len(kinds)))

    @property
    def by_prompt(self) -> csr_array:
        """How many comparisons of each kind there are on each prompt."""
        return coo_array((self.weight, (self.prompt, self.cell)), self.shape).tocsr()


def number_voters(cursor: Cursor) -> int:
    """Give each person who voted a number, on this cursor; return how many there are.

    Equal stores number them alike.
    """
    cursor.execute(
        """
        create or replace temp table voter_numbers as
        select voter, (row_number() over (order by voter) - 1)::integer as voter_no
        from (select distinct voter from comparisons where voter is not null and judge_no = 0)
        """
    )
    return value_of(cursor, "select count(*) from voter_numbers")


@dataclass(frozen=True, eq=False)
class VoterCounts:
    """How many comparisons of each kind with a vote a voter decided.

    Attributes
    ----------
    kinds : ndarray of int64, shape (kinds,)
        Which of the cells have a vote.
    by_voter : csr_array, shape (voters, kinds)
        Entries of one place add up in products: to merge them takes longer.
    repeated : csr_array, shape (any, kinds)
        Likewise of one voter on one prompt, where these are several.
    """

    kinds: IntArray
    by_voter: csr_array
    repeated: csr_array


def kinds_with_vote(cells: InfluenceCells) -> IntArray:
    """Return which cells have a vote."""
    return np.flatnonzero(np.zeros(0) if cells.human is None else cells.human >= 0)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Comparisons one by one.

    Attributes
    ----------
    prompt : ndarray of int32
        Numbers of prompts.
    code : ndarray of int64
        Mode, models, vote and verdict, see `_Codes`.
    weight : ndarray of float64 or None
        None: 1 each.
    voter : ndarray of int32 or None
        As `number_voters` has them, -1 where nobody is known; None where nobody asked.
    """

    prompt: AnyInts
    code: AnyInts
    weight: FloatArray | None
    voter: AnyInts | None

    def of(self, at: NDArray[np.bool_]) -> _Rows:
        """Return some of them; themselves if these are all."""
        if at.all():
            return self
        return self._at(at)

    @property
    def sorted(self) -> _Rows:
        """The same rows in an order that does not depend on how they were found."""
        keys = self.voter, self.weight, self.code, self.prompt
        return self._at(np.lexsort([key for key in keys if key is not None]))

    def _at(self, at: NDArray[Any]) -> _Rows:
        weight = None if self.weight is None else self.weight[at]
        voter = None if self.voter is None else self.voter[at]
        return _Rows(self.prompt[at], self.code[at], weight, voter)

    @cached_property
    def by_voter(self) -> csr_array:
        """The places of rows, by voter, and there by prompt: shape (voters, prompts)."""
        assert self.voter is not None
        at = np.flatnonzero(self.voter >= 0).astype(np.int32)
        voter, prompt = (x if len(at) == len(x) else x[at] for x in (self.voter, self.prompt))
        shape = int(voter.max(initial=-1)) + 1, int(prompt.max(initial=-1)) + 1
        table = coo_array((at, (voter, prompt)), shape)
        table.has_canonical_format = True  # votes of one voter on a prompt are not added up
        ordered = table.tocsr()
        ordered.sort_indices()
        return ordered

    @cached_property
    def code_by_voter(self) -> AnyInts:
        """The codes in the order of `by_voter`."""
        return self.code[self.by_voter.data]

    @cached_property
    def repeated(self) -> tuple[AnyInts, AnyInts]:
        """The places of rows with a voter and a prompt that several have, and where groups end."""
        ordered = self.by_voter
        again = ordered.indices[1:] == ordered.indices[:-1]
        starts = ordered.indptr[1:-1]
        again[starts[(starts > 0) & (starts < ordered.nnz)] - 1] = False  # another voter
        several = np.zeros(ordered.nnz, dtype=np.bool_)
        several[1:] |= again
        several[:-1] |= again
        places = ordered.data[several]
        starts = np.flatnonzero(np.concatenate([[True], ~again])[: ordered.nnz][several])
        return places, np.append(starts, len(places))


@dataclass(frozen=True)
class _Codes:
    """Numbers of kinds: mode, both models, vote and verdict are digits of one number.

    Attributes
    ----------
    models, verdicts : int
        How many models and codes of verdicts there are.
    """

    models: int
    verdicts: int

    @property
    def shape(self) -> tuple[int, ...]:
        """How many there are of each digit."""
        return len(Mode), self.models, self.models, _VOTED, self.verdicts

    @property
    def number(self) -> int:
        """How many codes there are."""
        return int(np.prod(self.shape, dtype=object))

    def of(self, *digits: AnyInts) -> AnyInts:
        """Return the codes of comparisons: of mode, models, vote (-1: none) and verdict."""
        kind = np.int32 if self.number < 1 << 31 else np.int64
        code = np.zeros(len(digits[0]), kind)
        for size, digit, least in zip(self.shape, digits, (0, 0, 0, -1, 0), strict=True):
            code *= size
            code += digit
            code -= least
        return code

    def vote(self, code: AnyInts) -> AnyInts:
        """Return the votes of codes."""
        return code // self.verdicts % _VOTED - 1

    def match(
        self, code: AnyInts, cells: InfluenceCells, place: IntArray, numbers: AnyInts
    ) -> AnyInts:
        """Return the numbers of the kinds that comparisons are of, -1 for none.

        Parameters
        ----------
        place : ndarray of int64
            Of each model that `cells` name.
        numbers : ndarray of int32
            Of each of the cells.
        """
        asked = [cells.mode, place[cells.model_a], place[cells.model_b], cells.human, cells.verdict]
        every = [
            np.arange(1) if column is not None else np.arange(size)
            for column, size in zip(asked, self.shape, strict=True)
        ]
        free = np.ravel_multi_index([x.ravel() for x in np.meshgrid(*every)], self.shape)
        digits = [np.zeros(len(cells.first), np.int64) if x is None else x for x in asked]
        digits[3] = digits[3] if cells.human is None else digits[3] + 1
        pairs = zip(digits, self.shape, strict=True)
        there = np.all([(x >= 0) & (x < size) for x, size in pairs], axis=0)  # others meet none
        keys = np.ravel_multi_index([x[there] for x in digits], self.shape)
        keys = (keys[:, None] + free).ravel()
        cell = np.repeat(numbers[there], len(free))
        if not len(keys):
            return np.full(len(code), -1, np.int32)
        if self.number <= _TABLE:
            table = np.full(self.number, -1, np.int32)
            table[keys] = cell
            return table[code]
        order = np.argsort(keys)
        keys, cell = keys[order], cell[order]
        at = np.minimum(np.searchsorted(keys, code), len(keys) - 1)
        return np.where(keys[at] == code, cell[at], -1)


class Comparisons:
    """The selected comparisons between some models, which are read once for all sums over them.

    Parameters
    ----------
    models : sequence of str
        All that kinds may name.
    people : int
        How many voted, by `number_voters`; 0 if nobody asks who voted.
    """

    def __init__(
        self, cursor: Cursor, selection: Selection, models: Sequence[str], people: int = 0
    ) -> None:
        self._cursor, self._selection = cursor, selection
        self._models, self.people = tuple(models), people
        self._verdicts = verdict_source(cursor, *selection.judging)
        codes = max(self._verdicts.codes, self._verdicts.silent + 1)
        self._codes = _Codes(len(models), codes)
        (self._last,) = cursor.execute(
            "select coalesce(max(prompt_no), -1) from comparisons"
        ).fetchall()[0]
        self._read: dict[str, _Rows] = {}

    def of(self, selection: Selection) -> Comparisons:
        """Return these if they are of that selection, else those that are."""
        if selection == self._selection:
            return self
        return Comparisons(self._cursor, selection, self._models, self.people)

    @property
    def mixed(self) -> bool:
        """Whether a comparison may have several rows, each with a weight."""
        return self._verdicts.mixed

    def blocks(self, models: Sequence[str], cells: InfluenceCells) -> Iterator[Block]:
        """Yield the comparisons of these kinds, block by block of prompts.

        Parameters
        ----------
        models : sequence of str
            What the indices of `cells` stand for.
        cells : InfluenceCells
            Its columns; what they add is of no account here.
        """
        rows = self._rows_of(cells)
        cell = self._numbers(rows.code, models, cells, np.arange(len(cells.first), dtype=np.int32))
        step = max(_BLOCK // len(models), 1)
        for begin in range(0, self._last + 1, step):
            at = cell >= 0
            if step <= self._last:
                at &= (rows.prompt >= begin) & (rows.prompt < begin + step)
            found, of = rows.of(at), cell if at.all() else cell[at]
            prompt = found.prompt - begin if begin else found.prompt
            weight = np.ones(len(of)) if found.weight is None else found.weight
            shape = min(step, self._last + 1 - begin), len(cells.first)
            yield Block(prompt, of, weight, shape)

    def by_voter(self, models: Sequence[str], cells: InfluenceCells) -> VoterCounts:
        """Return who cast which votes of these kinds; the parameters are those of `blocks`."""
        kinds = kinds_with_vote(cells)
        shape = max(self.people, 1), len(kinds)
        nothing = csr_array(shape), csr_array((0, len(kinds)))
        if not self.people or not len(kinds):
            return VoterCounts(kinds, *nothing)
        rows = self._rows_of(cells)
        numbers = np.full(len(cells.first), -1, np.int32)
        numbers[kinds] = np.arange(len(kinds))
        ends = rows.by_voter.indptr
        ends = np.append(ends, np.full(shape[0] + 1 - len(ends), ends[-1], ends.dtype))
        # Codes are put in order once, which takes longer than to match them again.
        kind = self._numbers(rows.code_by_voter, models, cells, numbers)
        found = _table(rows, rows.by_voter.data, ends, kind, len(kinds))
        places, ends = rows.repeated
        kind = self._numbers(rows.code[places], models, cells, numbers)
        return VoterCounts(kinds, found, _table(rows, places, ends, kind, len(kinds)))

    def _numbers(
        self, code: AnyInts, models: Sequence[str], cells: InfluenceCells, numbers: AnyInts
    ) -> AnyInts:
        place = np.array([self._models.index(model) for model in models], np.int64)
        return self._codes.match(code, cells, place, numbers)

    def _rows_of(self, cells: InfluenceCells) -> _Rows:
        """Return the rows that kinds may match: votes without a verdict only if one asks."""
        if cells.verdict is None:
            return self._rows("votes")
        asked = bool((cells.verdict == self._verdicts.silent).any())
        return self._rows("all" if asked or "all" in self._read else "judged")

    def _rows(self, name: str) -> _Rows:
        if name not in self._read:
            judged = self._votes_judged() if name == "votes" else None
            self._read[name] = judged or self._fetch(name)
        return self._read[name]

    def _votes_judged(self) -> _Rows | None:
        """Return votes from rows with verdicts, if these were read and are all votes."""
        judged = self._read.get("all") or self._read.get("judged")
        if judged is None or self.mixed:
            return None
        voted = self._codes.vote(judged.code) >= 0
        known = model_numbers(self._cursor, self._selection)
        where, values = condition_of(self._cursor, self._selection, known)
        numbers = ", ".join(str(known[model]) for model in self._models)
        votes = value_of(
            self._cursor,
            f"""
            select count(*) from comparisons
            where {where} and judge_no = 0 and human is not null and model_a <> model_b
                and model_a in ({numbers}) and model_b in ({numbers})
            """,
            values,
        )
        return judged.of(voted) if int(voted.sum()) == votes else None

    def _fetch(self, name: str) -> _Rows:
        verdicts, known = self._verdicts, model_numbers(self._cursor, self._selection)
        where, values = condition_of(self._cursor, self._selection, known)
        rows, said = "judge_no > 0", verdicts.verdict
        if name == "votes":  # whatever a judge says
            rows, said = "judge_no = 0", "0"
        table = verdicts.all_votes if name == "all" else verdicts.table
        who, named = "", ""
        if self.people:
            who = ", coalesce(voter_no, -1)::integer as voter"
            named = "left join voter_numbers using (voter)"
        weight = ", c.weight" if self.mixed else ""
        columns = self._cursor.execute(
            f"""
            with chosen as {verdicts.once} (
                select * from {table} where {where} and {rows} and model_a <> model_b
            )
            select
                c.prompt_no::integer as prompt, model_a, model_b, {CODES["mode"]} as mode,
                {CODES["human"]} as human, {said} as verdict{weight}{who}
            from chosen as c
            {named}
            """,
            values,
        ).fetchnumpy()
        found = {key: np.asarray(column) for key, column in columns.items()}
        place = places_of({model: known[model] for model in self._models}, max(known.values()))
        a, b = (place[found[key]] for key in ("model_a", "model_b"))
        code = self._codes.of(found["mode"], a, b, found["human"], found["verdict"])
        made = _Rows(found["prompt"], code, found.get("weight"), found.get("voter"))
        made = made.of((a >= 0) & (b >= 0))
        # Equal ones add up exactly in any order, mixtures do not.
        return made.sorted if self.mixed else made


def _table(rows: _Rows, places: AnyInts, ends: AnyInts, kind: AnyInts, kinds: int) -> csr_array:
    """Return how many rows of each kind there are at some places, from one end to the next."""
    if kind.min(initial=0) < 0:
        kept = kind >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[ends]
        places, kind = places[kept], kind[kept]
    data = np.ones(len(kind)) if rows.weight is None else rows.weight[places]
    return csr_array((data, kind, ends), (len(ends) - 1, kinds))
