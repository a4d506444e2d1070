"""What is wrong with a checkpoint, where the library that reads it does not say.

Its files are read here, because the library complains of the first fault alone, in the words of a
parser. It also asks on the terminal whether to run code that comes with a model. Here the files are
looked at, none is run. Its network: whether that has all weights of the checkpoint, and the
checkpoint no others.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Collection, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch.nn import ModuleList
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from coupled_arena.core.files import reason

# Handed to every reader of the library: left open, it would ask a person, and run what came.
NO_CODE = {"trust_remote_code": False}
_FETCH = "fetch it again"
_POINTER = b"version https://git-lfs"
_PLAIN = {"F64", "F32", "F16", "BF16"}  # types of tensors that hold the weights themselves
_READ = {".json", ".safetensors", ".bin", ".jinja", ".model", ".gguf", ".txt", ".tiktoken"}
_TOKENIZERS = ("tokenizer*", "*.model", "vocab.*", "*.tiktoken", "tekken.json")


def not_plain(folder: Path) -> str:
    """Return what in a folder is no plain file of its own; nothing where all can be opened.

    To open a pipe or a device may never end, and an index may name files of other folders.
    """
    for path in sorted(folder.iterdir()):
        try:
            kind = path.stat().st_mode
        except OSError as error:
            if path.suffix not in _READ:
                continue
            return f"{path.name} cannot be opened ({reason(error)}); {_FETCH}."
        if stat.S_ISDIR(kind) and path.suffix in _READ:
            return f"{path.name} is a folder and not a file; {_FETCH}."
        if not (stat.S_ISDIR(kind) or stat.S_ISREG(kind)):
            return f"{path.name} is a pipe or a device and not a file; {_FETCH}."
    for index in folder.glob("*.index.json"):
        named = _read(index).get("weight_map", {})
        if not isinstance(named, dict) or not all(map(_is_sibling, named.values())):
            return f"{index.name} names what is no file beside it; {_FETCH}."
    return ""


def _is_sibling(name: object) -> bool:
    return isinstance(name, str) and Path(name).name == name


def weights_size(folder: Path) -> int:
    """Return the bytes of all files in a folder that may hold weights."""
    kinds = ("safetensors", "bin", "gguf")
    return sum(path.stat().st_size for kind in kinds for path in folder.glob(f"*.{kind}"))


def no_model(folder: Path) -> str:
    """Return what a folder without a config.json holds, and what to do; nothing if it has one."""
    if (folder / "config.json").is_file():
        return ""
    if not folder.is_dir():
        return "there is no such folder (it holds no config.json); correct the path."
    if (folder / "adapter_config.json").is_file():
        return f"it holds no config.json but {_adapter(folder)}."
    gguf = sorted(path.name for path in folder.glob("*.gguf"))
    if gguf:
        return f'it holds no config.json but {gguf[0]}; write gguf = "{folder / gguf[0]}" instead.'
    return "it holds no config.json; name a folder with a saved model."


def adapter_beside(folder: Path) -> str:
    """Return why a model with an adapter beside it is refused; nothing without one."""
    # Whether it would be applied depends on a package that may happen to be installed.
    if not (folder / "adapter_config.json").is_file():
        return ""
    return f"it also holds {_adapter(folder)}; if it is merged already, move adapter_config.json."


def damage(folder: Path) -> str:
    """Return the first thing seen to be wrong in a folder, and what to do; nothing if none is."""
    if not folder.is_dir():  # on the hub
        return ""
    looks = (_pointers, _bad_json, _architecture, _shards, _tensors, _weights, _tokenizer)
    return next((line for look in looks for line in look(folder)), "")


def packed_tensors(folder: Path) -> list[str]:
    """Return the tensors that hold packed weights, as far as they can be read."""
    packed: list[str] = []
    for path in folder.glob("*.safetensors"):
        try:
            with safe_open(path, framework="pt") as tensors:
                names = tensors.keys()
                kinds = {name: tensors.get_slice(name).get_dtype() for name in names}
        except SafetensorError:
            continue
        packed += [name for name, kind in kinds.items() if kind not in _PLAIN]
    return packed


def _adapter(folder: Path) -> str:
    base = _read(folder / "adapter_config.json").get("base_model_name_or_path") or "another model"
    return (
        f"a LoRA adapter of {base}, which is not applied here; merge it into that model (peft's "
        "merge_and_unload), save the whole and name its folder"
    )


def _pointers(folder: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.stat().st_size < 1024 and _POINTER in path.read_bytes():
            yield f"{path.name} is a pointer of Git LFS and not the file; run git lfs pull there."


def _bad_json(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.json")):
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            yield f"{path.name} is no JSON ({error}); {_FETCH}."
        except RecursionError:
            yield f"{path.name} is nested too deeply; {_FETCH}."


def _architecture(folder: Path) -> Iterator[str]:
    config = _read(folder / "config.json")
    kind = config.get("model_type")
    if not kind:
        yield "its config.json names no architecture (model_type)."
    elif kind not in CONFIG_MAPPING:
        release = f"transformers {version('transformers')}"
        if config.get("auto_map"):
            yield (
                f"its architecture {kind} is code that comes with it (trust_remote_code), which is "
                f"never run here, and {release} has none of its own; choose another model."
            )
        yield (
            f"its config.json says that it is a {kind}, which {release} does not know; a newer "
            "transformers may, else choose another model."
        )


def _shards(folder: Path) -> Iterator[str]:
    """Look for the files that the library would read: those of the first index that is there."""
    for index in ("model.safetensors.index.json", "pytorch_model.bin.index.json"):
        if (folder / index).is_file():
            named = set(_read(folder / index).get("weight_map", {}).values())
            absent = sorted(name for name in named if not (folder / name).is_file())
            if absent:
                yield (
                    f"it lacks {len(absent)} of the {len(named)} files that {index} names "
                    f"({absent[0]}{', …' if len(absent) > 1 else ''}); {_FETCH}."
                )
            return


def _tensors(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, framework="pt"):
                pass
        except SafetensorError as error:
            yield f"{path.name} is damaged or cut short ({error}); {_FETCH}."
    for path in sorted(folder.glob("pytorch_model*.bin")):
        try:
            torch.load(path, map_location="meta", weights_only=True)
        except Exception:  # noqa: BLE001 - half a pickle may say anything
            yield f"{path.name} is damaged, or holds more than weights; have it as safetensors."


def _weights(folder: Path) -> Iterator[str]:
    if not any(path for ending in ("safetensors", "bin") for path in folder.glob(f"*.{ending}")):
        yield f"it holds no weights (model.safetensors, or its parts); {_FETCH}."


def _tokenizer(folder: Path) -> Iterator[str]:
    if not any(path for kind in _TOKENIZERS for path in folder.glob(kind)):
        yield (
            "it holds no tokenizer; copy tokenizer.json and tokenizer_config.json of the model it "
            "was made from."
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


# The network.
#
# What is lacking would be made up at random, and what is left over would go unused, both without an
# error: as where a quantization is not applied, or a configuration is that of another model.


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
    if not packing and (extra := _extra_tensors(network, unexpected)):
        return (
            f"it holds {some(extra)}: {len(extra)} tensors beside the weights of its layers, "
            "which it would not use."
        )
    return ""


def some(names: Collection[str]) -> str:
    """Return a few names, and how many more there are."""
    first, rest = sorted(names)[:3], len(names) - 3
    return ", ".join(first) + (f" and {rest:,} more" if rest > 0 else "")


def _lacking(kind: str, missing: Collection[str], unexpected: Collection[str], packing: str) -> str:
    lacks = f"it lacks {_counted_weights(len(missing))} of {kind} ({some(missing)})"
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
        f"{_counted_weights(len(shapes))} {have} another shape than its config.json says "
        f"({some(shapes)})."
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


def _extra_tensors(network: Any, unexpected: Collection[str]) -> list[str]:
    """Return tensors that belong to a layer with weights: scales, biases. Others do no harm."""
    layers = {name for name, layer in network.named_modules() if [*layer.parameters(recurse=False)]}
    return [name for name in unexpected if _layer(name) in layers]


def _layer(tensor: str) -> str:
    return tensor.rpartition(".")[0]


def _counted_weights(count: int) -> str:
    return f"{count:,} weight" + ("s" if count != 1 else "")
