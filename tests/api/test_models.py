"""Answers from a notebook: those of the command with the same seed."""

from __future__ import annotations

import pytest

import coupled_arena as ca
from coupled_arena.core.errors import ArenaError, SettingsError
from coupled_arena.core.settings import load_settings
from coupled_arena.store.database import Store

NAMES = ("SmolLM2-135M", "SmolLM2-135M-bnb-8bit")
PROMPTS = ("Name three colours.", "What is two and two?")


@pytest.fixture(scope="module")
def models(demo_models):
    return ca.Models({name: demo_models[name] for name in NAMES}, load_settings())


@pytest.fixture(scope="module")
def replies(models):
    return ca.generate(models, PROMPTS, mode="both", seed=7, max_new_tokens=4)


def test_every_model_answers_every_prompt_in_either_mode(replies):
    frame = replies.to_frame()
    assert len(frame) == 2 * 2 * 2
    assert set(frame.model) == set(NAMES)
    assert set(frame.prompt) == set(PROMPTS)
    assert set(frame["mode"]) == {"coupled", "independent"}
    assert frame.tokens.map(len).between(1, 4).all()
    assert frame.groupby("battle").seed.nunique().eq(1).all()
    assert repr(replies).startswith("<Replies: mode='both', seeds=1, seed=7")


def test_the_same_seed_gives_the_same_words(models, replies):
    again = ca.generate(models, list(PROMPTS), mode="both", seed=7, max_new_tokens=4, at_once=1)
    assert again.to_frame().text.tolist() == replies.to_frame().text.tolist()
    other = ca.generate(models, PROMPTS[0], seed=8, max_new_tokens=4)
    assert not set(other.to_frame().seed) & set(replies.to_frame().seed)


def test_several_temperatures_run_each(models):
    """One value stays a number in the settings, as before; several are a list there."""
    options = {"seed": 7, "max_new_tokens": 2, "top_p": 1.0}
    several = ca.generate(models, PROMPTS[0], temperature=(0, 1), **options)
    assert several.settings["temperature"] == [0, 1]
    one = ca.generate(models, PROMPTS[0], temperature=1, **options)
    assert one.settings["temperature"] == 1
    assert len(several.to_frame()) == 2 * len(one.to_frame())


def test_battles_are_those_of_the_command(replies, tmp_path, call, demo_loaded):
    (tmp_path / "prompts.txt").write_text("\n".join(PROMPTS))
    code, _, said = call(
        *("generate", "--prompts", tmp_path / "prompts.txt", "--models", ",".join(NAMES)),
        *("--seed", 7, "--max-new-tokens", 4, "--db", tmp_path / "arena.duckdb"),
    )
    assert code == 0, said
    stored = ca.open(tmp_path / "arena.duckdb").replies()
    made = {(row.battle, row.place): row.text for row in replies.to_frame().itertuples()}
    assert {(row.battle, row.place): row.text for row in stored.itertuples()} == made


def test_every_way_to_decode_keeps_to_the_room(
    models, replies, tmp_path, call, demo_loaded, monkeypatch
):
    """With room for one battle at a time the words are the same; with less, one line says so."""
    db = tmp_path / "arena.duckdb"
    (tmp_path / "prompts.txt").write_text("\n".join(PROMPTS))
    named = "--models", ",".join(NAMES), "--max-new-tokens", 4, "--db", db
    generate = "generate", "--prompts", tmp_path / "prompts.txt", *named, "--seed", 7
    monkeypatch.setenv("COUPLED_ARENA_BATTLE_KV_TOKENS", "60")
    narrow = ca.Models(dict(models), load_settings())
    tight = ca.generate(narrow, PROMPTS, mode="both", seed=7, max_new_tokens=4)
    assert tight.to_frame().text.tolist() == replies.to_frame().text.tolist()
    assert (done := call(*generate))[0] == 0, done
    with Store.open(db) as store:
        stored = store.cursor().execute("select arithmetic from battles").fetchall()
    assert [how["turn 0/most battles at once"] for (how,) in stored] == ["1"] * 4
    battle = replies.to_frame().battle[0]
    assert call("replay", battle, "--db", db)[0] == 0
    monkeypatch.setenv("COUPLED_ARENA_BATTLE_KV_TOKENS", "20")
    for command in (
        ("replay", battle, "--db", db),
        (*generate, "--seed", 8),
        ("benchmark", "--task", "quiz", *named),
    ):
        code, _, said = call(*command)
        assert code == 1, said
        # What others write on stderr, before it or after, is not the command's.
        (told,) = [line for line in said.splitlines() if line.startswith("Error: ")]
        assert "tokens of memory; there are 20. Shorten" in told
    with pytest.raises(ArenaError, match="raise kv_tokens"):
        ca.generate(ca.Models(dict(models), load_settings()), PROMPTS, max_new_tokens=4)


@pytest.mark.parametrize(
    ("prompts", "settings", "complaint"),
    [
        ([], {}, "no prompt to answer"),
        (["fine", " "], {}, "prompts are texts, and ' ' is none"),
        ([3], {}, "prompts are texts, and 3 is none"),
        ("fine", {"mode": "sideways"}, "`mode` is one of coupled, independent, both"),
        ("fine", {"seeds": 0}, "`seeds` is 1 or more, not 0"),
        ("fine", {"seed": -1}, "`seed` is 0 or more"),
        ("fine", {"temperature": -1}, "temperature"),
    ],
)
def test_questions_that_make_no_sense(models, prompts, settings, complaint):
    with pytest.raises(ArenaError, match=complaint):
        ca.generate(models, prompts, **settings)


def test_one_model_is_not_enough(models):
    with pytest.raises(ArenaError, match="at least two models"):
        ca.generate(ca.Models({NAMES[0]: models[NAMES[0]]}, models.settings), "Hello?")
    with pytest.raises(ArenaError, match="Name the models"):
        ca.load()
    with pytest.raises(SettingsError, match="no-such-model"):
        ca.load("no-such-model")
