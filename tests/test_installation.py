"""The package as others get it: a wheel, in a folder far from the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from coupled_arena import __version__
from tests.patience import until
from tests.ui.server import free_port

REPOSITORY = Path(__file__).resolve().parents[1]
LOOKED_UP = re.compile(r'"((?:data|assets)/[\w./-]+)"')
# Pictures are for the README; the quiz's scores can be made again.
STAYS = {"data/quiz_scores.csv"}

# The checkout may be on the path by way of an editable install: nothing may be read from there.
GUARD = """
import os
import sys

def refuse(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if path.startswith({checkout!r}) and not path.startswith(sys.prefix + os.sep):
            raise AssertionError("read from the checkout: " + path)

sys.addaudithook(refuse)
"""


def python(*arguments, cwd):
    finished = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def pip(*arguments, cwd):
    python("-m", "pip", "--disable-pip-version-check", *map(str, arguments), cwd=cwd)


@dataclass(frozen=True)
class Installed:
    """A wheel, the folder it was installed into, and an empty folder to work in."""

    site: Path
    work: Path
    environment: dict[str, str]

    def run(self, *command):
        return subprocess.run(
            [self.site / "bin" / "coupled-arena", *command],
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def start(self, *command, log):
        return subprocess.Popen(
            [self.site / "bin" / "coupled-arena", *command],
            cwd=self.work,
            env=self.environment,
            stdout=log,
            stderr=log,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package by way of a source distribution, as others build it, beside other packages."""
    source, built, site, work, guard = map(
        tmp_path_factory.mktemp, ("source", "built", "site", "work", "guard")
    )
    shutil.copytree(
        REPOSITORY,
        source,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns(".*", "tests", "benchmarks", "*.duckdb*", "build", "*.egg*"),
    )
    python(
        *("-c", "import sys; from setuptools import build_meta as b; b.build_sdist(sys.argv[1])"),
        built,
        cwd=source,
    )
    (archive,) = built.iterdir()
    offline = ("--no-deps", "--no-index")
    pip("wheel", *offline, "--no-build-isolation", "--wheel-dir", built, archive, cwd=work)
    (wheel,) = built.glob("*.whl")
    pip("install", *offline, "--target", site, wheel, cwd=work)
    # Others put folders of such names beside it, too.
    for name in ("data/presets/demo.toml", "data/judge_prompt.txt", "assets/arena.css", "app.py"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("of another package")
    (guard / "sitecustomize.py").write_text(GUARD.format(checkout=f"{REPOSITORY}{os.sep}"))
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("COUPLED_ARENA_")
    }
    cache = os.environ.get("COUPLED_ARENA_CACHE")
    own = {"PYTHONPATH": f"{guard}{os.pathsep}{site}", "GRADIO_TEMP_DIR": str(built / "gradio")}
    own |= {"COUPLED_ARENA_CACHE": cache} if cache else {}
    return Installed(site, work, kept | own)


def files(folder, *patterns):
    return {
        str(path.relative_to(folder))
        for pattern in patterns
        for path in folder.glob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_it_has_what_the_program_needs_and_nothing_else(installed):
    code = files(REPOSITORY, "coupled_arena/**/*")
    beside = {
        f"coupled_arena/{name}"
        for name in files(REPOSITORY, "assets/*", "data/**/*") - STAYS
        if not name.endswith(".png")
    }
    assert files(installed.site, "coupled_arena/**/*") == code | beside
    others = {path.name for path in installed.site.iterdir()}
    assert others == {
        *("coupled_arena", f"coupled_arena-{__version__}.dist-info", "bin"),
        *("data", "assets", "app.py"),  # of another package
    }


def test_every_file_that_the_code_names_is_there(installed):
    texts = [path.read_text() for path in (REPOSITORY / "coupled_arena").rglob("*.py")]
    named = {name for text in texts for name in LOOKED_UP.findall(text)}
    assert len(named) > 5
    for name in named:
        assert (installed.site / "coupled_arena" / name).exists(), name


def test_the_command_finds_its_own_models(installed):
    answer = installed.run("models", "--json")
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout)
    assert [model["name"] for model in told["models"]] == [
        *("SmolLM2-135M", "SmolLM2-135M-bnb-8bit", "SmolLM2-135M-bnb-4bit"),
    ]
    assert (told["presets"], told["problems"]) == (["demo", "papers"], [])
    assert "serve" in installed.run("--help").stdout
    assert list(installed.work.iterdir()) == []


def test_schema_and_pages_come_with_it(installed, tmp_path):
    """A report reads its page, style, script and, for a new store, every step of the schema."""
    rows = [{"question_id": n, "model_a": "x", "model_b": "y", "winner": "model_a"} for n in (1, 2)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    db = str(tmp_path / "arena.duckdb")
    for command in (
        ("import", str(tmp_path / "rows.json"), "--db", db),
        ("report", "--out", str(tmp_path / "report"), "--db", db),
    ):
        finished = installed.run(*command)
        assert finished.returncode == 0, finished.stderr
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert (REPOSITORY / "assets" / "report.css").read_text("utf-8").strip() in page


def test_the_app_starts_from_an_empty_folder(installed, tmp_path):
    port = free_port()
    with (tmp_path / "log").open("w") as log:
        app = installed.start("serve", "--port", str(port), log=log)

    def page():
        assert app.poll() is None, (tmp_path / "log").read_text()
        try:
            return httpx.get(f"http://127.0.0.1:{port}/config", timeout=60).raise_for_status().text
        except httpx.TransportError:
            return None

    try:
        config = until(page)
        assert httpx.get(f"http://127.0.0.1:{port}/").status_code == 200
    finally:
        app.kill()
        app.wait()
    for name in ("round.js", "compare.js", "figures.js", "arena.css"):
        text = (REPOSITORY / "assets" / name).read_text("utf-8")
        assert json.dumps(text, ensure_ascii=False)[1:-1] in config, name
