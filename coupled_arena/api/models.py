"""Models in this process, and answers that share one noise stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from coupled_arena.api import options
from coupled_arena.api.checks import check_texts
from coupled_arena.api.declared import Tracked, analysis
from coupled_arena.api.results import Result
from coupled_arena.core.choices import Modes
from coupled_arena.core.errors import ArenaError, PromptError
from coupled_arena.core.extras import require
from coupled_arena.core.records import Battle, Prompt
from coupled_arena.core.settings import Settings, coupling_of, load_settings

if TYPE_CHECKING:
    from coupled_arena.battles.batch import BatchPlan
    from coupled_arena.generation.language_model import LanguageModel


class Models(Mapping[str, "LanguageModel"]):
    """Loaded models by name, with the settings that they were loaded with."""

    def __init__(self, loaded: Mapping[str, LanguageModel], settings: Settings) -> None:
        self._loaded = dict(loaded)
        self.settings = settings

    def __getitem__(self, name: str) -> LanguageModel:
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaded)

    def __len__(self) -> int:
        return len(self._loaded)

    def __repr__(self) -> str:
        return f"Models({', '.join(map(repr, self._loaded))})"


def load(*names: str, config: str | Path | None = None, preset: str | None = None) -> Models:
    """Load models of the catalog into memory.

    Parameters
    ----------
    names : str
        As ``coupled-arena models`` lists them.
    config : str or Path, optional
        TOML file with settings and a catalog.
    preset : str, optional
        A catalog that comes with the program.

    Raises
    ------
    SettingsError
        The catalog has no such model.
    ModelError
        Its weights cannot be had, or are not all there.
    ArenaError
        The extra `arena` is not installed.
    """
    if not names:
        raise ArenaError("Name the models to load; `coupled-arena models` lists them.")
    require("arena", "A model")
    settings = load_settings(Path(config) if config else None, preset=preset)
    from coupled_arena.generation.loading import load_named

    return Models(load_named(settings, names), settings)


@analysis
def generate(
    models: Models,
    prompts: str | Sequence[str],
    *,
    mode: options.Modes = "coupled",
    seeds: options.Repetitions = 1,
    seed: options.ExperimentSeed = 0,
    temperature: options.Temperature = None,
    top_k: options.TopK = None,
    top_p: options.TopP = None,
    max_new_tokens: options.MaxNewTokens = None,
    sampler: options.Sampler = "gumbel",
    coupling: options.Coupling = None,
    at_once: options.AtOnce = 16,
    progress: Annotated[bool, Tracked()] = False,
) -> Result[tuple[Battle, ...]]:
    """Let models answer prompts; coupled, with the same noise at every token.

    The same prompts, models, seed and settings give the same replies, here and by the command
    ``coupled-arena generate``.

    Parameters
    ----------
    models : Models
        What `load` returned: two or more.
    prompts : str or sequence of str
    progress : bool
        Show a bar on stderr.

    Returns
    -------
    Result
        Table: "replies". Its `analysis` are the battles.

    Raises
    ------
    PromptError
        There is nothing to answer, or a prompt is longer than a model's context.
    ArenaError
        A setting is out of range, or there are fewer than two models.
    """
    asked = check_texts((prompts,) if isinstance(prompts, str) else prompts, "prompts")
    if len(models) < 2:
        raise ArenaError("Coupled generation needs at least two models: load another one.")
    if not asked:
        raise PromptError("There is no prompt to answer.")
    from coupled_arena.battles.batch import generate as run
    from coupled_arena.store.database import Store
    from coupled_arena.views.tables.stored import replies

    plan = run_plan(
        *(models.settings, [Prompt(text) for text in asked], tuple(models)),
        **{"mode": mode, "seeds": seeds, "seed": seed, "temperature": temperature, "top_k": top_k},
        **{"top_p": top_p, "max_new_tokens": max_new_tokens, "sampler": sampler},
        coupling=coupling,
    ).settled(models)
    with Store.in_memory() as store:
        room = models.settings.battle.kv_tokens
        made = run(plan, models, store, at_once=at_once, kv_tokens=room, progress=progress)
        battles = tuple(store.battle(battle.id) for battle, _ in plan.battles())
    settings = {"mode": mode, "seeds": seeds, "seed": seed, "sampler": sampler}
    settings |= {"models": tuple(models), **_drawn(plan)}
    table = replies(battles)
    answer = {**settings, "tokens": made.tokens, "replies": table.records()}
    return Result("Replies", battles, settings, {"replies": table}, answer, table.text)


def _drawn(plan: BatchPlan) -> dict[str, Any]:
    """Return what the samplings of a plan have in common, and lists of what differs."""
    each = [asdict(sampling) for sampling in plan.samplings]
    names = "temperature", "top_k", "top_p", "max_new_tokens", "coupling"
    values = {name: list(dict.fromkeys(one[name] for one in each)) for name in names}
    return {name: found[0] if len(found) == 1 else found for name, found in values.items()}


def run_plan(
    settings: Settings,
    prompts: Sequence[Prompt],
    models: Sequence[str],
    *,
    mode: Modes | str,
    seeds: int,
    seed: int,
    sampler: str,
    coupling: str | None,
    temperature: Sequence[float] | None = None,
    top_p: Sequence[float] | None = None,
    defaults: Mapping[str, float] = MappingProxyType({}),
    **given: float | None,
) -> BatchPlan:
    """Return the battles that options of a run ask for, each way of drawing once.

    Parameters
    ----------
    defaults : mapping of str to float
        What a run takes where nothing is given, instead of the settings.
    given : float or None
        `top_k` and `max_new_tokens`.

    Raises
    ------
    SettingsError
        A number is out of range.
    """
    from coupled_arena.battles.batch import BatchPlan

    drawn = coupling_of(sampler, coupling, settings.sampling.coupling)
    table = {**settings.sampling.model_dump(), **defaults}
    table |= {name: value for name, value in given.items() if value is not None}
    each = product(temperature or (table["temperature"],), top_p or (table["top_p"],))
    tables = ({**table, "temperature": warm, "top_p": share} for warm, share in each)
    samplings = (load_settings(sampling=one).sampling.sampling() for one in tables)
    return BatchPlan(
        prompts=tuple(prompts),
        models=tuple(models),
        modes=Modes(mode).each,
        repetitions=seeds,
        seed=seed,
        samplings=tuple(dict.fromkeys(replace(one, coupling=drawn) for one in samplings)),
    )
