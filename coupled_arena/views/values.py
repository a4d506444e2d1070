"""Values as JSON can hold them."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: None for NaN and infinity, Python's for numpy's."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {plain(key): plain(each) for key, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
