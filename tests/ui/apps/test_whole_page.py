"""Everything a visitor meets, in German and in English on equal stores: no text is in both."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import ExitStack

import httpx
import pytest

from coupled_arena.core.language import ENGLISH
from coupled_arena.core.prompts import read_library
from coupled_arena.core.settings import resource
from coupled_arena.store.database import Store
from tests.analysis import test_coupling
from tests.judging.scripted import KEY, completion, scripted
from tests.patience import until
from tests.small_models import NAMES, SMALL_MODELS
from tests.ui import test_audit
from tests.ui.apps.test_waiting import loading, status
from tests.ui.fields import enter
from tests.ui.server import serving

# Stored texts: questions and answers, as somebody wrote them.
CODE = ["script", "style", "noscript", "code"]
STORED = [".question", ".answer .text", ".found a", "#library", ".raw", "#files td", ".filename"]
STORED += [".battles details dl"]  # versions, as battles keep them
SAID = json.dumps({"verdict": "A"})
SAME = {
    *("Alpha", "Benchmark", "Format", "Nonce", "Portfolio", "Sampling"),  # words of German, too
    *("CSV", "Parquet", "PNG", "SVG", ".csv", "Bonferroni"),
    *("attention", "bytes per weight", "device", "dtype", "fingerprint", "perplexity"),  # stored
    *("quantization", "replies at once", "many", "source", "torch", "transformers", "weights"),
    *("length", "portfolio", "refusal", "repetition"),  # names of metrics as they are stored
    *("Clear", "Click to upload or drop files", "Close", "Empty value", "Error"),  # Gradio's own
    *("Remove this file", "Reset to default value", "common.complete", "processing |"),
    SAID,  # as the judge wrote it
}
CONFIG = """
snapshot_seconds = 0.2
[sampling]
max_new_tokens = 12
[judge]
name = "strict"
base_url = "{}"
key = "{}"
patience = 0.5
"""
TEXTS = """skipped => {
  const seen = new Set();
  const visible = (node) => node && node.checkVisibility() && !node.closest(skipped);
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    if (visible(nodes.currentNode.parentElement)) seen.add(nodes.currentNode.data);
  }
  for (const name of ["aria-label", "title", "placeholder"]) {
    for (const node of document.querySelectorAll(`[${name}]`)) {
      if (visible(node)) seen.add(node.getAttribute(name));
    }
  }
  for (const node of document.querySelectorAll("input:not([type=radio], [type=checkbox])")) {
    if (visible(node)) seen.add(node.value);  // choices are shown so
  }
  return [...seen];
}"""
UNFOLD = """() => {
  for (const node of document.querySelectorAll("details")) node.open = true;
  for (const node of document.querySelectorAll("button.label-wrap:not(.open)")) {
    if (node.checkVisibility()) node.click();
  }
}"""
DRAWN = {  # by tab: what it shows once its numbers are there
    "battle": "#ask",
    "leaderboard": "#board tbody tr",
    "gate": "#gate-start",
    "audit": "#audit-table tbody tr",
    "coupling": "#coupling-curves .js-plotly-plot",
    "risk": "#risk-table tbody tr",
    "experiments": "#run-experiment",
    "compare": "#compare",
    "battles": ".battles .found li",
    "data": "#make-files",
}
# Of tabs that are called otherwise in addresses.
TITLES = {"gate": "As good as?", "battles": "Past battles"}
REFUSED = [  # addresses that lead nowhere
    *("?battle=none", "?model=none", "?tab=battles&mode=none", "?tab=battles&temperature=none"),
    *("?tab=battles&source=judge", "?tab=battles&source=judge&judge=none", f"?battle={'x' * 301}"),
]
# The answers are over: while they grow, who stops them is asked instead.
OVER = """() => {
  const buttons = [...document.querySelectorAll("#round .ballot button")];
  const open = buttons.length && buttons.every((one) => one.ariaDisabled !== "true");
  return open || document.querySelector("#round .reveal");
}"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A database with votes, verdicts, and scores under both protocols."""
    db = tmp_path_factory.mktemp("stored") / "arena.duckdb"
    with Store.open(db) as store:
        test_audit.fill(store, NAMES[:2], "gpt")
        test_audit.fill(store, NAMES[1:], "gpt", votes=4, alone=2)
        test_coupling.fill(store)
    return db


