"""A judge beside a round: what the page knows of it, and the stream on which it speaks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

import gradio as gr
from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent

from coupled_arena.battles.blind_view import RoundView
from coupled_arena.battles.judge_feedback import JudgedRounds, Judgement
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.language import _
from coupled_arena.core.records import Source
from coupled_arena.ui.parts.events import user_errors
from coupled_arena.ui.parts.visitor import has_cookie, name_of, visitor
from coupled_arena.views.words.agreement import NO_JUDGE, own_agreement_words

_RECONNECT = 2000  # milliseconds until a page whose connection broke makes another


def judge_view(
    feedback: JudgedRounds | None, view: RoundView, round_id: str, request: gr.Request
) -> dict[str, Any]:
    """Return what a page is told of the judge with a round: who, and where to hear what it says."""
    if feedback is None:
        return {"judge": {"none": _(NO_JUDGE)}}
    path = f"judged/{round_id}/{'deciding' if view.judging else 'verdicts'}"
    if not has_cookie(request.cookies):  # Gradio's own requests name the session like this
        path = f"{path}?session_hash={request.session_hash}"
    revealed = view.reveal is not None and view.reveal.source is not Source.IDENTICAL
    return {
        "judge": {
            "name": feedback.judge,
            "decides": feedback.decisions is not None and not view.stored,
            "events": path if view.judging or revealed else None,
        }
    }


def decide(
    feedback: JudgedRounds | None, round_id: str | None, request: gr.Request, event: gr.EventData
) -> None:
    """Let the judge decide a round, or call that off."""
    begin = (event._data or {}).get("begin") is True
    if feedback:
        with user_errors():
            feedback.decide(visitor(request), round_id or "", begin=begin)


def judgement_stream(feedback: JudgedRounds) -> APIRouter:
    """Return the route under which pages hear what the judge says of a round."""
    router = APIRouter()

    def visitor_of(request: Request, round_id: str, session_hash: str | None = None) -> str:
        """Return who asks; no round that is not theirs is there."""
        owner = name_of(request, session_hash)
        try:
            feedback.check(owner, round_id)
        except ArenaError:
            raise HTTPException(404) from None
        return owner

    @router.get("/judged/{round_id}/deciding", response_class=EventSourceResponse)
    async def deciding(
        round_id: str, owner: str = Depends(visitor_of)
    ) -> AsyncIterator[ServerSentEvent]:
        async with aclosing(feedback.watch_deciding(owner, round_id)) as judgements:
            async for answered in judgements:
                yield ServerSentEvent(data={"answered": answered}, retry=_RECONNECT)
        yield ServerSentEvent(data={"look": True}, event="end")  # whatever came of it

    @router.get("/judged/{round_id}/verdicts", response_class=EventSourceResponse)
    async def verdicts(
        round_id: str, owner: str = Depends(visitor_of)
    ) -> AsyncIterator[ServerSentEvent]:
        async with aclosing(feedback.watch(owner, round_id)) as judgements:
            async for judgement in judgements:
                data = {"judgement": plain_judgement(judgement)}
                yield ServerSentEvent(data=data, retry=_RECONNECT)
        yield ServerSentEvent(data={}, event="end")

    return router


def plain_judgement(judgement: Judgement) -> dict[str, Any]:
    """Return what a judge said as the JSON that the page's script draws."""
    own = judgement.own and own_agreement_words(judgement.own)
    return asdict(judgement) | {"own": own, "complete": judgement.complete}
