"""The example of the package: it opens as a database without a fault, and ends with its use."""

from __future__ import annotations

import pytest

import coupled_arena as ca
from coupled_arena.store.checks.examine import examine
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.example import example_database
from tests.stored import rows


def test_it_has_something_for_every_tab():
    with example_database() as path, Store.open(path) as store:
        with store.cursor() as cursor:
            assert [each for each in examine(cursor) if each.wrong] == []
        assert len(rows(store, "select distinct models, mode from battles")) > 6
        assert len(rows(store, "from models")) == 3
        made_up = rows(store, "select distinct split_part(voter, ' ', 1) from votes")
        assert made_up == [("person",)]
        assert rows(store, "select distinct raw from verdicts") == [("made up",)]
        unvoted = "select count(*) from battles anti join votes using (battle)"
        scored = "select count(distinct battle) from scores"
        assert rows(store, unvoted) == rows(store, scored)


@pytest.mark.slow
def test_boards_audits_and_savings_can_be_read_and_nothing_stays():
    with example_database() as path:
        opened = ca.open(path)
        board = ca.leaderboard(opened, judge="made-up-judge")
        best = board.to_frame().sort_values("win_rate")["model"].iloc[-1]
        assert best != "SmolLM2-135M-bnb-4bit"
        audit = ca.audit(opened, judge="made-up-judge")
        assert len(audit.to_frame()) == 3
        assert len(ca.coupling(opened).to_frame()) == 3
        assert len(ca.risk(opened, bootstraps=20).to_frame()) == 3
        verdicts = ca.gate("SmolLM2-135M", "SmolLM2-135M-bnb-8bit", opened, margin=0.1)
        assert verdicts.to_frame()["prompts"].iloc[0] == 60
    assert not path.parent.exists()