@pytest.fixture(scope="module")
def arenas(stored, tmp_path_factory):
    """The addresses of two arenas, by their languages."""
    with ExitStack() as opened:
        judge = opened.enter_context(scripted(lambda _: completion(SAID)))
        addresses = {}
        for language in ("de", "en"):
            folder = tmp_path_factory.mktemp(language)
            shutil.copy(stored, folder / stored.name)
            config = f'language = "{language}"\n{CONFIG.format(judge.url, KEY)}{SMALL_MODELS}'
            addresses[language] = opened.enter_context(serving(folder, config)).url
        yield addresses


class Tour:
    """A walk through one arena, which keeps all texts that it meets, by where."""

    def __init__(self, page, url):
        self.page, self.url = page, url
        self.met = {}

    def look(self, where):
        self.page.evaluate(UNFOLD)
        for text in self.page.evaluate(TEXTS, ", ".join([*CODE, *STORED])):
            self.met.setdefault(" ".join(text.split()), where)

    def refused(self, where):
        """Keep what the page says to somebody whom it refuses, and close that."""
        toast = self.page.locator(".toast-body").last
        toast.wait_for()
        self.look(where)
        self.page.locator(".toast-close").last.click()
        toast.wait_for(state="detached")

    def go(self, address, shown):
        """Follow an address as a link of the page does."""
        to = "to => window.dispatchEvent(new CustomEvent('arena:go', { detail: to }))"
        self.page.evaluate(to, address)
        self.page.locator(shown).first.wait_for()
        self.look(address)

    def tab(self, name):
        said = self.page.evaluate("title => say(title)", TITLES.get(name, name.capitalize()))
        self.page.get_by_role("tab", name=said, exact=True).click()
        self.page.locator(DRAWN[name]).first.wait_for()
        self.look(f"tab {name}")

    def battle(self):
        self.page.goto(self.url)
        self.page.click("#ask")
        self.refused("asked nothing")
        self.ask()
        self.look("ballot")
        self.page.locator("#round").press("a")
        self.page.locator("#round .standings").wait_for()
        asks = self.page.evaluate("say('Why did they part?')")
        self.page.locator("#round").get_by_role("button", name=asks).first.click()
        self.page.locator("#round .why").wait_for()
        self.page.evaluate(UNFOLD)
        self.page.locator("#history .found li").first.wait_for()
        self.look("reveal")
        self.ask()
        key = self.page.locator("kbd", has_text="J")
        self.page.locator("#round button", has=key).click()  # offered once the answers are whole
        self.page.locator("#round .reveal").wait_for()
        self.look("decided by a judge")

    def ask(self):
        """Ask until answers differ: others reveal themselves, and nothing can be said of them."""
        for _ in range(10):
            self.page.fill("#question textarea", "What is a cat?")
            self.page.click("#ask")
            self.page.locator("#round .reveal").wait_for(state="detached")
            self.page.locator("#round .ballot, #round .reveal").first.wait_for()
            self.page.wait_for_function(OVER)
            if not self.page.query_selector("#round .reveal"):
                return
        pytest.fail("ten rounds in a row had identical answers")

    def tables(self, folder):
        """See the analyses, and open tables that are none."""
        for name, text in (("coupling", "Noise,one\nOften,1\n"), ("risk", "a,b\n1\n")):
            self.tab(name)
            file = folder / "table.csv"
            file.write_text(text)
            self.page.locator(f"#{name}-file input[type=file]").set_input_files(file)
            self.refused(f"a wrong table of {name}")

    def experiments(self):
        self.tab("experiments")
        self.page.wait_for_function(
            "() => document.querySelector('#experiment-judge input').value !== ''"
        )
        kept = self.page.get_by_role("textbox").first
        sizes = kept.input_value()
        for wrong in ("some", "9999"):
            enter(kept, wrong)
            self.page.click("#run-experiment")
            self.refused(f"{wrong} votes")
        kept.fill(sizes)
        self.page.get_by_role("spinbutton").nth(1).fill("10")
        self.page.click("#run-experiment")
        self.page.locator("#experiment-size-against-intersection .js-plotly-plot").wait_for()
        self.look("experiment")

    def compare(self):
        self.tab("compare")
        self.page.click("#compare")
        self.refused("compared nothing")
        enter(self.page.locator("#compare-question textarea"), "What is a cat?")
        seed = self.page.locator("#compare-seed").locator("input, textarea")
        seed.fill("none")
        self.page.click("#compare")
        self.refused("no seed")
        seed.fill("7")
        self.page.click("#compare")
        self.page.locator("#comparison .part").first.wait_for()
        self.look("compared")

    def battles(self):
        self.tab("battles")
        found = ".battles .found li"
        self.go("?tab=battles&a=small-red&b=small-green&source=people", found)
        self.page.locator(".battles .found a").first.click()
        self.page.locator(".battles dl").first.wait_for()
        self.look("one battle")
        self.go("?model=small-green", ".battles .history")
        self.go("?model=ann", ".battles h2")
        for address in REFUSED:
            self.go("?tab=battles", found)
            self.go(address, ".battles .broken")

    def data(self):
        self.tab("data")
        self.page.click("#make-files")
        self.page.locator("#files").wait_for()
        self.look("files")


