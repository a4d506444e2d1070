"""The locks name all that the program needs here, in the tested versions, each with its hashes."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.locks import LOCK, REPOSITORY, REST, REST_LOCK, TORCH_LOCK, entries, stated

PINNED = re.compile(r"([\w.-]+)==(\S+)")


def locked(*paths):
    """Return version and hashes of each package of some locks, or of all."""
    found = {}
    for path in paths or (LOCK, TORCH_LOCK, REST_LOCK):
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
    tested = (REPOSITORY / "requirements.txt").read_text(encoding="utf-8")
    for name, version in re.findall(r"^([\w.-]+)==([^\s#]+)", tested, re.MULTILINE):
        assert list(found[canonicalize_name(name)]) == [version]
    for versions in found.values():
        assert all(len(set(hashes)) == len(hashes) > 0 for hashes in versions.values())


@pytest.mark.parametrize("without", [set(), REST], ids=["all", "the app"])
def test_whatever_a_package_needs_here_is_locked(without):
    seen = set()
    for text in stated(without):
        needed(Requirement(text), seen)
    names = {name for name, _ in seen}
    assert len(names) > 60
    assert names - locked(*((LOCK, TORCH_LOCK) if without else ())).keys() == set()


def test_the_container_leaves_out_three_extras_and_keeps_the_compiled_loops():
    rest = {
        canonicalize_name(Requirement(text).name) for text in set(stated(set())) - set(stated(REST))
    }
    assert rest == {"inspect-ai", "kaleido", "torchao"}
    assert rest <= locked(REST_LOCK).keys()
    assert locked(REST_LOCK).keys().isdisjoint(locked(LOCK, TORCH_LOCK))
    assert "numba" in locked(LOCK)  # the noise of each token is drawn by its loops
