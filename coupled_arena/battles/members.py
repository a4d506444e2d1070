"""Who may sign in, as whom they then vote, and the cookie by which they are known."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from coupled_arena.core.guards import AccessSettings
from coupled_arena.core.passwords import matches

SIGNED_IN = 14 * 24 * 3600  # seconds


@dataclass(frozen=True)
class Member:
    """Somebody who has signed in.

    Attributes
    ----------
    name : str
    voter : str
        The pseudonym by which votes are theirs.
    admin : bool
        Whether they may decide which votes count.
    """

    name: str
    voter: str
    admin: bool


class Members:
    """Those whom the settings name, or whom the hub knows.

    Parameters
    ----------
    settings : AccessSettings
    key : str
        The secret with which names become pseudonyms; whoever has it can tell who is who.
    clock : callable, optional
        Returns the time in seconds.
    """

    def __init__(
        self, settings: AccessSettings, key: str, clock: Callable[[], float] = time.time
    ) -> None:
        self.required = settings.sign_in != "none" and settings.required
        self.by_password = settings.sign_in == "password"
        self.by_hub = settings.sign_in == "hub"
        self.may_decide = bool(settings.admins)
        self._settings = settings
        self._key = key.encode()
        self._clock = clock

    def knows(self, name: str, password: str) -> bool:
        """Tell whether a password is somebody's; takes as long for a name that nobody has."""
        return matches(password, self._settings.users.get(name))

    def token(self, name: str) -> str:
        """Return what proves for some time that somebody has signed in."""
        until = str(int(self._clock()) + SIGNED_IN)
        return f"{quote(name, safe='')}.{until}.{self._proof(name, until)}"

    def of_token(self, token: str) -> Member | None:
        """Return whose token this is; nobody's if it is over, forged, or of an old password."""
        quoted, _, rest = token.partition(".")
        until, _, proof = rest.rpartition(".")
        name = unquote(quoted)
        if not self.by_password or name not in self._settings.users or not until.isdecimal():
            return None
        genuine = hmac.compare_digest(self._proof(name, until).encode(), proof.encode())
        return self._member(name, name) if genuine and int(until) > self._clock() else None

    def of_hub(self, session: Mapping[str, Any]) -> Member | None:
        """Return whom the hub has said that somebody is."""
        told: Any = session.get("oauth_info") or {}
        info = told.get("userinfo") or {}
        name, lasting = info.get("preferred_username"), info.get("sub")
        fresh = told.get("expires_at", 0) > self._clock()
        if not (self.by_hub and fresh and isinstance(name, str) and isinstance(lasting, str)):
            return None
        return self._member(name, lasting)

    def _member(self, name: str, lasting: str) -> Member:
        voter = self._mac(f"voter {self._settings.sign_in} {lasting}")[:16]
        return Member(name, voter, admin=name in self._settings.admins)

    def _proof(self, name: str, until: str) -> str:
        return self._mac(f"token {until} {self._settings.users.get(name)} {name}")

    def _mac(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()
