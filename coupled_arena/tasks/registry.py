"""The benchmarks there are, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from coupled_arena.tasks.gsm8k import Gsm8k
from coupled_arena.tasks.humaneval import HumanEval
from coupled_arena.tasks.mmlu import Mmlu
from coupled_arena.tasks.quiz import Quiz
from coupled_arena.tasks.task import Task

TASKS: Mapping[str, Task] = MappingProxyType(
    {task.name: task for task in (Mmlu(), Gsm8k(), HumanEval(), Quiz())}
)
