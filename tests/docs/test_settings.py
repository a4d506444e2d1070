"""The documents tell every setting, and their example files are right."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.guards import (
    AccessSettings,
    AnnotateSettings,
    LimitSettings,
    NamingSettings,
    VoteSettings,
)
from coupled_arena.core.settings import (
    BackupSettings,
    BattleSettings,
    JudgeSettings,
    SamplingSettings,
    Settings,
    TaskSettings,
    load_settings,
)
from tests.docs.pages import REPOSITORY, TEXTS, blocks, sections


def test_the_example_configurations_are_right(tmp_path):
    path = tmp_path / "arena.toml"
    (judge,) = blocks(TEXTS["docs/judge.md"], "toml")
    path.write_text(judge)
    assert load_settings(path).judge.name == "gpt"
    (backup,) = blocks(TEXTS["docs/hosting.md"], "toml")
    path.write_text(backup)
    assert load_settings(path).backup.folder == Path("/backup")
    for page in ("docs/your-models.md", "docs/model-servers.md"):
        for example in blocks(TEXTS[page], "toml"):
            path.write_text(example)
            catalog = load_settings(path).catalog
            assert catalog.problems == ()
            assert [spec.name for spec in catalog.models] == [
                model["name"] for model in tomllib.loads(example)["models"]
            ]


def first_cells(section):
    rows = re.findall(r"^\| (`[^|]+`) \|", section, flags=re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    return {name for name in names if not name.startswith("[")}


def test_every_setting_is_told():
    hosting = sections(TEXTS["docs/hosting.md"])["Settings"]
    tables = {
        "sampling",
        "battle",
        "judge",
        "backup",
        "limits",
        "access",
        "votes",
        "naming",
        "annotate",
        "tasks",
    }
    wanted = Settings.model_fields.keys() - tables - {"models", "base"}
    guards = LimitSettings, AccessSettings, VoteSettings, NamingSettings, AnnotateSettings
    for table in (SamplingSettings, BattleSettings, BackupSettings, TaskSettings, *guards):
        wanted |= table.model_fields.keys()
    environment = set(re.findall(r"COUPLED_ARENA_[A-Z_]+", hosting))
    assert first_cells(hosting) == wanted | environment
    source = (REPOSITORY / "coupled_arena/core/settings.py").read_text()
    assert environment == set(re.findall(r"^(COUPLED_ARENA_[A-Z_]+)", source, re.MULTILINE))
    live = sections(TEXTS["docs/judge.md"])["Live"]
    assert not [name for name in JudgeSettings.model_fields if not re.search(rf"\b{name}\b", live)]


def test_every_key_of_a_model_is_told():
    keys = first_cells(TEXTS["docs/your-models.md"])
    assert keys == {*ModelSpec.__dataclass_fields__, "like"}


def test_the_image_sets_what_it_says(monkeypatch):
    """Nothing here builds it; what it hands to the program is read as there."""
    image = (REPOSITORY / "Dockerfile").read_text()
    for name, value in re.findall(r"(COUPLED_ARENA_[A-Z_]+)=(\S+)", image):
        monkeypatch.setenv(name, value)
    settings = load_settings()
    (exposed,) = re.findall(r"^EXPOSE (\d+)$", image, re.MULTILINE)
    assert (settings.host, settings.port) == ("0.0.0.0", int(exposed))
    assert f"app_port: {exposed}\n" in TEXTS["README.md"]
    assert f"mkdir {settings.db.parent} && chown user {settings.db.parent}" in image
    assert image.rstrip().endswith('CMD ["python", "app.py"]')  # no shell between it and signals
    assert str(settings.db) in TEXTS["docs/hosting.md"]
