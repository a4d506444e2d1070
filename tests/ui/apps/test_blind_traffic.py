"""What comes before the vote is of one shape whoever is on the left, and a leak would be found."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.blindness import LEVEL, Listener, guessed, observe
from tests.small_models import NAMES


@pytest.mark.parametrize(("strength", "found"), [(0.0, False), (1.0, True)])
def test_the_classifier_finds_what_is_there_and_nothing_else(strength, found):
    rng = np.random.default_rng(7)
    y = rng.random(200) < 0.5
    noise = rng.normal(size=(200, 14))
    noise[:, 3] += strength * y
    right, p = guessed(noise, y, rng)
    assert (p < LEVEL) == found
    assert (right > 0.6) == found


def test_six_battles_tell_nothing_until_the_vote(app):
    visitor, rounds = Listener(app.url), []
    for number in range(6):
        before = len(visitor.heard)
        one = observe(visitor, number, alone=False)
        if one is None:
            continue
        rounds.append(one)
        unvoted, _, told = bytes(visitor.heard[before:]).rpartition(b'"reveal"')
        reveal = json.loads(told.decode()[told.decode().index("{") :].split("}")[0] + "}")
        secrets = (reveal["battle"], reveal["seed"], reveal["nonce"])
        assert [secret for secret in secrets if secret.encode() in unvoted] == []
    assert rounds
    assert len({len(one.around) for one in rounds}) == 1
    assert {one.left for one in rounds} <= set(NAMES)
