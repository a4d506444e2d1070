"""What a report rests on: the store, its models and judges, the settings, the versions."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import version

from markupsafe import Markup

from coupled_arena.core.extras import is_installed
from coupled_arena.core.records import Sampling
from coupled_arena.core.version import VERSION
from coupled_arena.stats.ranking import rank_sets
from coupled_arena.store.queries.inventory import Inventory, ModelRecord
from coupled_arena.store.transfer.export import COVERED
from coupled_arena.views.markup import facts, heading, joined, listed, nameless, paragraph, table
from coupled_arena.views.report.collect import SEED, SUB_SAMPLINGS, Report

_LIBRARIES = ("numpy", "scipy", "duckdb", "plotly")
_VERSIONS = ("torch", "transformers", "bitsandbytes")
_REVISION = ("commit", "sha256")


def summary(report: Report) -> Markup:
    """Return what was counted, in a few lines."""
    counted = report.inventory
    return joined(
        [
            facts(
                [
                    ("Store", report.store),
                    ("Battles", sum(each.battles for each in counted.battles)),
                    ("Votes by people", counted.votes.people),
                    ("Verdicts", sum(each.verdicts for each in counted.judges)),
                    ("Scores", sum(each.scores for each in counted.metrics)),
                    ("Grades", sum(each.grades for each in counted.judges)),
                    ("Error level", f"{report.wanted.alpha:g}"),
                    ("Fingerprint", Markup(f"<code>{report.fingerprint}</code>")),
                ]
            )
        ]
    )


def basis(report: Report) -> Markup:
    """Return everything that the numbers depend on."""
    counted = report.inventory
    return joined(
        [
            heading("Settings", 3),
            facts(_settings(report)),
            heading("What the store holds", 3),
            _battles(counted),
            listed(_votes(counted)),
            _metrics(counted),
            heading("Models", 3),
            _models(counted) or paragraph("There are no battles yet.", "hint"),
            heading("Judges", 3),
            _judges(counted) or paragraph("No judge has judged here.", "hint"),
            heading("Sampling", 3),
            _samplings(counted) or paragraph("No battle was generated here.", "hint"),
            heading("Experiments", 3),
            _experiments(counted),
            heading("Versions and fingerprint", 3),
            facts(_versions(report)),
            paragraph(_covered(), "hint"),
        ]
    )


def _settings(report: Report) -> Iterator[tuple[str, object]]:
    wanted = report.wanted
    yield "Error level alpha", f"{wanted.alpha:g}"
    yield "Battles that count", wanted.mode or "all modes"
    yield "Models", ", ".join(wanted.models) if wanted.models else "all"
    yield "Judges", wanted.judge or "all, never pooled"
    yield "Scores", wanted.metric or "all metrics"
    for board in report.boards[:1]:
        method = board.estimates.method
        used = sorted({each.estimate.weighting for each in report.boards if each.estimate})
        fallback = "" if used == [method.weighting] else f"; in force: {' and '.join(used)}"
        yield "Weighting", f"{method.weighting}{fallback}"
        yield "Covariance", f"{method.covariance}, clustered by prompt"
        cutoff = f"{board.cutoff}, {board.estimates.draws:,} draws, seed {rank_sets.SEED}"
        yield "Cut-off of rank-sets", cutoff
    for each in report.audits[:1]:
        yield "Ties in audits", f"as {each.estimates.ties}es"
    if any(each.savings for each in report.metrics):
        yield "Intervals of savings", "by what each prompt adds to both variances"
        yield "Curves of errors", f"{SUB_SAMPLINGS:,} sub-samplings, seed {SEED}"
    for ranked in [each.risk for each in report.metrics if each.risk][:1]:
        chosen = ranked.settings
        draws = f"{chosen.bootstraps:,} bootstrap samples, seed {chosen.seed}"
        yield "Tests of dominance", f"{chosen.p_values} p-values, {chosen.correction}, {draws}"
        yield "Tail", f"worst {chosen.tail_p:.0%} of replies"


def _battles(counted: Inventory) -> Markup:
    return table(
        ("Origin", "Mode", "Battles", "First (UTC)", "Last (UTC)"),
        [
            (each.origin, each.mode, each.battles, f"{each.first:%F %R}", f"{each.last:%F %R}")
            for each in counted.battles
        ],
        "words",
    )


def _votes(counted: Inventory) -> Iterator[str]:
    votes = counted.votes
    yield f"Votes by people: {votes.people:,}, by {votes.voters:,} voters."
    yield f"Ties of identical replies, which nobody was asked about: {votes.identical:,}."
    yield f"Not counted, for the same voter voted again later: {votes.superseded:,}."


def _metrics(counted: Inventory) -> Markup:
    return table(
        ("Scores", "From", "Better is", "Replies", "Prompts"),
        [
            (
                *(each.metric, f"a {each.source}" if each.source != "import" else "an import"),
                *("higher" if each.higher_is_better else "lower", each.scores, each.prompts),
            )
            for each in counted.metrics
        ],
        "words",
    )


def _models(counted: Inventory) -> Markup:
    return table(
        ("Model", "Battles", "Source", "Revision", "Arithmetic", "Computed with"),
        [_model(each) for each in counted.models],
        "words",
    )


def _model(record: ModelRecord) -> tuple[object, ...]:
    known = dict(record.facts)

    def taken(*names: str, named: bool) -> str:
        found = [(name, " or ".join(known.pop(name))) for name in names if name in known]
        return ", ".join(f"{name} {value}" if named else value for name, value in found) or "-"

    source = nameless(taken("source", named=False))
    revision, versions = taken(*_REVISION, named=True), taken(*_VERSIONS, named=True)
    arithmetic = taken("dtype", named=False)
    others = taken(*sorted(known), named=True)
    described = ", ".join(part for part in (arithmetic, others) if part != "-") or "-"
    return record.model, record.battles, source, revision, described, versions


def _judges(counted: Inventory) -> Markup:
    return table(
        ("Judge", "Model", "Prompt's SHA-256", "Sampling", "Verdicts", "Grades", "Unreadable"),
        [
            (
                *(each.judge, nameless(each.model) or "-", each.prompt_hash or "-"),
                *(each.sampling or "-", each.verdicts, each.grades),
                each.unreadable_verdicts + each.unreadable_grades,
            )
            for each in counted.judges
        ],
        "words",
    )


def _samplings(counted: Inventory) -> Markup:
    return table(
        ("Temperature", "Top-k", "Top-p", "Longest answer", "Coupled by", "Battles"),
        [(*_sampled(sampling), n) for sampling, n in counted.samplings],
        "words",
    )


def _sampled(sampling: Sampling) -> tuple[object, ...]:
    return (
        f"{sampling.temperature:g}",
        f"{sampling.top_k}" if sampling.top_k else "all",
        f"{sampling.top_p:g}",
        f"{sampling.max_new_tokens:,} tokens",
        sampling.coupling,
    )


def _experiments(counted: Inventory) -> Markup:
    if not counted.experiments:
        return paragraph("No battle comes from generate or benchmark.", "hint")
    hidden = sum(each.seed is None for each in counted.experiments)
    rows = [
        (each.seed or "not told", each.battles, each.prompts, each.repetitions)
        for each in counted.experiments
    ]
    note = (
        "Seeds are not told while people vote on stored battles: whoever has one can compute which "
        "model wrote which answer."
    )
    return joined(
        [
            table(("Seed (hexadecimal)", "Battles", "Prompts", "Repetitions"), rows, "words"),
            paragraph(note if hidden else "", "hint"),
        ]
    )


def _versions(report: Report) -> Iterator[tuple[str, object]]:
    yield "coupled-arena", VERSION
    yield "Schema of the store", report.schema
    yield "Python", platform.python_version()
    yield from ((name, version(name)) for name in _LIBRARIES)
    if is_installed("fast"):  # its loops round differently in the last digit
        yield "numba", version("numba")
    yield "Fingerprint", Markup(f"<code>{report.fingerprint}</code>")


def _covered() -> str:
    files = ", ".join(f"{table}.jsonl" for table in COVERED)
    return (
        "The fingerprint is the SHA-256 of all that the store holds, whatever this report selects: "
        f"of the files that export --format jsonl writes, one after the other: {files}."
    )
