"""Style control from a store: what is counted of replies, and what is said where it cannot work."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from coupled_arena.analysis.leaderboard.board_estimates import read_estimates
from coupled_arena.analysis.leaderboard.result import leaderboard
from coupled_arena.analysis.style.judge import judge_style, read_judge_style
from coupled_arena.analysis.style.result import LiveStyle, read_style, style_board
from coupled_arena.analysis.style.rows import Obstacle
from coupled_arena.core.choices import BoardSource, Control, Trait, Voters
from coupled_arena.core.records import Finish, Reply
from coupled_arena.stats.ranking.bradley_terry import bradley_terry
from coupled_arena.stats.style import ELO, PairRows, PairScores, fit
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.single_comparisons import styled_rows
from coupled_arena.views.tables.style import (
    judge_style_answer,
    judge_style_text,
    style_answer,
    style_text,
)
from coupled_arena.views.words.style import style_warnings, style_words
from tests.analysis.styled import MODELS, TERSE, fill_styled
from tests.batches import at_once, judge
from tests.boards import read_style_board
from tests.store.conftest import make_battle, make_vote

TEXTS = [
    "",
    "plain, #no heading, a*b*c, 3.14 and -x",
    "# One\n text\n###### Six\n####### seven are none\n   ## three spaces\n    # four are code",
    "**bold** and __also__ but **not\nover lines** or ****",
    "- a\n* b\n+ c\n  - nested\n1. one\n23) more\n-none\n1.none",
    "```\n# a\n- b\n**c**\n```\n- after\n```python\n- not\n",
    "ñ **ü** 日本語\n- 項目",
]


def counted(text):
    """Count what a reply has, by Python's own regular expressions."""
    prose = re.sub(r"```.*?(```|\Z)", "", text, flags=re.DOTALL)
    return (
        len(text),
        len(re.findall(r"^ {0,3}#{1,6}[ \t]", prose, re.MULTILINE)),
        len(re.findall(r"\*\*[^*\s][^*\n]*\*\*|__[^_\s][^_\n]*__", prose)),
        len(re.findall(r"^[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]", prose, re.MULTILINE)),
    )


def test_what_examples_have():
    assert counted(TEXTS[1])[1:] == (0, 0, 0)
    assert counted(TEXTS[2])[1:] == (3, 0, 0)
    assert counted(TEXTS[3])[1:] == (0, 2, 0)
    assert counted(TEXTS[4])[1:] == (0, 0, 6)
    assert counted(TEXTS[5])[1:] == (0, 0, 1)
    assert counted(TEXTS[6]) == (len(TEXTS[6]), 0, 1, 1)


def styles(store):
    with store.cursor() as cursor:
        return cursor.execute(
            "select battle, model, characters, headers, bold, lists "
            "from reply_styles join battles using (battle_no) join models using (model_no)"
        ).fetchall()


def said(*conversations):
    return tuple(
        Reply(turn, place, text, (), Finish.STOP)
        for place, texts in enumerate(conversations)
        for turn, text in enumerate(texts)
    )


def test_the_store_counts_each_side_in_all_turns(store):
    rng, expected = np.random.default_rng(0), {}
    with at_once(store) as batch:
        for _ in range(30):
            turns = int(rng.integers(1, 4))
            texts = [[str(rng.choice(TEXTS)) for _ in range(turns)] for _ in range(3)]
            battle = make_battle("a", "b", "c", turns=turns, replies=said(*texts))
            batch.add_battle(battle)
            for model, replies in zip("abc", texts, strict=True):
                expected[battle.id, model] = tuple(
                    map(sum, zip(*map(counted, replies), strict=True))
                )
    found = {(battle, model): tuple(numbers) for battle, model, *numbers in styles(store)}
    assert found == expected
    again = make_battle("a", "b", replies=said(["x"], ["y **z**"]))
    store.add_battle(again)
    assert {row[1:] for row in styles(store) if row[0] == again.id} == {
        ("a", 1, 0, 0, 0),
        ("b", 7, 0, 1, 0),
    }


