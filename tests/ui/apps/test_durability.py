"""No vote that somebody was thanked for is lost, however the app ends."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.patience import until
from tests.ui.raw_client import Visitor
from tests.ui.server import EQUAL_MODELS, read, serving

CLIENTS = 8
CONFIG = f"""
snapshot_seconds = 0.2
[sampling]
max_new_tokens = 4
{EQUAL_MODELS}
"""
_CUT_OFF = (httpx.TransportError, json.JSONDecodeError)  # what clients of a killed app meet


class Voters:
    """Clients that vote for as long as the app lives, and write down what it acknowledged."""

    def __init__(self, url: str) -> None:
        self.acknowledged: list[tuple[str, str]] = []  # vote and source
        self._url = url
        self._crowd = threading.Barrier(CLIENTS)

    def run(self, number: int) -> None:
        """Vote again and again until the app is gone."""
        visitor = Visitor(self._url)
        self._crowd.wait()
        while True:
            try:
                reveal = visitor.ask(f"Say {number}.")["reveal"] or visitor.vote()
            except (*_CUT_OFF, KeyError):  # KeyError: the stream ended before the first view
                return
            if "vote" in reveal:
                self.acknowledged.append((reveal["vote"], reveal["source"]))


def killed_while_voting(folder, at_least):
    """Kill an app in the middle of many votes; return those it had acknowledged."""
    with serving(folder, CONFIG) as served, ThreadPoolExecutor(CLIENTS) as pool:
        voters = Voters(served.url)
        runs = [pool.submit(voters.run, number) for number in range(CLIENTS)]
        try:
            until(lambda: len(voters.acknowledged) >= at_least)
        finally:
            served.kill()
        for run in runs:
            run.result()
    return served.db, voters.acknowledged


def stored_votes(db):
    return read(db, "select vote, source from votes where vote in (select vote from current_votes)")


def check_one_round(folder, at_least):
    db, acknowledged = killed_while_voting(folder, at_least)
    assert set(acknowledged) <= set(stored_votes(db))
    assert len({vote for vote, _ in acknowledged}) == len(acknowledged) >= at_least
    orphans = read(db, "select vote from votes anti join reveals using (battle, voter)")
    assert orphans == []
    return db, acknowledged


def test_killed_while_eight_vote_the_app_keeps_every_vote_and_starts_again(tmp_path):
    db, acknowledged = check_one_round(tmp_path, at_least=16)
    assert {source for _, source in acknowledged} == {"human", "identical"}
    with serving(tmp_path, CONFIG) as again:
        assert again.db == db
        visitor = Visitor(again.url)
        reveal = visitor.ask()["reveal"] or visitor.vote()
        assert again.stop() == 0
    after = {vote for vote, _ in stored_votes(db)}
    assert after >= {vote for vote, _ in acknowledged} | {reveal["vote"]}


@pytest.mark.slow
def test_killed_five_times_over_takes_3_minutes(tmp_path):
    """The same database is opened again each time."""
    acknowledged = []
    for kill in range(5):
        db, more = check_one_round(tmp_path, at_least=16 + 7 * kill)
        acknowledged += more
    assert set(acknowledged) <= set(stored_votes(db))
