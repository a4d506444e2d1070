"""A model runs on the weights of its checkpoint, all of them, or not at all."""

from __future__ import annotations

import importlib.util
import json
import shutil
from dataclasses import replace

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BitsAndBytesConfig, LlamaConfig, LlamaForCausalLM

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.generation import checkpoints
from coupled_arena.generation.huggingface import load_model
from coupled_arena.generation.vocabulary import _byte_alphabet
from coupled_arena.store.database import Store
from tests.families import first_of
from tests.small_models import TOKENS, tokenizer

AWQ = {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True}
FP8 = {"quant_method": "fp8", "weight_block_size": [32, 32], "activation_scheme": "dynamic"}
UP = "model.layers.1.mlp.up_proj"
without_gptqmodel = pytest.mark.skipif(
    importlib.util.find_spec("gptqmodel") is not None, reason="AWQ can be read here"
)
without_gpu = pytest.mark.skipif(
    torch.cuda.is_available(), reason="a GPU computes with 8-bit floats as they are"
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A network of two small layers, saved with a tokenizer of a thousand tokens."""
    folder = tmp_path_factory.mktemp("tiny") / "whole"
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    config = LlamaConfig(vocab_size=TOKENS, tie_word_embeddings=True, **sizes, **heads)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def changed(whole, tmp_path):
    """Write a copy with other tensors and another configuration; return its catalog entry."""

    def write(change, **configuration):
        folder = shutil.copytree(whole, tmp_path / "changed")
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        config = json.loads((folder / "config.json").read_text()) | configuration
        (folder / "config.json").write_text(json.dumps(config))
        return spec(folder)

    return write


def spec(folder, **changes):
    entry = {"name": "tiny", "folder": folder, "dtype": "float32", "device_map": "cpu"}
    return ModelSpec(**{**entry, **changes})


def nothing(tensors):
    pass


def projections(tensors):
    return [name for name in tensors if name.endswith("_proj.weight")]


def as_awq(tensors):
    for name in projections(tensors):
        outputs, inputs = tensors.pop(name).shape
        layer = name.removesuffix("weight")
        tensors[layer + "qweight"] = torch.zeros(inputs, outputs // 8, dtype=torch.int32)
        tensors[layer + "qzeros"] = torch.zeros(inputs // 32, outputs // 8, dtype=torch.int32)
        tensors[layer + "scales"] = torch.ones(inputs // 32, outputs, dtype=torch.float16)


def as_fp8(tensors):
    """Pack each block of 32 x 32 weights as 8-bit floats and one scale."""
    for name in projections(tensors):
        rows, columns = tensors[name].shape
        blocks = tensors[name].reshape(rows // 32, 32, columns // 32, 32)
        scales = blocks.abs().amax((1, 3)) / 448
        packed = (blocks / scales[:, None, :, None]).reshape(rows, columns)
        tensors[name] = packed.to(torch.float8_e4m3fn)
        tensors[name + "_scale_inv"] = scales


def refusal(capfd, wanted, cache):
    """Return the one line with which a model is refused, all that a person gets to see."""
    capfd.readouterr()
    with pytest.raises(ModelError) as caught:
        load_model(wanted, cache)
    assert capfd.readouterr().err == ""
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 500
    assert text.startswith(f"Model 'tiny' does not load from {wanted.folder}: ")
    return text.split(": ", 1)[1]


@pytest.mark.slow
def test_a_whole_checkpoint_loads_with_tied_embeddings(whole, tmp_path):
    assert "lm_head.weight" not in load_file(whole / "model.safetensors")
    model = load_model(spec(whole), tmp_path)
    network = model.network
    assert torch.equal(network.lm_head.weight, load_file(whole / "model.safetensors")[
        "model.embed_tokens.weight"])  # fmt: skip
    assert model.arithmetic["quantization"] == "none"
    assert model.arithmetic["dtype"] == "float32"


@without_gptqmodel
@pytest.mark.parametrize("quantization", ["none", "prequantized"])
def test_a_format_without_its_package_is_refused(changed, tmp_path, capfd, quantization):
    wanted = replace(changed(as_awq, quantization_config=AWQ), quantization=quantization)
    assert refusal(capfd, wanted, tmp_path) == (
        "its weights are quantized as awq (model.layers.0.mlp.down_proj.qweight, "
        "model.layers.0.mlp.down_proj.qzeros, model.layers.0.mlp.gate_proj.qweight and 25 more), "
        "which needs what is not installed: pip install gptqmodel, or have vLLM serve it "
        "(docs/model-servers.md)."
    )


@pytest.mark.parametrize(
    ("method", "packages"),
    [
        ("gptq", "gptqmodel optimum, or have vLLM serve it (docs/model-servers.md)"),
        ("compressed-tensors", "'coupled-arena[compressed-tensors]'"),
        ("torchao", "'coupled-arena[torchao]'"),
        ("aqlm", "aqlm"),
    ],
)
def test_every_format_names_its_packages(changed, tmp_path, capfd, method, packages, monkeypatch):
    monkeypatch.setattr(checkpoints, "find_spec", lambda module: None)
    wanted = changed(nothing, quantization_config={"quant_method": method, "bits": 4})
    assert refusal(capfd, wanted, tmp_path).endswith(f"not installed: pip install {packages}.")


def test_the_packages_of_formats_are_looked_up_by_names_that_exist():
    """What is looked up is a module's name, what is told is a package's: `bnb` has both here."""
    assert importlib.util.find_spec("bitsandbytes")
    for needed in checkpoints.PACKAGES.values():
        for module, package in needed.items():
            assert module.isidentifier()
            assert package.replace("-", "_").isidentifier()


def test_an_unknown_format_is_refused(changed, tmp_path, capfd):
    wanted = changed(as_awq, quantization_config={"quant_method": "squeeze"})
    assert "quantized as squeeze, which transformers " in refusal(capfd, wanted, tmp_path)


def test_a_format_that_nobody_names_is_refused(changed, tmp_path, capfd):
    assert refusal(capfd, changed(as_awq), tmp_path) == (
        "it lacks 14 weights of LlamaForCausalLM (model.layers.0.mlp.down_proj.weight, "
        "model.layers.0.mlp.gate_proj.weight, model.layers.0.mlp.up_proj.weight and 11 more), "
        "and holds in their place model.layers.0.mlp.down_proj.qweight, "
        "model.layers.0.mlp.down_proj.qzeros, model.layers.0.mlp.down_proj.scales and 39 more: "
        "it is quantized, but as none that its config.json names."
    )


def test_scales_that_nobody_would_apply_are_refused(changed, tmp_path, capfd):
    """No weight is missing here; without their scales they are other weights."""
    told = refusal(capfd, changed(as_fp8), tmp_path)
    assert "model.layers.0.mlp.down_proj.weight_scale_inv" in told
    assert told.endswith("14 tensors beside the weights of its layers, which it would not use.")


@without_gpu
@pytest.mark.parametrize("quantization", first_of("none", "prequantized"))
def test_a_quantized_checkpoint_runs_as_it_was_quantized(changed, tmp_path, whole, quantization):
    wanted = replace(changed(as_fp8, quantization_config=FP8), quantization=quantization)
    model = load_model(wanted, tmp_path)
    original = load_file(whole / "model.safetensors")[f"{UP}.weight"]
    loaded = model.network.get_parameter(f"{UP}.weight").float()
    # three bits behind the point round by a sixteenth at most, below the smallest normal number
    # by half of the smallest step
    step = original.abs().max() / 448 * 2.0**-10
    assert ((loaded - original).abs() <= original.abs() / 16 + step).all()
    assert not torch.equal(loaded, original)
    assert model.arithmetic["quantization"] == "fp8, unpacked when loaded"


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "threshold"), [(8, 6.0), (8, 0.0), (4, None)])
def test_a_checkpoint_of_bitsandbytes(whole, tmp_path, bits, threshold):
    """Its own outlier threshold decides whether battles may share a batch."""
    options = {"llm_int8_threshold": threshold} if bits == 8 else {}
    asked = BitsAndBytesConfig(load_in_8bit=bits == 8, load_in_4bit=bits == 4, **options)
    network = LlamaForCausalLM.from_pretrained(whole, device_map="cpu", quantization_config=asked)
    folder = shutil.copytree(whole, tmp_path / "saved")
    network.save_pretrained(folder)
    model = load_model(spec(folder), tmp_path)
    assert model.arithmetic["quantization"] == f"bitsandbytes_{bits}bit"
    assert "bitsandbytes" in model.arithmetic
    assert model.batchable == (threshold != 6.0)
    if bits == 8:
        assert model.arithmetic["llm_int8_threshold"] == f"{threshold:g}"


@pytest.mark.parametrize("quantization", ["bnb-4bit", "bnb-8bit"])
def test_a_quantized_checkpoint_is_not_quantized_again(changed, tmp_path, capfd, quantization):
    wanted = replace(changed(as_fp8, quantization_config=FP8), quantization=quantization)
    assert refusal(capfd, wanted, tmp_path) == (
        f"its weights are quantized as fp8 already, and {quantization} cannot follow; "
        "leave it out, or name a checkpoint in full precision."
    )


def test_a_checkpoint_that_is_not_prequantized(whole, tmp_path, capfd):
    told = refusal(capfd, spec(whole, quantization="prequantized"), tmp_path)
    assert told == "its config.json names no quantization; set quantization to none."


def test_a_missing_tensor_is_named(changed, tmp_path, capfd):
    wanted = changed(lambda tensors: tensors.pop(f"{UP}.weight"))
    assert (
        refusal(capfd, wanted, tmp_path) == f"it lacks 1 weight of LlamaForCausalLM ({UP}.weight)."
    )


def test_a_missing_embedding_is_named_with_what_is_tied_to_it(changed, tmp_path, capfd):
    wanted = changed(lambda tensors: tensors.pop("model.embed_tokens.weight"))
    assert "(lm_head.weight, model.embed_tokens.weight)" in refusal(capfd, wanted, tmp_path)


def test_a_tensor_of_another_shape_is_named(changed, tmp_path, capfd):
    wanted = changed(lambda tensors: tensors.update({f"{UP}.weight": torch.zeros(100, 64)}))
    assert refusal(capfd, wanted, tmp_path) == (
        f"1 weight has another shape than its config.json says ({UP}.weight is 100 x 64, "
        "not 128 x 64)."
    )


@without_gpu
def test_tensors_that_cannot_be_unpacked_are_named(changed, tmp_path, capfd):
    def spoil(tensors):
        as_fp8(tensors)
        tensors[f"{UP}.weight_scale_inv"] = torch.ones(3, 5)

    wanted = changed(spoil, quantization_config=FP8)
    with pytest.raises(ModelError) as caught:
        load_model(wanted, tmp_path)
    assert str(caught.value).endswith(f": transformers cannot unpack {UP}.weight.")
    assert "CONVERSION" not in capfd.readouterr().err


def test_tensors_of_no_layer_are_harmless(changed, tmp_path):
    """Old rotary buffers, or the eyes of a model of which only the words are used."""
    unused = {
        "model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(16),
        "model.layers.0.self_attn.k_scale": torch.ones(1),
        "vision_tower.layer.weight": torch.ones(3, 3),
    }
    assert load_model(changed(lambda tensors: tensors.update(unused)), tmp_path).name == "tiny"


def test_a_bias_that_the_network_would_not_add_is_refused(changed, tmp_path, capfd):
    told = refusal(
        capfd, changed(lambda tensors: tensors.update({f"{UP}.bias": torch.ones(128)})), tmp_path
    )
    assert f"{UP}.bias" in told


def write_gguf(path, lacking=""):
    """Write a network of one small layer over bytes."""
    tokens = [*_byte_alphabet(), "ab", "<|im_end|>"]
    file = gguf.GGUFWriter(path, "llama")
    file.add_block_count(1)
    file.add_context_length(128)
    file.add_embedding_length(32)
    file.add_feed_forward_length(64)
    file.add_head_count(2)
    file.add_head_count_kv(1)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_dimension_count(16)
    file.add_vocab_size(len(tokens))
    file.add_tokenizer_model("gpt2")
    file.add_token_list(tokens)
    file.add_token_types([gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.CONTROL])
    file.add_token_merges(["a b"])
    file.add_eos_token_id(257)
    shapes = {"token_embd": (258, 32), "output_norm": (32,)} | {
        f"blk.0.{name}": shape
        for name, shape in {
            **{"attn_norm": (32,), "attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32)},
            **{"attn_output": (32, 32), "ffn_norm": (32,), "ffn_gate": (64, 32)},
            **{"ffn_up": (64, 32), "ffn_down": (32, 64)},
        }.items()
    }
    for name in shapes.keys() - {lacking}:
        file.add_tensor(f"{name}.weight", np.ones(shapes[name], dtype=np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


@pytest.fixture(params=["gguf", "hub"])
def gguf_spec(request, tmp_path):
    """A catalog entry of a GGUF file here, or on the hub, for which a folder stands."""
    where = {"gguf": {"gguf": str(tmp_path / "m.gguf")},
             "hub": {"hub": str(tmp_path), "gguf": "m.gguf"}}[request.param]  # fmt: skip
    return ModelSpec(name="tiny", dtype="float32", device_map="cpu", **where)


def test_a_gguf_file_with_tied_embeddings(gguf_spec, tmp_path):
    """A local one is unpacked once, one on the hub at each start."""
    write_gguf(tmp_path / "m.gguf")
    model = load_model(gguf_spec, tmp_path / "cache")
    assert model.arithmetic["quantization"] == ("gguf" if gguf_spec.hub else "none")
    assert len(model.encode([{"role": "user", "content": "Hi"}])) == 2


def test_a_gguf_file_that_lacks_a_tensor(gguf_spec, tmp_path):
    """What is made up once would be kept in the cache for good."""
    write_gguf(tmp_path / "m.gguf", lacking="blk.0.ffn_up")
    told = (
        r"m\.gguf: it lacks 1 weight of LlamaForCausalLM \(model\.layers\.0\.mlp\.up_proj\.weight"
    )
    with pytest.raises(ModelError, match=told):
        load_model(gguf_spec, tmp_path / "cache")
    assert list((tmp_path / "cache").glob("*")) == []


@without_gptqmodel
def test_the_command_line_says_so_and_stores_nothing(changed, call, tmp_path):
    folder = changed(as_awq, quantization_config=AWQ).folder
    config, prompts, db = (tmp_path / name for name in ("a.toml", "prompts.txt", "arena.duckdb"))
    config.write_text(f'[[models]]\nname = "tiny"\nfolder = "{folder}"\n')
    prompts.write_text("Hi.\n")
    code, out, err = call(
        *("generate", "--config", config, "--prompts", prompts),
        *("--models", "tiny,tiny", "--db", db),
    )
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith(f"Error: Model 'tiny' does not load from {folder}: ")
    assert err.splitlines()[-1].endswith("have vLLM serve it (docs/model-servers.md).")
    assert [line for line in err.splitlines() if "Loading" not in line] == err.splitlines()[-1:]
    with Store.open(db) as store:
        assert store.version() == (0, 0, 0, 0)
