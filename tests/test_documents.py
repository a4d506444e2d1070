"""The documents stay true: commands, options, settings, links, Python, pictures, trees."""

from __future__ import annotations

import ast
import enum
import importlib
import random
import re
import shlex
import tomllib
import typing
from pathlib import Path

import pandas as pd
import pytest
import yaml
from typer.exceptions import TyperException
from typer.main import get_command

import coupled_arena as ca
from coupled_arena.cli.main import app
from coupled_arena.core.catalog import ModelSpec
from coupled_arena.core.settings import (
    BattleSettings,
    JudgeSettings,
    SamplingSettings,
    Settings,
    load_settings,
)
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.importing import import_files

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
    *sorted((REPOSITORY / "docs").glob("*.md")),
]
TEXTS = {str(path.relative_to(REPOSITORY)): path.read_text(encoding="utf-8") for path in PAGES}
README = TEXTS["README.md"]
COMMANDS = "docs/cli.md"
OF_MANY_COMMANDS = {"--config", "--preset", "--db", "--json"}


def blocks(text, language):
    """Return the code blocks of a language, also those within lists."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", code, flags=re.MULTILINE) for indent, code in found]


def prose(text):
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def commands():
    """Yield the words of every command line, in blocks and within sentences."""
    for page, text in TEXTS.items():
        for block in blocks(text, "bash"):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("coupled-arena "):
                    yield page, shlex.split(line, comments=True)[1:]
        for line in re.findall(r"`coupled-arena\s([a-z][^`]*)`", prose(text)):
            words = shlex.split(line)
            if len(words) > 1 or words[0] not in get_command(app).commands:  # else only its name
                yield page, words


def command_of(words):
    """Return the command that some words name, and the words after it."""
    command = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    if hasattr(command, "commands") and words and not words[0].startswith("-"):
        raise ValueError(f"there is no command {words[0]}")
    return command, list(words)


def parse(words):
    """Read a command line as the program does, without doing what it says."""
    command, rest = command_of(words)
    command.make_context(command.name, rest)


def test_the_checks_of_every_change_are_the_command_of_the_readme():
    start, test = blocks(README, "bash")[:2]
    tested = '-c requirements.txt -e ".[judge]"'
    assert start.strip().endswith(f".venv/bin/pip install {tested} && .venv/bin/python app.py")
    assert test.strip() in (REPOSITORY / ".ci" / "run").read_text()
    assert start in blocks(TEXTS["docs/quickstart.md"], "bash")
    assert test in blocks(TEXTS["CONTRIBUTING.md"], "bash")


def test_a_picture_comes_first():
    sentence, picture = README.split("# Coupled Arena")[1].strip().split("\n\n")[:2]
    assert picture.startswith("![")
    assert sentence.count(".") == 1
    assert len(README.splitlines()) <= 120


@pytest.mark.parametrize(
    ("page", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_commands_are_understood(page, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("experiment.toml").write_text('task = "quiz"\nmodels = ["A", "B"]\n')
    parse(command)


@pytest.mark.parametrize(
    "command",
    ["exprot --out x", "models fetsh x", "export --out x --formt csv", "export", "judge --swap up"],
)
def test_a_wrong_command_would_be_noticed(command):
    with pytest.raises((ValueError, TyperException)):
        parse(command.split())


def scripts():
    return sorted(
        {name for text in TEXTS.values() for name in re.findall(r"-m (benchmarks\.\w+)", text)}
    )


def test_measurements_have_their_scripts():
    there = {f"benchmarks.{path.stem}" for path in (REPOSITORY / "benchmarks").glob("*.py")}
    table = prose(TEXTS["benchmarks/README.md"]).partition("\n## ")[0]
    assert set(re.findall(r"-m (benchmarks\.\w+)", table)) == there
    assert set(scripts()) == there


# The page of commands, against the program.


def all_commands(command=None, name=""):
    """Yield every command with its full name, the program's own aside."""
    command = command or get_command(app)
    if name:
        yield name, command
    for part, inner in getattr(command, "commands", {}).items():
        yield from all_commands(inner, f"{name} {part}".strip())


