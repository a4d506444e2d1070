"""How many of the machine's processors a part of the program may keep busy."""

from __future__ import annotations

import os


def threads_beside_a_server() -> int | None:
    """Return with how many threads to decode so that one processor is left to the web server.

    None where ``OMP_NUM_THREADS`` has said it.
    """
    if os.environ.get("OMP_NUM_THREADS"):
        return None
    can_choose = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if can_choose else os.cpu_count() or 1
    return max(1, processors - 1)
