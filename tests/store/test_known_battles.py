"""Rows from elsewhere that tell mode, seed or a battle's id; the many ways to say who won."""

from __future__ import annotations

import json

import pytest

from coupled_arena.core.errors import BattleError, StoreError
from coupled_arena.core.records import Mode, Origin
from coupled_arena.generation.turns import check_replayable
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing import import_files
from tests.store.given_rows import NOBODY

ID = "0123456789abcdef" * 2


def row(winner="model_a", **more):
    return {"question_id": "q", "model_a": "x", "model_b": "y", "winner": winner, **more}


def outcomes(store):
    with store.cursor() as cursor:
        return cursor.execute("select ranks, both_bad from votes order by seq").fetchall()


def battles(store):
    with store.cursor() as cursor:
        return cursor.execute(
            "select battle, mode, printf('%016x', seed) from battles order by battle_no"
        ).fetchall()


def reasons(done):
    return [rejected.reason for rejected in done.rejected]


def test_winners_are_understood_in_any_case(store, lines):
    said = {
        ("model_a", "A", "a", " A ", "Model_A"): ([1, 2], False),
        ("model_b", "B", "b", "MODEL_B"): ([2, 1], False),
        ("tie", "Tie", "TIE"): ([1, 1], False),
        ("tie (bothbad)", "Tie (Bothbad)", "both_bad", "bothbad", "BothBad"): ([1, 1], True),
    }
    meant = [(word, meaning) for words, meaning in said.items() for word in words]
    path = lines(*(row(word, question_id=n) for n, (word, _) in enumerate(meant)))
    assert import_files(store, [path]).rejected == ()
    assert outcomes(store) == [meaning for _, meaning in meant]


def test_an_unknown_winner_is_no_tie(store, lines):
    words = ["C", "AB", "left", "", "1", "model_a wins", "0"]
    done = import_files(store, [lines(*map(row, words))])
    said = [f"unknown winner '{word}'" if word else "winner is missing" for word in words]
    assert reasons(done) == said
    assert outcomes(store) == []


def test_mode_and_seed_are_kept(store, lines):
    seeds = {
        "00000000000000ff": "00000000000000ff",
        255: "00000000000000ff",
        "255": "00000000000000ff",
        1234567890123456: f"{1234567890123456:016x}",
        2**64 - 1: "f" * 16,
    }
    asked = [{"question_id": n, "seed": seed} for n, seed in enumerate(seeds)]
    rows = [(row(mode="coupled", **q), row("tie", mode="Independent", **q)) for q in asked]
    path = lines(*(each for both in rows for each in both))
    done = import_files(store, [path])
    assert (done.battles, done.votes, done.rejected) == (10, 10, ())
    assert [rest for _, *rest in battles(store)] == [
        [mode, told] for told in seeds.values() for mode in ("coupled", "independent")
    ]
    done = import_files(store, [path])
    assert (done.battles, done.votes, done.rejected) == (0, 0, ())


def test_an_unknown_mode_or_seed_of_a_battle_of_ours_is_rejected(store, lines):
    wrong = [
        ({"mode": "cupled"}, "unknown mode 'cupled'"),
        ({"seed": -1}, "seed '-1' is not a number of 64 bits"),
        ({"seed": 2**64}, f"seed '{2**64}' is not a number of 64 bits"),
        ({"seed": "soon"}, "seed 'soon' is not a number of 64 bits"),
        ({"seed": 1.5}, "seed '1.5' is not a number of 64 bits"),
    ]
    done = import_files(store, [lines(*(row(battle=ID, **more) for more, _ in wrong))])
    assert (reasons(done), battles(store)) == ([reason for _, reason in wrong], [])


def test_another_program_s_modes_and_seeds_reject_no_row(store, lines):
    more = [{"mode": "arena"}, {"mode": "multiturn_arena"}, {"mode": "arena"}, {"seed": "soon"}]
    done = import_files(store, [lines(*(row(question_id=n, **m) for n, m in enumerate(more)))])
    assert (done.votes, reasons(done)) == (4, [])
    assert [rest for _, *rest in battles(store)] == [["unknown", "0" * 16]] * 4
    assert done.notes == (
        "Mode is unknown for the words 'arena' (2), 'multiturn_arena' (1): only coupled and "
        "independent are known.",
        "Seeds that are not numbers of 64 bits are left out: 'soon' (1).",
        f"4 rows {NOBODY}",
    )


