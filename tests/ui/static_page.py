"""The panel of a round in a page without a server: the test says what it shows, and when."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from coupled_arena.battles.blind_view import Judging, Recorded, Reveal, RoundView, TurnView
from coupled_arena.core import language
from coupled_arena.core.records import Mode, Source
from coupled_arena.core.settings import resource
from coupled_arena.ui.parts.identity import translated_texts
from coupled_arena.ui.parts.round_panel import round_panel, show

_PAGE = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
{texts}<style>{style}
:root {{ --body-background-fill: #fff; --button-primary-background-fill: #c2410c;
  --button-primary-text-color: #fff; --button-secondary-background-fill: #eee;
  --border-color-primary: #999; --color-accent: #c2410c; --body-text-color: #222; }}
*, ::before, ::after {{ box-sizing: border-box; }}
body {{ margin: 0 16px; font: 16px/1.5 system-ui, sans-serif; }} button {{ font: inherit; }}</style>
<div id="round"><div class="round"></div></div>
<script>
window.sent = [];
const props = {{ value: null }};
let watched;
window.tell = (value) => {{ props.value = value; watched(); }};
new Function("element", "trigger", "props", "watch", {script})(
  document.getElementById("round"), (name, data) => window.sent.push([name, data ?? null]), props,
  (name, changed) => {{ watched = changed; }});
</script>"""
BUTTONS = """() => [...document.querySelectorAll("#round .ballot button, #round .deciding button")]
    .map((node) => {
        const box = node.getBoundingClientRect();
        const at = [...node.classList].find((name) => name.startsWith("at-")).slice(3);
        return { at, label: node.firstChild.textContent, off: node.ariaDisabled === "true",
            key: node.getAttribute("aria-keyshortcuts")?.split(" ")[0],
            box: [box.x, box.y, box.width, box.height],
            cut: [node, ...node.children].some((each) => each.scrollWidth > each.clientWidth
                || each.scrollHeight > each.clientHeight) };
    })"""


def static_page(page: Any, name: str = "en") -> None:
    """Open the panel in a page, in a language; nothing is asked of any server."""
    before = language.language()
    language.install(name)
    try:
        texts = translated_texts()
    finally:
        language.install(before)
    style = resource("assets/arena.css").read_text(encoding="utf-8")
    script = json.dumps(round_panel().js_on_load).replace("<", "\\u003c")
    html = _PAGE.format(texts=texts, style=style, script=script)
    page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.route("**/vendor/**", lambda route: route.fulfill(path=_library(route.request.url)))
    page.goto("http://127.0.0.1:9/")


def _library(url: str) -> str:
    """Return the file of a library that the page asks for."""
    return str(resource(f"assets/vendor/{url.partition('/vendor/')[2]}"))


def tell(page: Any, view: RoundView, *, judged: bool = True, **more: Any) -> None:
    """Show a round, as the server would; there may be more that a tab adds to it."""
    beside = {"judge": {"name": "strict", "decides": judged and not view.stored, "events": None}}
    page.evaluate("view => window.tell(view)", json.loads(json.dumps(show(view) | beside | more)))


def let_go(page: Any) -> None:
    """Wait until a press that has ended holds the page still no more.

    The page waits 50 ms. What begins to wait now, and longer, ends after that.
    """
    page.evaluate("() => new Promise((done) => setTimeout(done, 60))")


def stages(size: int = 2, *, stored: bool = False, name: str = "one") -> dict[str, RoundView]:
    """Return a round from the question to the reveal, by what happens in it."""
    words = ("Once upon a time", "Then came the whale", "And so it ended", "Nobody knows")[:size]
    answered = RoundView(
        size, (TurnView("What then?", words),), running=False, commitment=name, stored=stored
    )
    ranks = tuple(range(1, size + 1))
    recorded = replace(answered, recorded=Recorded("v", ranks, False, False, 1000.0))
    models = ("ann", "bob", "cas", "dot")[:size]
    facts = {"seed": None, "nonce": None, "commitment": name}
    told = Reveal("v", "b" + name, models, ranks, False, Source.HUMAN, False, Mode.COUPLED, **facts)
    revealed = replace(answered, reveal=told)
    if stored:
        return {"answered": answered, "recorded": recorded, "revealed": revealed}
    asked = replace(answered, running=True, turns=(TurnView("What then?", ("",) * size),))
    more = (*answered.turns, TurnView("And then?", tuple(word + "!" for word in words)))
    return {
        "asked": asked,
        "answering": replace(answered, running=True),
        "answered": answered,
        "followed up": replace(answered, turns=more),
        "judging": replace(answered, judging=Judging(0, 2)),
        "recorded": recorded,
        "revealed": revealed,
    }


def buttons(page: Any) -> list[dict[str, Any]]:
    """Return what stands in the bar and beside it: place, label, key, box, off or not."""
    return page.evaluate(BUTTONS)
