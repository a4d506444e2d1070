"""A checkpoint's network with all of its weights, in the format they were published in.

What a checkpoint lacks, transformers makes up at random, with a table on stderr and no error; so
too where its quantization is not applied. Here such a checkpoint is refused in one line.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from huggingface_hub import try_to_load_from_cache
from safetensors import SafetensorError, safe_open
from transformers.models.auto.configuration_auto import AutoConfig
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING
from transformers.utils.quantization_config import BitsAndBytesConfig

from coupled_arena.core.errors import ModelError

# Formats that cannot be read without a package: the module looked for, the package to install.
PACKAGES: Mapping[str, Mapping[str, str]] = {
    "aqlm": {"aqlm": "aqlm"},
    "auto-round": {"auto_round": "auto-round"},
    "awq": {"gptqmodel": "gptqmodel"},
    "bitsandbytes_4bit": {"bitsandbytes": "bitsandbytes"},
    "bitsandbytes_8bit": {"bitsandbytes": "bitsandbytes"},
    "compressed-tensors": {"compressed_tensors": "compressed-tensors"},
    "eetq": {"eetq": "eetq"},
    "gptq": {"gptqmodel": "gptqmodel", "optimum": "optimum"},
    "hqq": {"hqq": "hqq"},
    "quark": {"quark": "amd-quark"},
    "spqr": {"spqr_quant": "spqr_quant"},
    "torchao": {"torchao": "torchao"},
    "vptq": {"vptq": "vptq"},
}
# Formats whose packages are a part of this one, to be installed by that part's name.
EXTRAS = {"compressed-tensors", "torchao"}
# Formats whose package asks for other versions of NumPy or torch than this one, release after
# release: it can be tried, and a model server needs none.
SERVED = {"awq", "gptq"}
# What a folder of somebody else's files may raise in the library that reads it.
UNREADABLE = (
    *(OSError, ValueError, ImportError, RuntimeError, SafetensorError),
    *(TypeError, KeyError, AttributeError),
)
_PLAIN = {"F64", "F32", "F16", "BF16"}  # types of tensors that hold the weights themselves


@dataclass(frozen=True)
class Checkpoint:
    """Where a model's weights lie, and how its config.json says they are packed.

    Attributes
    ----------
    name : str
        The model's name in the catalog, for messages.
    where : str
        A folder, or an id on the hub.
    options : mapping
        What tells the library which revision or file of it is meant.
    packing : str
        The checkpoint's own quantization, as the library calls it; empty where there is none.
    """

    name: str
    where: str
    options: Mapping[str, Any]
    packing: str = ""

    def error(self, reason: str) -> ModelError:
        """Return the error that says in one line why the model is refused."""
        where = "/".join([self.where, *filter(None, [self.options.get("gguf_file")])])
        return ModelError(f"Model {self.name!r} does not load from {where}: {reason}")


def reason_of(error: Exception) -> str:
    """Return the first line of what an error says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def find_checkpoint(name: str, where: str, **options: Any) -> Checkpoint:
    """Read how the weights at a place are packed, without loading them.

    Raises
    ------
    ModelError
        There is no configuration, or it names a format that cannot be read here.
    """
    checkpoint = Checkpoint(name, where, options)
    if "gguf_file" in options:
        return Checkpoint(name, where, options, "gguf")
    try:
        config = AutoConfig.from_pretrained(where, **options)
    except UNREADABLE as error:
        raise checkpoint.error(reason_of(error)) from error
    packed = _named_packing(config) or _named_packing(config.get_text_config(decoder=True))
    if packed is None:
        return checkpoint
    checkpoint = Checkpoint(name, where, options, packed)
    needed = PACKAGES.get(packed, {})
    absent = [package for module, package in needed.items() if find_spec(module) is None]
    if absent:
        install = f"'coupled-arena[{packed}]'" if packed in EXTRAS else " ".join(absent)
        install += ", or have vLLM serve it (docs/model-servers.md)" if packed in SERVED else ""
        raise checkpoint.error(
            f"its weights are quantized as {packed}{_in_brackets(_packed_tensors(checkpoint))}, "
            f"which needs what is not installed: pip install {install}."
        )
    if packed not in AUTO_QUANTIZATION_CONFIG_MAPPING:
        raise checkpoint.error(
            f"its weights are quantized as {packed}, which transformers "
            f"{version('transformers')} does not read."
        )
    return checkpoint


def load_network(
    checkpoint: Checkpoint, quantization: BitsAndBytesConfig | None = None, **placement: Any
) -> Any:
    """Load a network with every weight from its checkpoint.

    Parameters
    ----------
    checkpoint : Checkpoint
    quantization : BitsAndBytesConfig or None
        How to quantize what is in full precision; None leaves it as it is.
    placement : dtype, device_map

    Raises
    ------
    ModelError
        The checkpoint cannot be read, or a weight would be made up.
    """
    # None would not mean "as it is": it takes the checkpoint's own quantization away.
    asked = {"quantization_config": quantization} if quantization else {}
    with _no_tables() as tables:
        try:
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                checkpoint.where,
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # they are named below, where the library does not
                **asked,
                **placement,
                **checkpoint.options,
            )
        except UNREADABLE as error:
            spoilt = _unconverted(tables)
            reason = f"transformers cannot unpack {_some(spoilt)}." if spoilt else reason_of(error)
            raise checkpoint.error(reason) from error
    network, found = loaded
    _refuse_made_up(checkpoint, network, found)
    return network