def sections(page):
    parts = re.split(r"^## (.*)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def choices(option):
    """Return the words that an option may have, where they are few."""
    kind = option.type_descriptor.annotation
    if isinstance(kind, enum.EnumType):
        return [member.value for member in kind]
    return list(typing.get_args(kind)) if typing.get_origin(kind) is typing.Literal else []


def documented_options(section):
    """Return the rows of a command's table by the first name of an option."""
    rows = re.findall(r"^\| (`[^|]+`) \| ([^|]*) \| (.*) \|$", section, flags=re.MULTILINE)
    return {re.findall(r"`([^`]+)`", names)[0]: (names, *rest) for names, *rest in rows}


def test_every_command_has_its_section():
    told = sections(TEXTS[COMMANDS]).keys() - {"Options of many commands"}
    assert told == {name for name, _ in all_commands()}


@pytest.mark.parametrize(("name", "command"), list(all_commands()), ids=lambda v: str(v)[:20])
def test_every_option_is_told(name, command):
    section = sections(TEXTS[COMMANDS])[name]
    rows = documented_options(section)
    shared = set(re.findall(r"`(--[a-z]+)`", section.rpartition("Also:")[2]))
    there, common = {}, set()
    for option in command.params:
        if option.param_type_name == "argument":
            there[option.metavar or option.name.upper()] = option
        elif option.opts[0] in OF_MANY_COMMANDS:
            common.add(option.opts[0])
        else:
            there[option.opts[0]] = option
    assert (rows.keys(), shared) == (there.keys(), common)
    for first, option in there.items():
        names, default, meaning = rows[first]
        assert re.findall(r"`([^`]+)`", names)[1:] == [*option.opts[1:], *option.secondary_opts]
        assert (default == "required") == option.required
        assert not (missing := [word for word in choices(option) if f"`{word}`" not in meaning]), (
            missing
        )
        if option.default not in (None, False):
            value = getattr(option.default, "value", option.default)
            assert default == f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def test_options_of_many_commands_are_told():
    told = sections(TEXTS[COMMANDS])["Options of many commands"]
    assert set(re.findall(r"^\| `(--[a-z]+)`", told, re.MULTILINE)) == OF_MANY_COMMANDS | {"--help"}


# Settings.


def test_the_example_configurations_are_right(tmp_path):
    path = tmp_path / "arena.toml"
    (judge,) = blocks(TEXTS["docs/judge.md"], "toml")
    path.write_text(judge)
    assert load_settings(path).judge.name == "gpt"
    (example,) = blocks(TEXTS["docs/your-models.md"], "toml")
    path.write_text(example)
    catalog = load_settings(path).catalog
    assert catalog.problems == ()
    assert [spec.name for spec in catalog.models] == [
        model["name"] for model in tomllib.loads(example)["models"]
    ]


def first_cells(section):
    rows = re.findall(r"^\| (`[^|]+`) \|", section, flags=re.MULTILINE)
    names = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    return {name for name in names if not name.startswith("[")}


def test_every_setting_is_told():
    hosting = sections(TEXTS["docs/hosting.md"])["Settings"]
    tables = {"sampling", "battle", "judge", "models", "base"}
    wanted = Settings.model_fields.keys() - tables
    wanted |= SamplingSettings.model_fields.keys() | BattleSettings.model_fields.keys()
    environment = set(re.findall(r"COUPLED_ARENA_[A-Z_]+", hosting))
    assert first_cells(hosting) == wanted | environment
    source = (REPOSITORY / "coupled_arena/core/settings.py").read_text()
    assert environment == set(re.findall(r"^(COUPLED_ARENA_[A-Z_]+)", source, re.MULTILINE))
    live = sections(TEXTS["docs/judge.md"])["Live"]
    assert not [name for name in JudgeSettings.model_fields if not re.search(rf"\b{name}\b", live)]


def test_every_key_of_a_model_is_told():
    keys = first_cells(TEXTS["docs/your-models.md"])
    assert keys == {*ModelSpec.__dataclass_fields__, "like"}


# Python.

PYTHON = [(page, code) for page, text in TEXTS.items() for code in blocks(text, "python")]
NEEDS_MODELS = "ca.load("


def used(tree):
    """Yield the modules that code imports, and the names that it takes from them."""
    aliases = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                aliases[each.asname or each.name] = each.name
                yield each.name, None
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.module, each.name) for each in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            module = aliases.get(getattr(node.value, "id", None))
            if module:
                yield module, node.attr


@pytest.mark.parametrize(("page", "code"), PYTHON, ids=[page for page, _ in PYTHON])
def test_python_names_what_is_there(page, code):
    for module, name in used(ast.parse(code)):
        there = importlib.import_module(module)
        assert name is None or hasattr(there, name), f"{module} has no {name}"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with what the examples read: votes, scores, a database with a judge's verdicts."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "data").symlink_to(REPOSITORY / "data")
    draw = random.Random(1)
    rows = [
        {
            "num": number,
            "model_a": (pair := draw.sample(["ann", "bob", "cas"], 2))[0],
            "model_b": pair[1],
            "winner": draw.choice(["model_a", "model_b", "tie"]),
            "mode": draw.choice(["coupled", "independent"]),
            "seed": f"{number:016x}",
        }
        for number in range(300)
    ]
    votes = pd.DataFrame(rows)
    votes.to_csv(folder / "votes.csv", index=False)
    votes.assign(winner=votes.winner.sample(frac=1, random_state=1).to_numpy()).to_csv(
        folder / "verdicts.csv", index=False
    )
    with Store.open(folder / "arena.duckdb") as store:
        for file, judge in (("votes", None), ("verdicts", "gpt-4")):
            done = import_files(store, [folder / f"{file}.csv"], judge=judge)
            assert not done.rejected
    replies = [(model, prompt, draw.random()) for model in "abc" for prompt in range(60)]
    table = pd.DataFrame(replies, columns=["model", "prompt", "toxicity"])
    table.to_csv(folder / "scores.csv", index=False)
    return folder


