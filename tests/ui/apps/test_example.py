"""`serve --example`, visited in Chromium: every tab has something to show, and nothing is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.installed import REPOSITORY
from tests.patience import PATIENCE, until
from tests.ui.server import answers, free_port
from tests.ui.visiting import open_tab

FIGURE = ".js-plotly-plot:visible .main-svg"
SHOWN = {
    **dict.fromkeys(("Leaderboard", "Audit", "Coupling", "Risk"), FIGURE),
    "Battles": "text=288 battles >> visible=true",
}


@pytest.fixture
def example(tmp_path):
    """The app, started in an empty folder; its address and process."""
    port = free_port()
    command = [sys.executable, "-m", "coupled_arena", "serve", "--example", "--port", str(port)]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(temporary)}
    with (tmp_path / "log").open("w") as log:
        app = subprocess.Popen(command, cwd=tmp_path, env=env, stderr=log, stdout=log)
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: app.poll() is not None or answers(f"{url}/config"))
        yield url, app, temporary
    finally:
        app.kill()
        app.wait()


def test_every_tab_has_something_to_show_and_nothing_is_kept(example, visit):
    url, app, temporary = example
    page = visit(url)
    page.wait_for_selector("#example-notice >> text=votes and the judge's verdicts are made up")
    for title, shown in SHOWN.items():
        open_tab(page, title)
        page.wait_for_selector(shown)
    assert [*temporary.glob("coupled-arena-example-*")]
    app.send_signal(signal.SIGTERM)
    app.wait(PATIENCE)
    assert not [*temporary.glob("coupled-arena-example-*")]
    assert not [*temporary.parent.glob("*.duckdb*")]
