"""A gate in the app: it runs beside battles, closes, stops, and goes on after a restart."""

from __future__ import annotations

import re

from tests.patience import until
from tests.small_models import NAMES
from tests.ui.apps.test_restart import page, restarted
from tests.ui.server import read
from tests.ui.visiting import ask_and_stop, revealed

__all__ = ["page", "restarted"]  # fixtures
ADDRESS = "/?tab=gate&base={}&candidate={}&task=quiz&margin=0.01".format(*NAMES[:2])
PROGRESS = "#gate-progress"


def answered(page):
    """Return how many prompts count, as the page says."""
    found = re.search(r"([\d,]+) of ([\d,]+) prompts answered", page.inner_text(PROGRESS))
    return int(found[1].replace(",", "")) if found else 0


def open_gate(page, app):
    page.goto(app.url + ADDRESS)
    page.wait_for_selector("#gate-start:not([disabled])")
    until(lambda: "Choose two" in page.inner_text("#gate-said") or answered(page))


def test_a_run_goes_on_beside_a_battle_and_after_a_restart(restarted, page):
    served = restarted(undo=0)
    open_gate(page, served.app)
    page.click("#gate-start")
    until(lambda: answered(page) >= 3)
    assert "as good as" in page.inner_text("#gate-said")
    page.wait_for_selector("#gate-closing .js-plotly-plot")
    page.locator(".gate-card", has_text="not known yet").wait_for()
    assert page.is_disabled("#gate-start")
    page.locator("#gate-cost-table", has_text="changes the words of").wait_for()
    with page.expect_download() as saved:
        page.click(".gate-picture button")
    assert saved.value.suggested_filename == "gate-card.png"
    assert saved.value.path().read_bytes()[16:20] == (3 * 720).to_bytes(4)  # its width

    battle = page.context.new_page()  # answers run for minutes; the gate goes on meanwhile
    battle.goto(served.app.url)
    before = answered(page)
    ask_and_stop(battle)
    battle.keyboard.press("a")
    assert revealed(battle)
    until(lambda: answered(page) > before)

    page.click("#gate-stop")
    page.click("dialog.ask button[value=yes]")
    page.wait_for_selector("#gate-start:not([disabled])")
    until(lambda: "press Start to go on" in page.inner_text(PROGRESS))
    done, link = answered(page), page.get_attribute(".gate-card a", "href")
    gates = "select gate, experiment from gates"
    served.app.stop()
    (run,) = read(served.app.db, gates)
    assert run[0] in link
    assert read(served.app.db, "select count(*) from votes where source = 'human'") == [(1,)]
    (stored,) = read(
        served.app.db,
        "select count(*) from scores join battles using (battle) where experiment = ?",
        run[1],
    )
    assert stored[0] >= 2 * done

    served.again()
    page.goto(served.app.url + "/?tab=gate")  # the newest run, and the address says which
    until(lambda: answered(page) >= done)
    page.wait_for_url("**" + ADDRESS)
    page.click("#gate-start")
    until(lambda: answered(page) > done + 2)
    served.app.stop()
    assert read(served.app.db, gates) == [run]
