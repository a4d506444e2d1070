"""Signing in, as whom one then votes, and what admins may do on the page that others may not."""

from __future__ import annotations

import io
import json
import re
import time

import pytest
from starlette.testclient import TestClient

from coupled_arena.battles.members import SIGNED_IN, Members
from coupled_arena.core import passwords
from coupled_arena.core.errors import SettingsError, StoreError
from coupled_arena.core.guards import AccessSettings
from coupled_arena.core.passwords import hash_password, matches
from coupled_arena.core.settings import load_settings
from coupled_arena.services import open_services
from coupled_arena.store.annotators import add_annotators, annotators_path
from coupled_arena.store.database import Store
from coupled_arena.store.sign_in_files import key_path
from coupled_arena.ui import server
from coupled_arena.ui.parts import sign_in as sign_in_page
from coupled_arena.ui.parts.sign_in import MEMBER
from tests.batches import at_once
from tests.families import first_of
from tests.stored import MODELS, answered, plan
from tests.ui.raw_client import COOKIE, Visitor
from tests.ui.test_limits import From

PASSWORDS = {"ann": "correct horse", "eve": "battery staple", "zoë ü": "nineteen letters"}
HASHES = {}  # by name
TOKENS = {}  # by name
WRONG = "The name or the password is wrong."


@pytest.fixture(scope="module", autouse=True)
def _quick_passwords():
    """Passwords that take a thousandth of the time to try."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_COST", 4)
        HASHES.update({name: hash_password(given) for name, given in PASSWORDS.items()})
        yield


def settings_of(folder, access):
    config = folder / "arena.toml"
    users = ", ".join(f'"{name}" = "{hashed}"' for name, hashed in HASHES.items())
    config.write_text(
        "[battle]\nundo_seconds = 0\n[limits]\nsign_ins_by_address = 4\n"
        f"[access]\n{access}\nusers = {{ {users} }}\n"
    )
    return load_settings(config, db=folder / "arena.duckdb")


def fill(folder):
    with Store.open(folder / "arena.duckdb") as store, at_once(store) as batch:
        for battle, prompt in plan([f"Question {n}?" for n in range(12)], MODELS[:2]).battles():
            batch.add_battle(answered(battle, prompt))
    return add_annotators(annotators_path(folder / "arena.duckdb"), ["Ann"])["Ann"]


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """The app over stored battles, where all sign in, and an annotator's link to it."""
    folder = tmp_path_factory.mktemp("members")
    link = fill(folder)
    settings = settings_of(folder, 'sign_in = "password"\nadmins = ["ann"]')
    with open_services(settings, annotate=True) as services:
        served = From(server._application(services))
        with TestClient(served, follow_redirects=False) as client:
            yield client, services.store, link


@pytest.fixture
def client(app):
    """Somebody who has not signed in, from an address of their own."""
    client, _, _ = app
    client.cookies.clear()
    client.headers["x-test-peer"] = "192.0.2.1"
    return client


def sign_in(client, name="ann", password=None):
    form = {"name": name, "password": password or PASSWORDS[name]}
    return client.post("/login", data=form)


def person(client, name):
    """Return somebody on a device of their own, who has signed in."""
    client.cookies.clear()
    client.headers["x-test-peer"] = "192.0.2.1"
    if name not in TOKENS:  # to check a password takes a moment
        assert sign_in(client, name).status_code == 303
        TOKENS[name] = client.cookies[MEMBER]
        client.cookies.clear()
    client.cookies.set(MEMBER, TOKENS[name])
    return Visitor("", http=client)


@pytest.mark.parametrize(
    "path", ["/config", "/gradio_api/queue/data?session_hash=a", "/theme.css", "/judged/1/verdicts"]
)
def test_nothing_is_told_before(client, path):
    answer = client.get(path)
    assert (answer.status_code, answer.json()) == (401, {"detail": "Not signed in"})


def test_the_page_leads_to_the_way_in(client):
    answer = client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, "login")
    answer = client.get("/example/")
    assert (answer.status_code, answer.headers["location"]) == (303, "../login")
    page = client.get("/login").text
    assert page.count("<input") == 2
    assert client.get("/healthz").status_code == 200
    assert client.post("/gradio_api/queue/join", json={"fn_index": 0}).status_code == 401


