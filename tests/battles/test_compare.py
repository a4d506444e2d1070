"""Named models side by side: what is left of it explains itself."""

from __future__ import annotations

import asyncio

import pytest

from coupled_arena.battles.compare import compare, divided
from coupled_arena.battles.first_divergence import explain_with
from coupled_arena.core.records import Mode, Sampling
from coupled_arena.generation.running import end_of

WARM = Sampling(temperature=1.0, max_new_tokens=12)


@pytest.mark.parametrize("mode", [Mode.COUPLED, Mode.INDEPENDENT])
@pytest.mark.parametrize("names", [["ann", "bob"], ["cas", "ann", "bob"]])
def test_a_comparison_that_is_over_tells_why_it_parted(models, worker, mode, names):
    async def run(seed):
        started = compare(models, worker, names, "which way now", mode, WARM, seed)
        await end_of(started.running).wait()
        battle = started.over(models)
        assert tuple(reply.text for reply in battle.replies) == started.running.texts
        return battle, await explain_with(worker, models, battle, 0)

    battle, reason = asyncio.run(run(3))
    assert battle.models == reason.models == tuple(names)
    assert reason.coupled is (mode is Mode.COUPLED)
    assert set(reason.again) == {True}  # the draws of then
    assert all(reply.text.startswith(reason.divergence.common) for reply in battle.replies)


@pytest.mark.parametrize(
    ("texts", "common"),
    [
        (["the cat", "the dog"], "the "),
        (["the cat", "the cat"], "the cat"),
        (["the cat sat", "the cat"], "the cat"),
        (["", "a"], ""),
        (["ab c", "ab d", "a"], "a"),
        (["\U0001f40b one", "\U0001f40b two"], "\U0001f40b "),
    ],
)
def test_texts_are_divided_where_they_first_differ(texts, common):
    parts = divided(texts)
    assert [part["common"] for part in parts] == [common] * len(texts)
    for part, text in zip(parts, texts, strict=True):
        assert "".join(part.values()) == text
        assert bool(part["divergence"].strip()) == bool(text[len(common) :].strip())
        assert len(part["divergence"].split()) <= 1
