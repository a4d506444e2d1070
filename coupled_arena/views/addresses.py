"""Addresses of the page: which battles lie behind a number, in the words of a query string.

An address is relative, so that it holds wherever the page is served.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode

from coupled_arena.analysis.audit.result import Audit, ModelAudit
from coupled_arena.analysis.coupling.savings import StoredScores
from coupled_arena.analysis.leaderboard.result import BoardRow, Leaderboard
from coupled_arena.core.choices import BoardSource, Ties
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.language import _
from coupled_arena.core.rationales import Criterion
from coupled_arena.core.records import Mode
from coupled_arena.stats.coupling.score_tables import PairSavings
from coupled_arena.store.queries.battle_search import Agreement, BattleFilter, Ending, Rater
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables.exclusions import BY_DEFAULT
from coupled_arena.store.tables.gates import StoredGate

E = TypeVar("E", bound=StrEnum)
COUNTED = {"battles_coupled": Mode.COUPLED, "battles_independent": Mode.INDEPENDENT}
"""Columns of battles behind scores."""
_LONGEST = 300  # characters of a value
_NAMES = {
    "model": "a",
    "other": "b",
    "rater": "source",
    "judge": "judge",
    "winner": "winner",
    "ending": "ending",
    "agreement": "judged",
    "mode": "mode",
    "category": "category",
    "language": "language",
    "voter": "voter",
    "benchmark": "benchmark",
    "temperature": "temperature",
    "top_p": "top_p",
    "sampler": "sampler",
    "reason": "reason",
    "text": "text",
    "before": "before",
}
_OPENED = {"tab", "battle", "model", "mine", "decided"}
_CHOICES: dict[str, type[StrEnum]] = {
    "rater": Rater,
    "ending": Ending,
    "agreement": Agreement,
    "mode": Mode,
    "reason": Criterion,
}


@dataclass(frozen=True)
class Address:
    """What a query string asks to see.

    Attributes
    ----------
    battle, model : str or None
        The battle to open, or the model whose page; else the filter's battles are listed.
    mine : bool
        Only the reader's own votes.
    """

    wanted: BattleFilter
    battle: str | None
    mine: bool
    model: str | None = None


def list_address(wanted: BattleFilter, *, mine: bool = False) -> str:
    """Return the address of a list of battles; `mine` stands for the filter's voter."""
    pairs = [("tab", "battles")]
    for field, name in _NAMES.items():
        value = getattr(wanted, field)
        if value is not None and not (mine and field == "voter"):
            pairs.append((name, str(value)))
    pairs += [("decided", "1")] * wanted.decided + [("mine", "1")] * mine
    return f"?{urlencode(pairs)}"


def battle_address(battle: str) -> str:
    """Return the address of one battle."""
    return f"?{urlencode([('battle', battle)])}"


def model_address(model: str) -> str:
    """Return the address of a model's page."""
    return f"?{urlencode([('model', model)])}"


_ALPHA = 0.05  # what addresses of gates leave out


@dataclass(frozen=True)
class GateAddress:
    """What a query string asks of a gate; None of what it leaves open.

    Attributes
    ----------
    gate : str or None
        A run; else the newest one with these settings.
    """

    base: str | None = None
    candidate: str | None = None
    task: str | None = None
    margin: float | None = None
    alpha: float | None = None
    gate: str | None = None

    @property
    def query(self) -> str:
        """The query string."""
        pairs = [("tab", "gate"), ("base", self.base), ("candidate", self.candidate)]
        pairs += [("task", self.task), ("margin", self.margin and f"{self.margin:g}")]
        if self.alpha not in (None, _ALPHA):
            pairs.append(("alpha", f"{self.alpha:g}"))
        pairs.append(("gate", self.gate))
        return f"?{urlencode([pair for pair in pairs if pair[1]])}"


def listed_among(text: str, known: Collection[str]) -> list[str]:
    """Return which of some known texts stand in a list with commas between; they may have commas.

    What is not known is passed over. Where it could be read in two ways, a longer one is meant.
    """
    found, parts, at = [], text.split(","), 0
    while at < len(parts):
        ends = range(len(parts), at, -1)
        end = next((end for end in ends if ",".join(parts[at:end]) in known), None)
        if end:
            found.append(",".join(parts[at:end]))
        at = end or at + 1
    return found


