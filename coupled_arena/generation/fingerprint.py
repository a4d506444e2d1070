"""Which model it is that was loaded: a hash of all of its tensors, and how well it reads.

A hash says whether two weights are the same to the bit, not whether they are any good. A network
with weights that were unpacked wrongly loads without a complaint and writes words. But a plain text
surprises it: its perplexity is tens of times that of the model it was made from.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from coupled_arena.core.catalog import Catalog
from coupled_arena.core.settings import resource
from coupled_arena.generation.checkpoint_faults import some
from coupled_arena.generation.devices import longest_context
from coupled_arena.generation.vocabulary import Vocabulary

_THREADS = 4  # hashing one tensor holds no lock
_FAR = 1.5


@dataclass(frozen=True)
class Fingerprint:
    """What tells one loaded model from another.

    Attributes
    ----------
    digest : str
        16 hex digits over names, types, shapes and bytes of all tensors, as they lie in memory.
        Also over the kinds of layers, and how the configuration says that they compute. Where the
        library packs weights in another layout, on another device, it differs. Empty where some of
        them are offloaded, and not in memory.
    bytes_per_weight : float
        Bytes of all tensors, as they are loaded, for each weight that the architecture has: 4 in
        float32, a little over 1 in 8 bits. Embeddings, scales and what is kept in full precision
        count.
    layers : mapping of str to int
        How many modules of each kind hold tensors.
    perplexity : float
        Of the fixed text, per token.
    weights : int
        How many weights the architecture has, however they are packed; 0 where nobody counted.
    """

    digest: str
    bytes_per_weight: float
    layers: Mapping[str, int]
    perplexity: float
    weights: int = 0

    def facts(self) -> dict[str, str]:
        """Return it for the record of a battle."""
        facts = {
            "fingerprint": self.digest,
            "bytes per weight": f"{self.bytes_per_weight:.2f}",
            "perplexity": f"{self.perplexity:.3g}",
            "weights": f"{self.weights}" if self.weights else "",
        }
        return {name: value for name, value in facts.items() if value}


class Reader(Protocol):
    """What is known of a model that has read the text."""

    @property
    def name(self) -> str:
        """Its name in the catalog."""
        ...

    @property
    def perplexity(self) -> float:
        """Of the text, per token."""
        ...

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens that it was counted in."""
        ...


def smoke_text() -> str:
    """Return the text that all models read: two short passages of our own."""
    return resource("data/smoke_text.txt").read_text(encoding="utf-8")


def fingerprint(network: Any, tokenizer: Any) -> Fingerprint:
    """Read all of a network's tensors once, and let it read the fixed text."""
    tensors = dict(_tensors(network))
    kinds = Counter(
        type(module).__name__
        for module in network.modules()
        if any(True for of in (module.parameters, module.buffers) for _ in of(recurse=False))
    )
    layers = dict(sorted(kinds.items()))
    packing = getattr(network.config, "quantization_config", None)
    weights = _weights(network)
    stored = sum(tensor.nbytes for tensor in tensors.values()) / weights
    digest = ""
    if not any(tensor.is_meta for tensor in tensors.values()):
        with ThreadPoolExecutor(_THREADS) as pool:
            hashes = list(pool.map(_tensor_hash, tensors, tensors.values()))
        described = "\n".join([*hashes, str(layers), repr(packing)])
        digest = hashlib.sha256(described.encode()).hexdigest()[:16]
    return Fingerprint(digest, stored, layers, perplexity(network, tokenizer), weights)


@torch.inference_mode()
def perplexity(network: Any, tokenizer: Any) -> float:
    """Return exp of the mean negative log-probability of the text's tokens but the first."""
    longest = longest_context(network.config)
    ids = tokenizer(smoke_text(), return_tensors="pt").input_ids[:, :longest].to(network.device)
    logits = network(input_ids=ids, use_cache=False).logits[0, :-1].double()
    chosen = logits.log_softmax(1).gather(1, ids[0, 1:, None])
    return of_surprise(-float(chosen.mean()))


def of_surprise(mean: float) -> float:
    """Return the perplexity of a mean negative log-probability; infinite beyond 1e308."""
    if math.isnan(mean):
        return math.nan
    return math.exp(mean) if mean < math.log(sys.float_info.max) else math.inf


