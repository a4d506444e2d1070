"""The locks name all that the program needs here, in the tested versions, each with its hashes."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.locks import LOCK, REPOSITORY, TORCH_LOCK, entries

PINNED = re.compile(r"([\w.-]+)==(\S+)")


def locked():
    """Return version and hashes of each package, and what is no such line."""
    found = {}
    for path in (LOCK, TORCH_LOCK):
        text = path.read_text(encoding="utf-8")
        for entry in entries(text):
            name, version = PINNED.match(entry).groups()
            hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})\b", entry)
            found.setdefault(canonicalize_name(name), {})[version] = hashes
            text = text.replace(entry, "", 1)
        assert all(line.startswith("#") for line in text.splitlines())
    return found


def needed(requirement, seen):
    """Add what a package needs in this environment, itself with its extras among them."""
    for extra in ("", *requirement.extras):
        key = (canonicalize_name(requirement.name), extra)
        if key in seen:
            continue
        seen.add(key)
        try:
            others = [Requirement(text) for text in requires(requirement.name) or ()]
        except PackageNotFoundError:  # of a part that is not installed here
            continue
        for other in others:
            if other.marker is None or other.marker.evaluate({"extra": extra}):
                needed(other, seen)
    return seen


def test_the_versions_that_are_tested_are_locked_with_their_hashes():
    found = locked()
    stated = (REPOSITORY / "requirements.txt").read_text(encoding="utf-8")
    for name, version in re.findall(r"^([\w.-]+)==([^\s#]+)", stated, re.MULTILINE):
        assert list(found[canonicalize_name(name)]) == [version]
    for versions in found.values():
        assert all(len(set(hashes)) == len(hashes) > 0 for hashes in versions.values())


def test_whatever_a_package_needs_here_is_locked():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = project["optional-dependencies"].values()
    stated = [*project["dependencies"], *(text for part in parts for text in part)]
    seen = set()
    for text in stated:
        needed(Requirement(text), seen)
    names = {name for name, _ in seen} - {project["name"]}
    assert len(names) > 60
    assert names - locked().keys() == set()
