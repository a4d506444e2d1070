"""How the opening sentence of each tab was computed: plain words first, then the field's term."""

from __future__ import annotations

from coupled_arena.core.language import N_

BOARD = N_(
    "A win rate is how often people prefer a model, averaged over its opponents, each of which "
    "weighs the same (stratified weighting). Two models are told apart only where they differ by "
    "more than chance explains, with all pairs looked at together; what ranks that leaves a model "
    "is its rank-set. At 95% all rank-sets together hold the true ranks at every moment there has "
    "been, but for one arena in twenty (error level alpha 0.05, any-time cut-off): so one may "
    "watch, and stop when one has seen enough. Who looks but once may take the narrower max-t "
    "cut-off, which is right at a single look, and wrong sooner or later for who keeps looking. "
    "Votes on one prompt are alike, and so are votes of one person. The intervals allow for both "
    "(two-way clustered covariance): they hold for people like these voters. "
    "How many votes are missing assumes that the "
    "two models differ as much as they do now, and then tells them apart four times in five "
    "(power 0.8). All of this can be chosen otherwise below."
)
AUDIT = N_(
    "A judge who says of a model what people say lets few votes do the work of many: its verdicts "
    "stand for votes, and the votes correct them (prediction-powered inference). How much that "
    "can be is a matter of how closely the two go together (correlation of verdict and vote); the "
    "figure has it by model, the sentence the middle model (median). Its bounds are the middle "
    "ones of the models' intervals, each of which misses one time in twenty (error level alpha "
    "0.05)."
)
COUPLING = N_(
    "Both models answer each prompt several times, with the same luck and each with its own. With "
    "the same luck their scores rise and fall together (covariance), so that their difference "
    "varies less, and fewer answers do. What is saved is one less the ratio of the two variances. "
    "Answers to one prompt are alike, so the interval goes by what each prompt adds to both "
    "variances; it misses one time in twenty (error level alpha 0.05)."
)
RISK = N_(
    "A model fails less badly than another where its worst replies are better on average, however "
    "many of the worst one looks at (second-order stochastic dominance). That is tested for every "
    "pair of models, on prompts that are drawn again and again (bootstrap), and the error level "
    "alpha holds for all pairs together (Bonferroni). Several metrics become one score by a "
    "model's place in each (portfolio, joined by a copula). All of this can be chosen otherwise "
    "below."
)
EXPERIMENTS = N_(
    "Random subsets of the comparisons that have both a vote and a verdict. On each subset the "
    "models are ranked four times: by all its votes (the baseline), by the judge alone, by a few "
    "votes alone, and by those few votes with the judge's verdicts on the rest. Small rank-sets "
    "that still meet the baseline's are good; small ones that miss it are false certainty."
)
