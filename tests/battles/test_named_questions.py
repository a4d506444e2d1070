"""Which questions are not answered twice: those that their visitor has yet to vote on."""

from __future__ import annotations

import pytest

from coupled_arena.core.errors import PromptError, VoteError
from coupled_arena.core.records import Prompt
from tests.battles.test_battle import finish, played

ASKED = "Which way does the River Elbe flow?"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (ASKED, True),
        (ASKED.upper(), True),
        ("which  way\tdoes the river\u200b elbe flow", True),
        ("\uff37hich way does the River Elbe flow\uff1f", True),
        (f"Answer in one word. {ASKED} Thank you.", True),
        ("does the River Elbe flow", True),
        ("And the Rhine, which way does it flow?", True),  # a later turn's
        ("Which way does the Danube flow?", False),
        ("river", False),
        ("Elbe flow", False),
        ("What is a river?", False),
    ],
)
def test_texts_of_all_turns_of_an_open_round_are_refused(make_arena, text, refused):
    arena = make_arena()
    round_id = played(arena, prompt=Prompt(ASKED))
    arena.follow_up("eve", round_id, "And the Rhine, which way does it flow?")
    if refused:
        with pytest.raises(PromptError, match="vote there first"):
            arena.check_named("eve", text)
    else:
        arena.check_named("eve", text)
    arena.check_named("another", text)


def test_a_vote_that_can_be_undone_keeps_the_round_closed_to_names(make_arena):
    arena = make_arena(undo_seconds=60.0)
    first = played(arena, prompt=Prompt(ASKED))
    arena.vote("eve", first, [1, 2])
    played(arena, prompt=Prompt("Something else entirely?"))
    with pytest.raises(PromptError, match="vote there first"):
        arena.check_named("eve", ASKED)
    arena.confirm("eve", first)
    arena.check_named("eve", ASKED)


def test_an_earlier_round_that_the_page_shows_no_more_is_over(make_arena):
    arena = make_arena()
    first = played(arena, prompt=Prompt(ASKED))
    second = played(arena, prompt=Prompt("Something else entirely?"))
    arena.check_named("eve", ASKED)
    with pytest.raises(Exception, match="You compared named models on this question"):
        arena.vote("eve", first, [1, 2])
    assert arena.vote("eve", second, [1, 2])


def test_an_earlier_round_whose_answers_are_written_is_over_at_once(make_arena):
    arena = make_arena(max_new_tokens=900)
    first = arena.ask("eve", Prompt(ASKED))
    arena.ask("eve", Prompt("Something else entirely?"))
    arena.check_named("eve", ASKED)
    assert finish(arena, "eve", first)[-1].error


def test_a_question_in_a_second_round_would_tell_who_is_who_in_the_first(make_arena):
    arena = make_arena()
    first = played(arena, prompt=Prompt(ASKED))
    for text in (ASKED, f"which  way does the river elbe FLOW {chr(0x200B)}"):
        with pytest.raises(PromptError, match="You have yet to vote on this question"):
            arena.ask("eve", Prompt(text))
    arena.follow_up("eve", first, ASKED)  # in its own round it tells nobody
    assert finish(arena, "eve", first)[-1].error is None
    played(arena, "another", Prompt(ASKED))
    assert arena.vote("eve", first, [1, 2])
    played(arena, prompt=Prompt(ASKED))


def test_whoever_asks_again_takes_no_vote_back(make_arena):
    """The second round's names would tell whether the vote was for the model it meant."""
    arena = make_arena()
    first = played(arena, prompt=Prompt(ASKED))
    arena.vote("eve", first, [1, 2])
    arena.ask("eve", Prompt(ASKED))
    assert arena.revealed_battle("eve", first)
    with pytest.raises(VoteError):
        arena.undo("eve", first)


def test_a_round_that_the_page_shows_no_more_is_over_when_its_question_comes_again(make_arena):
    arena = make_arena()
    first = played(arena, prompt=Prompt(ASKED))
    second = played(arena, prompt=Prompt("Something else entirely?"))
    arena.follow_up("eve", second, ASKED)
    finish(arena, "eve", second)
    with pytest.raises(Exception, match="You asked this question again"):
        arena.vote("eve", first, [1, 2])
    assert arena.vote("eve", second, [1, 2])
