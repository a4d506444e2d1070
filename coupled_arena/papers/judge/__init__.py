"""What a judge is worth beside the truth: Dorner, Nastl, Hardt, "Limits to scalable evaluation"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from coupled_arena.analysis.audit.chosen import majority_store
from coupled_arena.analysis.audit.result import Audit, audit
from coupled_arena.analysis.audit.verdicts import read_audit_estimates
from coupled_arena.analysis.rewordings import pooled_words
from coupled_arena.core.choices import Ties, Voters
from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.item import Item, KnownNames, Made, Needs, Paper, same
from coupled_arena.papers.judge.answers import (
    ALPHA,
    JudgeRanking,
    answer_audits,
    better_models,
    drawn_answers,
    erring_judge,
    has_answers,
    ranking,
    strictly_better,
)
from coupled_arena.papers.judge.figures import (
    judge_ranks,
    judge_worths,
    ranking_figure,
    worth_figure,
)
from coupled_arena.papers.source import PaperSource, pooled_notes
from coupled_arena.stats.judges.samples import GradedAnswers
from coupled_arena.store.queries import comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.views.levels import level
from coupled_arena.views.words.audit import key_words

_STEP = 0.02  # by which each made-up model is right more often than the one before
_BETTER = 5  # made-up models
_TOP = 10
_CHOICES = 4  # of MMLU
_PROMPTS = 14_042  # MMLU's test set
_ACCURACY = 0.84  # of the paper's judge GPT-4
_ERRING = 0.60
_DRAWN = tuple(0.68 + _STEP * place for place in range(_TOP))  # accuracies of models that are drawn
_MT_BENCH = KnownNames(
    {
        "alpaca-13b": (),
        "claude-v1": (),
        "gpt-3.5-turbo": (),
        "gpt-4": (),
        "llama-13b": (),
        "vicuna-13b-v1.2": ("vicuna-13b",),
    }
)
_GPT_4 = ("gpt-4", "gpt-4-0613", "gpt-4-1106-preview")
_LLAMA = ("LLama3-70B", "llama-3-70b", "Meta-Llama-3-70B", "Meta-Llama-3-70B-Instruct")
_SIMULATED = (
    "Simulated: there are no answers to a benchmark here. With --scores, or a store that "
    "`benchmark` filled, it is made from those."
)

CORRELATION = "rank correlation of judge and truth"
JUDGE_RIGHT = "share of prompts that the judge answers right"
ABOVE = "models worth more than two labels"
ABOVE_AT_FRONTIER = "the same with a judge that agrees no more often than the model is right"
AGREES = "judge and people agree, ties dropped"
BEST_ABOVE = "best model is worth more than two labels with probabilities"


def better_models_ranked(source: PaperSource) -> Made:
    """Return how a judge ranks a model and others that are strictly better (figure 1a)."""
    rng = np.random.default_rng(source.settings.seed)
    if not has_answers(source):
        steps = [_STEP * place for place in range(1, _BETTER + 2)]
        prompts = source.settings.sizes[0] if source.settings.sizes else _PROMPTS
        answers = strictly_better(_ACCURACY, steps, prompts, rng)
        found = ranking("judge", answers)
        return _ranked([found], "Strictly better models", [_SIMULATED], found)
    rankings: list[JudgeRanking] = []
    audits = answer_audits(source)
    for each in audits:
        answers = _answers_of(each)
        if answers.judge_knows is None:
            raise ArenaError(
                f"{each.judge} grades answers and gives none itself: whether it would know a "
                "replaced answer is unknown. Name models with --key-from, or give a table with a "
                "column answer."
            )
        best = answers.models.index(each.models[0].model)
        n = each.models[0].n
        steps = [max(_STEP, 1 / n) * place for place in range(1, _BETTER + 1)]
        better = better_models(answers, best, steps, rng)
        rankings.append(ranking(each.judge, better))
    stated = _as_stated(audits, rankings, _GPT_4)
    return _ranked(rankings, "Strictly better models", _pooled(audits), stated)


def best_models_ranked(source: PaperSource) -> Made:
    """Return how a judge ranks the best models (figure 1b)."""
    audits = answer_audits(source)
    rankings = [ranking(each.judge, _answers_of(each), _TOP) for each in audits]
    stated = _as_stated(audits, rankings, _LLAMA)
    return _ranked(rankings, "The best models", _pooled(audits), stated)


def erring_judge_ranked(source: PaperSource) -> Made:
    """Return how a judge ranks models that is wrong at random, whoever answers (figure 5)."""
    rng = np.random.default_rng(source.settings.seed)
    if has_answers(source):
        first = answer_audits(source)[0]
        answers = _answers_of(first)
        best = answers.models.index(first.models[0].model)
        note = f"Of these models, what {first.judge} says of them does not matter."
        notes, stated = [*_pooled([first]), note], _on_mmlu(first)
    else:
        stated = True
        prompts = source.settings.sizes[0] if source.settings.sizes else _PROMPTS
        answers, notes = drawn_answers(_DRAWN, prompts, rng), [_SIMULATED]
        best = len(_DRAWN) - 1
    judged = erring_judge(answers, _ERRING, _CHOICES, rng)
    name = "a judge with random errors"
    n = int((judged.known & (judged.model == best)).sum())
    steps = [max(_STEP, 1 / n) * place for place in range(1, _BETTER + 1)]
    panels = {
        "strictly better models": ranking(name, better_models(judged, best, steps, rng)),
        "best models": ranking(name, judged, _TOP),
    }
    return Made(
        tables={panel: judge_ranks([each]) for panel, each in panels.items()},
        figures={
            panel: ranking_figure(each, f"Ranks with random errors: {panel}")
            for panel, each in panels.items()
        },
        values=_rank_values(panels["best models"]) if stated else {},
        notes=(*notes, *(_correlation(panel, each) for panel, each in panels.items())),
    )


def answers_worth(source: PaperSource) -> Made:
    """Return what one checked answer is worth with each judge, by model (figure 2)."""
    audits = answer_audits(source)
    stated = all(map(_on_mmlu, audits))
    return _worth(audits, "Worth of one checked answer, at most", stated=stated)


def soft_answers_worth(source: PaperSource) -> Made:
    """Return the same with the judge's probabilities beside its verdicts (figure 4)."""
    audits = [each for each in answer_audits(source) if each.by_probability]
    if not audits:
        raise ArenaError(
            "No judge told probabilities: take a server that does, a table with a column "
            "probability, or, with --key-from, several answers of the judge to each prompt."
        )
    title, stated = (
        "Worth of one checked answer, by verdict and by probability",
        all(map(_on_mmlu, audits)),
    )
    made = _worth(audits, title, soft=True, stated=stated)
    above = sum(each.by_probability[0].tau_max > 2 for each in audits)
    values = {**made.values, BEST_ABOVE: above} if stated else {}
    return Made(made.tables, made.figures, values, made.notes)


