"""The commands of the analyses: each is a function of the Python API, and where its data are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coupled_arena.api import analyses, experiments, figures, gates, rankings, risks, schemas
from coupled_arena.api.results import Result
from coupled_arena.cli.derived import Files, Output, command
from coupled_arena.cli.shared import show
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.files import reason


def _write_scores(scores: Any, asked: dict[str, Any], path: Path) -> dict[str, Any]:
    from coupled_arena.analysis.coupling.score_tables import write_score_table

    if asked["by_sampling"]:
        raise ArenaError("--out is for one sampling: leave it out with --by-sampling.")
    table = analyses.score_table(scores, asked)
    write_score_table(table, path)
    typer.echo(f"{path} holds {2 * table.coupled[..., 0].size:,} rows.", err=True)
    return {}


def draw_plots(result: Result[Any], folder: Path) -> dict[str, Any]:
    """Write all figures of a result to a folder, and return what the answer gains."""
    from coupled_arena.views.figures.drawing import write_figures

    try:
        return {"plots": [str(path) for path in write_figures(result.analysis, folder)]}
    except OSError as error:
        raise ArenaError(f"{folder} cannot be written: {reason(error)}.") from error


PLOTS = Output("plots", "Folder for figures.", draw_plots)
leaderboard = command(
    rankings.leaderboard,
    files=Files(
        "scores",
        "[Scores](leaderboard.md#by-scores) in place of the store: tables or logs as for `risk`, "
        "each as NAME=LOG. The model with the higher score on a prompt wins it. Or files of votes, "
        "as for `import`: the columns tell which. May be given several times.",
        many=True,
    ),
)
agreement = command(analyses.agreement)
audit = command(
    analyses.audit,
    files=Files(
        "table",
        "Grades from elsewhere: model, prompt, truth, judge. Or a log of another tool, or a folder "
        "of them, with `--metrics`. May be given several times.",
        many=True,
    ),
)
voters = command(analyses.voters)
plan = command(
    experiments.plan,
    counting=False,
    files=Files(
        "scores",
        "With --margin: scores of a pilot, as for `gate`. May be given several times. By default "
        "the store.",
        many=True,
    ),
)
coupling = command(
    analyses.coupling,
    counting=False,
    files=Files(
        "scores",
        "CSV, JSON or Parquet. A column Noise, and a column of scores for each model; Subject is "
        "optional. May be given several times. By default the store.",
        many=True,
    ),
    output=Output(
        "out", "Write the scores as such a CSV file, and nothing else.", _write_scores, instead=True
    ),
)
risk = command(
    risks.risk,
    counting=False,
    files=Files(
        "scores",
        "A table: CSV, JSON or Parquet. Its columns are model, prompt, metric, score; or model, "
        "prompt, and one for each metric. Or logs of other tools, files or folders; NAME=LOG "
        "names a model. By default the stored replies.",
        many=True,
        argument=True,
    ),
)


def gate_code(found: Any) -> int:
    """Return the exit code that says what a gate has found."""
    from coupled_arena.views.tables.gate import exit_code

    return exit_code(found)


gate = command(
    gates.gate,
    counting=False,
    data="scores",
    code=gate_code,
    files=Files(
        "scores",
        "A table of scores, as for `risk`, also with a column category or group. Or logs of other "
        "tools, each as NAME=LOG. May be given several times. By default the store.",
        many=True,
    ),
    output=PLOTS,
)
report = command(figures.report, counting=False)
resample = command(experiments.resample, output=PLOTS)
simulate = command(experiments.simulate, store=False)


def schema(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A command: leaderboard, audit, ...")],
) -> None:
    """Print the JSON schema of what a command prints with --json: its tables and settings."""
    show(schemas.schema(name), True, str)
