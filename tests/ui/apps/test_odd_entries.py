"""An arena of good and odd entries opens: the good ones battle, each odd one has a line in the log.

What each odd entry does, and many more, is in `tests/generation/test_odd_models.py`.
"""

from __future__ import annotations

import shutil

import httpx
import torch
from transformers import MambaConfig, MambaForCausalLM

from tests.generation.test_odd_models import ENDLESS, WEIGHTS, nested, pipe, saved, template
from tests.small_models import BYTES, NAMES, TOKENS, catalog_of, save_small_models
from tests.ui.raw_client import NO_TLS, Visitor, differ
from tests.ui.server import serving

RED, GREEN, _ = NAMES
CONFIG = "snapshot_seconds = 0.2\n[sampling]\nmax_new_tokens = 60\n"


@torch.no_grad()
def mamba():
    """Return a network that keeps a state in place of keys, and writes whole words as they do."""
    torch.manual_seed(0)
    sizes = {"vocab_size": TOKENS, "hidden_size": 32, "num_hidden_layers": 2}
    network = MambaForCausalLM(MambaConfig(**sizes, tie_word_embeddings=False))
    network.backbone.embeddings.weight[:, 0] = 8
    for layer in network.backbone.layers:
        layer.mixer.out_proj.weight[0] = 0
    network.lm_head.weight[: BYTES.stop, 0] = -10
    return network


ODD = {
    "deep": (nested, "config.json is nested too deeply"),
    "endless": (template(ENDLESS), "it takes more than 2 s of the processor"),
    "piped": (pipe(WEIGHTS), f"{WEIGHTS} is a pipe or a device and not a file"),
}


def test_odd_entries_cost_themselves(tmp_path):
    save_small_models(tmp_path, (RED,))
    for name, (change, _) in ODD.items():
        change(shutil.copytree(tmp_path / RED, tmp_path / name))
    saved(mamba)(shutil.copytree(tmp_path / RED, tmp_path / "mamba"))
    entries = {name: name for name in (*ODD, "mamba", RED, GREEN)}  # the odd ones first
    with serving(tmp_path, CONFIG + catalog_of(**entries)) as served:
        found = httpx.get(f"{served.url}/healthz", verify=NO_TLS)
        assert (found.status_code, found.json()["models_left_out"]) == (200, len(ODD))
        left_out = [x for x in served.stderr.read_text().splitlines() if "Left out: " in x]
        for (name, (_, said)), line in zip(ODD.items(), left_out, strict=True):
            assert f"Model '{name}' " in line
            assert said in line
        fought = set()
        while len(fought) < len(entries) - len(ODD):
            visitor = Visitor(served.url)
            assert differ(visitor.ask())
            fought.update(visitor.vote()["models"])
        assert fought == {"mamba", RED, GREEN}
