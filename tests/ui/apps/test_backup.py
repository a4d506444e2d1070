"""A host that forgets its disk: the app is killed, starts on an empty one, and has its votes."""

from __future__ import annotations

import signal

import duckdb

from tests.patience import until
from tests.ui.raw_client import Visitor, differ
from tests.ui.server import EQUAL_MODELS, read, serving

CONFIG = """
snapshot_seconds = 0.2
[backup]
folder = "{folder}"
minutes = {minutes}
[battle]
coupled_share = 0
[sampling]
max_new_tokens = 400
"""


def voted(served):
    visitor = Visitor(served.url)
    visitor.ask(stop=differ)
    return visitor.vote()["vote"]


def sent(folder):
    """Return the votes of all chunks that are closed."""
    chunks = [path.parent / "votes.parquet" for path in folder.glob("chunks/*/chunk.json")]
    files = [str(file) for file in chunks if file.exists()]
    if not files:
        return set()
    return {vote for (vote,) in duckdb.read_parquet(files).project("vote").fetchall()}


def line(served):
    """Return what the data tab says of the backup when it is opened."""
    visitor = Visitor(served.url)
    named = {each["props"].get("elem_id"): each["id"] for each in visitor.config["components"]}
    notice = named["backup-notice"]
    told = next(each for each in visitor.config["dependencies"] if notice in each["outputs"])
    return visitor.call(told | {"trigger": named["data-tab"]}, [])["data"][0]


def test_killed_and_on_an_empty_disk_the_app_has_what_was_sent(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    with serving(folders[0], CONFIG.format(folder=kept, minutes=0.005) + EQUAL_MODELS) as served:
        cast = {voted(served), voted(served)}
        until(lambda: sent(kept) == cast)
        until(lambda: "all data until a moment ago" in line(served))
        served.kill()
    with serving(folders[1], CONFIG.format(folder=kept, minutes=60) + EQUAL_MODELS) as served:
        assert "Brought back from the backup" in served.stderr.read_text()
        assert set(served.wait_for("select count(*) from votes")) == {2}
        late = voted(served)
        assert sent(kept) == cast
        assert served.stop(signal.SIGTERM) == 0
    assert sent(kept) == cast | {late}  # what an hour would have sent, the end has
    votes = read(served.db, "select vote from votes order by seq")
    assert {vote for (vote,) in votes} == cast | {late}


def test_a_vote_in_its_undo_time_is_in_what_the_end_sends(tmp_path):
    (kept := tmp_path / "kept").mkdir()
    config = CONFIG.format(folder=kept, minutes=60) + EQUAL_MODELS
    with serving(tmp_path, config, undo=60) as served:
        visitor = Visitor(served.url)
        visitor.ask(stop=differ)
        assert visitor.vote() is None
        assert sent(kept) == set()
        assert served.stop(signal.SIGTERM) == 0
    ((vote,),) = read(served.db, "select vote from votes")
    assert sent(kept) == {vote}
    assert read(served.db, "from pending_votes") == []
