"""Values as JSON can hold them."""

from __future__ import annotations

import math
from typing import Any


def finite(value: Any) -> Any:
    """Return None for a number that JSON cannot hold, and any other value as it is."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
