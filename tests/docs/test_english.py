"""What people read is for readers all over the world: short sentences, plain grammar.

That is pages, visitors' texts, `--help`, what columns mean, and docstrings of what is public. The
pages that are made from code (`docs/cli.md` and others) hold nothing else.
"""

from __future__ import annotations

import ast
import re

import pytest

from tests import catalog
from tests.command_pages import all_commands
from tests.dictionary import RESULTS
from tests.docs.pages import REPOSITORY, TEXTS, prose

MADE_FROM_CODE = {"docs/cli.md", "docs/data-dictionary.md", "docs/licences.md"}
OTHERS = ("SECURITY.md", "CHANGELOG.md")
PAGES = {name: text for name, text in TEXTS.items() if name not in MADE_FROM_CODE}
PAGES |= {name: (REPOSITORY / name).read_text(encoding="utf-8") for name in OTHERS}
MOST_WORDS = 25  # 20 is the rule; a list of figures may need a few more
LONG, MOST_LONG = 20, 0.04  # share of what visitors read, and of the other texts in the code
WHOLE = re.DOTALL | re.MULTILINE
WHOSE = re.compile(r"\b(whose|whom|whoever)\b", re.IGNORECASE)
GERMAN = re.compile(r"\b(whose|whom|whoever)\b|^(?:Only o|O)f (?!course)|^Who (?!.*\?$)")


def stretches(text):
    """Yield what stands together: a paragraph, an item of a list, a cell of a table."""
    text = prose(re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL))
    stretch = []
    for line in [*map(str.strip, text.splitlines()), ""]:
        if not line or line[0] in "|#!" or re.match(r"[-*] |\d+\. ", line):
            yield " ".join(stretch)
            stretch = []
        if line.startswith("|"):
            yield from line.strip("|").split("|")
        elif line and line[0] not in "#!":
            stretch.append(re.sub(r"^(?:[-*]|\d+\.) ", "", line))


def sentences(text):
    for stretch in stretches(text):
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", stretch)
        plain = re.sub(r"`[^`]*`", "CODE", plain).replace("*", "").strip()
        yield from split(plain)


def split(text):
    return re.split(r"(?<=[.!?])[\"”’)]*\s+(?=[\"“‘(]?[A-Z0-9])", text)


def of_visitors():
    """Yield the sentences of all texts that a page shows; what stands in a place is one word."""
    for message in catalog.extracted():
        for text in [message.id] if isinstance(message.id, str) else message.id:
            plain = re.sub(r"<code>.*?</code>|`[^`]*`|\{[^}]*\}", "PLACE", text)
            for line in re.split(r"\n|<br>|</p>", plain):
                yield from split(re.sub(r"<[^>]*>", "", line).strip())


def of_commands():
    """Yield the sentences of `--help`: of each command, and of each of its options."""
    told = {
        text
        for _name, command in all_commands()
        for text in (command.help, *(option.help for option in command.params))
        if text
    }
    for text in sorted(told):
        yield from sentences(text)


def of_columns():
    """Yield what the columns of results say that they mean."""
    for text in sorted({column.meaning for columns in RESULTS.values() for column in columns}):
        yield from sentences(text)


def of_code():
    """Yield the sentences of the docstrings of modules, and of public classes and functions."""
    for path in sorted((REPOSITORY / "coupled_arena").rglob("*.py")):
        for node in public(ast.parse(path.read_text(encoding="utf-8"))):
            yield from of_docstring(ast.get_docstring(node) or "")


def public(tree):
    yield tree
    for node in tree.body:
        named = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if named and not node.name.startswith("_"):
            yield from public(node) if isinstance(node, ast.ClassDef) else [node]


def of_docstring(text):
    """Yield sentences; not of references, formulas, tables and drawings, names and their types."""
    text = re.sub(r"^References\n-+\n.*", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\.\. \w+::.*?(?=\n\S|\Z)|^=+ [= ]*\n.*?\n\n", "", text, flags=WHOLE)
    names = r"^(?:Parameters|Attributes|Returns|Yields|Raises)\n-+\n(?:(?!.*\n-+\n).*\n?)*"
    text = re.sub(names, lambda found: re.sub(r"^\S.*", "", found[0], flags=re.M), text, flags=re.M)
    text = re.sub(r"^(?:.*[├└│].*|\w+\n-+)$", "", text, flags=re.MULTILINE)
    text = re.sub(r"``[^`]*``|(?::math:)?`[^`]*`", "CODE", text)
    for stretch in re.split(r"\n\s*\n|\n(?= *(?:[-*]|\d+\.) )|(?<=::)\n", text):
        yield from split(" ".join(stretch.split()))


def words(sentence):
    return sum(1 for word in sentence.split() if re.search(r"\w", word))


@pytest.mark.parametrize("page", PAGES)
def test_sentences_are_short_and_plain(page):
    said = list(sentences(PAGES[page]))
    assert [each for each in said if words(each) > MOST_WORDS] == []
    assert [each for each in said if GERMAN.search(each)] == []


def test_visitors_texts_are_short_and_plain():
    said = [each for each in of_visitors() if each]
    assert [each for each in said if words(each) > MOST_WORDS] == []
    assert [each for each in said if GERMAN.search(each)] == []
    assert sum(words(each) > LONG for each in said) <= MOST_LONG * len(said)


@pytest.mark.parametrize("told", [of_commands, of_columns, of_code])
def test_texts_in_the_code_are_short(told):
    said = [each for each in told() if each]
    assert len(said) > 100
    assert [each for each in said if words(each) > MOST_WORDS] == []
    assert sum(words(each) > LONG for each in said) <= MOST_LONG * len(said)
    if told is not of_code:
        assert [each for each in said if WHOSE.search(each)] == []


def test_a_long_or_inverted_sentence_would_be_noticed():
    said = list(sentences("Only of proxies is it believed. A page whose name\n\n" + "word " * 26))
    assert [bool(GERMAN.search(each)) for each in said if each] == [True, True, False]
    assert words(said[-1]) > MOST_WORDS
