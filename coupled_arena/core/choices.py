"""The choices that analyses offer: each a list of values, once, with the words of the page.

Python, command line, page and documents take them from here. Nothing heavy is imported: a command
knows its options before it loads what computes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from coupled_arena.core.language import N_
from coupled_arena.core.records import Mode


class Choice(StrEnum):
    """One value of an option.

    Attributes
    ----------
    label : str
        What a page offers it as, marked for translation; empty where no page offers it.
    """

    label: str

    def __new__(cls, value: str, label: str = "") -> Self:
        """Make a member of its value, and of the words for it."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member


class Battles(Choice):
    """Which battles count."""

    ALL = "all", N_("All battles")
    COUPLED = "coupled", N_("Coupled")
    INDEPENDENT = "independent", N_("Independent")

    @property
    def mode(self) -> Mode | None:
        """The mode of the battles; None for all."""
        return None if self is Battles.ALL else Mode(self.value)


class Modes(Choice):
    """How models draw their noise, in a run."""

    COUPLED = "coupled"
    INDEPENDENT = "independent"
    BOTH = "both"

    @property
    def each(self) -> tuple[Mode, ...]:
        """The modes of the battles that are made."""
        return (Mode.COUPLED, Mode.INDEPENDENT) if self is Modes.BOTH else (Mode(self.value),)


class RunSampler(Choice):
    """How noise becomes a token, in a run; see `coupled_arena.core.records.Sampler`."""

    GUMBEL = "gumbel"
    INVERSE = "inverse"


class Coupling(Choice):
    """What noise is read for."""

    AUTO = "auto"  # for bytes where the models of a battle have other vocabularies
    TOKEN = "token"
    BYTES = "bytes"


class TokenKind(Choice):
    """What a token of an answer is; a token of several kinds is of the first of them."""

    LETTERS = "letters", N_("Letters")
    DIGITS = "digits", N_("Digits")
    PUNCTUATION = "punctuation", N_("Punctuation")
    WHITESPACE = "whitespace", N_("Whitespace")
    OTHER = "other", N_("Other")  # the end of the answer, control tokens, parts of characters


class ExportFormat(Choice):
    """How tables become files."""

    PARQUET = "parquet", N_("Parquet")
    JSONL = "jsonl", N_("JSON lines")
    CSV = "csv", N_("CSV")
    ARENA = "arena", N_("Chatbot Arena rows")
    FLAT = "flat", N_("Flat table, Parquet")
    FLAT_CSV = "flat-csv", N_("Flat table, CSV")


class Uncounted(Choice):
    """What becomes of votes that do not count by default."""

    LEAVE_OUT = "leave-out"
    INCLUDE = "include"


class BoardSource(Choice):
    """Whose word a board takes."""

    HUMAN = "human", N_("People")
    JUDGE = "judge", N_("Judge")
    PPR = "ppr", N_("Both together")  # prediction-powered: many verdicts, corrected by few votes


class Weighting(Choice):
    """What the mean over opponents weighs."""

    STRATIFIED = "stratified", N_("Stratified: each opponent the same")
    POSITION = "position", N_("Position: each order of answers the same")
    # Another quantity where pairs are unbalanced.
    COUNT = "count", N_("Count: each comparison the same")


class Covariance(Choice):
    """Which covariance: the one that holds, or the one of the paper."""

    CORRECTED = "corrected", N_("Corrected")
    PUBLISHED = "published", N_("As published: intervals too narrow")


class Cutoff(Choice):
    """How the cut-off c accounts for comparing all pairs at once."""

    # The quantile of the largest standardised difference under N(0, covariance).
    MAX_T = "max-t", N_("Max-t: right at one look, and narrower")
    STEP_DOWN = "step-down", N_("Step-down: as max-t, narrower still")  # among unseparated pairs
    ANY_TIME = "any-time", N_("Any time: right at every look")
    BONFERRONI = "bonferroni", N_("Bonferroni")  # normal quantile at 1 - alpha / (k (k - 1))
    # The paper's: square root of the quantile with k degrees.
    CHI2 = "chi2", N_("Chi-squared, as published: very wide")


class Scope(Choice):
    """What rank-sets hold for with probability 1 - alpha."""

    JOINT = "joint", N_("For all models together")
    MARGINAL = "marginal", N_("For each model alone: narrower")  # chosen before one looks


class Voters(Choice):
    """Whom a board speaks for."""

    LIKE = "like", N_("People like these voters")  # who have tastes of their own
    THESE = "these", N_("Exactly these voters: narrower")  # tastes are part of what is asked


class TieScore(Choice):
    """What a tie, or "both bad", counts for in a win rate."""

    # No coupling moves it where answers are right or wrong: P(x > y) + P(x = y) / 2 is 1/2 plus
    # half the difference of the two means. Its mean over the models is one half.
    HALF = "half", N_("Half a win for both")
    LOSS = "loss", N_("A win for neither")  # the papers' win rate: the probability to be preferred

    @classmethod
    def of(cls, chosen: TieScore | None, covariance: Covariance) -> TieScore:
        """Return what a tie counts for: what was chosen, or the usual beside a covariance."""
        return chosen or (cls.LOSS if covariance is Covariance.PUBLISHED else cls.HALF)


