"""Other people's libraries in ``assets/vendor``: what they are, and that they are unchanged."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

VENDOR = Path(__file__).resolve().parents[1] / "assets" / "vendor"
LIBRARIES = json.loads((VENDOR / "libraries.json").read_text())


def test_every_file_is_in_the_table_and_as_it_came():
    stated = {
        f"{library['name']}/{file}": digest
        for library in LIBRARIES
        for file, digest in library["files"].items()
    }
    there = {
        str(path.relative_to(VENDOR)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "libraries.json"
    }
    assert there == stated


def test_every_library_has_its_licence_and_says_where_it_is_from():
    for library in LIBRARIES:
        assert library["files"].keys() >= {"LICENSE"}
        assert library["licence"]
        assert library["source"].endswith(("folder dist/", "folder dist/browser/", "folder ."))
        assert f"@{library['version']}," in library["source"]


def test_what_a_style_asks_for_first_is_there():
    """Of each font a browser takes the first form that it knows, which is woff2."""
    style = (VENDOR / "katex" / "katex.min.css").read_text()
    faces = re.findall(r"src:url\(([^)]+)\)", style)
    assert len(faces) == 20
    for face in faces:
        assert (VENDOR / "katex" / face).is_file()
