"""A checkpoint's network with all of its weights, in the format they were published in.

What a checkpoint lacks, transformers makes up at random, with a table on stderr and no error; so
too where its quantization is not applied. Here such a checkpoint is refused in one line.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import try_to_load_from_cache
from transformers.models.auto.configuration_auto import AutoConfig
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoModelForCausalLM,
)
from transformers.models.auto.tokenization_auto import AutoTokenizer
from transformers.quantizers.auto import AUTO_QUANTIZATION_CONFIG_MAPPING
from transformers.utils.quantization_config import BitsAndBytesConfig

from coupled_arena.core.errors import ModelError
from coupled_arena.core.extras import MODULES, command_for
from coupled_arena.generation.checkpoint_faults import (
    NO_CODE,
    adapter_beside,
    damage,
    incomplete,
    not_plain,
    packed_tensors,
    some,
    weights_size,
)
from coupled_arena.generation.fingerprint import unpacked_config
from coupled_arena.generation.limits import bounded

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
# Formats whose package asks for other versions of NumPy or torch than this one, release after
# release: it can be tried, and a model server needs none.
SERVED = {"awq", "gptq"}
_REPORTERS = (
    "modeling_utils",
    "quantizers.quantizer_finegrained_fp8",
    "quantizers.quantizer_mxfp4",
)
# For what is read before the weights: a large tokenizer takes two seconds and a gigabyte.
SECONDS = 30.0  # of the processor
MEMORY = 6 << 30  # bytes
_LAYERS = 10_000  # the deepest networks have some hundreds
_SMALL = 1 << 26  # weights that need no such check
_log = logging.getLogger(__name__)
# Networks that read both ways, or end in scores: what of them is a language model was not trained.
_OTHER_TASK = re.compile(
    r"For(MaskedLM|PreTraining|QuestionAnswering|MultipleChoice|\w*Classification)$"
)


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

    def unreadable(self, error: Exception) -> ModelError:
        """Return the error for files that the library cannot read, of which it says why."""
        found = "" if self.packing == "gguf" else damage(self.folder)
        return self.error(found or f"{reason_of(error).rstrip('.')}.")

    @property
    def path(self) -> Path:
        """The GGUF file, where it is one of this machine."""
        return Path(self.where) / self.options["gguf_file"]

    @property
    def folder(self) -> Path:
        """Where its files are on this machine, as far as they are."""
        folder = Path(self.where)
        if not folder.is_dir():
            revision = self.options.get("revision")
            config = try_to_load_from_cache(self.where, "config.json", revision=revision)
            folder = Path(config).parent if isinstance(config, str) else folder
        return folder


def reason_of(error: Exception) -> str:
    """Return the first line of what an error says, with the next where it only leads to it."""
    lines = (str(error).strip() or type(error).__name__).splitlines()
    first = " ".join(map(str.strip, lines[:2])) if lines[0].rstrip().endswith(":") else lines[0]
    return f"KeyError {first}" if isinstance(error, KeyError) else first


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
    if checkpoint.folder.is_dir() and (odd := not_plain(checkpoint.folder)):
        raise checkpoint.error(odd)
    try:
        with bounded(SECONDS, MEMORY):
            config = AutoConfig.from_pretrained(where, **NO_CODE, **options)
            _check_size(checkpoint, config)
    except ModelError:
        raise
    except Exception as error:
        raise checkpoint.unreadable(error) from error
    if reason := _not_causal(config) or adapter_beside(checkpoint.folder):
        raise checkpoint.error(reason)
    packed = _named_packing(config) or _named_packing(config.get_text_config(decoder=True))
    if packed is None:
        return checkpoint
    checkpoint = Checkpoint(name, where, options, packed)
    needed = PACKAGES.get(packed, {})
    absent = [package for module, package in needed.items() if find_spec(module) is None]
    if absent:
        install = command_for(packed) if packed in MODULES else f"pip install {' '.join(absent)}"
        install += ", or have vLLM serve it (docs/model-servers.md)" if packed in SERVED else ""
        tensors = _in_brackets(packed_tensors(checkpoint.folder))
        raise checkpoint.error(
            f"its weights are quantized as {packed}{tensors}, which needs what is not installed: "
            f"{install}."
        )
    if packed not in AUTO_QUANTIZATION_CONFIG_MAPPING:
        raise checkpoint.error(
            f"its weights are quantized as {packed}, which transformers "
            f"{version('transformers')} does not read."
        )
    return checkpoint


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """Return a checkpoint's tokenizer.

    Raises
    ------
    ModelError
        It cannot be read.
    """
    try:
        with bounded(SECONDS, MEMORY):
            return AutoTokenizer.from_pretrained(checkpoint.where, **NO_CODE, **checkpoint.options)
    except Exception as error:
        raise checkpoint.unreadable(error) from error


def _check_size(checkpoint: Checkpoint, config: Any) -> None:
    """Refuse a network that is far beyond its weights, before it takes memory for them."""
    size = weights_size(checkpoint.folder) if checkpoint.folder.is_dir() else 0
    if not size or type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        return
    layers = getattr(config.get_text_config(decoder=True), "num_hidden_layers", None) or 0
    if layers > _LAYERS:
        raise checkpoint.error(f"its config.json speaks of {layers:,} layers; correct it.")
    with torch.device("meta"):
        plain = AutoModelForCausalLM.from_config(unpacked_config(config))
    weights = sum(parameter.numel() for parameter in plain.parameters())
    if weights > 8 * size + _SMALL:  # nobody packs a weight into less than a bit
        raise checkpoint.error(
            damage(checkpoint.folder)
            or f"its config.json speaks of {weights:,} weights, and its files have {size:,} bytes; "
            "take the config.json of this model."
        )


def load_network(
    checkpoint: Checkpoint, quantization: BitsAndBytesConfig | None = None, **placement: Any
) -> Any:
    """Load a network with every weight from its checkpoint.

    Parameters
    ----------
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
                **NO_CODE,
                **asked,
                **placement,
                **checkpoint.options,
            )
        except Exception as error:
            if spoilt := _unconverted(tables):
                reason = f"transformers cannot unpack {some(spoilt)}."
                raise checkpoint.error(reason) from error
            raise checkpoint.unreadable(error) from error
    network, found = loaded
    if reason := incomplete(network, found, checkpoint.packing):
        raise checkpoint.error(reason)
    return network


