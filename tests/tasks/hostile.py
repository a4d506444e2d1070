"""Programs that mean harm; each, were it not stopped, would also return the right value.

``{home}`` is a folder that stands for somebody's home, ``{parent}`` the process that runs the
tests, ``{port}`` a listening port, ``{socket}`` a listening unix socket. Whatever reaches outside
leaves a mark that `test_sandbox` looks for.
"""

from __future__ import annotations

HARMFUL = {
    # time and memory
    "endless loop": "while True: pass",
    "endless loop when called": "def f(x):\n    while True: pass",
    "sleeps for ever": "import time\ntime.sleep(10**8)",
    "ignores signals": "import signal\n"
    "for n in (signal.SIGALRM, signal.SIGXCPU, signal.SIGTERM, signal.SIGHUP):\n"
    "    signal.signal(n, signal.SIG_IGN)\nwhile True: pass",
    "catches everything": "def f(x):\n    while True:\n        try:\n            while True: pass\n"
    "        except BaseException: pass",
    "8 GB": "hoard = bytearray(8 << 30)",
    "8 GB bit by bit": "hoard = []\nwhile True: hoard.append(bytearray(1 << 20))",
    "8 GB of shared memory": "import mmap\nhoard = mmap.mmap(-1, 8 << 30)\n"
    "for page in range(0, 8 << 30, 4096): hoard[page] = 1",
    "memory files": "import os\nfor n in range(64):\n    one = os.memfd_create('x')\n"
    "    os.ftruncate(one, 1 << 30)\n    os.write(one, b'x' * (1 << 27))",
    "huge number": "hoard = 10 ** 10 ** 10",
    "huge text": "hoard = str(7 ** 7 ** 8)",
    "regex bomb": "import re\nre.match('(a+)+b', 'a' * 100)",
    "zip bomb": "import zlib\npart = zlib.compress(bytes(1 << 20))\n"
    "hoard = [zlib.decompress(part) for _ in range(1 << 14)]",
    "recursion bomb": "import sys\nsys.setrecursionlimit(10**9)\ndef g(n): return g(n + 1)\ng(0)",
    "parser bomb": "eval('(' * 10**6)",
    "endless generator": "import itertools\ndef f(x): return itertools.count()",
    "gigabyte of output": "import os\nfor n in range(1 << 10):\n    print('x' * (1 << 20))\n"
    "    os.write(1, b'x' * (1 << 20))\n    os.write(2, b'x' * (1 << 20))",
    "gigabyte of words": "for n in range(1 << 10): print('x' * (1 << 20))",
    "gigabyte on every pipe": "import os\nwhile True:\n    for n in range(3, 64):\n"
    "        try: os.write(n, b'x' * (1 << 20))\n        except OSError: pass",
    "gigabyte returned": "def f(x): return 'x' * (100 << 20)",
    # processes
    "fork bomb": "import os\nwhile True: os.fork()",
    "thread bomb": "import threading\nwhile True:\n    threading.Thread(target=print).start()",
    "fork bomb in C": "import ctypes\nwhile True:\n"
    "    if ctypes.CDLL(None).fork() < 0: raise OSError",
    "daemon": "import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
    "        open('{home}/mark', 'w')",
    "starts a program": "import subprocess\nsubprocess.run(['touch', '{home}/mark'])",
    "shell": "import os\nif os.system('touch {home}/mark'): raise OSError",
    "replaces itself": "import os\nos.execv('/bin/touch', ['touch', '{home}/mark'])",
    "spawns": "import os\nos.posix_spawn('/bin/touch', ['touch', '{home}/mark'], {{}})",
    "pool": "import multiprocessing.pool\nmultiprocessing.Pool(64).map(print, range(64))",
    # other processes
    "kills the parent": "import os\nos.kill(os.getppid(), 9)",
    "kills whom it names": "import os\nos.kill({parent}, 9)",
    "kills everybody": "import os\nos.kill(-1, 9)",
    "kills its group": "import os\nos.killpg(0, 9)",
    "kills in C": "import ctypes\nif ctypes.CDLL(None).kill({parent}, 9): raise OSError",
    "pidfd kill": "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open({parent}), 9)",
    "traces the parent": "import ctypes\nif ctypes.CDLL(None).ptrace(16, {parent}, 0, 0):\n"
    "    raise OSError",
    "starves the parent": "import resource\n"
    "resource.prlimit({parent}, resource.RLIMIT_NOFILE, (3, 3))",
    "signal by a file's owner": "import fcntl\nfcntl.fcntl(1, fcntl.F_SETOWN, {parent})\n"
    "fcntl.fcntl(1, 10, 9)\nfcntl.fcntl(1, fcntl.F_SETFL, 0o20000)",
    "slows the parent": "import os\nos.setpriority(os.PRIO_PROCESS, {parent}, 19)",
    # files
    "writes": "open('{home}/mark', 'w')",
    "writes by descriptor": "import os\nos.open('{home}/mark', os.O_CREAT | os.O_WRONLY)",
    "empties": "import os\nos.open('{home}/precious', os.O_RDONLY | os.O_TRUNC)",
    "truncates": "import os\nos.truncate('{home}/precious', 0)",
    "deletes the home": "import shutil\nshutil.rmtree('{home}')",
    "deletes": "import os\nos.remove('{home}/precious')",
    "renames": "import os\nos.rename('{home}/precious', '{home}/mark')",
    "changes the mode": "import os\nos.chmod('{home}/precious', 0)",
    "changes the owner": "import os\nos.chown('{home}/precious', 1, 1)",
    "changes the time": "import os\nos.utime('{home}/precious', (0, 0))",
    "symlink": "import os\nos.symlink('/etc/passwd', '{home}/mark')",
    "hard link": "import os\nos.link('{home}/precious', '{home}/mark')",
    "symlink in its own folder": "import os, tempfile\nfolder = tempfile.mkdtemp()\n"
    "os.symlink('{home}', folder + '/a')\nopen(folder + '/a/mark', 'w')",
    "folder": "import os\nos.mkdir('{home}/mark')",
    "pipe with a name": "import os\nos.mkfifo('{home}/mark')",
    "fills the disk": "import tempfile\nwhile True:\n"
    "    tempfile.NamedTemporaryFile(delete=False).write(b'x' * (1 << 20))",
    "fills the memory disk": "for n in range(10**6):\n"
    "    open(f'/dev/shm/mark{{n}}', 'wb').write(b'x' * (1 << 20))",
    "mounts": "import ctypes\nif ctypes.CDLL(None).mount(b'/', b'{home}', None, 4096, None):\n"
    "    raise OSError",
    "new namespaces": "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000): raise OSError",
    "new root": "import os\nos.chroot('{home}')",
    "reads a secret": "open('{home}/precious').read()",
    "lists": "import os\nos.listdir('{home}')",
    "looks": "import os\nos.stat('{home}/precious')",
    "reads the parent's environment": "open('/proc/{parent}/environ').read()",
    "reads the parent's memory": "open('/proc/{parent}/mem', 'rb').read(1)",
    "reads the tests' memory": "import os\nopen(f'/proc/{{os.getpid() + 1}}/mem', 'rb').read(1)",
    "reads another's memory": "import ctypes\n"
    "if ctypes.CDLL(None).process_vm_readv({parent}, 0, 0, 0, 0, 0): raise OSError",
    # the network
    "TCP": "import socket\nsocket.create_connection(('127.0.0.1', {port})).send(b'secret')",
    "UDP": "import socket\nsocket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53))",
    "DNS": "import socket\nsocket.getaddrinfo('localhost', 80)",
    "unix socket": "import socket\nsocket.socket(socket.AF_UNIX).connect('{socket}')",
    "listens": "import socket\nsocket.create_server(('', 0))",
    "fetches": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:{port}/')",
    "raw io": "import ctypes\nif ctypes.CDLL(None).syscall(425, 1, bytes(120)) < 0: raise OSError",
    # undoing the lock
    "unlocks": "import ctypes\nif ctypes.CDLL(None).prctl(22, 0, 0, 0, 0): raise OSError",
    "more time": "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (-1, -1))",
    "outlives the parent": "import ctypes\nif ctypes.CDLL(None).prctl(1, 0, 0, 0, 0):\n"
    "    raise OSError",
    "32-bit calls": "import ctypes, mmap\nif not hasattr(mmap, 'PROT_EXEC'): raise OSError\n"
    "page = mmap.mmap(-1, 4096, prot=7)\npage.write(bytes.fromhex('b814000000cd80c3'))\n"
    "at = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
    "if ctypes.CFUNCTYPE(ctypes.c_int)(at)() < 0: raise OSError",
    # crashes
    "segmentation fault": "import ctypes\nctypes.string_at(0)",
    "abort": "import os\nos.abort()",
    "crash by code": "import types\nf = types.FunctionType((lambda: 0).__code__.replace("
    "co_code=bytes([100, 200] * 9), co_consts=(), co_stacksize=0), {{}})\nf()",
}
"""Programs that are stopped by what they do; the right function stands after each but its own."""