def test_a_database_from_before_gets_the_styles_of_its_replies(store):
    for texts in (["# a"], ["b"]), (["**c**"], ["- d"]):
        store.add_battle(make_battle("a", "b", replies=said(*texts)))
    kept = sorted(styles(store))
    step = "insert into reply_styles select * exclude (battle) from reply_style_rows"
    store.write(lambda cursor: cursor.execute("delete from reply_styles; " + step))
    assert sorted(styles(store)) == kept


def test_the_rows_of_a_selection(store):
    """Against plain Python, with what does not count: no texts, equal models, votes left out."""
    rows = fill_styled(store, TERSE, 60, judged="gpt")
    none = make_battle("amber", "birch", replies=said([""], [""]))
    same = make_battle("amber", "amber", "birch", replies=said(["x"], ["yy"], ["zzz"]))
    unread = make_battle("amber", "birch", replies=())
    one_empty = make_battle("amber", "dusk", replies=said([""], ["zzz"]))
    for battle, ranks in ((none, (1, 2)), (unread, (2, 1)), (one_empty, (2, 1))):
        store.add_battle(battle)
        store.cast(make_vote(battle, *ranks))
    store.add_battle(same)
    store.cast(make_vote(same, 1, 2, 3))
    with store.cursor() as cursor:
        found = styled_rows(cursor, Selection(), [Trait.LENGTH], voted=True, judged=False)
    got = sorted(
        zip(
            found.first.tolist(),
            found.second.tolist(),
            found.differences[:, 0].tolist(),
            found.human.tolist(),
            strict=True,
        )
    )
    known = [(a, b, x, vote) for a, b, x, vote, _ in rows if x or vote == 0.5]
    assert found.models == MODELS
    assert got == sorted([*known, (0, 3, -1.0, 0.0)])
    assert found.without_texts == 4  # the two without texts, and each of the model that met itself
    with store.cursor() as cursor:
        judged = styled_rows(cursor, Selection(judge="gpt"), [], voted=True, judged=True)
    assert sorted(judged.judge.tolist()) == sorted(v for *_, x, vote, v in rows if x or vote == 0.5)
    assert judged.differences.shape == (len(judged.judge), 0)


@pytest.fixture(scope="module")
def styled():
    with Store.in_memory() as store:
        rows = fill_styled(store, TERSE, 500, per_prompt=2, judged="gpt")
        yield store, [row for row in rows if row[2] or row[3] == 0.5]


def by_rows(rows, outcome):
    a, b, x, *outcomes = (np.array(column) for column in zip(*rows, strict=True))
    spread = np.sqrt(np.mean(x**2))
    made = PairRows(4, a, b, outcomes[outcome], (x / spread)[:, None], np.zeros(len(a), int))
    return fit(made), spread


@pytest.mark.slow
@pytest.mark.parametrize("by_judge", [False, True])
def test_a_board_is_the_fit_of_its_rows(styled, by_judge):
    store, rows = styled
    found, spread = by_rows(rows, int(by_judge))
    judged = Selection(judge="gpt") if by_judge else Selection()
    board = read_style_board(store, judged, Control.LENGTH, by_judge=by_judge)
    by_name = {row.model: row for row in board.models}
    scores = [by_name[model].controlled.score for model in MODELS]
    assert scores == pytest.approx(1000 + ELO * found.estimate[:4], abs=1e-6)
    (effect,) = board.effects
    assert (effect.coefficient, effect.spread) == pytest.approx((found.estimate[4], spread))
    odds = np.exp(found.estimate[4] / spread / 3)
    assert effect.twice.rate == pytest.approx(odds / (1 + odds))
    assert effect.against_none is None
    with store.cursor() as cursor:
        ((prompts,),) = cursor.execute("select count(*) from prompts").fetchall()
    assert (board.comparisons, board.prompts, board.without_texts) == (len(rows), prompts, 0)


