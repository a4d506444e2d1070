"""Named models do not answer a question that the visitor has yet to vote on."""

from __future__ import annotations

from tests.ui.raw_client import QUESTION, Visitor

OPEN = "This question is open in your battle: vote there first"


def compared(visitor, question):
    """Compare as the page does; what the last event says."""
    names = [c["props"] for c in visitor.config["components"]]
    chosen = next(p["value"] for p in names if p.get("elem_id") == "compare-models")
    handler = visitor.dependency("click", "compare")
    return visitor.call(handler, [chosen, question, "coupled", ""])


def test_compare_refuses_a_question_until_the_vote(app):
    owner, other = Visitor(app.url), Visitor(app.url)
    view = owner.ask(stop=lambda view: all(view["turns"][0]["answers"]))
    assert view["turns"][0]["prompt"] == QUESTION
    for text in (QUESTION, f"  {QUESTION.upper()}\n", f"{QUESTION} Be brief.", QUESTION[:40]):
        assert OPEN in compared(owner, text)["error"]
    assert "data" in compared(owner, "What is the capital of France?")
    assert "data" in compared(other, QUESTION)  # as SECURITY.md says: another browser
    owner.vote()
    owner.call(owner.dependency("names", "round"), [None])
    assert "data" in compared(owner, QUESTION)
