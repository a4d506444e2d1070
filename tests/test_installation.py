"""The package as others get it: a wheel, in a folder far from the checkout."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
import venv
import zipfile

import pytest

from coupled_arena import __version__
from tests.installed import REPOSITORY, build, pip

LOOKED_UP = re.compile(r'"((?:data|assets)/[\w./-]+)"')
# Most pictures are for the README; the quiz's scores can be made again.
SHOWN = {"assets/icon.png", "assets/icon-512.png", "assets/preview.png"}
STAYS = {"data/quiz_scores.csv"}


def files(folder, *patterns):
    return {
        str(path.relative_to(folder))
        for pattern in patterns
        for path in folder.glob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_it_has_what_the_program_needs_and_nothing_else(installed):
    code = files(REPOSITORY, "coupled_arena/**/*")
    beside = {
        f"coupled_arena/{name}"
        for name in files(REPOSITORY, "assets/**/*", "data/**/*") - STAYS
        if name in SHOWN or not name.endswith(".png")
    }
    assert files(installed.site, "coupled_arena/**/*") == code | beside
    info = f"coupled_arena-{__version__}.dist-info"
    with zipfile.ZipFile(installed.wheel) as wheel:
        assert {name.partition("/")[0] for name in wheel.namelist()} == {"coupled_arena", info}
    assert {"METADATA", "licenses/LICENSE"} <= files(installed.site / info, "**/*")


def test_a_checkout_builds_the_wheel_that_its_source_distribution_builds(
    installed, source, tmp_path
):
    with (
        zipfile.ZipFile(build("wheel", tmp_path, source)) as direct,
        zipfile.ZipFile(installed.wheel) as published,
    ):
        one, other = ({f.filename: f.CRC for f in w.infolist()} for w in (direct, published))
    assert one == other


def test_the_source_distribution_has_what_is_read_besides_the_code(installed):
    (archive,) = installed.wheel.parent.glob("*.tar.gz")
    with tarfile.open(archive) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    assert {*("README.md", "CHANGELOG.md", "LICENSE", "requirements.txt"), *STAYS} <= names
    assert files(REPOSITORY, "docs/**/*", "assets/**/*", "data/**/*") <= names


def test_importing_it_loads_nothing_heavy(installed):
    heavy = {"torch", "transformers", "gradio", "pandas", "numpy", "duckdb", "plotly"}
    code = f"import sys, coupled_arena as ca; print(ca.__file__, *({heavy} & sys.modules.keys()))"
    answer = installed.run("-c", code, program="python")
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() == [str(installed.site / "coupled_arena" / "__init__.py")]


def test_every_file_that_the_code_names_is_there(installed):
    texts = [path.read_text() for path in (REPOSITORY / "coupled_arena").rglob("*.py")]
    named = {name for text in texts for name in LOOKED_UP.findall(text)}
    assert len(named) > 5
    for name in named:
        assert (installed.site / "coupled_arena" / name).exists(), name


@pytest.fixture(scope="module")
def ran(installed, tmp_path_factory):
    """What commands told that were run one after the other, and the folder of the last ones."""
    folder = tmp_path_factory.mktemp("ran")
    rows = [{"question_id": n, "model_a": "x", "model_b": "y", "winner": "model_a"} for n in (1, 2)]
    (folder / "rows.json").write_text(json.dumps(rows))
    db = str(folder / "arena.duckdb")
    ended = installed.each(
        ("models", "--json"),
        ("--help",),
        ("import", str(folder / "rows.json"), "--db", db),
        ("report", "--out", str(folder / "report"), "--db", db),
        ("leaderboard", "--json", "--db", db),
        ("judge", "--judge", "ann", "--base-url", "http://127.0.0.1:1/v1", "--db", db),
    )
    return folder, ended


def test_the_command_finds_its_own_models(installed, ran):
    _, ((code, answer, error), (_, help, _), *_) = ran
    assert code == 0, error
    told = json.loads(answer)
    assert [model["name"] for model in told["models"]] == [
        *("SmolLM2-135M", "SmolLM2-135M-bnb-8bit", "SmolLM2-135M-bnb-4bit"),
    ]
    assert (told["presets"], told["problems"]) == (["demo", "papers"], [])
    assert "serve" in help
    assert list(installed.work.iterdir()) == []


def test_all_but_a_judge_comes_with_it(ran):
    """A report reads its page, style, script and, for a new store, every step of the schema.

    Only a judge's client is a part to ask for.
    """
    folder, (_, _, *finished, refused) = ran
    assert [code for code, _, _ in finished] == [0] * 3, finished
    assert {row["model"] for row in json.loads(finished[-1][1])["models"]} == {"x", "y"}
    code, _, error = refused
    assert (code, error.strip()) == (
        1,
        "Error: A judge needs more packages: pip install 'coupled-arena[judge]'.",
    )
    page = (folder / "report" / "report.html").read_text("utf-8")
    assert (REPOSITORY / "assets" / "report.css").read_text("utf-8").strip() in page


MOST = 25  # packages, this one among them
SCORED = (2, "a"), (3, "b"), (5, "c")

IN_BASE = """
from importlib.metadata import distributions
import coupled_arena as ca, pandas as pd

board = ca.rank(pd.read_csv("votes.csv"))
ca.plot(board, "rank_sets").write_html("rank_sets.html")
print(*sorted(d.name for d in distributions()))
"""


def test_the_base_is_light_and_ranks(installed, tmp_path):
    """The wheel alone, in an environment that is empty; packages come from the index."""
    empty, work = tmp_path / "empty", tmp_path / "work"
    work.mkdir()
    venv.create(empty, symlinks=True)
    pip("--python", empty / "bin" / "python", "install", "--quiet", installed.wheel, cwd=work)
    (work / "votes.csv").write_text((REPOSITORY / "docs" / "votes.csv").read_text())

    def run(program, *words):
        ran = subprocess.run(
            [empty / "bin" / program, *words],
            cwd=work,
            env=installed.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout, ran.stderr

    code, out, error = run("python", "-c", IN_BASE)
    assert code == 0, error
    assert "coupled-arena" in out.split()
    assert len(out.split()) <= MOST, out
    rows = "".join(f"{n},{model},{n % place}\n" for n in range(20) for place, model in SCORED)
    (work / "scores.csv").write_text(f"prompt,model,score\n{rows}")
    code, _, error = run("coupled-arena", "leaderboard", "--scores", "scores.csv", "--json")
    assert code == 0, error
    assert run("coupled-arena", "serve") == (
        *(1, ""),
        "Error: The app needs more packages: pip install 'coupled-arena[arena]'.\n",
    )
