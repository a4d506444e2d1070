"""By how much one outcome won over another, when a stored reply is drawn again."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import torch

from coupled_arena.core.records import Battle, Reply, Sampler
from coupled_arena.generation.byte_coupling import ByteWalk, byte_gap
from coupled_arena.generation.language_model import LocalModel, is_served
from coupled_arena.generation.noise import GumbelCache
from coupled_arena.generation.running import Line
from coupled_arena.generation.sampling import inverse_gap, outcome_scores
from coupled_arena.generation.turns import Models, before_turn, next_request


def score_gap(models: Models, battle: Battle, reply: Reply, index: int, outcome: int) -> float:
    """Return by how much the winning outcome beats another at one position of a stored reply.

    Computed in a batch of one, with log-weights and noise as in the draw; a gap of the size of
    the arithmetic's rounding explains a difference, a larger one does not. By inverse transform it
    is how far the number lies from the other outcome's share of the probability; by bytes it is the
    gap at the first question that the other outcome loses. NaN where a server holds the model: its
    logits are not known here.
    """
    model = models[battle.models[reply.place]]
    if is_served(model):
        return math.nan
    model = cast(LocalModel, model)
    question = battle.prompts[reply.turn]
    request = next_request(models, before_turn(battle, reply.turn), question)
    asked = request.contenders[reply.place]
    written = reply.tokens[:index]
    contender = replace(asked, prompt=(*asked.prompt, *written), written=written)
    batch = model.start_batch()
    batch.add([list(contender.prompt)])
    stops = torch.tensor(sorted(model.vocabulary.stops), dtype=torch.int64, device=model.device)
    scores = outcome_scores(batch.logits, stops, battle.sampling)
    if battle.sampling.by_bytes:
        line = Line(contender, request, model)
        return byte_gap(ByteWalk(model.vocabulary, model.device), scores[0], line.place, outcome)
    if battle.sampling.temperature:
        noise = GumbelCache(torch.from_numpy(model.vocabulary.keys).to(model.device))
        place = [(contender.seed, reply.turn, index)]
        if battle.sampling.coupling == Sampler.INVERSE.coupling:
            return inverse_gap(scores, noise.uniforms(place), noise.order, outcome)
        scores = scores + noise.at(place)
    return float(scores.max() - scores[0, outcome])
