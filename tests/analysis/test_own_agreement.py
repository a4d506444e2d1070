"""How often a judge agrees with one voter, and how sure that is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from coupled_arena.analysis.agreement import OwnAgreement, read_own_agreement
from coupled_arena.core.records import Outcome, Prompt
from coupled_arena.core.verdicts import Verdict
from coupled_arena.stats.intervals import agreement_interval, critical_value, wilson
from coupled_arena.store.tables import judges
from coupled_arena.views.words.agreement import own_agreement_words
from tests.batches import at_once
from tests.store.conftest import make_battle, make_vote


def judged(store, cases):
    """Store battles with a vote of eve's and what a judge said in both orders; a prompt each."""
    said = []
    with at_once(store) as batch:
        battles = [make_battle(prompts=(Prompt(prompt),)) for prompt, *_ in cases]
        for battle in battles:
            batch.add_battle(battle)
    for battle, (_, vote, *orders) in zip(battles, cases, strict=True):
        store.cast(make_vote(battle, *vote[0], voter=vote[1], both_bad=vote[2]))
        said += [
            Verdict(f"{battle.id}{at}", battle.id, "strict", at, 1 - at, outcome, "raw")
            for at, outcome in enumerate(orders)
        ]
    store.write(lambda cursor: judges.bind(cursor, "strict", "m", "0", "{}"))
    store.write(lambda cursor: judges.add_verdicts(cursor, said))


def own(store, voter="eve"):
    with store.cursor() as cursor:
        return read_own_agreement(cursor, "strict", voter)


FIRST, SECOND, TIE, BAD = Outcome.FIRST, Outcome.SECOND, Outcome.TIE, Outcome.BOTH_BAD


def test_agreement_is_that_of_the_audit_for_one_voter(store):
    eve_first, eve_tie = ((1, 2), "eve", False), ((1, 1), "eve", False)
    judged(
        store,
        [
            ("p", eve_first, FIRST, SECOND),  # the same in both orders
            ("p", eve_first, FIRST, FIRST),  # the orders disagree: a tie
            ("q", eve_tie, FIRST, FIRST),  # and that is what eve says
            ("q", ((1, 1), "eve", True), TIE, TIE),  # neither is preferred
            ("r", eve_tie, BAD, BAD),
            ("r", eve_first, None, None),  # unreadable: no comparison
            ("s", ((2, 1), "ann", False), FIRST, SECOND),  # somebody else's
        ],
    )
    mine = own(store)
    assert (mine.agreed, mine.comparisons, mine.prompts) == (4, 5, 3)
    assert mine.low < 0.8 < mine.high
    assert (own(store, "ann").agreed, own(store, "ann").comparisons) == (0, 1)
    assert own(store, "nobody") is None


def test_from_one_question_nothing_can_be_concluded(store):
    judged(store, [("p", ((1, 2), "eve", False), FIRST, SECOND)] * 4)
    mine = own(store)
    assert (mine.agreed, mine.comparisons, mine.low, mine.high) == (4, 4, 0.0, 1.0)
    assert own_agreement_words(mine) == (
        "strict has agreed with you on 4 of 4 comparisons: too few to say how often it does."
    )


def test_of_as_many_questions_as_comparisons_it_is_wilsons():
    """With one comparison a prompt the variance is that of a proportion, with G - 1 for G."""
    agreed, n = 30, 40
    counts = np.repeat([1, 0], [agreed, n - agreed])
    low, high = agreement_interval(counts, np.ones(n, int), 0.05)
    rate, t = agreed / n, critical_value(0.05, n - 1)
    size = n * (n - 1) / n
    expected = wilson(np.array([rate]), np.array([rate * (1 - rate) / size]), np.array([n]), t)
    assert (low, high) == pytest.approx((expected[0][0], expected[1][0]))
    # A library's, with the normal law: the difference is of Student's t with 39 degrees.
    theirs = binomtest(agreed, n).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.01)
    assert low < theirs.low
    assert high > theirs.high


def test_the_interval_covers_where_answers_of_a_question_go_together():
    """By simulation; comparisons of a prompt agree or disagree together."""
    rng, truth, covered, runs = np.random.default_rng(5), 0.7, 0, 600
    for _ in range(runs):
        counted = rng.integers(1, 7, size=35)
        agreed = np.where(rng.random(35) < truth, counted, 0)
        low, high = agreement_interval(agreed, counted, 0.1)
        covered += low <= truth <= high
    # Four binomial standard errors below 90%, and less 1.5% for prompts of unequal size.
    assert covered / runs > 0.9 - 4 * (0.9 * 0.1 / runs) ** 0.5 - 0.015


def test_words_have_the_interval():
    words = own_agreement_words(OwnAgreement("strict", 30, 40, 40, 0.597, 0.858, 0.05))
    assert words == (
        "strict has agreed with you on 30 of 40 comparisons (75%; 95% interval 60 to 86%)."
    )
