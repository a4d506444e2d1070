"""Whether an answer tells which model wrote it, or whose model that is.

A name that is nothing else tells it wherever it stands, unless the question named a model first. A
word with other meanings counts where the answer introduces itself, in one of the languages of
``data/names.toml``. So does every name after such a question.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, islice

from coupled_arena.core.files import read_toml
from coupled_arena.core.settings import Settings, resource

_SHORT = 25
"""Characters of an answer that is hardly more than the name in it: to "ChatGPT or SmolLM?", say."""
_BEFORE = 200  # characters in which an introduction is looked for
_PARTS = re.compile(r"#|\d+|[^\W\d_]+")
_SPACE = r"[\W_]{0,2}"  # SmolLM2, SmolLM-2, SmolLM 2
_LATIN = "a-zà-öø-ɏ"
_RUSSIAN = "\u0430-\u044f\u0451"
_LETTER = re.compile(f"[{_LATIN}{_RUSSIAN}]")
_ENDS = re.compile(r"[.!?](?=\s|$)|[\n\u3002\uff01\uff1f\u061f\u0964]")
# What follows these in a model's name is its size or kind, and says little.
_STEM = re.compile(r"[^\W\d_]{3,}")
_NO_NAMES = frozenset(
    ("assistant", "base", "bot", "chat", "chatbot", "demo", "large", "llm", "model", "small")
)
# Answers are full of these: "instructions", "administration".
_KINDS = frozenset((*_NO_NAMES, "instruct", "mini", "preview", "turbo"))


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
        described = json.dumps([self.names, self.words, _phrases()], sort_keys=True)
        return hashlib.sha256(described.encode()).hexdigest()[:16]

    def name_in(self, answer: str, question: str) -> str | None:
        """Return the name by which an answer tells who wrote it, as it stands there; else None.

        Parameters
        ----------
        question : str
            All that the visitor wrote, and what was put into the model's mouth.
        """
        low, asked = answer.lower(), question.lower()
        topical = any(pattern.search(asked) for _, pattern in _present(self._certain, asked))
        short = len(low.strip()) <= _SHORT
        introductions = _Introductions(low)
        for certain, list in ((True, self._certain), (False, self._ambiguous)):
            for name, pattern in _present(list, low):
                asked_for = pattern.search(asked) is not None
                tells = certain and (not topical or (short and not asked_for))
                for found in pattern.finditer(low):
                    if tells or introductions.introduce(*found.span(), right_before=asked_for):
                        return _as_written(answer, low, found, name)
        return None

    @property
    def certain_hint(self) -> str:
        """A regular expression (RE2, of lower case) of which answers may have a name."""
        return "|".join(sorted(map(re.escape, {hint for hint, _, _ in self._certain})))

    @property
    def word_hint(self) -> str:
        """The same of words; a text must have `introduction_hint`, too.

        Words are short: most answers have the letters of AI21 somewhere. So these stand whole. All
        names as whole ones would be a longer pattern than DuckDB takes.
        """
        alike: dict[tuple[str, str], set[str]] = {}
        for before, word, after in map(_around, self.words):
            alike.setdefault((_of_re2(before), _of_re2(after)), set()).add(_of_re2(word))
        return "|".join(
            f"{before}(?:{'|'.join(sorted(words))}){after}"
            for (before, after), words in sorted(alike.items())
        )

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


def introduction_hint() -> str:
    """Return a regular expression (RE2, of lower case) that every introduction has."""
    phrases = {
        phrase for table in _phrases().values() for kind in ("self", "as") for phrase in table[kind]
    }
    return "|".join(sorted(map(re.escape, phrases)))


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
    parts = (part for part in _PARTS.findall(name.lower()) if part != "#")
    hint = max(parts, key=lambda part: (len(part) > 2 and part not in _KINDS, len(part)))
    return hint, name, re.compile("".join(_around(name)))


def _around(name: str) -> tuple[str, str, str]:
    """Return patterns of a name: what stands before it, its parts, and what stands after it."""
    parts = _PARTS.findall(name.lower())
    before = after = ""
    if re.match(f"[{_LATIN}]", parts[0]):
        before = f"(?<![{_LATIN}0-9])"
    elif re.match(f"[{_RUSSIAN}]", parts[0]):
        before = f"(?<![{_RUSSIAN}])"
    if re.match(f"[{_LATIN}]", parts[-1]):
        after = f"(?:['\u2019]?s)?(?![{_LATIN}])"
    return before, _SPACE.join(r"\d" if part == "#" else re.escape(part) for part in parts), after


def _of_re2(pattern: str) -> str:
    """Return a pattern for RE2, which has no lookaround: it finds all that Python's finds."""
    plain = pattern.replace("(?<![", "(?:^|[^").replace("(?![", "(?:$|[^")
    return plain.replace(r"\d", r"[0-9\x{80}-\x{10FFFF}]")  # digits of all alphabets


def _present(
    patterns: Iterable[tuple[str, str, re.Pattern[str]]], low: str
) -> Iterable[tuple[str, re.Pattern[str]]]:
    return ((name, pattern) for hint, name, pattern in patterns if hint in low)


