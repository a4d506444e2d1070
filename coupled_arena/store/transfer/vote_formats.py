"""The published formats of comparisons, each as SQL expressions over a row's fields."""

from __future__ import annotations

from dataclasses import dataclass

from coupled_arena.core.sql import quoted
from coupled_arena.core.vote_columns import (
    IDENTICAL_WORDS,
    QUESTION_NAMES,
    TWO_MEANINGS,
    VERDICT,
    VOTER_NAMES,
    WINNERS,
    read_names,
)


@dataclass(frozen=True)
class Reading:
    """What a row says of one order of its two models.

    Attributes
    ----------
    first, second : str
        Fields that name the model shown first and the other.
    outcome : str
        SQL: ``first``, ``second``, ``tie``, ``both_bad``, or null for an unreadable verdict.
    raw : str
        SQL: the verdict in the judge's words, as far as they are there.
    beside : str
        The field with a judge's verdict that stands beside a vote. Empty where the reading is of
        the votes, or of the judge that the file is from.
    likely : str
        SQL: how likely a judge was to prefer the second answer; null where nobody says.
    """

    first: str
    second: str
    outcome: str
    raw: str
    beside: str = ""
    likely: str = "null"


def _first_of(names: tuple[str, ...]) -> str:
    """Return SQL for the first of some fields that is not blank."""
    given = [f"nullif(stripped({name}), '')" for name in names]
    return f"coalesce({', '.join(given)})"


_QUESTION = _first_of(QUESTION_NAMES)
VOTER = _first_of(VOTER_NAMES)
IDENTICAL = "case {} else false end".format(
    " ".join(
        f"when nullif(trim({name}), '') is not null "
        f"then lower(trim({name})) in ({', '.join(map(quoted, words))})"
        for name, words in IDENTICAL_WORDS.items()
    )
)
"""SQL: whether a row is marked as a tie of equal answers."""
# FastChat's judges are a list: the model, and how it was asked.
_LISTED_JUDGE = "if(starts_with(judge, '['), try_cast(judge as json) ->> 0, null)"


@dataclass(frozen=True)
class VoteFormat:
    """One published format.

    Attributes
    ----------
    columns : tuple of str
        Fields that tell it from others.
    readings : tuple of Reading
        Two where a judge was asked in both orders, or has a verdict beside the vote.
    fault : str
        SQL: why no outcome can be taken from the row, or null.
    item : str
        SQL: what, with the models, identifies a row that has no ``num``.
    question : str
        SQL: the prompt's own identifier. Where the text of the question is not there, rows with
        the same one are on one prompt, whatever their numbers.
    prompts, replies_a, replies_b : str
        SQL: texts by turn; null where a question has no answer.
    system : str
        SQL: the words that open the conversation.
    unread : str
        SQL: whether there are texts that cannot be read.
    judged : bool
        Its outcomes are always those of a judge.
    judge : str
        SQL: the judge that a row names; null where it names a person, or nobody.
    lacks_item : str
        Why a row is rejected that nothing identifies. Where it is empty, such a row is taken: by
        its texts, or else as a battle of its own.
    fields : tuple of str
        What it reads, where that is not all that any format reads.
    lists : tuple of str
        Fields besides the conversations that may hold lists of texts.
    unvoted : str
        SQL: whether a row holds no vote, and is left out and counted.
    said : tuple of str
        Fields that tell an outcome by a word or a name; see `meanings`.
    vote : str
        What a row with a vote has, in a sentence for files in which no row has it.
    """

    title: str
    columns: tuple[str, ...]
    readings: tuple[Reading, ...]
    fault: str
    item: str = f"coalesce(battle, {_QUESTION})"
    question: str = _QUESTION
    prompts: str = "asked"
    replies_a: str = "answers(spoken_a, starts_a)"
    replies_b: str = "answers(spoken_b, starts_b)"
    system: str = "opening(parsed_a, parsed_b)"
    unread: str = "unread(conversation_a, parsed_a) or unread(conversation_b, parsed_b)"
    judged: bool = False
    judge: str = "null"
    lacks_item: str = ""
    fields: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    unvoted: str = "false"
    said: tuple[str, ...] = ()
    vote: str = ""


