"""The package as others install it: a wheel in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]

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

    def start(self, *command, cwd, log, **environment):
        return subprocess.Popen(
            [self.prefix / "bin" / "coupled-arena", *command],
            cwd=cwd,
            env=self.environment | environment,
            stdout=log,
            stderr=log,
        )


def copy_source(folder: Path) -> None:
    """Copy what is published, without what a checkout has besides."""
    shutil.copytree(
        REPOSITORY,
        folder,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns(".*", "tests", "benchmarks", "*.duckdb*", "build", "*.egg*"),
    )


def install(source: Path, built: Path, prefix: Path, work: Path) -> Installed:
    """Install the package beside others, by way of a source distribution as others build it."""
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
