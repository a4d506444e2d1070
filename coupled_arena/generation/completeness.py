"""Whether a network has all weights of its checkpoint, and its checkpoint no others.

What is lacking would be made up at random, and what is left over would go unused, both without an
error: as where a quantization is not applied, or a configuration is that of another model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from torch.nn import ModuleList


def incomplete(network: Any, found: Mapping[str, Any], packing: str) -> str:
    """Return why a network is not what its checkpoint holds; nothing where it is.

    Parameters
    ----------
    network : PreTrainedModel
    found : mapping
        What transformers tells of loading: missing, unexpected and mismatched tensors.
    packing : str
        The checkpoint's own quantization; empty where there is none.
    """
    unexpected = found["unexpected_keys"]
    if found["missing_keys"]:
        return _lacking(type(network).__name__, found["missing_keys"], unexpected, packing)
    if found["mismatched_keys"]:
        return _mismatched(found["mismatched_keys"])
    if further := _further_layers(network, unexpected):
        return (
            f"it holds layers that its config.json knows nothing of ({some(further)}), which it "
            "would not use; take the config.json of this model."
        )
    if not packing and (beside := _beside(network, unexpected)):
        return (
            f"it holds {some(beside)}: {len(beside)} tensors beside the weights of its layers, "
            "which it would not use."
        )
    return ""


def some(names: Collection[str]) -> str:
    """Return a few names, and how many more there are."""
    first, rest = sorted(names)[:3], len(names) - 3
    return ", ".join(first) + (f" and {rest:,} more" if rest > 0 else "")


def _lacking(kind: str, missing: Collection[str], unexpected: Collection[str], packing: str) -> str:
    lacks = f"it lacks {_weights(len(missing))} of {kind} ({some(missing)})"
    layers = {_layer(name) for name in missing}
    instead = [name for name in unexpected if _layer(name) in layers]
    if not instead:
        return f"{lacks}."
    named = f"not as {packing}, which" if packing else "as none that"
    return (
        f"{lacks}, and holds in their place {some(instead)}: it is quantized, but {named} its "
        "config.json names."
    )


def _mismatched(mismatched: Collection[tuple[str, Any, Any]]) -> str:
    shapes = {
        f"{name} is {' x '.join(map(str, here))}, not {' x '.join(map(str, wanted))}"
        for name, here, wanted in mismatched
    }
    have = "has" if len(shapes) == 1 else "have"
    return (
        f"{_weights(len(shapes))} {have} another shape than its config.json says ({some(shapes)})."
    )


def _further_layers(network: Any, unexpected: Collection[str]) -> list[str]:
    """Return tensors of layers after the last; those that only train the others do no harm."""
    extra = getattr(network.config.get_text_config(), "num_nextn_predict_layers", None) or 0
    ends = {
        f"{name}.": len(module) + extra
        for name, module in network.named_modules()
        if isinstance(module, ModuleList)
    }
    return [
        tensor
        for tensor in unexpected
        for start, end in ends.items()
        if tensor.startswith(start)
        and (number := tensor.removeprefix(start).partition(".")[0]).isdigit()
        and int(number) >= end
    ]


def _beside(network: Any, unexpected: Collection[str]) -> list[str]:
    """Return tensors that belong to a layer with weights: scales, biases. Others do no harm."""
    layers = {name for name, layer in network.named_modules() if [*layer.parameters(recurse=False)]}
    return [name for name in unexpected if _layer(name) in layers]


def _layer(tensor: str) -> str:
    return tensor.rpartition(".")[0]


def _weights(count: int) -> str:
    return f"{count:,} weight" + ("s" if count != 1 else "")
