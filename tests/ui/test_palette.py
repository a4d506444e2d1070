"""What the box of Ctrl-K finds: nothing that the tab of battles would not show."""

from __future__ import annotations

from coupled_arena.analysis.battles import named_battles
from coupled_arena.core.records import Origin
from coupled_arena.store.database import Store
from coupled_arena.ui.parts.palette import Palette
from coupled_arena.ui.tabs.battles import Sight
from coupled_arena.views.battle_pages import palette_page
from tests.store.conftest import make_battle, make_vote
from tests.stored import MODELS, fill
from tests.ui.test_held_back import JOIN, People, body, served, start, vote_on_all


def found(store, words, hidden="nothing", told=None, size=6):
    return [each.battle for each in named_battles(store, words, hidden, told=told, size=size)]


def asked(visitor, words):
    """Return what the box gets for some words."""
    told = {"words": words, "number": 1}
    return visitor.call(visitor.dependency("find", "go-to"), [], told)["data"][0]


def test_a_question_is_found_by_its_words_and_a_battle_by_its_first_digits():
    with Store.in_memory() as store:
        inside, begins = fill(store, ["Why do whales sing?", "Whales: how old?"])
        assert found(store, "WHALES") == [begins.id, inside.id]
        assert found(store, "whales", size=1) == [begins.id]
        assert found(store, inside.id) == [inside.id]
        assert found(store, inside.id[:8].upper()) == [inside.id]
        assert found(store, "") == found(store, "100%") == found(store, "_") == []


def test_all_words_of_a_question_find_it_in_any_order_and_its_own_order_first():
    with Store.in_memory() as store:
        asked = ["Do whales sing?", "Sing of whales", "A whale", "Why?"]
        own, other, *_ = (battle.id for battle in fill(store, asked))
        assert found(store, "whales sing") == [own, other]
        assert found(store, " sing\twhales ") == [other, own]
        assert found(store, "whales cry") == []


def test_all_parts_of_a_name_find_a_model():
    with Store.in_memory() as store:
        battle = make_battle("SmolLM2 135M 4-bit", "SmolLM2 135M")
        store.add_battle(battle)
        store.cast(make_vote(battle, 1, 2))
        box = Palette(store, lambda _: Sight("rounds", None))
        models = box._found("4-bit smol", Sight("rounds", None))["models"]
        assert [each["text"] for each in models] == ["SmolLM2 135M 4-bit"]


def test_an_open_round_is_not_found_by_its_question_its_number_or_its_models():
    with Store.in_memory() as store:
        known, opened = make_battle("alpha", "beta"), make_battle("alpha", "gamma")
        assert opened.origin is Origin.ARENA
        for battle in (known, opened):
            store.add_battle(battle)
        store.cast(make_vote(known, 1, 2))
        box = Palette(store, lambda _: Sight("rounds", None))
        for words in (opened.id, opened.prompts[0].text):
            assert opened.id not in found(store, words, "rounds")
        assert box._found("gam", Sight("rounds", None)) == palette_page([], [])
        models = [each["text"] for each in box._found("", Sight("rounds", None))["models"]]
        assert models == ["alpha", "beta"]


def test_people_who_vote_blind_are_refused_until_their_share_is_done(tmp_path):
    with served(tmp_path) as client:
        visitor = People(client).come()
        start(visitor)
        find = visitor.dependency("find", "go-to")
        assert client.post(JOIN, json=body(visitor, find)).status_code == 403
        vote_on_all(visitor)
        told = asked(visitor, "which way")
        assert len(told["battles"]) == 2
        assert told["models"] == []
        assert {each["text"] for each in asked(visitor, "")["models"]} == set(MODELS[:2])
