"""Stored battles on the page: nobody learns who is who before voting, and no model is needed."""

from __future__ import annotations

import hashlib
import re
import secrets
import subprocess
import sys
from itertools import cycle

import pytest

from coupled_arena.core.records import Mode, seed_to_hex
from coupled_arena.store.database import Store
from tests.judging.scripted import KEY, scripted, verdict
from tests.patience import PATIENCE
from tests.stored import EXPERIMENT, MODELS, fill
from tests.ui.apps import test_blindness as blindness
from tests.ui.raw_client import Visitor
from tests.ui.server import REPOSITORY, read, serving
from tests.ui.visiting import open_tab, places, revealed, shoot_both, texts, violations

CONFIG = "snapshot_seconds = 1\n"
BOTH = (Mode.COUPLED, Mode.INDEPENDENT)
MENTIONED = re.compile("|".join((*MODELS, '"(?:coupled|independent)"', '"reveal": ?[^n]')))


def stored(folder, *plans, **options):
    """Fill the database of an app that is to be served from a folder; return the battles."""
    with Store.open(folder / "arena.duckdb") as store:
        return [battle for questions in plans for battle in fill(store, questions, **options)]


@pytest.fixture(scope="module")
def annotated(tmp_path_factory):
    """An app over more battles than these tests vote on, and the battles."""
    folder = tmp_path_factory.mktemp("annotated")
    questions = [f"Tell me a story about {n} whales." for n in range(16)]
    battles = stored(folder, questions, modes=BOTH, system="Be brief.", prefix="Once ")
    with serving(folder, CONFIG, "--annotate", "--reveal", "each") as served:
        yield served, battles


@pytest.fixture
def app(annotated):
    return annotated[0]


@pytest.fixture
def battles(annotated):
    return annotated[1]


def start(visitor, event=("click", "start")):
    """Open the voter's next battle; return what the page shows of it."""
    return visitor.call(visitor.dependency(*event), [])["data"][1]


def untold(battles):
    """Everything that must not be told of some battles."""
    for battle in battles:
        yield from (battle.id, *blindness.spellings(battle.seed), battle.nonce.hex())
    yield from (seed_to_hex(EXPERIMENT), str(EXPERIMENT))


# Blindness ------------------------------------------------------------------------------------


def test_a_battle_from_the_page_to_the_reveal(app, battles):
    visitor = Visitor(app.url)
    view = start(visitor)
    heard = blindness.text_of([bytes(visitor.heard)])
    assert [secret for secret in untold(battles) if secret in heard] == []
    usual = blindness.text_of([bytes(Visitor(app.url).heard)])
    assert MENTIONED.findall(heard) == MENTIONED.findall(usual)
    told = visitor.vote([2, 1])
    (battle,) = [battle for battle in battles if battle.id == told["battle"]]
    assert view["commitment"] == told["commitment"] == battle.commitment
    assert view["turns"][0]["answers"] == [f"Once {reply.text}" for reply in battle.replies]
    assert (tuple(told["models"]), told["mode"]) == (battle.models, battle.mode)
    assert told["seed"] is None  # its other mode is still to be voted on
    voter = hashlib.blake2b(f"cookie {visitor.cookie}".encode(), digest_size=8).hexdigest()
    row = app.wait_for(
        "select battle, voter, ranks, source, early from votes where vote = ?", told["vote"]
    )
    assert row == (battle.id, voter, [2, 1], "human", False)


def test_what_is_told_never_tells_of_another_battle(app, battles):
    visitor = Visitor(app.url)
    open_ones = {battle.id: battle for battle in battles}
    for _ in range(12):
        start(visitor)
        open_ones.pop(visitor.vote()["battle"])
        start(visitor, ("next", "round"))
        heard = blindness.text_of([bytes(visitor.heard)])
        assert [secret for secret in untold(open_ones.values()) if secret in heard] == []


