"""The command that lets a model judge what is stored."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from coupled_arena.cli.shared import Config, Db, Json, show
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Swap
from coupled_arena.core.settings import JudgeSettings, load_settings

_Limit = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Maximum number of battles to judge, or of answers to grade.",
        show_default="all",
    ),
]
_Total = Annotated[
    int | None, typer.Option("--max-tokens-total", min=1, help="Stop before this many tokens.")
]
_Money = Annotated[
    float | None, typer.Option("--budget", min=0, help="Stop before this much money; needs prices.")
]


def judge(
    judge: Annotated[
        str | None, typer.Option(help="Name of the judge in the store.", show_default="the model")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name on its server.")] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="OpenAI-compatible server, usually ending in /v1.", show_default="OpenAI's"
        ),
    ] = None,
    swap: Annotated[
        Swap | None,
        typer.Option(help="Ask in both orders, or once in a random one.", show_default="both"),
    ] = None,
    limit: _Limit = None,
    concurrency: Annotated[
        int | None, typer.Option(help="Questions in flight.", show_default="8")
    ] = None,
    prompt: Annotated[
        Path | None,
        typer.Option(help="Text file with the judge's instructions.", show_default="ours"),
    ] = None,
    both_bad: Annotated[
        bool | None, typer.Option("--both-bad", help="Allow the verdict that both are bad.")
    ] = None,
    temperature: Annotated[
        str | None,
        typer.Option(
            help="Sampling temperature; `server` sends none, for models that accept none.",
            show_default="0",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(help="Longest answer in tokens, with thinking.", show_default="256"),
    ] = None,
    max_tokens_total: _Total = None,
    budget: _Money = None,
    price_in: Annotated[
        float | None, typer.Option(help="Price of a million tokens read.", show_default="0")
    ] = None,
    price_out: Annotated[
        float | None, typer.Option(help="Price of a million tokens written.", show_default="0")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds for an answer.", show_default="60")
    ] = None,
    patience: Annotated[
        float | None,
        typer.Option(help="Seconds for all attempts at a question.", show_default="180"),
    ] = None,
    grade: Annotated[
        bool,
        typer.Option("--grade", help="Grade a benchmark's answers one by one: right or wrong."),
    ] = False,
    again_unreadable: Annotated[
        bool, typer.Option("--again-unreadable", help="Ask again if the answer was unreadable.")
    ] = False,
    config: Config = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Let a model judge the stored battles; after an interruption, the same command goes on.

    Its key comes from COUPLED_ARENA_JUDGE_KEY, or OPENAI_API_KEY. It judges every pair of a
    battle's models; identical answers are a tie without a question. With --grade it decides
    whether each distinct answer to a benchmark's question is right. `audit --truth benchmark`
    shows how often it is correct. A name stands for verdicts or for grades.
    """
    given = {
        "name": judge,
        "model": model,
        "base_url": base_url,
        "swap": swap,
        "concurrency": concurrency,
        "prompt": prompt,
        "both_bad": both_bad,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "price_in": price_in,
        "price_out": price_out,
        "timeout": timeout,
        "patience": patience,
    }
    if grade and (swap or both_bad):
        raise ArenaError("--swap and --both-bad are about pairs: leave them out with --grade.")
    settings = load_settings(config, db=db, judge=given)
    table = settings.judge
    if budget is not None and not (table.price_in or table.price_out):
        raise ArenaError("A budget in money needs --price-in and --price-out, per million tokens.")
    from coupled_arena.battles.judge_runs.run import judge_stored
    from coupled_arena.judging.spec import Budget
    from coupled_arena.services import build_judge
    from coupled_arena.store.transfer.snapshots import open_for_writing

    with open_for_writing(settings.db, create=False) as store:
        done = judge_stored(
            build_judge(_known(table, store), grades=grade),
            store,
            ask_unreadable=again_unreadable,
            limit=limit,
            concurrency=table.concurrency,
            budget=Budget(max_tokens_total, budget, table.price_in, table.price_out),
        )
    show(asdict(done), as_json, lambda: _text(done, "grades" if grade else "verdicts"))
    if done.stopped == "interrupted":
        raise ArenaError("Interrupted. All verdicts received are stored; the same command goes on.")
    if done.failed:
        raise ArenaError(f"{done.trouble} {done.left} verdicts are left: run this again for them.")


def _known(table: JudgeSettings, store: Any) -> JudgeSettings:
    """Return the settings with the model that the store knows the judge by, if none is named."""
    from coupled_arena.store.tables.judges import binding

    if table.model or not table.name:
        return table
    with store.cursor() as cursor:
        bound = binding(cursor, table.name)
    return table.model_copy(update={"model": bound[0]}) if bound and bound[1] else table


def _text(done: Any, what: str) -> str:
    rate = done.asked / done.seconds if done.seconds else 0.0
    return (
        f"{done.judge} gave {done.verdicts} {what} ({done.identical} ties of identical answers, "
        f"{done.unreadable} unreadable answers) in {done.seconds:.1f} s, {rate:.1f} asked a "
        f"second; {done.skipped} were there already, {done.left} are left"
        f"{f' (stopped by {done.stopped})' if done.stopped else ''}. "
        f"{done.tokens_in:,} tokens read, {done.tokens_out:,} written, cost {done.cost:.4f}."
    )
