"""Places outside the database: a mounted folder or a data set of the hub, for backups and exports.

A backup holds ``chunks/000001``, ``chunks/000002`` and so on, each a folder of closed files. Its
``chunk.json`` comes last: without it a chunk is not there yet.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from coupled_arena.core.errors import BackupError, StoreError
from coupled_arena.core.extras import require
from coupled_arena.core.files import at_home, reason

_log = logging.getLogger(__name__)
CHUNKS, MANIFEST = "chunks", "chunk.json"


class BackupTarget(Protocol):
    """Where chunks go, and come from."""

    def fetch(self, folder: Path, *, make: bool = True) -> Path:
        """Return a folder with all chunks, which may be below the one that is given.

        Where there is no data set yet, one is made unless it is only to be looked at.

        Raises
        ------
        BackupError
            They cannot be read.
        """
        ...

    def send(self, chunk: Path) -> None:
        """Take a chunk, whole or not at all; one that is there already changes nothing.

        Raises
        ------
        BackupError
            It cannot be written.
        StoreError
            Another chunk has its number.
        """
        ...


class BackupFolder:
    """A folder, which need not know locks, nor how to rename folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __str__(self) -> str:
        return str(self._folder)

    def fetch(self, folder: Path, *, make: bool = True) -> Path:  # noqa: ARG002 (they are here)
        """See `Place`."""
        self._check()
        return self._folder / CHUNKS

    def send(self, chunk: Path) -> None:
        """See `Place`."""
        self._check()
        target = self._folder / CHUNKS / chunk.name
        try:
            if (target / MANIFEST).exists():
                if (target / MANIFEST).read_bytes() != (chunk / MANIFEST).read_bytes():
                    raise _taken(self, chunk)
                return
            target.mkdir(parents=True, exist_ok=True)
            for file in sorted(chunk.iterdir(), key=lambda file: file.name == MANIFEST):
                _copy(file, target / file.name)
        except OSError as error:
            raise BackupError(f"Nothing can be written to {self}: {reason(error)}.") from error

    def _check(self) -> None:
        # A missing folder is a disk that is not mounted: one made here would be lost with the rest.
        if not self._folder.is_dir():
            raise BackupError(f"The backup's folder {self} is not there: mount it, or make it.")


class BackupDataset:
    """A data set of the hub, made private where there is none."""

    def __init__(self, name: str) -> None:
        require("datasets", "A data set of the hub", StoreError)
        from huggingface_hub import HfApi

        self._name = name
        self._hub: Any = HfApi()  # whose own types are partly unknown

    def __str__(self) -> str:
        return f"hub data set {self._name}"

    def fetch(self, folder: Path, *, make: bool = True) -> Path:
        """See `Place`."""
        try:
            if make:
                self._hub.create_repo(self._name, repo_type="dataset", private=True, exist_ok=True)
            if not self._hub.dataset_info(self._name).private:
                _log.warning("The %s is public: it tells who is who in every battle.", self)
            self._hub.snapshot_download(
                self._name, repo_type="dataset", allow_patterns=f"{CHUNKS}/*", local_dir=folder
            )
        except Exception as error:
            raise self._unreachable(error) from error
        return folder / CHUNKS

    def send(self, chunk: Path) -> None:
        """See `Place`.

        The hub's own scheduler sends a folder's files as they grow. It tells nobody of a failure
        and forgets at a restart what it has sent. One commit of closed files is whole or not there.
        """
        from huggingface_hub import CommitOperationAdd

        where = f"{CHUNKS}/{chunk.name}"
        try:
            found = self._hub.dataset_info(self._name)
            taken = f"{where}/{MANIFEST}" in {file.rfilename for file in found.siblings or ()}
            if taken:
                there = self._read(f"{where}/{MANIFEST}", found.sha)
                taken = there != (chunk / MANIFEST).read_bytes()
            else:
                self._hub.create_commit(
                    self._name,
                    [
                        CommitOperationAdd(f"{where}/{file.name}", file)
                        for file in sorted(chunk.iterdir())
                    ],
                    commit_message=f"Chunk {int(chunk.name)}",
                    repo_type="dataset",
                    parent_commit=found.sha,  # two arenas cannot both write this number
                )
        except Exception as error:
            raise self._unreachable(error) from error
        if taken:
            raise _taken(self, chunk)

    def _read(self, file: str, revision: str | None) -> bytes:
        with tempfile.TemporaryDirectory(prefix="coupled-arena-") as folder:
            found = self._hub.hf_hub_download(
                self._name, file, repo_type="dataset", revision=revision, local_dir=folder
            )
            return Path(found).read_bytes()

    def _unreachable(self, error: Exception) -> BackupError:
        return BackupError(
            f"The {self} cannot be used ({type(error).__name__}: {reason(error)}). Check its name, "
            "the network, and that HF_TOKEN may write to it."
        )


