"""The battle viewer as plain values: a list of battles, one battle, and where each link leads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from coupled_arena.analysis.battles import FoundBattles, OpenedBattle
from coupled_arena.battles.compare import divided
from coupled_arena.core.language import N_, _, chained, ngettext, number
from coupled_arena.core.records import Battle, Finish, Mode, Origin, Outcome, Source, seed_to_hex
from coupled_arena.core.word_differences import word_differences
from coupled_arena.store.queries.battle_record import BattleRecord, StoredVerdict, StoredVote
from coupled_arena.store.queries.battle_search import (
    BattleFilter,
    Ending,
    FoundBattle,
    NamedBattle,
    Rater,
)
from coupled_arena.views.addresses import battle_address, list_address, model_address
from coupled_arena.views.markup import nameless
from coupled_arena.views.own_votes import rationale_words

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LONGEST = 300  # characters of a question in a list
_AND = " \N{MIDDLE DOT} "
NO_BATTLES = N_("Battles appear here once somebody has voted on them.")
_NONE = N_("Battles appear here once somebody has voted on them. Filters may leave out the others.")
_MODES = {
    Mode.COUPLED: N_("coupled"),
    Mode.INDEPENDENT: N_("independent"),
    Mode.UNKNOWN: N_("imported, random numbers unknown"),
}
_ORIGINS = {
    Origin.ARENA: N_("{when}, by the battle tab"),
    Origin.GENERATE: N_("{when}, by a batch run"),
    Origin.IMPORT: N_("{when}, by an import"),
}


def list_page(found: FoundBattles, *, mine: bool) -> dict[str, Any]:
    """Return a list of battles.

    Parameters
    ----------
    mine : bool
        The filter's voter is the reader.
    """
    following = found.following
    return {
        "count": count_words(found),
        "narrower": [
            {"text": text, "href": list_address(replace(wanted, before=None), mine=mine)}
            for text, wanted in _narrower(found.wanted)
        ],
        "rows": [_row(each, found.wanted.judge) for each in found.battles],
        "newest": list_address(replace(found.wanted, before=None), mine=mine)
        if found.wanted.before
        else None,
        "older": following and list_address(following, mine=mine),
    }


def count_words(found: FoundBattles) -> str:
    """Return how much a filter selects, and what of it is not shown."""
    tally, wanted = found.tally, found.wanted
    if wanted.rated_by is None:
        text = ngettext("{n:,} battle.", "{n:,} battles.", tally.battles).format(n=tally.battles)
        return text if tally.battles else f"{text} {_(_NONE)}"
    where = ngettext("in {n:,} battle", "in {n:,} battles", tally.battles).format(n=tally.battles)
    words = _count_text(wanted.rated_by, tally.comparisons)
    text = words.format(n=tally.comparisons, where=where)
    if tally.hidden:
        text += f" {_hidden_text(wanted.rated_by, tally.hidden).format(n=tally.hidden)}"
    return text


def _count_text(word: Rater, n: int) -> str:
    if word is Rater.PEOPLE:
        return ngettext("{n:,} comparison, {where}.", "{n:,} comparisons, {where}.", n)
    return ngettext("{n:,} verdict on pairs, {where}.", "{n:,} verdicts on pairs, {where}.", n)


def _hidden_text(word: Rater, n: int) -> str:
    if word is Rater.PEOPLE:
        return ngettext(
            "{n:,} more comparison is hidden, because people may still be asked to vote on the "
            "battle.",
            "{n:,} more comparisons are hidden, because people may still be asked to vote on "
            "the battles.",
            n,
        )
    return ngettext(
        "{n:,} more verdict is hidden, because people may still be asked to vote on the battle.",
        "{n:,} more verdicts are hidden, because people may still be asked to vote on the battles.",
        n,
    )


def battle_page(opened: OpenedBattle) -> dict[str, Any]:
    """Return one battle with its votes, verdicts and scores."""
    battle, record = opened.battle, opened.record
    return {
        "id": battle.id,
        "models": list(battle.models),
        "pages": [model_address(model) for model in battle.models],
        "letters": list(_LETTERS[: len(battle.models)]),
        "turns": [
            _turn(battle, record, turn) for turn in range(len(battle.prompts)) if _has_texts(battle)
        ],
        "wordless": ""
        if _has_texts(battle)
        else _("This battle has no texts: the store has only its models and what was said."),
        "votes": {
            "heads": [_("When (UTC)"), _("Who"), _("Said"), _("How"), _("Why")],
            "rows": [_vote(battle, vote) for vote in record.votes],
        },
        "verdicts": {
            "heads": [
                *(_("Judge"), _("Shown"), _("Said"), _("Probability"), _("When (UTC)")),
                _("In its words"),
            ],
            "rows": [_verdict(battle, verdict) for verdict in record.verdicts],
        },
        "facts": _facts(battle),
        "fingerprints": sorted([key, nameless(value)] for key, value in battle.arithmetic.items()),
        "command": f"coupled-arena replay {battle.id}",
    }


def _narrower(wanted: BattleFilter) -> list[tuple[str, BattleFilter]]:
    """Return the parts of a pair's comparisons, for whoever comes from a cell of the matrix."""
    first, second, word = wanted.model, wanted.other, wanted.rated_by
    if None in (first, second, word) or wanted.winner or wanted.ending:
        return []
    return [
        *(
            (_("{model} won").format(model=model), replace(wanted, winner=model))
            for model in (first, second)
        ),
        (_("neither won"), replace(wanted, ending=Ending.EVEN)),
    ]


