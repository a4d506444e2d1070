"""The example, visited in Chromium: every tab has something to show, and nothing is kept.

By itself, and beside an arena that has nothing to show yet.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pytest

from tests.installed import REPOSITORY
from tests.patience import PATIENCE, until
from tests.small_models import SMALL_MODELS
from tests.ui.server import answers, free_port, serving
from tests.ui.visiting import open_tab

FIGURE = ".js-plotly-plot:visible .main-svg"
SHOWN = {
    **dict.fromkeys(("Leaderboard", "As good as?", "Audit", "Coupling", "Risk"), FIGURE),
    "Past battles": "text=288 battles >> visible=true",
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


FOLDERS = partial(Path(tempfile.gettempdir()).glob, "coupled-arena-example-*")
EMPTY = (
    "Leaderboard",
    "As good as?",
    "Past battles",
    "Data",
    "Audit",
    "Coupling",
    "Risk",
    "Experiments",
)
DEAD = """() => [...document.querySelectorAll("[role=tabpanel] :is(input[role=listbox], table)")]
    .filter((node) => node.offsetParent && !(node.value || node.rows?.length > 1)).length"""


def test_an_empty_arena_offers_the_example_on_every_tab_and_serves_it_itself(tmp_path, visit):
    with serving(tmp_path, SMALL_MODELS) as app:
        page = visit(app.url)
        page.wait_for_selector("#first-steps svg >> nth=2")
        for title in EMPTY:
            open_tab(page, title)
            page.wait_for_selector(".to-example:visible >> text=Look at an example")
            assert page.evaluate(DEAD) == 0, title
        assert "battles to vote on" not in app.stderr.read_text()  # nothing was opened for it
        before = {*FOLDERS()}
        page.click(".to-example:visible a")
        page.wait_for_selector("#example-notice >> text=Back to the arena")
        assert page.url == f"{app.url}/example/"
        open_tab(page, "As good as?")
        page.wait_for_selector("#gate-card >> text=as good")
        page.wait_for_selector("#gate-progress >> text=No model is loaded here")
        assert not page.query_selector("#gate-start")
        page.click("#gate-lost a")
        page.wait_for_selector(".battles .question")
        assert page.url.startswith(f"{app.url}/example/?battle=")
        open_tab(page, "Battle")
        page.click("#start")
        page.wait_for_selector("#round .answer .text")
        made = {*FOLDERS()} - before
        assert made
        page.click("#example-notice a")
        page.wait_for_selector("#first-steps svg >> nth=2")
        assert page.url == f"{app.url}/"
        assert app.stop() == 0
        assert not any(folder.exists() for folder in made)