@pytest.mark.parametrize("name", PASSWORDS)
def test_whoever_signs_in_sees_the_page_until_they_leave(client, name):
    answer = sign_in(client, name)
    assert (answer.status_code, answer.headers["location"]) == (303, "./")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert client.get("/config").status_code == 200
    client.get("/logout")
    assert client.get("/config").status_code == 401


def test_wrong_passwords_are_few(client):
    client.headers["x-test-peer"] = "192.0.2.66"
    for password in ("x", PASSWORDS["eve"], "", "y"):
        answer = client.post("/login", data={"name": "ann", "password": password})
        assert answer.status_code == 401
        assert WRONG in answer.text
        assert MEMBER not in client.cookies
    answer = sign_in(client)  # also with the right one
    assert answer.status_code == 429
    told = r"At most 4 wrong passwords a minute .* for one name: try again in \d+ s\."
    assert re.search(told, answer.text)
    client.headers["x-test-peer"] = "192.0.2.67"
    assert sign_in(client).status_code == 303


def test_wrong_passwords_lock_out_nobody_else_at_the_address(client):
    client.headers["x-test-peer"] = "192.0.2.69"
    answers = [sign_in(client, "ann", "x").status_code for _ in range(12)]
    assert answers == [401] * 4 + [429] * 8
    assert sign_in(client, "eve").status_code == 303


def test_wrong_passwords_for_many_names_are_bounded(client):
    client.headers["x-test-peer"] = "192.0.2.70"
    statuses = [sign_in(client, f"nobody {n}", "x").status_code for n in range(41)]
    assert statuses == [401] * 40 + [429]


def test_a_token_that_was_copied_holds_no_more_after_signing_out(client):
    sign_in(client)
    copied = client.cookies[MEMBER]
    client.cookies.clear()
    sign_in(client)
    other_device = client.cookies[MEMBER]
    assert copied != other_device
    client.cookies.clear()
    client.cookies.set(MEMBER, copied)
    assert client.get("/config").status_code == 200
    assert client.get("/logout").status_code == 303
    for token, status in ((copied, 401), (other_device, 200)):
        client.cookies.clear()
        client.cookies.set(MEMBER, token)
        assert client.get("/config").status_code == status
    client.cookies.clear()


def test_large_forms_and_odd_ones_are_wrong(client):
    client.headers["x-test-peer"] = "192.0.2.68"
    for content in (b"x" * 5000, b"", b"\xff\xfe=%", b"name=ann&password=%00"):
        head = {"content-type": "application/x-www-form-urlencoded"}
        assert client.post("/login", content=content, headers=head).status_code == 401


def test_one_person_is_one_voter_on_any_device(app):
    client, store, _ = app
    for _ in range(2):  # two devices: two cookies
        ann = person(client, "ann")
        ann.call(ann.dependency("click", "start"), [])
        ann.vote((1, 1))
    eve = person(client, "eve")
    eve.call(eve.dependency("click", "start"), [])
    eve.vote((1, 1))
    with store.cursor() as cursor:
        rows = cursor.execute(
            "select voter, count(*) from votes group by all order by 2 desc"
        ).fetchall()
    assert [n for _, n in rows] == [2, 1]
    assert all(re.fullmatch("[0-9a-f]{16}", voter) for voter, _ in rows)


def test_a_link_of_ones_own_needs_no_password(app):
    client, _, link = app
    client.cookies.clear()
    assert client.get(f"/?annotator={link}").status_code == 303
    assert client.cookies[COOKIE] == link
    assert client.get("/config").status_code == 200
    assert client.get("/?annotator=nothing").status_code == 404


def votes_events(visitor):
    """Return the events of the votes tab that do something."""
    named = {c["props"].get("elem_id"): c["id"] for c in visitor.config["components"]}
    outputs = named["votes-voters"]
    return [each for each in visitor.config["dependencies"] if outputs in each["outputs"]]


def take_back(admin, rule):
    """Press the button of an exclusion's row, and give a reason."""
    told = {"exclusion": rule, "reason": "it was a class"}
    return admin.call(admin.dependency("include", "votes-rules"), [], told)


