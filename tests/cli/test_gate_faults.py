"""Planted faults: `gate --task` finds a model worse that was rounded hard, or drawn too hot.

The models say one of two words, and the answers are those that the base finds likelier: so it is
right more often than not, and what a fault costs shows. The faults are those of our study.
"""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

from benchmarks.studied.models import hotter, on_grid, round_all
from coupled_arena.core.catalog import ModelSpec
from coupled_arena.generation.loading import load
from tests import small_models
from tests.small_models import catalog_of, save_small_models

pytestmark = pytest.mark.slow  # three processor seconds
BASE, WORDS = "small-red", ("the", "and")
SURE = 0.5, 3  # by how much the base's two logits differ
ASKED = 120


def only(words, folder):
    """Let a saved model say nothing but these words, by the last one it has read."""
    network = LlamaForCausalLM.from_pretrained(folder)
    said = tokens(words)
    with torch.no_grad():
        network.lm_head.weight[:, 0] = -10  # times the first number of the stream: the bias
        network.lm_head.weight[said, 0] = 0
    network.save_pretrained(folder)
    return said


def tokens(words):
    """Return the token of each word after a space."""
    return small_models.tokenizer().convert_tokens_to_ids([f"Ġ{word}" for word in words])


def rounded(bits):
    return lambda folder: round_all(folder, on_grid(bits))


FAULTS = {"rounded": rounded(1), "drawn": hotter, "copied": lambda _: None}


@pytest.fixture(scope="module")
def quiz(tmp_path_factory):
    """Return a configuration of the base and its faults, and a quiz that the base made."""
    folder = tmp_path_factory.mktemp("faults")
    save_small_models(folder, (BASE,))
    said = only(WORDS, folder / BASE)
    for name, plant in FAULTS.items():
        shutil.copytree(folder / BASE, folder / name)
        plant(folder / name)
    config = folder / "arena.toml"
    config.write_text(catalog_of(**{name: name for name in (BASE, *FAULTS)}))
    base = load(ModelSpec(name=BASE, folder=folder / BASE, dtype="float32"), folder)
    named = sorted(each[1:] for each in small_models.tokenizer().get_vocab() if each[0] == "Ġ")
    rng = np.random.default_rng(35)
    asked = rng.permutation([each for each in named if each.isalpha()])[:ASKED]
    rows = [row for word in asked if (row := question(str(word), base, said))]
    (folder / "quiz.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return "--config", config, "--task", "quiz", "--data", folder / "quiz.jsonl"


def question(word, base, said):
    """Return a row of the quiz, or nothing where the base is sure, or does not care."""
    text, prefix = f"Which word comes after {word}?", f"It is {word}"
    asked = {"role": "user", "content": text}, {"role": "assistant", "content": prefix}
    with torch.inference_mode():
        logits = base.network(torch.tensor([base.encode(asked)])).logits[0, -1, said].tolist()
    if not SURE[0] < abs(logits[0] - logits[1]) < SURE[1]:
        return None
    more = {"choices": list(WORDS), "answer": WORDS[int(np.argmax(logits))]}
    return {"id": word, "category": "words", "question": text, "prefix": prefix, **more}


@pytest.fixture
def gate(call, quiz, tmp_path):
    def run(candidate, margin):
        drawn = "--temperature", "0.7", "--top-p", "1", "--max-new-tokens", "1"
        where = "--db", tmp_path / "arena.duckdb", "--seed", "35", "--json"
        asked = "--margin", margin, "--at-once", "32"
        code, out, error = call("gate", BASE, candidate, *quiz, *drawn, *asked, *where)
        return code, json.loads(out)["candidates"][0], error

    return run


def test_hard_rounding_is_found_worse(gate):
    code, found, error = gate("rounded", 0.05)
    assert (code, found["verdict"]) == (3, "worse"), (found, error)
    assert found["known_after"] <= found["prompts"]
    assert 0.6 < found["base_score"] < 0.95  # some luck: neither certain nor a toss


def test_too_hot_a_temperature_only_loses(gate):
    """With the same noise, words change to the less likely one alone; .2 of it take many more."""
    code, found, error = gate("drawn", 0.01)
    assert (code, found["verdict"]) == (4, "cannot tell"), (found, error)
    assert found["lost"] > found["gained"] == 0


def test_a_copy_is_as_good(gate):
    code, found, error = gate("copied", 0.1)
    assert (code, found["verdict"], found["difference"]) == (0, "as good", 0.0), error