@pytest.mark.parametrize(
    "code",
    [code for _, code in PYTHON if NEEDS_MODELS not in code],
    ids=[page for page, code in PYTHON if NEEDS_MODELS not in code],
)
def test_python_runs(code, desk, monkeypatch):
    monkeypatch.chdir(desk)
    exec(code.replace(".show()", ""), {})  # a figure that is shown opens a browser


def test_tables_and_figures_of_results_are_told(desk):
    store = ca.open(desk / "arena.duckdb")
    board = ca.leaderboard(store, judge="gpt-4", bradley_terry=True)
    scores = pd.read_csv(desk / "data" / "quiz_scores.csv")
    results = {
        "leaderboard": board,
        "audit": ca.audit(store, judge="gpt-4"),
        "coupling": ca.coupling(scores),
        "risk": ca.risk(pd.read_csv(desk / "scores.csv"), lower_is_better=["toxicity"]),
    }
    told = sections(TEXTS["docs/python-api.md"])["Results"]
    rows = re.findall(r"^\| `(\w+)`[^|]*\| ([^|]*) \| ([^|]*) \|$", told, re.MULTILINE)
    assert {name for name, *_ in rows} == {*results, "generate"}
    for name, tables, figures in rows:
        if name in results:
            assert re.findall(r"`(\w+)`", tables) == [
                each for each in results[name].tables if each != "toxicity"
            ]
            with pytest.raises(ca.ArenaError) as refused:
                ca.plot(results[name], "?")
            known = str(refused.value).partition("has: ")[2].rstrip(".").split(", ")
            assert re.findall(r"`(\w+)`", figures) == known


def test_every_call_is_told():
    told = set(re.findall(r"`ca\.(\w+)", TEXTS["docs/python-api.md"]))
    functions = {name for name in dir(ca) if name[0].islower()}
    assert functions <= told <= set(dir(ca))


def test_votes_become_rank_sets_in_five_lines(desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    code = blocks(README, "python")[0]
    assert len(code.split("\n\n")[0].splitlines() + code.split("\n\n")[1].splitlines()) == 5
    exec(code, {})
    printed = capsys.readouterr().out
    assert "rank_low" in printed
    assert all(model in printed for model in ("ann", "bob", "cas"))


def test_the_commitment_of_the_picture(capsys):
    """What the page of exactness computes is what the README's picture shows."""
    (code,) = blocks(TEXTS["docs/exactness.md"], "python")
    exec(code, {})
    told = "bbf581ec40232a01c8b0fdf2e330e5f0260b594514df0f9a872b8006d9bc5933"
    assert capsys.readouterr().out.strip() == told


# Links, pictures, trees.


def anchors(text):
    """Return what headings can be linked by, as the usual renderers name them."""
    headings = re.findall(r"^#+ (.*)$", prose(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links():
    for page, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
            if not re.match(r"https?:", target):
                yield page, target


@pytest.mark.parametrize(("page", "target"), list(links()))
def test_links_lead_somewhere(page, target):
    path, _, anchor = target.partition("#")
    there = ((REPOSITORY / page).parent / path).resolve() if path else REPOSITORY / page
    assert there.is_file()
    if anchor:
        assert anchor in anchors(there.read_text(encoding="utf-8"))


def test_every_page_is_reached_from_the_readme():
    reached = {target.partition("#")[0] for page, target in links() if page == "README.md"}
    assert {page for page in TEXTS if page != "README.md"} <= reached


def named_in(tree):
    """Return the paths that a tree names, from the root of the repository."""
    folders, paths = [], []
    for line in filter(str.strip, tree.splitlines()):
        depth = (len(line) - len(line.lstrip())) // 2
        names = re.split(r" {2,}", line.strip())[0].split(", ")
        paths += ["/".join([*folders[:depth], name.rstrip("/")]) for name in names]
        folders[depth:] = [names[0].rstrip("/")]
    return paths


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_trees_name_what_is_there(page):
    tree = TEXTS[page].split("## The tree")[1].split("```")[1]
    assert not [path for path in named_in(tree) if not (REPOSITORY / path).exists()]


def test_the_tree_has_every_room():
    tree = TEXTS["docs/architecture.md"].split("## The tree")[1].split("```")[1]
    package = REPOSITORY / "coupled_arena"
    rooms = {str(path.parent.relative_to(REPOSITORY)) for path in package.rglob("*/__init__.py")}
    assert rooms <= set(named_in(tree))


def test_files_named_in_sentences_are_there():
    """As the architecture tells how a vote and a seed travel."""
    text = prose(TEXTS["docs/architecture.md"]) + prose(TEXTS["CONTRIBUTING.md"])
    named = set(re.findall(r"`([a-z_]+/[\w/]+(?:\.\w+|/))`", text))
    roots = (REPOSITORY, REPOSITORY / "coupled_arena")
    gone = [path for path in named if not any((root / path).exists() for root in roots)]
    assert named
    assert gone == []


def test_the_front_matter_is_what_spaces_read():
    front = yaml.safe_load(README.split("---")[1])
    assert (front["sdk"], front["app_port"]) == ("docker", 7860)
    assert (REPOSITORY / "Dockerfile").is_file()
