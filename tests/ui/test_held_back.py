"""What the server refuses to people who are to vote blind, whichever way they ask."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from starlette.testclient import TestClient

from coupled_arena.core import passwords
from coupled_arena.core.passwords import hash_password
from coupled_arena.core.settings import load_settings
from coupled_arena.services import open_services
from coupled_arena.store.database import Store
from coupled_arena.ui import server
from tests.stored import MODELS, fill
from tests.ui.raw_client import Visitor
from tests.ui.test_limits import From

TOKEN = "a token of sixteen signs or more"
JOIN, PREDICT = "/gradio_api/queue/join", "/gradio_api/run/predict"
OPEN = {"_start", "_resume", "_go_on", "_back", "_skip", "_vote", "_undo", "_names", "_look"}
OPEN |= {"_explain"}
BESIDE = {
    "words",
    "shown",
    "_appear",
    "_look",
    "_exclude",
    "_exclude_row",
    "_include_row",
}  # some ask for an admin


@contextmanager
def served(folder, rules="", questions=2):
    """Serve battles to vote on; yield a client, and what makes visitors of it."""
    with Store.open(folder / "arena.duckdb") as store:
        fill(store, [f"Which way is {n}?" for n in range(questions)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_COST", 4)
        config = folder / "arena.toml"
        config.write_text(
            f'metrics_token = "{TOKEN}"\n[battle]\nundo_seconds = 0\n[annotate]\n{rules}\n'
            f'[access]\nsign_in = "password"\nrequired = false\nadmins = ["ann"]\n'
            f'users = {{ ann = "{hash_password("correct horse")}" }}\n'
        )
        settings = load_settings(config, db=folder / "arena.duckdb")
        with (
            open_services(settings, annotate=True) as services,
            TestClient(From(server._application(services)), follow_redirects=False) as client,
        ):
            yield client


class People:
    """Visitors of one application, each with cookies of their own."""

    def __init__(self, client):
        self.client = client

    def come(self, cookies=()):
        """Let somebody ask from now on; somebody new without cookies."""
        self.client.cookies.clear()
        for name, value in dict(cookies).items():
            self.client.cookies.set(name, value)
        return Visitor("", http=self.client)

    def admin(self):
        visitor = self.come()
        self.client.post("/login", data={"name": "ann", "password": "correct horse"})
        return visitor


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    with served(tmp_path_factory.mktemp("held-back")) as client:
        yield People(client)


def start(visitor):
    return visitor.call(visitor.dependency("click", "start"), [])["data"][1]


def vote_on_all(visitor):
    """Vote on everything; return the last view of each battle."""
    views = []
    while start(visitor):
        call = visitor.dependency("vote", "round")
        views.append(visitor.call(call, [None], {"ranks": [2, 1]})["data"][0])
    return views


def events(visitor):
    return [each for each in visitor.config["dependencies"] if each["backend_fn"]]


def body(visitor, event, **changes):
    data = [None] * len(event["inputs"])
    return {"fn_index": event["id"], "data": data, "session_hash": visitor.session} | changes


def called(event):
    """Return the name of an event's handler; Gradio numbers those of one name."""
    return event["api_name"].rstrip("0123456789").removesuffix("_")


def names_in(content):
    return [name for name in MODELS if name.encode() in content]


def test_all_events_but_those_of_voting_are_refused(people):
    visitor = people.come()
    start(visitor)
    for event in events(visitor):
        for path in (JOIN, PREDICT):
            answer = people.client.post(path, json=body(visitor, event))
            open_to_all = called(event) in OPEN | BESIDE
            assert (answer.status_code == 403) is not open_to_all or path == PREDICT, event
            assert names_in(answer.content) == []
    assert {called(each) for each in events(visitor)} > OPEN


def test_nothing_that_is_heard_has_a_name(people):
    visitor = people.come()
    visitor.get("/")
    view = start(visitor)
    visitor.call(visitor.dependency("vote", "round"), [None], {"ranks": [2, 1]})
    for event in events(visitor):
        if called(event) in OPEN | BESIDE - {"_vote"}:
            visitor.call(
                event, [None] * len(event["inputs"]), {"ranks": [1, 2], "query": "?tab=battles"}
            )
    for path in (
        *("/config", "/healthz", "/metrics", "/?tab=leaderboard", f"/?model={MODELS[0]}"),
        *("/judged/1/verdicts", "/gradio_api/info", "/gradio_api/file=/etc/passwd"),
    ):
        visitor.get(path)
    visitor.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    heard = bytes(visitor.heard).replace(f"/?model={MODELS[0]}".encode(), b"")
    assert view["blind"]
    assert names_in(heard) == []
    assert b'mode="hidden"' in heard
    assert b'"reveal": {' not in heard


