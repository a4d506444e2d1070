"""The flat table by the command line: its card, and the hub, which is a stand-in here."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import huggingface_hub
import pandas as pd
import pytest
import yaml
from huggingface_hub import constants
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

from coupled_arena.core.version import VERSION
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.export import fingerprint
from coupled_arena.views.tables.flat import FLAT
from tests.families import first_of
from tests.store.conftest import make_battle, make_vote
from tests.store.hub import NAME, a_hub


class Hub:
    """As much of `HfApi` as publishing asks for; ``refusal`` is raised by the first question."""

    def __init__(self):
        self.private = None
        self.refusal = None
        self.sent = []

    def create_repo(self, name, *, repo_type, private, exist_ok):
        assert (name, repo_type, exist_ok) == (NAME, "dataset", True)
        if self.refusal:
            raise self.refusal
        self.private = private if self.private is None else self.private

    def dataset_info(self, name):
        return SimpleNamespace(private=self.private)

    def upload_folder(self, *, repo_id, folder_path, repo_type, allow_patterns, commit_message):
        assert (repo_id, repo_type) == (NAME, "dataset")
        self.sent.append({name: (folder_path / name).read_bytes() for name in allow_patterns})


@pytest.fixture
def hub(monkeypatch):
    made = Hub()
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: made)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: "hf_secret")
    return made


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "arena.duckdb"
    with Store.open(path) as store:
        for models, ranks in (("ab", (1, 2)), ("abc", (2, 1, 2))):
            battle = make_battle(*models)
            store.add_battle(battle)
            store.cast(make_vote(battle, *ranks))
        unseen = make_battle("a", "b", id="unseen")
        store.add_battle(unseen)
        store.cast(make_vote(unseen), reveal=False)
    return path


@pytest.fixture
def take(call, db, tmp_path):
    def run(*options, format="flat"):
        out = tmp_path / "out"
        return call("export", "--format", format, "--out", out, "--db", db, *options)

    return run


def matter_of(text):
    """Return what the hub reads above a card, and the card."""
    _, matter, body = re.split(r"^---$", text, maxsplit=2, flags=re.MULTILINE)
    return yaml.safe_load(matter), body


@pytest.mark.parametrize(
    ("format", "file"), first_of(("flat", "flat.parquet"), ("flat-csv", "flat.csv"))
)
def test_a_card_lies_beside_the_table(take, db, tmp_path, format, file):
    out = tmp_path / "out"
    code, printed, err = take("--license", "cc-by-4.0", "--json", format=format)
    assert code == 0, err
    assert json.loads(printed) == {"files": [str(out / file), str(out / "README.md")]}
    matter, body = matter_of((out / "README.md").read_text(encoding="utf-8"))
    assert matter["license"] == "cc-by-4.0"
    (config,) = matter["configs"]
    assert config["data_files"] == [{"split": "train", "path": file}]
    assert matter["size_categories"] == ["n<1K"]
    told = dict(re.findall(r"^\| (\w+) \| ([\d,]+) \|$", body, re.MULTILINE))
    assert told == {"rows": "5", "votes": "3", "voters": "1", "battles": "3"}
    columns = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", body, re.MULTILINE)
    assert columns == [(each.name, each.kind.__name__, each.meaning) for each in FLAT[:-2]]
    with Store.open(db, read_only=True) as store:
        assert fingerprint(store) in body
    assert f"coupled-arena {VERSION}" in body


@pytest.mark.slow
def test_the_cards_own_lines_read_the_table(take, tmp_path, monkeypatch, capsys):
    for format in ("flat", "flat-csv"):
        assert take(format=format)[0] == 0
        monkeypatch.chdir(tmp_path / "out")
        card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
        (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
        exec(code, {})
        assert "win_rate" in capsys.readouterr().out


def test_without_a_licence_none_is_made_up(take, tmp_path):
    assert take()[0] == 0
    matter, body = matter_of((tmp_path / "out" / "README.md").read_text(encoding="utf-8"))
    assert "license" not in matter
    assert "none was given" in body


def test_names_of_models_cannot_break_the_card(call, tmp_path):
    db, out = tmp_path / "odd.duckdb", tmp_path / "out"
    with Store.open(db) as store:
        battle = make_battle("a|b`\n---", "<script>")
        store.add_battle(battle)
        store.cast(make_vote(battle))
    assert call("export", "--format", "flat", "--out", out, "--db", db)[0] == 0
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "| models | `<script>`, `` a\\|b` --- `` |" in card.splitlines()


@pytest.mark.slow
def test_a_card_takes_no_other_files_place(take, tmp_path):
    (tmp_path / "out").mkdir()
    own = tmp_path / "out" / "README.md"
    own.write_text("mine")
    code, _, err = take()
    assert code == 1
    assert "no card of an export" in err
    assert [path.name for path in own.parent.iterdir()] == ["README.md"]
    assert own.read_text() == "mine"
    own.unlink()
    assert take()[0] == take()[0] == 0  # its own place it takes


def test_the_hub_gets_the_table_and_the_card_and_nothing_else(take, hub, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "private.txt").write_text("mine")
    code, printed, err = take("--to-hub", NAME, "--json")
    assert code == 0, err
    answer = json.loads(printed)
    assert answer["dataset"] == f"https://huggingface.co/datasets/{NAME}"
    assert answer["private"] is hub.private is True
    (sent,) = hub.sent
    assert sent.keys() == {"flat.parquet", "README.md"}
    assert sent["flat.parquet"] == (tmp_path / "out" / "flat.parquet").read_bytes()
    assert "only its owners" in take("--to-hub", NAME)[1]


@pytest.mark.slow
def test_the_hubs_own_client_sends_it(take, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with a_hub() as served:
        monkeypatch.setattr(constants, "ENDPOINT", served.url)
        code, _, err = take("--to-hub", NAME)
        assert code == 0, err
        assert served.private is True
        assert served.files == {
            name: (tmp_path / "out" / name).read_bytes() for name in ("flat.parquet", "README.md")
        }


def test_rounds_that_are_still_blind_are_not_published(take, hub, tmp_path):
    assert take()[0] == 0
    read = [pd.read_parquet(tmp_path / "out" / "flat.parquet")]
    assert take("--to-hub", NAME)[0] == 0
    read.append(pd.read_parquet(tmp_path / "out" / "flat.parquet"))
    assert [(table.battle == "unseen").any() for table in read] == [True, False]
    assert b"are left out" in hub.sent[0]["README.md"]


def test_the_world_may_read_only_what_is_said_to_be_public(take, hub):
    hub.private = False
    code, _, err = take("--to-hub", NAME)
    assert code == 1
    assert "is public, so nothing was sent" in err
    assert hub.sent == []
    code, printed, err = take("--to-hub", NAME, "--public")
    assert code == 0, err
    assert "all the world may read it" in printed
    assert len(hub.sent) == 1


def refused(status):
    answer = SimpleNamespace(status_code=status, headers={}, request=None)
    error = HfHubHTTPError.__new__(HfHubHTTPError)
    Exception.__init__(error, f"{status} for url: https://huggingface.co/api\n\nmore lines")
    error.response = answer
    return error


@pytest.mark.parametrize(
    ("refusal", "words"),
    first_of(
        (refused(401), "does not know this HF_TOKEN"),
        (refused(403), "may not write there"),
        (refused(503), "answered 503"),
        (OfflineModeIsEnabled("offline"), "HF_HUB_OFFLINE"),
        (ConnectionError("no route"), "cannot be reached (ConnectionError: no route)"),
    ),
)
def test_a_refusal_of_the_hub_is_one_line(take, hub, refusal, words):
    hub.refusal = refusal
    code, printed, err = take("--to-hub", NAME)
    assert (code, printed, err.count("\n")) == (1, "", 1)
    assert words in err
    assert "hf_secret" not in err


def test_without_a_token_nothing_is_written(take, hub, tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    code, _, err = take("--to-hub", NAME)
    assert (code, err.count("\n")) == (1, 1)
    assert "set HF_TOKEN" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    first_of(
        (["--to-hub", "votes"], "Give OWNER/NAME"),
        (["--to-hub", "a/b/c"], "Give OWNER/NAME"),
        (["--to-hub", "../x"], "Give OWNER/NAME"),
        (["--public"], "name it with --to-hub"),
        (["--license", "mit\nx: y"], "no licence"),
        (["--license", ""], "no licence"),
        (["--to-hub", NAME, "--names"], "not for the hub"),
        keep=2,
    ),
)
def test_rubbish_is_refused_before_anything_is_written(take, hub, tmp_path, options, words):
    code, _, err = take(*options)
    assert code == 1
    assert words in err
    assert not (tmp_path / "out").exists()
    assert hub.sent == []


@pytest.mark.parametrize(
    "options", first_of(["--license", "mit"], ["--to-hub", NAME], ["--public"])
)
def test_options_of_the_flat_table_are_refused_for_other_files(take, hub, tmp_path, options):
    code, _, err = take(*options, format="parquet")
    assert code == 1
    assert "are for --format flat and flat-csv" in err
    assert not (tmp_path / "out").exists()


def test_a_store_without_votes_has_a_card_too(call, tmp_path):
    db, out = tmp_path / "empty.duckdb", tmp_path / "out"
    Store.open(db).close()
    assert call("export", "--format", "flat", "--out", out, "--db", db)[0] == 0
    assert "| cast (UTC) | none |" in (out / "README.md").read_text(encoding="utf-8")
    assert len(pd.read_parquet(out / "flat.parquet")) == 0