def test_the_viewer_shows_no_battle_that_people_are_asked_about(app, battles):
    """Not even one that this visitor has voted on: its seed would tell of its other mode."""
    visitor = Visitor(app.url)
    start(visitor)
    told = visitor.vote()["battle"]
    look, again = (visitor.dependency(event, "battles") for event in ("look", "replay"))
    stranger = Visitor(app.url)
    for query in ["?tab=battles", "?tab=battles&source=people", "?tab=battles&text=Once"]:
        stranger.call(look, [], {"query": query})
    asked = {told, battles[0].id, battles[-1].id}  # an answer repeats what was asked
    for battle in asked:
        stranger.call(look, [], {"query": f"?battle={battle}"})
        stranger.call(look, [], {"query": f"?tab=battles&before={battle}"})
        stranger.call(again, [], {"query": f"?battle={battle}"})
    heard = blindness.text_of([bytes(stranger.heard)])
    assert [secret for secret in {*untold(battles)} - asked if secret in heard] == []
    assert "Tell me a story about" not in heard
    assert "because people may still be asked to vote on the battle" in heard


@pytest.fixture(scope="module")
def target(annotated):
    owner = Visitor(annotated[0].url)
    return blindness.Target(annotated[0], owner, start(owner)["commitment"])


@pytest.fixture
def nobody(app):
    return blindness.Target(app, Visitor(app.url))


# These press what only the tab with an engine has: its questions, its continuing, the compare tab.
OF_THE_ENGINE = {
    "reset_and_cancel",
    "handing_the_database_to_a_handler",
    "continuing_and_stopping_as_a_stranger",
    "oversized_questions",
    "comparing_named_models_at_a_guessed_seed",
    "ones_own_battles",
    "the_draw_at_which_answers_part",
}
ATTEMPTS = [act for act in blindness.ATTEMPTS if act.__name__ not in OF_THE_ENGINE]


@pytest.mark.parametrize("act", ATTEMPTS, ids=lambda act: act.__name__)
def test_nothing_tells_who_is_who(act, target, nobody, battles):
    told, usual = (blindness.text_of(list(act(each))) for each in (target, nobody))
    assert usual
    assert [secret for secret in untold(battles) if secret in told.lower()] == []
    assert MENTIONED.findall(told) == MENTIONED.findall(usual)
    assert start(target.owner)["commitment"] == target.commitment  # the round is still open


def test_no_handler_tells_who_is_who(app, battles):
    visitor = Visitor(app.url)
    start(visitor)
    before = len(visitor.heard)
    for dependency in visitor.config["dependencies"]:
        if dependency["backend_fn"] and dependency["api_name"] != "_vote":
            own = dependency | {"trigger": dependency["targets"][0][0]}
            visitor.call(own, blindness.data_for(visitor, dependency))
    heard = blindness.text_of([bytes(visitor.heard[before:])])
    assert [secret for secret in untold(battles) if secret in heard] == []


def test_a_strangers_guess_is_refused(app):
    visitor = Visitor(app.url)
    start(visitor)
    thief = Visitor(app.url, session=visitor.session)
    for event, guess in [("vote", None), *(("skip", g) for g in (secrets.token_hex(16), None))]:
        before = len(thief.heard)
        ballot = {"ranks": [1, 2]} if event == "vote" else None
        refused = thief.call(thief.dependency(event, "round"), [guess], ballot)
        assert not any(isinstance(part, dict) and "turns" in part for part in refused["data"])
        assert b"not open any more" in thief.heard[before:]
    assert "models" in visitor.vote()


def test_an_export_never_has_what_others_may_be_asked_about(app, battles):
    visitor = Visitor(app.url)
    start(visitor)
    vote = visitor.vote()
    for format in ("jsonl", "csv", "flat-csv"):
        output = visitor.call(visitor.dependency("click", "make-files"), [format])
        files = b"".join(visitor.get(file["url"]) for file in output["data"][0]["value"]).decode()
        assert [secret for secret in (*untold(battles), vote["vote"]) if secret in files] == []


# As people use it -----------------------------------------------------------------------------