def _as_written(answer: str, low: str, found: re.Match[str], name: str) -> str:
    # Lower case is of another length in a few alphabets.
    return answer[found.start() : found.end()] if len(low) == len(answer) else name


class _Introductions:
    """Where a text introduces itself, found once, so that each name in it costs the same.

    Parameters
    ----------
    low : str
        The text, in lower case.
    """

    def __init__(self, low: str) -> None:
        self._low = low

    def introduce(self, begin: int, end: int, *, right_before: bool) -> bool:
        """Tell whether the text introduces itself by what stands between two places.

        Where the question has that name, only what comes right before it tells: "I am not as good
        as".
        """
        first = self._sentence(begin)
        last = self._sentence_end(end)
        for own, others, speakers, rest in self._languages:
            if any(rest.match(self._low, at, begin) for at in own.ends(first, begin)):
                return True
            opens = not right_before and others.within(first, begin)
            if opens and (speakers.within(first, begin) or speakers.within(end, last)):
                return True
        return False

    def _sentence(self, begin: int) -> int:
        """Return where the sentence begins in which something begins."""
        if begin and self._low[begin - 1] in ".!?":
            return begin
        at = bisect_right(self._ends, begin - 1)
        return max(begin - _BEFORE, 0, self._ends[at - 1] + 1 if at else 0)

    def _sentence_end(self, end: int) -> int:
        at = bisect_left(self._ends, end)
        most = min(end + _BEFORE, len(self._low))
        return min(self._ends[at], most) if at < len(self._ends) else most

    @cached_property
    def _ends(self) -> list[int]:
        return [found.start() for found in _ENDS.finditer(self._low)]

    @cached_property
    def _languages(self) -> list[tuple[_Phrases, _Phrases, _Phrases, re.Pattern[str]]]:
        """For each language that may introduce: what does right before, before, and speaks."""
        found: list[tuple[_Phrases, _Phrases, _Phrases, re.Pattern[str]]] = []
        for own, others, speakers, rest in _introductions():
            if any(phrase in self._low for phrase in others):
                low = self._low
                phrases = _Phrases(low, own), _Phrases(low, others), _Phrases(low, speakers)
                found.append((*phrases, rest))
        return found


class _Phrases:
    """Where phrases stand in a text, as words where their alphabet has spaces between words.

    A part of the text that is asked about ends words where it begins and ends.
    """

    def __init__(self, low: str, phrases: Sequence[str]) -> None:
        whole: list[tuple[int, int]] = []
        self._cut_before: dict[int, list[int]] = {}  # ends, by the place where a word goes on
        self._cut_after: dict[
            int, list[tuple[int, bool]]
        ] = {}  # by ends: begins, and if whole there
        for phrase in phrases:
            as_word = _LETTER.match(phrase) is not None
            begin = low.find(phrase)
            while begin >= 0:
                end = begin + len(phrase)
                before = not (as_word and begin and _LETTER.match(low, begin - 1))
                after = not (as_word and _LETTER.match(low, end))
                if before and after:
                    whole.append((begin, end))
                elif after:
                    self._cut_before.setdefault(begin, []).append(end)
                else:
                    self._cut_after.setdefault(end, []).append((begin, before))
                begin = low.find(phrase, begin + 1)
        self._whole = sorted(whole)
        self._begins = [begin for begin, _ in self._whole]
        self._first_ends = [*accumulate((end for _, end in reversed(self._whole)), min)][::-1]

    def within(self, first: int, last: int) -> bool:
        """Tell whether one stands between two places."""
        at = bisect_left(self._begins, first)
        return (
            (at < len(self._begins) and self._first_ends[at] <= last)
            or any(end <= last for end in self._cut_before.get(first, ()))
            or self._cut_by(first, last)
        )

    def ends(self, first: int, last: int) -> Iterator[int]:
        """Yield where those end that stand between two places."""
        for begin, end in islice(self._whole, bisect_left(self._begins, first), None):
            if begin >= last:
                break
            if end <= last:
                yield end
        yield from (end for end in self._cut_before.get(first, ()) if end <= last)
        if self._cut_by(first, last):
            yield last

    def _cut_by(self, first: int, last: int) -> bool:
        places = self._cut_after.get(last, ())
        return any(begin == first or (begin > first and whole) for begin, whole in places)


@cache
def _introductions() -> tuple[
    tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], re.Pattern[str]], ...
]:
    """Return for each language: right before a name, before it, what speaks of itself.

    The pattern is of what may stand between the first and the name.
    """
    return tuple(
        (
            tuple(table["self"]),
            (*table["self"], *table["as"]),
            tuple(table["is"]),
            re.compile(
                (rf"(?:[\W_]*{_any_of(table['fill'])})*" if table["fill"] else "") + r"[\W_]*$"
            ),
        )
        for table in _phrases().values()
    )


def _any_of(phrases: list[str]) -> str:
    """Return a pattern for phrases, as words where their alphabet has spaces between words."""
    each = (
        rf"(?<![{_LATIN}{_RUSSIAN}]){re.escape(said)}(?![{_LATIN}{_RUSSIAN}])"
        if re.match(f"[{_LATIN}{_RUSSIAN}]", said)
        else re.escape(said)
        for said in sorted(phrases, key=len, reverse=True)
    )
    return f"(?:{'|'.join(each)})"
