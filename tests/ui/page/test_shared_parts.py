"""What all tabs share, in a page without a server: terms, the theme, questions before an action."""

from __future__ import annotations

import json

import pytest

from coupled_arena.core import language
from coupled_arena.core.settings import resource
from coupled_arena.ui.parts.identity import explained_terms, header, script, translated_texts
from coupled_arena.views.markup import paragraph, row_action
from coupled_arena.views.words.glossary import GLOSSARY
from tests.ui.conftest import new_page
from tests.ui.visiting import violations

ORIGIN = "http://127.0.0.1:9"
_PAGE = """<!doctype html><html lang="{language}"><meta charset="utf-8"><title>Arena</title>
<meta name="viewport" content="width=device-width">{texts}<style>{style}
:root {{ --body-background-fill: #fff; --background-fill-primary: #fff; --body-text-color: #222;
  --body-text-color-subdued: #555; --border-color-primary: #999; --color-accent: #c2410c;
  --button-primary-background-fill: #c2410c; --button-primary-text-color: #fff;
  --button-secondary-background-fill: #eee; --input-background-fill: #fff;
  --input-border-color: #777; }}
body.dark {{ background: #000; }}</style>
<body><main class="gradio-container"><div id="header">{head}</div>{body}</main>{scripts}<script>
window.sent = [];
new Function("element", "trigger", "props", "watch", {code})(
  document.getElementById("header"), (name, data) => window.sent.push([name, data]), {{}},
  () => {{}});
</script></body></html>"""
BODY = """{sentence}
<div id="beside"><table class="board"><thead><tr><th scope="col">Model</th>
<th scope="col">{heading}</th></tr></thead><tbody>
<tr><th scope="row">one</th><td data-value="1">1</td></tr>
<tr><th scope="row">two</th><td data-value="2">2</td></tr></tbody></table></div>
<label><span data-testid="block-info">Error level alpha</span><input id="alpha"></label>
<fieldset><label data-testid="Coupled-radio-label"><input type="radio"> Coupled</label></fieldset>
<button id="gate-stop" onclick="window.sent.push(['stopped'])">Stop</button>
<textarea id="question" aria-label="Question"></textarea>"""
SENTENCE = "Its rank-set holds any-time, and no other rank-set is smaller."


@pytest.fixture(params=["en", "de"])
def spoken(browser, request):
    page = opened(browser, request.param)
    yield page
    page.context.close()


@pytest.fixture
def page(browser):
    page = opened(browser)
    yield page
    page.context.close()


def opened(browser, name="en", **options):
    """Open a page with everything that stands in the head of the app's."""
    page = new_page(browser, "", options)
    before = language.language()
    language.install(name)
    try:
        made = header()
        parts = {
            "language": name,
            "texts": translated_texts(),
            "style": resource("assets/arena.css").read_text(encoding="utf-8"),
            "head": made.value,
            "body": BODY.format(
                sentence=paragraph(SENTENCE, "headline"), heading=language._("Win rate")
            ),
            "scripts": "".join(map(script, ("sort", "ask"))) + explained_terms(),
            "code": json.dumps(made.js_on_load).replace("<", "\\u003c"),
        }
    finally:
        language.install(before)
    html = _PAGE.format(**parts)
    page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(ORIGIN)
    page.locator(".theme-switch[aria-label]").wait_for()
    return page


def test_the_first_place_of_a_term_is_explained_and_no_other(page):
    marked = page.locator(".headline .term")
    page.wait_for_function("document.querySelectorAll('.headline .term').length === 2")
    assert marked.all_text_contents() == ["rank-set", "any-time"]
    assert page.locator(".headline").text_content() == SENTENCE


def test_a_term_is_explained_to_mouse_keyboard_and_finger(page):
    term = page.locator(".headline .term").first
    meaning = next(each.meaning for each in GLOSSARY if each.name == "rank-set")
    tip = page.locator(".term-tip")
    term.hover()
    tip.get_by_text(meaning).wait_for()
    page.mouse.move(0, 0)
    tip.wait_for(state="hidden")
    page.locator(".theme-switch").focus()
    page.keyboard.press("Tab")
    assert term.evaluate("node => node === document.activeElement")
    tip.get_by_text(meaning).wait_for()
    page.keyboard.press("Escape")
    tip.wait_for(state="hidden")
    page.keyboard.press("Enter")
    tip.wait_for()
    described = term.get_attribute("aria-describedby")
    assert page.locator(f"[id='{described}']").text_content() == meaning
    page.locator("#question").click()
    tip.wait_for(state="hidden")
    term.click()  # as a finger does
    tip.wait_for()


