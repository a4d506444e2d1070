"""The documents, and what is in them."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
]
TEXTS = {str(path.relative_to(REPOSITORY)): path.read_text(encoding="utf-8") for path in PAGES}
README = TEXTS["README.md"]


def blocks(text, language):
    """Return the code blocks of a language, also those within lists."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", code, flags=re.MULTILINE) for indent, code in found]


def prose(text):
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def sections(page):
    parts = re.split(r"^## (.*)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
