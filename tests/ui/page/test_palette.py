"""What the box of Ctrl-K offers in a page without a server, where it leads, and how."""

from __future__ import annotations

import json

import pytest

from coupled_arena.core import language
from coupled_arena.core.settings import resource
from coupled_arena.ui.parts.identity import translated_texts
from coupled_arena.ui.parts.panel import panel
from tests.ui.conftest import new_page
from tests.ui.visiting import violations

_PAGE = """<!doctype html><html lang="{language}"><meta charset="utf-8"><title>Arena</title>
<meta name="viewport" content="width=device-width">{texts}<style>{style}
:root {{ --body-background-fill: #fff; --background-fill-primary: #fff; --body-text-color: #222;
  --body-text-color-subdued: #555; --border-color-primary: #999; --color-accent: #c2410c;
  --button-primary-background-fill: #c2410c; --button-primary-text-color: #fff;
  --background-fill-secondary: #eee; --input-background-fill: #fff; --input-border-color: #777; }}
.dark {{ --body-background-fill: #0b0f19; --background-fill-primary: #0b0f19;
  --body-text-color: #f3f4f6; --body-text-color-subdued: #d4d4d8; --background-fill-secondary: #222;
  --input-background-fill: #111; background: #0b0f19; }}</style>
<body class="{theme}"><main><h1>Arena</h1>
<button class="go-to-open" aria-label="Go to a tab, a model or a battle">?</button>
<div role="tablist">{tabs}</div><textarea aria-label="Question"></textarea>
<div id="go-to"><div class="go-to"></div></div></main><script>
window.sent = []; window.went = [];
const props = {{ value: null }};
let changed;
window.answer = (value) => {{ props.value = value; changed(); }};
for (const tab of document.querySelectorAll("[role=tab]")) {{
  tab.onclick = () => window.went.push(tab.textContent.trim());
}}
window.addEventListener("arena:go", ({{ detail }}) => window.went.push(detail));
new Function("element", "trigger", "props", "watch", {code})(
  document.getElementById("go-to"), (name, data) => window.sent.push([name, data]), props,
  (name, act) => {{ changed = act; }});
</script></body></html>"""
TABS = ("Battle", "Leaderboard", "Past battles")
FOUND = {
    "models": [{"text": "olmo", "href": "?model=olmo"}],
    "battles": [{"text": "Old <b>whales?", "more": "olmo against qwen", "href": "?battle=b1"}],
}


def opened(browser, name="en", tabs=TABS, theme="", **options):
    page = new_page(browser, "", options)
    before = language.language()
    language.install(name)
    try:
        parts = {
            "language": name,
            "theme": theme,
            "texts": translated_texts(),
            "style": resource("assets/arena.css").read_text(encoding="utf-8"),
            "tabs": "".join(f'<button role="tab">{language._(each)}</button>' for each in tabs),
            "code": json.dumps(panel("go-to", "patch", "palette").js_on_load).replace(
                "<", "\\u003c"
            ),
        }
    finally:
        language.install(before)
    html = _PAGE.format(**parts)
    page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto("http://127.0.0.1:9/")
    return page


@pytest.fixture
def page(browser):
    page = opened(browser)
    yield page
    page.context.close()


def asked(page, n):
    """Return the last question once the page has put so many."""
    page.wait_for_function(f"window.sent.length === {n}")
    return page.evaluate("window.sent.at(-1)[1]")


def answer(page, n=1, **found):
    page.evaluate(
        "told => window.answer(told)", {**FOUND, **found, "number": asked(page, n)["number"]}
    )


def offered(page):
    return page.locator("[role=option] > span:first-child").all_text_contents()


def chosen(page):
    box = page.get_by_role("combobox")
    node = page.locator(f"[id='{box.get_attribute('aria-activedescendant')}']")
    assert node.get_attribute("aria-selected") == "true"
    return node.locator("span").first.text_content()


def test_keys_lead_to_a_tab_a_model_and_a_battle(page):
    for steps, place in ((1, "Leaderboard"), (3, "?model=olmo"), (-1, "?battle=b1")):
        page.keyboard.press("Control+k")
        page.wait_for_function("document.querySelector('dialog').open")
        answer(page, len(page.evaluate("window.went")) + 1)
        for _ in range(abs(steps)):
            page.keyboard.press("ArrowDown" if steps > 0 else "ArrowUp")
        page.keyboard.press("Enter")
        assert not page.evaluate("document.querySelector('dialog').open")
        assert page.evaluate("window.went.at(-1)") == place


def test_what_is_typed_narrows_at_once_and_asks_after_a_pause(page):
    page.click(".go-to-open")
    answer(page)
    assert offered(page) == [*TABS, "olmo", "Old <b>whales?"]
    page.keyboard.type("OL")
    assert offered(page) == ["olmo", "Old <b>whales?"]
    assert chosen(page) == "olmo"
    told = asked(page, 2)
    assert told["words"] == "OL"
    page.evaluate(
        "told => window.answer(told)", {**FOUND, "models": [], "number": told["number"] - 1}
    )
    assert offered(page) == ["olmo", "Old <b>whales?"]  # an answer to another question
    answer(page, 2, models=[])
    assert offered(page) == ["Old <b>whales?"]
    page.locator("[role=option]").click()
    assert page.evaluate("window.went") == ["?battle=b1"]


def test_escape_and_the_keys_again_close_it_and_the_focus_is_back(page):
    page.locator("textarea").focus()
    for key in ("Escape", "Control+k"):
        page.keyboard.press("Control+k")
        page.get_by_role("dialog").wait_for()
        page.keyboard.press(key)
        page.get_by_role("dialog").wait_for(state="hidden")
        assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    assert page.evaluate("window.went") == []


def test_nothing_is_asked_where_names_are_held_back(browser):
    page = opened(browser, tabs=("Battle",))
    page.clock.install()
    page.keyboard.press("Control+k")
    page.keyboard.type("b")
    page.clock.run_for(5000)
    assert offered(page) == ["Battle"]
    assert page.evaluate("window.sent") == []
    page.context.close()


@pytest.mark.parametrize("theme", ["", "dark"])
def test_it_is_told_in_german_and_axe_finds_nothing(browser, theme):
    page = opened(browser, "de", theme=theme, viewport={"width": 390, "height": 844})
    page.keyboard.press("Control+k")
    answer(page)
    assert page.get_by_role("combobox").get_attribute("aria-label") == "Gehe zu"
    assert page.get_by_role("group").all_inner_texts()[1].split("\n")[0] == "Modelle"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert violations(page) == []
    page.keyboard.type("zzz")
    page.get_by_text("Nichts mit diesem Namen.").wait_for()
    assert violations(page) == []
    page.context.close()
