"""Where votes come from, so that many from one place are seen, and the place is not."""

from __future__ import annotations

import hashlib
import hmac
import secrets

_DIGITS = 16


class Origins:
    """Keyed hashes of addresses, with a key of this process that is kept nowhere else.

    Whoever has the database cannot try addresses until one fits, nor tell that a place of today
    is one of yesterday.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def of(self, address: str) -> str:
        """Return what an address is called as long as the server runs."""
        return hmac.new(self._key, address.encode(), hashlib.sha256).hexdigest()[:_DIGITS]
