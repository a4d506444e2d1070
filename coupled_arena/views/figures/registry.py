"""Every figure of a result: its one name, its title, and how to read it.

`ca.plot`, tabs, reports, saved files and the data dictionary have the names from here. What draws
a figure stands in `drawing.py`; nothing here knows any result, or plotly.
"""

from __future__ import annotations

from dataclasses import dataclass

from coupled_arena.core.language import N_


@dataclass(frozen=True)
class Figure:
    """A figure of a kind of result.

    Attributes
    ----------
    result : str
        The function and command that make such results.
    name : str
        Unique among the figures of these results.
    title, reading : str
        Its usual title, and how to read it; both marked for translation.
    former : str
        A name until 0.3, which `ca.plot` still takes.
    """

    result: str
    name: str
    title: str
    reading: str
    former: str = ""

    @property
    def slug(self) -> str:
        """Its name in ids of the page and names of files."""
        return self.name.replace("_", "-")

    @property
    def file(self) -> str:
        """Name of a file that a visitor saves, without its ending."""
        return f"{self.result}-{self.slug}"


RANK_SETS = Figure(
    "leaderboard",
    "rank_sets",
    N_("Ranks still possible"),
    N_(
        "A dot is the model's rank by the estimates. The bar shows all ranks that the votes leave "
        "possible. All bars together cover the true ranks with probability 1 minus alpha. If the "
        "figure says “each model alone”, each bar does so only for its own model. Models with "
        "overlapping bars may be in either order. More votes, or a larger alpha, make bars shorter."
    ),
)
WIN_RATES = Figure(
    "leaderboard",
    "win_rates",
    N_("Win rates"),
    N_(
        "How often people prefer the model, averaged over its opponents. A tie is half a win for "
        "both, unless a win for neither was chosen. Both bad counts as a tie. Each interval is for "
        "one model alone. Rank-sets, not intervals, show which models differ."
    ),
)
PAIRS = Figure(
    "leaderboard",
    "pairs",
    N_("Win rates by pair"),
    N_(
        "How often the model of the row beat the model of the column. The colour follows the "
        "number: it is neutral at one half. A dash means that the two never met."
    ),
    former="head_to_head",
)
BOARD_MEMORY = Figure(
    "leaderboard",
    "memory",
    N_("Quality against memory"),
    N_(
        "How often people prefer each model, and how much memory its weights take. Good and small "
        "is the upper left. A model is pale if another one takes no more memory and is surely "
        "better. The line joins models that are surely better than every other one that takes no "
        "more memory. Surely means that neither rank-sets nor intervals overlap."
    ),
)
RANK_SET_SIZES = Figure(
    "leaderboard",
    "rank_set_sizes",
    N_("Size of rank-sets"),
    N_(
        "How many ranks each model may still have, by people's votes alone and with a judge. The "
        "judge's verdicts are corrected by those votes. A shorter bar is a sharper ranking."
    ),
)
MODES = Figure(
    "leaderboard",
    "modes",
    N_("Win rates by mode"),
    N_(
        "Coupled models read one noise stream; independent models each read their own. Stars show "
        "how surely the two win rates differ by more than chance. Then the independent win rate is "
        "partly luck of the draw. Averages are over the opponents that a model met in both modes."
    ),
)
MODE_PAIRS = Figure(
    "leaderboard",
    "mode_pairs",
    N_("Pairs by mode"),
    N_(
        "How often the row beat the column in coupled and in independent battles. The stars come "
        "from a two-sided test that respects shared prompts. Here a tie is a win for neither: both "
        "numbers fall if coupling makes more ties."
    ),
)
STYLE_EFFECTS = Figure(
    "leaderboard",
    "style_effects",
    N_("What style does"),
    N_(
        "How often a reply wins if it has one standard deviation more of a trait than the other "
        "reply. The models are equally strong, and the other traits are equal; a tie is half a "
        "win. At 50 % the trait makes no difference. Differences are relative to both replies "
        "together: 20 and 40 words differ as 200 and 400 do. Ranks with style held fixed hold for "
        "all models together, at one look. Longer replies may also say more. What people like in "
        "them for that reason is held fixed, too."
    ),
    former="style",
)
BIAS = Figure(
    "audit",
    "bias",
    N_("Bias of the judge"),
    N_(
        "How much more often the judge prefers a model than people do, on the same comparisons. "
        "If an interval misses zero, luck does not explain the bias. Biases larger than half the "
        "distance between two models can reverse their order."
    ),
)
EFFICIENCY = Figure(
    "audit",
    "efficiency",
    N_("What 10 human votes tell with the judge"),
    N_(
        "With the judge's verdicts, ten human votes tell as much as this number without them. The "
        "ring uses the verdicts that exist on comparisons without a vote. The dot assumes "
        "unlimited verdicts. For some models the judge agrees with people no more often than "
        "people prefer the model. Their dot cannot pass a dotted line at 20, however good the "
        "method."
    ),
)
AGREEMENT = Figure(
    "audit",
    "agreement",
    N_("Agreement"),
    N_(
        "Agreement is how often judge and people say the same of a model. If a model nearly always "
        "loses, a judge that always says so agrees, and helps nobody. Balanced agreement is the "
        "mean over the model's wins and its other comparisons. Any kind of guessing gives one half."
    ),
)
JUDGE_WIN_RATES = Figure(
    "audit",
    "win_rates",
    N_("Win rates with the judge"),
    N_(
        "How often people prefer the model; each comparison has the same weight. One bar uses "
        "people's votes alone. The other is corrected by verdicts on comparisons that nobody voted "
        "on. Each interval is for one model alone. A shorter bar is the benefit of the judge. The "
        "leaderboard gives opponents equal weight instead, so its win rates may differ."
    ),
)
SAVINGS = Figure(
    "coupling",
    "savings",
    N_("Samples saved by coupling"),
    N_(
        "The share of samples that coupling makes needless for the same error of the difference. "
        "It is one minus the ratio of variances, coupled over independent. The interval is "
        "clustered by prompt, because answers to one prompt are alike."
    ),
)
VARIANCE = Figure(
    "coupling",
    "variance",
    N_("Variance of the difference"),
    N_(
        "Each prompt was answered several times. The figure shows how much the difference of the "
        "two scores varies from one time to the next. The further left, the fewer samples are "
        "needed."
    ),
)
COVARIANCE = Figure(
    "coupling",
    "covariance",
    N_("Covariance under coupling"),
    N_(
        "Above zero, the two models are right and wrong together on a prompt. The reason is that "
        "they draw from the same noise. The mean is half of what coupling takes off the variance."
    ),
)
CURVES = Figure(
    "coupling",
    "curves",
    N_("Error by number of samples"),
    N_(
        "Random parts of the answers miss the difference that all of them give. The lower line "
        "needs fewer samples for the same error: go across from one line to the other."
    ),
    former="error",
)
SURVIVAL = Figure(
    "closeness",
    "survival",
    N_("Answers still the same"),
    N_(
        "The share of answers in which two models are expected to have written the same tokens so "
        "far. It follows from both laws along the answers. No coupling can lie above the highest "
        "line. The lowest line is what independent noise leaves."
    ),
)
POSITIONS_IN_ANSWER = Figure(
    "closeness",
    "positions",
    N_("The same token, by position"),
    N_(
        "How often two models draw the same token after the same beginning, by its place in the "
        "answer. The stroke is the best that any coupling could do: 1 less the total variation. "
        "Intervals are clustered by prompt."
    ),
)
KINDS = Figure(
    "closeness",
    "kinds",
    N_("The same token, by kind"),
    N_(
        "How often two models draw the same token, by the kind of the token that the answer has "
        "there. The stroke is the best that any coupling could do. Intervals are clustered by "
        "prompt."
    ),
)
QUANTILES = Figure(
    "risk",
    "quantiles",
    N_("Quantiles"),
    N_(
        "How low the worst replies of each model go. Half of the replies score less than the curve "
        "at 50 %. A model dominates in the first order if its curve is nowhere lower. Then "
        "everybody prefers it. Curves that cross leave this open."
    ),
)
TAILS = Figure(
    "risk",
    "tails",
    N_("How bad the worst replies are"),
    N_(
        "The mean of each model's worst replies (tail value at risk). At 5 % these are the worst "
        "twentieth, at 100 % all replies. A model dominates in the second order if its curve is "
        "nowhere lower. Everybody who fears bad replies prefers it, however much."
    ),
)
FIRST_ORDER = Figure(
    "risk",
    "first_order",
    N_("Dominance, first order"),
    N_(
        "The same in the first order, which asks for more. The row must be better at every "
        "quantile, not only on average up to each quantile."
    ),
)
SECOND_ORDER = Figure(
    "risk",
    "second_order",
    N_("Dominance, second order"),
    N_(
        "How far the row is from dominating the column in the second order. At 0 the row "
        "dominates; at 100 the column does. Bold means that the row ranks ahead of the column, "
        "tested for all pairs together. The test is a bootstrap over prompts."
    ),
)
MEAN_RISK = Figure(
    "risk",
    "mean_risk",
    N_("Mean minus risk"),
    N_(
        "The mean of a model's scores minus its risk, for five kinds of risk. Each axis runs from "
        "the worst model to the best. Four of the risks never contradict dominance in the second "
        "order. The standard deviation may, because it counts good surprises as risk, too."
    ),
)
GATE_CLOSING = Figure(
    "gate",
    "closing",
    N_("The interval closes"),
    N_(
        "How much better or worse the candidate is, prompt by prompt, and where the true "
        "difference may lie. It is as good once the whole band is above the margin. It is worse "
        "once the whole band is below. The band holds at every moment, so you may stop at any."
    ),
)
GATE_CANDIDATES = Figure(
    "gate",
    "candidates",
    N_("Candidates against the base"),
    N_(
        "The difference of each candidate from the base. A candidate is as good if its whole "
        "interval is above the margin, and better if it is above zero."
    ),
)
GATE_FLIPS = Figure(
    "gate",
    "flips",
    N_("Where the two differ"),
    N_(
        "On how many prompts the candidate is worse than the base, and on how many it is better. "
        "The numbers are the differences, with intervals for all categories together. Coupled "
        "equal models never differ; after two answers have parted, a flip is partly luck."
    ),
)
GATE_COSTS = Figure(
    "gate",
    "costs",
    N_("Quality against cost"),
    N_(
        "How good each model is, and how much memory its weights take. Good and small is the upper "
        "left. A model is pale if another one takes no more memory and is better, with intervals "
        "that do not meet."
    ),
)
SIZE_AGAINST_INTERSECTION = Figure(
    "resample",
    "size_against_intersection",
    N_("Narrow and right: lower right"),
    N_(
        "Each dot is an error level. Dots further right agree with the rank-sets of all votes more "
        "often; lower dots are narrower. Good methods lie to the lower right."
    ),
)
SIZE_AGAINST_COVERAGE = Figure(
    "resample",
    "size_against_coverage",
    N_("Narrow and right: lower right"),
    N_(
        "Each dot is an error level. Dots further right contain the rank-sets of all votes more "
        "often; lower dots are narrower. Good methods lie to the lower right."
    ),
)
BY_NUMBER_OF_VOTES = Figure(
    "resample",
    "by_number_of_votes",
    N_("Narrow and right: lower right"),
    N_(
        "The same for few votes with the judge, with a line for each number of votes. It shows "
        "what more votes would bring."
    ),
)
POSITIONS = Figure(
    "resample",
    "positions",
    N_("Which positions are in the rank-sets"),
    N_(
        "How often a model's rank-set has each position: the larger the dot, the more often. A "
        "column with dots elsewhere than the baseline's is wrong, however narrow."
    ),
)
DRAWN_RANK_SETS = Figure(
    "resample",
    "rank_sets",
    N_("How often each model got which ranks"),
    N_(
        "How often each model got which rank-set. Tall bars are stable rank-sets. Bars of other "
        "colours in other places disagree with all votes together."
    ),
)
FIGURES = (
    *(RANK_SETS, WIN_RATES, BOARD_MEMORY, PAIRS, RANK_SET_SIZES, MODES, MODE_PAIRS, STYLE_EFFECTS),
    *(BIAS, EFFICIENCY, AGREEMENT, JUDGE_WIN_RATES),
    *(SAVINGS, VARIANCE, COVARIANCE, CURVES),
    *(SURVIVAL, POSITIONS_IN_ANSWER, KINDS),
    *(QUANTILES, TAILS, FIRST_ORDER, SECOND_ORDER, MEAN_RISK),
    *(GATE_CLOSING, GATE_CANDIDATES, GATE_FLIPS, GATE_COSTS),
    *(SIZE_AGAINST_INTERSECTION, SIZE_AGAINST_COVERAGE, BY_NUMBER_OF_VOTES),
    *(POSITIONS, DRAWN_RANK_SETS),
)
"""All there are; the first one of a result is the one that `ca.plot` draws if none is named."""


def figures_of(result: str) -> tuple[Figure, ...]:
    """Return the figures of a kind of result."""
    return tuple(each for each in FIGURES if each.result == result)