def test_without_control_they_are_the_bradley_terry_scores_of_the_board(styled):
    store, _ = styled
    counts = read_estimates(store).votes
    expected = dict(zip(counts.models, bradley_terry(counts, resamples=1).score, strict=True))
    board = read_style_board(store, Selection(), Control.STYLE)
    assert {row.model: row.plain.score for row in board.models} == pytest.approx(expected, abs=1e-3)


def test_control_turns_the_ranking_round(styled):
    board = read_style_board(styled[0], Selection(), Control.LENGTH)
    plain = sorted(board.models, key=lambda row: row.plain.rank)
    assert [row.model for row in plain] == list(reversed(MODELS))
    assert board.models[0].model in MODELS[:2]
    assert board.models[-1].model in MODELS[2:]
    assert board.effects[0].twice.low > 0.55
    first, *_, moves = style_words(board)
    assert "a reply twice as long wins" in first
    assert "luck" not in first
    assert "With style held fixed 4 models change" in moves


def test_the_store_s_board_follows_it(styled):
    live = LiveStyle(styled[0])
    found = live.get(Selection(), Control.LENGTH, by_judge=False)
    assert live.get(Selection(), Control.LENGTH, by_judge=False) is found
    assert live.get(Selection(), Control.STYLE, by_judge=False) is not found


def obstacles(store, control=Control.LENGTH, **selection):
    found = read_style(store, Selection(**selection), control)
    board = style_board(found)
    words = style_warnings(board)
    assert found.controlled is None
    assert not board.effects
    assert words
    assert json.dumps(style_answer(board))
    assert style_text(board)
    return found, words


def fight(store, ranks, one, other, models=("amber", "birch"), prompt=None):
    battle = make_battle(*models, replies=said([one], [other]))
    if prompt is not None:
        battle = replace(battle, prompts=(replace(battle.prompts[0], text=prompt),))
    store.add_battle(battle)
    store.cast(make_vote(battle, *ranks))


def several(store, times, *fights):
    with at_once(store) as batch:
        for number in range(times):
            for at, (ranks, *texts) in enumerate(fights):
                fight(batch, ranks, *texts, prompt=f"{number} {at}")


def test_nothing_to_hold_fixed(store):
    found, words = obstacles(store)
    assert found.obstructed.obstacle is Obstacle.NOTHING
    assert "no comparison here" in words[0]


def test_votes_without_texts_are_not_counted_in_silence(store):
    several(store, 5, ((1, 2), "", ""), ((2, 1), "", ""))
    found, words = obstacles(store)
    assert found.obstructed.obstacle is Obstacle.TEXTS
    assert "needs the texts" in words[0]
    several(store, 8, ((1, 2), "a", "bb"), ((2, 1), "a", "bbb"), ((2, 1), "aaa", "b"))
    board = read_style_board(store, Selection(), Control.LENGTH)
    assert (board.comparisons, board.without_texts) == (24, 10)
    assert "10 comparisons do not count" in style_warnings(board)[0]


def test_models_that_stand_apart_have_no_scores(store):
    several(store, 9, ((1, 2), "a", "bb"))
    found, words = obstacles(store)
    assert found.obstructed.obstacle is Obstacle.APART
    assert "both won and lost" in words[0]
    assert found.plain is None


def test_few_prompts_are_not_enough(store):
    for ranks in ((1, 2), (2, 1), (1, 2), (2, 1)):
        fight(store, ranks, "a", "bb", prompt=f"p{ranks[0]}")
    found, words = obstacles(store)
    assert found.obstructed.obstacle is Obstacle.PROMPTS
    assert "2 prompts are too few" in words[0]


def test_models_that_always_differ_alike_cannot_be_told_from_their_style(store):
    several(store, 6, ((1, 2), "a", "bb"), ((2, 1), "a", "bb"))
    found, words = obstacles(store)
    assert found.obstructed.obstacle is Obstacle.ENTANGLED
    assert found.obstructed.traits == (Trait.LENGTH,)
    assert "(length)" in words[0]
    assert found.plain is not None


