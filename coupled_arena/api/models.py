"""Models in this process, and answers that share one noise stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from coupled_arena.api.checks import check_texts
from coupled_arena.api.results import Result
from coupled_arena.core.choices import Coupling, Modes, RunSampler
from coupled_arena.core.errors import ArenaError, PromptError
from coupled_arena.core.extras import require
from coupled_arena.core.records import Battle, Prompt
from coupled_arena.core.settings import Settings, coupling_of, load_settings

if TYPE_CHECKING:
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


def generate(
    models: Models,
    prompts: str | Sequence[str],
    *,
    mode: Modes | str = Modes.COUPLED,
    seeds: int = 1,
    seed: int = 0,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    max_new_tokens: int | None = None,
    sampler: RunSampler | str = RunSampler.GUMBEL,
    coupling: Coupling | str | None = None,
    at_once: int = 16,
    progress: bool = False,
) -> Result[tuple[Battle, ...]]:
    """Let models answer prompts; coupled, with the same noise at every token.

    The same prompts, models, seed and settings give the same replies, here and by the command
    ``coupled-arena generate``.

    Parameters
    ----------
    models : Models
        What `load` returned: two or more.
    prompts : str or sequence of str
    mode : {"coupled", "independent", "both"}
    seeds : int
        Repetitions of each prompt.
    seed : int
        Of the whole experiment.
    temperature, top_k, top_p, max_new_tokens
        By default those of the settings.
    sampler : {"gumbel", "inverse"}
        How noise becomes a token: Gumbel-max, or inverse transform to compare it with.
    coupling : {"auto", "token", "bytes"}, optional
        Whether noise is read for each token or for each byte, by default that of the settings:
        auto takes bytes where the models' vocabularies differ.
    at_once : int
        Battles that decode in one batch.
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
        raise ArenaError("Coupled generation takes two models or more: load another one.")
    if mode not in set(Modes):
        raise ArenaError(f"mode is one of {', '.join(Modes)}, not {mode!r}.")
    if seeds < 1 or at_once < 1 or seed < 0:
        raise ArenaError("seeds and at_once are 1 or more, and seed is 0 or more.")
    if not asked:
        raise PromptError("There is no prompt to answer.")
    given = {
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "max_new_tokens": max_new_tokens,
        "coupling": coupling,
    }
    changed = {name: value for name, value in given.items() if value is not None}
    sampling = load_settings(sampling={**models.settings.sampling.model_dump(), **changed}).sampling
    drawn = coupling_of(sampler, coupling, sampling.coupling)
    from coupled_arena.battles.batch import BatchPlan
    from coupled_arena.battles.batch import generate as run
    from coupled_arena.store.database import Store
    from coupled_arena.views.tables.stored import replies

    plan = BatchPlan(
        prompts=tuple(Prompt(text) for text in asked),
        models=tuple(models),
        modes=Modes(mode).each,
        repetitions=seeds,
        seed=seed,
        samplings=(replace(sampling.sampling(), coupling=drawn),),
    ).settled(models)
    with Store.in_memory() as store:
        room = models.settings.battle.kv_tokens
        made = run(plan, models, store, at_once=at_once, kv_tokens=room, progress=progress)
        battles = tuple(store.battle(battle.id) for battle, _ in plan.battles())
    settings = {"mode": mode, "seeds": seeds, "seed": seed, **sampling.model_dump()}
    settings |= {"sampler": sampler, "models": tuple(models)}
    settings["coupling"] = plan.samplings[0].coupling
    table = replies(battles)
    answer = {**settings, "tokens": made.tokens, "replies": table.records()}
    return Result("Replies", battles, settings, {"replies": table}, answer, table.text)
