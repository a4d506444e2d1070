"""What the tabs Coupling and Audit say of a benchmark's scores, in a browser."""

from __future__ import annotations

import gradio as gr
import pytest

from coupled_arena.core.records import Mode, Prompt, Score
from coupled_arena.store.database import Store
from coupled_arena.store.tables import scores
from coupled_arena.store.work_queues.judging import PendingSolutions
from coupled_arena.ui.tabs.coupling import CouplingTab
from tests.analysis import test_coupling, test_grading
from tests.batches import at_once
from tests.installed import REPOSITORY
from tests.patience import until
from tests.store.conftest import make_battle
from tests.ui.fields import enter
from tests.ui.raw_client import Visitor
from tests.ui.server import serving
from tests.ui.streams import Streams
from tests.ui.visiting import open_tab

TABLE = "Noise,left,right\n" + "".join(
    f"{noise},{a},{b}\n"
    for noise, rows in (
        ("Coupled", [(1, 1), (0, 0), (1, 1), (0, 1)]),
        ("Independent", [(1, 0), (0, 1), (1, 1), (0, 0)]),
    )
    for a, b in rows
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmark")
    with Store.open(folder / "arena.duckdb") as store:
        test_coupling.fill(store, metric="riddles")
        test_grading.fill(store, prompts=10, seeds=2)
        with PendingSolutions(store, "bob") as pending:
            for page in pending.pages():
                pending.add(
                    [
                        each.answered("bob", test_grading.grade_of(each.question, each.answer), "")
                        for each in page
                        if each.question != "Question 7?" and each.answer[0] in "rw"
                    ]
                )
    with serving(folder, "", "--annotate", "--reveal", "each") as served:
        yield served


def test_scores_that_say_nothing_yet_are_no_endless_wait():
    """The first metric has one answer a prompt and protocol; another may be chosen instead."""
    with Store.in_memory() as store, gr.Blocks():
        store.write(lambda cursor: scores.declare(cursor, "early", source="benchmark"))
        with at_once(store) as batch:
            for mode in (Mode.COUPLED, Mode.INDEPENDENT):
                for prompt in ("q", "r"):
                    battle = make_battle("left", "right", mode=mode, prompts=(Prompt(prompt),))
                    batch.add_battle(battle, [Score(0, place, "early", 1.0) for place in (0, 1)])
        test_coupling.fill(store, metric="riddles")
        tab = CouplingTab(store, "rounds")
        tab.build()
        values = {each: getattr(each, "value", None) for each in tab._inputs}
        early = tab._refresh({**values, tab._dark: False, tab._fields["metric"]: "early"})
        later = tab._refresh({**values, tab._dark: False, tab._fields["metric"]: "riddles"})
    assert "These scores say nothing yet. early: There must be two" in early[tab._headline]
    assert not early[tab._first_figure].visible
    assert [name for name, _ in early[tab._fields["metric"]].choices] == ["early", "riddles"]
    assert "To compare ann and bob, coupling saves" in later[tab._headline]


def test_scores_in_the_tabs_coupling_and_audit(site, visit, tmp_path):
    page = visit(site.url)
    coupling_is_read_from_the_store_and_from_a_file(page, tmp_path)
    a_judge_is_held_against_the_benchmark(page)


def coupling_is_read_from_the_store_and_from_a_file(page, tmp_path):
    open_tab(page, "Coupling")
    said = page.locator("#coupling-said .headline")
    said.get_by_text("coupling saves samples to compare fair and poor:").wait_for()
    page.locator("#coupling-curves .js-plotly-plot").wait_for()
    page.get_by_label("Pair").click()
    page.get_by_role("option", name="able | poor").click()
    said.get_by_text("to compare able and poor:").wait_for()
    enter(page.get_by_label("Half the width of the interval"), "0.1")
    page.locator("#coupling-needed").get_by_text("± 0.1").wait_for()
    page.get_by_label("Half the width of the interval").fill("-1")
    page.locator("#coupling-needed").get_by_text("must be positive").wait_for()

    page.get_by_text("A table of scores from elsewhere").click()
    enter(page.get_by_label("Repetitions of each prompt"), "2")
    file = tmp_path / "elsewhere.csv"
    file.write_text(TABLE)
    page.locator("#coupling-file input[type=file]").set_input_files(file)
    said.get_by_text("to compare left and right: the estimate of 62.5% has no lower").wait_for()
    page.locator("#coupling-metric").wait_for(state="hidden")  # it speaks of the store
    file.write_text("Noise,left\nsometimes,1\n")
    page.get_by_label("Clear").first.click()
    said.get_by_text("to compare fair and poor:").wait_for()
    page.locator("#coupling-metric").wait_for()
    page.locator("#coupling-file input[type=file]").set_input_files(file)
    page.get_by_text("elsewhere.csv, line 2").wait_for()


def a_judge_is_held_against_the_benchmark(page):
    open_tab(page, "Audit")
    page.get_by_role("button", name="How this was computed, and filters").click()
    page.locator("#audit-ties").wait_for(state="visible")
    page.get_by_label("A benchmark's right answers").click()
    headline = page.locator("#audit-said .headline")
    headline.get_by_text("With bob, 10 checked answers tell as much as").wait_for()
    page.locator("#audit-bias .js-plotly-plot").wait_for()
    page.get_by_text("How many more votes").wait_for(state="hidden")
    page.locator("#audit-ties").wait_for(state="hidden")
    page.locator("#audit-table th[scope=row]").nth(2).wait_for()
    assert page.locator("#audit-table th[scope=row]").all_inner_texts() == ["able", "fair", "poor"]
    page.get_by_label("Benchmark", exact=True).click()
    page.get_by_role("option", name="riddles").click()
    page.get_by_text("No riddles answer has a readable grade of bob.").wait_for()
    page.locator("#audit-table").wait_for(state="hidden")


# The answers to the postings of a page that opens come a while after their events have ended, that
# to the first one sooner: all events come, and end, on its stream. Later the end of the stream
# waits until the page has posted another event.
LATE = """
const send = window.fetch.bind(window);
window.late = "join";
let close; // lets the end of the stream through
let answers = 0;
window.unanswered = 0;
window.fetch = async (...given) => {
  const path = String(given[0].url ?? given[0]);
  if (path.includes("/queue/join")) window.unanswered++;
  const response = await send(...given);
  if (path.includes("/queue/join")) {
    if (window.late === "join") await new Promise((go) => setTimeout(go, answers++ ? 2000 : 500));
    window.unanswered--;
    if (close) setTimeout(close, 200);
  }
  if (!path.includes("/queue/data")) return response;
  const held = async (chunk, controller) => {
    const text = new TextDecoder().decode(chunk);
    const at = window.late === "close" ? text.indexOf('data: {"msg":"close_stream"') : -1;
    if (at < 0) return controller.enqueue(chunk);
    if (at) controller.enqueue(new TextEncoder().encode(text.slice(0, at)));
    window.closing = true;
    await new Promise((go) => { close = go; });
    window.closing = false;
    close = null;
    controller.enqueue(new TextEncoder().encode(text.slice(at)));
  };
  return new Response(response.body.pipeThrough(new TransformStream({transform: held})), response);
};
"""


def test_streams_end_once_every_event_has_and_not_before(site, visit):
    page = visit(script=LATE, url="about:blank")
    streams = Streams(page)
    page.goto(site.url)
    open_tab(page, "Coupling")
    page.locator("#coupling-curves .js-plotly-plot").wait_for()
    streams.wait_for_tab()
    page.wait_for_function("!window.unanswered")
    until(streams.over)
    assert streams.opened

    page.evaluate("window.late = 'close'")
    for error, said in (
        *(("-1", "must be positive"), ("0.1", "± 0.1")),
        *(("-2", "must be positive"), ("0.2", "± 0.2")),
    ):
        page.get_by_label("Half the width of the interval").fill(error)
        page.locator("#coupling-needed").get_by_text(said).wait_for()
        page.wait_for_function("window.closing")


# A client that has not looked yet at the end of its stream when its next event is posted, because
# the page is busy. Returns whether the posting was answered before it could look.
AT_ONCE = """
async ([path, event]) => {
  const client = new AbortController();
  const session = { session_hash: event.session_hash };
  const query = new URLSearchParams(session);
  await fetch(`${path}/data?${query}`, { signal: client.signal });
  const posting = { method: "POST", headers: { "content-type": "application/json" } };
  window.answered = false;
  window.looks = () => client.abort();
  window.answer = fetch(`${path}/join`, { ...posting, body: JSON.stringify(event) })
    .then(() => { window.answered = true; });
  const busy = performance.now() + 4000;
  while (performance.now() < busy);
  await window.replied;
  return new Promise((go) => setTimeout(() => go(window.answered), 100));
}
"""
REPLIED = """
const send = window.fetch.bind(window);
let reply;
window.replied = new Promise((go) => { reply = go; });
window.fetch = async (...given) => {
  const response = await send(...given);
  if (String(given[0]).endsWith("/join")) reply();
  return response;
};
"""


def test_the_next_posting_is_answered_once_the_end_of_the_stream_is_known(app, visit):
    look = Visitor(app.url).dependency("look", "round")
    event = {"data": [None], "fn_index": look["id"], "session_hash": "another-client"}
    page = visit(f"{app.url}/healthz")  # which posts nothing
    page.add_script_tag(content=REPLIED)
    page.add_script_tag(path=REPOSITORY / "assets" / "stream.js")
    assert page.evaluate(AT_ONCE, ["/gradio_api/queue", event]) is False
    page.evaluate("window.looks()")
    page.wait_for_function("window.answered")


# A server that has said that its stream is over, and is not done with it until it may.
LINGERS = """
const say = (controller, said) => {
  controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(said)}\\n\\n`));
};
window.fetch = async (path) => {
  if (String(path).endsWith("/join")) return new Response('{"event_id": "one"}');
  return new Response(new ReadableStream({
    start(controller) {
      say(controller, { msg: "process_completed", event_id: "one" });
      say(controller, { msg: "close_stream", event_id: null });
      window.done = () => controller.close();
    },
  }));
};
"""
HANGS_UP = """
async () => {
  await fetch("/queue/join");
  const reader = (await fetch("/queue/data")).body.getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  const first = await read();
  window.last = null;
  read().then((message) => { window.last = message; });
  return first;
}
"""


def test_a_stream_ends_for_the_page_once_the_server_is_done_with_it(app, visit):
    page = visit(f"{app.url}/healthz")
    page.add_script_tag(content=LINGERS)
    page.add_script_tag(path=REPOSITORY / "assets" / "stream.js")
    assert '"process_completed"' in page.evaluate(HANGS_UP)
    page.wait_for_timeout(100)
    assert page.evaluate("window.last") is None
    page.evaluate("window.done()")
    page.wait_for_function("window.last && window.last.includes('close_stream')")