def test_admins_exclude_and_take_back_and_the_board_follows(app):
    client, store, _ = app
    ann = person(client, "ann")
    ann.call(ann.dependency("click", "start"), [])
    ann.vote((1, 1))
    with store.cursor() as cursor:
        (voter,) = cursor.execute("select voter from votes limit 1").fetchone()
    before = store.version()
    output = ann.call(ann.dependency("click", "exclude"), [voter, "", "", "a script"])
    said, rules, voters = output["data"]
    assert "excluded and left out" in said
    assert voter in voters
    assert "a script" in rules
    assert store.version() > before
    with store.cursor() as cursor:
        rows = cursor.execute("select exclusion, voter, reason, made_by from exclusions").fetchall()
        counted = "select count(*) from counted_votes where voter = ?"
        assert cursor.execute(counted, [voter]).fetchone() == (0,)
    ((rule, *rest),) = rows
    assert rest == [voter, "a script", "ann"]
    output = take_back(ann, rule)
    with store.cursor() as cursor:
        ((origin, kept),) = cursor.execute(
            "select origin, count(*) from origins group by all"
        ).fetchall()
        assert kept == cursor.execute("select count(*) from votes").fetchone()[0]
        voters = cursor.execute("select distinct voter from votes").fetchall()
    assert origin in output["data"][2]
    row = {"voter": origin, "reason": "one place"}  # as the button of its row tells it
    every = ann.call(ann.dependency("exclude", "votes-voters"), [], row)
    with store.cursor() as cursor:
        rows = cursor.execute("select exclusion, voter from standing_exclusions").fetchall()
    assert {(name,) for _, name in rows} == {*voters}
    assert "100.0%" in every["data"][0]
    for rule, _ in rows:
        output = take_back(ann, rule)
    assert "excluded" not in output["data"][0]
    with store.cursor() as cursor:
        assert cursor.execute(counted, [voter]).fetchone()[0] > 0


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["", "", "", "why"], "An exclusion needs a voter or a time"),
        (["nobody", "", "", "why"], "No vote is of this voter and time"),
        (["x", "", "", " "], "Say why"),
        (["", "yesterday", "", "why"], "'yesterday' is no time"),
    ],
)
def test_bad_input_is_told(app, given, told):
    client, _, _ = app
    ann = person(client, "ann")
    output = ann.call(ann.dependency("click", "exclude"), given)
    assert told in output["error"]


def test_others_cannot_call_what_admins_may(app):
    client, store, _ = app
    eve = person(client, "eve")
    before = store.version()
    events = votes_events(eve)
    assert len(events) == 4
    for event in events:
        data = ["x"] * len(event["inputs"])
        output = eve.call(event, data, {"value": "Votes", "index": 0, "selected": True})
        assert output == {"error": "Only admins of this arena may do this."} | output
        assert "data" not in output
    assert store.version() == before


def test_only_admins_see_the_tab(app):
    client, _, _ = app
    for name, shown in (("ann", True), ("eve", False)):
        visitor = person(client, name)
        tab = next(c["id"] for c in visitor.config["components"] if c["props"].get("id") == "votes")
        (event,) = [each for each in visitor.config["dependencies"] if each["outputs"] == [tab]]
        (value,) = visitor.call(event, [])["data"]
        assert value.get("visible", False) is shown


def test_a_token_is_over_and_cannot_be_forged():
    now = [1000.0]
    settings = AccessSettings(sign_in="password", users=HASHES, admins=["ann"])
    members = Members(settings, "k" * 32, lambda: now[0])
    token = members.token("ann")
    ann = members.of_token(token)
    assert (ann.name, ann.admin) == ("ann", True)
    assert not members.of_token(members.token("eve")).admin
    for forged in (
        *("", ".", "..", "ann", token[:-1], token + "0", token.replace("ann", "eve")),
        *(token.replace("ann.", "ann.9"), "\N{SNOWMAN}.1.2.3", "ann.\N{SUPERSCRIPT TWO}.x.y"),
    ):
        assert members.of_token(forged) is None, forged
    assert Members(settings, "l" * 32, lambda: now[0]).of_token(token) is None
    other = AccessSettings(sign_in="password", users=HASHES | {"ann": HASHES["eve"]})
    assert Members(other, "k" * 32, lambda: now[0]).of_token(token) is None  # a new password
    assert members.of_token(members.token("nobody")) is None
    now[0] += SIGNED_IN - 1
    assert members.of_token(token) == ann
    now[0] += 1
    assert members.of_token(token) is None


