"""The tabs that read what is stored, in Chromium: Audit, Risk and Experiments."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

from coupled_arena.store.database import Store
from coupled_arena.views.figures.registry import figures_of
from tests.batches import at_once
from tests.store.conftest import make_battle
from tests.ui.fields import enter
from tests.ui.server import EQUAL_MODELS, serving
from tests.ui.test_audit import fill as fill_judged
from tests.ui.test_experiments_tab import fill as fill_judged_with_ties
from tests.ui.test_risk import fill as fill_scored
from tests.ui.visiting import open_tab


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """An app whose store has sixty comparisons of one pair with a vote and a verdict."""
    folder = tmp_path_factory.mktemp("tabs")
    with Store.open(folder / "arena.duckdb") as store:
        with at_once(store) as batch:
            fill_judged(batch, ("left", "right"), "gpt")
            fill_judged_with_ties(batch, 20)
            # As `benchmark` stores them: 21 models that nobody compares, 253 pairs with the others.
            batch.add_battle(make_battle(*(f"bench-{i:02}" for i in range(21)), replies=()))
        fill_scored(store)
    with serving(folder, EQUAL_MODELS) as running:
        yield running


def rows_of(download):
    with download.value.path().open() as file:
        return list(csv.DictReader(file))


def test_the_tab_audit(site, visit):
    page = visit(site.url)
    open_tab(page, "Audit")
    page.wait_for_selector("#audit-said .headline >> text=With gpt, 10 human votes tell as much as")
    for name in (figure.slug for figure in figures_of("audit")):
        page.wait_for_selector(f"#audit-{name} .js-plotly-plot .main-svg")
    assert page.locator("#audit-table tbody tr").count() == 2
    of_the_board = "Between the same two models the verdicts explain"
    assert page.locator("#audit-findings").get_by_text(of_the_board).count() == 1
    page.get_by_role("button", name="How this was computed").first.click()
    page.locator("#audit-ties").get_by_text("Ties left out").click()
    page.wait_for_function(
        "document.querySelector('#audit-bias .js-plotly-plot').layout.meta.method"
        ".join().includes('ies dropped')"
    )
    with page.expect_download() as download:
        page.click("#audit-efficiency-foot [data-kind=csv]")
    assert {row["model"] for row in rows_of(download)} == {"left", "right"}
    page.wait_for_selector("#plan >> text=A 95% interval of width 0.05")
    price = page.get_by_label("Price of a verdict")
    enter(price, "0.01")
    price.press("Tab")
    page.wait_for_selector("#plan >> text=These verdicts cost")
    width = page.get_by_label("Width of the interval")
    width.fill("7")
    width.press("Tab")
    page.wait_for_selector("#plan >> text=The width of an interval lies between 0 and 1")
    page.get_by_label("Aim").click()
    page.get_by_role("option", name=re.compile("Separate from")).last.click()
    power = page.get_by_label("Probability to separate")
    power.fill("0.9")
    power.press("Tab")
    page.wait_for_selector("#plan >> text=The leaderboard compares 2 models")
    page.wait_for_selector("#plan >> text=with probability 0.9")
    power.fill("2")
    power.press("Tab")
    page.wait_for_selector("#plan >> text=The power lies between alpha and 1")


def type_and_press_enter(page, slider, text):
    """Write a number beside a slider; return the field, which keeps the focus."""
    field = page.locator(f"#{slider} input[type=number]")
    enter(field, text)
    field.press("Enter")
    return field


def test_enter_in_the_number_beside_a_slider_computes_at_once(site, visit):
    page = visit(f"{site.url}/?tab=audit")
    page.wait_for_selector("#plan >> text=A 95% interval of width 0.05")
    page.get_by_role("button", name="How this was computed").first.click()
    field = type_and_press_enter(page, "audit-alpha", "0.2")
    page.wait_for_selector("#plan >> text=80% interval of width 0.05")
    assert field.evaluate("node => node === document.activeElement")
    type_and_press_enter(page, "audit-alpha", "7")  # beyond the slider's end
    page.wait_for_selector("#plan >> text=60% interval of width 0.05")
    assert field.input_value() == "0.4"
    type_and_press_enter(page, "audit-alpha", "0.3")
    page.wait_for_selector("#plan >> text=70% interval of width 0.05")
    field.fill("")
    field.press("Tab")  # no number: what the slider says
    page.wait_for_function("document.querySelector('#audit-alpha input').value === '0.3'")
    assert page.locator(".toast-body").count() == 0


def test_the_tab_risk(site, visit, tmp_path):
    page = visit(site.url)
    open_tab(page, "Risk")
    risk_of_the_replies_here(page)
    risk_of_a_file(page, tmp_path / "scores.csv")


def risk_of_the_replies_here(page):
    page.wait_for_selector("#risk-said .headline >> text=left ranks ahead of every other model")
    assert "least badly" not in page.inner_text("#risk-said")  # length is among the metrics
    assert page.locator("#risk-table tbody tr").count() == 2
    page.click("#risk-which button")
    page.locator("#risk-stored-metrics input").click()
    page.get_by_role("option", name="quiz").click()
    page.keyboard.press("Escape")
    page.click("#risk-stored")
    page.wait_for_function("document.querySelector('#risk-tails').textContent.includes('uiz')")
    tail_says(page, "40 prompts")
    battles = page.locator("#risk-table tbody tr", has_text="left").locator("td a")
    counted = battles.inner_text()
    battles.click()
    page.locator(".battles[aria-busy=false] .headline", has_text=f"{counted} battles.").wait_for()
    page.go_back()
    page.wait_for_selector("#risk-table", state="visible")


def tail_says(page, text):
    page.locator("#risk-tails .gtitle-subtitle").get_by_text(text).wait_for()


def risk_of_a_file(page, path):
    rng = np.random.default_rng(8)
    rows = (
        f"{model},q{q},{shift + rng.normal():.4f},{rng.random():.4f}\n"
        for model, shift in (("left", 1.0), ("right", 0.0))
        for q in range(60)
    )
    path.write_text("model,prompt,truth,poison\n" + "".join(rows))
    page.set_input_files("#risk-file input[type=file]", str(path))
    tail_says(page, "60 prompts")
    assert page.locator("#risk-table a").count() == 0  # what comes from a file has no battles
    for figure in figures_of("risk"):
        page.wait_for_selector(f"#risk-{figure.slug} .js-plotly-plot .main-svg")
    assert page.locator("#risk-table tbody tr").count() == 2
    assert "Portfolio of 2 metrics" in page.inner_text("#risk-tails")
    page.locator("#risk-tails-foot summary").click()
    page.locator("#risk-tails-foot .settings").get_by_text("Independent copula").wait_for()
    page.get_by_role("button", name="How this was computed, and weights").click()
    enter(page.locator("#weight-1 input[type=number]"), "0")
    page.locator("#weight-1 input[type=number]").press("Tab")
    page.wait_for_selector("#risk-said .headline >> text=left fails least badly")
    page.locator("#risk-view input").click()
    page.get_by_role("option", name="truth").click()
    page.wait_for_function(
        "document.querySelector('#risk-tails').textContent.includes('Truth')"
        " || document.querySelector('#risk-tails').textContent.includes('truth')"
    )
    with page.expect_download() as download:
        page.click("#risk-mean-risk-foot [data-kind=csv]")
    assert {row["model"] for row in rows_of(download)} == {"left", "right"}
    page.locator("#risk-file").get_by_label("Clear").click()
    path.write_text("model,prompt\n")
    page.set_input_files("#risk-file input[type=file]", str(path))
    page.wait_for_selector("text=The first line of scores.csv must name the columns")


def test_settings_of_research_tabs_survive_a_reload(site, visit):
    page = visit(f"{site.url}/?tab=audit")
    page.wait_for_selector("#audit-said .headline >> text=With gpt, 10 human votes tell as much as")
    page.locator("#audit-mode").get_by_text("Coupled").click()
    page.wait_for_url("**/?tab=audit&judge=gpt&mode=coupled")
    page.reload()
    page.wait_for_selector("#audit-findings", state="visible")
    assert page.locator("#audit-mode input[value=coupled]").is_checked()
    open_tab(page, "Risk")
    page.wait_for_selector("#risk-said .headline >> text=left ranks ahead")
    page.locator("#risk-view input").click()
    page.get_by_role("option", name="quiz").click()
    page.wait_for_url("**/?tab=risk&view=quiz")
    page.reload()
    page.locator("#risk-tails", has_text=re.compile("quiz", re.IGNORECASE)).wait_for()
    assert page.locator("#risk-view input").input_value() == "quiz"
    page.go_back()
    page.wait_for_selector("#audit-findings", state="visible")
    assert page.locator("#audit-mode input[value=coupled]").is_checked()


def test_the_tab_experiments(site, visit):
    page = visit(site.url)
    open_tab(page, "Experiments")
    page.wait_for_function("document.querySelector('#experiment-judge input')?.value === 'gpt'")
    what_is_offered_can_be_run(page)
    what_cannot_be_drawn_is_told(page)
    an_experiment_shows_its_figures(page)
    an_experiment_can_be_stopped(page)


def run_experiment(page, votes, total, repeats):
    enter(page.get_by_label("Votes that are kept"), votes)
    page.get_by_label("Comparisons of each subset").fill(total)
    page.locator("input[aria-label*='Repeats'][type=number]").fill(repeats)
    page.click("#run-experiment")


def what_is_offered_can_be_run(page):
    """Sixty comparisons of the one pair that has votes: four fifths, and of these one in five."""
    page.wait_for_function(
        "[...document.querySelectorAll('textarea,input')].some(x => x.value === '9')"
    )
    assert page.get_by_label("Votes that are kept").input_value() == "9"
    assert page.get_by_label("Comparisons of each subset").input_value() == "48"
    page.click("#run-experiment")
    page.locator("#experiment-said").get_by_text(re.compile(r"^100 repeats\.")).wait_for()
    assert "bench" not in page.inner_text("#experiment-positions")


def what_cannot_be_drawn_is_told(page):
    for votes, total, message in (
        ("ten", "40", "are not whole numbers"),
        ("10", "4000", "comparisons"),
        ("50", "40", "cannot keep their vote"),
    ):
        run_experiment(page, votes, total, "100")
        page.wait_for_selector(f".toast-body:has-text('{message}')")


def an_experiment_shows_its_figures(page):
    run_experiment(page, "10, 20", "40", "20")
    page.locator("#experiment-said").get_by_text(re.compile(r"^20 repeats\.")).wait_for()
    for name in ("size-against-intersection", "by-number-of-votes", "positions", "rank-sets"):
        page.wait_for_selector(f"#experiment-{name} .main-svg")
    page.locator("#experiment-size-against-intersection").get_by_text(
        "10 of 40 votes"
    ).first.wait_for()
    page.locator("#experiment-verdict").get_by_text("by 10 of 40 votes").wait_for()
    with page.expect_download() as download:
        page.click("#experiment-rank-sets-foot [data-kind=csv]")
    rows = [row for row in rows_of(download) if row["ranking"] == "baseline"]
    shares = sum(float(row["probability"]) for row in rows)
    assert shares == pytest.approx(2 * 7)  # of both models at seven error levels


def an_experiment_can_be_stopped(page):
    page.get_by_role("button", name="How this is computed").click()
    page.get_by_label("The same number in every pair").check()
    run_experiment(page, "5 10 20 30", "40", "1000")  # tens of seconds, if it is let
    page.wait_for_selector("#experiment-said .progress-text, .progress-level, .eta-bar")
    page.click("#stop-experiment")
    page.wait_for_function(
        "/Stopped after [0-9]+ of 1000/.test("
        "document.querySelector('#experiment-said').textContent)"
    )
