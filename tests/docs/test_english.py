"""Pages and visitors' texts are for readers all over the world: short sentences, plain grammar.

What commands and columns say of themselves is made from code (`docs/cli.md` and others): not here.
"""

from __future__ import annotations

import re

import pytest

from tests import catalog
from tests.docs.pages import REPOSITORY, TEXTS, prose

MADE_FROM_CODE = {"docs/cli.md", "docs/data-dictionary.md", "docs/licences.md"}
OTHERS = ("SECURITY.md", "CHANGELOG.md")
PAGES = {name: text for name, text in TEXTS.items() if name not in MADE_FROM_CODE}
PAGES |= {name: (REPOSITORY / name).read_text(encoding="utf-8") for name in OTHERS}
MOST_WORDS = 25  # 20 is the rule; a list of figures may need a few more
LONG, MOST_LONG = 20, 0.05  # share of what visitors read
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


def test_a_long_or_inverted_sentence_would_be_noticed():
    said = list(sentences("Only of proxies is it believed. A page whose name\n\n" + "word " * 26))
    assert [bool(GERMAN.search(each)) for each in said if each] == [True, True, False]
    assert words(said[-1]) > MOST_WORDS
