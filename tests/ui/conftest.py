"""The app that most tests of this folder visit: the three demo models, short answers."""

from __future__ import annotations

import pytest

from tests.ui.raw_client import Visitor
from tests.ui.server import serving

_CONFIG = """
snapshot_seconds = 1
[sampling]
max_new_tokens = 48
"""


@pytest.fixture(scope="session")
def app(tmp_path_factory):
    """The running app, see `server.Served`."""
    with serving(tmp_path_factory.mktemp("app"), _CONFIG) as served:
        yield served


@pytest.fixture
def visitor(app):
    """Somebody new, without a browser."""
    return Visitor(app.url)
