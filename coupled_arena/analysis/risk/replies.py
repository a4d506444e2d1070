"""Scores of the replies in the store, as a table to rank models by.

First the numbers that a text has by itself; then as many replies of each model to each prompt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coupled_arena.analysis.rewordings import pooled_words
from coupled_arena.analysis.risk.scores import RiskScores
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.language import _, ngettext
from coupled_arena.core.sql import Cursor
from coupled_arena.stats.counts import FloatArray, IntArray
from coupled_arena.stats.risk.portfolio import verdict_scores
from coupled_arena.store.database import Store
from coupled_arena.store.queries import comparisons, replies
from coupled_arena.store.queries.benchmark_scores import reworded
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.verdict_source import judge_number
from coupled_arena.store.tables import scores

_GRAM = 4
# Scripts that put no spaces between words: a character stands for one.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")

_HEAD = 200  # characters in which a refusal must begin and speak
_LEADING = re.compile(r"[\s\"'\N{LEFT DOUBLE QUOTATION MARK}*_#>(\[-]+")
_SPELLINGS = (
    ("\N{RIGHT SINGLE QUOTATION MARK}", "'"),
    ("can't", "cannot"),
    ("can not", "cannot"),
    ("won't", "will not"),
    ("don't", "do not"),
    ("i'm ", "i am "),
    ("i'd ", "i would "),
    ("apologise", "apologize"),
)
_APOLOGIES = (
    *("sorry", "i am sorry", "i am so sorry", "i am very sorry", "i am really sorry"),
    *("i am afraid", "unfortunately", "regrettably", "i apologize", "my apologies", "i regret"),
    *("as an ai", "as an ai model", "as an ai assistant", "as an ai language model"),
    *("as a language model", "thank you for asking", "thanks for asking"),
)
_OPENINGS = (
    *("i cannot help", "i cannot assist", "i cannot answer", "i cannot provide", "i cannot do "),
    *("i cannot give", "i cannot share", "i cannot discuss", "i cannot support", "i cannot comply"),
    *("i cannot write", "i cannot create", "i cannot produce", "i cannot generate"),
    *("i cannot fulfil", "i cannot engage", "i cannot offer", "i cannot tell you"),
    *("i am unable to", "i am not able to", "i am not allowed to", "i am not permitted to"),
    *("i am not comfortable", "i do not feel comfortable", "i am not going to", "i will not "),
    *("i must decline", "i have to decline", "i need to decline", "i decline", "i must refuse"),
    *("i refuse", "i would rather not", "i would prefer not", "i prefer not to"),
)
_AFTER_APOLOGY = ("i cannot", "but i cannot", "that i cannot", "this is something i cannot")
_APOLOGY = re.compile(
    rf"(?:{'|'.join(sorted(_APOLOGIES, key=len, reverse=True))})\b[\s,.;:!*_-]*(?:but |that )?"
)


@dataclass(frozen=True)
class TextMetric:
    """A number that follows from a text.

    Attributes
    ----------
    measure : callable
        From texts to numbers.
    """

    measure: Callable[[Sequence[str]], FloatArray]
    higher_is_better: bool = False


def lengths(texts: Sequence[str]) -> FloatArray:
    """Return the number of characters.

    Characters rather than words: they exist in every script, and studies of judges that prefer
    long answers count them. Neither more nor less is better by nature. Here less is better: a
    reader pays for each character, and the worst replies are then those that ramble.
    """
    return np.array([len(text) for text in texts], dtype=np.float64)


def repetitions(texts: Sequence[str]) -> FloatArray:
    """Return the share of sequences of four words that occurred before in the same reply.

    This is seq-rep-4 of Welleck et al. (2020), Neural Text Generation with Unlikelihood Training.
    Words take the place of tokens, so that models of different vocabularies compare: 1 less
    distinct-4 (Li et al., 2016). 0 for a reply of fewer than four words. A word is a run of letters
    and digits in any case, or a single Chinese or Japanese character.
    """
    return np.array([_repetition(text) for text in texts], dtype=np.float64)


def _repetition(text: str) -> float:
    words = _WORD.findall(text.lower())
    total = len(words) - _GRAM + 1
    if total <= 1:
        return 0.0
    grams = set(zip(*(words[at:] for at in range(_GRAM)), strict=False))
    return 1.0 - len(grams) / total


def refusals(texts: Sequence[str]) -> FloatArray:
    """Return 1 for a reply that opens by declining to answer, else 0.

    The rule skips quotation marks, markup and any apologies ("Sorry, but", "As an AI model,"). The
    reply then goes on with one of a short list of English openings. Examples are "I cannot help" or
    "I am unable to"; after an apology "I cannot" is enough.

    A refusal in other words, in another language, after a preamble or later in the reply counts as
    an answer. An answer that opens like one ("I will not lie:") counts as a refusal. So the shares
    compare models on the same prompts; they are no census of refusals.
    """
    return np.array([_refuses(text) for text in texts], dtype=np.float64)


def _refuses(text: str) -> bool:
    head = text[:_HEAD].lower()
    for written, meant in _SPELLINGS:
        head = head.replace(written, meant)
    head = head[match.end() :] if (match := _LEADING.match(head)) else head
    apologized = False
    while match := _APOLOGY.match(head):
        head, apologized = head[match.end() :], True
    return head.startswith(_OPENINGS) or (apologized and head.startswith(_AFTER_APOLOGY))


METRICS: dict[str, TextMetric] = {
    "length": TextMetric(lengths),
    "repetition": TextMetric(repetitions),
    "refusal": TextMetric(refusals),
}
"""By the names that commands and pages use. Less of each comes first, better or not."""


# From replies of any number to a table in which each model has as many to each prompt.

_LISTED = 5  # names in a message; of more it says how many there are


@dataclass(frozen=True, eq=False)
class ScoredReplies:
    """Replies of k models, in the order in which they are to be taken.

    Attributes
    ----------
    model, prompt : ndarray of int64, shape (n,)
        Place of each reply's model in `models`, and a number of its prompt.
    values : ndarray of float64, shape (n, metrics)
        NaN where a reply has no score.
    """

    models: tuple[str, ...]
    metrics: tuple[str, ...]
    model: IntArray
    prompt: IntArray
    values: FloatArray

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Which replies have all metrics, shape (n,)."""
        return np.asarray(np.isfinite(self.values).all(axis=1))


