"""Texts as people expect them: formatted, exact at a switch, and never more than texts."""

from __future__ import annotations

import re

import httpx
import pytest

from coupled_arena.ui.parts.panel import texts_path
from tests.ui import hostile_app
from tests.ui.hostile_texts import hostile_texts
from tests.ui.server import serving_page
from tests.ui.visiting import open_menu

TEXT = "#round .answer .text"
SWITCH = "#round .reading input"
# Writes a text as the page does at so many characters of it, then to its end.
WRITE = """async ([path, text, lengths]) => {
    const { listen, write } = await import(path);
    const exactly = (node, said) => { node.textContent = said; };
    const node = document.createElement("div");
    listen(() => write(node, text, false, exactly));
    node.className = "text formatted";
    document.body.append(node);
    window.written = node;
    window.kept = [];
    for (const length of lengths) {
        write(node, text.slice(0, length), false, exactly);
        window.kept.push(node.firstElementChild?.firstElementChild);
    }
    write(node, text, false, exactly);
}"""
DRAWN = "!document.querySelector('.formula:not(.drawn)')"
UNSAFE = """() => [...document.querySelectorAll("#round .formatted *")].filter((node) =>
    /^(script|iframe|object|embed|form|input|style|link|meta|base|img|image|use|template|noscript)$/i
        .test(node.localName)
    || [...node.attributes].some(({ name, value }) =>
        /^on|^src|^xlink|^action|^id$/i.test(name) || name === "style" && /url|image/i.test(value))
    || (node.hasAttribute("href") && (!/^(https?|mailto):/.test(node.getAttribute("href"))
        || node.rel !== "noopener noreferrer nofollow" || node.target !== "_blank"))
).map((node) => node.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def url():
    """The address of a page that shows whatever it is given, see `hostile_app`."""
    with serving_page(hostile_app.launch) as address:
        yield address


@pytest.fixture(scope="module")
def page(url, stay):
    """A page on which texts are formatted."""
    opened = stay(url)
    opened.wait_for_selector(f"{TEXT}.formatted")
    opened.wait_for_selector("#round .katex")  # one that formulas were asked of
    return opened


def written(page, text, *lengths):
    """Write a text, through so many beginnings of it; return its HTML."""
    page.evaluate(WRITE, [texts_path(), text, list(lengths)])
    page.wait_for_function(f"{DRAWN} && !window.written.querySelector('.exact')")
    return page.evaluate("window.written.innerHTML")


def words(page, text):
    written(page, text)
    return page.inner_text("body > .formatted >> nth=-1")


LOOKS = """# Title

A *word*, **another**; a line
and its next.

1. one
   - nested
2. two

| name | count |
|:-----|------:|
| a    |     1 |

```python
def f(x):
    return "<b>" if x < 1 else None
```

> quoted

Then $x^2$ and

$$
\\int_0^1 f
$$

and \\(a\\), \\[b\\]; مرحبا.