CHEATING = {
    "leaves before": "import sys\nsys.exit(0)",
    "leaves at once": "import os\nos._exit(0)",
    "leaves when called": "import os\ndef f(x): os._exit(0)",
    "raises SystemExit when called": "def f(x): raise SystemExit(0)",
    "interrupts": "def f(x): raise KeyboardInterrupt",
    "claims": 'print(\'passed\')\nprint(\'{{"passed": true, "reason": ""}}\')\ndef f(x): return 0',
    "claims on every pipe": "import os\nfor n in range(64):\n    try:\n"
    '        os.write(n, b\'{{"passed": true, "reason": ""}}\\n\')\n'
    "    except OSError: pass\ndef f(x): return 0",
    "closes everything": "import os\nos.closerange(0, 64)\ndef f(x): return 0",
    "closes what it reads": "import sys\nsys.stdin.close()\nsys.stdout.close()\ndef f(x): return 0",
    "equal to everything": "class All:\n    def __eq__(self, other): return True\n"
    "    def __hash__(self): return 0\ndef f(x): return All()",
    "a number equal to everything": "class All(int):\n"
    "    def __eq__(self, other): return True\ndef f(x): return All(0)",
    "a list equal to everything": "class All(list):\n"
    "    def __eq__(self, other): return True\ndef f(x): return All()",
    "redefines assert": "import builtins\nbuiltins.AssertionError = type('No', (), {{}})\n"
    "def f(x): return 0",
    "redefines builtins": "import builtins\n"
    "for name in ('all', 'any', 'abs', 'bool', 'isinstance'):\n"
    "    setattr(builtins, name, lambda *a: True)\ndef f(x): return 0",
    "redefines the checker": "def check(candidate): pass\ndef f(x): return 0",
    "patches the harness": "import sys, json\nfor module in list(sys.modules.values()):\n"
    "    for name in ('_tests', '_told', 'receive', 'unpack', 'check', '_verdict'):\n"
    "        if hasattr(module, name): setattr(module, name, lambda *a: {{'passed': True}})\n"
    'json.dumps = lambda *a, **k: \'{{"passed": true, "reason": ""}}\'\ndef f(x): return 0',
    "writes raw answers": "import os, gc\ndef f(x):\n    for one in gc.get_objects():\n"
    "        if hasattr(one, 'fileno'):\n            try: os.write(one.fileno(), b'[[[[\\n' * 9)\n"
    "            except Exception: pass\n    return 0",
    "nested answer": "import os\ndef f(x):\n    for n in range(3, 64):\n"
    "        try: os.write(n, b'{{\"value\": ' + b'[' * 10**5 + b']' * 10**5 + b'}}\\n')\n"
    "        except OSError: pass\n    return 0",
    "huge number as answer": "import os\ndef f(x):\n    for n in range(3, 64):\n"
    "        try: os.write(n, b'{{\"value\": ' + b'7' * 10**6 + b'}}\\n')\n"
    "        except OSError: pass\n    return 0",
    "looks for the tests": "import gc, sys\ndef f(x):\n    frame, found = sys._getframe(), []\n"
    "    while frame:\n        found.append(str(frame.f_locals))\n        frame = frame.f_back\n"
    "    found += [repr(one)[:10**4] for one in gc.get_objects()]\n"
    "    return x + 1 if 'QUITERIGHT'.lower() in ' '.join(found) else 0",
    "at the end": "import atexit\natexit.register(lambda: print('passed'))\ndef f(x): return 0",
    "by an exit handler": "import sys\nsys.excepthook = lambda *a: print('passed')\n"
    "def f(x): raise ValueError",
    "traces": "import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(print)\n"
    "def f(x): return 0",
    "not a number": "def f(x): return float('nan')",
    "never a value": "def f(x): return f",
    "names another": "g = lambda x: x + 1",
    "no program": "def f(x: return",
    "null": "\0",
    "nothing": "pass",
}
"""Programs that want to be scored right; no right function stands after them."""