def votes_worth(source: PaperSource) -> Made:
    """Return how many votes one vote is worth with each judge, at most, by model (figure 3)."""
    chosen = source.settings
    with source.store.cursor() as cursor:
        known = comparisons.judges(cursor)
    if not known:
        raise ArenaError("No judge has a verdict here: give --verdicts NAME=FILE, or run `judge`.")
    judges = chosen.judges or known
    if silent := [judge for judge in judges if judge not in known]:
        raise ArenaError(
            f"{silent[0]} has no verdict on a battle here. Judges that have: {', '.join(known)}."
        )
    alpha = chosen.alpha[0] if chosen.alpha else ALPHA
    audits: list[Audit] = []
    for place in source.track(range(len(judges))):
        wanted = Selection(judge=judges[place], models=chosen.models, category=chosen.category)
        with majority_store(source.store, wanted) as (merged, selection):
            audits.append(
                audit(
                    read_audit_estimates(merged, selection, Ties.DROP, voters=Voters.THESE), alpha
                )
            )
    stated = len(judges) == 1 and same(judges[0], *_GPT_4)
    stated = stated and bool(_MT_BENCH.all_of(row.model for row in audits[0].models))
    made = _worth(audits, "Worth of one vote, at most", what="vote", stated=stated)
    both = sum(row.both + row.neither for row in audits[0].models)
    n = sum(row.n for row in audits[0].models)
    agreed = {AGREES: both / n} if n and stated else {}
    return Made(made.tables, made.figures, {**made.values, **agreed}, pooled_notes(source))


