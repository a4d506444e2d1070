"""What battles leave behind in a page that stays open."""

from __future__ import annotations

from benchmarks.page import battle

BATTLES = 3
TYPED = 2  # nodes that the browser keeps of each question, to undo the typing


def nodes(session):
    session.send("HeapProfiler.collectGarbage")
    return session.send("Memory.getDOMCounters")["nodes"]


def test_a_battle_leaves_no_nodes_behind(app, visit):
    page = visit(app.url)
    session = page.context.new_cdp_session(page)
    battle(page)  # it makes what the next ones take over
    before = nodes(session)
    for _ in range(BATTLES):
        battle(page)
    # One round may have a few more on show than another; what a reveal draws are 41.
    assert nodes(session) - before < BATTLES * (TYPED + 10)
