"""The file of those who have links: who they are, and what it does not hold."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from coupled_arena.core.errors import StoreError
from coupled_arena.store.annotators import (
    Annotators,
    add_annotators,
    annotators_path,
    read_annotators,
    revoke_annotators,
    voter_called,
    write_names,
)


@pytest.fixture
def path(tmp_path):
    return annotators_path(tmp_path / "arena.duckdb")


def test_a_link_is_known_by_its_hash_alone(path):
    tokens = add_annotators(path, ["Ann", "Bob"])
    known = Annotators(path)
    assert [known.find(tokens[name]).name for name in ("Ann", "Bob")] == ["Ann", "Bob"]
    assert known.find(tokens["Ann"]).voter != known.find(tokens["Bob"]).voter
    written = path.read_text()
    assert not [token for token in tokens.values() if token in written]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    row = read_annotators(path)[0]
    for guess in ("", "0" * 40, row.token_hash, row.voter, tokens["Ann"][:-1], tokens["Ann"] + " "):
        assert known.find(guess) is None


def test_a_running_app_knows_at_once(path):
    known = Annotators(path)
    ann = add_annotators(path, ["Ann"])["Ann"]
    voter = known.find(ann).voter
    revoke_annotators(path, ["Ann"])
    assert known.find(ann) is None
    again = add_annotators(path, ["Ann"])["Ann"]
    assert known.find(again).voter == voter  # the same person
    assert known.find(ann) is None


def test_numbers_for_people_without_a_name(path):
    assert list(add_annotators(path, ["2", "Ann"], 3)) == ["2", "Ann", "1", "3", "4"]
    assert list(add_annotators(path, [], 2)) == ["5", "6"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["Cas", "Ann"], "Ann has a link already"),
        (["Cas", "Cas"], "Cas is named twice"),
        (["Cas", " Cas"], "Cas is named twice"),
        (["Cas", ""], "1 to 80 characters"),
        (["Cas", "x" * 10_000], "1 to 80 characters"),
        (["Cas", "two\nlines"], "on one line"),
        (["Cas", "\u202eturned"], "on one line"),
        (["Cas", "\x1b[31mred"], "on one line"),
    ],
)
def test_all_links_or_none(path, names, words):
    add_annotators(path, ["Ann"])
    before = path.read_bytes()
    with pytest.raises(StoreError, match=words) as told:
        add_annotators(path, names)
    assert len(str(told.value)) < 200
    assert path.read_bytes() == before
    with pytest.raises(StoreError, match="no annotator 'Zoe'"):
        revoke_annotators(path, ["Ann", "Zoe"])
    assert path.read_bytes() == before


def test_two_who_write_at_once_lose_nothing(path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: add_annotators(path, [f"person {n}"]), range(40)))
    assert len(read_annotators(path)) == 40


@pytest.mark.parametrize("content", ["", "{", "[{}]", '[{"name": 1}]', '{"name": "x"}', "\0\0"])
def test_a_damaged_file_is_refused_and_left(path, content):
    path.write_text(content)
    for read in (Annotators, read_annotators, lambda p: add_annotators(p, ["Ann"])):
        with pytest.raises(StoreError, match="no list of annotators"):
            read(path)
    assert path.read_text() == content


@pytest.mark.parametrize("lose", [lambda p: p.unlink(), lambda p: p.write_text("{")])
def test_an_app_goes_on_with_the_links_it_knew(path, lose, caplog):
    ann = add_annotators(path, ["Ann"])["Ann"]
    known, kept = Annotators(path), path.read_bytes()
    lose(path)
    assert known.find(ann).name == known.find(ann).name == "Ann"
    assert len(caplog.messages) == 1
    assert "hold until the arena stops" in caplog.text
    path.write_bytes(kept)
    revoke_annotators(path, ["Ann"])
    assert known.find(ann) is None


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        add_annotators(annotators_path(tmp_path / "nowhere" / "arena.duckdb"), ["Ann"])


def test_names_and_pseudonyms(path, tmp_path):
    add_annotators(path, ["Zo\u00eb", 'a "quoted", name'])
    zoe = next(row for row in read_annotators(path) if row.name == "Zo\u00eb")
    assert voter_called(path, "Zoe\u0308") == zoe.voter  # as another keyboard writes it
    assert voter_called(path, "0123456789abcdef") == "0123456789abcdef"
    written = write_names(path, tmp_path).read_text().splitlines()
    assert written[0] == "voter,name"
    assert f"{zoe.voter},Zo\u00eb" in written
    assert written[-1].endswith('"a ""quoted"", name"') or written[1].endswith('name"')