def balanced(replies: ScoredReplies, lower_is_better: frozenset[str] = frozenset()) -> RiskScores:
    r"""Return the table of the first R replies of each model to each prompt.

    R makes :math:`P R / (R + 1)` largest. P are the prompts to which all models have R replies with
    all metrics. A mean over P prompts with R replies each then varies least, if replies to one
    prompt vary as much as prompts do. The notes count what is left out.

    Raises
    ------
    ScoreError
        No prompt has a reply of each model with all metrics, or only one has.
    """
    whole = replies.whole
    model, values = replies.model[whole], replies.values[whole]
    prompts, prompt = np.unique(replies.prompt[whole], return_inverse=True)
    counts = np.zeros((len(replies.models), len(prompts)), dtype=np.int64)
    np.add.at(counts, (model, prompt), 1)
    repetitions = _repetitions(counts.min(axis=0))
    if not repetitions:
        text = _(
            "No prompt has a reply of each of {models} with all of {metrics}: choose fewer models "
            "or metrics."
        )
        models = _named(replies.models, _("the {n} models"))
        metrics = _named(replies.metrics, _("the {n} metrics"))
        raise ScoreError(text.format(models=models, metrics=metrics))
    kept = counts.min(axis=0) >= repetitions
    order = np.lexsort((prompt, model))  # stable, so replies to a prompt stay in their order
    group = model[order] * len(prompts) + prompt[order]
    nth = np.arange(len(group)) - np.searchsorted(group, group)
    taken = order[kept[prompt[order]] & (nth < repetitions)]
    own = tuple(str(number) for number in prompts[kept])
    return RiskScores(
        models=replies.models,
        metrics=replies.metrics,
        prompts=(own,) * len(replies.models),
        values=tuple(values[taken[model[taken] == at]] for at in range(len(replies.models))),
        lower_is_better=lower_is_better,
        repetitions=repetitions,
        notes=(*_incomplete(replies), *_uneven(counts, kept, repetitions)),
    )


def _repetitions(least: IntArray) -> int:
    """Return R, from the fewest replies that any model has to each prompt; 0 if there is none.

    The largest share of prompts wins where two are as good.
    """
    choices = np.unique(least[least > 0])
    prompts = np.array([(least >= choice).sum() for choice in choices])
    return int(choices[(prompts * choices / (choices + 1)).argmax()]) if len(choices) else 0


def _incomplete(replies: ScoredReplies) -> Iterator[str]:
    missing = int((~replies.whole).sum())
    if missing:
        lacking = np.flatnonzero(np.isnan(replies.values).any(axis=0))
        names = [replies.metrics[at] for at in lacking]
        yield _("{n:,} of {all:,} replies are left out: they have no {metrics}.").format(
            n=missing, all=len(replies.model), metrics=_either(names)
        )