def settings_address(tab: str, settings: Mapping[str, str]) -> str:
    """Return the address of a tab with these settings, by the names of its options.

    A setting that no address can hold is left out.
    """
    held = [(name, value) for name, value in settings.items() if len(value) <= _LONGEST]
    return f"?{urlencode([('tab', tab), *held])}"


def read_settings_address(query: str) -> dict[str, str]:
    """Return the settings that a query string asks of a tab.

    Raises
    ------
    ArenaError
        It asks for too much.
    """
    given = _given(query)
    given.pop("tab", None)
    return given


def gate_address(gate: StoredGate) -> str:
    """Return the address of a run."""
    return GateAddress(*gate.asks, gate.id).query


def short_gate_address(gate: StoredGate) -> str:
    """Return an address of a run that fits into a line, and leads to the same."""
    return GateAddress(gate=gate.id).query


def read_gate_address(query: str) -> GateAddress:
    """Read a query string.

    Raises
    ------
    ArenaError
        It asks for what there cannot be.
    """
    given = _given(query)
    base, candidate, task, gate = (
        given.get(name) or None for name in ("base", "candidate", "task", "gate")
    )
    margin, alpha = (_number(name, given) for name in ("margin", "alpha"))
    return GateAddress(base, candidate, task, margin, alpha, gate)


def _given(query: str) -> dict[str, str]:
    try:
        given = dict(parse_qsl(query.removeprefix("?"), max_num_fields=40))
    except ValueError as error:
        raise ArenaError(_("This address asks for too much at once.")) from error
    if any(len(value) > _LONGEST for value in given.values()):
        text = _("A part of this address is longer than {longest} characters.")
        raise ArenaError(text.format(longest=_LONGEST))
    return given


def read_address(query: str) -> Address:
    """Read a query string; what it says beyond battles is left alone.

    Raises
    ------
    ArenaError
        It asks for what there cannot be.
    """
    given = _given(query)
    values = {field: given.get(name) for field, name in _NAMES.items()}
    chosen = {field: _choice(_NAMES[field], kind, given) for field, kind in _CHOICES.items()}
    drawn = {field: _number(_NAMES[field], given) for field in ("temperature", "top_p")}
    wanted = BattleFilter(**{**values, **chosen, **drawn}, decided=given.get("decided") == "1")
    opened = given.get("battle") or None, given.get("mine") == "1", given.get("model") or None
    return Address(wanted, *opened)


def unknown_parts(query: str) -> list[str]:
    """Return the names in a query string that say nothing of battles.

    A page passes over them, for other programs put parts of their own into addresses. Those of
    Gradio, such as ``__theme``, are none.
    """
    unknown = _given(query).keys() - _NAMES.values() - _OPENED
    return sorted(name for name in unknown if not name.startswith("__"))


def _choice(name: str, kind: type[E], given: Mapping[str, str]) -> E | None:
    if name not in given:
        return None
    try:
        return kind(given[name])
    except ValueError as error:
        text = _("{name} of this address is none of {known}.")
        raise ArenaError(text.format(name=name, known=", ".join(kind))) from error


def _number(name: str, given: Mapping[str, str]) -> float | None:
    """Return the number that a part has; None where it is missing or empty."""
    try:
        return float(given[name]) if given.get(name) else None
    except ValueError as error:
        raise ArenaError(_("{name} of this address is not a number.").format(name=name)) from error


