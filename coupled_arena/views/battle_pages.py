"""The battle viewer as plain values: a list of battles, one battle, and where each link leads."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from coupled_arena.analysis.battles import FoundBattles, OpenedBattle
from coupled_arena.battles.compare import divided
from coupled_arena.core.records import Battle, Finish, Mode, Origin, Outcome, Source, seed_to_hex
from coupled_arena.store.queries.battle_filter import BattleFilter, Ending, Word
from coupled_arena.store.queries.battle_record import Said, StoredVerdict, StoredVote
from coupled_arena.store.queries.battle_search import FoundBattle
from coupled_arena.views.addresses import battle_address, list_address, model_address
from coupled_arena.views.rationales import rationale_words

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LONGEST = 300  # characters of a question in a list
_AND = " \N{MIDDLE DOT} "
_NONE = "Battles appear here once somebody has voted on them. Filters may leave out the others."
_MODES = {
    Mode.COUPLED: "coupled",
    Mode.INDEPENDENT: "independent",
    Mode.UNKNOWN: "imported, noise unknown",
}
_ORIGINS = {
    Origin.ARENA: "the battle tab",
    Origin.GENERATE: "a batch run",
    Origin.IMPORT: "an import",
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
    battles = _several(tally.battles, "battle")
    if wanted.heard is None:
        return f"{battles}." if tally.battles else f"{battles}. {_NONE}"
    what = {Word.PEOPLE: "vote", Word.JUDGE: "verdict"}[wanted.heard]
    told = f"{_several(tally.comparisons, what)} on pairs, in {battles}."
    if tally.hidden:
        told += (
            f" {_several(tally.hidden, what)} more on battles that people may still be asked to "
            "vote on, which are not shown."
        )
    return told


def battle_page(opened: OpenedBattle) -> dict[str, Any]:
    """Return one battle with all that was said of it."""
    battle, said = opened.battle, opened.said
    return {
        "id": battle.id,
        "models": list(battle.models),
        "pages": [model_address(model) for model in battle.models],
        "letters": list(_LETTERS[: len(battle.models)]),
        "turns": [_turn(battle, said, turn) for turn in range(len(battle.prompts))],
        "votes": {
            "heads": ["When (UTC)", "Who", "Said", "How", "Why"],
            "rows": [_vote(battle, vote) for vote in said.votes],
        },
        "verdicts": {
            "heads": ["Judge", "Shown", "Said", "Probability", "When (UTC)", "In its words"],
            "rows": [_verdict(battle, verdict) for verdict in said.verdicts],
        },
        "facts": _facts(battle),
        "fingerprints": sorted([key, value] for key, value in battle.arithmetic.items()),
        "command": f"coupled-arena replay {battle.id}",
    }


def _narrower(wanted: BattleFilter) -> list[tuple[str, BattleFilter]]:
    """Return the parts of a pair's comparisons, for whoever comes from a cell of the matrix."""
    first, second, word = wanted.model, wanted.other, wanted.heard
    if None in (first, second, word) or wanted.winner or wanted.ending:
        return []
    return [
        *((f"{model} won", replace(wanted, winner=model)) for model in (first, second)),
        ("neither won", replace(wanted, ending=Ending.EVEN)),
    ]


def _row(found: FoundBattle, judge: str | None) -> dict[str, Any]:
    said = [_MODES[found.mode]]
    said += [_several(found.votes, "vote")] if found.votes else []
    said += [_several(found.verdicts, "verdict")] if found.verdicts else []
    cut = found.question[:_LONGEST]
    return {
        "href": battle_address(found.battle),
        "question": cut + "…" * (cut != found.question) or "(its question is not known)",
        "models": " against ".join(found.models),
        "heard": _AND.join(_heard(found, judge)),
        "said": _AND.join([_moment(found.created_at), *said]),
    }


def _heard(found: FoundBattle, judge: str | None) -> list[str]:
    """Return what people, and the judge who is named, said of the comparisons in a list."""
    told = []
    for name, word in (("People", "people"), (judge, "judge")):
        said = Counter(getattr(each, word) for each in found.heard)
        del said[None]
        if said:
            told.append(f"{name}: {', '.join(_counted(*each) for each in said.most_common())}")
    return told