def _row(found: FoundBattle, judge: str | None) -> dict[str, Any]:
    votes = ngettext("{n:,} vote", "{n:,} votes", found.votes).format(n=found.votes)
    verdicts = ngettext("{n:,} verdict", "{n:,} verdicts", found.verdicts)
    text = [_(_MODES[found.mode])]
    text += [votes] if found.votes else []
    text += [verdicts.format(n=found.verdicts)] if found.verdicts else []
    cut = found.question[:_LONGEST]
    return {
        "href": battle_address(found.battle),
        "question": cut + "…" * (cut != found.question) or _("(no text stored)"),
        "models": chained(_("{one} against {other}"), found.models),
        "sides": [[model, model == _winner(found)] for model in found.models],
        "heard": _AND.join(_outcomes(found, judge)),
        "said": _AND.join([_moment(found.created_at), *text]),
    }


def palette_page(models: Sequence[str], found: Sequence[NamedBattle]) -> dict[str, Any]:
    """Return what a search by name leads to: models, and battles."""
    return {
        "models": [{"text": model, "href": model_address(model)} for model in models],
        "battles": [
            {
                "text": each.question[:_LONGEST] or _("(no text stored)"),
                "more": chained(_("{one} against {other}"), each.models),
                "href": battle_address(each.battle),
            }
            for each in found
        ],
    }


def _winner(found: FoundBattle) -> str | None:
    """Return the model that most people preferred, or without people the judge; None if even."""
    for word in ("people", "judge"):
        said = [getattr(each, word) for each in found.preferences]
        counts = Counter(each for each in said if each is not None)
        if counts:
            (first, n), *others = counts.most_common()
            even = bool(others) and others[0][1] == n
            return None if even or isinstance(first, Outcome) else first
    return None


def _outcomes(found: FoundBattle, judge: str | None) -> list[str]:
    """Return what people, and the judge who is named, said of the comparisons in a list."""
    lists = []
    for name, word in ((_("People"), "people"), (judge, "judge")):
        counts = Counter(getattr(each, word) for each in found.preferences)
        del counts[None]
        if counts:
            lists.append(f"{name}: {', '.join(_counted(*each) for each in counts.most_common())}")
    return lists


def _counted(outcome: str | Outcome, n: int) -> str:
    ends: dict[str, str] = {Outcome.TIE: _("a tie"), Outcome.BOTH_BAD: _("both bad")}
    words = ends[outcome] if isinstance(outcome, Outcome) else outcome
    return words if n == 1 else _("{said} ({n} times)").format(said=words, n=n)


