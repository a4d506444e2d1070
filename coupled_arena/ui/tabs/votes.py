"""The votes tab, for admins alone: who votes how, and which votes are not to count."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import duckdb
import gradio as gr
from markupsafe import Markup

from coupled_arena.analysis.voter_report import BurstRow, read_voters
from coupled_arena.battles.members import Member
from coupled_arena.core.language import N_, _
from coupled_arena.core.records import new_id
from coupled_arena.core.settings import resource
from coupled_arena.store.database import Store
from coupled_arena.store.tables.exclusions import (
    Decision,
    Exclusion,
    exclude,
    excluded,
    exclusions,
    include,
    moment_of,
)
from coupled_arena.store.tables.guards import voters_from
from coupled_arena.ui.parts.events import FREE, sent, user_errors
from coupled_arena.ui.parts.headline import headline
from coupled_arena.ui.parts.visitor import member_of
from coupled_arena.views.markup import joined, paragraph, row_action
from coupled_arena.views.tables.votes import (
    bursts_table,
    exclusions_table,
    origins_table,
    told_table,
    voters_table,
)
from coupled_arena.views.words.votes import excluded_words, told_words, voters_words

_TITLE = N_("Votes")
_NOT_YOURS = N_("Only admins of this arena may do this.")
_MOST = 50  # rows
_INTRO = N_(
    "Nothing is deleted. An exclusion is a rule with your name and your reason, and can be "
    "taken back. It also holds for later votes. The boards follow at once and show the "
    "excluded share."
)


class VotesTab:
    """Components and handlers of the tab. Each handler asks first whether an admin is there."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def build(self, page: gr.Blocks, tabs: gr.Tabs) -> None:
        """Lay out the tab inside the current tabs of a page."""
        with gr.Tab(_(_TITLE), id="votes", visible=False) as tab:
            found = gr.HTML(elem_id="votes-said", apply_default_css=False)
            gr.Markdown(_(_INTRO))
            rules, voters = _rows("votes-rules"), _rows("votes-voters")
            with (
                gr.Accordion(_("Exclude the votes of a time, or by name"), open=False),
                gr.Row(equal_height=True),
            ):
                voter = gr.Textbox(
                    label=_("Voter, or origin"), placeholder=_("Empty: all votes of that time")
                )
                since = gr.Textbox(label=_("Since"), placeholder="2026-11-23T14:00")
                until = gr.Textbox(label=_("Until"), placeholder="2026-11-23T15:00")
                why = gr.Textbox(label=_("Reason"), elem_id="exclude-reason")
                leave_out = gr.Button(_("Exclude"), variant="primary", elem_id="exclude")
        shown = [found, rules, voters]
        page.load(_appear, None, tab, **FREE)
        tabs.select(self._look, None, shown, **FREE)
        leave_out.click(self._exclude, [voter, since, until, why], shown, **FREE)
        voters.exclude(self._exclude_row, None, shown, **FREE)
        rules.include(self._include_row, None, shown, **FREE)

    def _look(self, request: gr.Request, event: gr.SelectData) -> tuple[Any, ...]:
        return self._shown(request) if event.value == _(_TITLE) else (gr.skip(),) * 3

    def _exclude(
        self, voter: str, since: str, until: str, why: str, request: gr.Request
    ) -> tuple[Any, ...]:
        made = _decision(request, why)
        with user_errors():
            named, bounds = (voter or "").strip(), (moment_of(since), moment_of(until))
            self._store.write(partial(_leave_out, named=named, bounds=bounds, made=made))
        return self._shown(request)

    def _exclude_row(self, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        voter, since, until = (_text(event, name) for name in ("voter", "since", "until"))
        return self._exclude(voter, since, until, _text(event, "reason"), request)

    def _include_row(self, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        made = _decision(request, _text(event, "reason"))
        with user_errors():
            rule = _text(event, "exclusion")
            self._store.write(partial(include, exclusion=rule, decision=made))
        return self._shown(request)

    def _shown(self, request: gr.Request) -> tuple[Any, ...]:
        _admin(request)
        with self._store.cursor() as cursor:
            rules, left_out = exclusions(cursor), excluded(cursor)
        whole = read_voters(self._store.counting(excluded=True))
        words = [headline(voters_words(whole))]
        if told := told_words(whole):
            words.append(paragraph(told))
        if left_out.votes:
            words.append(paragraph(excluded_words(left_out), "hint"))
        tables = [
            bursts_table(whole, _MOST).html(action=_of_burst),
            origins_table(whole).html(action=lambda row: _excludes(voter=row.origin)),
            voters_table(whole, _MOST).html(action=lambda row: _excludes(voter=row.voter)),
        ]
        if whole.told and whole.told.rows:
            tables.append(told_table(whole).html())
        return joined(words), exclusions_table(rules).html(action=_takes_back), joined(tables)


def _rows(elem_id: str) -> gr.HTML:
    """Lay out where tables are drawn: their rows have buttons."""
    script = resource("assets/votes.js").read_text(encoding="utf-8")
    return gr.HTML(elem_id=elem_id, js_on_load=script, apply_default_css=False)


def _excludes(**row: str) -> Markup:
    return row_action("exclude", _("Exclude"), **row)


def _of_burst(row: BurstRow) -> Markup:
    until = row.since + timedelta(seconds=row.seconds)
    return _excludes(since=row.since.isoformat(), until=until.isoformat())


def _takes_back(row: Exclusion) -> Markup:
    if row.taken_back:
        return Markup()
    return row_action("include", _("Take back"), exclusion=row.id)


def _text(event: gr.EventData, name: str) -> str:
    told = sent(event, name)
    return told.strip() if isinstance(told, str) else ""


def _leave_out(
    cursor: duckdb.DuckDBPyConnection,
    named: str,
    bounds: tuple[datetime | None, datetime | None],
    made: Decision,
) -> None:
    """Exclude a voter, or all who came from a place of that name, or anybody."""
    for voter in voters_from(cursor, named) or [named or None]:
        exclude(cursor, Exclusion(new_id(), voter, *bounds, made))


def _appear(request: gr.Request) -> Any:
    member = member_of(request)
    return gr.Tab(visible=True) if member and member.admin else gr.skip()


def _admin(request: gr.Request) -> Member:
    """Return who asks; whoever is no admin is refused."""
    member = member_of(request)
    if member is None or not member.admin:
        raise gr.Error(_(_NOT_YOURS), print_exception=False)
    return member


def _decision(request: gr.Request, why: str) -> Decision:
    return Decision((why or "").strip(), _admin(request).name, datetime.now(UTC))
