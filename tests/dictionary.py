"""Every column of every result, for the data dictionary of the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coupled_arena.views.papers import item as papers
from coupled_arena.views.tables import (
    agreement,
    audit,
    battles,
    coupling,
    experiments,
    flat,
    judges,
    leaderboard,
    modes,
    parting,
    protocol_rates,
    protocols,
    ranking_paper,
    replies,
    risk,
)
from coupled_arena.views.tables.table import Column

RESULTS: Mapping[str, tuple[Column[Any], ...]] = {
    "leaderboard": leaderboard.STANDINGS,
    "leaderboard: rank-set sizes": leaderboard.RANK_SET_SIZES,
    "leaderboard: pairs": leaderboard.HEAD_TO_HEAD,
    "leaderboard: Bradley-Terry": leaderboard.BRADLEY_TERRY,
    "coupled against independent: models": modes.MODE_MODELS,
    "coupled against independent: pairs": modes.MODE_PAIRS,
    "audit: models": audit.AUDIT_MODELS,
    "audit: differences": audit.DIFFERENCES,
    "audit: soft": audit.AUDIT_SOFT,
    "plan": audit.PLAN,
    "agreement": agreement.AGREEMENT,
    "battles behind a number": battles.FOUND_BATTLES,
    "coupling: pairs": coupling.PAIRS,
    "coupling: prompts of a pair": coupling.PROMPTS,
    "coupling: error curves of a pair": coupling.CURVES,
    "reproduce coupled-generation: pairs of models": protocols.PANELS,
    "reproduce coupled-generation: gains": protocols.GAINS,
    "reproduce coupled-generation: curves": protocols.PROTOCOL_CURVES,
    "reproduce coupled-generation: spreads": protocols.SPREADS,
    "reproduce coupled-generation: ranks": protocol_rates.PROTOCOL_PLACES,
    "reproduce coupled-generation: win rates": protocol_rates.PROTOCOL_PAIRS,
    "reproduce coupled-generation: ties": protocol_rates.PROTOCOL_TIES,
    "risk: models": risk.MODELS,
    "risk: pairs": risk.PAIRS,
    "risk: mean less risk": risk.MEAN_RISKS,
    "risk: curves": risk.CURVES,
    "resample: rankings": experiments.RANKINGS,
    "resample: rank-sets": experiments.RANK_SETS,
    "simulate: rank-sets": experiments.COVERAGE,
    "simulate: rank-sets that are watched": experiments.WATCHED,
    "simulate: intervals": experiments.INTERVALS,
    "explain: options": parting.PARTING,
    "reproduce: items": papers.LISTED,
    "reproduce: beside the published numbers": papers.PUBLISHED,
    "reproduce: rankings by judge": ranking_paper.JUDGED_RANKINGS,
    "reproduce: rank-sets by judge": ranking_paper.JUDGED_RANK_SETS,
    "reproduce: positions by judge": ranking_paper.JUDGED_POSITIONS,
    "reproduce: what is likeliest, by judge": ranking_paper.JUDGED_LIKELIEST,
    "reproduce: compared pairs": ranking_paper.PAIR_SIZES,
    "reproduce: compared models": ranking_paper.COMPARED,
    "reproduce: noisy judges": ranking_paper.NOISY,
    "reproduce: worth of judges": judges.WORTHS,
    "reproduce: ranks by judges": judges.RANKED,
    "flat table of votes": flat.FLAT,
    "replies of `generate` in Python": replies.REPLIES,
}