def packing_in_use(checkpoint: Checkpoint, network: Any) -> str:
    """Return a checkpoint's own quantization as its network computes with it."""
    kept = getattr(network.config, "quantization_config", None) is not None
    if kept or not checkpoint.packing:
        return checkpoint.packing
    _log.warning(
        "%s is unpacked, since %s computes with no %s: it takes the memory of full precision",
        *(checkpoint.name, network.device, checkpoint.packing),
    )
    return f"{checkpoint.packing}, unpacked when loaded"


def outlier_threshold(network: Any) -> float | None:
    """Return the outlier threshold of a network in LLM.int8, None of any other."""
    config: Any = getattr(network.config, "quantization_config", None)
    return config.llm_int8_threshold if getattr(config, "load_in_8bit", False) else None


def packages_of(quantization: str) -> tuple[str, ...]:
    """Return the packages that compute with weights in a format."""
    if quantization.startswith("bnb"):
        return ("bitsandbytes",)
    return tuple(PACKAGES.get(quantization, {}).values())


def _not_causal(config: Any) -> str:
    """Return why a network is no causal language model; nothing where it is one."""
    named = getattr(config, "architectures", None) or []
    if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING and not any(map(_OTHER_TASK.search, named)):
        return ""
    kind = named[0] if named else config.model_type
    return f"its config.json says {kind}, which is no causal language model; choose one that is."


def _named_packing(config: Any) -> str | None:
    named = getattr(config, "quantization_config", None)
    if not named:
        return None
    for bits in ("8bit", "4bit"):  # files of bitsandbytes may name no method
        if named.get(f"load_in_{bits}"):
            return f"bitsandbytes_{bits}"
    return str(named.get("quant_method", "an unnamed format"))


@contextmanager
def _no_tables() -> Iterator[list[str]]:
    """Keep the library's tables of what it found from stderr, and yield them.

    So too what it says of formats that it unpacks: to install what would not help.
    """
    tables: list[str] = []

    def passes(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if "LOAD REPORT" in message:
            tables.append(message)
            return False
        return not message.startswith("This checkpoint seem corrupted") and (
            "dequantiz" not in message
        )

    reporters = [logging.getLogger(f"transformers.{name}") for name in _REPORTERS]
    for reporter in reporters:
        reporter.addFilter(passes)
    try:
        yield tables
    finally:
        for reporter in reporters:
            reporter.removeFilter(passes)


def _unconverted(tables: list[str]) -> list[str]:
    rows = [row.split("|") for table in tables for row in table.splitlines()]
    return [row[0].strip() for row in rows if len(row) > 1 and row[1].strip() == "CONVERSION"]


def _in_brackets(names: Collection[str]) -> str:
    return f" ({some(names)})" if names else ""
