"""A store whose votes follow strength and style, from a known truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coupled_arena.core.records import Finish, Outcome, Prompt, Reply
from tests.batches import at_once, judge
from tests.store.conftest import make_battle, make_vote

MODELS = ("amber", "birch", "cedar", "dusk")
_OUTCOMES = {1.0: Outcome.FIRST.value, 0.5: Outcome.TIE.value, 0.0: Outcome.SECOND.value}


@dataclass(frozen=True)
class Truth:
    """What moves votes and verdicts: strengths, and log-odds for (a - b)/(a + b) of the length."""

    strength: tuple[float, ...]
    words: tuple[float, ...]  # that each model writes in the median
    length: float
    judge_length: float = 0.0


# The strongest models write least, and length is worth more than strength.
TERSE = Truth((0.45, 0.15, -0.15, -0.45), (20, 35, 60, 105), 3.0, 5.0)


def fill_styled(
    store,
    truth,
    battles,
    *,
    seed=1,
    per_prompt=1,
    judged="",
    texts=True,
    markdown=False,
    voters=None,
):
    """Add battles with votes, and perhaps verdicts; return rows (a, b, x, vote, verdict)."""
    rng = np.random.default_rng(seed)
    rows = []
    with at_once(store) as batch:
        for number in range(battles):
            a, b = rng.choice(len(truth.strength), 2, replace=False).tolist()
            lengths = [max(1, round(truth.words[m] * np.exp(rng.normal(0, 0.6)))) for m in (a, b)]
            replies = tuple(
                Reply(0, place, _text(rng, length, markdown) if texts else "", (), Finish.STOP)
                for place, length in enumerate(lengths)
            )
            x = _difference(*(len(reply.text) for reply in replies)) if texts else 0.0
            battle = make_battle(
                *(MODELS[m] for m in (a, b)),
                replies=replies,
                prompts=(Prompt(f"Why {number // per_prompt}?"),),
            )
            batch.add_battle(battle)
            ahead = truth.strength[a] - truth.strength[b]
            vote, verdict = (_drawn(rng, ahead + c * x) for c in (truth.length, truth.judge_length))
            ranks = {1.0: (1, 2), 0.5: (1, 1), 0.0: (2, 1)}[vote]
            batch.cast(make_vote(battle, *ranks, voter=f"v{number % (voters or battles)}"))
            if judged:
                judge(batch, judged, battle, 0, 1, _OUTCOMES[verdict])
            rows.append((a, b, x, vote, verdict))
    return rows


def _text(rng, words, markdown):
    text = ("wort " * words)[:-1]
    if markdown:
        text = rng.choice(["", "## Head\n"]) + text + rng.choice(["", "\n- one\n- two", " **so**"])
    return str(text)


def _difference(a, b):
    return (a - b) / (a + b)


def _drawn(rng, odds):
    if rng.random() < 0.2:
        return 0.5
    return float(rng.random() < 1 / (1 + np.exp(-odds)))