def _uneven(counts: IntArray, kept: NDArray[np.bool_], repetitions: int) -> Iterator[str]:
    if not kept.all():
        yield ngettext(
            "{left_out:,} of {all:,} prompts are left out: not all models have a reply to them.",
            "{left_out:,} of {all:,} prompts are left out: not all models have {n} replies to "
            "them.",
            repetitions,
        ).format(left_out=int((~kept).sum()), all=len(kept), n=repetitions)
    beyond = int((counts[:, kept] - repetitions).sum())
    if beyond:
        yield ngettext(
            "Each model counts with its first reply to a prompt; {beyond:,} further ones are left "
            "out.",
            "Each model counts with its first {n} replies to a prompt; {beyond:,} further ones are "
            "left out.",
            repetitions,
        ).format(beyond=beyond, n=repetitions)


def _either(names: Sequence[str]) -> str:
    *others, last = names
    return _("{one} or {other}").format(one=", ".join(others), other=last) if others else last


def _named(names: Sequence[str], many: str) -> str:
    return ", ".join(names) if len(names) <= _LISTED else many.format(n=len(names))


# Scores of the replies in the store, as a table to rank models by.


VERDICTS = "verdicts"
COMPUTED = (*METRICS, VERDICTS)
"""Metrics that are not stored: they follow from texts, or from a judge's verdicts."""

_MODELS = 1 << 15  # the store numbers models by smallints


def metrics_here(cursor: Cursor) -> dict[str, bool]:
    """Return the metrics that replies can have, each with whether higher is better."""
    texts = {name: metric.higher_is_better for name, metric in METRICS.items()}
    return {**scores.metrics(cursor), **texts, VERDICTS: True}


def read_stored_scores(
    store: Store,
    selection: Selection = Selection(),
    metrics: Sequence[str] | None = None,
    *,
    revealed_only: bool = False,
) -> RiskScores:
    """Return the scores of the replies that models have given to the same prompts.

    How many replies to each prompt, `coupled_arena.analysis.risk.replies.balanced` says.

    The metric "verdicts" is how far a reply is ahead by the selected judge's verdicts on its
    battle. Each other model of the table counts two if the reply beats it, and minus two if it
    beats the reply. It is there where the battle has a verdict on all pairs of the table's models.

    Parameters
    ----------
    selection : Selection
        Without models: all that have a reply with all metrics. Its voter does not matter.
    metrics : sequence of str, optional
        By default those that follow from texts, the stored ones that the most replies have
        together, and with a judge its verdicts.
    revealed_only : bool
        Leave out battles of the battle tab that nobody has been shown the names of.

    Raises
    ------
    ScoreError
        There is no such metric, a model has no score by one, or the models share no prompts.
    StoreError
        There is no such model or judge.
    """
    with store.cursor() as cursor:
        cursor.execute("begin")  # all of one moment
        meanings = metrics_here(cursor)
        names = _names(cursor, selection, metrics, meanings)
        known = comparisons.model_numbers(cursor, selection)
        stored = [name for name in names if name not in COMPUTED]
        texts = any(name in METRICS for name in names)
        rows = replies.table(cursor, selection, stored, texts=texts, revealed_only=revealed_only)
        judge = selection.judge if VERDICTS in names else None
        judged = replies.judged_pairs(cursor, judge) if judge else None
        several = reworded(cursor, selection)
        cursor.execute("commit")
    if selection.models is None:
        # A model that only plays in rounds which are still blind must not be named.
        there = set(rows["model_no"].tolist())
        known = {model: number for model, number in known.items() if number in there}
    values = _values(names, stored, rows)
    if judged:
        values[:, names.index(VERDICTS)] = _verdict_scores(rows, judged)
    chosen, notes = _chosen(known, names, rows, values, free=selection.models is None)
    model = _places(chosen, rows["model_no"])
    if judged:
        values[:, names.index(VERDICTS)] = _verdicts(chosen, rows, judged)
    ours = model >= 0
    table = balanced(
        ScoredReplies(tuple(chosen), names, model[ours], rows["prompt_no"][ours], values[ours]),
        frozenset(name for name in names if not meanings[name]),
    )
    # A text's length, for example, is no merit by itself: users choose the direction.
    return replace(
        table.noted(*notes, *pooled_words(several)), unjudged=frozenset(names).intersection(METRICS)
    )


