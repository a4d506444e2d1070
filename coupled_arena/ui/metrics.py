"""What ``/metrics`` tells Prometheus: how much goes on, and never who is who.

Nothing here has a model's name, a voter or an address. What moves while a round runs is of all
rounds together, and in steps that are too large to follow one round by; the mode of a battle is
counted once its visitor has been told it.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from fastapi import APIRouter, Header, HTTPException, Response
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from pydantic import SecretStr

from coupled_arena.generation.engine_process import EngineProcess
from coupled_arena.generation.step_times import BOUNDS
from coupled_arena.services import Services
from coupled_arena.ui.health import Health

_PREFIX = "coupled_arena_"


def metrics(services: Services, health: Health, refused: Counter[int]) -> list[APIRouter]:
    """Return the route ``/metrics``; none where the settings have no token for it.

    Parameters
    ----------
    services : Services
    health : Health
    refused : Counter of int
        Requests that the page's doors refused, by status.
    """
    token = services.settings.metrics_token
    return [_route(_Figures(services, refused), health, token)] if token else []


def _route(figures: _Figures, health: Health, token: SecretStr) -> APIRouter:
    expected = f"Bearer {token.get_secret_value()}".encode()
    registry = CollectorRegistry()  # not the process's: it may have several applications
    registry.register(figures)
    ProcessCollector(registry=registry)
    router = APIRouter()

    @router.get("/metrics")
    async def told(authorization: str = Header("")) -> Response:
        if not secrets.compare_digest(authorization.encode(), expected):
            raise HTTPException(401, "Bearer token needed", {"WWW-Authenticate": "Bearer"})
        figures.parts = await health.parts()
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return router


class _Figures(Collector):
    """Reads what the parts of one application have counted since it was started."""

    def __init__(self, services: Services, refused: Counter[int]) -> None:
        self._services = services
        self._refused = refused
        self.parts: Mapping[str, str] = {}

    def collect(self) -> Iterator[Metric]:
        """Yield all of it."""
        yield from self._battles()
        if isinstance(worker := getattr(self._services.arena, "worker", None), EngineProcess):
            yield from _engine(worker)
        yield from self._judges()
        yield _counts(
            "refused_requests", "Requests for what the page does not ask", self._refused, "status"
        )
        yield _by_part(self.parts)
        backup = self._services.backup
        if backup and backup.age is not None:
            text = "Seconds since the backup had everything"
            yield GaugeMetricFamily(f"{_PREFIX}backup_age_seconds", text, backup.age)

    def _battles(self) -> Iterator[Metric]:
        told = dict(self._services.arena.named)
        votes = sum(number for (_, source), number in told.items() if source == "human")
        yield CounterMetricFamily(f"{_PREFIX}votes", "Votes of people that count", votes)
        judged = self._services.judged
        if judged and judged.decisions:
            told |= {(mode, "judge"): n for mode, n in dict(judged.decisions.named).items()}
        text = "Battles whose models were named, by mode and who decided"
        yield _counts("battles", text, told, "mode", "decided")

    def _judges(self) -> Iterator[Metric]:
        judges = self._services.judges
        if judges:
            requests, errors = (
                sum(getattr(judge, name) for judge in judges) for name in ("requests", "errors")
            )
            yield CounterMetricFamily(f"{_PREFIX}judge_requests", "Requests to judges", requests)
            text = "Requests to judges without an answer"
            yield CounterMetricFamily(f"{_PREFIX}judge_errors", text, errors)


def _engine(worker: EngineProcess) -> Iterator[Metric]:
    waiting, all_of_them = worker.waiting, worker.battles
    text = "Turns that wait for their first word, and that decode"
    turns = GaugeMetricFamily(f"{_PREFIX}turns_now", text, labels=["state"])
    turns.add_metric(["waiting"], waiting)
    turns.add_metric(["running"], max(0, all_of_them - waiting))
    yield turns
    yield _counts("turns", "Turns that are over, by how they ended", worker.ended, "ended")
    steps = worker.steps
    buckets, below = [], 0
    for bound, count in zip((*map(str, BOUNDS), "+Inf"), steps.counts, strict=True):
        below += count
        buckets.append((bound, below))
    text = "What decoding steps took, in whole thousands of steps"
    yield HistogramMetricFamily(f"{_PREFIX}step_seconds", text, buckets, sum_value=steps.seconds)
    text = "Tokens of replies that ended within those steps"
    yield CounterMetricFamily(f"{_PREFIX}tokens", text, steps.tokens)
    text = "Models whose servers have not answered yet"
    yield GaugeMetricFamily(f"{_PREFIX}models_away", text, worker.away)


def _by_part(parts: Mapping[str, str]) -> Metric:
    family = GaugeMetricFamily(f"{_PREFIX}ailing", "1 where a part is not well", labels=["part"])
    for part, trouble in parts.items():
        family.add_metric([part], bool(trouble))
    return family


def _counts(name: str, text: str, counts: Mapping[Any, int], *labels: str) -> Metric:
    family = CounterMetricFamily(f"{_PREFIX}{name}", text, labels=labels)
    for key, number in dict(counts).items():  # a copy: others count meanwhile
        family.add_metric(list(map(str, key if isinstance(key, tuple) else (key,))), number)
    return family
