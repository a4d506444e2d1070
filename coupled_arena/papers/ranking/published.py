"""Numbers of the ranking paper: those that it says, and those that its figures show.

Its text says few. The authors' figures are drawings with exact coordinates, in their repository
(https://github.com/Networks-Learning/prediction-powered-ranking): these were read from them, to
.001. The names of the judges are those that a table of ours needs to stand beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from coupled_arena.papers.item import KnownNames
from coupled_arena.stats.simulation.subsets import SharedComparisons

_MODELS = KnownNames(
    dict.fromkeys(
        (
            *("RWKV-4-Raven-14B", "alpaca-13b", "chatglm-6b", "claude-instant-v1", "claude-v1"),
            *("fastchat-t5-3b", "gpt-3.5-turbo", "gpt-4", "koala-13b", "oasst-pythia-12b"),
            *("palm-2", "vicuna-13b"),
        ),
        (),
    )
)
_JUDGES = KnownNames(
    {
        "gpt-4": ("gpt-4-0125-preview", "gpt4"),
        "claude-3": ("claude-3-opus-20240229", "claude-3-opus", "cl3"),
        "gpt-3.5": ("gpt-3.5-turbo-0125", "gpt-3.5-turbo", "gpt3.5"),
    }
)
COMPARISONS = 14_947
"""Of the public votes of Chatbot Arena on these models, that the judges have judged, too."""


def is_papers_own(shared: SharedComparisons) -> bool:
    """Tell whether these are the paper's models and as many comparisons as it has of them."""
    upper = shared.votes.comparisons.sum() // 2
    return bool(_MODELS.all_of(shared.models)) and upper == COMPARISONS


def judge_name(judge: str | None) -> str | None:
    """Return the paper's name of a judge, or the one that it has here."""
    return judge and (_JUDGES.name_of(judge) or judge)


TOTAL, VOTES, LEVEL = 6336, 990, 0.05

# alpha: size, meets the baseline, contains it
_BY_LEVEL = {
    "llm claude-3": {
        0.01: (1.962, 0.014, 0.001), 0.05: (1.866, 0.007, 0.001), 0.4: (1.661, 0.003, 0.001),
    },
    "llm gpt-4": {
        0.01: (1.403, 0.320, 0.001), 0.05: (1.354, 0.247, 0.0), 0.4: (1.264, 0.123, 0.0),
    },
    "human only": {
        0.01: (2.333, 0.772, 0.217), 0.05: (2.194, 0.690, 0.172), 0.4: (1.943, 0.535, 0.125),
    },
    "ppr gpt-3.5": {
        0.01: (2.334, 0.771, 0.217), 0.05: (2.197, 0.690, 0.185), 0.4: (1.919, 0.517, 0.114),
    },
    "ppr claude-3": {
        0.01: (2.316, 0.763, 0.204), 0.05: (2.179, 0.693, 0.181), 0.4: (1.901, 0.520, 0.101),
    },
    "ppr gpt-4": {
        0.01: (2.276, 0.761, 0.179), 0.05: (2.142, 0.691, 0.160), 0.4: (1.891, 0.521, 0.113),
    },
}  # fmt: skip
# votes: size, meets the baseline, contains it
_BY_VOTES = {
    "ppr gpt-4": {
        66: (4.462, 0.104, 0.029), 132: (3.684, 0.193, 0.056), 198: (3.323, 0.267, 0.066),
        462: (2.620, 0.474, 0.128), 990: (2.142, 0.691, 0.160), 1452: (1.933, 0.818, 0.221),
        1980: (1.805, 0.900, 0.243), 2442: (1.717, 0.928, 0.301), 2970: (1.665, 0.957, 0.320),
    },
    "ppr claude-3": {
        66: (4.561, 0.121, 0.029), 132: (3.806, 0.198, 0.063), 198: (3.431, 0.260, 0.073),
        462: (2.682, 0.475, 0.125), 990: (2.179, 0.693, 0.181), 1452: (1.956, 0.792, 0.193),
        1980: (1.824, 0.893, 0.245), 2442: (1.733, 0.934, 0.302), 2970: (1.682, 0.960, 0.327),
    },
    "ppr gpt-3.5": {
        66: (4.535, 0.104, 0.040), 132: (3.882, 0.219, 0.068), 198: (3.474, 0.272, 0.085),
        462: (2.708, 0.472, 0.125), 990: (2.197, 0.690, 0.185), 1452: (1.967, 0.802, 0.208),
        1980: (1.833, 0.890, 0.241), 2442: (1.735, 0.928, 0.300), 2970: (1.683, 0.960, 0.318),
    },
}  # fmt: skip
SYNTHETIC_VOTES = (400, 1000, 5000, 10000, 20000)
_COVERAGE = {
    "ppr 0.05": (0.730, 0.837, 0.910, 0.903, 0.913),
    "ppr 0.1": (0.620, 0.730, 0.887, 0.883, 0.913),
    "ppr 0.3": (0.547, 0.620, 0.820, 0.847, 0.890),
    "human only": (0.373, 0.490, 0.707, 0.793, 0.847),
}
_OVERLAP = {
    "ppr 0.05": (0.878, 0.904, 0.929, 0.937, 0.938),
    "ppr 0.1": (0.846, 0.876, 0.927, 0.931, 0.937),
    "ppr 0.3": (0.767, 0.840, 0.904, 0.919, 0.934),
    "human only": (0.576, 0.705, 0.841, 0.874, 0.909),
    "llm 0.05": (0.850, 0.850, 0.848, 0.850, 0.850),
    "llm 0.1": (0.789, 0.790, 0.788, 0.789, 0.790),
    "llm 0.3": (0.570, 0.570, 0.570, 0.570, 0.570),
}


