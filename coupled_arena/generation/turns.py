"""From a battle to the engine and back: one turn of a conversation with every model of it.

Seeds of noise are made here, not with the noise: the web server draws none and loads no torch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from coupled_arena.core.errors import BattleError, ModelError, PromptError
from coupled_arena.core.language import _
from coupled_arena.core.records import (
    AUTO,
    Battle,
    Finish,
    Mode,
    Origin,
    Prompt,
    Reply,
    Sampler,
    Sampling,
)
from coupled_arena.generation.language_model import LanguageModel, brings_noise, holds_keys
from coupled_arena.generation.running import Contender, Request, Running


def model_seed(battle_seed: int, model: str, ordinal: int) -> int:
    """Return the seed of one model of an independent battle.

    Parameters
    ----------
    battle_seed : int
        64-bit seed of the battle.
    model : str
        The model's name.
    ordinal : int
        How often that name occurred earlier in the battle: a model against itself differs too.
    """
    text = battle_seed.to_bytes(8, "little") + model.encode() + ordinal.to_bytes(4, "little")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


Models = Mapping[str, LanguageModel]


def seeds(battle: Battle) -> tuple[int, ...]:
    """Return the noise seed of each place: the battle's own where coupled, else one each."""
    if battle.mode is Mode.COUPLED:
        return (battle.seed,) * len(battle.models)
    return tuple(
        model_seed(battle.seed, name, battle.models[:place].count(name))
        for place, name in enumerate(battle.models)
    )


def settled(sampling: Sampling, names: Iterable[str], models: Models) -> Sampling:
    """Return a sampling with its coupling chosen, where that is left to the models' vocabularies.

    The servers' own noise where all models are on servers that bring it. Noise for each token where
    all spell the same, but for control tokens, where none is read. Also where a server draws, which
    knows no other. Else noise for each byte.
    """
    if sampling.coupling != AUTO:
        return sampling
    meeting = [models[name] for name in names]
    if all(map(brings_noise, meeting)):
        return replace(sampling, coupling=Sampler.SERVERS.coupling)
    alike = len({model.vocabulary.text_fingerprint for model in meeting}) == 1
    token = alike or sampling.temperature == 0 or not all(map(holds_keys, meeting))
    return replace(sampling, coupling=(Sampler.GUMBEL if token else Sampler.BYTES).coupling)


def messages(battle: Battle, place: int, question: Prompt) -> list[dict[str, str]]:
    """Return the conversation so far as one model saw it, and the next question.

    Where the question has a prefix, the last message is the beginning of the answer.
    """
    replies = {reply.turn: reply.text for reply in battle.replies if reply.place == place}
    system = (*battle.prompts, question)[0].system
    spoken = [{"role": "system", "content": system}] if system else []
    for turn, prompt in enumerate(battle.prompts):
        spoken.append({"role": "user", "content": prompt.text})
        spoken.append({"role": "assistant", "content": prompt.prefix + replies[turn]})
    spoken.append({"role": "user", "content": question.text})
    if question.prefix:
        spoken.append({"role": "assistant", "content": question.prefix})
    return spoken


def next_request(
    models: Models,
    battle: Battle,
    question: Prompt,
    read: Mapping[tuple[str, int], tuple[int, ...]] | None = None,
) -> Request:
    """Return what the engine needs to answer the battle's next question.

    Parameters
    ----------
    read : mapping of (str, int) to tuple of int, optional
        Ids of the conversation by model and place, where somebody has read it before.

    Raises
    ------
    PromptError
        The conversation is longer than a model's context. Or servers that bring noise of their own
        read it as different numbers of tokens.
    ModelError
        A server cannot draw as the battle does.
    """
    check_sampler(battle.models, battle.sampling, models)
    ids = read or {
        (name, place): models[name].encode(messages(battle, place, question))
        for place, name in enumerate(battle.models)
    }
    if battle.sampling.coupling == Sampler.SERVERS.coupling:
        _check_lengths([ids[name, place] for place, name in enumerate(battle.models)])
    contenders = tuple(
        Contender(name, seed, ids[name, place])
        for place, (name, seed) in enumerate(zip(battle.models, seeds(battle), strict=True))
    )
    begun = bool(question.prefix)
    return Request(contenders, battle.sampling, turn=len(battle.prompts), begun=begun)


