"""Passwords, as what can be held against them and tells nobody what they are: scrypt (RFC 7914)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets

from coupled_arena.core.errors import SettingsError

SHORTEST = 8  # characters of a password
_LONGEST = 1000  # of what is read of one
_KIND = "scrypt"
_COST, _BLOCK, _LANES = 14, 8, 5  # 2**14: with 16 MB as hard to try as OWASP asks for
_HASH = re.compile(rf"{_KIND}:[\w-]{{22}}:[\w-]{{43}}")
_NOBODY = f"{_KIND}:{'A' * 22}:{'A' * 43}"


def is_hash(text: str) -> bool:
    """Tell whether a text is one that `hash_password` made."""
    return _HASH.fullmatch(text) is not None


def hash_password(password: str) -> str:
    """Return what stands for a password in the settings.

    Raises
    ------
    SettingsError
        It is too short, or too long.
    """
    if not SHORTEST <= len(password) <= _LONGEST:
        raise SettingsError(f"A password has {SHORTEST} to {_LONGEST} characters.")
    salt = secrets.token_bytes(16)
    return ":".join([_KIND, _text(salt), _text(_derived(password, salt))])


def matches(password: str, hashed: str | None) -> bool:
    """Tell whether a password is that of a hash; of nobody's, None, in the same time, that not."""
    _kind, salt, kept = (hashed or _NOBODY).split(":")
    derived = _derived(password[:_LONGEST], _bytes(salt))
    return hmac.compare_digest(derived, _bytes(kept)) and hashed is not None


def _derived(password: str, salt: bytes) -> bytes:
    given = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(given, salt=salt, n=1 << _COST, r=_BLOCK, p=_LANES, dklen=32)


def _text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return binascii.a2b_base64(text.translate(_STANDARD) + "=" * (-len(text) % 4))


_STANDARD = str.maketrans("-_", "+/")
