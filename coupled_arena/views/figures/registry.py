"""How to read each figure."""

from __future__ import annotations

from coupled_arena.core.language import N_

BOARD = {
    "ranks": N_(
        "A dot is the model's rank by the estimates, the bar all ranks that the votes leave "
        "possible. With probability 1 minus alpha all bars together cover the true ranks; where "
        "they are marked so, each bar that of its model alone. Models "
        "whose bars overlap may be in either order. More votes, or a larger alpha, make bars "
        "shorter."
    ),
    "rates": N_(
        "How often the model is preferred, averaged over its opponents. A tie is a win for "
        "neither side, unless half a win was chosen, and both bad is a tie, so two equal models "
        "that tie often both have a low win rate. Each interval is for one model by itself: "
        "rank-sets, not intervals, say which models differ."
    ),
    "pairs": N_(
        "How often the model of the row beat the model of the column. The colour counts ties "
        "half: it is neutral where two models are even. A dash: the two never met."
    ),
    "sizes": N_(
        "How many ranks each model may still have: by people's votes alone, and with a judge's "
        "many verdicts corrected by those votes. A shorter bar is a sharper ranking."
    ),
    "modes": N_(
        "Coupled models read one noise stream, independent ones each their own. Where the two win "
        "rates differ by more than chance, stars say how surely: luck of the draw was part of the "
        "independent one. Averages are over the opponents that a model met in both."
    ),
    "mode_pairs": N_(
        "How often the row beat the column in coupled and in independent battles, with the stars "
        "of a two-sided test that respects shared prompts. Both numbers fall where coupling makes "
        "more ties."
    ),
    "style": N_(
        "How often a reply wins that has a standard deviation more of this than the other, where "
        "the models are equally strong and the rest is the same; a tie is half a win. At 50 % it "
        "makes no difference. Differences are taken relative to both replies together, so that 20 "
        "and 40 words differ as 200 and 400 do. Ranks with style held fixed hold for all models "
        "together, at one look. Longer replies may also say more: what people like in them for "
        "that reason is held fixed, too."
    ),
}
AUDIT = {
    "bias": N_(
        "How much more often the judge prefers a model than people do, on the same comparisons. "
        "An interval that misses zero is a bias that luck does not explain. Biases larger than "
        "half the distance between models can turn their order around."
    ),
    "efficiency": N_(
        "What ten human votes with the judge's verdicts are worth, in votes without it. The ring: "
        "with the verdicts there are now on comparisons that nobody voted on. The dot: with "
        "unlimited verdicts. Where the judge agrees with people no more often than people "
        "prefer the model, the dot cannot pass the dotted line, however good the method."
    ),
    "agreement": N_(
        "Agreement is how often judge and people say the same of a model. Where a model nearly "
        "always loses, always saying so agrees, and helps nobody. Balanced agreement is the mean "
        "over the model's wins and its other comparisons: guessing has one half, however it "
        "guesses."
    ),
    "powered": N_(
        "How often people prefer the model, each comparison weighing the same, with intervals for "
        "one model by itself: by their votes alone, and corrected by the verdicts on comparisons "
        "that nobody voted on. A shorter bar is what the judge brings. The leaderboard weighs "
        "opponents equally instead, so its win rates may differ."
    ),
}
COUPLING = {
    "savings": N_(
        "The share of samples that coupling makes needless for the same error of the difference: "
        "one less the ratio of its variances, coupled over independent. The interval goes by "
        "prompts, for answers to one prompt are alike."
    ),
    "curve": N_(
        "Random parts of the answers miss the difference that all of them give. The lower line "
        "needs fewer samples for the same error: go across from one to the other."
    ),
    "variance": N_(
        "Each prompt was answered several times. How much the two models' scores differ from one "
        "time to the next, prompt by prompt: the further left, the fewer samples are needed."
    ),
    "covariance": N_(
        "Above zero: on this prompt the two models are right and wrong together, since they draw "
        "from the same noise. The mean is half of what coupling takes off the variance."
    ),
}
RISK = {
    "tail": N_(
        "The mean of each model's worst replies (tail value at risk): at 5 % that of the worst "
        "twentieth, at 100 % of all. A model whose curve is nowhere lower dominates in the second "
        "order: whoever fears bad replies prefers it, however much."
    ),
    "quantiles": N_(
        "How low the worst replies of each model go: half of them score less than the curve at 50 "
        "%. A model whose curve is nowhere lower dominates in the first order, and everybody "
        "prefers it. Curves that cross leave that open."
    ),
    "order2": N_(
        "How far the row is from dominating the column in the second order: 0 means that it does, "
        "100 that the column does. Bold where the row ranks ahead of the column, tested for all "
        "pairs together by a bootstrap over prompts."
    ),
    "order1": N_(
        "The same in the first order, which asks for more: better at every quantile, not only on "
        "average up to each of them."
    ),
    "radar": N_(
        "The mean of a model's scores less its risk, for five risks; each axis goes from the "
        "worst model to the best. Four of them never contradict dominance in the second order; "
        "the standard deviation may, for it counts good surprises as risk too."
    ),
}
EXPERIMENTS = {
    "trade-off": N_(
        "A dot is an error level. To the right the rank-sets agree with those of all votes more "
        "often; lower, they are narrower. Good methods lie to the lower right."
    ),
    "votes": N_(
        "The same for few votes with the judge, a line for each number of votes: what more votes "
        "would bring."
    ),
    "positions": N_(
        "How often a model's rank-set has each position: the larger the dot, the more often. A "
        "column whose dots lie elsewhere than the baseline's is wrong, however narrow."
    ),
    "rank-sets": N_(
        "How often each model got which rank-set. Tall bars are stable rank-sets; bars of other "
        "colours in other places disagree with all votes together."
    ),
}
