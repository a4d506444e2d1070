"""The documents tell every setting, and their example files are right."""

from __future__ import annotations

import re
import tomllib

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.settings import (
    BattleSettings,
    JudgeSettings,
    SamplingSettings,
    Settings,
    load_settings,
)
from tests.docs.pages import REPOSITORY, TEXTS, blocks, sections


def test_the_example_configurations_are_right(tmp_path):
    path = tmp_path / "arena.toml"
    (judge,) = blocks(TEXTS["docs/judge.md"], "toml")
    path.write_text(judge)
    assert load_settings(path).judge.name == "gpt"
    (example,) = blocks(TEXTS["docs/your-models.md"], "toml")
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
    tables = {"sampling", "battle", "judge", "models", "base"}
    wanted = Settings.model_fields.keys() - tables
    wanted |= SamplingSettings.model_fields.keys() | BattleSettings.model_fields.keys()
    environment = set(re.findall(r"COUPLED_ARENA_[A-Z_]+", hosting))
    assert first_cells(hosting) == wanted | environment
    source = (REPOSITORY / "coupled_arena/core/settings.py").read_text()
    assert environment == set(re.findall(r"^(COUPLED_ARENA_[A-Z_]+)", source, re.MULTILINE))
    live = sections(TEXTS["docs/judge.md"])["Live"]
    assert not [name for name in JudgeSettings.model_fields if not re.search(rf"\b{name}\b", live)]


def test_every_key_of_a_model_is_told():
    keys = first_cells(TEXTS["docs/your-models.md"])
    assert keys == {*ModelSpec.__dataclass_fields__, "like"}