def test_who_has_signed_out_stays_so_after_a_start(tmp_path):
    now = [1000.0]
    settings = AccessSettings(sign_in="password", users=HASHES)
    file = tmp_path / "arena.signed-out"

    def started():
        return Members(settings, "k" * 32, lambda: now[0], file)

    members = started()
    token, other = members.token("ann"), members.token("ann")
    members.sign_out("ann.9999999999.x.y")  # a forged one fills no disk
    assert not file.exists()
    members.sign_out(token)
    members.sign_out(token)
    assert len(file.read_text().splitlines()) == 1
    assert file.stat().st_mode & 0o777 == 0o600
    assert token not in file.read_text()
    for each in (members, started()):
        assert (each.of_token(token), each.of_token(other).name) == (None, "ann")
    now[0] += SIGNED_IN
    assert started()._ended._until == {}


def test_signing_out_ends_it_also_where_the_disk_is_full(tmp_path):
    settings = AccessSettings(sign_in="password", users=HASHES)
    members = Members(settings, "k" * 32, signed_out=tmp_path / "away" / "arena.signed-out")
    token = members.token("ann")
    with pytest.raises(StoreError, match="cannot be written"):
        members.sign_out(token)
    assert members.of_token(token) is None


def test_a_name_with_dots_signs_in():
    settings = AccessSettings(sign_in="password", users={"ann.b.": HASHES["ann"]})
    members = Members(settings, "k" * 32)
    assert members.of_token(members.token("ann.b.")).name == "ann.b."


def test_what_the_hub_said_holds_no_more_after_signing_out(tmp_path):
    settings = AccessSettings(sign_in="hub")
    file = tmp_path / "arena.signed-out"
    info = {"preferred_username": "ann", "sub": "1"}
    copied, later = (
        {"oauth_info": {"userinfo": info, "expires_at": at + 0.5}} for at in (1001, 1002)
    )
    members = Members(settings, "k" * 32, lambda: 1000.0, file)
    members.sign_out_of_hub(copied)
    for each in (members, Members(settings, "k" * 32, lambda: 1000.0, file)):
        assert each.of_hub(copied) is None
        assert each.of_hub(later).name == "ann"


def test_the_hub_says_who_somebody_is():
    settings = AccessSettings(sign_in="hub", admins=["ann"])
    members = Members(settings, "k" * 32, lambda: 1000.0)

    def told(**changes):
        info = {"preferred_username": "ann", "sub": "hub-7"} | changes
        return members.of_hub({"oauth_info": {"userinfo": info, "expires_at": 1001}})

    ann = told()
    assert (ann.name, ann.admin) == ("ann", True)
    assert told(preferred_username="ann2").voter == ann.voter  # whatever they are called
    assert told(sub="hub-8").voter != ann.voter
    assert told(sub=None) is told(preferred_username=7) is members.of_hub({}) is None
    over = {"userinfo": {"preferred_username": "ann", "sub": "1"}, "expires_at": 1000}
    assert members.of_hub({"oauth_info": over}) is None


