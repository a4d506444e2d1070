"""Locks: every package that the program may need, in one version, with the hashes of its files.

    python -m tests.locks

writes both anew, with `uv` (`pip install uv`). What is torch's own is a file apart: a build for
processors alone comes from elsewhere, and needs none of the libraries for GPUs.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LOCK, TORCH_LOCK = (REPOSITORY / f"requirements{part}.lock" for part in ("", "-torch"))
_HEAD = """\
# Made by `python -m tests.locks`. Use: docs/hosting.md#every-package-by-its-hash
"""
_COMPILE = (
    "uv pip compile pyproject.toml --all-extras --constraints requirements.txt --universal"
    " --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet"
)
_OF_TORCH = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")


def entries(lock: str) -> list[str]:
    """Return what a lock says of each package: name, version, where it is needed, hashes."""
    return re.findall(r"^[\w.-]+==.+(?:\n .+)*\n", lock, re.MULTILINE)


def main() -> None:
    """Write both locks."""
    ran = subprocess.run(
        _COMPILE.split(), cwd=REPOSITORY, check=True, text=True, stdout=subprocess.PIPE
    )
    found = entries(ran.stdout)
    ours = [entry for entry in found if not _OF_TORCH.match(entry)]
    LOCK.write_text(_HEAD + "".join(ours), encoding="utf-8")
    torch = [entry for entry in found if _OF_TORCH.match(entry)]
    TORCH_LOCK.write_text(_HEAD + "".join(torch), encoding="utf-8")


if __name__ == "__main__":
    main()
