"""What the scripts of the page say, in the language of the arena."""

from __future__ import annotations

import json

from coupled_arena.core.language import language, script_texts
from coupled_arena.core.settings import resource


def script(name: str) -> str:
    """Return a script of ours as an element of the page."""
    return f"<script>{resource(f'assets/{name}.js').read_text(encoding='utf-8')}</script>"


def said_texts() -> str:
    """Return the script that gives the others their texts; it comes before them."""
    told = json.dumps(script_texts()).replace("<", "\\u003c")  # no text ends the script
    code = resource("assets/say.js").read_text(encoding="utf-8")
    known = f"const LANGUAGE = {json.dumps(language())}; const TRANSLATED = {told};"
    return f"<script>(() => {{ {known}\n{code}}})();</script>"
