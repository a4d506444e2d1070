"""Word problems in the format of GSM8K: the last number of an answer counts.

Cobbe et al., "Training verifiers to solve math word problems", 2021.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

from coupled_arena.core.errors import TaskError
from coupled_arena.core.records import Prompt
from coupled_arena.tasks.data_files import rows
from coupled_arena.tasks.task import Graded, Item, Task, checked

_SYSTEM = "Solve the word problem. Your whole reply is one number: the result."
_MARK = "####"
_LONGEST = 40  # digits; nothing that is counted has more

# A minus is a sign only where nothing it could be subtracted from stands before it. A point
# belongs to the number only if digits follow; commas only between groups of three digits.
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.)\]])[-\u2212])?[$€£¥]?(?P<minus>(?<=[$€£¥])[-\u2212])?"
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)?(?P<part>(?(whole)|(?<!\w))\.[0-9]+)?"
    r"(?:/(?P<below>[0-9]+))?"
)


class Gsm8k(Task):
    """Word problems; JSON lines or Parquet."""

    name = "gsm8k"
    max_new_tokens = 256
    published: ClassVar[Mapping[str, str]] = {"openai/gsm8k": "main/test-00000-of-00001.parquet"}

    def read(self, path: Path) -> tuple[Item, ...]:
        """Return the problems; the reference is what follows the last ``####``."""
        items: list[Item] = []
        for row in rows(path):
            _, mark, result = row.text("answer").rpartition(_MARK)
            reference = read_number(result) if mark else None
            if reference is None:
                raise TaskError(f"{row.where}: the answer does not end with #### and a number.")
            prompt = Prompt(
                row.text("question").strip(), f"gsm8k/{row.number}", "gsm8k", system=_SYSTEM
            )
            items.append(Item(prompt, reference))
        return checked(items, path)

    def score(self, item: Item, reply_text: str) -> Graded:
        """Compare the last number of the reply, as an exact fraction."""
        number = read_number(item.prompt.prefix + reply_text, len(item.prompt.prefix))
        right = number is not None and Fraction(number) == Fraction(item.reference)
        return Graded(float(right), number)

    def key(self, read: str) -> str:
        """Return the number in lowest terms."""
        return str(Fraction(read))


def numbers(text: str, begun: int = 0) -> list[str]:
    """Return the numbers in a text in their order, as ``Fraction`` reads them.

    Those that end within the first so many characters are left out: they were put there.
    """
    found = (_plain(match) for match in _NUMBER.finditer(text) if match.end() > begun)
    return [number for number in found if number is not None]


def read_number(text: str, begun: int = 0) -> str | None:
    """Return the last number in a text, or None; see `numbers`."""
    found = numbers(text, begun)
    return found[-1] if found else None


def _plain(match: re.Match[str]) -> str | None:
    whole, part, below = match["whole"], match["part"], match["below"]
    if not (whole or part) or len(match[0]) > _LONGEST:
        return None
    sign = "-" if match["sign"] or match["minus"] else ""
    number = sign + (whole or "0").replace(",", "") + (part or "")
    divides = below is not None and not part and int(below) > 0
    return f"{number}/{below}" if divides else number
