"""Votes on a host that forgets its disk: chunks go out, and come back as the same store."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from huggingface_hub import constants
from hypothesis import given, settings

from coupled_arena.core.errors import BackupError, StoreError
from coupled_arena.store.checks.examine import faults
from coupled_arena.store.database import Store
from coupled_arena.store.tables import votes
from coupled_arena.store.transfer.backup import Backup
from coupled_arena.store.transfer.export import fingerprint
from coupled_arena.store.transfer.targets import BackupDataset, BackupFolder
from tests.batches import at_once
from tests.patience import until
from tests.store.conftest import make_battle, make_vote
from tests.store.hub import NAME, a_hub
from tests.store.made_up import stores
from tests.store.test_round_trip import counted

NEVER = 1440.0  # minutes: only what is new at the start and at the end is sent
AT_ONCE = 0.001


@contextmanager
def backed_up(store, place, minutes=NEVER):
    with closing(Backup(store, place, minutes)) as backup:
        yield backup


def send(store, place):
    with backed_up(store, place) as backup:
        pass
    assert backup.trouble == ""


def restored(place):
    """Return the fingerprint of what an empty disk gets."""
    with Store.in_memory() as copy, backed_up(copy, place):
        with copy.cursor() as cursor:
            assert faults(cursor) == []
        return fingerprint(copy)


def chunks(folder):
    return sorted(path.parent.name for path in folder.glob("chunks/*/chunk.json"))


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "backup"
    made.mkdir()
    return made


@pytest.fixture
def place(folder):
    return BackupFolder(folder)


def vote_in(store, reveal=True):
    battle = make_battle()
    store.add_battle(battle)
    store.cast(make_vote(battle), reveal=reveal)
    return battle


@pytest.fixture
def voted(store):
    """A store in which one vote more can be cast at any time."""
    vote_in(store)
    return partial(vote_in, store)


@pytest.mark.slow
@settings(max_examples=2)
@given(made=stores())
def test_what_is_sent_piece_by_piece_comes_back_to_the_same_fingerprint(made):
    """First turns and half of the votes, then all the rest: verdicts, scores and grades too."""
    with Store.in_memory() as store, tempfile.TemporaryDirectory() as folder:
        place = BackupFolder(Path(folder))
        with at_once(store) as batch:
            for battle in made.battles:
                first = tuple(reply for reply in battle.replies if reply.turn == 0)
                batch.add_battle(replace(battle, prompts=battle.prompts[:1], replies=first))
            batch.votes += made.votes[: len(made.votes) // 2]
        send(store, place)
        rest = replace(made, votes=made.votes[len(made.votes) // 2 :])
        rest.fill(store)
        send(store, place)
        held = contents(Path(folder))
        with Store.in_memory() as copy:
            send(copy, place)
            assert fingerprint(copy) == fingerprint(store)
            assert counted(copy) == counted(store)
        assert contents(Path(folder)) == held  # nothing was new in it


@pytest.mark.slow
@pytest.mark.parametrize("changed", [True, False])
def test_a_vote_that_is_changed_or_revealed_later_comes_back_so(
    store, place, folder, new_battle, new_vote, changed
):
    battle = new_battle()
    vote = new_vote(battle)
    store.add_battle(battle)
    store.cast(vote, reveal=False)
    send(store, place)
    assert restored(place) == fingerprint(store)
    store.cast(new_vote(battle, 2, 1) if changed else vote)
    send(store, place)
    assert restored(place) == fingerprint(store)
    assert chunks(folder) == ["000001", "000002"]


@pytest.mark.slow
def test_a_battle_that_a_judge_decides_later_comes_back_as_told(store, place, folder, new_battle):
    battle = new_battle()
    store.add_battle(battle)
    send(store, place)
    store.write(lambda cursor: votes.add_reveals(cursor, [(battle.id, "eve")]))
    send(store, place)
    assert restored(place) == fingerprint(store)
    assert chunks(folder) == ["000001", "000002"]


@pytest.mark.slow
def test_chunks_go_out_while_people_vote_and_say_how_old_they_are(store, place, folder, voted):
    with backed_up(store, place, AT_ONCE) as backup:
        until(lambda: len(chunks(folder)) == 1)
        voted()
        until(lambda: len(chunks(folder)) > 1)
        until(lambda: backup.age is not None)
        # The battle may have gone out before the vote.
        until(lambda: restored(place) == fingerprint(store))


@pytest.mark.slow
def test_an_unfinished_chunk_is_none(store, place, folder, voted):
    send(store, place)
    left = folder / "chunks" / "000002"
    left.mkdir()
    (left / "verdicts.parquet").write_bytes(b"PAR1")
    (left / ".votes.parquet.partial").write_bytes(b"PAR1")
    assert restored(place) == fingerprint(store)
    voted()
    send(store, place)
    assert chunks(folder) == ["000001", "000002"]
    assert restored(place) == fingerprint(store)


def spoil_a_file(folder):
    file = folder / "chunks" / "000001" / "votes.parquet"
    file.write_bytes(file.read_bytes()[:-9])
    return "votes.parquet of chunk 1 is damaged"


def lose_a_file(folder):
    (folder / "chunks" / "000002" / "votes.parquet").unlink()
    return "chunk 2 is not whole"


def spoil_a_manifest(folder):
    (folder / "chunks" / "000002" / "chunk.json").write_text('{"files": ')
    return "chunk 2 is not whole"


def lose_a_chunk(folder):
    shutil.rmtree(folder / "chunks" / "000002")
    return "chunk 2 is missing"


@pytest.fixture(scope="module")
def thrice(tmp_path_factory):
    """A store that has something to send, and the three chunks that it has sent; to be copied."""
    folder = tmp_path_factory.mktemp("thrice")
    with Store.in_memory() as store:
        for _ in range(3):
            vote_in(store)
            send(store, BackupFolder(folder))
        vote_in(store)
        assert chunks(folder) == ["000001", "000002", "000003"]
        yield store, folder


@pytest.mark.parametrize("spoil", [spoil_a_file, lose_a_file, spoil_a_manifest, lose_a_chunk])
def test_a_broken_backup_is_told_in_one_line_and_kept(thrice, tmp_path, spoil):
    store, whole = thrice
    folder = shutil.copytree(whole, tmp_path / "broken")
    told = spoil(folder)
    held, before = contents(folder), fingerprint(store)
    with Store.in_memory() as empty:
        for each in (empty, store):
            with pytest.raises(StoreError) as caught:
                Backup(each, BackupFolder(folder), NEVER)
            assert told in str(caught.value)
            assert "\n" not in str(caught.value)
            assert contents(folder) == held
    assert fingerprint(store) == before


def test_the_backup_of_another_arena_is_left_alone(
    store, place, folder, voted, new_battle, new_vote
):
    send(store, place)
    held = contents(folder)
    with Store.in_memory() as other:
        battle = new_battle()
        other.add_battle(battle)
        other.cast(new_vote(battle))
        before = fingerprint(other)
        with pytest.raises(StoreError, match="is of another arena"):
            Backup(other, place, NEVER)
        assert (contents(folder), fingerprint(other)) == (held, before)


@pytest.mark.slow
def test_an_older_database_of_the_same_arena_gets_what_it_lacks(store, place, voted):
    send(store, place)
    with Store.in_memory() as older:
        with backed_up(older, place):
            pass
        voted()
        send(store, place)
        with backed_up(older, place):
            assert fingerprint(older) == fingerprint(store)


def test_two_arenas_do_not_share_a_backup(store, place, folder, voted, new_battle):
    with Store.in_memory() as other:
        late = Backup(other, place, NEVER)
        send(store, place)
        held = contents(folder)
        other.add_battle(new_battle())
        late.close()
        assert "Another arena writes to the backup" in late.trouble
        assert contents(folder) == held


@pytest.mark.slow
def test_a_disk_that_is_away_is_told_and_tried_again(
    store, place, folder, voted, new_vote, new_battle, caplog
):
    aside = folder.with_name("aside")
    with backed_up(store, place, AT_ONCE) as backup:
        until(lambda: chunks(folder))
        folder.rename(aside)
        voted()
        until(lambda: backup.trouble)
        assert "is not there: mount it" in backup.trouble
        voted()
        aside.rename(folder)
        until(lambda: not backup.trouble)
        until(lambda: restored(place) == fingerprint(store))
    assert sum("mount it" in record.message for record in caplog.records) == 1
    assert chunks(folder)[-1] == f"{len(chunks(folder)):06}"


@pytest.mark.slow
def test_without_its_backup_only_a_database_with_rows_is_served(store, place, folder, voted):
    folder.rmdir()
    with Store.in_memory() as empty, pytest.raises(BackupError, match="is not there: mount it"):
        Backup(empty, place, NEVER)
    with backed_up(store, place) as backup:
        voted()
        folder.mkdir()
    assert backup.trouble == ""
    assert restored(place) == fingerprint(store)


@pytest.fixture
def hub(monkeypatch):
    with a_hub() as served:
        template = served.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", served.url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield served


@pytest.mark.slow
def test_a_hub_takes_whole_chunks_and_gives_them_back(hub, store, voted):
    place = BackupDataset(NAME)
    send(store, place)
    voted()
    send(store, place)
    assert hub.private is True
    assert len(hub.commits) == 3  # the empty one, and one for each chunk
    assert [name for name in hub.files if name.endswith("chunk.json")] == [
        "chunks/000001/chunk.json",
        "chunks/000002/chunk.json",
    ]
    assert json.loads(hub.files["chunks/000001/chunk.json"])["files"]["votes"]["rows"] == 1
    assert restored(place) == fingerprint(store)


@pytest.mark.slow
def test_a_hub_that_fails_costs_no_vote_and_is_tried_again(hub, store, voted, caplog):
    caplog.set_level("INFO", "coupled_arena")
    with backed_up(store, BackupDataset(NAME), AT_ONCE) as backup:
        until(lambda: len(hub.commits) == 2)
        hub.failing = True
        voted()
        until(lambda: backup.trouble)
        assert "503" in backup.trouble
        assert "\n" not in backup.trouble
        voted()
        hub.failing = False
        until(lambda: not backup.trouble)
    assert restored(BackupDataset(NAME)) == fingerprint(store)
    assert "is complete again" in caplog.text


@pytest.mark.slow
def test_a_commit_whose_answer_was_lost_is_not_made_again(hub, store, voted):
    hub.forgetful = True
    with backed_up(store, BackupDataset(NAME), AT_ONCE) as backup:
        until(lambda: len(hub.commits) == 2)
        until(lambda: backup.age is not None)
    assert hub.forgetful is False
    assert len(hub.commits) == 2
    assert restored(BackupDataset(NAME)) == fingerprint(store)


@pytest.mark.slow
def test_two_arenas_do_not_share_a_data_set(hub, store, voted, new_battle):
    with Store.in_memory() as other:
        late = Backup(other, BackupDataset(NAME), NEVER)
        send(store, BackupDataset(NAME))
        other.add_battle(new_battle())
        late.close()
        assert "Another arena writes to the backup" in late.trouble
    assert len(hub.commits) == 2


def test_a_public_data_set_is_told(hub, store, voted, caplog):
    hub.private = False
    send(store, BackupDataset(NAME))
    assert "is public" in caplog.text
