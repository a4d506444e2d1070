"""A hub of one data set, as far as its own client asks for one: commits of small files."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAME = "lab/votes"


class Hub(ThreadingHTTPServer):
    """Keeps the files of every commit; ``failing`` answers 503 to all that is asked.

    ``forgetful`` makes the next commit, and tells that it failed.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.commits: list[dict[str, bytes]] = [{}]
        self.private: bool | None = None
        self.failing = False
        self.forgetful = False
        self.lock = threading.Lock()

    @property
    def files(self) -> dict[str, bytes]:
        """What the data set holds now."""
        return self.commits[-1]

    @property
    def head(self) -> str:
        """The newest commit's hash."""
        return _hash(b"".join(self.files.values()))


class _Answers(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.failing:
            self._say(503, {"error": "down"})
        elif self.path == "/api/repos/create" and self.server.private is not None:
            self._say(409, {"error": "it is there", "url": f"{self.server.url}/datasets/{NAME}"})
        elif self.path == "/api/repos/create":
            self.server.private = json.loads(body).get("visibility") == "private"
            self._say(200, {"url": f"{self.server.url}/datasets/{NAME}"})
        elif self.path == "/api/validate-yaml":  # of a README.md, before it is sent
            self._say(200, {"errors": [], "warnings": []})
        elif self.path == f"/api/datasets/{NAME}/preupload/main":
            files = json.loads(body)["files"]
            modes = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in files
            ]
            self._say(200, {"files": modes})
        elif self.path == f"/api/datasets/{NAME}/commit/main":
            self._commit([json.loads(line) for line in body.splitlines()])
        else:
            self._say(404, {"error": self.path})

    def _commit(self, lines: list[dict]) -> None:
        header, *files = (line["value"] for line in lines)
        with self.server.lock:
            if header.get("parentCommit", self.server.head) != self.server.head:
                self._say(412, {"error": "the branch has moved"})
                return
            added = {file["path"]: base64.b64decode(file["content"]) for file in files}
            self.server.commits.append(self.server.files | added)
        if self.server.forgetful:
            self.server.forgetful = False
            self._say(500, {"error": "who knows"})
            return
        url = f"{self.server.url}/datasets/{NAME}/commit/{self.server.head}"
        self._say(200, {"commitUrl": url, "commitOid": self.server.head})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        info = f"/api/datasets/{NAME}"
        path = self.path.partition("?")[0]
        if self.server.failing:
            self._say(503, {"error": "down"})
        elif path == info or path.startswith((f"{info}/revision/", f"{info}/tree/")):
            self._tell(tree="/tree/" in path)
        elif path.startswith(f"/datasets/{NAME}/resolve/"):
            _, _, name = path.removeprefix(f"/datasets/{NAME}/resolve/").partition("/")
            self._give(self.server.files.get(name))
        else:
            self._say(404, {"error": self.path})

    def _tell(self, *, tree: bool) -> None:
        files = self.server.files
        if tree:
            listed = [
                {"type": "file", "path": name, "size": len(held), "oid": _hash(held)}
                for name, held in files.items()
            ]
            self._say(200, listed)
            return
        siblings = [{"rfilename": name} for name in files]
        found = {"id": NAME, "sha": self.server.head, "private": bool(self.server.private)}
        self._say(200, {**found, "siblings": siblings})

    def _give(self, content: bytes | None) -> None:
        if content is None:
            self._say(404, {"error": "there is no such file"})
            return
        self.send_response(200)
        self.send_header("X-Repo-Commit", self.server.head)
        self.send_header("ETag", f'"{_hash(content)}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def _say(self, status: int, answer: object) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _hash(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def a_hub() -> Iterator[Hub]:
    """Serve an empty hub until the block is left."""
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()
