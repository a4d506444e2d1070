"""Checkpoints that somebody else has quantized, made here from the demo's weights."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import sysconfig

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, GptOssConfig, GptOssForCausalLM

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.records import Sampling
from coupled_arena.generation.huggingface import load_model
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.running import Contender, Request
from coupled_arena.generation.weights import local_folder
from tests.small_models import NAMES, TOKENS, save_small_models


@pytest.fixture(scope="module")
def weights(demo_catalog, weights_cache):
    return local_folder(demo_catalog.enabled[0], weights_cache)


@torch.no_grad()
def compress(weights, scheme, folder):
    """Save the network rounded to the nearest step of its scheme, in compressed-tensors."""
    from compressed_tensors.compressors import ModelCompressor
    from compressed_tensors.quantization import (
        QuantizationConfig,
        apply_quantization_config,
        preset_name_to_scheme,
    )
    from compressed_tensors.quantization.utils import calculate_qparams

    network = AutoModelForCausalLM.from_pretrained(weights, dtype=torch.float32)
    rule = preset_name_to_scheme(scheme, ["Linear"])
    if rule.weights.group_size:
        rule.weights.group_size = 64  # 576 columns have no groups of 128
    config = QuantizationConfig(config_groups={"all": rule}, ignore=["lm_head"])
    apply_quantization_config(network, config)
    for layer in network.modules():
        if hasattr(layer, "weight_scale"):
            rows = layer.weight.reshape(len(layer.weight), -1, rule.weights.group_size or 1)
            groups = rows if rule.weights.group_size else rows.reshape(len(rows), 1, -1)
            scale, zero = calculate_qparams(groups.amin(-1), groups.amax(-1), rule.weights)
            layer.weight_scale.copy_(scale.reshape(layer.weight_scale.shape))
            if hasattr(layer, "weight_zero_point"):
                layer.weight_zero_point.copy_(zero.reshape(layer.weight_zero_point.shape))
    compressor = ModelCompressor.from_pretrained_model(network)
    compressor.compress_model(network)
    network.save_pretrained(folder)
    compressor.update_config(folder)
    AutoTokenizer.from_pretrained(weights).save_pretrained(folder)


@pytest.mark.parametrize(
    ("scheme", "bits", "worst"),
    [
        ("W4A16", 4, 1.5),  # to the nearest of 16 steps, without a look at any data
        pytest.param("W8A8", 8, 1.1, marks=pytest.mark.slow),
        pytest.param("FP8_DYNAMIC", 8, 1.1, marks=pytest.mark.slow),
    ],
)
def test_compressed_tensors(weights, demo_models, tmp_path, scheme, bits, worst):
    """It runs as it was quantized: packed, near its parent, coupled with it."""
    compress(weights, scheme, tmp_path / scheme)
    spec = ModelSpec(
        name=scheme, folder=tmp_path / scheme, dtype="float32", quantization="prequantized"
    )
    packed = load_model(spec, tmp_path)
    full = next(iter(demo_models.values()))
    assert packed.arithmetic["quantization"] == "compressed-tensors"
    # All but the embeddings, which are in 4 bytes: 28,311,552 of 134,515,008 weights.
    share = 28_311_552 / 134_515_008
    expected = 4 * share + bits / 8 * (1 - share)
    assert packed.fingerprint.bytes_per_weight == pytest.approx(expected, rel=0.05)
    assert 1 < packed.perplexity / full.perplexity < worst
    prompt = full.encode([{"role": "user", "content": "What is the capital of France?"}])
    both = tuple(Contender(name, 7, prompt) for name in (full.name, scheme))
    engine = LockstepEngine({full.name: full, scheme: packed})
    (battle,) = decode(engine, [Request(both, Sampling(temperature=0.2, max_new_tokens=8))])
    assert [text[:3] for text in battle.texts] == ["The", "The"]


def save_mxfp4(folder):
    """Save a network as gpt-oss is published: experts in 4 bits, 32 of them to a scale."""
    sizes = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "head_dim": 32}
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    network = GptOssForCausalLM(GptOssConfig(vocab_size=TOKENS, **sizes, **experts, **heads))
    network.save_pretrained(folder)
    tensors = load_file(folder / "model.safetensors")
    random = torch.Generator().manual_seed(7)
    for name in [name for name in tensors if name.endswith(("gate_up_proj", "down_proj"))]:
        count, inputs, outputs = tensors.pop(name).shape
        groups = (count, outputs, inputs // 32)
        drawn = {"dtype": torch.uint8, "generator": random}
        tensors[f"{name}_blocks"] = torch.randint(256, (*groups, 16), **drawn)
        tensors[f"{name}_scales"] = torch.randint(118, 122, groups, **drawn)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4"}
    (folder / "config.json").write_text(json.dumps(config))
    return tensors


# OCP Microscaling Formats (MX) Specification v1.0, table 5: the magnitudes of E2M1.
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU computes with 4 bits as they are")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_mxfp4_is_unpacked_and_says_so(tmp_path, capfd, caplog, dtype):
    """To the last bit: two magnitudes of three bits and a sign a byte, times a power of two."""
    save_small_models(tmp_path, NAMES[:1])
    folder = tmp_path / NAMES[0]
    tensors = save_mxfp4(folder)
    capfd.readouterr()
    spec = ModelSpec(
        name="moe", folder=folder, dtype=dtype, device_map="cpu", quantization="prequantized"
    )
    with caplog.at_level(logging.WARNING):
        model = load_model(spec, tmp_path)
    assert capfd.readouterr().err == ""
    assert [record.getMessage() for record in caplog.records] == [
        "moe is unpacked, since cpu computes with no mxfp4: it takes the memory of full precision"
    ]
    assert model.arithmetic["quantization"] == "mxfp4, unpacked when loaded"
    assert model.arithmetic["dtype"] == dtype
    values = torch.cat([E2M1, -E2M1])
    for name in [name for name in tensors if name.endswith("_blocks")]:
        packed = tensors[name].long()
        scales = torch.exp2(tensors[name.replace("blocks", "scales")] - 127.0)
        rows = values[torch.stack([packed & 15, packed >> 4], dim=-1)].flatten(3)
        expected = (rows * scales[..., None]).flatten(2).transpose(1, 2)
        loaded = model.network.get_parameter(name.removesuffix("_blocks"))
        assert torch.equal(loaded.float(), expected)
    prompt = model.encode([{"role": "user", "content": "Hello"}])
    asked = Request((Contender("moe", 7, prompt),), Sampling(max_new_tokens=4))
    (battle,) = decode(LockstepEngine({"moe": model}), [asked])
    assert battle.error is None


@pytest.mark.slow
def test_torchao(weights, tmp_path):
    """In an environment on top of this one, which it would else slow down and fill with lines."""
    above = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", above], check=True)
    python = above / "bin" / "python"
    version = sysconfig.get_python_version()
    site = above / "lib" / f"python{version}" / "site-packages" / "below.pth"
    site.write_text(sysconfig.get_path("purelib"))
    wanted = ["-q", "--no-deps", "torchao==0.18.0"]
    subprocess.run([python, "-m", "pip", "install", *wanted], check=True)
    made = """