_MEANINGS = ", ".join(
    f"{quoted(word)}: {quoted(outcome.value)}"
    for outcome, words in WINNERS.items()
    for word in words
)
# A name that is exactly a model's is that model's; in other case, where that leaves no doubt.
MACROS = f"""
create or replace temp macro stripped(value) as
    regexp_replace(value, '^[\\s\\p{{Z}}]+|[\\s\\p{{Z}}]+$', '', 'g');
create or replace temp macro outcome_by_word(word) as
    map {{{_MEANINGS}}}[regexp_replace(lower(stripped(word)), '[\\s_-]+', '_', 'g')];
create or replace temp macro outcome_by_name(word, first, second) as
    case
        when first = second then null
        when stripped(word) = first then 'first'
        when stripped(word) = second then 'second'
        when lower(first) = lower(second) then null
        when lower(stripped(word)) = lower(first) then 'first'
        when lower(stripped(word)) = lower(second) then 'second'
    end;
"""
"""What `FORMATS` need, besides the macros of `staged_rows`."""
UNKNOWN_WORD = "unknown (winner|verdict) .*"
"""An expression for the reason of a row with a word that means no outcome."""


def _winner(field: str, first: str, second: str) -> str:
    """Return SQL for what MT-Bench's judge says; `first` and `second` are words in lower case."""
    word = f"lower(trim({field}))"
    return (
        f"case when {word} = {first} then 'first' when {word} = {second} then 'second' "
        f"when {word} = 'tie' then 'tie' end"
    )


def meanings(field: str) -> str:
    """Return the columns of what a field means as a word, and as a name.

    A macro would be computed, and planned, wherever its result is needed.
    """
    return (
        f"outcome_by_word({field}) as {field}_word, "
        f"outcome_by_name({field}, shown_first, shown_second) as {field}_name"
    )


def _outcome_of(field: str) -> str:
    """Return SQL for the outcome that a word or a name in a field means."""
    return f"coalesce({field}_word, {field}_name)"


def _faults_of(field: str) -> str:
    """Return SQL for what is wrong with such a field."""
    return (
        f"when {field}_word <> {field}_name then '{field} ' || short({field}) || "
        f"' {TWO_MEANINGS}' "
        f"when {field} is not null and {_outcome_of(field)} is null "
        f"then 'unknown {field} ' || short({field}) "
    )


def _unknown(field: str, *known: str) -> str:
    return (
        f"when {field} is null then '{field} is missing' "
        f"when lower(trim({field})) not in ({', '.join(known)}) "
        f"then 'unknown {field} ' || short({field}) "
    )


_PAIR = ("'model_1'", "'model_2'")
_PAIR_WINNERS = (*_PAIR, "'tie'", "'error'")
FLAGS = ("winner_model_a", "winner_model_b", "winner_tie")


def _turns(field: str) -> str:
    """Return SQL for Kaggle's texts by turn: a list in each of its fields, or one turn."""
    return (
        f"case when {field} is null then null when all_lists(prompt, response_a, response_b) "
        f"then listed({field}) else [{field}] end"
    )


_A_WINS = "'a>b', 'a>>b', 'b<a', 'b<<a'"
_B_WINS = "'b>a', 'b>>a', 'a<b', 'a<<b'"
_EVEN = "'a=b', 'b=a'"
_GAMES = "try_cast(games as json)"  # nothing where it is no JSON


def _game(number: int) -> Reading:
    """Return what arena-hard's judge says in a game; the baseline is A in the first."""
    score = f"json_extract_string({_GAMES}, '$[{number}].score')"
    word = f"lower(trim({score}))"
    return Reading(
        *(("baseline", "model"), ("model", "baseline"))[number],
        f"case when {word} in ({_A_WINS}) then 'first' when {word} in ({_B_WINS}) then 'second' "
        f"when {word} in ({_EVEN}) then 'tie' end",
        f"coalesce(json_extract_string({_GAMES}, '$[{number}].judgment.answer'), "
        f"json_extract_string({_GAMES}, '$[{number}].judgment'), {score})",
    )


def _game_fault(number: int) -> str:
    """Return SQL for what is wrong with a score; a game without one is an unreadable verdict."""
    score = f"json_extract_string({_GAMES}, '$[{number}].score')"
    known = f"{_A_WINS}, {_B_WINS}, {_EVEN}"
    return (
        f"when lower(trim({score})) not in ({known}) then 'unknown score ' || short({score}) "
        f"|| ' of game {number + 1} (A>>B, A>B, A=B, B>A and B>>A are known)' "
    )


# AlpacaEval's: 1 and 2 are the answers, what lies between is how likely the second is, 0 a draw.
_PREFERENCE = "try_cast(preference as double)"
_INSTRUCTION = "concat_ws(chr(10) || chr(10), instruction, nullif(trim(input), ''))"

