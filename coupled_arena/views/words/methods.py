"""How each tab's headline was computed: plain words first, then the field's term."""

from __future__ import annotations

from coupled_arena.core.language import N_

BOARD = N_(
    "A win rate is how often people prefer a model, averaged over its opponents. Each opponent "
    "weighs the same (stratified weighting). Two models count as different only if they differ by "
    "more than chance, with all pairs looked at together. The ranks that this leaves a model are "
    "its rank-set. At 95%, all rank-sets together hold the true ranks at every moment so far, "
    "except for one arena in twenty. In the field's terms: error level alpha 0.05, any-time "
    "cut-off. You may therefore watch the board, and stop when you have seen enough. The narrower "
    "max-t cut-off is right at a single look. If you keep looking, it is wrong sooner or later. "
    "Votes on one prompt are alike, and so are votes of one person. The intervals allow for both "
    "(two-way clustered covariance): they hold for people like these voters. The number of "
    "missing votes assumes that two models differ as much as they do now. With that many, the "
    "board separates them four times in five (power 0.8). You can choose all of this below."
)
LINES = N_(
    "The line shows a model's win rate on the board of the first battles, and then of more and "
    "more. At 95%, its ribbon holds at every moment, for this model by itself (any-time interval). "
    "It is wider than the bar, which holds at one look."
)
AUDIT = N_(
    "If a judge says of a model what people say, few votes do the work of many. Its verdicts "
    "stand for votes, and the votes correct them (prediction-powered inference). The gain depends "
    "on how closely verdicts and votes go together (their correlation). The figure shows it by "
    "model; the sentence gives the middle model (median). Its bounds are the medians of the "
    "models' bounds. Each model's interval misses one time in twenty (error level alpha 0.05). "
    "Votes on one prompt are alike, and so are votes of one person. The intervals allow for both "
    "(two-way clustered covariance): they hold for people like these voters."
)
COUPLING = N_(
    "Both models answer each prompt several times, with the same luck and each with its own. With "
    "the same luck their scores rise and fall together (covariance). Their difference then varies "
    "less, and fewer answers are enough. The savings are one minus the ratio of the two "
    "variances. Answers to one prompt are alike, so the interval goes by what each prompt adds to "
    "both variances. It misses one time in twenty (error level alpha 0.05)."
)
RISK = N_(
    "A model fails less badly than another if its worst replies are better on average. This must "
    "hold for every share of worst replies (second-order stochastic dominance). Every pair of "
    "models is tested on prompts that are drawn with repetition (bootstrap). The error level "
    "alpha holds for all pairs together (Bonferroni). Several metrics become one score by a "
    "model's place in each (portfolio, joined by a copula). You can choose all of this below."
)
EXPERIMENTS = N_(
    "The experiment draws random subsets of the comparisons that have both a vote and a verdict. "
    "On each subset the models are ranked four times. All its votes give the baseline. The others "
    "use the judge alone, a few votes alone, or those votes with verdicts on the rest. Small "
    "rank-sets that still meet the baseline's are good. Small ones that miss it are false "
    "certainty."
)
GATE = N_(
    "Both models answer the same prompts in random order and with the same luck. So their "
    "answers differ only where the models do. After each prompt two gamblers bet: one that the "
    "candidate is as good, one that it is not. Their stakes depend on earlier prompts alone. A "
    "gambler who wins twenty times the stake is wrong in at most one run of twenty (betting, "
    "alpha 0.05). You may look and stop at any time. As good means: worse by less than the margin."
)