def _worth(
    audits: Sequence[Audit],
    title: str,
    *,
    soft: bool = False,
    what: str = "checked answer",
    stated: bool,
) -> Made:
    table = judge_worths(audits, soft=soft)
    if not table.rows:
        raise ArenaError("Nothing has both the truth and a verdict: there is nothing to draw.")
    rows = [row for each in audits for row in each.models if row.tau_max is not None]
    above = [row for row in rows if (row.tau_max or 0) > 2]
    values: dict[str, float] = {
        ABOVE: len(above),
        ABOVE_AT_FRONTIER: sum(row.at_frontier for row in above),
    }
    figure = worth_figure(table, title, level(audits[0].alpha), what)
    return Made({"judges": table}, {"judges": figure}, values if stated else {}, _pooled(audits))


def _on_mmlu(each: Audit) -> bool:
    """Tell whether a judge graded answers to as many prompts as the paper's benchmark has."""
    return len(np.unique(_answers_of(each).prompt)) == _PROMPTS


def _as_stated(
    audits: Sequence[Audit], rankings: Sequence[JudgeRanking], judge: tuple[str, ...]
) -> JudgeRanking | None:
    """Return the ranking by the paper's judge on its benchmark, if it is there."""
    of_paper = (
        found
        for each, found in zip(audits, rankings, strict=True)
        if same(found.judge, *judge) and _on_mmlu(each)
    )
    return next(of_paper, None)


def _pooled(audits: Sequence[Audit]) -> tuple[str, ...]:
    """Return what is to be said of the answers that count together, and of those left out."""
    alone = dict.fromkeys(words for each in audits for words in key_words(each))
    return (*pooled_words(max(each.estimates.reworded for each in audits)), *alone)


def _answers_of(each: Audit) -> GradedAnswers:
    answers = each.estimates.answers
    assert answers is not None, "an audit of answers has them"
    return answers


def _ranked(
    rankings: Sequence[JudgeRanking],
    title: str,
    notes: Sequence[str],
    stated: JudgeRanking | None,
) -> Made:
    figures = {each.judge: ranking_figure(each, title) for each in rankings}
    correlations = [_correlation(each.judge, each) for each in rankings]
    return Made(
        {"ranks": judge_ranks(rankings)},
        figures,
        _rank_values(stated) if stated else {},
        (*notes, *correlations),
    )


def _correlation(name: str, of: JudgeRanking) -> str:
    accuracy = "" if of.accuracy is None else f"; the judge is right on {of.accuracy:.1%}"
    if of.correlation != of.correlation:
        return f"{name}: all share one rank{accuracy}."
    return f"{name}: rank correlation with the truth {of.correlation:.3f}{accuracy}."


def _rank_values(of: JudgeRanking) -> Mapping[str, float]:
    values = {} if of.correlation != of.correlation else {CORRELATION: of.correlation}
    if of.accuracy is not None:
        values[JUDGE_RIGHT] = of.accuracy
    return values


JUDGE = Paper(
    "judge",
    "Limits to scalable evaluation at the frontier: LLM as judge won't beat twice the data",
    (
        Item(
            "figure-1a",
            "Ranks of a model and of strictly better ones by a judge that answers itself",
            Needs.GRADES_IF_ANY,
            better_models_ranked,
            {JUDGE_RIGHT: 0.84, CORRELATION: -1.0},
        ),
        Item(
            "figure-1b",
            "Ranks of the ten best models by a judge",
            Needs.GRADES,
            best_models_ranked,
            {JUDGE_RIGHT: 0.79},
        ),
        Item(
            "figure-2",
            "Checked answers that one is worth at most, by judge and model",
            Needs.GRADES,
            answers_worth,
            {ABOVE_AT_FRONTIER: 0},
        ),
        Item(
            "figure-3",
            "Votes that one vote is worth at most, by model, with judges of pairwise battles",
            Needs.VERDICTS,
            votes_worth,
            {ABOVE: 0, AGREES: 0.85},
        ),
        Item(
            "figure-4",
            "The same as figure 2 with the judge's probabilities beside its verdicts",
            Needs.GRADES,
            soft_answers_worth,
            {BEST_ABOVE: 0},
        ),
        Item(
            "figure-5",
            "Ranks by a judge that errs at random: 60 % right, and models in their order",
            Needs.GRADES_IF_ANY,
            erring_judge_ranked,
            {JUDGE_RIGHT: 0.60},
        ),
    ),
)