def test_the_hub_is_asked_in_a_space_alone(monkeypatch):
    with pytest.raises(SettingsError, match="in a Space of the hub alone"):
        sign_in_page.attach_hub(None)
    monkeypatch.setattr(sign_in_page, "get_space", lambda: "lab/arena")
    monkeypatch.setattr("coupled_arena.core.extras.find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"coupled-arena\[hub\]"):
        sign_in_page.attach_hub(None)


@pytest.mark.parametrize("required", first_of(True, False))
def test_who_comes_by_the_hub(tmp_path, monkeypatch, required):
    """Its session is put where Gradio's middleware puts it."""
    fill(tmp_path)
    access = f'sign_in = "hub"\nadmins = ["ann"]\nrequired = {str(required).lower()}'
    session = {}

    class Session:
        def __init__(self, app):
            self.app = app

        async def __call__(self, scope, receive, send):
            await self.app({**scope, "session": session}, receive, send)

    monkeypatch.setattr(server, "attach_hub", lambda app: app.add_middleware(Session))
    with (
        open_services(settings_of(tmp_path, access), annotate=True) as services,
        TestClient(server._application(services), follow_redirects=False) as client,
    ):
        assert "login/huggingface" in client.get("/login").text
        assert client.post("/login", data={"name": "ann", "password": "x"}).status_code == 200
        assert client.get("/config").status_code == (401 if required else 200)
        info = {"preferred_username": "ann", "sub": "7"}
        session["oauth_info"] = {"userinfo": info, "expires_at": time.time() + 60}
        ann = Visitor("", http=client)
        output = ann.call(ann.dependency("click", "exclude"), ["nobody", "", "", "why"])
        assert "No vote is of this voter" in output["error"]
        del session["oauth_info"]
        if not required:
            output = ann.call(ann.dependency("click", "exclude"), ["nobody", "", "", "why"])
            assert "Only admins of this arena" in output["error"]


def test_passwords(monkeypatch):
    monkeypatch.setattr(passwords, "_COST", 14)
    hashed = hash_password("correct horse")
    assert matches("correct horse", hashed)
    assert not matches("correct horsf", hashed)
    assert not matches("correct horse", None)
    monkeypatch.setattr(passwords, "_COST", 4)
    assert not matches("correct horse", hashed)
    assert hash_password("correct horse") != hash_password("correct horse")  # salted
    with pytest.raises(SettingsError, match="8 to 1000 characters"):
        hash_password("short")


def test_the_command_makes_what_the_settings_take(call, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    code, out, err = call("password")
    assert code == 0, err
    assert matches("correct horse", out.strip())


@pytest.mark.parametrize(
    ("access", "told"),
    [
        ('sign_in = "password"', "name users"),
        ('admins = ["ann"]', "set sign_in"),
        ('sign_in = "password"\nusers = { ann = "hunter22" }', "coupled-arena password"),
        ('sign_in = "hub"\nkey = "short"', "32 characters"),
    ],
)
def test_settings_that_would_let_in_the_wrong_ones(tmp_path, access, told):
    config = tmp_path / "arena.toml"
    config.write_text(f"[access]\n{access}\n")
    with pytest.raises(SettingsError, match=told) as raised:
        load_settings(config)
    assert "hunter22" not in str(raised.value)
    assert "short" not in str(raised.value)


def test_the_environment_says_the_same(monkeypatch):
    for name, value in {
        "SIGN_IN": "password",
        "USERS": " ".join(f"{n}={HASHES[n]}" for n in ("ann", "eve")),
        "ADMINS": "ann eve",
        "KEY": "k" * 32,
    }.items():
        monkeypatch.setenv(f"COUPLED_ARENA_ACCESS_{name}", value)
    access = load_settings().access
    assert access.users == {name: HASHES[name] for name in ("ann", "eve")}
    assert access.admins == ["ann", "eve"]
    assert access.key.get_secret_value() == "k" * 32
    monkeypatch.setenv("COUPLED_ARENA_ACCESS_USERS", "ann=hunter22")
    with pytest.raises(SettingsError) as raised:
        load_settings()
    assert "hunter22" not in str(raised.value)


def test_the_key_is_for_its_owner_alone(app, tmp_path):
    _, store, _ = app
    path = key_path(store.path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"[0-9a-f]{64}\n", path.read_text())
    fill(tmp_path)
    key_path(tmp_path / "arena.duckdb").write_text("nonsense")
    settings = settings_of(tmp_path, 'sign_in = "password"')
    with (
        pytest.raises(StoreError, match="is no key of the arena"),
        open_services(settings, annotate=True),
    ):
        pass


def test_json_of_the_page_names_nobody(app):
    client, _, _ = app
    eve = person(client, "eve")
    told = json.dumps(eve.config)
    assert not [name for name in HASHES.values() if name in told]
    assert "zoë" not in told