def test_votes_by_key_until_nothing_is_left(visit, tmp_path):
    made = stored(tmp_path, ["First?", "Second?", "Third?"], system="Be brief.")
    (tie,) = stored(tmp_path, ["Same?"], texts=["same", "same"])
    (three,) = stored(tmp_path, ["Three?"], models=MODELS)
    with serving(tmp_path, CONFIG, "--annotate", "--reveal", "each") as served:
        page = visit(served.url)
        page.get_by_text("0 of 5 done. 0 of 5 battles have a vote; you cast 0.").wait_for()
        bar = page.get_by_role("progressbar", name="Your part")
        assert (bar.get_attribute("value"), bar.get_attribute("max")) == ("0", "5")
        page.click("#start")
        votes = {}
        page.wait_for_selector("#round .ballot")
        skipped = page.inner_text(".question")
        page.keyboard.press("s")
        page.wait_for_function(f"document.querySelector('.question').textContent !== '{skipped}'")
        while page.locator("#round .ballot").count():
            question, size = page.inner_text(".question"), page.locator("#round .answer").count()
            assert page.locator("#round .name").count() == 0
            commitment = page.text_content(".commitment").removeprefix("Commitment ")
            for key in ["b"] if size == 2 else ["2", "1", "=", "3", "Enter"]:
                page.keyboard.press(key)
            told = revealed(page)
            assert told["Commitment"] == commitment
            assert (size == 2) or places(page) == ["place 2", "place 1", "place 2"]
            votes[told["Battle"]] = page.locator("#round .name").all_inner_texts()
            assert page.locator("#round .ballot button").count() == 1
            page.keyboard.press("n")
            page.wait_for_function(
                "q => document.querySelector('.question')?.textContent !== q", arg=question
            )
        page.get_by_text("You have voted on everything there is but the 1 you skipped").wait_for()
        page.get_by_text("Show the skipped ones again").click()
        page.wait_for_selector("#round .ballot")
        assert page.inner_text(".question") == skipped
        page.keyboard.press("x")
        told = revealed(page)
        votes[told["Battle"]] = page.locator("#round .name").all_inner_texts()
        page.keyboard.press("n")
        page.get_by_text("everything there is. Thank you! 5 of 5 done.").wait_for()
        assert bar.get_attribute("value") == "5"
        page.get_by_text("without asking you: 1.").wait_for()
        assert votes == {battle.id: list(battle.models) for battle in (*made, three)}
        rows = served.wait_for("select count(*) from votes having count(*) = 5")
        assert rows == (5,)
        ranks = dict(served.stored("select battle, (ranks, both_bad) from votes"))
        assert ranks[three.id] in (([2, 1, 2], False), ([1, 1, 1], True))
        assert ranks[tie.id] == ([1, 1], False)
        open_tab(page, "Leaderboard")
        page.wait_for_selector("#board .board")
        assert page.get_by_role("tab", name="Compare").count() == 0
        page.close()
        assert served.stop() == 0


def next_question(page, before):
    """Wait until another question than before is on show; return it."""
    page.wait_for_function(
        "q => ![q, undefined].includes(document.querySelector('#round .question')?.textContent)",
        arg=before,
    )
    return page.text_content("#round .question")


def test_twenty_annotations_take_one_press_each(visit, tmp_path):
    made = stored(tmp_path, [f"Which way is {n}?" for n in range(20)])
    with serving(tmp_path, CONFIG, "--annotate", "--repeat-share", "0", undo=60) as served:
        page = visit(served.url)
        page.click("#start")
        actions, question, meant = 1, None, {}
        for left, key in zip(range(20, 0, -1), cycle("1a2t3x4b"), strict=False):
            question = next_question(page, question)
            page.locator("#progress", has_text=f"{left} left.").wait_for()
            page.keyboard.press(key)
            actions += 1
            meant[question] = key
        page.locator("#round .said", has_text="Recorded: ").wait_for()
        page.keyboard.press("n")
        actions += 1
        page.get_by_text("You have voted on everything there is. Thank you!").wait_for()
        assert actions <= 25
        assert len(meant) == 20
        assert served.wait_for("select count(*) from votes having count(*) = 20") == (20,)
        told = dict(served.stored("select battle, (ranks, both_bad) from votes"))
        says = {"1a": ([1, 2], False), "2t": ([1, 1], False), "3x": ([1, 1], True)}
        says["4b"] = ([2, 1], False)
        for battle in made:
            key = meant[battle.prompts[0].text]
            assert told[battle.id] == next(said for keys, said in says.items() if key in keys)
        page.close()


