"""Who may sign in, as whom they then vote, and the cookie by which they are known."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from coupled_arena.core.guards import AccessSettings
from coupled_arena.core.passwords import matches
from coupled_arena.store.sign_in_files import SignedOut

SIGNED_IN = 14 * 24 * 3600  # seconds


@dataclass(frozen=True)
class Member:
    """Somebody who has signed in.

    Attributes
    ----------
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
    key : str
        The secret with which names become pseudonyms; whoever has it can tell who is who.
    clock : callable, optional
        Returns the time in seconds.
    signed_out : Path, optional
        A file of tokens that hold no more; without it they are forgotten when the server ends.

    Raises
    ------
    StoreError
        The file cannot be read.
    """

    def __init__(
        self,
        settings: AccessSettings,
        key: str,
        clock: Callable[[], float] = time.time,
        signed_out: Path | None = None,
    ) -> None:
        self.required = settings.sign_in != "none" and settings.required
        self.by_password = settings.sign_in == "password"
        self.by_hub = settings.sign_in == "hub"
        self.may_decide = bool(settings.admins)
        self._settings = settings
        self._key = key.encode()
        self._clock = clock
        self._ended = SignedOut(signed_out, clock())

    def knows(self, name: str, password: str) -> bool:
        """Tell whether a password is somebody's; takes as long for a name that nobody has."""
        return matches(password, self._settings.users.get(name))

    def token(self, name: str) -> str:
        """Return what proves for some time that somebody has signed in on one device."""
        until = f"{int(self._clock()) + SIGNED_IN}.{secrets.token_hex(8)}"
        return f"{quote(name, safe='')}.{until}.{self._proof(name, until)}"

    def of_token(self, token: str) -> Member | None:
        """Return whose token this is; nobody's if it is over, forged, or of an old password."""
        name, until = self._read(token)
        return self._member(name, name) if until and token not in self._ended else None

    def sign_out(self, token: str) -> None:
        """Let a token hold no more; those of the same person on other devices still do.

        Raises
        ------
        StoreError
            This cannot be kept on disk.
        """
        _name, until = self._read(token)
        if until:
            self._ended.add(token, until)

    def of_hub(self, session: Mapping[str, Any]) -> Member | None:
        """Return whom the hub has said that somebody is."""
        granted: Any = session.get("oauth_info") or {}
        info = granted.get("userinfo") or {}
        name, lasting = info.get("preferred_username"), info.get("sub")
        fresh = granted.get("expires_at", 0) > self._clock()
        if not (self.by_hub and fresh and isinstance(name, str) and isinstance(lasting, str)):
            return None
        return None if _text_of_grant(granted) in self._ended else self._member(name, lasting)

    def sign_out_of_hub(self, session: Mapping[str, Any]) -> None:
        """Let what the hub has said hold no more, for a browser's copy of it cannot be taken back.

        Raises
        ------
        StoreError
            This cannot be kept on disk.
        """
        if self.of_hub(session):
            granted = session["oauth_info"]
            self._ended.add(_text_of_grant(granted), math.ceil(granted["expires_at"]))

    def _read(self, token: str) -> tuple[str, int]:
        """Return the name of a genuine token, and when it is over; else 0."""
        parts = token.rsplit(".", 3)
        if not self.by_password or len(parts) < 4:
            return "", 0
        quoted, until, device, proof = parts
        name = unquote(quoted)
        if name not in self._settings.users or not until.isdecimal():
            return "", 0
        expected = self._proof(name, f"{until}.{device}")
        genuine = hmac.compare_digest(expected.encode(), proof.encode())
        return (name, int(until)) if genuine and int(until) > self._clock() else ("", 0)

    def _member(self, name: str, lasting: str) -> Member:
        voter = self._mac(f"voter {self._settings.sign_in} {lasting}")[:16]
        return Member(name, voter, admin=name in self._settings.admins)

    def _proof(self, name: str, until: str) -> str:
        return self._mac(f"token {until} {self._settings.users.get(name)} {name}")

    def _mac(self, text: str) -> str:
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()


def _text_of_grant(granted: Mapping[str, Any]) -> str:
    """Return what tells one thing that the hub has said from all others."""
    return json.dumps(granted, sort_keys=True, default=str)
