"""Whatever one model does, it costs that model: the others start, and one line says why."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import socket

import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    GenerationConfig,
    RwkvConfig,
    RwkvForCausalLM,
)

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError, PromptError
from coupled_arena.core.settings import load_settings
from coupled_arena.generation import loading, templates
from coupled_arena.generation.limits import TooMuchError, bounded
from coupled_arena.generation.loading import load, load_enabled
from coupled_arena.generation.templates import rendered
from tests.small_models import NAMES, TOKENS, catalog_of, save_small_models

WEIGHTS = "model.safetensors"
HELLO = [{"role": "user", "content": "Hello"}]
DOUBLING = (
    "{% set held = namespace(text='x' * 1000) %}{% for _ in range(40) %}"
    "{% set held.text = held.text ~ held.text %}{% endfor %}{{ held.text }}"
)
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
CALLS_ITSELF = "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    save_small_models(folder)
    return folder


def configure(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def nested(folder):
    (folder / "config.json").write_text('{"a":' + "[" * 50_000 + "]" * 50_000 + "}")


def template(text):
    def put(folder):
        (folder / "chat_template.jinja").write_text(text)

    return put


def pipe(name):
    def put(folder):
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return put


def link(name, target):
    def put(folder):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return put


def in_its_place_a_folder(folder):
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).mkdir()


def a_socket(folder):
    # The name of a socket must be short.
    with contextlib.chdir(folder), socket.socket(socket.AF_UNIX) as listening:
        listening.bind("generation_config.json.new")


def index_of_another_folder(folder):
    (folder / WEIGHTS).rename(folder.parent / "outside.safetensors")
    tensors = load_file(folder.parent / "outside.safetensors")
    index = {"metadata": {}, "weight_map": dict.fromkeys(tensors, "../outside.safetensors")}
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))


def header_of_a_petabyte(folder):
    (folder / WEIGHTS).write_bytes((1 << 50).to_bytes(8, "little") + b"{}")


def shape_of_a_petabyte(folder):
    header = {"a": {"dtype": "F32", "shape": [1 << 48], "data_offsets": [0, 1 << 50]}}
    content = json.dumps(header).encode()
    (folder / WEIGHTS).write_bytes(len(content).to_bytes(8, "little") + content)


def tokenizer_of(change):
    def put(folder):
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(change(json.loads(path.read_text()))))

    return put


def saved(network):
    def put(folder):
        (folder / WEIGHTS).unlink()
        network().save_pretrained(folder)

    return put


def rwkv():
    return RwkvForCausalLM(
        RwkvConfig(vocab_size=TOKENS, hidden_size=32, attention_hidden_size=32, num_hidden_layers=2)
    )


# What is done to a folder, and what the one line says.
ODD = {
    "a deep configuration": (nested, "config.json is nested too deeply"),
    "a billion layers": (
        lambda at: configure(at, num_hidden_layers=10**9),
        "of 1,000,000,000 layers",
    ),
    "a billion columns": (
        lambda at: configure(at, intermediate_size=10**9),
        "weights, and its fil",
    ),
    "a template that doubles": (template(DOUBLING), "it takes more than 256 MiB of memory"),
    "a template without end": (template(ENDLESS), "it takes more than 2 s of the processor"),
    "a template that calls itself": (template(CALLS_ITSELF), "maximum recursion depth"),
    "a template of brackets": (template("{{" + "(" * 50_000), "maximum recursion depth"),
    "a pipe as weights": (pipe(WEIGHTS), f"{WEIGHTS} is a pipe or a device and not a file"),
    "a pipe as a tokenizer": (pipe("tokenizer.json"), "tokenizer.json is a pipe or a device"),
    "a pipe as a template": (pipe("chat_template.jinja"), "chat_template.jinja is a pipe"),
    "a pipe as a configuration": (pipe("config.json"), "it holds no config.json"),
    "a device": (link("generation_config.json", "/dev/zero"), "generation_config.json is a pipe"),
    "a socket": (a_socket, "generation_config.json.new is a pipe or a device"),
    "a link to itself": (link(WEIGHTS, WEIGHTS), f"{WEIGHTS} cannot be opened (Too many levels"),
    "a link to nothing": (
        link("tokenizer.json", "absent"),
        "tokenizer.json cannot be opened (No s",
    ),
    "a folder as weights": (in_its_place_a_folder, f"{WEIGHTS} is a folder and not a file"),
    "an index of another folder": (index_of_another_folder, "names what is no file beside it"),
    "an index of no names": (
        lambda at: (at / f"{WEIGHTS}.index.json").write_text('{"weight_map": [[]]}'),
        "names what is no file beside it",
    ),
    "a header of a petabyte": (header_of_a_petabyte, f"{WEIGHTS} is damaged or cut short"),
    "a shape of a petabyte": (shape_of_a_petabyte, f"{WEIGHTS} is damaged or cut short"),
    "a tokenizer that is a list": (tokenizer_of(lambda built: [built]), "odd"),
    "a tokenizer without a model": (tokenizer_of(lambda _: {"version": "1.0"}), "odd"),
    "generation by a list": (
        lambda at: (at / "generation_config.json").write_text("[1]"),
        "odd",
    ),
    "a state in place of keys": (saved(rwkv), "cannot decode here"),
}
# What only loading tells; all else is told by the files alone, before a weight is read.
LATER = {
    "a state in place of keys",
    "generation by a list",
    "a header of a petabyte",
    "a shape of a petabyte",
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_model_costs_itself(odd, whole, tmp_path, caplog, call):
    change, said = ODD[odd]
    change(shutil.copytree(whole / NAMES[2], tmp_path / "odd"))
    config = tmp_path / "arena.toml"
    config.write_text(catalog_of(odd="odd", **{name: whole / name for name in NAMES[:2]}))
    settings = load_settings(config)
    assert list(load_enabled(settings)) == list(NAMES[:2])
    (line,) = [r.getMessage() for r in caplog.records if hasattr(r, loading.LEFT_OUT)]
    assert line.startswith("Left out: Model 'odd' ")
    assert said in line
    assert "\n" not in line
    assert len(line) < 600
    if odd not in LATER:
        code, out, err = call("models", "--config", config, "--json")
        assert code == 0
        (problem,) = json.loads(out)["problems"]
        assert said in problem
        assert problem in err


def test_bloom_takes_part(whole, tmp_path):
    """It has no longest context, as its positions are embedded nowhere."""
    folder = shutil.copytree(whole / NAMES[0], tmp_path / "bloom")
    (folder / WEIGHTS).unlink()
    torch.manual_seed(0)
    bloom = BloomForCausalLM(BloomConfig(vocab_size=TOKENS, hidden_size=32, n_layer=2, n_head=2))
    bloom.generation_config = GenerationConfig(eos_token_id=2)
    bloom.save_pretrained(folder)
    spec = ModelSpec(name="bloom", folder=folder, dtype="float32", device_map="cpu")
    model = load(spec, tmp_path)
    prompts = [model.encode(HELLO), model.encode([{"role": "user", "content": "What is red?"}])]
    together, alone = model.start_batch(), model.start_batch()
    together.add(prompts)
    alone.add(prompts[1:])
    for token in (5, 300, 17):
        assert torch.allclose(together.logits[1], alone.logits[0], atol=1e-5)
        together.advance(torch.tensor([token + 1, token]))
        alone.advance(torch.tensor([token]))
    read = torch.tensor([[*prompts[1], 5, 300, 17]])
    expected = bloom.eval()(read).logits[0, -1]
    assert torch.allclose(alone.logits[0], expected, atol=1e-4)


def test_a_template_that_turns_on_a_question_costs_that_question():
    turns = "{% if 'boom' in messages[-1].content %}" + DOUBLING + "{% endif %}ok"
    ordinary = [{"role": "user", "content": "Hello"}]
    assert rendered(turns, [ordinary, ordinary], {}) == ["ok", "ok"]
    with pytest.raises(PromptError, match="takes more than 256 MiB"):
        rendered(turns, [ordinary, [{"role": "user", "content": "boom"}]], {})
    assert rendered(turns, [ordinary], {}) == ["ok"]


@pytest.mark.slow
def test_a_template_process_that_ends_is_started_again():
    assert rendered("ok", [HELLO], {}) == ["ok"]
    process = templates._RENDERER._process
    process.kill()
    process.wait()
    assert rendered("ok", [HELLO], {}) == ["ok"]


def test_a_template_writes_no_more_than_it_may():
    with pytest.raises(PromptError, match="it writes 9,000,000 characters"):
        rendered("{{ 'x' * 9000000 }}", [HELLO], {})


@pytest.mark.slow
def test_what_takes_too_long_or_too_much_ends():
    """In the main thread time is bounded, memory everywhere."""
    with pytest.raises(TooMuchError, match=r"more than 0\.2 s"), bounded(0.2, 1 << 30):
        sum(1 for _ in itertools.count())
    with pytest.raises(TooMuchError, match="more than 64 MiB"), bounded(60, 64 << 20):
        bytearray(1 << 30)
    assert len(bytearray(1 << 30)) == 1 << 30


def test_a_panic_is_one_line(monkeypatch, tmp_path):
    """Tokenizers panic with what is no Exception."""

    class Panic(BaseException):
        pass

    def load_here(*_):
        raise Panic("in Rust\nat line 7")

    monkeypatch.setattr(loading, "_load_here", load_here)
    with pytest.raises(ModelError, match=r"^Model 'a' does not load \(Panic: in Rust\)\.$"):
        load(ModelSpec(name="a", folder=tmp_path), tmp_path)


ORDER = json.dumps(["{{ messages[0].content }}", [[{"role": "user", "content": "Hi"}]], {}])


def test_a_slow_start_is_no_fault_of_a_template(monkeypatch):
    """What the process imports takes long on a busy machine; the template's bound begins after."""
    waited = []
    line = templates._Renderer._line

    def noted(renderer, process, patience):
        waited.append(patience)
        return line(renderer, process, patience)

    monkeypatch.setattr(templates._Renderer, "_line", noted)
    renderer = templates._Renderer()
    try:
        for _ in range(2):
            assert renderer.ask(ORDER.encode() + b"\n") == (True, ["Hi"])
    finally:
        renderer.close()
    start, *renderings = waited
    assert start == templates._START_PATIENCE
    assert set(renderings) == {templates._PATIENCE}


def test_two_lines_that_come_at_once_are_two_answers(monkeypatch):
    """On a busy machine the process is ready, and has answered, before anybody looks."""
    both = "import sys; sys.stdin.readline(); print('ready\\n[true, [\"Hi\"]]', flush=True)"
    monkeypatch.setattr(templates, "_START", both)
    renderer = templates._Renderer()
    try:
        assert renderer.ask(ORDER.encode() + b"\n") == (True, ["Hi"])
    finally:
        renderer.close()
