from __future__ import annotations

import pytest

from coupled_arena.judging.judge import Judge
from coupled_arena.judging.prompt import JudgePrompt
from coupled_arena.judging.spec import JudgeSpec
from tests.batches import at_once
from tests.judging.scripted import KEY
from tests.patience import PATIENCE
from tests.store.conftest import make_battle


@pytest.fixture
def fill(store):
    """Store so many battles of two models."""

    def filled(battles, *models, **changes):
        made = [make_battle(*models, **changes) for _ in range(battles)]
        with at_once(store) as batch:
            for battle in made:
                batch.add_battle(battle)
        return made

    return filled


@pytest.fixture
def judge_at():
    """Build a judge that asks a scripted server."""

    def built(server, name="ann", timeout=PATIENCE, patience=PATIENCE, **spec):
        prompt = JudgePrompt("Judge well.", "0" * 64)
        return Judge(
            JudgeSpec(name, "strong", prompt, **spec),
            base_url=server.url,
            key=KEY,
            timeout=timeout,
            patience=patience,
        )

    return built