FORMATS = (
    VoteFormat(
        title="MT-Bench pairs",
        columns=("question_id", "model_1", "model_2", "g1_winner", "g2_winner"),
        readings=(
            Reading(
                *("model_1", "model_2", _winner("g1_winner", *_PAIR)),
                "coalesce(g1_judgment, g1_winner)",
            ),
            Reading(
                *("model_2", "model_1", _winner("g2_winner", *_PAIR[::-1])),
                "coalesce(g2_judgment, g2_winner)",
            ),
        ),
        fault=f"case {_unknown('g1_winner', *_PAIR_WINNERS)}"
        f"{_unknown('g2_winner', *_PAIR_WINNERS)} end",
        judged=True,
        lacks_item="question_id is missing",
    ),
    VoteFormat(
        title="arena-hard judgements",
        columns=("model", "games"),
        readings=(_game(0), _game(1)),
        fault=f"case when coalesce(json_array_length({_GAMES}), 0) <> 2 "
        "then 'games must be two, with the answers in both orders' "
        f"{_game_fault(0)}{_game_fault(1)} end",
        item="coalesce(uid, question_id)",
        question="coalesce(uid, question_id)",
        judged=True,
        lacks_item="question_id is missing",
    ),
    VoteFormat(
        title="AlpacaEval annotations",
        columns=("instruction", "generator_1", "generator_2", "preference"),
        readings=(
            Reading(
                "generator_1",
                "generator_2",
                f"case when {_PREFERENCE} in (0, 1.5) then 'tie' "
                f"when {_PREFERENCE} < 1.5 then 'first' else 'second' end",
                "preference",
                likely=f"if({_PREFERENCE} in (0, 1, 1.5, 2), null, {_PREFERENCE} - 1)",
            ),
        ),
        fault=f"case when {_PREFERENCE} = 0 or {_PREFERENCE} between 1 and 2 then null "
        "else 'preference ' || short(preference) || ' is neither from 1 to 2 nor 0' end",
        judge="if(try_cast(annotator as double) is null, nullif(trim(annotator), ''), null)",
        unvoted="preference is null or lower(trim(preference)) in ('', 'nan')",
        vote="A verdict has a preference: 0, or from 1 to 2.",
        item=_INSTRUCTION,
        lacks_item="instruction is missing",
        question="null",
        prompts=f"if(instruction is null, null, [{_INSTRUCTION}])",
        replies_a="if(output_1 is null, null, [output_1])",
        replies_b="if(output_2 is null, null, [output_2])",
    ),
    VoteFormat(
        title="Kaggle's Chatbot Arena",
        columns=("model_a", "model_b", *FLAGS),
        readings=(
            Reading(
                "model_a",
                "model_b",
                "case when flag(winner_model_a) then 'first' when flag(winner_model_b) "
                "then 'second' else 'tie' end",
                f"concat_ws(',', {', '.join(FLAGS)})",
            ),
        ),
        fault="case when list_sort([" + ", ".join(f"flag({name})" for name in FLAGS) + "]) "
        "is distinct from [false, false, true] "
        f"then 'exactly one of {', '.join(FLAGS)} must be 1' end",
        prompts=_turns("prompt"),
        replies_a=_turns("response_a"),
        replies_b=_turns("response_b"),
        lists=("prompt", "response_a", "response_b"),
    ),
    VoteFormat(
        title="Chatbot Arena and ranking rows",
        columns=("model_a", "model_b", "winner"),
        readings=(
            Reading("model_a", "model_b", _outcome_of("winner"), "winner"),
            Reading("model_a", "model_b", _outcome_of(VERDICT), VERDICT, beside=VERDICT),
        ),
        fault=f"case when winner is null and {VERDICT} is null then 'winner is missing' "
        f"{_faults_of('winner')}{_faults_of(VERDICT)}end",
        prompts="coalesce(asked, if(prompt is null, null, [prompt]))",
        replies_a="coalesce(answers(spoken_a, starts_a), "
        "if(response_a is null, null, [response_a]))",
        replies_b="coalesce(answers(spoken_b, starts_b), "
        "if(response_b is null, null, [response_b]))",
        judge=_LISTED_JUDGE,
        fields=read_names(),
        said=("winner", VERDICT),
    ),
)
OURS = FORMATS[-1]
"""The one with the columns of this program: of a file with a winner that somebody has named."""