def test_style_that_decides_everything_has_no_finite_effect(store):
    several(store, 6, ((2, 1), "a", "bbb"), ((1, 2), "aaaa", "b"))
    found, words = obstacles(store)
    assert found.obstructed.obstacle is Obstacle.UNBOUNDED
    assert "(length)" in words[0]


def test_the_trait_that_decides_is_named(store):
    few = "a", "bb", "aaaa"
    with at_once(store) as batch:
        for number in range(12):
            headed, plain = "# " + few[number % 3], few[(number + 1) % 3] + "x" * (number % 5)
            side = number % 2
            texts = (headed, plain) if side else (plain, headed)
            fight(batch, (1, 2) if side else (2, 1), *texts, prompt=str(number))
    found, words = obstacles(store, Control.STYLE)
    assert found.obstructed.traits == (Trait.HEADERS,)
    assert "(headings)" in words[0]
    assert found.counted.constant == (Trait.BOLD, Trait.LISTS)
    assert read_style(store, Selection(), Control.LENGTH).controlled is not None


def test_a_trait_that_never_varies_is_left_out(styled):
    board = read_style_board(styled[0], Selection(), Control.STYLE)
    assert [effect.trait for effect in board.effects] == [Trait.LENGTH]
    same = read_style_board(styled[0], Selection(), Control.LENGTH)
    assert [row.controlled for row in board.models] == [row.controlled for row in same.models]
    assert (
        "nothing can be held fixed: headings, bold text and list items" in style_warnings(board)[0]
    )


def test_replies_of_one_length_leave_the_board_as_it_is(store):
    several(store, 6, ((1, 2), "a", "b"), ((2, 1), "a", "b"), ((1, 1), "a", "b"))
    board = read_style_board(store, Selection(), Control.LENGTH)
    assert board.effects == ()
    assert all(row.controlled == row.plain for row in board.models)
    assert "nothing can be held fixed: length" in style_warnings(board)[0]


@pytest.mark.slow
def test_markdown_is_found_where_it_moves_votes(store):
    rng = np.random.default_rng(1)
    with at_once(store) as batch:
        for number in range(300):
            marks = rng.integers(0, 2, (2, 2))
            texts = [
                "# Head\n" * int(head) + "word " * int(rng.integers(1, 30)) + "**so**" * int(bold)
                for head, bold in marks
            ]
            odds = 1.5 * (marks[0, 0] - marks[1, 0])
            won = rng.random() < 1 / (1 + np.exp(-odds))
            fight(batch, (1, 2) if won else (2, 1), *texts, prompt=str(number))
    board = read_style_board(store, Selection(), Control.STYLE)
    by_trait = {effect.trait: effect for effect in board.effects}
    headers = by_trait[Trait.HEADERS]
    true = 1 / (1 + np.exp(-1.5))
    assert headers.against_none.low <= true <= headers.against_none.high
    assert headers.against_none.low > 0.6
    # Three intervals at 95 %; that of length and bold text are drawn where nothing is true.
    assert by_trait[Trait.LENGTH].twice.low < 0.5 < by_trait[Trait.LENGTH].twice.high
    assert "a reply with headings wins" in style_words(board)[1]


def test_a_board_of_any_source_takes_its_own_word(styled):
    store, _ = styled
    judged = Selection(judge="gpt")
    people = read_style_board(store, judged, Control.LENGTH)
    judge_s = read_style_board(store, judged, Control.LENGTH, by_judge=True)
    assert people.effects != judge_s.effects
    assert people.effects == read_style_board(store, Selection(), Control.LENGTH).effects
    assert leaderboard(read_estimates(store), source=BoardSource.HUMAN).control is Control.NONE


