"""A page in which time stands still."""

from __future__ import annotations

import pytest

from tests.ui.conftest import new_page
from tests.ui.static_page import static_page


@pytest.fixture(scope="module")
def stopped_page(browser):
    """A page whose clock goes on when the test says so."""
    opened = new_page(browser, "", {})
    opened.set_viewport_size({"width": 1440, "height": 900})
    opened.clock.install(time=1_000_000)
    static_page(opened)
    opened.clock.pause_at(2_000_000)
    yield opened
    opened.context.close()
