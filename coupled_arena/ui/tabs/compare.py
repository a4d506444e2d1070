"""The compare tab: named models on one prompt, and where they part ways."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from coupled_arena.battles.compare import (
    FEWEST,
    MOST,
    Comparison,
    common_beginning,
    compare,
    divided,
    parse_seed,
)
from coupled_arena.battles.judge_feedback import Judgement, pair_feedback
from coupled_arena.battles.judge_runs.request import Asked, JudgeOnRequest, matchups_of
from coupled_arena.battles.limits import Limits
from coupled_arena.battles.replay import Redecoder
from coupled_arena.battles.viewers import CADENCE
from coupled_arena.core.errors import BattleError
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import Battle, Mode, Sampler, Sampling, new_id, seed_to_hex
from coupled_arena.generation.running import Running, Worker
from coupled_arena.generation.turns import Models
from coupled_arena.ui.parts.events import FREE, sent, user_errors
from coupled_arena.ui.parts.first_divergence import divergence_reason
from coupled_arena.ui.parts.judge_feedback import plain_judgement
from coupled_arena.ui.parts.panel import comparison_panel
from coupled_arena.ui.parts.question_box import Reader
from coupled_arena.ui.parts.visitor import address_of, visitor
from coupled_arena.views.words.agreement import NO_JUDGE

_INTRO = N_(
    "See coupling at work: with one noise stream, answers diverge only where the models "
    "disagree. The common beginning is dimmed; the first difference is marked."
)
_NOISE = {
    Sampler.INVERSE.coupling: N_("one random number for each token"),
    Sampler.BYTES.coupling: N_("noise for each byte, with any vocabularies"),
    Sampler.SERVERS.coupling: N_("noise of the model servers, which cannot be replayed"),
}
"""What a comparison says of other noise than a number for each token of the vocabulary."""
_GONE = N_("The server has dropped this comparison: compare again.")


@dataclass(frozen=True)
class Compared:
    """What a page's session keeps of its last comparison, and the view of it."""

    battle: Battle
    texts: tuple[str, ...]
    view: dict[str, Any]


