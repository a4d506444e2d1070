"""Each broken checkpoint is refused in one line that names it and says what to do; others start."""

from __future__ import annotations

import json
import logging
import pickle
import shutil
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import LlamaForSequenceClassification, ViTConfig, ViTForImageClassification
from transformers.utils.logging import disable_progress_bar

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.settings import load_settings
from coupled_arena.generation.loading import load, load_enabled
from tests.small_models import NAMES, TOKENS, _network, catalog_of, save_small_models

WEIGHTS, UP = "model.safetensors", "model.layers.1.mlp.up_proj.weight"
ADAPTER = {"peft_type": "LORA", "base_model_name_or_path": "lab/whole", "r": 8}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    disable_progress_bar()
    folder = tmp_path_factory.mktemp("whole")
    save_small_models(folder, NAMES[:2])
    return folder


def configure(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def retensor(folder, change):
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


def empty(folder):
    for path in folder.iterdir():
        path.unlink()


def without_a_shard(folder):
    (folder / WEIGHTS).unlink()
    _network(NAMES[0]).save_pretrained(folder, max_shard_size="200KB")
    sorted(folder.glob("model-*.safetensors"))[0].unlink()


def half_an_index(folder):
    (folder / WEIGHTS).rename(folder / "model-00001-of-00001.safetensors")
    (folder / f"{WEIGHTS}.index.json").write_text('{"weight_map": {')


def cut_short(folder):
    content = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(content[: len(content) // 2])


def git_pointer(folder):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0a\nsize 99\n"
    (folder / WEIGHTS).write_text(pointer)


class Hostile:
    def __reduce__(self):
        return Path("ran").touch, ()


def pickled_code(folder):
    (folder / WEIGHTS).unlink()
    with (folder / "pytorch_model.bin").open("wb") as stream:
        torch.save({"a": Hostile()}, stream, pickle_module=pickle)


def pickled_half(folder):
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80")


def adapter_alone(folder):
    empty(folder)
    (folder / "adapter_config.json").write_text(json.dumps(ADAPTER))
    save_file({"q_proj.lora_A.weight": torch.zeros(8, 64)}, folder / "adapter_model.safetensors")


def adapter_beside(folder):
    (folder / "adapter_config.json").write_text(json.dumps(ADAPTER))


def gguf_in_a_folder(folder):
    empty(folder)
    (folder / "model.gguf").write_bytes(b"GGUF")


def code_of_its_own(folder):
    """Known by no release, and ready to run: the classes are there, and leave a mark."""
    names = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnForCausalLM"}
    configure(folder, model_type="own", architectures=["OwnForCausalLM"], auto_map=names)
    (folder / "own.py").write_text(
        "import pathlib\npathlib.Path('ran').touch()\n"
        "from transformers import LlamaConfig, LlamaForCausalLM\n"
        "class OwnConfig(LlamaConfig):\n    model_type = 'own'\n"
        "class OwnForCausalLM(LlamaForCausalLM):\n    config_class = OwnConfig\n"
    )


def tokenizer_with_code(folder):
    path = folder / "tokenizer_config.json"
    names = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", None]}}
    path.write_text(json.dumps(json.loads(path.read_text()) | names))
    (folder / "tokenizer.json").unlink()
    (folder / "own.py").write_text("import pathlib\npathlib.Path('ran').touch()\nclass Own: pass\n")


def without_tokenizer(folder):
    for path in [*folder.glob("tokenizer*"), *folder.glob("*.jinja")]:
        path.unlink()


def words(folder, change):
    path = folder / "tokenizer.json"
    built = json.loads(path.read_text())
    kept = change(built["model"]["vocab"])
    built["model"]["vocab"] = kept
    merges = [pair for pair in built["model"]["merges"] if "".join(pair) in kept]
    built["model"]["merges"] = merges
    path.write_text(json.dumps(built))


def untrained_mark(folder):
    path = folder / "tokenizer.json"
    built = json.loads(path.read_text())
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    mark = {"id": TOKENS, "content": "<|mark|>", "special": True}
    built["added_tokens"].append(mark | flags)
    path.write_text(json.dumps(built))


def untrained_mark_in_use(folder):
    untrained_mark(folder)
    path = folder / "chat_template.jinja"
    path.write_text("<|mark|>" + path.read_text())


def vision(folder):
    for name in (WEIGHTS, "config.json"):
        (folder / name).unlink()
    sizes = {"hidden_size": 32, "intermediate_size": 32, "image_size": 32, "patch_size": 16}
    config = ViTConfig(num_hidden_layers=1, num_attention_heads=2, **sizes)
    ViTForImageClassification(config).save_pretrained(folder)


def reward(folder):
    """Its embeddings could serve as the output layer, and nothing would be missing."""
    config = LlamaForSequenceClassification.config_class.from_pretrained(folder)
    config.tie_word_embeddings = True
    LlamaForSequenceClassification(config).save_pretrained(folder)


def not_a_number(tensors):
    tensors[UP][0, 0] = torch.nan


SAID_OF = {
    without_a_shard: "it lacks 1 of the 4 files that model.safetensors.index.json names "
    "(model-00001-of-00004.safetensors); fetch it again.",
    half_an_index: "model.safetensors.index.json is no JSON (",
    cut_short: "model.safetensors is damaged or cut short (",
    git_pointer: "model.safetensors is a pointer of Git LFS and not the file; run git lfs pull",
    pickled_code: "pytorch_model.bin is damaged, or holds more than weights; have it as safet",
    pickled_half: "pytorch_model.bin is damaged, or holds more than weights; have it as safet",
    adapter_alone: "it holds no config.json but a LoRA adapter of lab/whole, which is not applied "
    "here; merge it into that model",
    adapter_beside: "it also holds a LoRA adapter of lab/whole, which is not applied here; merge",
    empty: "it holds no config.json; name a folder with a saved model.",
    shutil.rmtree: "there is no such folder (it holds no config.json); correct the path.",
    gguf_in_a_folder: "model.gguf; write gguf = ",
    lambda at: (at / WEIGHTS).unlink(): "it holds no weights (model.safetensors, or its parts); ",
    lambda at: (at / "config.json").write_text("[]"): "its config.json names no architecture",
    lambda at: configure(at, model_type="squid"): "its config.json says that it is a squid, which "
    "transformers ",
    lambda at: configure(at, num_attention_heads=3): "The hidden size (64) is not a multiple of",
    lambda at: configure(at, num_hidden_layers=3): "it lacks 9 weights of LlamaForCausalLM (model",
    lambda at: configure(at, num_hidden_layers=1): "it holds layers that its config.json knows "
    "nothing of (model.layers.1.",
    lambda at: configure(at, intermediate_size=96): "6 weights have another shape than its conf",
    code_of_its_own: "its architecture own is code that comes with it (trust_remote_code), which "
    "is never run here",
    tokenizer_with_code: "custom code which must be executed",
    without_tokenizer: "it holds no tokenizer; copy tokenizer.json and tokenizer_config.json",
    lambda at: (at / "tokenizer.json").write_text("{"): "tokenizer.json is no JSON (",
    lambda at: words(at, lambda known: {each: n for each, n in known.items() if n < 500}): "its "
    "tokenizer has 500 tokens, and its weights are for 1,000; copy the tokenizer of the model",
    lambda at: words(at, lambda known: known | {"zebra": TOKENS}): "its tokenizer has 1,001 tokens",
    untrained_mark_in_use: "can be asked nothing: broken has no weights for a token of this conv",
    vision: "its config.json says ViTForImageClassification, which is no causal language model",
    reward: "its config.json says LlamaForSequenceClassification, which is no causal language",
    lambda at: retensor(at, lambda tensors: tensors.pop(UP)): f"it lacks 1 weight of LlamaForCaus"
    f"alLM ({UP}).",
    lambda at: retensor(at, not_a_number): f"its weights hold what is no number ({UP}); fetch",
}  # fmt: skip


@pytest.fixture
def broken(whole, tmp_path, monkeypatch):
    """Break a copy of a whole model; nothing that comes with it may leave a mark."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.input", lambda *_: "y")  # who asks is told to go on

    def make(change, name="broken"):
        change(shutil.copytree(whole / NAMES[0], tmp_path / name))

    yield make
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("change", SAID_OF, ids=SAID_OF.values())
def test_a_broken_checkpoint_is_one_line(broken, capfd, tmp_path, change):
    broken(change)
    capfd.readouterr()
    with pytest.raises(ModelError) as refused:
        load(ModelSpec(name="broken", folder=tmp_path / "broken", device_map="cpu"), tmp_path)
    assert capfd.readouterr() == ("", "")
    line = str(refused.value)
    assert "\n" not in line
    assert line.startswith("Model 'broken' ")
    assert SAID_OF[change] in line
    assert len(line) < 500


def test_a_mark_that_nobody_uses_may_lack_weights(broken, tmp_path):
    """As of the many that were tuned with a pad token of their own."""
    broken(untrained_mark)
    spec = ModelSpec(name="broken", folder=tmp_path / "broken", dtype="float32", device_map="cpu")
    model = load(spec, tmp_path)
    model.encode([{"role": "user", "content": "<|mark|>"}])
    assert len(model.vocabulary.spellings) == TOKENS


def test_the_check_goes_on_after_a_broken_one(broken, call, whole, tmp_path):
    broken(git_pointer, "cloned")
    broken(adapter_alone, "adapter")
    config = tmp_path / "arena.toml"
    config.write_text(catalog_of(cloned="cloned", adapter="adapter", red=whole / NAMES[0]))
    code, out, err = call("models", "check", "--config", config, "--json")
    told = json.loads(out)
    assert code == 1
    assert [model["name"] for model in told["models"]] == ["red"]
    assert [line.split("'")[1] for line in told["problems"]] == ["cloned", "adapter"]
    assert err.splitlines()[-2:] == told["problems"]


def of_another_architecture(path):
    """A projector of images, of the kind that lies beside many models."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_block_count(1)
    writer.add_tensor("v.weight", np.ones((2, 2), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_all_others_start(broken, whole, tmp_path, caplog):
    """Every broken one is named once, and none is in the arena."""
    kinds = dict(zip((f"broken-{number}" for number in range(99)), SAID_OF, strict=False))
    for name, change in kinds.items():
        broken(change, name)
    of_another_architecture(tmp_path / "clip.gguf")
    entries = catalog_of(**{name: name for name in kinds} | {n: whole / n for n in NAMES[:2]})
    entries += '[[models]]\nname = "clip"\ngguf = "clip.gguf"\n'
    entries += '[[models]]\nname = "absent"\ngguf = "absent.gguf"\n'
    config = tmp_path / "arena.toml"
    config.write_text(f'cache = "{tmp_path / "cache"}"\n{entries}')
    with caplog.at_level(logging.WARNING, "coupled_arena"):
        assert list(load_enabled(load_settings(config))) == list(NAMES[:2])
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == len(kinds) + 2
    for name in (*kinds, "clip", "absent"):
        (line,) = [line for line in said if line.startswith(f"Left out: Model '{name}'")]
        assert "\n" not in line
    assert list((tmp_path / "cache").glob("*")) == []
