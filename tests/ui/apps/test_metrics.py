"""What Prometheus is told of an app: all that it counts, and nothing that tells who is who."""

from __future__ import annotations

import secrets
from collections import Counter
from types import SimpleNamespace

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr
from starlette.testclient import TestClient

from coupled_arena.core.settings import Settings
from coupled_arena.store.database import Store
from coupled_arena.ui.monitoring import Health, metrics
from tests.small_models import NAMES
from tests.ui.conftest import METRICS_TOKEN
from tests.ui.raw_client import NO_TLS, Visitor, differ, speak

TOKEN = secrets.token_hex(16)


def scraped(text):
    """Return values by name and labels, read by Prometheus's own reader."""
    return {
        (sample.name.removeprefix("coupled_arena_"), *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(app):
    headers = {"authorization": f"Bearer {METRICS_TOKEN}"}
    answer = httpx.get(f"{app.url}/metrics", headers=headers, verify=NO_TLS)
    assert answer.status_code == 200
    return answer.text


def gained(before, after):
    return {key: value - before.get(key, 0) for key, value in after.items()}


def test_a_round_is_counted_once_it_is_told(talkative_app):
    visitor, before, texts = Visitor(talkative_app.url), scraped(scrape(talkative_app)), []

    def stop(view):
        if speak(view) and not texts:
            texts.append(scrape(talkative_app))
        return differ(view)

    visitor.ask(stop=stop)
    text = texts[0]
    running = gained(before, scraped(text))
    assert running["turns_now", "running"] == 1
    told = {key: value for key, value in running.items() if key[0].endswith(("_total", "_count"))}
    del told["process_cpu_seconds_total",]
    assert not any(told.values())  # nothing moves as it runs
    assert "coupled_arena_turns_total{" in text
    assert not [name for name in NAMES if name in text]
    reveal = visitor.vote()
    assert "vote" in reveal
    over = gained(before, scraped(scrape(talkative_app)))
    assert over["votes_total",] == 1 <= over["turns_total", "stopped"]
    assert over["battles_total", *sorted((reveal["mode"], "human"))] == 1
    assert over["turns_now", "running"] == 0


def test_who_has_no_token_is_told_nothing(app, talkative_app):
    for headers in (
        {},
        {"authorization": "Bearer no"},
        {"authorization": f"Basic {METRICS_TOKEN}"},
    ):
        answer = httpx.get(f"{talkative_app.url}/metrics", headers=headers, verify=NO_TLS)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert "coupled_arena" not in answer.text
    assert httpx.get(f"{app.url}/metrics", verify=NO_TLS).status_code == 404  # it has no setting


def services(store, told, **parts):
    judges = (SimpleNamespace(requests=7, errors=2), SimpleNamespace(requests=1, errors=0))
    decisions = SimpleNamespace(named=Counter({"coupled": 3}))
    return SimpleNamespace(
        settings=Settings(metrics_token=SecretStr(TOKEN)),
        store=store,
        arena=SimpleNamespace(trouble=lambda: "", named=told),
        judges=judges,
        judge_feedback=SimpleNamespace(decisions=decisions),
        backup=None,
        **parts,
    )


@pytest.fixture
def two_apps():
    """Two applications of one process, and what each of them counts."""
    with Store.in_memory() as store:
        counted = [(Counter(), Counter()) for _ in range(2)]
        clients = []
        for told, refused in counted:
            parts, application = services(store, told), FastAPI()
            health = Health(store, parts.arena, None)
            application.include_router(metrics(parts, health, refused)[0])
            clients.append(TestClient(application, headers={"authorization": f"Bearer {TOKEN}"}))
        yield counted, clients


def test_each_application_of_a_process_counts_for_itself(two_apps):
    counted, clients = two_apps
    for n, (told, refused) in enumerate(counted, start=1):
        told |= {
            ("coupled", "human"): 2 * n,
            ("independent", "human"): n,
            ("coupled", "identical"): n,
        }
        refused |= {404: 10 * n, 422: n}
    for n, client in enumerate(clients, start=1):
        with client:
            found = scraped(client.get("/metrics").text)
        assert found["votes_total",] == 3 * n
        assert found["battles_total", "coupled", "human"] == 2 * n
        assert found["battles_total", "coupled", "judge"] == 3
        assert found["refused_requests_total", "404"] == 10 * n
        assert (found["judge_requests_total",], found["judge_errors_total",]) == (8, 2)
        assert [found["ailing", part] for part in ("engine", "database", "disk")] == [0, 0, 0]
