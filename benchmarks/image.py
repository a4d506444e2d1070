"""The container's image, built and tried: size, votes, an orderly end, disks that stay or go.

    python -m benchmarks.image [--device cpu] [--more requirements-rest.lock] [-- OPTION …]

Needs Linux, root, and `buildah`; no daemon. The Dockerfile's base is pulled, or made by
`debootstrap` where a registry is out of reach (`--own-base`). What follows `--` goes to
`buildah build`: certificates, or the index of a torch for processors
(`-- --build-arg PIP_EXTRA_INDEX_URL=…`). The image then runs as a container would: its own root,
its own user, Python as process 1. Exits with 1 where a vote is lost or the end is not in order.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TextIO

import duckdb
import httpx

from tests.installed import copy_source
from tests.patience import until
from tests.ui.raw_client import NO_TLS, Visitor, differ
from tests.ui.server import free_port

IMAGE, BASE = "localhost/coupled-arena", "docker.io/library/python:3.11-slim"
BUILDAH = {"BUILDAH_ISOLATION": "chroot"}  # works without a daemon, also inside a container
PACKAGES = "ca-certificates,python3,python3-pip,python3-venv"
SBIN = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# A vote that can still be undone is in no backup.
VARIABLES = {
    "COUPLED_ARENA_BACKUP_FOLDER": "/backup",
    "COUPLED_ARENA_BATTLE_UNDO_SECONDS": "0",
}
QUESTIONS = (
    "Describe the sea.",
    "Write a poem on rain.",
    "Who was Ada Lovelace?",
    "Why is it cold?",
)


def buildah(*arguments: str, to: int | TextIO = subprocess.PIPE) -> str:
    """Return what a command of buildah prints, or print it elsewhere; what it logs is shown."""
    command = ["buildah", *arguments]
    ran = subprocess.run(command, env=os.environ | BUILDAH, check=True, text=True, stdout=to)
    return (ran.stdout or "").strip()


def make_base(folder: Path) -> None:
    """Make an image of Debian's Python 3.11, named as the Dockerfile's base."""
    root = folder / "base"
    subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root)],
        check=True,
        stdout=sys.stderr,
    )
    (root / "usr/lib/python3.11/EXTERNALLY-MANAGED").unlink()  # it is the image's own Python
    (root / "usr/bin/python").symlink_to("python3")
    for package in (root / "var/cache/apt/archives").glob("*.deb"):
        package.unlink()
    made = buildah("from", "scratch").splitlines()[-1]
    buildah("copy", "--quiet", made, str(root), "/")
    buildah("config", "--env", f"PATH={SBIN}", made)
    buildah("commit", "--rm", made, BASE)
    shutil.rmtree(root)


def build(folder: Path, device: str, more: str, options: list[str]) -> None:
    """Build the image from what git has of this folder."""
    source = folder / "source"
    copy_source(source)
    arguments = [f"DEVICE={device}", *([f"MORE={more}"] if more else [])]
    told = [part for argument in arguments for part in ("--build-arg", argument)]
    command = ["build", "--network=host", "--format=docker", *told, *options, f"--tag={IMAGE}"]
    buildah(*command, str(source), to=sys.stderr)


class Container:
    """The image at work: a root, a user and a process 1 of its own; the network is the host's.

    Parameters
    ----------
    root : Path
        Files of the image, and what it writes beside its disks.
    disks : mapping of str to Path
        What is mounted, by the place in the container.
    environment : mapping of str to str
        Variables beside those of the image.
    """

    def __init__(
        self, root: Path, disks: Mapping[str, Path], environment: Mapping[str, str]
    ) -> None:
        told = json.loads(buildah("inspect", "--type=image", IMAGE))["OCIv1"]["config"]
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        for place in disks:
            Path(f"{root}{place}").mkdir(exist_ok=True)
        places = {"/proc": Path("/proc"), "/dev": Path("/dev"), **disks}
        mounts = [f"mount --rbind {path} {root}{place}" for place, path in places.items()]
        mounts[0] = f"mount -t proc proc {root}/proc"
        variables = [*told["Env"], *(f"{name}={value}" for name, value in environment.items())]
        chroot = ["chroot", f"--userspec={told['User']}", str(root), "env", "-i", *variables]
        chroot += [f"COUPLED_ARENA_PORT={port}", "HOME=/home/user", "sh", "-c"]
        within = f"cd {told['WorkingDir']} && exec {' '.join(told['Cmd'])}"
        self.began = time.monotonic()
        alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c"]
        alone += [" && ".join([*mounts, 'exec "$@"']), "sh"]
        self._process = subprocess.Popen([*alone, *chroot, within])

    def wait(self) -> float:
        """Return the seconds from the start until people can vote."""
        until(self._is_open)
        return time.monotonic() - self.began

    def _is_open(self) -> bool:
        if self._process.poll() is not None:
            sys.exit("The container ended while it started: its log above says why.")
        try:
            return httpx.get(f"{self.url}/healthz", verify=NO_TLS).status_code == 200
        except httpx.TransportError:
            return False

    def stop(self) -> tuple[int, float]:
        """Send SIGTERM to process 1; return its exit code, and the seconds it took."""
        began, parent = time.monotonic(), self._process.pid
        [first] = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        os.kill(int(first), signal.SIGTERM)
        return self._process.wait(), time.monotonic() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # takes what it holds with it
        self._process.wait()


@contextmanager
def root_of_image() -> Iterator[Path]:
    """Make a container's files from the image, and remove them."""
    made = buildah("from", "--pull-never", IMAGE).splitlines()[-1]
    try:
        yield Path(buildah("mount", made))
    finally:
        buildah("rm", made)


