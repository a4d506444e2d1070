"""Places of files, as they may be told."""

from __future__ import annotations

import re

_FOLDERS = re.compile(r"(^|(?<=:))(~|[A-Za-z]:)?[/\\].*[/\\](?=[^/\\])")


def nameless(path: str) -> str:
    """Return a source without the folders of the machine it lies on."""
    return _FOLDERS.sub(r"\1", path.rstrip("/\\"))
