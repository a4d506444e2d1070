"""Publishing a folder's files as a data set of the hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coupled_arena.core.errors import StoreError
from coupled_arena.core.extras import require
from coupled_arena.core.files import reason

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