def vote(container: Container) -> None:
    """Ask until two answers differ, and vote."""
    visitor = Visitor(container.url)
    for question in QUESTIONS:
        if differ(visitor.ask(question)):
            told = visitor.vote()
            if "error" in told:
                sys.exit(f"The vote was refused: {told['error']}")
            return
    sys.exit("Both models gave the same answer to each question: there was nothing to vote on.")


def votes_in(disk: Path) -> int:
    """Return how many votes the database on a disk has, while nobody else has it open."""
    with duckdb.connect(str(disk / "arena.duckdb"), read_only=True) as connection:
        [(count,)] = connection.execute("select count(*) from votes").fetchall()
    return count


def try_image(root: Path, folder: Path) -> list[str]:
    """Print what a container does; return the promises that it breaks."""
    data, backup = folder / "data", folder / "backup"
    for disk in (data, backup):
        disk.mkdir()
        shutil.chown(disk, 1000, 1000)
    disks = {"/data": data, "/backup": backup}
    broken = []
    for disk, kept in (("empty disk", 0), ("the same disk", 1), ("empty disk, with a backup", 2)):
        if kept == 2:
            for path in data.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        with Container(root, disks, VARIABLES) as container:
            opened = container.wait()
            vote(container)
            code, seconds = container.stop()
        found = votes_in(data)
        print(
            f"{disk}: people can vote after {opened:.0f} s; SIGTERM ends it with {code}"
            f" after {seconds:.1f} s; votes: {found}"
        )
        if code or found != kept + 1:
            broken.append(disk)
    return broken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--more", default="")
    parser.add_argument("--own-base", action="store_true")
    parser.add_argument("--built", action="store_true", help="try the image that is there")
    parser.add_argument("options", nargs="*")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not arguments.built:
            if arguments.own_base:
                make_base(folder)
            began = time.monotonic()
            build(folder, arguments.device, arguments.more, arguments.options)
            print(f"built within {time.monotonic() - began:.0f} s")
        [told] = json.loads(buildah("images", "--json", IMAGE))
        print(f"size: {told['size']}")
        with root_of_image() as root:
            broken = try_image(root, folder)
    if broken:
        sys.exit(f"Votes or an orderly end are missing: {', '.join(broken)}.")


if __name__ == "__main__":
    main()
