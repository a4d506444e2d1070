"""Win-rates of single-token answers that are right or wrong, in closed form.

With one uniform number behind both answers, a model that is right with probability p beats one
with p' exactly when the number falls between the two; with numbers of their own, when one is
right and the other wrong. The average over opponents can rank models differently in the two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SingleTokenWinRates:
    """Probability that the model of the row beats that of the column, shape (k, k) each."""

    coupled: FloatArray
    independent: FloatArray

    @property
    def coupled_average(self) -> FloatArray:
        """Mean over the k - 1 opponents, shape (k,)."""
        return self.coupled.sum(axis=1) / (len(self.coupled) - 1)

    @property
    def independent_average(self) -> FloatArray:
        """Mean over the k - 1 opponents, shape (k,)."""
        return self.independent.sum(axis=1) / (len(self.independent) - 1)


def single_token_win_rates(
    success: ArrayLike, prompt_weights: ArrayLike | None = None
) -> SingleTokenWinRates:
    """Return the win-rates of k models on q prompts.

    Parameters
    ----------
    success : array_like, shape (q, k)
        Probability of each model's right answer to each prompt.
    prompt_weights : array_like, shape (q,), optional
        Probabilities of the prompts; equal by default.

    Raises
    ------
    ValueError
        A probability lies outside [0, 1], weights do not sum to 1, or k < 2.
    """
    p = np.atleast_2d(np.asarray(success, dtype=np.float64))
    if p.ndim != 2 or p.shape[1] < 2 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError("Give probabilities in [0, 1], a row a prompt and a column a model.")
    weights = (
        np.full(len(p), 1 / len(p)) if prompt_weights is None else np.asarray(prompt_weights, float)
    )
    if weights.shape != (len(p),) or (weights < 0).any() or not np.isclose(weights.sum(), 1):
        raise ValueError("Give one weight a prompt, none negative, that sum to 1.")
    ours, theirs = p[:, :, None], p[:, None, :]
    apart = ~np.eye(p.shape[1], dtype=np.bool_)
    return SingleTokenWinRates(
        coupled=np.einsum("q,qij->ij", weights, np.clip(ours - theirs, 0, None)),
        independent=np.einsum("q,qij->ij", weights, ours * (1 - theirs)) * apart,
    )
