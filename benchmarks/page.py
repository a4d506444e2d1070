"""What the page of a running app weighs, how soon it can be used, and what it keeps in memory.

    python -m benchmarks.page http://127.0.0.1:7860 [--visits N] [--battles N]

Bytes are those over the wire, as the browser counts them. Use small models for many battles.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

QUESTION = "Which is larger, a whale or a lighthouse?"
# What is waited for is true, never an element: the browser keeps elements that it has handed over.
READY = "!!(document.querySelector('.starters .chip') && document.querySelector('#ask'))"
TICKS = 20_000  # bytes a second that a live board asks for, and more
ROUND = "document.querySelector('#round .commitment')?.textContent"
DECIDED = "!!document.querySelector('#round .reveal')"
OPEN = """[...document.querySelectorAll('#round .ballot button')]
    .some((b) => b.textContent.startsWith('A is better') && b.ariaDisabled === 'false')"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("url")
    arguments.add_argument("--visits", type=int, default=3)
    arguments.add_argument("--battles", type=int, default=0)
    given = arguments.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        for _ in range(given.visits):
            visit(browser, given.url)
        if given.battles:
            heap(browser, given.url, given.battles)


def weigh(session: CDPSession) -> dict[str, int]:
    """Return the bytes that come over the wire, by kind, while they come."""
    kinds: dict[str, str] = {}
    weights: dict[str, int] = defaultdict(int)

    def finished(event: dict) -> None:
        weights[kinds.get(event["requestId"], "Other")] += int(event["encodedDataLength"])

    session.on("Network.responseReceived", lambda e: kinds.update({e["requestId"]: e["type"]}))
    session.on("Network.loadingFinished", finished)
    session.send("Network.enable")
    return weights


def visit(browser: Browser, url: str) -> None:
    """Print how long a first and a second visit take, and what the first brings."""
    page = browser.new_context().new_page()
    weights = weigh(page.context.new_cdp_session(page))
    cold = open_page(page, url)
    settle(page, weights)
    before = sum(weights.values())
    kinds = ", ".join(f"{kind} {size / 1e3:.0f} kB" for kind, size in weights.items())
    warm = open_page(page, url)
    page.get_by_role("tab", name="Leaderboard").click()
    page.wait_for_selector("#board-said .headline:not(.waiting)")
    settle(page, weights)
    print(f"interactive after {cold:.2f} s, again after {warm:.2f} s", end="; ")
    print(f"{before / 1e6:.2f} MB ({kinds}); {sum(weights.values()) / 1e6:.2f} MB with a board")
    page.context.close()


def settle(page: Page, weights: dict[str, int]) -> None:
    """Return when next to nothing has come for a second; a live board is never idle."""
    size = -TICKS
    while sum(weights.values()) - size >= TICKS:
        size = sum(weights.values())
        page.wait_for_timeout(1000)


def open_page(page: Page, url: str) -> float:
    """Return after how many seconds a question can be asked by a click."""
    started = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_function(READY, polling=20)
    page.click(".starters .chip", trial=True)
    return time.perf_counter() - started


def heap(browser: Browser, url: str, battles: int) -> None:
    """Print what scripts keep, garbage collected, every tenth battle of one page."""
    page = browser.new_context().new_page()
    session = page.context.new_cdp_session(page)
    open_page(page, url)
    for number in range(1, battles + 1):
        battle(page)
        if number % 10 == 0 or number == 1:
            session.send("HeapProfiler.collectGarbage")
            used = session.send("Runtime.getHeapUsage")["usedSize"]
            counts = session.send("Memory.getDOMCounters")
            nodes, listeners = counts["nodes"], counts["jsEventListeners"]
            print(f"{number} battles: {used / 1e6:.1f} MB, {nodes} nodes, {listeners} listeners")


def battle(page: Page) -> None:
    before = page.evaluate(ROUND)
    page.fill("#question textarea", QUESTION)
    page.click("#ask")
    page.wait_for_function(f"before => {ROUND} !== before && ({OPEN} || {DECIDED})", arg=before)
    for label in ("A is better", "Show the names now"):
        page.wait_for_timeout(500)  # a second press within 0.4 s is a double one
        button = page.locator("#round .ballot button", has_text=label)
        if button.count():
            button.click()
    page.wait_for_function(DECIDED)


if __name__ == "__main__":
    main()