def test_a_vote_that_went_on_is_undone_or_explained_from_the_next_battle(visit, tmp_path):
    stored(tmp_path, [f"Which way is {n}?" for n in range(4)])
    with serving(tmp_path, CONFIG, "--annotate", "--repeat-share", "0", undo=60) as served:
        page = visit(served.url)
        page.click("#start")
        first = next_question(page, None)
        page.keyboard.press("1")
        second = next_question(page, first)
        said = page.locator("#round .said")
        assert said.text_content() == "Recorded before: A is better."
        assert violations(page) == []
        page.keyboard.press("u")
        assert next_question(page, second) == first
        page.locator("#round .said", has_text="Undone. Vote again.").wait_for()
        assert page.locator("#round .ballot .at-undo").count() == 0
        page.keyboard.press("4")
        second = next_question(page, first)
        page.keyboard.press("w")
        assert next_question(page, second) == first
        page.locator("#round .said", has_text="Recorded: B is better.").wait_for()
        page.locator("#round .rationale .chip", has_text="Clearer").click()
        page.locator("#round .rationale [aria-live]", has_text="Saved.").wait_for()
        page.locator("#round").focus()
        page.keyboard.press("n")
        next_question(page, first)
        rows = "select ranks, criteria from votes join rationales using (vote)"
        assert served.wait_for(rows) == ([2, 1], ["clarity"])
        page.reload()
        next_question(page, first)  # the battle that was open is open still
        page.locator("#round .menu > summary").click()
        page.locator("#round .stay input").uncheck()
        page.keyboard.press("Escape")
        third = page.text_content("#round .question")
        page.keyboard.press("t")
        page.locator("#round .said", has_text="Recorded: a tie.").wait_for()
        assert page.text_content("#round .question") == third
        page.close()


def test_pages_fit_the_screen(app, visit, tmp_path):
    page = visit(app.url)
    page.get_by_text("of 32 battles ha").wait_for()
    shoot_both(page, tmp_path, "annotate-begin")
    page.click("#start")
    page.wait_for_selector("#round .ballot")
    assert all(text.startswith("Once ") for text in texts(page))
    assert " ".join(page.inner_text(".system").split()) == "System prompt: Be brief."
    shoot_both(page, tmp_path, "annotate-blind")
    page.keyboard.press("a")
    page.wait_for_selector(".reveal")
    shoot_both(page, tmp_path, "annotate-reveal")
    open_tab(page, "Data")
    page.get_by_text("no answers and votes to download yet").wait_for()  # all are voted on
    shoot_both(page, tmp_path, "annotate-data")


def test_a_reload_goes_on_with_the_same_battle(app, visit):
    page = visit(app.url)
    page.click("#start")
    for _ in range(2):
        page.wait_for_selector("#round .ballot")
        shown = texts(page)
        page.reload()
        page.wait_for_selector("#round .ballot")
        assert texts(page) == shown
        assert not page.locator("#start").is_visible()
        assert page.locator("#round .name").count() == 0
        page.keyboard.press("t")
        told = revealed(page)
        page.reload()
        assert revealed(page) == told
        page.keyboard.press("n")
        page.wait_for_selector(".reveal", state="detached")


def test_only_its_owner_gets_a_battle_back_and_blind(app, battles):
    owner = Visitor(app.url)
    shown = start(owner)
    stranger = Visitor(app.url, session=owner.session)
    resume = next(d for d in owner.config["dependencies"] if d["api_name"] == "_resume")
    assert shown["commitment"] not in str(stranger.call(resume, []))
    back = Visitor(app.url)
    back.http.cookies = owner.http.cookies
    assert back.call(resume, [])["data"][1] == shown | {"resumed": True}
    heard = blindness.text_of([bytes(back.heard)])
    assert [secret for secret in untold(battles) if secret in heard] == []
    assert back.vote([2, 1])["commitment"] == shown["commitment"]


