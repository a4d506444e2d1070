"""Giving up everything but computing: a process that can only think, and talk on pipes it holds.

The kernel is told to refuse every system call that is not on a short list (seccomp). None of those
on it opens a file or a connection, starts a process or thread, or sends a signal. None reads or
changes another process, or takes any of this back. So there is nothing to hide from the program and
nothing to tidy up after it. Unlike namespaces, which containers often forbid, this needs no
privilege. Time and memory are bounded by resource limits.

The list is short enough to be its own filter: a library would bring a compiled dependency for
fifty lines. It runs in an interpreter of its own, so only the standard library is imported here.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import sys

# Calls that a program which computes needs; the numbers on x86-64 and on arm64.
_CALLS: dict[str, tuple[int | None, int | None]] = {
    # talking on what is open
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "lseek": (8, 62),
    "readv": (19, 65),
    "writev": (20, 66),
    # memory
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "mremap": (25, 216),
    "madvise": (28, 233),
    # its own signals and locks
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "futex": (202, 98),
    "restart_syscall": (219, 128),
    "sched_yield": (24, 124),
    # clocks and chance
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getrusage": (98, 165),
    "getrandom": (318, 278),
    # who it is
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "uname": (63, 160),
    # the end
    "exit": (60, 93),
    "exit_group": (231, 94),
}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column, audit architecture

_LOAD, _EQUALS, _RETURN = 0x20, 0x15, 0x06  # classic BPF
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4  # offsets in struct seccomp_data
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050001  # the last answers EPERM
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_PRINTED = 1 << 20  # bytes that a program may print before it is an error
_CAPABILITY_VERSION = 0x20080522


def supported() -> bool:
    """Tell whether the list is known for this kind of machine."""
    return sys.platform == "linux" and os.uname().machine in _MACHINES


def limit(seconds: int, memory: int) -> None:
    """Bound processor time, in seconds, address space, in bytes, and the size of files."""
    import resource  # not on every system

    for kind, soft, hard in (
        (resource.RLIMIT_CPU, seconds, seconds + 1),  # first a signal that tells why, then the end
        (resource.RLIMIT_AS, memory, memory),
        (resource.RLIMIT_FSIZE, _PRINTED, _PRINTED),
        (resource.RLIMIT_CORE, 0, 0),
    ):
        most = resource.getrlimit(kind)[1]
        bound = hard if most == resource.RLIM_INFINITY else min(hard, most)
        resource.setrlimit(kind, (min(soft, bound), bound))


def lock(parent: int) -> None:
    """Give up all that is not on the list, for good; die with the process that started this one.

    Raises
    ------
    OSError
        The kernel does not offer the means, or they do not work.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _call(libc.capset, struct.pack("Ii", _CAPABILITY_VERSION, 0), bytes(24))
    _call(libc.prctl, _PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise OSError("its parent has ended")
    _call(libc.prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    rules = _rules()
    program = ctypes.create_string_buffer(b"".join(rules), 8 * len(rules))
    pointer = struct.pack("HxxxxxxP", len(rules), ctypes.addressof(program))
    _call(libc.prctl, _PR_SET_SECCOMP, 2, pointer, 0, 0)
    _check()


def _rules() -> list[bytes]:
    column, architecture = _MACHINES[os.uname().machine]
    allowed = [number for row in _CALLS.values() if (number := row[column]) is not None]
    rules = [
        _rule(_LOAD, _ARCHITECTURE_AT),
        _rule(_EQUALS, architecture, then=1),
        _rule(_RETURN, _KILL),
        _rule(_LOAD, _NUMBER_AT),
    ]
    rules += [_rule(_EQUALS, n, then=len(allowed) - i) for i, n in enumerate(allowed)]
    return [*rules, _rule(_RETURN, _REFUSE), _rule(_RETURN, _ALLOW)]


def _rule(code: int, value: int, then: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, 0, value)


def _call(function: ctypes._NamedFuncPointer, *arguments: int | bytes) -> None:
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{function.__name__}: {os.strerror(number)}")


def _check() -> None:
    """Try what must be refused: a kernel that only pretends is found out here."""
    for name, act in (
        ("opening a file", lambda: os.open("/", os.O_RDONLY)),
        ("a signal", lambda: os.kill(os.getpid(), 0)),
        ("another process", lambda: os.waitpid(-1, os.WNOHANG)),
    ):
        try:
            act()
        except PermissionError:
            continue
        except OSError as error:
            raise OSError(f"{name} was answered with {error}") from error
        raise OSError(f"{name} was not refused")
