"""The example that comes with the package: a database of its own, which ends with its use."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from coupled_arena.core.settings import resource
from coupled_arena.store.transfer.export_tables import files_of
from coupled_arena.store.transfer.importing import import_files
from coupled_arena.store.transfer.snapshots import open_for_writing

FOLDER = "data/example"


@contextmanager
def example_database() -> Generator[Path]:
    """Make a database of the example, and delete it on leaving.

    Yields
    ------
    Path
        Its file.

    Raises
    ------
    SettingsError
        The installation lacks the example.
    """
    files = resource(FOLDER)
    with tempfile.TemporaryDirectory(prefix="coupled-arena-example-") as folder:
        path = Path(folder) / "example.duckdb"
        with open_for_writing(path) as store:
            import_files(store, files_of(files))
        yield path
