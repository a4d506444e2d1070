"""What each column of a stored table means, and how it goes into an export and comes back.

A column stands in two places, in its migration and here. The files of an export, the checks of an
import and the pages about both are made from here. A line has the column's name, its kind, perhaps
its place in the store, and its meaning. A kind of `kinds.KINDS` may end with ``?``: the value may
be missing. It may end with ``!``: the column tells this table's files from others. Other kinds:

- ``-`` stands in no file: the store numbers its rows itself, or makes it of what else a file has.
- ``+`` stands in no file, but is found, and compared, when a file comes back.
- ``=KIND`` stands in the file for readers alone, and is not read.

``@TABLE.COLUMN`` says where a column of a file is stored, if not in the table of that name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from coupled_arena.store.tables.kinds import KINDS, Kind

_LINE = re.compile(r"(\w+) +(-|\+|(=?)(\w+)(\??)(!?))(?: +@(\w+)[.](\w+))? +(.+)")


@dataclass(frozen=True)
class StoredColumn:
    """A column of a table, or of its file in an export.

    Attributes
    ----------
    kind : Kind or None
        What its values are in a file; None where no file has it.
    table, stored : str
        Where it is stored, and what it is called there.
    needed : bool
        Whether a file must have a value.
    identifies : bool
        Whether it identifies files of this table from others.
    read : bool
        Whether it is read when the file comes back.
    compared : bool
        Whether rows with the same key must have the same value.
    """

    name: str
    meaning: str
    kind: Kind | None
    table: str
    stored: str
    needed: bool
    identifies: bool
    read: bool
    compared: bool


@dataclass(frozen=True)
class StoredTable:
    """A table of the store, and its file in an export.

    Attributes
    ----------
    columns : tuple of StoredColumn
        In the order of the file.
    keys : sequence of str
        What stands for the content of a row.
    called : str
        SQL: a row's name, where another row has its keys.
    order : str
        SQL: the order of the rows of its file.
    rows : str
        SQL: what they are selected from; empty where the table has no file.
    written : mapping of str to str
        SQL of columns of the file that are not as they are stored.
    grows : sequence of str
        Columns that grow, and are not compared.
    moves : bool
        Whether something that is kept of its battles follows from it, such as comparisons.
    seen : bool
        Whether it is what a voter or judge has seen: rows about another one's battle go with it.
    """

    name: str
    columns: tuple[StoredColumn, ...]
    keys: Sequence[str]
    called: str
    order: str
    rows: str = ""
    written: Mapping[str, str] = field(default_factory=dict[str, str])
    grows: Sequence[str] = ()
    moves: bool = False
    seen: bool = False

    @property
    def in_file(self) -> dict[str, Kind]:
        """The columns of its file with their kinds."""
        return {each.name: each.kind for each in self.columns if each.kind}

    @property
    def read(self) -> tuple[StoredColumn, ...]:
        """The columns of its file that come back."""
        return tuple(each for each in self.columns if each.read)

    @property
    def content(self) -> tuple[str, ...]:
        """The columns that its keys stand for."""
        apart = (*self.keys, *self.grows)
        return tuple(each.name for each in self.columns if each.compared and each.name not in apart)

    @property
    def meanings(self) -> dict[str, str]:
        """What the columns of the table in the store mean."""
        return {each.name: each.meaning for each in self.columns if each.table == self.name}

    @property
    def query(self) -> str:
        """SQL: the rows of its file."""
        columns = ", ".join(
            f"{self.written.get(each.name) or _written(each)} as {each.name}"
            for each in self.columns
            if each.kind
        )
        return f"select {columns} from {self.rows}"

    def parts(self, table: str) -> dict[str, str]:
        """Return the columns that are stored in another table: their names there, and here."""
        return {
            each.stored: each.name for each in self.columns if each.read and each.table == table
        }


def _written(column: StoredColumn) -> str:
    if not column.kind or column.table in ("", "turns"):
        return column.name  # turns are there as lists already, each by the name that it has here
    return column.kind.written.format(f=f"{column.table}.{column.stored}")


def _columns(table: str, text: str) -> tuple[StoredColumn, ...]:
    """Return the columns that a text describes; a line that begins further in goes on."""
    lines = re.sub(r"\n {10,}", " ", text).strip().splitlines()
    found: list[StoredColumn] = []
    for line in lines:
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"{table}: {line}")
        name, kind, made, called, maybe, identifies, elsewhere, stored, meaning = match.groups()
        own = elsewhere in (None, table)
        found.append(
            StoredColumn(
                name,
                meaning,
                KINDS[called] if called else None,
                "" if made else elsewhere or table,
                stored or name,
                not maybe,
                bool(identifies),
                bool(called) and not made,
                kind == "+" or (own and not made and kind != "-" and called != "order"),
            )
        )
    return tuple(found)


BATTLES = StoredTable(
    "battles",
    _columns(
        "battles",
        """
        battle          name!     Its id: 32 hexadecimal digits
        created_at      moment!   When it was begun
        origin          origin    `arena` (the battle tab), `generate` (a batch run or benchmark),
                                  `import`
        mode            mode      `coupled`, `independent`, or `unknown` for imports that do not say
        seed            seed!     Seed of its noise; secret until the vote
        nonce           bytes!    16 random bytes, so that the commitment cannot be searched; empty
                                  if unknown
        commitment      text      SHA-256 of nonce and seed (8 bytes, little-endian), hexadecimal
        models          names!    Names, in order of presentation
        prompts         texts?!   @turns.prompt    The questions, by turn
        prompt_id       =text     Of the first question
        category        =text     Of the first question
        language        =text     Of the first question
        system          =text     Of the first question
        prefixes        texts?    @turns.prefix    By turn
        temperature     number    0 is greedy
        top_k           whole     Likeliest tokens that are kept; 0: all
        top_p           number    Share of probability that is kept; 1: all
        max_new_tokens  whole     Longest reply, in tokens
        coupling        text      The sampler: `token` (Gumbel-max), `bytes` (the same, byte by
                                  byte), `inverse` (inverse transform), `servers` (noise of model
                                  servers); `unknown` for imports
        experiment      text?     Seed of the batch run that made it, 16 hexadecimal digits
        repetition      whole?    Which repetition of its prompt within that run, from 0
        arithmetic      facts     What fixes the rounding: for each model its revision, dtype,
                                  quantization and library versions as `MODEL/KEY`; for each turn
                                  the largest batch
        prompt_ids      texts?!   @turns.prompt_id By turn
        categories      texts?    @turns.category  By turn
        languages       texts?    @turns.language  By turn
        systems         texts?    @turns.system    By turn
        told_to         text?     @reveals.voter   Who was told the names without a vote, once a
                                  judge had decided
        told_at         moment?   @reveals.revealed_at When
        chance          number?   Probability with which these models, in any order, were drawn;
                                  empty where nobody noted it
        battle_no       -         Short number that `comparisons` uses
        """,
    ),
    keys=["battle"],
    called="'battle ' || battle",
    order="created_at, battle",
    rows="""
        visible as battles
        left join asked using (battle)
        left join (
            select battle, min(voter) as voter, min(revealed_at) as revealed_at
            from reveals
            anti join votes using (battle, voter)
            group by all
        ) as reveals using (battle)
    """,
    grows=["arithmetic"],
    moves=True,
    seen=True,
)
TURNS = StoredTable(
    "turns",
    _columns(
        "turns",
        """
        battle          name      The battle
        turn            whole     0 for the question that opens it
        prompt          text      The question
        prompt_id       text?     Its id in the library, benchmark or import
        category        text?     Its category there
        language        text?     Its language there
        system          text      System prompt that came with the question; empty without one
        prefix          text      Words put into the models' mouths, with which each answer begins
        """,
    ),
    keys=["battle", "turn"],
    called="'turn ' || turn || ' of battle ' || battle",
    order="battle, turn",
    moves=True,
    seen=True,
)
REPLIES = StoredTable(
    "replies",
    _columns(
        "replies",
        """
        battle          name!     The battle
        turn            whole!    The question
        place           whole!    Which of the battle's models
        model           name      Its name
        text            text!     The answer, without the prefix
        tokens          wholes!   Ids it drew, without the one that ended the answer; empty for
                                  imports
        finish          finish!   `stop` (ended by the model), `length` (limit reached), `cancelled`
        """,
    ),
    keys=["battle", "turn", "place"],
    called="'the reply at turn ' || turn || ' and place ' || place || ' of battle ' || battle",
    order="battle, turn, place",
    rows="replies where battle in (select battle from visible)",
    moves=True,
    seen=True,
)
VOTES = StoredTable(
    "votes",
    _columns(
        "votes",
        """
        seq             order?    Order of the commits
        vote            name!     Its id
        battle          name!     The battle
        voter           text!     Hash of the voter's cookie (16 hexadecimal digits), or the name in
                                  an import
        ranks           wholes!   Rank of each model, by place
        both_bad        flag      All answers are bad; all ranks are then 1
        source          source    `human`, or `identical`: equal answers, nobody was asked
        early           flag      Cast while the answers still grew; `finish` of a reply tells
                                  whether it was cut short
        cast_at         moment    When
        current         =flag     False where a later vote of the same voter supersedes it
        models          names?    @battles.models      The battle's, which `ranks` are about
        revealed_at     moment?   @reveals.revealed_at When this voter was told the names
        excluded        =flag     True where it does not count, because somebody excluded it
        named           =flag     True where an answer
                                  [names a model](trust.md#answers-that-name-a-model), so that it
                                  does not count by default
        shown           wholes?   Places of the models in the order in which the voter saw them;
                                  empty: the battle's order
        """,
    ),
    keys=["vote"],
    called="'vote ' || vote",
    order="seq",
    rows="""
        votes
        join visible as battles using (battle)
        left join reveals using (battle, voter)
    """,
    written={
        "current": "votes.seq in (select seq from current_votes)",
        "excluded": "votes.seq in (select seq from ruled_votes where excluded)",
        "named": "votes.seq in (select seq from ruled_votes where named)",
    },
    grows=["shown"],  # exports of older versions lack it
    moves=True,
)
RATIONALES = StoredTable(
    "rationales",
    _columns(
        "rationales",
        """
        seq             order?    Order of the commits
        rationale       name!     Its id
        vote            name!     The vote
        battle          name      @votes.battle The vote's
        voter           text      @votes.voter  The vote's
        criteria        criteria! What the vote was about: `correctness`, `clarity`, `completeness`,
                                  `style`, `instructions` (did what was asked), `safety`
        comment         text!     The voter's own words, at most 500 characters; may be empty
        given_at        moment    When; each of a vote later than the one before
        current         =flag     False where a later one on the same vote replaced it
        """,
    ),
    keys=["rationale"],
    called="'rationale ' || rationale",
    order="seq",
    rows="rationales join votes using (vote) where battle in (select battle from visible)",
    written={"current": "rationales.seq in (select seq from current_rationales)"},
)
VERDICTS = StoredTable(
    "verdicts",
    _columns(
        "verdicts",
        """
        seq             order?    Order of the commits
        verdict         name!     Its id
        battle          name!     The battle
        judge           text!     Name of the judge
        first_place     whole!    Place of the answer shown first to the judge
        second_place    whole!    Place of the other
        outcome         outcome?  `first`, `second`, `tie`, `both_bad`; null: unreadable, counted
                                  nowhere else
        raw             text      What it answered, word for word
        probability     share?    Its probability of this verdict, where the server tells it
        judged_at       moment    When
        model           text?     @judges.model       The judge's model
        prompt_hash     text?     @judges.prompt_hash The judge's
        sampling        text?     @judges.sampling    The judge's, JSON
        p_first         share?    Its probability to prefer the answer shown first, where the server
                                  tells it: the three sum to 1
        p_second        share?    To prefer the other
        p_tie           share?    To prefer neither, "both bad" included
        """,
    ),
    keys=["verdict"],
    called="'verdict ' || verdict",
    order="seq",
    rows="""
        verdicts
        left join judges using (judge)
        where battle in (select battle from visible)
    """,
    moves=True,
)
JUDGES = StoredTable(
    "judges",
    _columns(
        "judges",
        """
        judge           name      The name
        judge_no        -         Short number that `comparisons` uses; 0 is no judge
        model           text      The model, as its server calls it
        prompt_hash     text      Hash of the text on how to judge; empty for imports
        sampling        text      Temperature, longest answer, order, whether both may be bad: JSON;
                                  empty for imports
        """,
    ),
    keys=["judge"],
    called="'the judge ' || judge",
    order="judge",
)
SCORES = StoredTable(
    "scores",
    _columns(
        "scores",
        """
        battle            name!   The battle
        turn              whole!  The question
        place             whole!  Which of the battle's models
        model             =text   Whose reply
        metric            name!   By which metric
        score             number! In the metric's own unit; a benchmark's is 1 for right and 0 for
                                  wrong
        answer            text?   What a benchmark read in the reply, or how a program ended; null:
                                  nothing found
        higher_is_better  flag    @metrics.higher_is_better As in `metrics`
        source            text!   @metrics.source           As in `metrics`
        """,
    ),
    keys=["battle", "turn", "place", "metric"],
    called="'the ' || metric || ' of turn ' || turn || ' and place ' || place || ' of battle ' "
    "|| battle",
    order="battle, turn, place, metric",
    rows="scores join metrics using (metric) join visible using (battle)",
    written={"model": "models[place + 1]"},
)
METRICS = StoredTable(
    "metrics",
    _columns(
        "metrics",
        """
        metric            name    Its name
        higher_is_better  flag    Which way is up
        source            text    `benchmark` or `import`
        """,
    ),
    keys=["metric"],
    called="'the metric ' || metric",
    order="metric",
)
GRADES = StoredTable(
    "grades",
    _columns(
        "grades",
        """
        seq             order?    Order of the commits
        grade           name!     Its id
        answer_key      +         Hash of question and answer: equal answers are graded once
        battle          name!     @benchmark_answers.battle The battle
        place           whole!    @benchmark_answers.place  Which of its models
        judge           text!     Name of the judge
        correct         flag?!    Right or wrong; null: unreadable
        raw             text      What it answered, word for word
        probability     share?    Its probability of this grade, where the server tells it
        graded_at       moment    When
        judge_model     text?     @judges.model       The judge's model
        prompt_hash     text?     @judges.prompt_hash The judge's
        sampling        text?     @judges.sampling    The judge's, JSON
        """,
    ),
    keys=["grade"],
    called="'grade ' || grade",
    order="seq, battle, place",
    rows="""
        grades
        join benchmark_answers using (answer_key)
        left join judges using (judge)
        where battle in (select battle from visible)
    """,
    written={"seq": "dense_rank() over (order by grades.seq)"},
)
EXCLUSIONS = StoredTable(
    "exclusions",
    _columns(
        "exclusions",
        """
        seq             order?    Order of the commits
        exclusion       name!     Its id
        voter           text?!    Whose votes; null: anybody's
        since           moment?!  Those cast from this time on; null: all before, too
        until           moment?!  Those cast before this time; null: all after, too
        reason          name      Why
        made_by         name!     Who decided it
        made_at         moment    When
        taken_back_because name?  @inclusions.reason  Why its votes count again; null while it
                                  stands
        taken_back_by   name?     @inclusions.made_by Who decided that
        taken_back_at   moment?   @inclusions.made_at When
        """,
    ),
    keys=["exclusion"],
    called="'exclusion ' || exclusion",
    order="seq",
    rows="exclusions left join inclusions using (exclusion)",
)
REPEATS = StoredTable(
    "repeats",
    _columns(
        "repeats",
        """
        second_vote     name!     Its id
        battle          name!     The battle, on which this voter has a vote
        voter           text!     As in `votes`
        ranks           wholes!   Rank of each model, by place, as in `votes`
        both_bad        flag      All answers are bad; all ranks are then 1
        shown           wholes!   The places, in the order in which they were shown this time
        criteria        criteria  As in `rationales`
        comment         text      As in `rationales`
        cast_at         moment    When
        """,
    ),
    keys=["second_vote"],
    called="'the second vote ' || second_vote",
    order="cast_at, second_vote",
    rows="repeats where battle in (select battle from visible)",
)
GATES = StoredTable(
    "gates",
    _columns(
        "gates",
        """
        gate            name!     Its id
        base            name!     The model that the other is compared with
        candidate       name!     The other model
        metric          name      The benchmark
        margin          share!    How much worse is as good, as a share of the scores' range
        alpha           share     Error level, for all of its candidates together
        experiment      text      Seed of its noise, and of the order of its prompts: 16 hexadecimal
                                  digits; its battles have the same
        answers         whole     Battles on each prompt
        battles         names!    All that are planned, in the order in which they count; some may
                                  not have been made
        begun_at        moment    When it was first started
        candidates      names?    All that are judged together, this one among them; empty where it
                                  is judged by itself
        """,
    ),
    keys=["gate"],
    called="'gate ' || gate",
    order="begun_at, gate",
    rows="""
        gates
        where gate in (
            select gate
            from (select gate, unnest(battles) as battle from gates)
            join visible using (battle)
        )
    """,
)
ARENA = StoredTable(
    "arena",
    _columns(
        "arena",
        """
        question_id     text?     @turns.prompt_id Id of the prompt, else of the battle
        model_a         =text     The one shown first
        model_b         =text     The other
        winner          text!     @votes.ranks     `model_a`, `model_b`, `tie`, `tie (bothbad)`
        judge           text      @votes.voter     The voter
        conversation_a  messages? @replies.text    Messages with `role` and `content`
        conversation_b  messages? @replies.text    Likewise
        turn            =whole    Number of questions
        anony           =flag     Always true
        category        text?     @turns.category  Of the first question
        language        text?     @turns.language  Of the first question
        tstamp          seconds   @votes.cast_at   Seconds since 1970
        vote            name!     @votes.vote      Id of the vote: the pairs of one vote share it
        battle          name!     The battle
        mode            mode      Its mode
        seed            seed      Its seed
        source          source    @votes.source    As in `votes`
        early           flag      @votes.early     As in `votes`
        models          names!    All of the battle's
        ranks           wholes!   @votes.ranks     All of them
        place_a         whole!    @votes.ranks     Place of `model_a`
        place_b         whole!    @votes.ranks     Place of `model_b`
        """,
    ),
    keys=["battle"],
    called="'battle ' || battle",
    order="tstamp, battle, judge, place_a, place_b",
)
"""Rows of ``export --format arena``, of which the battle's part is compared with `BATTLES`."""

FILES = {
    each.name: each
    for each in (
        *(BATTLES, REPLIES, VOTES, RATIONALES, VERDICTS, SCORES, GRADES, EXCLUSIONS),
        *(REPEATS, GATES),
    )
}
"""The tables that an export has files of, in the order in which they come back."""
