"""The page in German, in Chromium: no English text of the catalog is left where it is wrapped."""

from __future__ import annotations

import pytest

from coupled_arena.core.language import ENGLISH
from tests import catalog
from tests.small_models import SMALL_MODELS
from tests.ui.server import serving

TABS = ["Duell", "Rangliste", "Prüfung", "Kopplung", "Risiko", "Experimente", "Vergleichen"]
TABS += ["Duelle", "Daten"]
SHORTEST = 4  # words of a text that cannot be there by chance
ALL_TEXTS = """() => {
  const seen = [document.documentElement.textContent];
  for (const node of document.querySelectorAll("[aria-label], [title], [placeholder]")) {
    for (const name of ["aria-label", "title", "placeholder"]) seen.push(node.getAttribute(name));
  }
  for (const node of document.querySelectorAll("script, style")) {
    seen[0] = seen[0].replace(node.textContent, "");
  }
  return seen.filter(Boolean).join("\\n");
}"""


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    config = f'language = "de"\n[sampling]\nmax_new_tokens = 12\n{SMALL_MODELS}'
    with serving(tmp_path_factory.mktemp("german"), config) as served:
        yield served


def untranslated(page):
    """Return the English texts of the catalog that are on the page."""
    shown = " ".join(page.evaluate(ALL_TEXTS).split())
    found = []
    for each in catalog.translation("de"):
        text = each.id if isinstance(each.id, str) else each.id[0]
        plain = " ".join(text.removeprefix("## ").split())
        if each.string != each.id and len(text.split()) >= SHORTEST and plain in shown:
            found.append(text)
    return found


def shows(page, text):
    return page.get_by_text(text, exact=False).first.wait_for()


def test_a_round_a_refusal_and_all_tabs_are_german(german, visit):
    page = visit(german.url)
    page.wait_for_selector("#ask")
    assert page.evaluate("document.documentElement.lang") == "de"
    assert untranslated(page) == []
    page.click("#ask")  # nothing was asked
    shows(page, "Schreiben Sie zuerst eine Frage")
    page.fill("#question textarea", "What is a cat?")
    page.click("#ask")
    page.locator("#round .ballot button", has_text="Beide sind schlecht").click()
    page.locator("#round .reveal").wait_for()
    shows(page, "Gezählt: beide sind schlecht.")
    assert untranslated(page) == []
    for name in TABS:
        page.get_by_role("tab", name=name, exact=True).click()
        page.wait_for_function(
            "name => document.querySelector('[role=tab][aria-selected=true]').innerText === name",
            arg=name,
        )
        assert untranslated(page) == []
    assert "tab=data" in page.url


def test_compare_a_battle_and_a_model_are_german(german, visit):
    page = visit(f"{german.url}/?tab=compare", reloads=True)
    page.fill("#compare-question textarea", "What is a cat?")
    page.click("#compare")
    shows(page, "Zeichen sind allen gemeinsam")
    assert untranslated(page) == []
    page.goto(f"{german.url}/?tab=battles")
    page.locator("#battles .found a").first.click()
    shows(page, "Wie es entstand")
    assert untranslated(page) == []
    page.locator("#battles h2 a").first.click()
    shows(page, "Einige seiner Duelle")
    assert untranslated(page) == []


def test_an_english_page_is_told_no_translations(app, visit):
    page = visit(app.url)
    page.wait_for_selector("#ask")
    assert page.evaluate("document.documentElement.lang") == ENGLISH
    assert page.evaluate("say('{n} of {m}', { n: 1, m: 2 })") == "1 of 2"
    assert page.evaluate("sayN('cut at {n} token', 'cut at {n} tokens', 2)") == "cut at 2 tokens"
    assert page.evaluate("[...document.scripts].some((one) => one.text.includes('Duell'))") is False
