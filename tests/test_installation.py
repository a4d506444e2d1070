"""The package as others get it: a wheel, in a folder far from the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
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

# Nothing may be read from the checkout, nor may a part be needed that can be left out.
GUARD = """
import os
import sys

sys.modules["openai"] = None

def refuse(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if path.startswith({checkout!r}) and not path.startswith({others!r}):
            raise AssertionError("read from the checkout: " + path)

sys.addaudithook(refuse)
"""


def python(*arguments, cwd):
    finished = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


# One process for several commands, each with the streams and the exit code of its own.
COMMANDS = """
import contextlib, io, json, sys
from coupled_arena.cli import main

ended = []
for command in json.loads(sys.argv[1]):
    out, err, code = io.StringIO(), io.StringIO(), None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(command)
        except SystemExit as stop:
            code = stop.code or 0
    ended.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(ended))
"""


def pip(*arguments, cwd):
    python("-m", "pip", "--disable-pip-version-check", *map(str, arguments), cwd=cwd)


def build(kind, target, cwd):
    """Build a distribution as other people's tools do, by the hooks of the build backend."""
    hook = f"import sys; from setuptools import build_meta as b; b.build_{kind}(sys.argv[1])"
    python("-c", hook, target, cwd=cwd)
    (made,) = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


@dataclass(frozen=True)
class Installed:
    """A wheel in an environment of its own, and an empty folder to work in."""

    wheel: Path
    prefix: Path
    site: Path
    work: Path
    environment: dict[str, str]

    def run(self, *command, program="coupled-arena"):
        return subprocess.run(
            [self.prefix / "bin" / program, *command],
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def each(self, *commands):
        """Return exit code, stdout and stderr of each command."""
        ran = self.run("-c", COMMANDS, json.dumps(commands), program="python")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    def start(self, *command, log):
        return subprocess.Popen(
            [self.prefix / "bin" / "coupled-arena", *command],
            cwd=self.work,
            env=self.environment,
            stdout=log,
            stderr=log,
        )


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """What is published, without what a checkout has besides."""
    folder = tmp_path_factory.mktemp("source")
    shutil.copytree(
        REPOSITORY,
        folder,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns(".*", "tests", "benchmarks", "*.duckdb*", "build", "*.egg*"),
    )
    return folder


@pytest.fixture(scope="module")
def installed(source, tmp_path_factory):
    """The package by way of a source distribution, as others build it, beside other packages."""
    built, prefix, work = map(tmp_path_factory.mktemp, ("built", "prefix", "work"))
    archive = build("sdist", built, source)
    offline = ("--no-deps", "--no-index")
    pip("wheel", *offline, "--no-build-isolation", "--wheel-dir", built, archive, cwd=work)
    (wheel,) = built.glob("*.whl")
    venv.create(prefix, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(prefix)}))
    pip("--python", prefix / "bin" / "python", "install", "--no-compile", *offline, wheel, cwd=work)
    # All else is borrowed, but for this package: a path in such a file brings no editable install.
    others = sysconfig.get_path("purelib")
    (site / "others.pth").write_text(others)
    # Others put folders of such names beside it, too.
    for name in ("data/presets/demo.toml", "data/judge_prompt.txt", "assets/arena.css", "app.py"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("of another package")
    guard = GUARD.format(checkout=f"{REPOSITORY}{os.sep}", others=f"{others}{os.sep}")
    (site / "sitecustomize.py").write_text(guard)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("COUPLED_ARENA_", "PYTHON"))
    }
    cache = os.environ.get("COUPLED_ARENA_CACHE")
    own = {"GRADIO_TEMP_DIR": str(built / "gradio")}
    own |= {"COUPLED_ARENA_CACHE": cache} if cache else {}
    return Installed(wheel, prefix, site, work, kept | own)


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
    info = f"coupled_arena-{__version__}.dist-info"
    with zipfile.ZipFile(installed.wheel) as wheel:
        assert {name.partition("/")[0] for name in wheel.namelist()} == {"coupled_arena", info}
    assert {"METADATA", "licenses/LICENSE"} <= files(installed.site / info, "**/*")


