"""Which model it is that was loaded: a hash of all of its tensors, and how well it reads.

A hash says whether two weights are the same to the bit, not whether they are any good. A network
whose weights were unpacked wrongly loads without a complaint and writes words, but a plain text
surprises it: its perplexity is tens of times that of the model it was made from.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from coupled_arena.core.settings import resource

_THREADS = 4  # hashing one tensor holds no lock
_FAR = 1.5


@dataclass(frozen=True)
class Fingerprint:
    """What tells one loaded model from another.

    Attributes
    ----------
    digest : str
        16 hex digits over names, types, shapes and bytes of all tensors, as they lie in memory,
        the kinds of layers, and how the configuration says that they compute. Where the library
        packs weights in another layout, on another device, it differs.
    bytes_per_weight : float
        Bytes of all tensors for each weight that the architecture has: 4 in float32, a little
        over 1 in 8 bits. Embeddings, scales and what is kept in full precision count.
    layers : mapping of str to int
        How many modules of each kind hold tensors.
    perplexity : float
        Of the fixed text, per token.
    """

    digest: str
    bytes_per_weight: float
    layers: Mapping[str, int]
    perplexity: float

    def facts(self) -> dict[str, str]:
        """Return it for the record of a battle."""
        return {
            "fingerprint": self.digest,
            "bytes per weight": f"{self.bytes_per_weight:.2f}",
            "perplexity": f"{self.perplexity:.3g}",
        }


def smoke_text() -> str:
    """Return the text that all models read: two short passages of our own."""
    return resource("data/smoke_text.txt").read_text(encoding="utf-8")


def fingerprint(network: Any, tokenizer: Any) -> Fingerprint:
    """Read all of a network's tensors once, and let it read the fixed text."""
    tensors = dict(_tensors(network))
    kinds = Counter(
        type(module).__name__
        for module in network.modules()
        if next(module.parameters(recurse=False), None) is not None
    )
    layers = dict(sorted(kinds.items()))
    packing = getattr(network.config, "quantization_config", None)
    with ThreadPoolExecutor(_THREADS) as pool:
        hashes = list(pool.map(_tensor_hash, tensors, tensors.values()))
    described = "\n".join([*hashes, str(layers), repr(packing)])
    stored = sum(tensor.nbytes for tensor in tensors.values()) / _weights(network)
    digest = hashlib.sha256(described.encode()).hexdigest()[:16]
    return Fingerprint(digest, stored, layers, perplexity(network, tokenizer))


@torch.inference_mode()
def perplexity(network: Any, tokenizer: Any) -> float:
    """Return exp of the mean negative log-probability of the text's tokens but the first."""
    ids = tokenizer(smoke_text(), return_tensors="pt").input_ids.to(network.device)
    logits = network(input_ids=ids, use_cache=False).logits[0, :-1].double()
    chosen = logits.log_softmax(1).gather(1, ids[0, 1:, None])
    return math.exp(-float(chosen.mean()))


def strangers(perplexities: Mapping[str, float], parents: Mapping[str, str | None]) -> list[str]:
    """Return a line for each model that reads too unlike its parent to be a variant of it.

    Quantization to 4 bits costs some percent, of a very small model a fifth.

    Parameters
    ----------
    perplexities : mapping of str to float
        By the model's name.
    parents : mapping of str to (str or None)
        The model that each is a variant of.
    """
    return [
        f"{name} has perplexity {own:.3g} on a plain text, and {parent}, which it is like, "
        f"{perplexities[parent]:.3g}: check that these are the weights that were meant."
        for name, own in perplexities.items()
        if (parent := parents.get(name)) in perplexities
        and not 1 / _FAR < own / perplexities[parent] < _FAR
    ]


def _tensors(network: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield all tensors that hold the weights; those two modules share once."""
    seen: set[int] = set()
    for name, tensor in (*network.named_parameters(), *network.named_buffers()):
        for part, values in _parts(name, tensor):
            if values.device.type != "meta" and values.data_ptr() not in seen:
                seen.add(values.data_ptr())
                yield part, values


def _parts(name: str, tensor: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the plain tensors that a packed one consists of."""
    if hasattr(tensor, "__tensor_flatten__"):  # those of torchao
        for part in tensor.__tensor_flatten__()[0]:
            yield from _parts(f"{name}.{part}", getattr(tensor, part))
        return
    yield name, tensor
    state = getattr(tensor, "quant_state", None)  # of 4 bits in bitsandbytes
    if state is not None:
        scales = {"absmax": state.absmax, "code": state.code}
        yield from ((f"{name}.{part}", scale) for part, scale in scales.items())


def _tensor_hash(name: str, tensor: torch.Tensor) -> str:
    plain = tensor.detach().cpu().contiguous()
    content = plain.reshape(-1).view(torch.uint8).numpy()
    digest = hashlib.sha256(content).hexdigest() if plain.numel() else ""
    return f"{name} {plain.dtype} {tuple(plain.shape)} {digest}"


def _weights(network: Any) -> int:
    """Return how many weights the architecture has, however they are packed here."""
    with torch.device("meta"):
        plain = AutoModelForCausalLM.from_config(_unpacked(network.config))
    return sum(parameter.numel() for parameter in plain.parameters())


def _unpacked(config: Any) -> Any:
    plain = type(config)(**config.to_dict())
    if hasattr(plain, "quantization_config"):
        del plain.quantization_config
    return plain
