"""Locks: every package that the program may need, in one version, with the hashes of its files.

    python -m tests.locks

writes all anew, with `uv` (`pip install uv`). What is torch's own is a file apart: a build for
processors alone comes from elsewhere, and needs none of the libraries for GPUs. So is what a
container leaves out.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parents[1]
LOCK, TORCH_LOCK, REST_LOCK = (
    REPOSITORY / f"requirements{part}.lock" for part in ("", "-torch", "-rest")
)
# Extras of commands and of one kind of weights; without the compiled loops answers come slower.
REST = {"inspect", "pictures", "torchao"}
_HEAD = """\
# Made by `python -m tests.locks`. Use: docs/hosting.md#every-package-by-its-hash
"""
_COMPILE = (
    "uv pip compile --constraints requirements.txt --universal --python-version 3.11"
    " --generate-hashes --no-header --no-annotate --quiet"
)
_OF_TORCH = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")


def entries(lock: str) -> list[str]:
    """Return what a lock says of each package: name, version, where it is needed, hashes."""
    return re.findall(r"^[\w.-]+==.+(?:\n .+)*\n", lock, re.MULTILINE)


def stated(without: set[str]) -> list[str]:
    """Return what the program says it needs, but for some extras."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"].items()
    all_of_them = [
        *project["dependencies"],
        *(n for e, need in extras if e not in without for n in need),
    ]
    name = canonicalize_name(project["name"])
    return [need for need in all_of_them if canonicalize_name(Requirement(need).name) != name]


def compiled(needs: list[str], *options: str) -> list[str]:
    """Return the entries of all packages that some need, themselves among them."""
    command = [*_COMPILE.split(), *options, "-"]
    ran = subprocess.run(
        command,
        input="\n".join(needs),
        cwd=REPOSITORY,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    return entries(ran.stdout)


def main() -> None:
    """Write all locks."""
    found = compiled(stated(set()))
    _write(TORCH_LOCK, [entry for entry in found if _OF_TORCH.match(entry)])
    divide([entry for entry in found if not _OF_TORCH.match(entry)])


def divide(found: list[str]) -> None:
    """Write what the app may call, and the rest, in the versions that were found."""
    _write(LOCK, found)
    locks = [f"--constraints={path.name}" for path in (LOCK, TORCH_LOCK)]
    of_app = set(map(_name, compiled(stated(REST), *locks)))
    _write(LOCK, [entry for entry in found if _name(entry) in of_app])
    _write(REST_LOCK, [entry for entry in found if _name(entry) not in of_app])


def _name(entry: str) -> str:
    return entry.partition("==")[0]


def _write(path: Path, found: list[str]) -> None:
    path.write_text(_HEAD + "".join(found), encoding="utf-8")


if __name__ == "__main__":
    main()
