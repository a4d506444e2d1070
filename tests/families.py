"""Families of parameters of which the first stands for all in the default set."""

from __future__ import annotations

import pytest


def first_of(first, *others):
    """Return parameters: the first in the default set, the others in the second."""
    rows = (each if isinstance(each, tuple) else (each,) for each in others)
    return [first, *(pytest.param(*row, marks=pytest.mark.slow) for row in rows)]