def test_the_live_judge_judges_what_has_been_voted_on(tmp_path):
    stored(tmp_path, ["First?", "Second?"])
    with scripted(lambda _: verdict("A")) as server:
        judge = f'[judge]\nname = "ann"\nbase_url = "{server.url}"\nkey = "{KEY}"\n'
        with serving(tmp_path, CONFIG + judge, "--annotate", "--reveal", "each") as served:
            visitor = Visitor(served.url)
            start(visitor)
            battle = visitor.vote()["battle"]
            judged = served.wait_for("select list(distinct battle) from verdicts having count(*)=2")
            assert judged == ([battle],)


def test_a_recorded_vote_outlives_a_kill_and_an_orderly_end(tmp_path):
    battles = stored(tmp_path, ["First?", "Second?"])
    columns, left = "select battle, voter, ranks from", []
    for end in ("kill", "stop"):
        with serving(tmp_path, CONFIG, "--annotate", "--reveal", "each", undo=60) as served:
            visitor = Visitor(served.url)
            start(visitor)
            before = len(visitor.heard)
            assert visitor.vote([2, 1]) is None
            assert "undo that vote first" in visitor.vote([1, 2])["error"]
            heard = blindness.text_of([bytes(visitor.heard[before:])])
            assert '"recorded"' in heard
            assert [secret for secret in (*untold(battles), *MODELS) if secret in heard] == []
            thief = Visitor(served.url, session=visitor.session)
            for event in ("undo", "names"):
                output = thief.call(thief.dependency(event, "round"), [None])
                assert output["data"][0] is None
            assert getattr(served, end)() in (None, 0)
        counted = read(served.db, f"{columns} votes order by seq")
        pending = read(served.db, f"{columns} pending_votes")
        assert (counted, pending[: len(left)]) == ([], left)
        left = pending
    assert [ranks for *_, ranks in left] == [[2, 1], [2, 1]]
    with serving(
        tmp_path, CONFIG, "--annotate", "--reveal", "each", undo=0
    ) as served:  # none can be undone any more
        served.stop()
    assert read(served.db, f"{columns} votes order by seq") == left
    assert read(served.db, f"{columns} pending_votes") == []


# The command ----------------------------------------------------------------------------------


def test_no_torch_is_imported(tmp_path):
    stored(tmp_path, ["First?"])
    script = """
import sys
from pathlib import Path
from coupled_arena.services import open_services
from coupled_arena.core.settings import load_settings
with open_services(load_settings(db=Path(sys.argv[1])), annotate=True) as services:
    from coupled_arena.ui.layout import build
    build(services)
    assert services.arena.next("eve")
print(sorted({"torch", "transformers", "bitsandbytes"} & set(sys.modules)))
"""
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "arena.duckdb")],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, "[]\n"), run.stderr


def test_there_must_be_something_to_vote_on(call, tmp_path):
    db = tmp_path / "arena.duckdb"
    code, out, err = call("serve", "--annotate", "--db", db)
    assert (code, out) == (1, "")
    assert "does not exist: make battles with `generate` first" in err
    assert not db.exists()
    Store.open(db).close()
    code, _, err = call("serve", "--annotate", "--db", db)
    assert code == 1
    assert "holds no battles to vote on: run `generate`" in err
    with Store.open(db) as store:
        store.add_battle(blank_round())
    assert call("serve", "--annotate", "--db", db)[0] == 1


def blank_round():
    from tests.store.conftest import make_battle

    return make_battle()  # of the battle tab: its visitor's


def test_a_store_in_use_is_named(app, call):
    code, _, err = call("serve", "--annotate", "--db", app.db)
    assert code == 1
    assert f"in use by process {app.process.pid}" in err
