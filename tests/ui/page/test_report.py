"""The report in a browser: it runs nothing but its own scripts and asks nobody for anything."""

from __future__ import annotations

import re

import pytest
from markupsafe import escape

from coupled_arena.cli import main
from tests.patience import new_context
from tests.views.rubbish import SCRIPT, made

FIGURES = 36


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    made(folder / "arena.duckdb")
    with pytest.raises(SystemExit) as stopped:
        main(["report", "--db", str(folder / "arena.duckdb"), "--out", str(folder)])
    assert not stopped.value.code
    return folder / "report.html"


@pytest.fixture
def visit(browser, page_file):
    """Open the report from disk; complain of errors and of any request but for the file."""
    contexts, requests, complaints = [], [], []

    def opened(width=1440, **options):
        context = new_context(browser, viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(page_file.as_uri())
        page.wait_for_function("document.querySelectorAll('.plot .plotly').length > 0")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert {url for url in requests if not url.startswith("data:")} == {page_file.as_uri()}


def drawn(page):
    return page.locator(".plot .plot-container").count()


def test_names_do_not_run_figures_fit_and_colours_follow_the_reader_but_not_on_paper(visit):
    page = visit(1440, color_scheme="light")
    names_do_not_run_and_figures_fit(page, 1440)
    light = colours(page)
    page = visit(390, color_scheme="dark")
    names_do_not_run_and_figures_fit(page, 390)
    dark = colours(page)
    assert all(here != there for here, there in zip(light, dark, strict=True))
    page.emulate_media(media="print")
    page.wait_for_function(f"getComputedStyle(document.body).backgroundColor === '{light[1]}'")
    assert colours(page) == light
    widths = page.locator(".plot .main-svg").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().width)"
    )
    assert set(widths) == {660}
    assert page.pdf(format="A4").startswith(b"%PDF")


def colours(page):
    """Return those of the ink of figures and of the page's background."""
    ink = page.locator(".gtitle").first.evaluate("e => getComputedStyle(e).fill")
    return ink, page.evaluate("getComputedStyle(document.body).backgroundColor")


def names_do_not_run_and_figures_fit(page, width):
    assert page.title() == "Coupled Arena: arena.duckdb"
    assert page.locator("figure").count() == drawn(page) == FIGURES
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("figure").evaluate_all(
        "all => all.every(figure => figure.querySelector('.main-svg').getBoundingClientRect().right"
        " <= figure.getBoundingClientRect().right + 1)"
    )
    text = page.locator("#coupling").inner_text()
    assert SCRIPT in text


def test_a_name_that_were_left_as_markup_may_not_run(browser, page_file, tmp_path):
    broken = tmp_path / "broken.html"
    text = page_file.read_text("utf-8")
    unescaped = text.replace(str(escape(SCRIPT)), SCRIPT)
    assert unescaped.count(SCRIPT) > 1
    # The names stand in the tables: of the figures, which take seconds, one is enough.
    one, others = unescaped.split("</figure>", 1)
    fewer = re.sub("<figure>.*?</figure>", "", others, flags=re.DOTALL)
    broken.write_text(f"{one}</figure>{fewer}", "utf-8")
    context = new_context(browser)
    page = context.new_page()
    refused = []
    page.on("console", lambda said: refused.append(said.text))
    page.goto(broken.as_uri())
    page.wait_for_function("document.querySelectorAll('.plot .plotly').length > 0")
    assert page.title() == "Coupled Arena: arena.duckdb"
    assert "Content Security Policy" in refused[0]
    context.close()


def test_tables_are_there_without_scripts(browser, page_file):
    context = new_context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert page.locator("noscript").inner_text().startswith("Figures need scripts")
    assert page.locator("#leaderboard table").count() == 3
    context.close()