مرحبا بالعالم
"""


def test_markdown_is_what_it_means(page):
    written(page, LOOKS)
    page.wait_for_selector(".hljs-keyword")
    found = page.evaluate(
        """() => Object.fromEntries(["h3", "em", "strong", "br", "ol > li > ul > li", "td.to-right",
            "thead th", "pre .hljs-keyword", "blockquote", ".katex", ".katex-display", "hr"]
            .map((each) => [each, window.written.querySelectorAll(each).length]))"""
    )
    assert found == {
        **dict.fromkeys(("h3", "em", "strong", "br", "ol > li > ul > li", "td.to-right"), 1),
        **{"thead th": 2, "pre .hljs-keyword": 4, "blockquote": 1},
        **{".katex": 4, ".katex-display": 2, "hr": 0},
    }
    code = page.evaluate("window.written.querySelector('pre code').textContent")
    assert code == 'def f(x):\n    return "<b>" if x < 1 else None\n'
    directions = "[...window.written.querySelectorAll('.block > :not(.code)')].map((n) => n.dir)"
    assert set(page.evaluate(directions)) == {"auto", "ltr"}  # formulas are of one direction
    last = "[...window.written.querySelectorAll('p')].at(-1)"
    assert page.evaluate(f"getComputedStyle({last}).direction") == "rtl"
    assert page.evaluate("getComputedStyle(window.written.querySelector('p')).direction") == "ltr"


def coloured(page):
    """Return how many parts of each code of the text have a colour."""
    return page.evaluate(
        "[...window.written.querySelectorAll('pre code')].map((code) => code.childElementCount)"
    )


# The library never comes to an end with one language, as it were, and has all other work done.
HANGS = """window.colourists = [];
window.Worker = class extends Worker {
    constructor(...given) {
        super(...given);
        window.colourists.push("waits");
        this.number = window.colourists.length - 1;
        this.addEventListener("message", ({ data }) => data.value && this.becomes("answered"));
    }
    postMessage(asked) {
        if (asked.language !== "csharp") return super.postMessage(asked);
        this.becomes("hangs");
        this.onmessage({ data: { begun: true } });
    }
    terminate() { this.becomes("ended"); super.terminate(); }
    becomes(state) { window.colourists[this.number] = state; }
};"""


def test_code_that_takes_too_long_to_colour_stays_plain(url, visit):
    page = visit(url, script=HANGS)
    page.wait_for_selector(f"{TEXT}.formatted")
    page.wait_for_function("!window.colourists.includes('waits')")
    page.clock.install(time=1_000_000)
    page.clock.pause_at(2_000_000)
    written(page, "```csharp\nreturn 1;\n```\n\n```python\nreturn 1\n```\n")
    page.clock.run_for(1000)
    *_, last = page.evaluate("window.colourists")
    assert last == "hangs"
    page.clock.run_for(1500)
    page.wait_for_function("window.colourists.at(-1) === 'answered'")
    *_, last, _ = page.evaluate("window.colourists")
    assert last == "ended"
    page.clock.run_for(1000)
    first, second = coloured(page)
    assert first == 0
    assert second > 0
    assert page.evaluate("window.written.querySelector('code').textContent") == "return 1;\n"


def test_so_much_code_has_colours_in_a_text(page):
    code = "return 1\n" * 700
    written(page, f"```python\n{code}```\n\n```python\n{code}```\n")
    page.wait_for_selector(".formatted >> nth=-1 >> .hljs-keyword")
    assert [bool(each) for each in coloured(page)] == [True, False]


@pytest.mark.parametrize(
    "text",
    [
        *("It is $5 and $10.", "From $5-$10, or $7.", "US$5 or A$6", "5$ or 10$", "a$b$c"),
        *("$5 million to $6 million", "$5 more or 6$ less", "$ x $", "$HOME and $PATH"),
        *("`$x$`", "$$ $$", "an unclosed $x", "\\$x\\$", "${a} and ${b}", "$HOME/$PATH"),
    ],
)
def test_money_stays_money(page, text):
    written(page, text)
    assert page.locator(".katex").count() == page.evaluate(
        "document.querySelectorAll('.katex').length - "
        "window.written.querySelectorAll('.katex').length"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("![a cat](https://outside.invalid/x.png)", "a cat (https://outside.invalid/x.png)"),
        ("[here](https://a.invalid/b)", "here (https://a.invalid/b)"),
        ("<https://a.invalid/b>", "https://a.invalid/b"),
        ("[here](javascript:alert(1))", "[here](javascript:alert(1))"),
        ("[here](/rounds)", "[here](/rounds)"),
        ("[a][b]\n\n[b]: https://a.invalid", "[a][b]\n[b]: https://a.invalid"),
        ("<think>hm</think>", "<think>hm</think>"),
        ("<!-- said -->", "<!-- said -->"),
    ],
)
def test_nothing_is_hidden(page, text, shown):
    assert re.sub(r"\n+", "\n", words(page, text)) == shown


GROWING = [LOOKS, *hostile_texts(60)[5:]]


def test_a_text_that_grew_looks_as_one_that_was_there_at_once(page):
    page.evaluate(
        """async ([path, texts]) => {
            const { write } = await import(path);
            const exactly = (node, said) => { node.textContent = said; };
            const html = (text, ...lengths) => {
                const node = document.createElement("div");
                for (const length of lengths) write(node, text.slice(0, length), false, exactly);
                for (let late = 0; late < 99; late++) {
                    write(node, `${text} `, false, exactly); // until nothing is put off
                    write(node, text, false, exactly);
                    if (!node.querySelector(".exact")) break;
                }
                return node.innerHTML;
            };
            window.unlike = texts.filter((text) => {
                const step = Math.max(1, Math.floor(text.length / 25));
                const lengths = Array.from({ length: 25 }, (_, at) => at * step);
                return html(text) !== html(text, ...lengths);
            });
        }""",
        [texts_path(), GROWING],
    )
    assert page.evaluate("window.unlike") == []


def test_blocks_that_are_complete_are_not_drawn_again(page):
    text = "first\n\n- a\n- b\n\nthird"
    written(page, text, *range(7, len(text)))
    assert page.evaluate("new Set(window.kept).size") == 1


def test_code_is_copied_and_votes_for_nothing(page, url):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
    page.bring_to_front()
    written(page, "```sh\nls  -l\n```\n[a](https://a.invalid)")
    page.evaluate("document.body.addEventListener('click', () => window.chosen = 1)")
    button = page.locator("body > .formatted .copy").last
    button.click()
    page.wait_for_function(
        "[...document.querySelectorAll('.copy')].at(-1).textContent === 'Copied'"
    )
    assert page.evaluate("navigator.clipboard.readText()") == "ls  -l\n"
    page.context.clear_permissions()
    assert page.evaluate("window.chosen") is None


def test_hostile_texts_do_nothing_and_the_switch_gives_them_exactly(url, visit):
    page = visit(url)
    dialogs = []
    note = lambda dialog: dialogs.append(dialog.message) or dialog.dismiss()  # noqa: E731
    page.on("dialog", note)
    page.wait_for_selector(f"{TEXT}.formatted")
    page.click("#many")
    page.wait_for_function("document.querySelectorAll('#round .question').length === 100")
    page.wait_for_function(f"{DRAWN} && document.querySelectorAll('#round .formula').length > 40")
    assert page.locator(f"{TEXT}.formatted").count() == 200
    assert page.evaluate(UNSAFE) == []
    open_menu(page)
    page.click(SWITCH)
    page.wait_for_selector("#round .formatted", state="detached")
    shown = page.evaluate(f"[...document.querySelectorAll('{TEXT}')].map((n) => n.textContent)")
    assert shown == hostile_app.MANY
    page.click(SWITCH)
    page.wait_for_selector(f"{TEXT}.formatted")
    assert page.evaluate("window.hacked") is None
    assert dialogs == []
    page.remove_listener("dialog", note)


def test_the_switch_is_remembered(url, visit):
    page = visit(url)
    page.wait_for_selector(f"{TEXT}.formatted")
    assert page.locator("#comparison .formatted").count() == 0
    # The second of the two answers ends where they part, and has nothing to mark.
    assert page.locator("#comparison mark").count() == 1
    open_menu(page)
    page.click(SWITCH)
    page.click("#comparison .reading input")
    page.wait_for_selector("#comparison .text.formatted")
    page.reload()
    page.wait_for_selector("#comparison .text.formatted")
    page.wait_for_selector(TEXT)
    assert page.locator("#round .formatted").count() == 0


def test_without_the_libraries_texts_are_exact(url, visit):
    # A browser that has not been here, and has them in no cache.
    failed = "Failed to load resource: net::ERR_FAILED"
    page = visit("about:blank", expected=failed, service_workers="block")
    page.route("**/texts/**", lambda route: route.abort())
    with page.expect_event("requestfailed", lambda request: "/texts/" in request.url):
        page.goto(url)
    page.wait_for_selector(TEXT)
    shown = page.evaluate(f"[...document.querySelectorAll('{TEXT}')].map((n) => n.textContent)")
    assert shown == [hostile_app.HOSTILE, f"second {hostile_app.HOSTILE}"]


def test_libraries_come_once_they_are_needed_and_stay(url):
    folder = url + texts_path().rpartition("/")[0]
    for name, kind in {
        "texts.js": "javascript",
        "vendor/katex/fonts/KaTeX_Main-Regular.woff2": "woff2",
    }.items():
        answer = httpx.get(f"{folder}/{name}")
        assert answer.status_code == 200
        assert kind in answer.headers["content-type"]
        # An answer that brings a cookie is nobody else's.
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    for name in ("vendor/libraries.json", "vendor/katex/LICENSE", "round.js", "../arena.css", ""):
        assert httpx.get(f"{folder}/{name}").status_code == 404
