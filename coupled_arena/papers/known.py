"""Which models are a paper's own, whatever they are called.

The same model has other names in the tables of a paper, in its authors' files, on the Hugging Face
hub, and in `--preset papers`. A number that a paper states stands beside one of ours only where
all its models are there, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

_SIGNS = re.compile(r"[^a-z0-9]+")


def folded(name: str) -> str:
    """Return a name without its owner on the hub, without signs, in small letters."""
    return _SIGNS.sub("", name.rpartition("/")[2].lower())


def same(name: str | None, *spellings: str) -> bool:
    """Tell whether a name is one of these, up to signs and capitals."""
    return name is not None and folded(name) in {folded(each) for each in spellings}


@dataclass(frozen=True)
class KnownNames:
    """Names that a paper has for its models, scenarios or judges.

    Attributes
    ----------
    spellings : mapping of str to tuple of str
        The paper's names, and what each is called elsewhere; signs, capitals and owners on the hub
        do not matter.
    """

    spellings: Mapping[str, tuple[str, ...]]

    @cached_property
    def _by_spelling(self) -> dict[str, str]:
        return {
            folded(each): name
            for name, others in self.spellings.items()
            for each in (name, *others)
        }

    def name_of(self, name: str) -> str | None:
        """Return the paper's name of a model, None if it is none of its."""
        return self._by_spelling.get(folded(name))

    def all_of(self, names: Iterable[str]) -> dict[str, str]:
        """Return the paper's name of each, empty unless these are all that it has and no others."""
        found = {name: self.name_of(name) for name in names}
        known = {name: other for name, other in found.items() if other is not None}
        complete = len(known) == len(found) and sorted(known.values()) == sorted(self.spellings)
        return known if complete else {}


def one_of(several: Sequence[KnownNames], names: Sequence[str]) -> dict[str, str]:
    """Return the paper's name of each model by the first whose models these are; else nothing."""
    return next((found for each in several if (found := each.all_of(names))), {})
