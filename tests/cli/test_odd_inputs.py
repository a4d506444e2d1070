"""Odd arguments, files and settings: each command ends with a line, and leaves a whole database."""

from __future__ import annotations

import pytest

from benchmarks.odd_inputs import KINDS, give_all
from coupled_arena.core.errors import SettingsError
from coupled_arena.core.settings import Settings
from coupled_arena.store.database import Store
from coupled_arena.ui.waiting import listen


# `python -m benchmarks.odd_inputs` gives as many as one likes.
@pytest.mark.parametrize("inputs", [3, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "kind",
    # Bombs take gigabytes to draw; tests/core/test_bounds.py has one of each form.
    [pytest.param(kind, marks=pytest.mark.slow) if kind == "bombs" else kind for kind in KINDS],
)
def test_nothing_odd_fails_or_hangs(kind, inputs):
    met = give_all(kind, inputs, seed=1)
    assert met.failed == []
    assert sum(met.codes.values()) == inputs
    # Of three, none may be right; of sixty some are, but for bombs.
    assert ({"1"} if kind == "bombs" or inputs == 3 else {"0", "1"}) <= met.codes.keys()


@pytest.mark.parametrize(
    "arguments",
    [
        ("doctor", "\udcff"),
        ("leaderboard", "--db", "x\udcff.duckdb"),
        ("judge", "--judge", "x", "--model", "\udcff"),
    ],
)
def test_arguments_are_utf_8(call, arguments):
    code, out, err = call(*arguments)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "is not UTF-8" in err


def test_a_number_of_battles_that_no_list_has_is_wrong_usage(call):
    code, _, err = call("battles", "--limit", "9" * 30)
    assert code == 2
    assert "--limit" in err


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("?mod=coupled", "No part of an address of battles is called mod: "),
        ("http://localhost:7860/?tab=battles&a=x&zz=1&mod=2", "is called mod, zz: "),
        ("?tab=battles&mode=copled", "mode of this address is none of coupled, "),
        ("?temperature=warm", "temperature of this address is not a number."),
    ],
)
def test_an_address_is_not_half_obeyed(call, tmp_path, address, told):
    code, out, err = call("battles", address, "--db", tmp_path / "arena.duckdb")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert told in err


def test_what_the_page_adds_to_an_address_is_passed_over(call, tmp_path):
    db = tmp_path / "arena.duckdb"
    Store.open(db).close()
    code, _, err = call("battles", "?__theme=dark&tab=battles&mode=coupled", "--db", db)
    assert (code, err) == (0, "")


@pytest.mark.parametrize("host", ["é..é", "x..y", "x" * 300])
def test_a_name_that_is_no_host_is_told(host):
    with pytest.raises(SettingsError, match="cannot be used"):
        listen(Settings(host=host))