def test_a_judge_beside_people(styled):
    store, rows = styled
    made = read_judge_style(store, Selection(judge="gpt"), Control.LENGTH)
    found = judge_style(made)
    fits = [by_rows(rows, at)[0] for at in (1, 0)]
    (length,) = found.traits
    sides = length.judge.coefficient, length.people.coefficient
    assert sides == pytest.approx([each.estimate[4] for each in fits])
    assert length.difference == pytest.approx(sides[0] - sides[1])
    assert length.low > 0  # the judge is swayed more, which is true of what was drawn
    rates = [PairScores.of(each).values[4:8] for each in fits]
    assert [row.bias for row in found.models] == pytest.approx(rates[0] - rates[1])
    # Verdicts and votes have nothing in common but strength and style.
    assert found.plain_agreement.low > 0.5
    assert found.agreement.low < 0.5 < found.agreement.high
    wide = max(abs(row.plain_bias) for row in found.models)
    assert max(abs(row.bias) for row in found.models) < wide
    answer, text = judge_style_answer(found), "\n".join(judge_style_text(found))
    assert json.dumps(answer)
    assert answer["agreement"]["rate"] == found.agreement.rate
    assert "by more than luck explains" in text
    assert "one half is chance" in text


def test_agreement_at_equal_style_by_another_route(styled):
    """An optimiser on verdicts by model, length and vote: half of the vote's log-odds count."""
    _, rows = styled
    a, b, x, vote, verdict = (np.array(column) for column in zip(*rows, strict=True))
    design = np.column_stack([np.eye(4)[a] - np.eye(4)[b], x, vote - 0.5])[:, 1:]

    def loss(theta):
        eta = design @ theta
        return np.sum(np.logaddexp(0, eta) - verdict * eta)

    theta = optimize.minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-7}).x
    found = judge_style(read_judge_style(styled[0], Selection(judge="gpt"), Control.LENGTH))
    assert found.agreement.rate == pytest.approx(expit(theta[-1] / 2), abs=1e-6)


@pytest.mark.slow
def test_errors_of_a_difference_come_from_what_both_share(store):
    """A judge that repeats the votes differs from people by nothing, and is known not to."""
    fill_styled(store, TERSE, 120)
    with store.cursor() as cursor:
        votes = cursor.execute("select battle, ranks from votes").fetchall()
    with at_once(store) as batch:
        for battle, (one, other) in votes:
            outcome = "tie" if one == other else "first" if one < other else "second"
            judge(batch, "echo", store.battle(battle), 0, 1, outcome)
    found = judge_style(read_judge_style(store, Selection(judge="echo"), Control.LENGTH))
    (length,) = found.traits
    assert (length.difference, length.low, length.high) == pytest.approx((0, 0, 0), abs=1e-6)
    assert all(abs(end) < 1e-6 for row in found.models for end in (row.bias, row.low, row.high))
    assert found.agreement is None  # it always says what people say
    assert "no finite estimate" in judge_style_answer(found)["warnings"][-1]


def test_a_judge_without_texts_or_verdicts(store):
    fill_styled(store, TERSE, 20, judged="gpt", texts=False)
    found = judge_style(read_judge_style(store, Selection(judge="gpt"), Control.STYLE))
    answer = judge_style_answer(found)
    assert (answer["comparisons"], answer["without_texts"], answer["traits"]) == (0, 20, [])
    assert "needs the texts" in answer["warnings"][0]
    assert judge_style_text(found)


def test_scores_are_for_people_like_the_voters_or_for_exactly_these(store):
    """Of people who vote often they are less sure; a voter for each vote changes nothing."""
    fill_styled(store, TERSE, 200, judged="gpt", voters=5)
    like, these = (
        read_style(store, Selection(), Control.LENGTH, voters=voters) for voters in Voters
    )
    assert (like.counted.people, these.counted.people) == (5, None)
    assert like.plain.score.value == pytest.approx(these.plain.score.value)
    assert (like.controlled.score.degrees <= 4 + 1e-9).all()
    assert (these.controlled.score.degrees > 50).all()
    beside = read_judge_style(store, Selection(judge="gpt"), Control.LENGTH)
    assert (beside.controlled.known.degrees <= 4 + 1e-9).all()
    verdicts = read_style(store, Selection(judge="gpt"), Control.LENGTH, by_judge=True)
    assert verdicts.counted.people is None
