"""GGUF files are unpacked tensor by tensor, into the numbers that the library makes of them."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import gguf
import numpy as np
import pytest
import torch
from gguf.quants import _type_traits
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.generation import weights
from coupled_arena.generation.weights import unpack
from tests.families import first_of

# Random blocks have scales that are no numbers; their bits are compared.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value")

WIDTH, WORDS, LAYERS = 256, 300, 2
MATRICES = {
    "attn_q": (WIDTH, WIDTH),
    "attn_k": (WIDTH // 2, WIDTH),
    "attn_v": (WIDTH // 2, WIDTH),
    "attn_output": (WIDTH, WIDTH),
    "ffn_gate": (2 * WIDTH, WIDTH),
    "ffn_up": (2 * WIDTH, WIDTH),
    "ffn_down": (WIDTH, 2 * WIDTH),
}


def write(path, kind, layers=LAYERS, without=(), words=WORDS, spelled=False):
    """Write a Llama of random blocks: heads of which two share keys, rotated as GGUF has them.

    A file that spells its words names their number nowhere else.
    """
    random = np.random.default_rng(kind.value)
    size, stored = gguf.GGML_QUANT_SIZES[kind]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random")
    writer.add_block_count(layers)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_context_length(64)
    if spelled:
        writer.add_tokenizer_model("llama")
        writer.add_token_list([f"word{number}" for number in range(words)])
        writer.add_token_scores([-float(number) for number in range(words)])
        writer.add_token_types([gguf.TokenType.NORMAL] * words)
    else:
        writer.add_vocab_size(words)
    writer.add_layer_norm_rms_eps(1e-5)

    def matrix(name, rows, columns):
        packed = random.integers(0, 256, (rows, columns // size * stored), dtype=np.uint8)
        if name not in without:
            writer.add_tensor(f"{name}.weight", packed, raw_dtype=kind)

    def vector(name):
        writer.add_tensor(f"{name}.weight", random.standard_normal(WIDTH).astype(np.float32))

    matrix("token_embd", words, WIDTH)
    vector("output_norm")
    for layer in range(layers):
        for name, shape in MATRICES.items():
            matrix(f"blk.{layer}.{name}", *shape)
        vector(f"blk.{layer}.attn_norm")
        vector(f"blk.{layer}.ffn_norm")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def by_the_library(path, dtype):
    config = AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
    with torch.device("meta"):
        network = AutoModelForCausalLM.from_config(config)
    read = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=network)
    return {name: tensor.to(dtype) for name, tensor in read["tensors"].items()}


def bits(tensor):
    return tensor.contiguous().view(torch.uint8).numpy().tobytes()


KINDS = [gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16, *_type_traits]


@pytest.mark.parametrize("dtype", first_of(torch.float32, torch.bfloat16), ids=str)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_of_block_becomes_the_same_bits(kind, dtype, tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "_CHUNK", 5000)  # several parts of every matrix
    path = write(tmp_path / "random.gguf", kind)
    unpack(path, tmp_path / "made", "random", dtype)
    made, expected = load_file(tmp_path / "made" / "model.safetensors"), by_the_library(path, dtype)
    assert made.keys() == expected.keys()
    for name, tensor in made.items():
        assert tensor.dtype == dtype
        assert tensor.shape == expected[name].shape
        assert bits(tensor) == bits(expected[name]), name


@pytest.mark.parametrize("dtype", first_of(torch.bfloat16, torch.float32), ids=str)
def test_an_embedding_is_never_held_whole(dtype, tmp_path, monkeypatch):
    """NumPy and Python together take less than half of what it takes in 16 bits."""
    monkeypatch.setattr(weights, "_CHUNK", 1 << 16)
    kind, words = gguf.GGMLQuantizationType.Q8_0, 40_000
    unpack(write(tmp_path / "small.gguf", kind), tmp_path / "small", "small", dtype)  # imports
    path = write(tmp_path / "random.gguf", kind, words=words)
    tracemalloc.start()
    try:
        unpack(path, tmp_path / "made", "random", dtype)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < words * WIDTH * 2 / 2


# What the process held at most, after a first small file and after the one measured.
PEAKS = """
import re, sys
from pathlib import Path
import torch
from coupled_arena.generation.weights import unpack
def peak():
    return int(re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[0]) * 1024
