"""Models of two small layers, for all tests in which it matters only that somebody answers.

They write words in a thousandth of the time of a real model, and differ as much as two variants of
one model do.
"""

from __future__ import annotations

import json
import zlib
from functools import cache
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, trainers
from tokenizers import pre_tokenizers as splits
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from tests.generation.families import CHATML, special

NAMES = ("small-red", "small-green", "small-blue")
TOKENS = 1000
END = "<|im_end|>"
CONTROL = ("<|endoftext|>", "<|im_start|>", END)
BYTES = range(len(CONTROL), len(CONTROL) + 256)
_QUESTIONS = Path(__file__).resolve().parents[1] / "data" / "prompts.jsonl"
_SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
_HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1}


def save_small_models(folder: Path, names: tuple[str, ...] = NAMES) -> None:
    """Save models, each in a folder of its name; equal names are equal models everywhere."""
    for name in names:
        _network(name).save_pretrained(folder / name)
        tokenizer().save_pretrained(folder / name)


def catalog_of(**models: str) -> str:
    """Return catalog entries in TOML: names, and the saved models beside the configuration."""
    entry = '[[models]]\nname = "{}"\nfolder = "{}"\ndtype = "float32"\ndevice_map = "cpu"\n'
    return "\n".join(entry.format(*model) for model in models.items())


SMALL_MODELS = catalog_of(**{name: name for name in NAMES})


def save_other_spellings(folder: Path) -> None:
    """Give a saved model a tokenizer of as many tokens, of which most are spelled otherwise."""
    tokenizer(capitals=True).save_pretrained(folder)


@cache
def tokenizer(*, capitals: bool = False) -> PreTrainedTokenizerFast:
    built = Tokenizer(models.BPE())
    built.pre_tokenizer = splits.ByteLevel(add_prefix_space=False)
    built.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=TOKENS,
        special_tokens=special(*CONTROL),
        initial_alphabet=splits.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [json.loads(line)["text"] for line in _QUESTIONS.read_text().splitlines()]
    built.train_from_iterator([t.title() for t in texts] if capitals else texts, trainer)
    assert built.get_vocab_size() == TOKENS
    made = PreTrainedTokenizerFast(tokenizer_object=built, bos_token=CONTROL[1], eos_token=END)
    made.chat_template = CHATML
    return made


@cache
@torch.no_grad()
def _network(name: str) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=TOKENS,
        max_position_embeddings=8192,
        tie_word_embeddings=False,
        **_SIZES,
        **_HEADS,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = LlamaForCausalLM(config)
        embedded, output = network.model.embed_tokens.weight, network.lm_head.weight
        embedded.normal_()
        output.normal_(std=0.3)
        torch.manual_seed(zlib.crc32(name.encode()))
        output += 0.15 * torch.randn(output.shape)
    # The first number of the residual stream is the same for all tokens: the output's bias. With it
    # single bytes, which hardly ever are text, and control tokens that end nothing are never drawn.
    embedded[:, 0] = 8
    for layer in network.model.layers:
        layer.self_attn.o_proj.weight[0] = 0
        layer.mlp.down_proj.weight[0] = 0
    output[:, 0] = 0
    output[CONTROL.index(END), 0] = -1  # answers go on for as long as they may
    output[[*range(CONTROL.index(END)), *BYTES], 0] = -10
    network.generation_config = GenerationConfig(eos_token_id=CONTROL.index(END))
    return network.eval()