def check_sampler(names: Collection[str], sampling: Sampling, models: Models) -> None:
    """Refuse other samplers where a server draws, which knows only one.

    Raises
    ------
    ModelError
        Some of these models cannot draw so.
    """
    theirs = sorted({name for name in names if brings_noise(models[name])})
    by_servers = sampling.coupling == Sampler.SERVERS.coupling
    if by_servers and len(theirs) == len(set(names)):
        return
    if theirs or by_servers:
        raise ModelError(
            f"{', '.join(theirs) or 'No model here'}: noise of a server is shared only by models "
            'with server_noise = "theirs", without --sampler and --coupling.'
        )
    if sampling.coupling == Sampler.GUMBEL.coupling:
        return
    served = sorted({name for name in names if not holds_keys(models[name])})
    if served:
        raise ModelError(
            f"{', '.join(served)}: a model server draws by --sampler gumbel and --coupling token "
            "alone. Take these, or models of this machine."
        )


def _check_lengths(prompts: list[tuple[int, ...]]) -> None:
    """Refuse prompts of several lengths: noise of servers is by a position that counts the prompt.

    In independent battles too, or a refusal would tell visitors which battles are coupled.
    """
    if len({len(prompt) for prompt in prompts}) > 1:
        raise PromptError(
            _(
                "These models share random numbers only while their conversations are equally "
                "long, and these are not. Start a new round."
            )
        )


def with_turn(battle: Battle, prompt: Prompt, running: Running, models: Models) -> Battle:
    """Return the battle with a decoded turn added, and how it was computed."""
    turn = len(battle.prompts)
    replies = tuple(
        Reply(turn, place, line.text, tuple(line.tokens), line.finish or Finish.CANCELLED)
        for place, line in enumerate(running.lines)
    )
    arithmetic = {
        f"{name}/{key}": value
        for name in battle.models
        for key, value in models[name].arithmetic.items()
    }
    arithmetic[f"turn {turn}/most battles at once"] = str(running.most_rows)
    return replace(
        battle,
        prompts=(*battle.prompts, prompt),
        replies=(*battle.replies, *replies),
        arithmetic={**battle.arithmetic, **arithmetic},
    )


def before_turn(battle: Battle, turn: int) -> Battle:
    """Return the battle as it stood when a turn was asked."""
    return replace(
        battle,
        prompts=battle.prompts[:turn],
        replies=tuple(reply for reply in battle.replies if reply.turn < turn),
    )


def check_noise_known(battle: Battle) -> None:
    """Raise BattleError for a battle that was drawn with noise which its servers alone know."""
    if battle.sampling.coupling == Sampler.SERVERS.coupling:
        text = _(
            "Battle {id} was drawn with noise of its model servers, which is not known here: it "
            "cannot be replayed or explained."
        )
        raise BattleError(text.format(id=battle.id))


def check_replayable(battle: Battle, models: Models) -> None:
    """Raise BattleError unless all that is needed to decode a stored battle again is here."""
    foreign = battle.mode is Mode.UNKNOWN or battle.origin is Origin.IMPORT
    if foreign or not all(reply.tokens or reply.text == "" for reply in battle.replies):
        text = _("Battle {id} was made elsewhere: it has no noise to replay.")
        raise BattleError(text.format(id=battle.id))
    check_noise_known(battle)
    absent = sorted({name for name in battle.models if name not in models})
    if absent:
        text = _("Battle {id} needs {models}: add it to the catalog.")
        raise BattleError(text.format(id=battle.id, models=", ".join(absent)))
