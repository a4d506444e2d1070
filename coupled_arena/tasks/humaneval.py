"""Programming problems in the format of HumanEval: the unit tests decide.

Chen et al., "Evaluating large language models trained on code", 2021.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from coupled_arena.core.errors import TaskError
from coupled_arena.core.records import Prompt
from coupled_arena.tasks.data_files import TaskRow, rows
from coupled_arena.tasks.sandbox import ProgramResult, Sandbox
from coupled_arena.tasks.task import Graded, Item, Task, checked

_ASK = "Finish this Python function. It will be run against tests.\n\n```python\n{stub}\n```"
_BEGUN = "This is the finished function:\n\n```python\n{stub}\n"
_FENCE = re.compile(r"[ \t]*```(.*)")
_INDENT = "    "


@dataclass(frozen=True)
class CodeItem(Item):
    """A function to write; the reference is its tests, which define ``check(candidate)``.

    Attributes
    ----------
    stub : str
        What the model is given: imports, helpers, the signature and its documentation.
    entry_point : str
        The function's name.
    """

    stub: str = ""
    entry_point: str = ""

    @property
    def problem(self) -> str:
        """The stub, without lines around it."""
        return self.stub.strip()


@dataclass(frozen=True)
class HumanEval(Task):
    """Functions to write; JSON lines, gzipped or not, or Parquet.

    Attributes
    ----------
    sandbox : Sandbox
        Where the programs run.
    """

    name: ClassVar[str] = "humaneval"
    max_new_tokens: ClassVar[int] = 512
    published: ClassVar[Mapping[str, str]] = {
        "openai/openai_humaneval": "openai_humaneval/test-00000-of-00001.parquet"
    }
    sandbox: Sandbox = field(default_factory=Sandbox)

    def ready(self) -> None:
        """Raise TaskError where programs cannot be run without harm."""
        self.sandbox.ready()

    def read(self, path: Path) -> tuple[Item, ...]:
        """Return the problems."""
        return checked([_item(row) for row in rows(path)], path)

    def score(self, item: Item, reply_text: str) -> Graded:
        """Run the program of the reply against the tests."""
        if not isinstance(item, CodeItem):
            raise TypeError("not an item of this task")
        code = read_code(item, reply_text)
        if code is None:
            return Graded(0.0, None, "no program")
        programs = readings(item, code)
        ran = self.sandbox.run(programs, item.stub, item.reference, item.entry_point)
        note = ": ".join(filter(None, (ran.outcome.value, ran.reason)))
        return Graded(float(ran.outcome is ProgramResult.PASSED), code, note)

    def key(self, read: str) -> str:  # noqa: ARG002 (whatever it is)
        """Refuse: two programs are equal or not by their tests alone."""
        raise TaskError("Answers to humaneval are programs: one of them is no key to the others.")

    def score_all(self, answers: Iterable[tuple[Item, str]]) -> Iterator[Graded]:
        """Yield the scores of some answers in their order, several programs at a time."""
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            yield from pool.map(lambda answer: self.score(*answer), answers)


def read_code(item: CodeItem, reply: str) -> str | None:
    """Return the code in an answer: the first fenced block that defines the function, or has any.

    An answer without fences is code as a whole. Where code begins with the stub, as it does if the
    answer was begun so, what follows the stub is returned.
    """
    text = _joined(item.prompt.prefix, reply)
    blocks = _fenced(text)
    if not blocks:
        code = text if _defines(item.prompt.prefix, item.entry_point) else reply
        return code.removeprefix(item.problem) if reply.strip() and "```" not in text else None
    written = [(block, block.removeprefix(item.problem)) for block in blocks]
    added = [(block, code) for block, code in written if code.strip()]
    defining = [code for block, code in added if _defines(block, item.entry_point)]
    return next(iter([*defining, *(code for _, code in added)]), None)


def _joined(prefix: str, reply: str) -> str:
    """Return the whole answer; code begins on the line after a fence, whoever ended that line."""
    fenced = _FENCE.fullmatch(prefix.rpartition("\n")[2]) is not None
    return prefix + "\n" * (fenced and not reply.startswith("\n")) + reply


def readings(item: CodeItem, code: str) -> list[str]:
    """Return the programs that some code may stand for, the likeliest first.

    The whole function follows the stub, whose imports and helpers it may need. A body alone
    completes the stub. Its first line may have lost its indentation, or all of its lines; where the
    body ends something else may begin.
    """
    stub = item.stub.rstrip() + "\n"
    if _defines(code, item.entry_point):
        return [stub + "\n\n" + textwrap.dedent(code), stub + "\n\n" + code]
    bodies = [code, _INDENT + code.lstrip(), textwrap.indent(code, _INDENT)]
    return [stub + body for body in (*bodies, *map(_first_block, bodies))]


def _fenced(text: str) -> list[str]:
    """Return what stands between fences; a fence with a language opens one even within."""
    blocks: list[list[str]] = []
    inside = False
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if fence:
            inside = not inside or bool(fence[1].strip())
            blocks += [[]] * inside
        elif inside:
            blocks[-1].append(line)
    return ["\n".join(block) for block in blocks]


def _first_block(code: str) -> str:
    """Return the lines up to the first that is not indented."""
    kept: list[str] = []
    for line in code.splitlines():
        if kept and line.strip() and not line[0].isspace():
            break
        kept.append(line)
    return "\n".join(kept)


def _defines(code: str, name: str) -> bool:
    return re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{name}\b", code, re.MULTILINE) is not None


def _item(row: TaskRow) -> CodeItem:
    stub, name = row.text("prompt"), row.text("entry_point")
    if not name.isidentifier():
        raise TaskError(f"{row.where}: entry_point is {name!r}, not the name of a function.")
    tests = row.text("test")
    if not _defines(stub, name) or not _defines(tests, "check"):
        raise TaskError(f"{row.where}: the prompt must define {name}, and the test check.")
    asked, begun = (words.replace("{stub}", stub.strip()) for words in (_ASK, _BEGUN))
    prompt = Prompt(asked, row.text("task_id"), "humaneval", prefix=begun)
    return CodeItem(prompt, tests, stub, name)
