"""Fifty battles in one page, two tabs, a slow network, a restart: what a long day does to a page.

    python -m benchmarks.wear [--battles 50]

Small models answer, so a battle takes seconds. Prints after the fifth battle and after the last
what the page holds (JavaScript heap after a collection, DOM nodes, listeners) and how much memory
the processes of the server have. Then two tabs of one browser vote in turn; the network has a tenth
of a second of delay and 50 kB/s; and the server is started again below an open page in which
somebody writes. Exits with 1 where a console told an error that is no broken connection, where the
text was lost, or where the page went on growing.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import (
    Browser,
    BrowserContext,
    CDPSession,
    Page,
    TimeoutError,
    sync_playwright,
)

from benchmarks.page import battle, open_page
from benchmarks.soak import App
from tests.small_models import SMALL_MODELS, save_small_models
from tests.ui.conftest import CUT_OFF, OPTIONS, SYSTEM_CHROMIUM

CONFIG = "[sampling]\nmax_new_tokens = 60\n"
EARLY = 5  # battles after which a page has drawn all that it draws
GROWN = 1.25  # times the heap or the nodes of then: more is a leak
SLOW = {"latency": 100, "downloadThroughput": 50_000, "uploadThroughput": 50_000, "offline": False}
LOADED = 120_000  # milliseconds until a page is there again
TYPED = "A question that nobody has sent yet"
GONE = ("Failed to load resource", "ERR_CONNECTION_REFUSED", *CUT_OFF)  # while a server is away


@dataclass
class Wear:
    """What was found amiss, by what went on."""

    now: str = ""
    errors: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Take down what a page's console tells."""
        page.on("pageerror", lambda error: self.errors.append(f"{self.now}: {error}"))
        page.on(
            "console",
            lambda told: (
                self.errors.append(f"{self.now}: {told.text}") if told.type == "error" else None
            ),
        )

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Say how long something took, and what the console told meanwhile."""
        self.now, before, began = what, len(self.errors), time.monotonic()
        yield
        errors = self.errors[before:]
        known = [error for error in errors if any(part in error for part in GONE)]
        seconds = time.monotonic() - began
        print(f"{what}: {seconds:.1f} s, {len(errors)} console errors", end="")
        print(f", {len(known)} of them of broken connections" if known else "")

    @property
    def amiss(self) -> list[str]:
        """Errors that are no broken connection of the restart."""
        return [
            error
            for error in self.errors
            if not (error.startswith("restart") and any(part in error for part in GONE))
        ]


def held(session: CDPSession) -> tuple[float, int, int]:
    """Return the heap in MB, the nodes and the listeners of a page, garbage collected."""
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    counts = session.send("Memory.getDOMCounters")
    heap = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
    return heap, counts["nodes"], counts["jsEventListeners"]


def memory(app: App) -> float:
    """Return the resident memory of the server's processes, in MB."""
    below, kilobytes = [app.process.pid], 0
    for pid in below:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            below += map(int, children.read_text().split())
        status = Path(f"/proc/{pid}/status").read_text()
        kilobytes += next(int(line.split()[1]) for line in status.splitlines() if "VmRSS" in line)
    return kilobytes / 1e3


def opened(context: BrowserContext, app: App, wear: Wear) -> Page:
    """Return a new page of the app in which one can ask."""
    page = context.new_page()
    wear.watch(page)
    open_page(page, app.url)
    return page


def many_battles(page: Page, app: App, battles: int) -> bool:
    """Print what page and server hold early and late; return whether they stayed as they were."""
    session = page.context.new_cdp_session(page)
    found = {}
    for number in range(1, battles + 1):
        battle(page)
        if number in (EARLY, battles):
            heap, nodes, listeners = found[number] = held(session)
            print(
                f"after {number} battles: heap {heap:.1f} MB, {nodes:,} nodes, "
                f"{listeners:,} listeners; server {memory(app):.0f} MB"
            )
    early, late = found[min(EARLY, battles)], found[battles]
    return all(after <= GROWN * before for before, after in zip(early, late, strict=True))


def two_tabs(first: Page, second: Page) -> None:
    """Vote in two tabs of one visitor, in turn."""
    for _ in range(3):
        battle(first)
        battle(second)


def slowly(browser: Browser, app: App, wear: Wear) -> None:
    """Open a page and have a battle over a slow network."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(120_000)
    wear.watch(page)
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", SLOW)
    print(f"a page over a slow network can be used after {open_page(page, app.url):.1f} s")
    battle(page)
    context.close()


def restart(page: Page, app: App) -> bool:
    """Start the server again below an open page; return whether what was written is still there."""
    page.fill("#question textarea", TYPED)
    app.end(signal.SIGTERM)
    page.wait_for_timeout(3000)
    app.start()
    page.wait_for_selector("#connection >> text=loaded again", timeout=LOADED)
    try:  # the notice stands there before the field does
        page.wait_for_function(
            "text => document.querySelector('#question textarea')?.value === text", arg=TYPED
        )
    except TimeoutError:
        return False
    battle(page)
    return True


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--battles", type=int, default=50)
    given = arguments.parse_args()
    folder = Path(tempfile.mkdtemp())
    save_small_models(folder)
    config = folder / "arena.toml"
    config.write_text(CONFIG + SMALL_MODELS)
    app, wear = App(folder, config), Wear()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=SYSTEM_CHROMIUM, args=OPTIONS)
        context = browser.new_context()
        page = opened(context, app, wear)
        with wear.step(f"{given.battles} battles"):
            stayed = many_battles(page, app, given.battles)
        with wear.step("two tabs"):
            two_tabs(page, opened(context, app, wear))
        with wear.step("slow network"):
            slowly(browser, app, wear)
        with wear.step("restart"):
            kept = restart(page, app)
        browser.close()
    app.end(signal.SIGTERM)
    for error in wear.amiss:
        print(error)
    print("The text was kept." if kept else "The text was lost.")
    print("The page stayed as it was." if stayed else "The page went on growing.")
    return 0 if kept and stayed and not wear.amiss else 1


if __name__ == "__main__":
    sys.exit(main())