def nonsense(network: Any, perplexity: float) -> str:
    """Return why a network's perplexity is no number, and what to do."""
    spoilt = [name for name, tensor in _tensors(network) if not _finite(tensor)]
    if spoilt:
        return f"its weights hold what is no number ({some(spoilt)}); fetch them again."
    kind = str(network.dtype).removeprefix("torch.")
    return f"its perplexity in {kind} is {perplexity}; set dtype to float32, or check its weights."


def _finite(tensor: torch.Tensor) -> bool:
    plain = tensor.is_floating_point() and tensor.element_size() > 1 and not tensor.is_meta
    return not plain or bool(tensor.isfinite().all())


def strangers(catalog: Catalog, models: Iterable[Reader]) -> list[str]:
    """Return a line for each model that cannot read, or reads unlike what it is a variant of.

    Quantization to 4 bits costs some percent, of a very small model a fifth. Models with another
    vocabulary than their parent's count other tokens, and are not compared.
    """
    known = {model.name: model for model in models}
    lines: list[str] = []
    for name, model in known.items():
        own, parent = model.perplexity, known.get(catalog[name].like or "")
        alike = parent and parent.vocabulary.fingerprint == model.vocabulary.fingerprint
        if parent and alike and not 1 / _FAR < own / parent.perplexity < _FAR:
            lines.append(
                f"{name} has perplexity {own:.3g} on a plain text, and {parent.name}, which it is "
                f"like, {parent.perplexity:.3g}: check that these are the weights meant."
            )
    return lines


def _tensors(network: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield all tensors that hold the weights; those two modules share once."""
    seen: set[int | str] = set()
    named = (*network.named_parameters(), *network.named_buffers(), *_scales_of_int8(network))
    for name, tensor in named:
        for part, values in _parts(name, tensor):
            place = part if values.is_meta else values.data_ptr()
            if place not in seen:
                seen.add(place)
                yield part, values


def _scales_of_int8(network: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield those of LLM.int8, which the first product moves from the weight to its layer."""
    for name, module in network.named_modules():
        held = getattr(getattr(module, "weight", None), "SCB", None)
        moved = getattr(getattr(module, "state", None), "SCB", None)
        scales = moved if held is None else held
        if isinstance(scales, torch.Tensor):
            yield f"{name}.weight.SCB", scales


def _parts(name: str, tensor: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the plain tensors that a packed one consists of."""
    if hasattr(tensor, "__tensor_flatten__"):  # those of torchao
        for part in tensor.__tensor_flatten__()[0]:
            yield from _parts(f"{name}.{part}", getattr(tensor, part))
        return
    yield name, tensor
    # Scales of bitsandbytes' 4 bits, which may be quantized a second time.
    state = getattr(tensor, "quant_state", None)
    nested = getattr(state, "state2", None)
    scales = {
        "absmax": getattr(state, "absmax", None),
        "code": getattr(state, "code", None),
        "offset": getattr(state, "offset", None),
        "absmax2": getattr(nested, "absmax", None),
        "code2": getattr(nested, "code", None),
    }
    for part, scale in scales.items():
        if isinstance(scale, torch.Tensor):
            yield f"{name}.{part}", scale


def _tensor_hash(name: str, tensor: torch.Tensor) -> str:
    plain = tensor.detach().cpu().contiguous()
    content = plain.reshape(-1).view(torch.uint8).numpy()
    digest = hashlib.sha256(content.data).hexdigest() if plain.numel() else ""
    return f"{name} {plain.dtype} {tuple(plain.shape)} {digest}"


def _weights(network: Any) -> int:
    """Return how many weights the architecture has, however they are packed here."""
    with torch.device("meta"):
        plain = AutoModelForCausalLM.from_config(unpacked_config(network.config))
    return sum(parameter.numel() for parameter in plain.parameters())


def unpacked_config(config: Any) -> Any:
    """Return a configuration of the same network in full precision."""
    plain = type(config)(**config.to_dict())
    if hasattr(plain, "quantization_config"):
        del plain.quantization_config
    return plain
