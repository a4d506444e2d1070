"""How close two models are, from their laws along answers: no votes, no scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from annotated_doc import Doc
from annotated_types import Ge

from coupled_arena.api import options
from coupled_arena.api.checks import check_texts
from coupled_arena.api.declared import Tracked, analysis, refuse
from coupled_arena.api.models import Models
from coupled_arena.api.results import Result
from coupled_arena.api.stores import ArenaStore
from coupled_arena.core.errors import ArenaError, in_one_line
from coupled_arena.core.records import Prompt, Sampling
from coupled_arena.core.settings import load_settings

if TYPE_CHECKING:
    from coupled_arena.analysis.closeness import Closeness
    from coupled_arena.battles.closeness import Asked

_OF_A_STORE = 200  # answers: intervals of some percent, in minutes on a processor

Shown = Callable[[Sequence[Any]], Iterable[Any]]


@analysis
def closeness(
    models: Models,
    answers: ArenaStore | str | Sequence[str | Prompt],
    *,
    most: Annotated[
        int | None,
        Ge(1),
        Doc(
            "How many answers are read, drawn at random; of prompts, how many prompts. By default "
            "200 answers of a store, and all prompts."
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        Doc("Temperature of the laws; 0 is greedy. By default as in the record, or the settings."),
    ] = None,
    top_k: Annotated[
        int | None, Doc("Top-k of the laws; 0 keeps all. By default likewise.")
    ] = None,
    top_p: Annotated[
        float | None, Doc("Top-p of the laws; 1 keeps all. By default likewise.")
    ] = None,
    max_new_tokens: Annotated[int | None, Doc("Longest fresh answer, in tokens.")] = None,
    coupling: options.Coupling = None,
    alpha: options.Alpha = 0.05,
    seed: options.Seed = 0,
    at_once: Annotated[int, Ge(1), Doc("Fresh answers decoded in one batch.")] = 16,
    progress: Annotated[Shown, Tracked()] = iter,
) -> Result[Closeness]:
    """Report how close two models are, exactly, without votes or scores.

    Both read the same answers, and their two laws are compared at each token: total variation and
    KL divergence. From the laws follows how often both draw the same token, from one noise stream,
    by independent noise, and by the best coupling. So one knows what coupling saves before a
    benchmark is run.

    Parameters
    ----------
    models : Models
        What `load` returned: two, or one for a model against itself.
    answers : ArenaStore, str or sequence of str
        A store, for a sample of the stored replies of either model; or prompts, which both models
        answer first.
    progress : callable
        Is given the answers that are read and passes them on.

    Returns
    -------
    Result
        Tables: "closeness", "positions", "kinds", "answers" and "survival".

    Raises
    ------
    ModelError
        The models have different vocabularies, or a server does not tell of its laws.
    BattleError
        The store has no answers of these models, or answers drawn in several ways.
    ArenaError
        A setting is out of range, or there are more than two models.
    """
    names = _names(models)
    from coupled_arena.analysis.closeness import closeness as concluded
    from coupled_arena.analysis.closeness import going
    from coupled_arena.battles.closeness import read_answers
    from coupled_arena.views.tables import closeness as tables

    chosen = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    chosen = {name: value for name, value in chosen.items() if value is not None}
    length = {"max_new_tokens": max_new_tokens, "coupling": coupling}
    sampling = _sampling(models, {**chosen, **{k: v for k, v in length.items() if v is not None}})
    if isinstance(answers, ArenaStore):
        refuse(closeness, {"max_new_tokens": max_new_tokens}, "with a store", "prompts")
        asked, sampling = _stored(answers, names, most, seed, sampling, tuple(chosen))
    else:
        asked = _fresh(answers, names, models, sampling, most, seed, at_once)
    with in_one_line():
        found = concluded(read_answers(asked, names, models, sampling, progress), alpha)
    curve = going(found)
    used = {name: getattr(sampling, name) for name in ("temperature", "top_k", "top_p")}
    return Result(
        f"Closeness of {names[0]} and {names[1]}",
        found,
        used,
        tables.closeness_tables(found, curve),
        tables.closeness_answer(found, curve),
        lambda: tables.closeness_text(found),
    )


def _names(models: Models) -> tuple[str, str]:
    if not isinstance(models, Models):
        raise ArenaError(f"{models!r} are no models: load two with coupled_arena.load(a, b).")
    names = list(models)
    if len(names) > 2:
        raise ArenaError(f"Closeness is of two models, not {len(names)}: load two.")
    return names[0], names[-1]


def _sampling(models: Models, given: dict[str, Any]) -> Sampling:
    table = {**models.settings.sampling.model_dump(), **given}
    return load_settings(sampling=table).sampling.sampling()


def _stored(
    store: ArenaStore,
    names: tuple[str, str],
    most: int | None,
    seed: int,
    sampling: Sampling,
    chosen: Sequence[str],
) -> tuple[list[Asked], Sampling]:
    from coupled_arena.battles.closeness import stored_answers

    with store.reading() as opened:
        return stored_answers(opened, names, most or _OF_A_STORE, seed, sampling, chosen)


def _fresh(
    prompts: str | Sequence[str | Prompt],
    names: tuple[str, str],
    models: Models,
    sampling: Sampling,
    most: int | None,
    seed: int,
    at_once: int,
) -> list[Asked]:
    from coupled_arena.battles.closeness import check_vocabularies, fresh_answers, some_of

    if isinstance(prompts, str) and prompts.endswith(".duckdb"):
        raise ArenaError(f"{prompts} is a database: open it with coupled_arena.open.")
    several = [prompts] if isinstance(prompts, str) else list(prompts)
    check_texts([getattr(each, "text", each) for each in several], "prompts")
    if not several:
        raise ArenaError("There is no prompt to answer.")
    asked = [each if isinstance(each, Prompt) else Prompt(each) for each in several]
    check_vocabularies(names, models, sampling)  # before the models write, which takes a while
    return fresh_answers(
        *(some_of(asked, most, seed), names, models, sampling),
        seed=seed,
        at_once=at_once,
        kv_tokens=models.settings.battle.kv_tokens,
    )
