"""What a model proves at load: that it writes what its network says, and beside whom."""

from __future__ import annotations

import pytest
import torch

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.records import Sampling
from coupled_arena.generation.loading import load
from coupled_arena.generation.lockstep import LockstepEngine, decode
from coupled_arena.generation.running import Contender, Request
from coupled_arena.generation.self_check import check_model
from tests.families import first_of
from tests.generation.recurrent import FAMILIES, save_network
from tests.small_models import NAMES, save_small_models

# What of the library cannot be driven: a state in the network's own modules, a cache or an argument
# of its own, a step that computes otherwise than a text does.
REFUSED = {"minimax", "recurrent_gemma", "rwkv", "xlstm", "zamba2"}
SAMPLING = Sampling(temperature=0.7, max_new_tokens=6)


def loaded(folder, name):
    return load(ModelSpec(name=name, folder=folder, dtype="float32", device_map="cpu"), folder)


def asked(name, lengths):
    drawing = torch.Generator().manual_seed(3)
    prompts = [
        torch.randint(300, 1000, (length,), generator=drawing).tolist() for length in lengths
    ]
    return [
        Request((Contender(name, seed, tuple(prompt)),), SAMPLING)
        for seed, prompt in enumerate(prompts)
    ]


def by_the_law_of_a_whole_text(model, request):
    """Return the reply of a network that reads the whole text anew for each token."""
    network, reads = model.network, model.start_batch

    class Anew:
        def __init__(self, _=None):
            self.logits = torch.zeros((0, 0))

        def add(self, prompts, _=None):
            self.text = list(prompts[0])
            self.read()

        def advance(self, tokens):
            self.text += tokens.tolist()
            self.read()

        @torch.inference_mode()
        def read(self):
            self.logits = network(input_ids=torch.tensor([self.text]), use_cache=False).logits[
                :, -1
            ]

        def keep(self, rows):
            self.logits = self.logits[rows]

    model.start_batch = Anew
    try:
        return decode(LockstepEngine({model.name: model}), [request])[0].lines[0].tokens
    finally:
        model.start_batch = reads


@pytest.mark.parametrize("family", first_of(*sorted(set(FAMILIES) - REFUSED)))
def test_layers_with_a_state_write_what_they_say_of_the_whole_text(tmp_path, family):
    """Three at once, one with a prompt longer than a chunk."""
    save_network(family, tmp_path)
    model = loaded(tmp_path, family)
    assert not model.batchable
    assert model.arithmetic["replies at once"] == "one"
    requests = asked(family, (5, 11, 520))
    together = decode(LockstepEngine({family: model}), requests)
    for request, running in zip(requests, together, strict=True):
        assert running.lines[0].tokens == by_the_law_of_a_whole_text(model, request)


@pytest.mark.parametrize("family", sorted(REFUSED))
def test_what_decodes_wrong_text_is_refused_in_one_line(tmp_path, family):
    save_network(family, tmp_path)
    with pytest.raises(ModelError, match="cannot decode here: token by token its network") as told:
        loaded(tmp_path, family)
    assert "\n" not in str(told.value)


@pytest.fixture
def small(tmp_path):
    save_small_models(tmp_path, NAMES[:1])
    return loaded(tmp_path / NAMES[0], NAMES[0])


def test_an_ordinary_model_writes_many_replies_at_once(small):
    assert small.batchable
    assert small.arithmetic["replies at once"] == "many"
    check = check_model(small)
    assert 0 < check.together < check.bound < 1e-4


class Neighbourly(torch.nn.Module):
    """Adds to each row a little of its neighbour, as a bad kernel would."""

    def forward(self, _, __, output):
        rows = output[0] if isinstance(output, tuple) else output
        mixed = rows + 1e-3 * (rows.roll(1, 0) - rows)
        return (mixed, *output[1:]) if isinstance(output, tuple) else mixed


def test_a_model_that_hears_its_neighbours_decodes_alone(small):
    small.network.model.layers[0].register_forward_hook(Neighbourly().forward)
    check = small.check_itself()
    assert check.together > check.bound >= check.apart
    assert not small.batchable


def test_a_model_that_draws_lots_is_refused(small):
    def noise(_, __, output):
        return output + 1e-2 * torch.randn_like(output)

    small.network.model.norm.register_forward_hook(noise)
    with pytest.raises(ModelError, match="writes other text than at once"):
        small.check_itself()
    assert check_model(small).apart > 0


def test_a_model_that_fails_beside_others_decodes_alone(small):
    def only_one(_, inputs):
        if len(inputs[0]) > 1:
            raise RuntimeError("one row, please")

    small.network.model.norm.register_forward_pre_hook(only_one)
    small.check_itself()
    assert not small.batchable
