"""The glossary: what each term means, in one sentence.

The page explains a term wherever it stands in a heading, a label or a sentence; `docs/glossary.md`
is made from here, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from coupled_arena.core.language import N_, _


@dataclass(frozen=True)
class Term:
    """A term and its meaning.

    Attributes
    ----------
    name : str
        Its key, for scripts.
    title : str
        As it is said alone.
    forms : str
        What is taken for the term on a page, separated by bars; an asterisk stands for any ending.
    meaning : str
    inline : bool
        Whether sentences explain it, too, and not headings and labels alone: an everyday word may
        stand there without being the term.
    """

    name: str
    title: str
    forms: str
    meaning: str
    inline: bool = True


GLOSSARY: tuple[Term, ...] = (
    Term(
        "coupled",
        N_("coupled"),
        N_("coupled*"),
        N_("Both models draw their words with the same random numbers, so answers differ less."),
    ),
    Term(
        "independent",
        N_("independent"),
        N_("independent*"),
        N_("Each model draws its words with random numbers of its own, as usual."),
    ),
    Term(
        "random-numbers",
        N_("random numbers"),
        N_("random numbers"),
        N_(
            "They choose each word of an answer: coupled models share them, independent ones do "
            "not."
        ),
        inline=False,
    ),
    Term(
        "win-rate",
        N_("win rate"),
        N_("win rate*|win-rate*"),
        N_("How often people prefer a model, averaged over its opponents; a tie is half a win."),
    ),
    Term(
        "rank-set",
        N_("rank-set"),
        N_("rank-set*|ranks still possible|possible ranks"),
        N_("The ranks that a model may truly have: the votes so far rule out all others."),
    ),
    Term(
        "any-time",
        N_("any-time"),
        N_("any-time|however often you look"),
        N_("It holds at every moment together, so you may look often and stop when you like."),
    ),
    Term(
        "max-t",
        N_("max-t"),
        N_("max-t"),
        N_("A cut-off for one look at all pairs together; looking again makes it wrong."),
    ),
    Term(
        "cut-off",
        N_("cut-off"),
        N_("cut-off*"),
        N_("How many standard errors two models must be apart to count as different."),
        inline=False,
    ),
    Term(
        "alpha",
        N_("error level alpha"),
        N_("error level alpha|error level"),
        N_("How often a statement of this kind may be wrong: 0.05 is once in twenty."),
    ),
    Term(
        "interval",
        N_("interval"),
        N_("interval"),
        N_("The values that are compatible with the data; it is wrong as often as alpha says."),
        inline=False,
    ),
    Term(
        "power",
        N_("power"),
        N_("power|probability to separate"),
        N_("How probable it is that so many votes show a difference that is really there."),
        inline=False,
    ),
    Term(
        "margin",
        N_("margin"),
        N_("margin"),
        N_("How much worse a model may be and still count as good as the other."),
        inline=False,
    ),
    Term(
        "betting",
        N_("betting"),
        N_("betting"),
        N_("A test by stakes that grow only if a claim is wrong, so it is right at any time."),
    ),
    Term(
        "lambda",
        N_("λ, the weight of the judge"),
        N_("λ|weights of the judge"),
        N_("How much a judge's verdicts count beside votes: 0 ignores them, 1 takes them fully."),
    ),
    Term(
        "rho",
        N_("ρ², the correlation squared"),
        N_("ρ²|correlation"),
        N_("How closely verdicts and votes go together: 0 not at all, 1 perfectly."),
    ),
    Term(
        "prediction-powered",
        N_("prediction-powered"),
        N_("prediction-powered inference|prediction-powered"),
        N_("Verdicts of a judge stand in for votes, and the votes correct its mistakes."),
    ),
    Term(
        "bias",
        N_("bias of the judge"),
        N_("bias"),
        N_("How much more, or less, the judge favours a model than people do."),
        inline=False,
    ),
    Term(
        "balanced-agreement",
        N_("balanced agreement"),
        N_("balanced agreement*|balanced"),
        N_("How often judge and people agree, with won and lost comparisons weighing the same."),
        inline=False,
    ),
    Term(
        "vote-worth",
        N_("worth of a vote"),
        N_("vote worth now"),
        N_("How many votes without a judge one vote with its verdicts replaces."),
        inline=False,
    ),
    Term(
        "krippendorff",
        N_("Krippendorff's alpha"),
        N_("Krippendorff's alpha"),
        N_("How far people agree beyond chance: 0 is chance, 1 is always."),
    ),
    Term(
        "stratified",
        N_("stratified weighting"),
        N_("stratified weighting|weighting"),
        N_("Each opponent counts the same, however many votes a pair has."),
    ),
    Term(
        "clustered",
        N_("clustered covariance"),
        N_("two-way clustered covariance|clustered covariance"),
        N_("Votes on one prompt, or of one person, are alike; the errors allow for that."),
    ),
    Term(
        "style",
        N_("style held fixed"),
        N_("style held fixed|held fixed|equal style"),
        N_("What a score would be if all replies were equally long and formatted."),
        inline=False,
    ),
    Term(
        "bradley-terry",
        N_("Bradley-Terry"),
        N_("Bradley-Terry"),
        N_("A model of votes in which each answerer has one strength."),
    ),
    Term(
        "savings",
        N_("samples saved"),
        N_("samples saved|savings"),
        N_("The share of answers that coupling makes unnecessary for the same certainty."),
        inline=False,
    ),
    Term(
        "covariance",
        N_("covariance"),
        N_("covariance"),
        N_("How far the scores of two models rise and fall together on the same prompts."),
    ),
    Term(
        "tail",
        N_("tail"),
        N_("share of the worst: the tail|tail"),
        N_("The worst replies of a model, such as the worst tenth."),
        inline=False,
    ),
    Term(
        "violation",
        N_("violation ratio"),
        N_("violation ratio*|violation"),
        N_("How far a model is from being less risky than another: 0 is clearly, 1 the opposite."),
        inline=False,
    ),
    Term(
        "dominance",
        N_("stochastic dominance"),
        N_("second-order stochastic dominance"),
        N_("A model's worst replies are better on average, for every share of worst replies."),
    ),
    Term(
        "portfolio",
        N_("portfolio"),
        N_("portfolio"),
        N_("Several metrics as one score, by a model's place in each of them."),
        inline=False,
    ),
    Term(
        "copula",
        N_("copula"),
        N_("copula"),
        N_("How the places of a model in several metrics depend on each other."),
    ),
    Term(
        "bootstrap",
        N_("bootstrap"),
        N_("bootstrap"),
        N_("Prompts are drawn again with repetition, to see how far results vary by chance."),
    ),
    Term(
        "bonferroni",
        N_("Bonferroni"),
        N_("Bonferroni"),
        N_("The error level is shared between all pairs, so that it holds for them together."),
    ),
)


def glossary() -> list[dict[str, str | bool]]:
    """Return the terms in the language in force, as scripts take them."""
    return [
        {
            "name": term.name,
            "title": _(term.title),
            "forms": _(term.forms),
            "meaning": _(term.meaning),
            "inline": term.inline,
        }
        for term in GLOSSARY
    ]
