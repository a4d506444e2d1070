"""Families of parameters of which the first stands for all in the default set."""

from __future__ import annotations

import pytest


def first_of(*values, keep=1):
    """Return parameters: the first ones in the default set, the others in the second."""
    return [*values[:keep], *map(_later, values[keep:])]


def _later(value):
    if isinstance(value, type(pytest.param())):
        marks = [*value.marks, pytest.mark.slow]
        return pytest.param(*value.values, marks=marks, id=value.id)
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
