"""Whether an answer tells which model wrote it, or whose model that is.

A name that is nothing else tells it wherever it stands, unless the question named a model first. A
word that means other things, too, and every name after such a question, does where the answer
introduces itself, in one of the languages of ``data/names.toml``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from coupled_arena.core.settings import Settings, resource
from coupled_arena.core.toml_files import read_toml

_SHORT = 25
"""Characters of an answer that is hardly more than the name in it: to "ChatGPT or SmolLM?", say."""
_BEFORE = 200  # characters in which an introduction is looked for
_PARTS = re.compile(r"#|\d+|[^\W\d_]+")
_SPACE = r"[\W_]{0,2}"  # SmolLM2, SmolLM-2, SmolLM 2
_LATIN = "a-zà-öø-ɏ"
_RUSSIAN = "\u0430-\u044f\u0451"
_ENDS = re.compile(r"[.!?](?=\s|$)|[\n\u3002\uff01\uff1f\u061f\u0964]")
# What follows these in a model's name is its size or kind, and says little.
_STEM = re.compile(r"[^\W\d_]{3,}")
_NO_NAMES = frozenset(
    ("assistant", "base", "bot", "chat", "chatbot", "demo", "large", "llm", "model", "small")
)


@dataclass(frozen=True)
class NameList:
    """Names that tell, and words that do in an introduction.

    Attributes
    ----------
    names : tuple of str
        Unmistakable ones. ``#`` stands for a digit; spaces, hyphens and case do not matter.
    words : tuple of str
        Those that are other words, too.
    """

    names: tuple[str, ...]
    words: tuple[str, ...]

    def with_models(self, models: Iterable[str]) -> NameList:
        """Return the list with models' own names, and what these begin with as words."""
        names, words = {*self.names}, {*self.words}
        for model in models:
            called = model.rsplit("/", 1)[-1]
            stem = _STEM.match(called)
            if _unmistakable(called):
                names.add(called)
            elif _is_one(called):
                words.add(called)
            if stem and _is_one(stem[0]):
                words.add(stem[0])
        return NameList(tuple(sorted(names)), tuple(sorted(words)))

    @cached_property
    def hash(self) -> str:
        """What tells this list from others, the phrases of introductions included."""
        said = json.dumps([self.names, self.words, _phrases()], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def told(self, answer: str, question: str) -> str | None:
        """Return the name by which an answer tells who wrote it, as it stands there; else None.

        Parameters
        ----------
        answer : str
        question : str
            All that the visitor wrote, and what was put into the model's mouth.
        """
        low, asked = answer.lower(), question.lower()
        topical = any(pattern.search(asked) for _, pattern in _present(self._certain, asked))
        for name, pattern in _present(self._certain, low):
            for found in pattern.finditer(low):
                short = len(low.strip()) <= _SHORT and not pattern.search(asked)
                if not topical or short or _introduced(low, found, pattern, asked):
                    return _as_written(answer, low, found, name)
        for name, pattern in _present(self._ambiguous, low):
            for found in pattern.finditer(low):
                if _introduced(low, found, pattern, asked):
                    return _as_written(answer, low, found, name)
        return None

    @property
    def certain_hint(self) -> str:
        """A regular expression (RE2, of lower case) of which answers may have a name."""
        return "|".join(sorted(map(re.escape, {hint for hint, _, _ in self._certain})))

    @property
    def word_hint(self) -> str:
        """The same of words; a text must have `introduction_hint`, too."""
        return "|".join(sorted(map(re.escape, {hint for hint, _, _ in self._ambiguous})))

    @cached_property
    def _certain(self) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
        return tuple(map(_compiled, self.names))

    @cached_property
    def _ambiguous(self) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
        return tuple(map(_compiled, self.words))


@cache
def known_names() -> NameList:
    """Return the names that come with the program."""
    table = read_toml(resource("data/names.toml"))
    return NameList(tuple(table["names"]), tuple(table["words"]))


def own_names(settings: Settings) -> NameList:
    """Return what the settings add: their names and words, and the models of their catalog."""
    own = NameList(tuple(settings.naming.names), tuple(settings.naming.words))
    models = settings.catalog.models
    return own.with_models([*(spec.name for spec in models), *(spec.hub or "" for spec in models)])


def languages() -> tuple[str, ...]:
    """Return the languages in which introductions are known."""
    return tuple(_phrases())


def introduction_hint() -> str:
    """Return a regular expression (RE2, of lower case) that every introduction has."""
    said = {
        phrase for table in _phrases().values() for kind in ("self", "as") for phrase in table[kind]
    }
    return "|".join(sorted(map(re.escape, said)))


@cache
def _phrases() -> Mapping[str, Mapping[str, list[str]]]:
    return read_toml(resource("data/names.toml"))["phrases"]


def _is_one(word: str) -> bool:
    """Tell whether a word can be somebody's name: every answer says "model"."""
    return bool(_STEM.match(word)) and word.lower() not in _NO_NAMES


def _unmistakable(name: str) -> bool:
    """Tell whether a model's name is no word: it has one that can be a name, and digits."""
    parts = _PARTS.findall(name.lower())
    return any(map(str.isdigit, parts)) and any(map(_is_one, parts))


def _compiled(name: str) -> tuple[str, str, re.Pattern[str]]:
    """Return what a text must hold to have a name, the name, and where it stands."""
    parts = _PARTS.findall(name.lower())
    pattern = _SPACE.join(r"\d" if part == "#" else re.escape(part) for part in parts)
    first, last = parts[0], parts[-1]
    if re.match(f"[{_LATIN}]", first):
        pattern = f"(?<![{_LATIN}0-9]){pattern}"
    elif re.match(f"[{_RUSSIAN}]", first):
        pattern = f"(?<![{_RUSSIAN}]){pattern}"
    if re.match(f"[{_LATIN}]", last):
        pattern += f"(?:['\u2019]?s)?(?![{_LATIN}])"
    return max((part for part in parts if part != "#"), key=len), name, re.compile(pattern)


def _present(
    patterns: Iterable[tuple[str, str, re.Pattern[str]]], low: str
) -> Iterable[tuple[str, re.Pattern[str]]]:
    return ((name, pattern) for hint, name, pattern in patterns if hint in low)


def _as_written(answer: str, low: str, found: re.Match[str], name: str) -> str:
    # Lower case is of another length in a few alphabets.
    return answer[found.start() : found.end()] if len(low) == len(answer) else name


def _introduced(low: str, found: re.Match[str], pattern: re.Pattern[str], asked: str) -> bool:
    """Tell whether a text introduces itself by what was found in it.

    Where the question has that name, only what comes right before it tells: "I am not as good as".
    """
    right_before = pattern.search(asked) is not None
    before = low[max(found.start() - _BEFORE, 0) : found.start()]
    after = low[found.end() : found.end() + _BEFORE]
    before = _ENDS.split(before)[-1]
    sentence = f"{before} \0 {_ENDS.split(after)[0]}"
    return any(
        right.search(before)
        or (not right_before and opening.search(before) and speaker.search(sentence))
        for right, opening, speaker in _introductions()
    )


@cache
def _introductions() -> tuple[tuple[re.Pattern[str], ...], ...]:
    """Return for each language: right before a name, before it, and what speaks of itself."""
    found: list[tuple[re.Pattern[str], ...]] = []
    for table in _phrases().values():
        own, others = _any_of(table["self"]), _any_of([*table["self"], *table["as"]])
        filled = rf"(?:[\W_]*{_any_of(table['fill'])})*" if table["fill"] else ""
        found.append(
            tuple(
                re.compile(pattern)
                for pattern in (rf"{own}{filled}[\W_]*$", others, _any_of(table["is"]))
            )
        )
    return tuple(found)


def _any_of(phrases: list[str]) -> str:
    """Return a pattern for phrases, as words where their alphabet has spaces between words."""
    each = (
        rf"(?<![{_LATIN}{_RUSSIAN}]){re.escape(said)}(?![{_LATIN}{_RUSSIAN}])"
        if re.match(f"[{_LATIN}{_RUSSIAN}]", said)
        else re.escape(said)
        for said in sorted(phrases, key=len, reverse=True)
    )
    return f"(?:{'|'.join(each)})"