class Ties(Choice):
    """What becomes of a comparison that people or the judge call a tie."""

    LOSS = "loss", N_("Ties as losses")  # it is kept: a win for neither model
    DROP = "drop", N_("Ties left out")


class Truth(Choice):
    """What a judge is held against."""

    VOTES = "votes", N_("People's votes")  # which of two answers people prefer
    BENCHMARK = "benchmark", N_("A benchmark's right answers")


class JudgeScore(Choice):
    """What statistics take of a judge for how it scores a model."""

    VERDICT = "verdict"  # 1 where it prefers the model, else 0
    PROBABILITY = "probability"  # how likely it was to: its expected verdict


class Flips(Choice):
    """What a judge says that does not say the same in both orders."""

    TIE = "tie"
    ABSTAIN = "abstain"  # nothing: the votes on the battle count without it


class Control(Choice):
    """What is held fixed of replies, see `coupled_arena.core.choices.held_traits`."""

    NONE = "none", N_("Nothing")
    LENGTH = "length", N_("Length")
    STYLE = "style", N_("Length and Markdown")


class Copula(Choice):
    """How metrics become a portfolio."""

    INDEPENDENT = "independent", N_("Independent copula")
    EMPIRICAL = "empirical", N_("Empirical copula")
    NONE = "none"  # they do not: each is ranked by itself


class PValues(Choice):
    """How p-values come from the bootstrap.

    SWAP : as percentile, but where that is at most alpha no lower than `swap_p_values`.
    PERCENTILE : (1 + samples that contradict) / (B + 1); rejects too often on few prompts with
        heavy tails.
    APPROXIMATE : normal law with the bootstrap's standard deviation; rejects too often where
        models are nearly equal.
    PUBLISHED : as the paper prints it, to reproduce it and for nothing else.
    """

    SWAP = "swap"
    PERCENTILE = "percentile"
    APPROXIMATE = "approximate"
    PUBLISHED = "published"


class Correction(Choice):
    """How p-values of all pairs of k models are corrected for being many.

    BONFERRONI : times k², as in the paper; all wins are right with probability 1 - alpha.
    HOLM : the same promise by Holm's steps over the k (k - 1) tests.
    FDR : Benjamini and Yekutieli: a share alpha of the wins may be wrong.
    NONE : each test by itself.
    """

    BONFERRONI = "bonferroni"
    HOLM = "holm"
    FDR = "fdr"
    NONE = "none"


class Distance(Choice):
    """Distance of two rankings; ranks that are tied are their mean.

    KENDALL : pairs in opposite order; a tied pair counts half.
    SPEARMAN : sum of |difference of ranks| (the footrule).
    PEARSON : 1 - correlation of the ranks; 1 from a ranking that ties everything.
    """

    KENDALL = "kendall"
    SPEARMAN = "spearman"
    PEARSON = "pearson"


class Design(Choice):
    """Who meets whom, and what comparisons share."""

    BALANCED = "balanced"  # every ordered pair as often as every other
    RANDOM = "random"  # a pair at random for each comparison
    UNBALANCED = "unbalanced"  # likewise, but the strongest nine times as often as the weakest
    CLUSTERED = "clustered"  # ten rankings of four models to a prompt, which favours some of them
    VOTERS = "voters"  # several votes on each battle of two, whose prompt favours one of them


class Look(Choice):
    """How often one looks at what a gate says."""

    ALWAYS = "always", N_("After every prompt")  # exact at any time, by betting
    ONCE = "once", N_("Once, at the end")  # the fixed-sample test


class Measure(Choice):
    """What says how good a model is."""

    SCORES = "scores", N_("Scores of a benchmark")
    GRADES = "grades", N_("A judge's grades")  # right or wrong, answer by answer
    VOTES = "votes", N_("Votes on pairs of answers")


class Reveals(Choice):
    """When people who vote on stored battles are told names, and see boards and battles."""

    END = "end"  # once their share is done
    EACH = "each"  # after each vote, as in rounds of the battle tab
    NEVER = "never"


class Pairing(Choice):
    """How the models of a battle are chosen."""

    UNIFORM = "uniform"  # all alike
    FIRST = "first"  # more often those whose votes are to settle which model is best
    PLACES = "places"  # more often those whose votes are to settle any model's place


class Trait(StrEnum):
    """What is counted of a reply; the values are columns of the table ``reply_styles``."""

    LENGTH = "characters"
    HEADERS = "headers"
    BOLD = "bold"
    LISTS = "lists"


def held_traits(control: Control) -> tuple[Trait, ...]:
    """Return the traits that are held fixed."""
    return {
        Control.NONE: (),
        Control.LENGTH: (Trait.LENGTH,),
        Control.STYLE: tuple(Trait),
    }[control]
