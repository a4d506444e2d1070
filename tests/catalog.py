"""The catalog of texts: what the program says, and what translators made of it.

`python -m tests.catalog` takes up new texts in every language, and compiles what is translated.
"""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from coupled_arena.core.language import DOMAIN, FOLDER

REPOSITORY = Path(__file__).resolve().parents[1]
TEMPLATE = FOLDER / f"{DOMAIN}.pot"
_KEYWORDS = {"_": None, "N_": None, "ngettext": (1, 2), "say": None, "sayN": (1, 2)}
_METHODS = {"coupled_arena": [("**.py", "python")], "assets": [("*.js", "javascript")]}
_WIDTH = 100
_NO_DATE = datetime(2000, 1, 1, tzinfo=UTC)


@cache
def extracted() -> Catalog:
    """Return the texts that the program and its scripts have today."""
    catalog = Catalog(project="Coupled Arena", header_comment="#")
    for folder, methods in _METHODS.items():
        found = extract_from_dir(
            REPOSITORY / folder, method_map=methods, keywords=_KEYWORDS, comment_tags=()
        )
        for name, _line, text, _comments, _context in found:
            catalog.add(text, locations=[(f"{folder}/{name}", 0)])
    return catalog


def written(catalog: Catalog) -> bytes:
    """Return a catalog as the file that translators edit: without lines and dates."""
    stream = io.BytesIO()
    write_po(
        *(stream, catalog), width=_WIDTH, sort_output=True, include_lineno=False, omit_header=True
    )
    head = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=utf-8\\n"\n'
    if catalog.locale:
        head += f'"Language: {catalog.locale}\\n"\n"Plural-Forms: {catalog.plural_forms}\\n"\n'
    return head.encode() + b"\n" + stream.getvalue()


def translation(language: str) -> Catalog:
    """Return what there is in a language."""
    with source(language).open("rb") as stream:
        return read_po(stream, locale=language)


def source(language: str) -> Path:
    """Return the file that translators edit."""
    return FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def compiled(catalog: Catalog) -> bytes:
    """Return what the program reads of a language."""
    catalog.creation_date = _NO_DATE  # else the same texts are other bytes a minute later
    stream = io.BytesIO()
    write_mo(stream, catalog)
    return stream.getvalue()


def scripts(catalog: Catalog) -> bytes:
    """Return what the page's scripts are told of a language."""
    texts = {_key(each): each.string for each in catalog if each.id and _is_of_script(each)}
    return (json.dumps(texts, ensure_ascii=False, indent=0, sort_keys=True) + "\n").encode()


def _key(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def _is_of_script(message: Message) -> bool:
    return any(name.endswith(".js") for name, _ in message.locations)


def main() -> None:
    """Bring all files of the catalog up to date."""
    template = extracted()
    TEMPLATE.write_bytes(written(template))
    for path in sorted(FOLDER.glob(f"*/LC_MESSAGES/{DOMAIN}.po")):
        language = path.parents[1].name
        catalog = translation(language)
        catalog.update(template, no_fuzzy_matching=True)
        catalog.obsolete.clear()
        path.write_bytes(written(catalog))
        path.with_suffix(".mo").write_bytes(compiled(catalog))
        (FOLDER / language / "scripts.json").write_bytes(scripts(catalog))


if __name__ == "__main__":
    main()