def test_no_example_tells_of_models_that_are_voted_on(people):
    visitor = people.come()
    assert "example/" not in json.dumps(visitor.config)
    assert people.client.get("/example/").status_code == 404


def test_another_persons_session_opens_nothing(people):
    done = people.come()
    vote_on_all(done)
    told = people.client.post(JOIN, json=body(done, done.dependency("look", "battles")))
    assert told.status_code == 200
    thief = people.come()
    thief.session = done.session
    look = thief.dependency("look", "battles")
    assert people.client.post(JOIN, json=body(thief, look)).status_code == 403
    assert people.client.post(JOIN, json=body(thief, look, session_hash=None)).status_code == 403


def test_a_share_that_is_done_opens_names_and_boards(people):
    visitor = people.come()
    views = vote_on_all(visitor)
    assert [bool(view["reveal"]) for view in views] == [False, True]
    assert set(views[-1]["reveal"]["models"]) == set(MODELS[:2])
    assert {view["then"] for view in [views[0]["counted"]]} == {
        "The names are told once your share is done."
    }
    resumed = visitor.call(next(e for e in events(visitor) if e["api_name"] == "shown"), [])
    assert all(tab["visible"] for tab in resumed["data"])
    stranger = people.come()
    closed = stranger.call(next(e for e in events(stranger) if e["api_name"] == "shown"), [])
    assert not any(tab.get("visible") for tab in closed["data"])


def look(visitor, query="?tab=battles"):
    """Return what the tab of battles answers to an address."""
    return visitor.call(visitor.dependency("look", "battles"), [], {"query": query})["data"][0]


def test_the_battles_of_a_share_open_with_it_and_no_others(tmp_path):
    """Somebody else may still be asked about others, and their names are told by nobody."""
    with served(tmp_path, "votes_each = 1", questions=2) as client:
        people = People(client)
        one = people.come()
        start(one)
        one.call(one.dependency("vote", "round"), [None], {"ranks": [2, 1]})
        cookies = dict(client.cookies)
        refused = client.post(JOIN, json=body(one, one.dependency("look", "battles")))
        assert refused.status_code == 403
        other = people.come()
        vote_on_all(other)
        own = [row["href"] for row in look(other)["list"]["rows"]]
        assert len(own) == 1
        people.come(cookies)
        (row,) = look(one)["list"]["rows"]
        assert row["href"] not in own
        assert set(look(one, row["href"])["battle"]["models"]) == set(MODELS[:2])
        assert "no such battle here" in look(one, own[0])["error"]
        admin = people.admin()
        assert len(look(admin)["list"]["rows"]) == 2
        assert "battle" in look(admin, own[0])


def test_admins_see_all_and_files_are_for_who_may_know(people):
    admin = people.admin()
    output = admin.call(admin.dependency("click", "make-files"), ["jsonl"])
    paths = [file["url"] for file in output["data"][0]["value"]]
    assert all(people.client.get(path).status_code == 200 for path in paths)
    people.come()
    assert {people.client.get(path).status_code for path in paths} == {403}


@pytest.mark.slow
def test_never_stays_closed_when_everything_is_voted_on(tmp_path):
    with served(tmp_path, 'reveal = "never"') as client:
        visitor = People(client).come()
        views = vote_on_all(visitor)
        assert [view["reveal"] for view in views] == [None, None]
        look = visitor.dependency("look", "battles")
        assert client.post(JOIN, json=body(visitor, look)).status_code == 403
        assert names_in(bytes(visitor.heard)) == []


def test_with_each_everything_is_as_in_battles(tmp_path):
    with served(tmp_path, 'reveal = "each"') as client:
        visitor = People(client).come()
        start(visitor)
        told = visitor.vote([2, 1])
        assert set(told["models"]) == set(MODELS[:2])
        look = visitor.dependency("look", "battles")
        assert "nothing" in visitor.call(look, [], {"query": "?tab=battles"})["data"][0]