def _turn(battle: Battle, record: BattleRecord, turn: int) -> dict[str, Any]:
    prompt = battle.prompts[turn]
    replies = {reply.place: reply for reply in battle.replies if reply.turn == turn}
    texts = [
        prompt.prefix + replies[place].text if place in replies else ""
        for place in range(len(battle.models))
    ]
    answers = []
    for (place, model), parts in zip(enumerate(battle.models), divided(texts), strict=True):
        reply = replies.get(place)
        notes = [
            f"{score.metric} {number(score.score, 'g')}"
            for score in record.scores
            if (score.turn, score.place) == (turn, place)
        ]
        if reply is None:
            notes.append(_("no answer"))
        elif reply.finish is not Finish.STOP:
            cut = reply.finish is Finish.LENGTH
            notes.append(cut_words(battle) if cut else _("stopped by somebody"))
        answers.append(
            {"letter": _LETTERS[place], "model": model, "notes": _AND.join(notes), **parts}
        )
    if len(texts) == 2 and all(texts) and texts[0] != texts[1]:
        for answer, parts in zip(answers, word_differences(*texts), strict=True):
            answer["words"] = [[text, differs] for text, differs in parts]
    return {"prompt": prompt.text, "system": prompt.system, "answers": answers}


def _has_texts(battle: Battle) -> bool:
    """Return whether anything of what was asked and answered is stored."""
    return any(prompt.text for prompt in battle.prompts) or any(
        reply.text for reply in battle.replies
    )


def cut_words(battle: Battle) -> str:
    """Return where an answer was cut; imports may not know the limit."""
    limit = battle.sampling.max_new_tokens
    if not limit:
        return _("cut at the limit")
    return ngettext("cut at {n:,} token", "cut at {n:,} tokens", limit).format(n=limit)


def _vote(battle: Battle, vote: StoredVote) -> list[dict[str, Any]]:
    how = [_("equal replies, nobody was asked")] if vote.source is Source.IDENTICAL else []
    how += [_("before the answers had ended")] if vote.early else []
    how += [] if vote.current else [_("replaced by a later vote")]
    why = rationale_words(vote.criteria, vote.comment, vote.ranks, both_bad=vote.both_bad)
    who, text = vote.voter, _ranked(battle, vote)
    return _cells(_moment(vote.cast_at), who, text, _AND.join(how) or _("a person"), why)


def _ranked(battle: Battle, vote: StoredVote) -> str:
    if vote.both_bad:
        return _("all bad") if len(vote.ranks) > 2 else _("both bad")
    if len(set(vote.ranks)) == 1:
        return _("a tie")
    order = sorted(zip(vote.ranks, range(len(vote.ranks)), strict=True))
    return ", ".join(f"{rank}. {_LETTERS[place]} {battle.models[place]}" for rank, place in order)


def _verdict(battle: Battle, verdict: StoredVerdict) -> list[dict[str, Any]]:
    first, second = verdict.first_place, verdict.second_place
    text = {
        None: _("nothing readable"),
        Outcome.FIRST: f"{_LETTERS[first]} {battle.models[first]}",
        Outcome.SECOND: f"{_LETTERS[second]} {battle.models[second]}",
        Outcome.TIE: _("a tie"),
        Outcome.BOTH_BAD: _("both bad"),
    }[verdict.outcome]
    probability = "" if verdict.probability is None else number(verdict.probability, ".1%")
    return [
        *_cells(
            verdict.judge,
            _("{first} before {second}").format(first=_LETTERS[first], second=_LETTERS[second]),
            text,
        ),
        {"text": probability, "value": verdict.probability},
        *_cells(_moment(verdict.judged_at), verdict.raw),
    ]


def _cells(*texts: str) -> list[dict[str, Any]]:
    """Return cells that are sorted by their texts."""
    return [{"text": text} for text in texts]


def _facts(battle: Battle) -> list[list[str]]:
    sampling = ", ".join(f"{name} {value}" for name, value in asdict(battle.sampling).items())
    facts = [
        (_("Battle"), battle.id),
        (_("Made (UTC)"), _(_ORIGINS[battle.origin]).format(when=_moment(battle.created_at))),
        (_("Random numbers"), _(_MODES[battle.mode])),
    ]
    if battle.experiment is not None:
        run = _("{run}, repetition {n}").format(run=battle.experiment, n=battle.repetition)
        facts.append((_("Batch run"), run))
    if battle.origin is not Origin.IMPORT:
        facts += [
            (_("Sampling"), sampling),
            (_("Seed"), seed_to_hex(battle.seed)),
            (_("Nonce"), battle.nonce.hex()),
            (_("Commitment"), battle.commitment),
        ]
    return [list(pair) for pair in facts]


def _moment(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}"
