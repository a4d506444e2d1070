"""Names at the ends of lines: in order, apart, and under the figure's head."""

from __future__ import annotations

from itertools import pairwise

import pytest

from coupled_arena.views.figures.lines import apart, line_names
from coupled_arena.views.figures.theme import LIGHT, LINE


@pytest.mark.parametrize("wanted", [[99.0, 98, 97, 99, 96], [5.0, 100, 50, 100], [0.0]])
def test_names_are_apart_in_order_and_below_the_ceiling(wanted):
    placed = apart(wanted, [20] * len(wanted), ceiling=100)
    assert max(placed) <= 90
    by_wish = [place for _, place in sorted(zip(wanted, placed, strict=True))]
    assert all(above - below >= 20 - 1e-9 for below, above in pairwise(sorted(by_wish)))
    assert by_wish == sorted(by_wish)


def test_names_with_room_stay_where_their_lines_end():
    assert apart([10.0, 60], [20, 20], ceiling=100) == [10, 60]


def test_tall_names_take_their_own_room_and_equal_ones_stay_in_order():
    """Six models, of which one has a name of four lines, filled more than the figure's height."""
    heights = [32, 48, 48, 32, 32, 64]
    placed = apart([100.0] * 6, heights, ceiling=300)
    assert placed == [pytest.approx(at) for at in (204, 164, 116, 76, 44, -4)]
    edges = [(at - tall / 2, at + tall / 2) for at, tall in zip(placed, heights, strict=True)]
    assert all(low == pytest.approx(high) for (low, _), (_, high) in pairwise(edges))
    assert apart([], []) == []


@pytest.mark.parametrize(("end", "highest"), [(0.5, 131 + LINE), (1.0, 262)])
def test_names_of_lines_with_one_end_stand_below_each_other(end, highest):
    """Of 330 pixels the lower axis takes 68; names stay under what is above the plot."""
    lines = [("-", "red", name, end) for name in "abc"]
    found = line_names(lines, (0.0, 1.0), 330, LIGHT)
    low, high = found["range"]
    assert (low, high) == pytest.approx((-0.05, 1.05))
    wanted = (end - low) / (high - low) * (330 - 68)
    middles = [wanted + each["yshift"] for each in found["annotations"]]
    assert middles == pytest.approx([highest, highest - LINE, highest - 2 * LINE])