def backup_target(folder: Path | None, dataset: str | None) -> BackupTarget:
    """Return the one of the two that is named."""
    return BackupFolder(at_home(folder)) if folder else BackupDataset(dataset or "")


def _copy(file: Path, target: Path) -> None:
    partial = target.with_name(f".{target.name}.partial")
    shutil.copyfile(file, partial)
    with partial.open("rb") as copied:
        os.fsync(copied.fileno())
    partial.replace(target)


def _taken(place: BackupTarget, chunk: Path) -> StoreError:
    return StoreError(
        f"Another arena writes to the backup {place}: its chunk {int(chunk.name)} is not of this "
        "one. Give each arena a backup of its own."
    )


_UNAUTHORIZED, _FORBIDDEN = 401, 403


@dataclass(frozen=True)
class Published:
    """Where files went, and whether others may read them there."""

    url: str
    private: bool


class HubDataset:
    """A data set of the hub, of which nothing is asked before `publish`.

    Parameters
    ----------
    name : str
        ``OWNER/NAME``.
    public : bool
        Whether all the world may read it; also where it is there already.

    Raises
    ------
    StoreError
        This is no name, or there is no token to write with.
    """

    def __init__(self, name: str, *, public: bool = False) -> None:
        require("datasets", "A data set of the hub", StoreError)
        from huggingface_hub import HfApi, get_token
        from huggingface_hub.utils import HFValidationError, validate_repo_id

        try:
            validate_repo_id(name)
        except HFValidationError as error:
            raise _no_name(name) from error
        if name.count("/") != 1:
            raise _no_name(name)
        if get_token() is None:
            raise StoreError(
                "There is no token for the hub: set HF_TOKEN to one that may write, as "
                "huggingface.co/settings/tokens makes them."
            )
        self._name, self._public = name, public
        self._hub: Any = HfApi()  # whose own types are partly unknown

    def publish(self, folder: Path, names: Sequence[str], message: str) -> Published:
        """Write some files of a folder in one commit, and nothing else that lies there.

        Raises
        ------
        StoreError
            The data set cannot be written, or is public where a private one was asked for.
        """
        try:
            self._hub.create_repo(
                self._name, repo_type="dataset", private=not self._public, exist_ok=True
            )
            private = bool(self._hub.dataset_info(self._name).private)
            if private or self._public:
                self._hub.upload_folder(
                    repo_id=self._name,
                    folder_path=folder,
                    repo_type="dataset",
                    allow_patterns=list(names),
                    commit_message=message,
                )
        except Exception as error:
            raise self._refused(error) from error
        if not private and not self._public:
            raise StoreError(
                f"The data set {self._name} is public, so nothing was sent. Name another one, or "
                "add --public."
            )
        return Published(f"https://huggingface.co/datasets/{self._name}", private)

    def _refused(self, error: Exception) -> StoreError:
        from huggingface_hub.errors import OfflineModeIsEnabled

        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(error, OfflineModeIsEnabled):
            why = "HF_HUB_OFFLINE forbids to ask the hub. Unset it."
        elif status == _UNAUTHORIZED:
            why = "the hub does not know this HF_TOKEN. Make a new one."
        elif status == _FORBIDDEN:
            why = "HF_TOKEN may not write there. Check the owner's name and the token's rights."
        elif status is None:
            why = f"the hub cannot be reached ({type(error).__name__}: {reason(error)})."
        else:
            why = f"the hub answered {status} ({reason(error)})."
        return StoreError(f"Nothing was sent to the data set {self._name}: {why}")


def _no_name(name: str) -> StoreError:
    return StoreError(f"{name!r} is no data set of the hub. Give OWNER/NAME, such as lab/votes.")
