"""Time from the click on Ask to the first words in a real browser, on a running app.

    python -m benchmarks.first_token http://127.0.0.1:7860 [--rounds N]

Prints the median and range over rounds, beside the time an empty page takes to load.
"""

from __future__ import annotations

import argparse
import statistics
import time

from playwright.sync_api import Page, sync_playwright

# With the chat template of the demo models this is a prompt of 30-odd tokens of its own.
QUESTION = (
    "Explain to a child of seven why the sky is blue during the day and why it turns red and "
    "orange in the evening, please, in a few short sentences."
)
SHOWN = "[...document.querySelectorAll('.answer .text')].some(e => /[a-z]/i.test(e.textContent))"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("url")
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        page = browser.new_page()
        started = time.perf_counter()
        page.goto(given.url)
        page.wait_for_selector("#question textarea")
        print(f"page open after {time.perf_counter() - started:.2f} s")
        times = [first_words(page) for _ in range(given.rounds + 1)][1:]
    print(
        f"first words after {statistics.median(times):.2f} s "
        f"({min(times):.2f} to {max(times):.2f}, {given.rounds} rounds)"
    )


def first_words(page: Page) -> float:
    page.fill("#question textarea", QUESTION)
    page.evaluate("document.querySelectorAll('.answer .text').forEach(e => e.textContent = '')")
    started = time.perf_counter()
    page.click("#ask")
    page.wait_for_function(SHOWN, polling=20)
    taken = time.perf_counter() - started
    page.wait_for_function("!document.querySelector('.ballot').textContent.includes('Stop')")
    return taken


if __name__ == "__main__":
    main()
