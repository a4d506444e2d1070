"""Which battles may be shown while people still vote, as SQL conditions on ``battles``."""

from __future__ import annotations

from typing import Literal

Hidden = Literal["nothing", "rounds", "stored"]

VISIBLE: dict[Hidden, str] = {
    "nothing": "true",
    "rounds": "origin <> 'arena' or battle in (select battle from reveals)",
    "stored": "origin = 'arena' and battle in (select battle from reveals)",
}
