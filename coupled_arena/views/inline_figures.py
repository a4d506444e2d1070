"""Small pictures in the rows of tables: an interval as a bar, a number over time as a line.

They are SVG without script, in the colours of the text around them. All rows of a table share one
scale. Nothing here knows what the numbers mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from markupsafe import Markup

_STEP = 0.05  # ends of a scale are multiples of it
_LINE = Markup(
    '<svg class="sparkline" width="96" height="26" viewBox="0 0 96 26" role="img" '
    'aria-label="{label}"><title>{label}</title><path class="ribbon" d="{ribbon}"/>{even}'
    '<path class="over-time" d="{line}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/></svg>'
)
_BAR = Markup(
    '<svg class="interval" height="14" aria-hidden="true">'
    '<line class="axis" x1="0" x2="100%" y1="7" y2="7"/>{even}'
    '<rect x="{low:.2f}%" width="{wide:.2f}%" y="4" height="6" rx="3"/>'
    '<circle cx="{at:.2f}%" cy="7" r="4"/></svg>'
)
_EVEN_BAR = Markup('<line class="even" x1="{0:.2f}%" x2="{0:.2f}%" y1="0" y2="14"/>')
_EVEN_LINE = Markup('<line class="even" x1="0" x2="96" y1="{0:.1f}" y2="{0:.1f}"/>')


@dataclass(frozen=True)
class Scale:
    """The part of 0 to 1 that the rows of a table show."""

    low: float
    high: float

    @classmethod
    def of(cls, intervals: Iterable[tuple[float, float]]) -> Self:
        """Return the smallest scale with round ends that holds all intervals."""
        ends = [*intervals] or [(0.0, 1.0)]
        low = math.floor(min(low for low, _ in ends) / _STEP) * _STEP
        high = math.ceil(max(high for _, high in ends) / _STEP) * _STEP
        return cls(max(low, 0.0), min(max(high, low + _STEP), 1.0))

    def place(self, value: float) -> float:
        """Return where a value lies, from 0 to 1: what is beyond an end lies there."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    @property
    def even(self) -> float | None:
        """Where one half lies; None where the scale does not reach it."""
        return self.place(0.5) if self.low < 0.5 < self.high else None


def interval_bar(value: float, low: float, high: float, scale: Scale) -> Markup:
    """Return an interval as a bar, with a dot at the estimate; numbers beside it say the same."""
    begin, end = scale.place(low), scale.place(high)
    even = Markup("") if scale.even is None else _EVEN_BAR.format(100 * scale.even)
    places = {"low": 100 * begin, "wide": 100 * (end - begin), "at": 100 * scale.place(value)}
    return _BAR.format(even=even, **places)


def over_time(
    points: Sequence[tuple[float, float, float, float]], scale: Scale, label: str
) -> Markup:
    """Return a line with a ribbon around it; nothing of fewer than two points.

    Parameters
    ----------
    points : sequence of (float, float, float, float)
        Where it lies in time, from any beginning; the estimate; its interval.
    """
    if len(points) < 2:
        return Markup("")
    shape = ribbon(points, scale, Frame(2, 92, 1, 25))
    even = Markup("") if shape.even is None else _EVEN_LINE.format(shape.even)
    x, y = shape.dots[-1]
    return _LINE.format(label=label, ribbon=shape.around, line=shape.line, even=even, x=x, y=y)


@dataclass(frozen=True)
class Frame:
    """Where a line lies in its picture: from left to right, and from top to bottom."""

    left: float
    right: float
    top: float
    bottom: float


@dataclass(frozen=True)
class Ribbon:
    """A line with its ribbon as paths of SVG; its dots; how far down one half lies, if shown."""

    line: str
    around: str
    dots: tuple[tuple[float, float], ...]
    even: float | None


def ribbon(
    points: Sequence[tuple[float, float, float, float]], scale: Scale, frame: Frame
) -> Ribbon:
    """Return a line over time within a frame; of points as `over_time` takes them, two or more."""
    first, last = points[0][0], points[-1][0]
    width = (frame.right - frame.left) / max(last - first, 1e-9)
    across = [frame.left + width * (when - first) for when, *_ in points]

    def down(value: float) -> float:
        return frame.bottom - (frame.bottom - frame.top) * scale.place(value)

    def path(heights: Iterable[float], along: Iterable[float]) -> str:
        return "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(along, heights, strict=True))

    line = [down(value) for _, value, _, _ in points]
    upper = path((down(high) for *_, high in points), across)
    lower = path((down(low) for _, _, low, _ in reversed(points)), reversed(across))
    return Ribbon(
        line=f"M{path(line, across)}",
        around=f"M{upper}L{lower}Z",
        dots=tuple(zip(across, line, strict=True)),
        even=None if scale.even is None else down(0.5),
    )