class CompareTab:
    """Components and handlers of the tab.

    Parameters
    ----------
    models : mapping of str to LanguageModel
    redecoder : Redecoder or None
        Makes the draw again at which answers parted.
    judge : JudgeOnRequest, optional
        Says which answer is better, at a click.
    limits : Limits, optional
        How much one may ask, comparisons and battles together; no limits without them.
    has_judge : bool
        There is a judge, whether or not visitors may ask it.
    check_named : callable, optional
        Refuses, of a visitor and a text, what would tell who is who in a round; see `Arena`.
    """

    def __init__(
        self,
        models: Models,
        worker: Worker,
        sampling: Sampling,
        redecoder: Redecoder | None,
        judge: JudgeOnRequest | None = None,
        limits: Limits | None = None,
        *,
        has_judge: bool = False,
        check_named: Callable[[str, str], None] = lambda owner, text: None,  # noqa: ARG005
    ) -> None:
        self._models = models
        self._judge = judge
        self._judge_view = (
            {"name": judge.name} if judge else None if has_judge else {"none": _(NO_JUDGE)}
        )
        self._worker = worker
        self._check_named = check_named
        self._sampling = sampling
        self._redecoder = redecoder
        self._limits = limits or Limits()
        self._reader = Reader()
        self._newest: dict[str, tuple[str, Running]] = {}  # whose, by a page's session

    def build(self) -> None:
        """Lay out the tab inside the current Blocks."""
        names = list(self._models)
        gr.Markdown(_(_INTRO))
        chosen = gr.Dropdown(
            names,
            value=names[:2],
            multiselect=True,
            max_choices=MOST,
            label=_("Models ({fewest} to {most})").format(fewest=FEWEST, most=MOST),
            elem_id="compare-models",
        )
        question = gr.Textbox(label=_("Question"), lines=1, max_lines=8, elem_id="compare-question")
        with gr.Row(equal_height=True):
            mode = gr.Radio(
                [(_("coupled"), Mode.COUPLED.value), (_("independent"), Mode.INDEPENDENT.value)],
                value=Mode.COUPLED.value,
                label=_("Random numbers"),
                scale=3,
            )
            seed = gr.Textbox(
                label=_("Seed (hex)"),
                placeholder=_("drawn if empty"),
                scale=3,
                elem_id="compare-seed",
            )
            start = gr.Button(_("Compare"), variant="primary", scale=1, elem_id="compare")
            stop = gr.Button(_("Stop"), scale=1)
        panel = comparison_panel()
        compared = gr.State(None)
        judging = panel.judge(self._ask_judge, compared, panel, **FREE)
        panel.part(self._part, compared, panel, trigger_mode="multiple", **FREE)
        event = gr.on(
            [start.click, question.submit, seed.submit],
            self._compare,
            [chosen, question, mode, seed],
            [panel, compared],
            cancels=[judging],
            trigger_mode="multiple",  # a press just before the last event has ended would be lost
            **FREE,
        )
        stop.click(None, None, None, cancels=[event, judging])

    async def _compare(
        self, names: list[str], question: str, mode: str, seed: str, request: gr.Request
    ) -> AsyncIterator[tuple[dict[str, Any], Any]]:
        """Let models answer; the next comparison of the same page ends this one."""
        with user_errors():
            owner = visitor(request)
            text, number = question or "", parse_seed(seed or "")

            def asked() -> Comparison:
                self._check_named(owner, text)
                models, worker, named = self._models, self._worker, names or []
                return compare(models, worker, named, text, Mode(mode), self._sampling, number)

            with self._limits.question(owner, address_of(request)):
                started = await self._reader.read(len(text), asked)
            running = started.running
            session = request.session_hash or started.battle.id
            self._take_over(session, owner, running)
            try:
                while not running.done.is_set():
                    if not self._is_newest(session, running):
                        return
                    now = show(started.battle, running.texts, running.ahead)
                    yield now | {"running": True}, None
                    await asyncio.sleep(CADENCE)
                if not self._is_newest(session, running):
                    return
            finally:
                running.cancelled.set()
                if self._is_newest(session, running):
                    del self._newest[session]
            if running.error:
                raise running.error
            view = show(started.battle, running.texts) | {"judge": self._judge_view}
            yield view, Compared(started.over(self._models), running.texts, view)

    def _take_over(self, session: str, owner: str, running: Running) -> None:
        """End what the page compared before; the visitor's others give up their places, if any."""
        for page, (whose, before) in self._newest.items():
            if page == session or (whose == owner and not before.begun):
                before.cancelled.set()
        self._newest[session] = owner, running

    def _is_newest(self, session: str, running: Running) -> bool:
        newest = self._newest.get(session)
        return newest is not None and newest[1] is running

    async def _part(
        self, compared: Compared | None, request: gr.Request, event: gr.EventData
    ) -> dict[str, Any]:
        """Say why the answers on show parted."""

        def kept() -> Battle:
            if compared is None or sent(event, "of") != compared.battle.id:
                raise BattleError(_(_GONE))
            return compared.battle

        return await divergence_reason(self._redecoder, visitor(request), kept, event)

    async def _ask_judge(
        self, compared: Compared | None, request: gr.Request
    ) -> AsyncIterator[dict[str, Any]]:
        """Let the judge say which of the answers on show is better; nothing is stored."""
        if not (self._judge and compared):
            return
        question, texts, view = compared.battle.prompts[0].text, compared.texts, compared.view
        swap = self._judge.swap
        asked = Asked(matchups_of(new_id(), [question], [[text] for text in texts], swap))
        with user_errors():
            self._judge.ask(visitor(request), asked)
        try:
            while not asked.over:
                yield view | {"judged": compared_judgement(self._judge, asked, len(texts))}
                await asyncio.sleep(CADENCE)
        finally:
            asked.cancel()
        yield view | {"judged": compared_judgement(self._judge, asked, len(texts))}


def compared_judgement(judge: JudgeOnRequest, asked: Asked, size: int) -> dict[str, Any]:
    """Return what a judge has said so far as the JSON that the page's script draws."""
    pairs = pair_feedback(size, asked.verdicts, judge.swap)
    trouble = _("The judge {judge} does not answer. Compare again to ask it again.").format(
        judge=judge.name
    )
    answering = not (asked.over and any(pair.missing for pair in pairs))
    return plain_judgement(Judgement(judge.name, pairs, answering)) | {"trouble": trouble}


def show(battle: Battle, texts: tuple[str, ...], ahead: int | None = None) -> dict[str, Any]:
    """Return the answers, each cut at the common beginning and after its first own word."""
    answers = [
        {"model": model, **parts}
        for model, parts in zip(battle.models, divided(texts), strict=True)
    ]
    common, seed = common_beginning(texts), seed_to_hex(battle.seed)
    note = _("Seed {seed} · the first {n:,} characters are common to all").format(
        seed=seed, n=common
    )
    if named := _NOISE.get(battle.sampling.coupling):
        note += f" · {_(named)}"
    if ahead is not None:
        note = _("{n} ahead of you").format(n=ahead) if ahead else _("You are next")
    begun = battle.created_at.timestamp()
    return {"id": battle.id, "begun": begun, "note": note, "answers": answers}