def _counted(said: str | Outcome, n: int) -> str:
    ends: dict[str, str] = {Outcome.TIE: "a tie", Outcome.BOTH_BAD: "both bad"}
    words = ends[said] if isinstance(said, Outcome) else said
    return words if n == 1 else f"{words} ({n} times)"


def _turn(battle: Battle, said: Said, turn: int) -> dict[str, Any]:
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
            f"{score.metric} {score.score:g}"
            for score in said.scores
            if (score.turn, score.place) == (turn, place)
        ]
        if reply and reply.finish is not Finish.STOP:
            cut = reply.finish is Finish.LENGTH
            notes.append(cut_words(battle) if cut else "stopped by somebody")
        answers.append(
            {
                "letter": _LETTERS[place],
                "model": model,
                "notes": _AND.join(notes),
                **parts,
            }
        )
    return {"prompt": prompt.text, "system": prompt.system, "answers": answers}


def cut_words(battle: Battle) -> str:
    """Return where an answer was cut; imports may not know the limit."""
    limit = battle.sampling.max_new_tokens
    return f"cut at {_several(limit, 'token')}" if limit else "cut at the limit"


def _vote(battle: Battle, vote: StoredVote) -> list[dict[str, Any]]:
    how = ["equal replies, nobody was asked"] if vote.source is Source.IDENTICAL else []
    how += ["before the answers had ended"] if vote.early else []
    how += [] if vote.current else ["replaced by a later vote"]
    why = rationale_words(vote.criteria, vote.comment, vote.ranks, both_bad=vote.both_bad)
    who, said = vote.voter, _ranked(battle, vote)
    return _cells(_moment(vote.cast_at), who, said, _AND.join(how) or "a person", why)


def _ranked(battle: Battle, vote: StoredVote) -> str:
    if vote.both_bad:
        return "all bad" if len(vote.ranks) > 2 else "both bad"
    if len(set(vote.ranks)) == 1:
        return "a tie"
    order = sorted(zip(vote.ranks, range(len(vote.ranks)), strict=True))
    return ", ".join(f"{rank}. {_LETTERS[place]} {battle.models[place]}" for rank, place in order)


def _verdict(battle: Battle, verdict: StoredVerdict) -> list[dict[str, Any]]:
    first, second = verdict.first_place, verdict.second_place
    said = {
        None: "nothing readable",
        Outcome.FIRST: f"{_LETTERS[first]} {battle.models[first]}",
        Outcome.SECOND: f"{_LETTERS[second]} {battle.models[second]}",
        Outcome.TIE: "a tie",
        Outcome.BOTH_BAD: "both bad",
    }[verdict.outcome]
    probability = "" if verdict.probability is None else f"{verdict.probability:.1%}"
    return [
        *_cells(verdict.judge, f"{_LETTERS[first]} before {_LETTERS[second]}", said),
        {"text": probability, "value": verdict.probability},
        *_cells(_moment(verdict.judged_at), verdict.raw),
    ]


def _cells(*texts: str) -> list[dict[str, Any]]:
    """Return cells that are sorted by their texts."""
    return [{"text": text} for text in texts]


def _facts(battle: Battle) -> list[list[str]]:
    sampling = ", ".join(f"{name} {value}" for name, value in asdict(battle.sampling).items())
    facts = [
        ("Battle", battle.id),
        ("Made (UTC)", f"{_moment(battle.created_at)}, by {_ORIGINS[battle.origin]}"),
        ("Noise", _MODES[battle.mode]),
    ]
    if battle.experiment is not None:
        facts.append(("Batch run", f"{battle.experiment}, repetition {battle.repetition}"))
    if battle.origin is not Origin.IMPORT:
        facts += [
            ("Sampling", sampling),
            ("Seed", seed_to_hex(battle.seed)),
            ("Nonce", battle.nonce.hex()),
            ("Commitment", battle.commitment),
        ]
    return [list(pair) for pair in facts]


def _moment(when: datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}"


def _several(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"