small, large, folder, dtype = sys.argv[1:]
for number, path in enumerate((small, large)):
    unpack(Path(path), Path(folder, str(number)), "random", getattr(torch, dtype))
    print(peak())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak")
@pytest.mark.parametrize("words", [130_000, 400_000])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_small_model_with_many_words_takes_no_more_than_half_again(dtype, words, tmp_path):
    """As Gemma's 270M: most weights are the embedding, and each word is spelled."""
    kind = gguf.GGMLQuantizationType.Q8_0
    small = write(tmp_path / "small.gguf", kind, spelled=True)
    large = write(tmp_path / "large.gguf", kind, words=words, spelled=True)
    command = [sys.executable, "-c", PEAKS, small, large, tmp_path, dtype]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    before, peak = map(int, told.split())
    made = (tmp_path / "1" / "model.safetensors").stat().st_size
    assert peak - before <= 1.5 * made


def test_the_library_reads_the_same_configuration_without_the_words(tmp_path):
    """The words tell how many there are, and numbers that are a list stay what they are."""
    path = write(tmp_path / "random.gguf", gguf.GGMLQuantizationType.Q8_0, spelled=True)
    whole = load_gguf_checkpoint(str(path))
    reader = gguf.GGUFReader
    with weights.compact_metadata():
        compact = load_gguf_checkpoint(str(path))
    assert gguf.GGUFReader is reader
    assert compact["config"] == whole["config"]
    assert compact["config"]["vocab_size"] == WORDS
    assert compact["tokenizer"]["scores"] == whole["tokenizer"]["scores"]
    assert set(compact["tokenizer"]["tokens"]) == {""}


@pytest.mark.parametrize("chunk", [1000, 1 << 22])
def test_a_matrix_is_dequantized_in_parts(chunk, tmp_path, monkeypatch):
    asked, dequantize = [], gguf.dequantize

    def dequantize_some(data, kind):
        made = dequantize(data, kind)
        asked.append(made.size)
        return made

    monkeypatch.setattr(weights, "dequantize", dequantize_some)
    monkeypatch.setattr(weights, "_CHUNK", chunk)
    path = write(tmp_path / "random.gguf", gguf.GGMLQuantizationType.Q8_0)
    unpack(path, tmp_path / "made", "random", torch.float32)
    assert max(asked) == (3 * WIDTH if chunk == 1000 else 2 * WIDTH * WIDTH)


def test_a_file_that_lacks_a_tensor_is_refused(tmp_path):
    kind = gguf.GGMLQuantizationType.Q8_0
    path = write(tmp_path / "less.gguf", kind, without={"blk.1.ffn_up"})
    with pytest.raises(ModelError, match=r"it lacks 1 weight of .*layers\.1\.mlp\.up_proj"):
        unpack(path, tmp_path / "made", "less", torch.float32)


def test_a_folder_holds_the_numbers_asked_for_and_the_widest_serves_all(tmp_path, monkeypatch):
    made = []

    def stand_in(source, target, name, dtype):
        made.append(dtype)
        target.mkdir(parents=True)

    monkeypatch.setattr(weights, "_unpack", stand_in)
    path = write(tmp_path / "a.gguf", gguf.GGMLQuantizationType.Q8_0)
    narrow, wide = (
        ModelSpec(name=dtype, gguf=str(path), dtype=dtype) for dtype in ("bfloat16", "float32")
    )
    cache = tmp_path / "cache"
    folder = weights.local_folder(narrow, cache)
    assert folder.name.endswith("-bfloat16")
    assert weights.local_folder(narrow, cache) == folder
    whole = weights.local_folder(wide, cache)
    assert whole != folder
    assert made == [torch.bfloat16, torch.float32]
    folder.rmdir()
    assert weights.local_folder(narrow, cache) == whole