import sys
from transformers import AutoModelForCausalLM, AutoTokenizer, TorchAoConfig
from torchao.quantization import Int8WeightOnlyConfig
weights, folder = sys.argv[1:]
packing = TorchAoConfig(Int8WeightOnlyConfig())
network = AutoModelForCausalLM.from_pretrained(weights, quantization_config=packing)
network.save_pretrained(folder)
AutoTokenizer.from_pretrained(weights).save_pretrained(folder)
"""
    folder = tmp_path / "int8"
    subprocess.run([python, "-c", made, weights, folder], check=True)
    entry = '[[models]]\nname = "{}"\nfolder = "{}"\ndtype = "float32"\n'
    config = tmp_path / "arena.toml"
    variant = f'{entry.format("int8", folder)}like = "full"\nquantization = "prequantized"\n'
    config.write_text(entry.format("full", weights) + variant)
    command = ["models", "check", "--config", config, "--json"]
    told = subprocess.run(
        [python, "-m", "coupled_arena", *command], check=True, capture_output=True, text=True
    )
    lines = [line for line in told.stderr.splitlines() if not line.startswith(("Load", "int8"))]
    assert lines == []
    lines = told.stderr.splitlines()
    assert [line for line in lines if not line.startswith(("Loading ", "Loaded "))] == []
    full, int8 = json.loads(told.stdout)["models"]
    assert int8["bytes_per_weight"] < 1.7 < full["bytes_per_weight"]
    assert 0.95 < int8["perplexity"] / full["perplexity"] < 1.05
