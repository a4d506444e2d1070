"""The licences of what the program needs, as the packages themselves tell them.

    python -m tests.licences

writes docs/licences.md from the packages of requirements.txt that are installed.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs" / "licences.md"
_HEAD = """# Licences

What each package that [requirements.txt](../requirements.txt) names is licensed under, as it says
itself. Made by `python -m tests.licences`; a test holds it current. Libraries of the page lie in
`assets/vendor/` with their licences.

| package | version | licence |
|---|---|---|
"""
_TAIL = """
It names what the program asks for, not what these packages need in turn: `pip-licenses` lists all
that is installed.
"""


def licence_of(name: str) -> str:
    """Return a package's licence: its expression, else its classifiers, else its first line."""
    try:
        told = metadata(name)
    except PackageNotFoundError:  # an extra: as it was when it was there
        rows = re.findall(r"^\| `([^`]+)` \| \S+ \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
        return dict(rows)[name]
    if expression := told.get("License-Expression"):
        return expression
    classified = [
        line.split(" :: ")[-1]
        for line in told.get_all("Classifier") or ()
        if line.startswith("License :: OSI Approved :: ")
    ]
    named = ", ".join(classified) or (told.get("License") or "").strip().partition("\n")[0]
    return named or f"as its file {told['License-File']} says"


def page() -> str:
    """Return the page."""
    pinned = re.findall(
        r"^([\w-]+)==(\S+)", (REPOSITORY / "requirements.txt").read_text(), re.MULTILINE
    )
    rows = [f"| `{name}` | {version} | {licence_of(name)} |" for name, version in pinned]
    return _HEAD + "\n".join(rows) + "\n" + _TAIL


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