def test_a_checkout_builds_the_wheel_that_its_source_distribution_builds(
    installed, source, tmp_path
):
    with (
        zipfile.ZipFile(build("wheel", tmp_path, source)) as direct,
        zipfile.ZipFile(installed.wheel) as published,
    ):
        one, other = ({f.filename: f.CRC for f in w.infolist()} for w in (direct, published))
    assert one == other


def test_the_source_distribution_has_what_is_read_besides_the_code(installed):
    (archive,) = installed.wheel.parent.glob("*.tar.gz")
    with tarfile.open(archive) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    assert {*("README.md", "CHANGELOG.md", "LICENSE", "requirements.txt"), *STAYS} <= names
    assert files(REPOSITORY, "docs/**/*", "assets/*", "data/**/*") <= names


def test_importing_it_loads_nothing_heavy(installed):
    heavy = {"torch", "transformers", "gradio", "pandas", "numpy", "duckdb", "plotly"}
    code = f"import sys, coupled_arena as ca; print(ca.__file__, *({heavy} & sys.modules.keys()))"
    answer = installed.run("-c", code, program="python")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == [str(installed.site / "coupled_arena" / "__init__.py")]


def test_every_file_that_the_code_names_is_there(installed):
    texts = [path.read_text() for path in (REPOSITORY / "coupled_arena").rglob("*.py")]
    named = {name for text in texts for name in LOOKED_UP.findall(text)}
    assert len(named) > 5
    for name in named:
        assert (installed.site / "coupled_arena" / name).exists(), name


def test_the_command_finds_its_own_models(installed):
    (code, answer, error), (_, help, _) = installed.each(("models", "--json"), ("--help",))
    assert code == 0, error
    told = json.loads(answer)
    assert [model["name"] for model in told["models"]] == [
        *("SmolLM2-135M", "SmolLM2-135M-bnb-8bit", "SmolLM2-135M-bnb-4bit"),
    ]
    assert (told["presets"], told["problems"]) == (["demo", "papers"], [])
    assert "serve" in help
    assert list(installed.work.iterdir()) == []


def test_all_but_a_judge_comes_with_it(installed, tmp_path):
    """A report reads its page, style, script and, for a new store, every step of the schema.

    Only a judge's client is a part to ask for.
    """
    rows = [{"question_id": n, "model_a": "x", "model_b": "y", "winner": "model_a"} for n in (1, 2)]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    db = str(tmp_path / "arena.duckdb")
    *finished, refused = installed.each(
        ("import", str(tmp_path / "rows.json"), "--db", db),
        ("report", "--out", str(tmp_path / "report"), "--db", db),
        ("leaderboard", "--json", "--db", db),
        ("judge", "--judge", "ann", "--base-url", "http://127.0.0.1:1/v1", "--db", db),
    )
    assert [code for code, _, _ in finished] == [0] * 3, finished
    assert {row["model"] for row in json.loads(finished[-1][1])["models"]} == {"x", "y"}
    code, _, error = refused
    assert (code, error.strip()) == (
        1,
        "Error: A judge needs a further package: pip install 'coupled-arena[judge]'.",
    )
    page = (tmp_path / "report" / "report.html").read_text("utf-8")
    assert (REPOSITORY / "assets" / "report.css").read_text("utf-8").strip() in page


def test_the_app_starts_from_an_empty_folder(installed, tmp_path):
    port = free_port()
    with (tmp_path / "log").open("w") as log:
        app = installed.start("serve", "--port", str(port), log=log)

    def page():
        assert app.poll() is None, (tmp_path / "log").read_text()
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            return None
        return httpx.get(f"http://127.0.0.1:{port}/config", timeout=60).raise_for_status().text

    try:
        config = until(page)
        assert httpx.get(f"http://127.0.0.1:{port}/").status_code == 200
    finally:
        app.kill()
        app.wait()
    for name in ("round.js", "compare.js", "figures.js", "arena.css"):
        text = (REPOSITORY / "assets" / name).read_text("utf-8")
        assert json.dumps(text, ensure_ascii=False)[1:-1] in config, name