def named():
    """Return a pattern of names: of models, judges, metrics and categories, of files and zones."""
    library = read_library(resource("data/prompts.jsonl"))
    names = [
        *NAMES,
        *test_coupling.MODELS,
        *library.categories,
        "gpt",
        "strict",
        "quiz",
        "table.csv",
    ]
    names += ["Coupled Arena", "UTC"]
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    values = r"(?:folder:\S*|cpu|float32|none|row_sdpa)"  # of what is stored of models
    values += r"|temperature|top_[kp]|max_new_tokens|coupling (?:bytes|token)"  # of settings
    return re.compile(rf"\b(?:{known}|{values})\b|\b[0-9a-f]{{16,}}\b")


def same_in_both(tours):
    """Return the texts that both arenas have, with letters besides names and numbers."""
    names = named()
    german, english = (tours[language].met for language in ("de", "en"))
    return {
        text: where
        for text, where in german.items()
        if text in english and re.search("[A-Za-z]{2}", names.sub("", text)) and text not in SAME
    }


def test_the_page_while_models_load_is_german(tmp_path):
    with loading(tmp_path, 'language = "de"\n') as (served, _):
        says = "<i>slow</i> wird geladen, 2 von 3."
        until(lambda: (found := status(served)) is not None and found.json().get("doing") == says)
        page = httpx.get(served.url).text
    assert '<html lang="de">' in page
    assert "<title>Coupled Arena macht sich bereit</title>" in page
    assert "Die Seite öffnet sich von selbst, sobald sie bereit ist." in page


def test_who_comes_by_a_link_that_does_not_hold_reads_so_in_german(arenas):
    refused = httpx.get(f"{arenas['de']}/?annotator=none")
    assert refused.status_code == 404
    assert '<html lang="de">' in refused.text
    assert "Dieser Link gilt nicht (mehr)." in refused.text
    assert '<a href="./">' in refused.text


def test_no_text_is_the_same_in_both_languages(arenas, stay, tmp_path):
    tours = {}
    for language, url in arenas.items():
        page = stay("about:blank", locale=language)
        tour = tours[language] = Tour(page, url)
        tour.battle()
        for name in ("leaderboard", "gate", "audit"):
            tour.tab(name)
        tour.tables(tmp_path)
        tour.experiments()
        tour.compare()
        tour.battles()
        tour.data()
    assert same_in_both(tours) == {}


def test_an_english_page_is_told_no_translations(app, visit):
    page = visit(app.url)
    page.wait_for_selector("#ask")
    assert page.evaluate("document.documentElement.lang") == ENGLISH
    assert page.evaluate("say('{n} of {m}', { n: 1, m: 2 })") == "1 of 2"
    assert page.evaluate("sayN('cut at {n} token', 'cut at {n} tokens', 2)") == "cut at 2 tokens"
    assert page.evaluate("[...document.scripts].some((one) => one.text.includes('Duell'))") is False
