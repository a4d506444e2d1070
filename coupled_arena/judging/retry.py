"""Which failures pass, and how long to wait for that."""

from __future__ import annotations

import email.utils
import random
import time

import openai

_PASSING = {408, 409, 425, 429}
_FIRST, _LONGEST = 0.5, 10.0  # seconds between attempts


def is_passing(error: Exception) -> bool:
    """Return whether the same request may succeed later."""
    if not isinstance(error, openai.APIStatusError):
        return True
    if error.code == "insufficient_quota":  # comes as 429, and waiting does not pay the bill
        return False
    return error.status_code in _PASSING or error.status_code >= 500


def pause(error: Exception, attempt: int, jitter: random.Random) -> float:
    """Return how many seconds to wait after a failure, the first being attempt 0.

    The server's ``Retry-After`` counts, with a little more so that not all come back at once.
    """
    backoff = min(_LONGEST, _FIRST * 2**attempt) * jitter.uniform(0.5, 1.0)
    asked = _retry_after(error)
    return backoff if asked is None else asked + jitter.uniform(0.0, 0.5)


def _retry_after(error: Exception) -> float | None:
    if not isinstance(error, openai.APIStatusError):
        return None
    given = error.response.headers.get("retry-after", "")
    if given.isascii() and given.isdigit():
        return float(given)
    date = email.utils.parsedate_tz(given)
    try:
        return None if date is None else max(email.utils.mktime_tz(date) - time.time(), 0.0)
    except (ValueError, OverflowError):  # a year that no calendar has
        return None