def test_a_heading_still_sorts_and_a_field_keeps_its_name(page):
    head = page.locator("th", has_text="Win rate")
    head.locator(".term").wait_for()
    assert head.locator("button .term").count() == 0
    assert head.text_content() == "Win rate"
    assert head.locator(".term").get_attribute("aria-label") == "What is “win rate”?"
    head.locator("button").click()
    assert page.locator("tbody th").all_text_contents() == ["two", "one"]
    assert page.get_by_label("Error level alpha", exact=True).evaluate("node => node.id") == "alpha"
    page.locator("label .term").click()
    assert page.evaluate("document.activeElement.id") != "alpha"
    assert page.locator("fieldset > .term").count() == 1


def test_what_is_drawn_again_with_the_same_words_is_explained_again(page):
    head = page.locator("th", has_text="Win rate")
    for place in (head, page.locator(".headline")):
        place.locator(".term").first.wait_for()
        place.evaluate("node => { node.textContent = node.textContent; }")
        place.locator(".term").first.wait_for()


def test_a_tip_stays_within_a_narrow_window(browser):
    page = opened(browser, viewport={"width": 320, "height": 600})
    page.locator("th .term").click()
    box = page.locator(".term-tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 320
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.context.close()


def test_the_theme_changes_without_a_load_and_stays(page):
    page.emulate_media(color_scheme="light")
    page.fill("#question", "What was typed?")
    button = page.locator(".theme-switch")
    seen = []
    for _ in range(3):
        button.click()
        dark = page.evaluate("document.body.classList.contains('dark')")
        seen.append((button.get_attribute("aria-label").split(".")[0], dark))
        assert button.locator("svg:visible").count() == 1
    assert seen == [("Theme: light", False), ("Theme: dark", True), ("Theme: system", False)]
    assert page.input_value("#question") == "What was typed?"
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.body.classList.contains('dark')")
    button.click()
    page.wait_for_function("!document.body.classList.contains('dark')")
    page.reload()
    page.wait_for_function("document.querySelector('.theme-switch')?.ariaLabel?.includes('light')")
    assert not page.evaluate("document.body.classList.contains('dark')")


def test_a_figure_gets_the_colours_of_the_other_theme(page):
    page.emulate_media(color_scheme="light")
    page.evaluate(
        """() => {
            const shown = document.createElement("div");
            shown.className = "js-plotly-plot";
            shown.data = [{ marker: { color: "#0072b2" }, text: "<b style='color:#71717a'>a</b>" }];
            shown.layout = { font: { color: "#27272a" }, meta: { paper:
                ["#ffffff", "#27272a", "#71717a", "rgba(113,113,122,.2)", "#0072b2",
                "rgba(0,114,178,.25)", "#d55e00", "#e06a1b", "#f1f1f3",
                "#2b8cc4"].map((one) => [one, one]) } };
            window.Plotly =
                { react: (node, data, layout) => Object.assign(node, { data, layout }) };
            document.body.append(shown);
        }"""
    )
    for scheme, accent, faint in (
        ("dark", "#56b4e9", "#a1a1aa"),
        ("light", "#0072b2", "#71717a"),
    ):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(
            f"document.querySelector('.js-plotly-plot').data[0].marker.color === '{accent}'"
        )
        data, paper = page.evaluate(
            "(({ data, layout }) => [data, layout.meta.paper])"
            "(document.querySelector('.js-plotly-plot'))"
        )
        assert data[0]["text"] == f"<b style='color:{faint}'>a</b>"
        assert paper[4] == [accent, "#0072b2"]


def test_what_cannot_be_undone_is_asked_first(page):
    page.click("#gate-stop")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Stop this run?").wait_for()
    assert page.evaluate("window.sent") == []
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    page.click("#gate-stop")
    dialog.get_by_role("button", name="Cancel").click()
    dialog.wait_for(state="hidden")
    assert page.evaluate("window.sent") == []
    page.click("#gate-stop")
    dialog.get_by_role("button", name="Stop").click()
    page.wait_for_function("window.sent.length === 1")


def test_a_row_of_votes_tells_which_it_is_and_why(page):
    code = json.dumps(resource("assets/votes.js").read_text(encoding="utf-8"))
    rows = row_action("exclude", "Exclude", voter='"<b>ann')
    page.evaluate(
        f"""rows => {{
            const place = document.querySelector("main").appendChild(document.createElement("div"));
            place.innerHTML = rows;
            new Function("element", "trigger", {code})(
                place, (name, data) => window.sent.push([name, data]));
        }}""",
        str(rows),
    )
    page.click(".row-action")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("a script")
    page.keyboard.press("Enter")
    page.wait_for_function("window.sent.length === 1")
    told = {"voter": '"<b>ann', "reason": "a script"}
    assert page.evaluate("window.sent") == [["exclude", told]]


def test_nothing_of_it_is_wrong_for_axe(spoken):
    spoken.locator("th .term").wait_for()
    assert violations(spoken) == []
    spoken.locator("#gate-stop").click()
    spoken.get_by_role("dialog").wait_for()
    assert violations(spoken) == []
