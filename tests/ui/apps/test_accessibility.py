"""What axe-core finds wrong on the page, in light and dark: nothing."""

from __future__ import annotations

import pytest

from tests.ui import visiting
from tests.ui.visiting import ask_until_open, open_tab, revealed

# What a tab shows once its numbers are there; the others have all from the beginning.
_SAID = "#{}-said p:not(.waiting)"
DRAWN = {
    "Leaderboard": "#board tbody tr",
    "Past battles": ".battles:not(.waiting) .headline",  # pale while it looks for them
    **{name: _SAID.format(name.lower()) for name in ("Audit", "Coupling", "Risk")},
}


@pytest.fixture(scope="module")
def page(app, stay):
    return stay(app.url)


def violations(page):
    """Return rule, element and reason of whatever is wrong, in both colour schemes."""
    found = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(
            "dark => document.body.classList.contains('dark') === dark", arg=scheme == "dark"
        )
        found += [(scheme, *each) for each in visiting.violations(page)]
    return found


def test_a_round_from_question_to_reveal(page):
    ask_until_open(page)
    assert violations(page) == []
    page.keyboard.press("a")
    revealed(page)
    page.get_by_role("button", name="Why did they part?").click()
    page.get_by_label("Why the answers parted").wait_for()
    assert violations(page) == []


def test_every_tab(page):
    page.get_by_role("tab").first.wait_for()
    names = page.get_by_role("tab").all_inner_texts()
    assert {"Battle", "Leaderboard", "Data"} <= set(names)
    for name in names[1:]:
        open_tab(page, name)
        page.get_by_role("tab", name=name, selected=True).wait_for()
        if name in DRAWN:
            page.wait_for_selector(DRAWN[name])
        assert violations(page) == [], name


def test_it_sees_what_is_wrong(page):
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img id=wrong src=data:,>')")
    assert {rule for _, rule, *_ in violations(page)} >= {"image-alt"}
    page.evaluate("document.getElementById('wrong').remove()")


def test_every_figure_says_what_it_shows(page):
    open_tab(page, "Leaderboard")
    page.wait_for_selector("#board-rank-sets .js-plotly-plot[role=img]")
    names = page.eval_on_selector_all(
        ".js-plotly-plot",  # a tab that was left may still have its own
        "drawn => drawn.filter((one) => one.checkVisibility())"
        ".map((one) => [one.role, one.ariaLabel])",
    )
    assert names
    for role, name in names:
        assert role == "img"
        assert "People's votes" in name
        assert "<" not in name
