"""Choosing the next token: Gumbel-max over filtered logits with one outcome for the end.

Temperature, top-k and top-p act on the model's distribution first. Then all tokens that end the
answer are merged into one outcome with their summed probability. They share one noise key, and
sharing a key without merging would break the law. Two stops of probability 1/4 each would come out
with 1/3 together, not 1/2. The drawn outcome is argmax(log p + g).
"""

from __future__ import annotations

import math

import torch

from coupled_arena.core.records import Sampling
from coupled_arena.generation.noise import GumbelCache

NO_NUMBER = -1
NOT_AMONG = -2
_ROWS = 4  # a few megabytes: a processor's cache holds them, and no memory is had anew for them
_LIKELIEST = 1024  # of a row: nearly always more than top-p leaves
_FEW = 16  # making noise token by token pays where at most one outcome in so many is possible


def outcome_scores(logits: torch.Tensor, stops: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Return the filtered log-weights of all outcomes, unnormalised.

    Parameters
    ----------
    logits : tensor, shape (n, v)
    stops : int64 tensor of ids that end the answer
    sampling : Sampling
        Temperature 0 leaves only the likeliest outcome.

    Returns
    -------
    float64 tensor, shape (n, v + 1)
        Last column: the end of the answer. Impossible outcomes are -inf.
    """
    size = logits.shape[1]
    scores = logits.new_empty((len(logits), size + 1), dtype=torch.float64)
    at_once = _ROWS if logits.device.type == "cpu" else max(len(logits), 1)
    for part, given in zip(scores.split(at_once), logits.split(at_once), strict=True):
        _fill(part[:, :size], part[:, size:], given, stops, sampling)
    return scores


def _fill(
    scores: torch.Tensor,
    end: torch.Tensor,
    logits: torch.Tensor,
    stops: torch.Tensor,
    sampling: Sampling,
) -> None:
    """Write some rows' filtered scores in place, and those of the end of the answer."""
    scores.copy_(logits)
    greedy = sampling.temperature == 0
    if not greedy:
        scores.div_(sampling.temperature)
        if 0 < sampling.top_k < scores.shape[1]:
            scores.masked_fill_(scores < _top_k_end(scores, sampling.top_k), -torch.inf)
        if sampling.top_p < 1:
            scores.masked_fill_(scores < _nucleus_end(scores, sampling.top_p), -torch.inf)
    merge = torch.amax if greedy else torch.logsumexp
    end[:] = merge(scores[:, stops], dim=1, keepdim=True) if len(stops) else -torch.inf
    scores.index_fill_(1, stops, -torch.inf)


def draw(scores: torch.Tensor, noise: torch.Tensor | None) -> torch.Tensor:
    """Return the drawn outcome of each row: argmax(score + noise), int64 of shape (n,).

    Without noise the draw is greedy. Where the model computed what is no number it is `NO_NUMBER`.
    The reader of the draw must look for it: to look here would be to wait for the device.
    """
    noisy = scores if noise is None else scores + noise
    drawn = torch.argmax(noisy, dim=1, keepdim=True)  # what is no number counts as the largest
    return drawn.masked_fill(noisy.gather(1, drawn).isnan(), NO_NUMBER)[:, 0]


def draw_at(
    scores: torch.Tensor, noise: GumbelCache, sequences: list[tuple[int, int, int]]
) -> torch.Tensor:
    """Return what `draw` returns with the noise of each row's (seed, turn, position).

    Where the filters have left few outcomes, only theirs is made: the same numbers, sooner, or in
    less memory. How many are left is asked of the device.
    """
    possible = scores > -torch.inf
    if possible.count_nonzero() * _FEW > possible.numel():
        return draw(scores, noise.at(sequences))
    rows, outcomes = possible.nonzero(as_tuple=True)
    noisy = scores[rows, outcomes] + noise.at_tokens(sequences, rows, outcomes)
    best = scores.new_full((len(scores),), -torch.inf).scatter_reduce(0, rows, noisy, "amax")
    ahead = noisy == best[rows]
    drawn = rows.new_full((len(scores),), scores.shape[1])
    return drawn.scatter_reduce(0, rows[ahead], outcomes[ahead], "amin")


def has_few(sampling: Sampling, size: int) -> bool:
    """Tell whether a sampling leaves few tokens as a rule: then `draw_likeliest` pays."""
    by_rank = 0 < sampling.top_k < _LIKELIEST
    return sampling.temperature > 0 and size > _LIKELIEST and (by_rank or sampling.top_p < 1)


def draw_likeliest(
    logits: torch.Tensor,
    stops: torch.Tensor,
    sampling: Sampling,
    noise: GumbelCache,
    sequences: list[tuple[int, int, int]],
) -> torch.Tensor:
    """Return what `draw_at` returns, from the likeliest tokens alone, without asking the device.

    Noise is made for them only, and nothing is sorted but they. Where the filters leave others too,
    the outcome is `NOT_AMONG`, and the row must be drawn from all.

    Parameters are those of `outcome_scores` and `draw_at`; `has_few` must hold.
    """
    size = logits.shape[1]
    ranked, tokens = torch.topk(logits, _LIKELIEST, dim=1)
    ranked = ranked.double().div_(sampling.temperature)
    end, reached = _end_among(ranked, logits, sampling)
    ending = logits[:, stops].double().div_(sampling.temperature)
    ending = ending.masked_fill(ending < end, -torch.inf)
    scores = ranked.masked_fill((ranked < end) | torch.isin(tokens, stops), -torch.inf)
    none = torch.full_like(end, -torch.inf)
    merged = torch.logsumexp(ending, dim=1, keepdim=True) if len(stops) else none
    scores = torch.cat([scores, merged], dim=1)
    outcomes = torch.cat([tokens, torch.full_like(tokens[:, :1], size)], dim=1)
    rows = torch.arange(len(logits), device=logits.device)[:, None].expand_as(outcomes)
    made = noise.at_tokens(sequences, rows.reshape(-1), outcomes.reshape(-1))
    noisy = scores + made.view_as(scores)
    best = noisy.amax(dim=1, keepdim=True)
    drawn = outcomes.masked_fill(noisy != best, size).amin(dim=1)  # of equal ones the first
    # Tokens level with the last one may be kept, too.
    missing = ~reached | (ranked[:, -1:] >= end)
    drawn = drawn.masked_fill(missing[:, 0], NOT_AMONG)
    return drawn.masked_fill(ranked[:, 0].isnan() | best[:, 0].isnan(), NO_NUMBER)


def _end_among(
    ranked: torch.Tensor, logits: torch.Tensor, sampling: Sampling
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the least score of the likeliest that the filters keep, and whether it is among them.

    Both have the shape (n, 1).
    """
    known = torch.ones_like(ranked[:, :1], dtype=torch.bool)
    by_rank = 0 < sampling.top_k < _LIKELIEST
    end = (
        ranked[:, sampling.top_k - 1, None]
        if by_rank
        else torch.full_like(ranked[:, :1], -torch.inf)
    )
    if sampling.top_p == 1:
        return end, known
    if by_rank:
        ranked = ranked.masked_fill(ranked < end, -torch.inf)
        total = torch.logsumexp(ranked, dim=1, keepdim=True)
    else:
        total = _total(logits, sampling.temperature)
    reached = torch.exp(ranked - total).cumsum(dim=1) >= sampling.top_p
    if by_rank:  # rounding may leave the whole sum just short of top_p
        reached[:, -1] = True
    least = ranked.gather(1, reached.to(torch.int8).argmax(dim=1, keepdim=True))
    return torch.maximum(end, least), reached.any(dim=1, keepdim=True)


def _total(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    """Return the logarithm of each row's whole weight, in few rows at a time: they are wide."""
    parts = (part.double().div_(temperature) for part in logits.split(_ROWS))
    return torch.cat([torch.logsumexp(part, dim=1, keepdim=True) for part in parts])


def draw_inverse(scores: torch.Tensor, uniforms: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Return the drawn outcome of each row by inverse transform sampling, int64 of shape (n,).

    The outcomes' probabilities are laid side by side in a fixed order; the one within whose the
    uniform number lies is drawn. Counterfactual stability fails. Where one outcome gains, those
    beyond it move, so that a number may go over to an outcome that has become less likely.

    Parameters
    ----------
    scores : float64 tensor, shape (n, v + 1)
        As `outcome_scores` returns them.
    uniforms : float64 tensor, shape (n,)
        Between 0 and 1, exclusive.
    order : int64 tensor, shape (v + 1,)
    """
    ends = _ends(scores, order)
    # The first end beyond the number: that of an outcome which is possible.
    places = torch.searchsorted(ends, uniforms[:, None] * ends[:, -1:], right=True)[:, 0]
    drawn = order[places.clamp(max=len(order) - 1)]
    return drawn.masked_fill(ends[:, -1].isnan(), NO_NUMBER)


def inverse_gap(
    scores: torch.Tensor, uniform: torch.Tensor, order: torch.Tensor, outcome: int
) -> float:
    """Return how far a uniform number lies from the interval of an outcome, in probability.

    Infinite where the outcome is impossible; parameters as of `draw_inverse`, of one row.
    """
    if scores[0, outcome] == -torch.inf:
        return math.inf
    ends = _ends(scores, order)[0]
    place = int((order == outcome).nonzero())
    at = float(uniform[0] * ends[-1])
    low = float(ends[place - 1]) if place else 0.0
    return max(low - at, at - float(ends[place]), 0.0) / float(ends[-1])


def _ends(scores: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Return where each outcome's share of the probability ends, in their order, unnormalised."""
    shares = torch.exp(scores - scores.amax(dim=1, keepdim=True))
    return shares[:, order].cumsum(dim=1)


def keep_top_k(scores: torch.Tensor, top_k: int) -> torch.Tensor:
    """Drop all but the k likeliest tokens (and those level with the last of them); 0 keeps all."""
    if not 0 < top_k < scores.shape[1]:
        return scores
    return scores.masked_fill(scores < _top_k_end(scores, top_k), -torch.inf)


def _top_k_end(scores: torch.Tensor, top_k: int) -> torch.Tensor:
    return torch.topk(scores, top_k, dim=1).values[:, -1:]


def keep_top_p(scores: torch.Tensor, top_p: float) -> torch.Tensor:
    """Drop all but the smallest set of likeliest tokens whose probability reaches top_p.

    Tokens level with the last one kept are kept too, so the set depends on no sorting order.
    """
    if top_p >= 1:
        return scores
    return scores.masked_fill(scores < _nucleus_end(scores, top_p), -torch.inf)


def _nucleus_end(scores: torch.Tensor, top_p: float) -> torch.Tensor:
    """Return the score of the last token that is needed to reach top_p, shape (n, 1)."""
    total = torch.logsumexp(scores, dim=1, keepdim=True)
    # Tokens rarer than (1 - top_p) / v have less than 1 - top_p even together, so the nucleus is
    # complete without them.
    least = total + math.log((1 - top_p) / scores.shape[1])
    ranked_end = _end_of_few if scores.device.type == "cpu" else _end_of_all
    return ranked_end(scores, total, least, top_p)


def _end_of_all(
    scores: torch.Tensor, total: torch.Tensor, least: torch.Tensor, top_p: float
) -> torch.Tensor:
    """Sort all tokens: nothing is asked of the device, which does it in no time."""
    ranked = torch.sort(scores, dim=1, descending=True).values
    counts = (ranked >= least).sum(1, keepdim=True).clamp(min=1)
    return _last_needed(ranked, counts, total, top_p)


def _end_of_few(
    scores: torch.Tensor, total: torch.Tensor, least: torch.Tensor, top_p: float
) -> torch.Tensor:
    """Sort only the tokens that may matter: ten times faster on a processor."""
    rows, tokens = (scores >= least).nonzero().unbind(1)
    counts = torch.bincount(rows, minlength=len(scores))
    if not counts.all():
        raise ValueError("The model computed what is no number.")
    places = torch.arange(len(rows), device=rows.device) - (counts.cumsum(0) - counts)[rows]
    candidates = scores.new_full((len(scores), int(counts.max())), -torch.inf)
    candidates[rows, places] = scores[rows, tokens]
    ranked = torch.sort(candidates, dim=1, descending=True).values
    return _last_needed(ranked, counts[:, None], total, top_p)


def _last_needed(
    ranked: torch.Tensor, counts: torch.Tensor, total: torch.Tensor, top_p: float
) -> torch.Tensor:
    """Return the score with which the sum over so many ranked tokens reaches top_p."""
    reached = torch.exp(ranked - total).cumsum(dim=1) >= top_p
    # rounding may leave the whole sum just short of top_p
    reached.scatter_(1, counts - 1, value=True)
    return ranked.gather(1, reached.to(torch.int8).argmax(dim=1, keepdim=True))
