"""What comes from elsewhere: no pickle is unpacked, no code of it runs, all is licensed."""

from __future__ import annotations

import ast
import io
import pickle
import re
from pathlib import Path

import pytest
import torch

from coupled_arena.generation.checkpoint_faults import NO_CODE, _tensors
from tests.licences import PAGE, page

PACKAGE = Path(__file__).resolve().parents[1] / "coupled_arena"
UNPACKING = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


def faults(source):
    """Yield what could run code that a file brings along."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from UNPACKING & {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            yield from UNPACKING & {(node.module or "").split(".")[0]}
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            given = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if called == "torch.load" and given.get("weights_only") != "True":
                yield called
            if called.endswith("read_pickle") or given.get("allow_pickle") == "True":
                yield called
            if given.get("trust_remote_code") == "True" or called in ("eval", "exec"):
                yield called


ALLOWED = {
    "tasks/sandbox_child.py": {"exec"},  # programs that models write, in a process that gave up all
}


def test_nothing_unpacks_or_runs_what_a_file_says():
    found = {
        str(path.relative_to(PACKAGE)): set(faults(path.read_text(encoding="utf-8")))
        for path in PACKAGE.rglob("*.py")
    }
    assert {path: calls for path, calls in found.items() if calls} == ALLOWED


@pytest.mark.parametrize(
    "source",
    [
        *("import pickle", "from joblib import load", "torch.load(path)", "exec(text)"),
        *("torch.load(path, weights_only=False)", "np.load(path, allow_pickle=True)"),
        *("load(name, trust_remote_code=True)", "pd.read_pickle(path)"),
    ],
)
def test_the_search_finds(source):
    assert list(faults(source))


class Runs:
    """What leaves a file where it is unpacked."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_weights_that_run_something_are_refused(tmp_path):
    ran = tmp_path / "ran"
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "pytorch_model.bin").write_bytes(pickle.dumps(Runs(ran)))
    torch.save({"weight": Runs(ran)}, tmp_path / "pytorch_model.bin")
    for folder in (tmp_path, tmp_path / "bare"):
        (said,) = _tensors(folder)
        assert "holds more than weights; have it as safetensors" in said
    assert not ran.exists()
    good = io.BytesIO()
    torch.save({"weight": torch.zeros(1)}, good)
    (tmp_path / "pytorch_model.bin").write_bytes(good.getvalue())
    assert list(_tensors(tmp_path)) == []
    assert NO_CODE == {"trust_remote_code": False}


def test_the_page_of_licences_is_current():
    """Made again with `python -m tests.licences`; it has a row for each package that is pinned."""
    pinned = re.findall(
        r"^([\w-]+)==(\S+)", (PACKAGE.parent / "requirements.txt").read_text(), re.MULTILINE
    )
    rows = re.findall(r"^\| `([^`]+)` \| (\S+) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    assert [(name, version) for name, version, _ in rows] == pinned
    assert all(licence.strip() for *_, licence in rows)
    assert page() == PAGE.read_text(encoding="utf-8")
