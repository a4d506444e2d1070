"""Files that visitors upload: how much of the disk they get, and for how long.

Gradio's own handler takes files of any size and number, keeps what came of an upload that broke
off, and deletes nothing. Here each upload has a folder of its own, which is deleted once the file
was read, when the upload fails, or some minutes later.
"""

from __future__ import annotations

import asyncio
import math
import re
import secrets
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from gradio.route_utils import GradioMultiPartParser
from gradio.routes import file_upload_statuses
from gradio.utils import get_upload_folder
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from coupled_arena.core.language import N_, _
from coupled_arena.ui.parts.visitor import address_of

LARGEST = 50_000_000  # bytes of a file; larger ones are for the command line
_TOGETHER = 4 * LARGEST  # bytes that lie at once of one address
_ROOM = 1 << 28  # bytes of the disk that stay free, beside what the database needs
_SMALLEST = 1 << 16  # bytes that any file counts as
_AROUND = 1 << 12  # bytes of a form beside the file
_KEPT = 600.0  # seconds
_PROGRESS = 10.0  # seconds until it is forgotten how far an upload came
_LONGEST_NAME = 60  # characters, each up to 4 bytes; its end tells the format
_ODD = re.compile(r"[^\w. ,()+-]")
_PREFIX = "upload-"
_ELSEWHERE = N_("Files are uploaded by the page itself.")
_TOO_LARGE = N_(
    "A file has at most {n} MB here. The command line reads larger ones from your disk."
)
_TOO_MANY = N_("Too many files were uploaded from your address. Try again in {n} minutes.")
_NO_ROOM = N_("The disk of the server has no room for files. Its operator must free some space.")
_NO_FILE = N_("This is no file of the page.")


class _Refused(Exception):
    """An upload that is not taken."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.answer = PlainTextResponse(why, status)


@dataclass(frozen=True)
class _Lying:
    """An upload that comes or waits to be read."""

    address: str
    size: int
    since: float


class Uploads:
    """Takes files of the page, as the route of an application.

    Parameters
    ----------
    reserved : callable, optional
        Returns how many bytes of the disk the database needs.
    clock : callable, optional
        Returns seconds.
    """

    def __init__(
        self,
        reserved: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reserved = reserved
        self._clock = clock
        self._lying: dict[Path, _Lying] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await (await self._answer(Request(scope, receive)))(scope, receive, send)

    def close(self) -> None:
        """Delete what lies."""
        for folder in list(self._lying):
            self._delete(folder)

    async def _answer(self, request: Request) -> Response:
        folder = Path(get_upload_folder()) / f"{_PREFIX}{secrets.token_hex(16)}"
        try:
            self._admit(request, folder)
            folder.mkdir(parents=True)
            path = await self._receive(request, folder)
        except _Refused as refused:
            self._delete(folder)
            return refused.answer
        except OSError:  # the disk is full
            self._delete(folder)
            return PlainTextResponse(_(_NO_ROOM), 507)
        except (ClientDisconnect, asyncio.CancelledError):
            self._delete(folder)
            raise
        return JSONResponse([str(path)])

    def _admit(self, request: Request, folder: Path) -> None:
        """Count an upload before it comes."""
        if _is_from_elsewhere(request):
            raise _Refused(403, _(_ELSEWHERE))
        length = request.headers.get("content-length", "")
        size = int(length) if length.isdecimal() and len(length) < 20 else LARGEST
        if size > LARGEST + _AROUND:
            raise _Refused(413, _(_TOO_LARGE).format(n=LARGEST // 1_000_000))
        size, address, now = max(size, _SMALLEST), address_of(request), self._clock()
        self._forget(now)
        mine = [each for each in self._lying.values() if each.address == address]
        if sum(each.size for each in mine) + size > _TOGETHER:
            wait = min(each.since for each in mine) + _KEPT - now
            raise _Refused(429, _(_TOO_MANY).format(n=math.ceil(wait / 60)))
        coming = sum(each.size for each in self._lying.values())
        base = Path(get_upload_folder())
        base.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(base).free - coming - size < self._reserved() + _ROOM:
            raise _Refused(507, _(_NO_ROOM))
        self._lying[folder] = _Lying(address, size, now)

    def _forget(self, now: float) -> None:
        """Delete what nobody has read for too long, and what was read."""
        for folder, lying in list(self._lying.items()):
            if lying.since + _KEPT <= now or not folder.exists():
                self._delete(folder)

    def _delete(self, folder: Path) -> None:
        self._lying.pop(folder, None)
        shutil.rmtree(folder, ignore_errors=True)

    async def _receive(self, request: Request, folder: Path) -> Path:
        """Write the file of a request to a folder; return its path."""
        if not request.headers.get("content-type", "").startswith("multipart/form-data"):
            raise _Refused(400, _(_NO_FILE))
        progress = request.query_params.get("upload_id", "")[:64]
        if progress:
            file_upload_statuses.track(progress)
        parser = GradioMultiPartParser(
            request.headers,
            request.stream(),
            max_files=1,
            max_fields=0,
            upload_dir=folder,
            upload_id=progress or None,
            upload_progress=file_upload_statuses if progress else None,
            max_file_size=LARGEST,
        )
        try:
            form = await parser.parse()
        except MultiPartException as error:
            if "maximum allowed size" in error.message:
                raise _Refused(413, _(_TOO_LARGE).format(n=LARGEST // 1_000_000)) from None
            raise _Refused(400, _(_NO_FILE)) from None
        except (KeyError, UnicodeError, AttributeError):  # of headers that no browser sends
            raise _Refused(400, _(_NO_FILE)) from None
        finally:
            if progress:
                loop = asyncio.get_running_loop()
                loop.call_later(_PROGRESS, file_upload_statuses.stop_tracking, progress)
        files = form.getlist("files")
        if not files or isinstance(files[0], str):
            raise _Refused(400, _(_NO_FILE))
        file = files[0]
        file.file.close()
        name = _ODD.sub("", Path(file.filename or "").name)
        name = name if name.strip(".") else "file"
        return Path(str(file.file.name)).rename(folder / name[-_LONGEST_NAME:])


def _is_from_elsewhere(request: Request) -> bool:
    """Tell whether another site's page sends this; programs that are no browsers say nothing."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in {"same-origin", "none"}
    origin = request.headers.get("origin")
    hosts = {request.headers.get(name, "") for name in ("host", "x-forwarded-host")}
    return origin is not None and urlsplit(origin).netloc not in hosts - {""}


def lies_there(name: str) -> bool:
    """Tell whether this is a file in the folder of uploads and of files that the page made."""
    try:
        path = Path(name).resolve()
        return path.is_file() and path.is_relative_to(Path(get_upload_folder()).resolve())
    except (OSError, ValueError):  # too long, or with a NUL
        return False


@contextmanager
def read_once(path: Path) -> Generator[Path]:
    """Let a block read an uploaded file, and delete it with its folder after that."""
    try:
        yield path
    finally:
        if path.parent.name.startswith(_PREFIX) and lies_there(str(path)):
            shutil.rmtree(path.parent, ignore_errors=True)