def _names(
    cursor: Cursor,
    selection: Selection,
    metrics: Sequence[str] | None,
    meanings: Mapping[str, bool],
) -> tuple[str, ...]:
    if selection.judge is not None:
        judge_number(cursor, selection.judge)
    if metrics is None:
        together = [name for name in replies.scored_together(cursor) if name not in COMPUTED]
        return (*together, *METRICS, *([VERDICTS] if selection.judge else []))
    for name in metrics:
        if name not in meanings:
            text = _("There is no metric {name!r} here, only {known}.")
            raise ScoreError(text.format(name=name, known=", ".join(meanings)))
    if VERDICTS in metrics and selection.judge is None:
        raise ScoreError(
            _("The metric {verdicts} needs a judge: choose one.").format(verdicts=VERDICTS)
        )
    return tuple(dict.fromkeys(metrics))


def _values(names: Sequence[str], stored: Sequence[str], rows: Mapping[str, Any]) -> FloatArray:
    """Return scores, shape (replies, metrics), NaN where there is none; verdicts not yet."""
    values = np.full((len(rows["place"]), len(names)), np.nan)
    for at, name in enumerate(stored):
        values[:, names.index(name)] = rows[f"score{at}"]
    there = np.flatnonzero([text is not None for text in rows["text"]])
    texts = rows["text"][there].tolist()
    for name in set(names) & set(METRICS):
        values[there, names.index(name)] = METRICS[name].measure(texts)
    return values


def _verdict_scores(rows: Mapping[str, Any], judged: Mapping[str, Any]) -> FloatArray:
    """Return 0 for a reply that is in any judged pair, NaN for the others."""
    battles = np.tile(judged["battle_no"], 2)
    pairs = battles * _MODELS + np.concatenate([judged["first"], judged["second"]])
    there = np.isin(rows["battle_no"] * _MODELS + rows["model_no"], pairs)
    return np.where(there, 0.0, np.nan)


def _chosen(
    known: Mapping[str, int],
    names: Sequence[str],
    rows: Mapping[str, Any],
    values: FloatArray,
    *,
    free: bool,
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the models that have a reply with all metrics, and what to say of the others."""
    whole = set(rows["model_no"][np.isfinite(values).all(axis=1)].tolist())
    chosen = {model: number for model, number in known.items() if number in whole}
    absent: list[str] = []
    never = _("never all of them")
    for model in known.keys() - chosen.keys():
        own = values[rows["model_no"] == known[model]]
        lacks = [name for at, name in enumerate(names) if not np.isfinite(own[:, at]).any()]
        absent.append(f"{model} ({', '.join(lacks) or never})")
    absence = "; ".join(sorted(absent))
    if len(known) < 2 or len(chosen) < 2 or (absent and not free):
        if not absent:
            raise ScoreError(
                _(
                    "There must be replies of two models at least: choose other models or battles. "
                    "A reply that was stopped does not count."
                )
            )
        text = _(
            "There are models without any score by the metrics named: {models}. Choose other "
            "models, metrics or battles."
        )
        raise ScoreError(text.format(models=absence))
    text = _(
        "There are models without any score by the metrics named: {models}; they are left out."
    )
    return chosen, (text.format(models=absence),) if absent else ()


def _places(models: Mapping[str, int], numbers: IntArray) -> IntArray:
    """Return the places of some models' numbers in the table, -1 for a model not in it."""
    places = np.full(int(max(*models.values(), numbers.max(initial=0))) + 1, -1)
    places[list(models.values())] = np.arange(len(models))
    return places[numbers]


def _verdicts(
    models: Mapping[str, int], rows: Mapping[str, Any], judged: Mapping[str, Any]
) -> FloatArray:
    """Return how far each reply is ahead, NaN where not all pairs of the models are judged."""
    k = len(models)
    first, second = _places(models, judged["first"]), _places(models, judged["second"])
    among = (first >= 0) & (second >= 0) & (first != second)
    battles, pairs = np.unique(judged["battle_no"][among], return_counts=True)
    battles = battles[pairs == k * (k - 1) // 2]  # more where a model plays twice
    among &= np.isin(judged["battle_no"], battles)
    ahead = verdict_scores(
        np.searchsorted(battles, judged["battle_no"][among]),
        first[among],
        second[among],
        judged["outcome"][among].astype(np.int64),
        k,
    )
    scored = np.full(len(rows["place"]), np.nan)
    model = _places(models, rows["model_no"])
    mine = np.isin(rows["battle_no"], battles) & (model >= 0)
    at = np.searchsorted(battles, rows["battle_no"][mine])
    scored[mine] = ahead[at, model[mine]]
    return scored