def packing_in_use(checkpoint: Checkpoint, network: Any) -> str:
    """Return a checkpoint's own quantization as its network computes with it."""
    kept = getattr(network.config, "quantization_config", None) is not None
    return checkpoint.packing + ("" if kept or not checkpoint.packing else ", unpacked when loaded")


def outlier_threshold(network: Any) -> float | None:
    """Return the outlier threshold of a network in LLM.int8, None of any other."""
    config: Any = getattr(network.config, "quantization_config", None)
    return config.llm_int8_threshold if getattr(config, "load_in_8bit", False) else None


def packages_of(quantization: str) -> tuple[str, ...]:
    """Return the packages that compute with weights in a format."""
    if quantization.startswith("bnb"):
        return ("bitsandbytes",)
    return tuple(PACKAGES.get(quantization, {}).values())


def _named_packing(config: Any) -> str | None:
    named = getattr(config, "quantization_config", None)
    if not named:
        return None
    for bits in ("8bit", "4bit"):  # files of bitsandbytes may name no method
        if named.get(f"load_in_{bits}"):
            return f"bitsandbytes_{bits}"
    return str(named.get("quant_method", "an unnamed format"))


def _refuse_made_up(checkpoint: Checkpoint, network: Any, found: Mapping[str, Any]) -> None:
    kind = type(network).__name__
    missing, unexpected = found["missing_keys"], found["unexpected_keys"]
    if missing:
        lacks = f"it lacks {_weights(len(missing))} of {kind} ({_some(missing)})"
        layers = {_layer(name) for name in missing}
        instead = [name for name in unexpected if _layer(name) in layers]
        if not instead:
            raise checkpoint.error(f"{lacks}.")
        named = f"not as {checkpoint.packing}, which" if checkpoint.packing else "as none that"
        raise checkpoint.error(
            f"{lacks}, and holds in their place {_some(instead)}: it is quantized, but {named} "
            "its config.json names."
        )
    if found["mismatched_keys"]:
        shapes = {
            f"{name} is {' x '.join(map(str, here))}, not {' x '.join(map(str, wanted))}"
            for name, here, wanted in found["mismatched_keys"]
        }
        have = "has" if len(shapes) == 1 else "have"
        raise checkpoint.error(
            f"{_weights(len(shapes))} {have} another shape than its config.json says "
            f"({_some(shapes)})."
        )
    if not checkpoint.packing and (beside := _beside(network, unexpected)):
        raise checkpoint.error(
            f"it holds {_some(beside)}: {len(beside)} tensors beside the weights of its layers, "
            "which it would not use."
        )


def _beside(network: Any, unexpected: Collection[str]) -> list[str]:
    """Return tensors that belong to a layer with weights: scales, biases. Others do no harm."""
    layers = {name for name, layer in network.named_modules() if [*layer.parameters(recurse=False)]}
    return [name for name in unexpected if _layer(name) in layers]


def _layer(tensor: str) -> str:
    return tensor.rpartition(".")[0]


def _packed_tensors(checkpoint: Checkpoint) -> list[str]:
    """Return the tensors that hold packed weights, as far as the files are on this machine."""
    folder = Path(checkpoint.where)
    if not folder.is_dir():
        revision = checkpoint.options.get("revision")
        config = try_to_load_from_cache(checkpoint.where, "config.json", revision=revision)
        folder = Path(config).parent if isinstance(config, str) else folder
    packed: list[str] = []
    for path in folder.glob("*.safetensors"):
        with safe_open(path, framework="pt") as tensors:
            names = tensors.keys()
            packed += [name for name in names if tensors.get_slice(name).get_dtype() not in _PLAIN]
    return packed


@contextmanager
def _no_tables() -> Iterator[list[str]]:
    """Keep the library's tables of what it found from stderr, and yield them."""
    tables: list[str] = []

    def passes(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if "LOAD REPORT" in message:
            tables.append(message)
            return False
        return not message.startswith("This checkpoint seem corrupted")

    reporter = logging.getLogger("transformers.modeling_utils")
    reporter.addFilter(passes)
    try:
        yield tables
    finally:
        reporter.removeFilter(passes)


def _unconverted(tables: list[str]) -> list[str]:
    rows = [row.split("|") for table in tables for row in table.splitlines()]
    return [row[0].strip() for row in rows if len(row) > 1 and row[1].strip() == "CONVERSION"]


def _weights(count: int) -> str:
    return f"{count:,} weight" + ("s" if count != 1 else "")


def _some(names: Collection[str]) -> str:
    """Return a few names, and how many more there are."""
    first, rest = sorted(names)[:3], len(names) - 3
    return ", ".join(first) + (f" and {rest:,} more" if rest > 0 else "")


def _in_brackets(names: Collection[str]) -> str:
    return f" ({_some(names)})" if names else ""
