"""What one visitor with long questions costs everybody else, through HTTP.

A visitor of a running app asks a question of 39,500 characters in a loop. Meanwhile somebody else
asks for ``/healthz``: how long do they wait? Before it the same without that visitor. To compare
with another version, run it against an app of that version.
"""

from __future__ import annotations

import argparse
import threading
import time

import httpx

from tests.ui.raw_client import NO_TLS, Visitor

_CHARACTERS = 39_500
_WORDS = "Summarize for me what the lighthouse keeper wrote about the lost whale in his diary. "


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="a running app")
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    show("nobody asks", waits(options.url, options.seconds))
    over, asked = threading.Event(), []
    asking = threading.Thread(target=ask_long, args=(options.url, over, asked))
    asking.start()
    try:
        show("long questions", waits(options.url, options.seconds))
    finally:
        over.set()
        asking.join()
    print(f"{len(asked)} questions were answered for, the slowest after {max(asked):.2f} s")


def ask_long(url: str, over: threading.Event, asked: list[float]) -> None:
    """Ask, until it is over; note how long each answer of the server took to begin."""
    visitor = Visitor(url)
    question = (_WORDS * (_CHARACTERS // len(_WORDS) + 1))[:_CHARACTERS]
    while not over.is_set():
        began = time.monotonic()
        # Another one each time: the same is taken for a double click while it runs.
        view = visitor.begin(f"{len(asked):05}{question[5:]}")
        asked.append(time.monotonic() - began)
        if view and view.get("events"):
            visitor.join(visitor.dependency("stop", "round"), [None])
            visitor.answer()


def waits(url: str, seconds: float) -> list[float]:
    """Return how long each answer took of somebody who asks fifty times a second."""
    end, took = time.monotonic() + seconds, []
    with httpx.Client(base_url=url, verify=NO_TLS, timeout=60) as client:
        while time.monotonic() < end:
            began = time.monotonic()
            client.get("/healthz")
            took.append(time.monotonic() - began)
            time.sleep(0.02)
    return took


def show(what: str, took: list[float]) -> None:
    took = sorted(took)
    middle, late = took[len(took) // 2], took[int(0.99 * len(took))]
    print(
        f"{what}: {len(took)} answers, median {1000 * middle:.0f} ms, "
        f"99 % within {1000 * late:.0f} ms, worst {1000 * took[-1]:.0f} ms"
    )


if __name__ == "__main__":
    main()
