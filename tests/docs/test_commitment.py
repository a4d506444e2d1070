"""The script of the documents tells a commitment that was kept from one that was not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from coupled_arena.core.records import seed_to_hex
from tests.docs.pages import TEXTS, blocks, sections
from tests.store.conftest import make_battle

(SCRIPT,) = blocks(sections(TEXTS["docs/exactness.md"])["Check a battle"], "python")


def run(before, nonce, seed):
    """Run the script on what a page told."""
    texts = iter((before, nonce, seed))
    given = re.sub(r'"[0-9a-f]{16,}"', lambda _: f'"{next(texts)}"', SCRIPT)
    exec(given, {})


def test_it_has_ten_lines_and_its_example_is_kept(capsys):
    assert len(SCRIPT.strip().splitlines()) <= 10
    assert "bbf581ec40232a01c8b0fdf2e330e5f0260b594514df0f9a872b8006d9bc5933" in SCRIPT  # README's
    exec(SCRIPT, {})
    assert capsys.readouterr().out.startswith("Kept")


@pytest.mark.parametrize("seed", [0, 1, 255 << 56, 2**64 - 1])
def test_battles_keep_what_they_promise(seed, capsys):
    battle = make_battle(seed=seed)
    run(battle.commitment, battle.nonce.hex(), seed_to_hex(seed))
    assert capsys.readouterr().out.startswith("Kept")
    for other in (replace(battle, seed=seed ^ 1), replace(battle, nonce=bytes(16))):
        with pytest.raises(SystemExit, match="Broken"):
            run(battle.commitment, other.nonce.hex(), seed_to_hex(other.seed))
