"""The example that comes with the package: a database of its own, which ends with its use."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from coupled_arena.core.choices import Reveals
from coupled_arena.core.guards import AnnotateSettings
from coupled_arena.core.settings import BackupSettings, JudgeSettings, Settings, resource
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


def example_settings(settings: Settings, path: Path) -> Settings:
    """Return the settings with which an arena shows the example.

    Neither does a judge cost anything there, nor does a backup keep anything.
    """
    rules = AnnotateSettings(reveal=Reveals.EACH)
    unused = {"backup": BackupSettings(), "judge": JudgeSettings()}
    return settings.model_copy(update={"db": path, "annotate": rules, **unused})
