"""Presses of Compare's button while an answer ends."""

from __future__ import annotations

from tests.ui.fields import enter
from tests.ui.visiting import QUESTION, open_tab

PRESSES = 10
NOTE = "#comparison .hint"
ENDED = "#comparison .part"  # why they parted can be asked once the answers have ended
# From the moment in which the page draws the end on: that of Gradio's event comes later.
PRESS = """presses => {
    const ends = new MutationObserver(() => {
        if (!document.querySelector("#comparison .part")) return;
        ends.disconnect();
        window.pressed = 0;
        window.first = document.querySelector("#comparison .hint").innerText;
        const press = () => {
            document.querySelector("#compare").click();
            window.pressed += 1;
            if (window.pressed < presses) setTimeout(press, 10);
        };
        press();
    });
    ends.observe(document.querySelector("#comparison"), { childList: true, subtree: true });
}"""


def asks(request):
    """Whether a page asks for a comparison."""
    return "/queue/join" in request.url and QUESTION in request.post_data_json["data"]


def test_each_press_counts_while_an_answer_ends(app, visit):
    page = visit(app.url)
    posted = []
    open_tab(page, "Compare")
    enter(page.locator("#compare-question textarea"), QUESTION)
    page.get_by_role("radio", name="independent").and_(page.locator(":visible")).check()
    page.on("request", lambda request: asks(request) and posted.append(request))
    page.click("#compare")
    page.evaluate(PRESS, PRESSES)
    page.wait_for_function("presses => window.pressed === presses", arg=PRESSES)
    page.wait_for_timeout(1500)
    assert len(posted) == 1 + PRESSES
    page.wait_for_selector(ENDED)
    last = page.inner_text(NOTE)
    assert last != page.evaluate("window.first")
    page.wait_for_timeout(1500)  # what earlier ones still tell is not shown
    assert page.inner_text(NOTE) == last
    assert page.locator(ENDED).count() == 1