def drawn(method: str, human: int | None, total: int, alpha: float) -> str:
    """Return what a method is called that ranked so many comparisons, with so many votes."""
    votes = "" if human is None else f" {human:,} votes of"
    return f"{method},{votes} {total:,} comparisons, alpha {alpha:g}"


def simulated(method: str, human: int, measure: str) -> str:
    """Return what a number of the experiment with noisy judges is called."""
    return f"{method}, {human:,} votes: {measure}"


SIZE, MEETS, CONTAINS = "size", "meets the baseline", "contains the baseline"
_PLACES = {SIZE: 0, MEETS: 1, CONTAINS: 2}


def by_level(*measures: str) -> Mapping[str, float]:
    """Return what figures 1, 6 and 7 show at three of their ten error levels."""

    def rows() -> Iterator[tuple[str, float]]:
        for method, levels in _BY_LEVEL.items():
            votes = None if method.startswith("llm") else VOTES
            for alpha, values in levels.items():
                for measure in measures:
                    name = f"{drawn(method, votes, TOTAL, alpha)}: {measure}"
                    yield name, values[_PLACES[measure]]

    return dict(rows())


def by_votes(*measures: str) -> Mapping[str, float]:
    """Return what figures 2 and 8 show at alpha = .05."""
    return {
        f"{drawn(method, votes, TOTAL, LEVEL)}: {measure}": values[_PLACES[measure]]
        for method, sizes in _BY_VOTES.items()
        for votes, values in sizes.items()
        for measure in measures
    }


def synthetic(measure: str) -> Mapping[str, float]:
    """Return what the figures of the simulation show: coverage, or overlap."""
    return {
        simulated(method, votes, measure): value
        for method, values in (_COVERAGE if measure == "coverage" else _OVERLAP).items()
        for votes, value in zip(SYNTHETIC_VOTES, values, strict=True)
    }


OTHER_POSITION = "models with another likeliest position than the baseline"
OTHER_SET = "models with another most frequent rank-set than the baseline"
NOT_SIX = "alpaca-13b, position 6, ppr gpt-4"


def elsewhere(method: str, what: str = OTHER_POSITION) -> str:
    """Return what the number of models is called that a method puts elsewhere."""
    return f"{method}: {what}"


def other_positions(stated: Mapping[str, int], what: str = OTHER_POSITION) -> Mapping[str, float]:
    """Return how many models each method puts elsewhere."""
    return {elsewhere(method, what): float(models) for method, models in stated.items()}