def test_a_battles_own_id_is_kept_and_met(store, lines, new_battle):
    battle = new_battle("x", "y", id=ID, mode=Mode.INDEPENDENT, seed=9, origin=Origin.GENERATE)
    store.add_battle(battle)
    other = ID[::-1]
    path = lines(
        row(battle=ID, judge="ann", mode="independent", seed=9),
        row("B", battle=ID, judge="bob"),
        row(battle=other, judge="ann", mode="coupled"),
    )
    done = import_files(store, [path], dataset="any")
    assert (done.battles, done.votes, done.rejected) == (1, 3, ())
    assert battles(store) == [
        (ID, "independent", f"{9:016x}"),
        (other, "coupled", "0" * 16),
    ]
    assert store.battle(ID) == battle
    done = import_files(store, [path], dataset="another")
    assert (done.battles, done.votes, done.rejected) == (0, 0, ())


def test_a_vote_that_is_here_under_another_id_is_not_cast_again(store, lines, new_battle, new_vote):
    battle = new_battle("x", "y", id=ID)
    store.add_battle(battle)
    store.cast(new_vote(battle, 1, 2, voter="ann"))
    done = import_files(store, [lines(row("A", battle=ID, judge="ann"))])
    assert (done.votes, done.rejected) == (0, ())
    done = import_files(store, [lines(row("B", battle=ID, judge="ann"))])
    assert reasons(done) == ["ann has voted otherwise on this already"]
    assert outcomes(store) == [([1, 2], False)]


def test_what_contradicts_a_battle_is_rejected(store, lines, new_battle):
    store.add_battle(new_battle("x", "y", id=ID, mode=Mode.INDEPENDENT, seed=9))
    wrong = [
        ({"mode": "coupled"}, "its battle is independent here"),
        ({"seed": 10}, "its battle has another seed here"),
        ({"model_b": "z"}, "its battle is of x, y here"),
    ]
    done = import_files(store, [lines(*(row(battle=ID, **more) for more, _ in wrong))])
    assert (done.battles, done.votes) == (0, 0)
    assert reasons(done) == [reason for _, reason in wrong]


def test_battles_that_are_numbered_elsewhere_stay_apart_by_dataset(store, lines):
    one = lines(row(battle="7"), name="one")
    two = lines(row(battle="7", model_b="z"), name="two")
    assert import_files(store, [one], dataset="one").battles == 1
    assert import_files(store, [two], dataset="two").battles == 1


def test_a_seed_without_tokens_is_not_replayed(store, lines):
    said = [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": ""}]
    path = lines(row(mode="coupled", seed=1, conversation_a=said, conversation_b=said))
    import_files(store, [path])
    ((battle, *_),) = battles(store)
    with pytest.raises(BattleError, match="was made elsewhere: it has no noise to replay"):
        check_replayable(store.battle(battle), {})


def test_the_statistics_tell_imported_modes_apart(lines):
    rows = [row(mode=mode, question_id=n) for n, mode in enumerate(["coupled", "independent"] * 2)]
    with Store.in_memory() as store:
        import_files(store, [lines(*rows)])
        with store.cursor() as cursor:
            counted = cursor.execute(
                "select mode, count(*) from comparisons group by mode order by mode"
            ).fetchall()
    assert counted == [("coupled", 2), ("independent", 2)]


def test_line_breaks_of_unicode_within_json_do_not_make_it_csv(store, tmp_path):
    said = [{"role": "user", "content": "one\x85two\u2028three\u2029four\x0bfive"}]
    path = tmp_path / "rows.jsonl"
    told = row(conversation_a=said, conversation_b=said)
    path.write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
    done = import_files(store, [path])
    assert (done.votes, done.rejected) == (1, ())


@pytest.mark.parametrize("judge", ["", " "])
def test_a_judge_without_a_name_is_refused(store, lines, judge):
    with pytest.raises(StoreError, match="The judge has no name"):
        import_files(store, [lines(row("tie", verdict="model_a"))], judge=judge)
    assert store.version() == (0, 0, 0, 0)