class BoardAddresses:
    """Where the numbers of a board lead: to the comparisons that each of them counts.

    Nowhere, where votes are among these that do not count by default: no list of battles has them.

    Parameters
    ----------
    mine : bool
        The board is of the reader's own votes.
    """

    def __init__(self, board: Leaderboard, *, mine: bool = False) -> None:
        selection = board.estimates.selection
        # No list of battles has votes that do not count by default, or several categories.
        mixed = bool(board.estimates.method.mix)
        self._mine, self._nowhere = mine, mixed or board.estimates.counting != BY_DEFAULT
        self._judge, self._together = selection.judge, bool(selection.more_judges)
        self._base = _selected(selection)
        judged = board.source is BoardSource.JUDGE
        self._counted = (
            replace(self._base, rater=Rater.JUDGE, judge=self._judge)
            if judged
            else replace(self._base, rater=Rater.PEOPLE)
        )

    def standing(self, row: BoardRow, column: str) -> str | None:
        """Return where a cell of the standings leads; nowhere where nothing was counted."""
        if column == "model":
            return model_address(row.model)
        if getattr(row, column, None) == 0:
            return None
        people = replace(self._base, rater=Rater.PEOPLE, model=row.model)
        cells: dict[str, BattleFilter] = {
            "win_rate": replace(self._counted, model=row.model),
            "human_votes": replace(people, ending=Ending.ASKED),
            "wins": replace(people, winner=row.model),
            "ties": replace(people, ending=Ending.TIE),
            "both_bad": replace(people, ending=Ending.BOTH_BAD),
            "identical": replace(people, ending=Ending.IDENTICAL),
        }
        # Battles that several have judged are more than a filter can ask for.
        if self._judge is not None and not self._together:
            cells["judge_verdicts"] = replace(
                self._base, rater=Rater.JUDGE, judge=self._judge, model=row.model
            )
        return self._to(cells[column]) if column in cells else None

    def model(self, model: str) -> str | None:
        """Return where a model's interval leads."""
        return self._to(replace(self._counted, model=model))

    def pair(self, model: str, opponent: str) -> str | None:
        """Return where a pair's cell leads."""
        return self._to(replace(self._counted, model=model, other=opponent))

    def _to(self, wanted: BattleFilter) -> str | None:
        return None if self._nowhere else list_address(wanted, mine=self._mine)


def audit_addresses(audit: Audit) -> Callable[[ModelAudit, str], str | None]:
    """Return where the cells of an audit lead; nowhere where a benchmark is the truth."""
    estimates = audit.estimates
    base = replace(_selected(estimates.selection), judge=audit.judge)
    kept = replace(base, decided=estimates.ties is Ties.DROP)

    def cell(row: ModelAudit, column: str) -> str | None:
        if column == "model":
            return model_address(row.model)
        if estimates.benchmark is not None or getattr(row, column, None) == 0:
            return None
        both = replace(kept, rater=Rater.PEOPLE, agreement=Agreement.BOTH, model=row.model)
        cells = {
            "n": both,
            "judge_only": replace(
                base, rater=Rater.JUDGE, agreement=Agreement.ALONE, model=row.model
            ),
            "b": replace(both, winner=row.model),
            "p": replace(both, winner=row.model, agreement=Agreement.AGREES),
            "agreement": replace(both, agreement=Agreement.AGREES),
            "judge_bias": replace(both, agreement=Agreement.DIFFERS),
        }
        return list_address(cells[column]) if column in cells else None

    return cell


def _selected(selection: Selection) -> BattleFilter:
    return BattleFilter(
        mode=selection.mode,
        category=selection.category,
        language=selection.language,
        voter=selection.voter,
    )


def coupling_addresses(
    scores: StoredScores, counts: Mapping[tuple[str, str, Mode], int]
) -> Callable[[PairSavings, str], str | None]:
    """Return where names and counts of `tables.coupling.with_battles` lead."""

    def cell(row: PairSavings, column: str) -> str | None:
        if column in ("model_a", "model_b"):
            met = any(counts.get((row.model_a, row.model_b, mode)) for mode in COUNTED.values())
            return model_address(getattr(row, column)) if met else None
        mode = COUNTED.get(column)
        if mode is None or not counts.get((row.model_a, row.model_b, mode)):
            return None
        return list_address(
            BattleFilter(
                model=row.model_a,
                other=row.model_b,
                mode=mode,
                benchmark=scores.metric,
                category=scores.category,
                **asdict(scores.drawn),
            )
        )

    return cell


def replies_address(model: str, mode: Mode | None) -> str:
    """Return where a model's replies are."""
    return list_address(BattleFilter(model=model, mode=mode))
