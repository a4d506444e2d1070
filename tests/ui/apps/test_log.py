"""The whole log of an app in which much fails: nothing of what its visitors wrote is in it."""

from __future__ import annotations

import json
import re
import signal

from tests.judging.scripted import KEY, failure, scripted
from tests.patience import until
from tests.ui.raw_client import Visitor, differ
from tests.ui.server import EQUAL_MODELS, serving

CANARY = "zanzibarquokka"  # in all that a visitor writes
CONFIG = """
snapshot_seconds = 0.2
log = "json"
metrics_token = "{canary}-token"
[sampling]
max_new_tokens = 60
[battle]
coupled_share = 0
[judge]
name = "ann"
base_url = "{judge}"
key = "{key}"
patience = 0.2
"""


def echo(asked):
    """Refuse, and repeat what was asked, as some servers do."""
    return failure(500, " ".join(re.findall(rf".*{CANARY}.*", asked["messages"][-1]["content"])))


def write_everywhere(visitor):
    """Ask, vote, explain, compare, upload, and send what fails; say the canary each time."""
    visitor.ask(f"What is a {CANARY}?", stop=differ)
    told = visitor.vote()
    reasons = {"vote": told["vote"], "criteria": [], "comment": f"My {CANARY} said so."}
    visitor.call(visitor.dependency("explain", "round"), [None], reasons)
    compare = visitor.dependency("click", "compare")
    models = ["left", "right"]
    visitor.call(compare, [models, f"Compare a {CANARY}.", "coupled", ""])
    visitor.call(compare, [models, f"Compare a {CANARY}.", "coupled", CANARY])
    file = (f"{CANARY}.csv", f"{CANARY},1\n".encode())
    (path,) = json.loads(visitor.post("/gradio_api/upload", files={"files": file}))
    for dependency in visitor.config["dependencies"]:  # most of this fits none of them
        if dependency["backend_fn"]:
            data = [{"path": path, "meta": {"_type": "gradio.FileData"}}, CANARY, {CANARY: 1}]
            visitor.join(
                dependency, data[: len(dependency["inputs"])] or [CANARY], {CANARY: CANARY}
            )
    for _ in visitor.listen():
        pass
    visitor.post("/gradio_api/queue/join", content=CANARY)
    visitor.get(f"/gradio_api/file={CANARY}?{CANARY}={CANARY}")
    visitor.get("/metrics", headers={"authorization": f"Bearer {CANARY}"})


def test_the_log_has_no_words_of_visitors(tmp_path):
    with scripted(echo) as judge:
        config = CONFIG.format(canary=CANARY, judge=judge.url, key=KEY) + EQUAL_MODELS
        with serving(tmp_path, config) as served:
            visitor = Visitor(served.url)
            write_everywhere(visitor)
            until(lambda: "Live judging waits" in served.stderr.read_text())
            assert any(CANARY in json.dumps(asked) for asked in judge.asked)
            served.stop(signal.SIGTERM)
            log = served.stderr.read_text()
    secrets = [CANARY, KEY, visitor.cookie, visitor.session, "Traceback"]
    assert [secret for secret in secrets if secret in log] == []
    lines = list(map(json.loads, log.splitlines()))
    keys = {"time", "level", "event", "message", "fields", "logger"}
    assert {frozenset(line) for line in lines} == {frozenset(keys)}
    events = {line["event"] for line in lines}
    assert {"Process %(pid)d decodes", "An event of the page failed: %(place)s."} <= events
