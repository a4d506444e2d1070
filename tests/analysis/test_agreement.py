"""Agreement between annotators, from stored votes to sentences."""

from __future__ import annotations

import json

import krippendorff
import numpy as np
import pytest

import coupled_arena as ca
from coupled_arena.analysis.agreement import read_agreement
from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Mode, Source
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.tables.agreement import agreement_answer, agreement_text
from tests.batches import at_once
from tests.store.conftest import make_vote
from tests.stored import MODELS, fill

RANKS = [(1, 2), (2, 1), (1, 1)]


def vote(store, said):
    """Store what each person said of each of some battles; None where they said nothing."""
    battles = fill(store, [f"Question {n}?" for n in range(said.shape[1])])
    with at_once(store) as batch:
        for person, outcomes in enumerate(said):
            for battle, outcome in zip(battles, outcomes, strict=True):
                if np.isfinite(outcome):
                    batch.cast(make_vote(battle, *RANKS[int(outcome)], voter=f"person {person}"))
    return battles


def test_stored_votes_agree_as_another_program_says(store):
    rng = np.random.default_rng(4)
    said = rng.choice([0.0, 1.0, 2.0, np.nan], size=(4, 40), p=[0.4, 0.2, 0.1, 0.3])
    vote(store, said)
    found = read_agreement(store)
    expected = krippendorff.alpha(reliability_data=said, level_of_measurement="nominal")
    assert found.found.alpha == pytest.approx(expected)
    shared = np.isfinite(said).sum(0) > 1
    assert (found.battles, found.found.clusters) == (shared.sum(), shared.sum())
    assert found.found.votes == np.isfinite(said[:, shared]).sum()
    assert found.voted == np.isfinite(said).any(0).sum() > found.battles
    assert found.annotators == 4
    assert f"4 people voted on the same {found.battles} battles" in agreement_text(found)
    assert json.loads(json.dumps(agreement_answer(found)))["comparisons"] == found.found.units


def test_only_what_people_were_asked_counts(store):
    """A battle with one vote, a superseded vote and ties of equal words are in no alpha."""
    battles = vote(store, np.array([[0, 1, 0, 1, 0.0], [0, 1, 1, np.nan, 0]]))
    alpha = read_agreement(store).found.alpha
    for voter in ("a machine", "another"):
        same = make_vote(battles[0], 1, 1, voter=voter, source=Source.IDENTICAL)
        store.cast(same)
    assert read_agreement(store).found.alpha == alpha
    (again,) = fill(store, ["Again?"])
    for person in ("person 0", "person 1"):
        store.cast(make_vote(again, 2, 1, voter=person), reveal=False)
    with_one_more = read_agreement(store).found
    assert with_one_more.units == 5
    store.cast(make_vote(again, 1, 2, voter="person 0"))
    assert read_agreement(store).found.observed > with_one_more.observed
    assert read_agreement(store).found.votes == with_one_more.votes


def test_both_bad_is_neither_like_a_tie(store):
    battles = vote(store, np.array([[0, 1, 2.0], [0, 1, np.nan]]))
    store.cast(make_vote(battles[2], 1, 1, voter="person 1", both_bad=True))
    found = read_agreement(store).found
    assert (found.alpha, found.units) == (1, 3)


def test_a_battle_of_three_is_three_pairs_on_one_prompt(store):
    (battle,) = fill(store, ["Who?"], MODELS)
    for person, ranks in (("ann", (1, 2, 3)), ("bob", (1, 3, 2))):
        store.cast(make_vote(battle, *ranks, voter=person))
    found = read_agreement(store).found
    assert (found.units, found.votes, found.clusters) == (3, 6, 1)
    assert found.observed == pytest.approx(1 / 3)


def test_a_selection(store):
    vote(store, np.array([[0, 1, 0.0], [0, 1, 1]]))
    assert read_agreement(store, Selection(mode=Mode.INDEPENDENT)).battles == 0
    assert read_agreement(store, Selection(category="small talk")).battles == 3
    with pytest.raises(StoreError, match="No battle has nobody"):
        read_agreement(store, Selection(models=("nobody", MODELS[0])))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([[0.0]], "No battle has votes of two or more people"),
        ([[0.0, 0], [0, 0]], "agreement cannot be distinguished from habit"),
        ([[0.0], [1]], "too few to give alpha an interval"),
        ([[0.0, 1], [0, 1]], "Fewer than 10 prompts"),
    ],
)
def test_too_little_is_said_in_words(store, said, words):
    vote(store, np.array(said))
    found = read_agreement(store)
    assert words in agreement_text(found)
    assert "nan" not in json.dumps(agreement_answer(found), allow_nan=False)


def test_in_python(tmp_path):
    with Store.open(tmp_path / "arena.duckdb") as store:
        vote(store, np.array([[0, 1, 0, 2.0], [0, 1, 1, 2]]))
        expected = read_agreement(store, error_level=0.1)
    found = ca.agreement(ca.open(tmp_path / "arena.duckdb"), alpha=0.1)
    (row,) = found.to_frame().itertuples()
    assert row.krippendorff_alpha == pytest.approx(expected.found.alpha)
    assert (row.low, row.high) == pytest.approx((expected.found.low, expected.found.high))
    assert "Fewer than 10 prompts" in found.warnings[0]
