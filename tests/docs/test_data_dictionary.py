"""The data dictionary stays true: every table, column, export file and JSON key, and no others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

from coupled_arena.analysis.closeness import LeftOut, going
from coupled_arena.battles.batch import Generated
from coupled_arena.battles.first_divergence import Divergence, Option, Reason
from coupled_arena.battles.judge_runs.run import Judged
from coupled_arena.battles.replay import Replay
from coupled_arena.core.rationales import Criterion, Rationale
from coupled_arena.core.records import Drawn, Outcome
from coupled_arena.core.verdicts import Probabilities, Verdict
from coupled_arena.generation.draws import Candidate
from coupled_arena.generation.server_check import CheckedServer, ServerCheck
from coupled_arena.papers.judge import figures as judge_tables
from coupled_arena.store.database import Store
from coupled_arena.store.tables import exclusions, gates, judges, repeats, votes
from coupled_arena.store.tables.scores import Accuracy
from coupled_arena.store.transfer.export import export
from coupled_arena.store.transfer.importing import Rejected
from coupled_arena.store.transfer.snapshots import snapshot, snapshot_path
from coupled_arena.store.transfer.targets import Published
from coupled_arena.store.work_queues.judging import PendingSolutions
from coupled_arena.views.tables import (
    audit,
    closeness,
    coupling,
    experiments,
    first_divergence,
    flat,
    leaderboard,
    risk,
    stored,
    style,
)
from coupled_arena.views.tables.closeness import closeness_answer
from coupled_arena.views.tables.first_divergence import divergence_answer
from coupled_arena.views.tables.table import Column
from tests import dictionary
from tests.analysis.test_gate_churn import stored as stored_run
from tests.analysis.test_grading import MODELS, fill
from tests.analysis.test_voter_report import campaign
from tests.batches import at_once
from tests.dictionary import PAGE, RESULTS
from tests.store import whole
from tests.store.conftest import make_vote
from tests.views import made_up_laws

MADE_FOR_THE_PROGRAM = {
    "battle_pairs",
    "comparison_rows",
    "reply_style_rows",
}  # views that the page only mentions
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)


def documented(chapter, last="type"):
    """Return the rows of the table below each heading of a chapter, as far as a column."""
    text = PAGE.read_text(encoding="utf-8")
    (body,) = re.findall(rf"^## {chapter}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    parts = re.split(r"^### (.*)$", body, flags=re.MULTILINE)[1:]
    meaning = r" (.*) \|$" if last == "meaning" else ""
    row = rf"^\| `([^`]+)` \|(?: ([^|]*) \|)?{meaning}"
    return {
        name: re.findall(row, table, re.MULTILINE)
        for name, table in zip(parts[::2], parts[1::2], strict=True)
    }


def test_the_page_is_what_columns_say_of_themselves():
    told = "docs/data-dictionary.md is not what columns say: run python -m tests.dictionary"
    assert PAGE.read_text(encoding="utf-8") == dictionary.page(), told


LIKELY = Probabilities(0.5, 0.25, 0.25)


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    """A store with votes, verdicts, scores and grades."""
    db = tmp_path_factory.mktemp("dictionary") / "arena.duckdb"
    rng = np.random.default_rng(2)
    with Store.open(db) as store:
        fill(store, prompts=10, seeds=2)
        with store.cursor() as cursor:
            ids = [id for (id,) in cursor.execute("select battle from battles").fetchall()]
        for judge in ("ann", "bob"):
            store.write(
                lambda cursor, judge=judge: judges.bind(cursor, judge, "model", "hash", "{}")
            )
        with at_once(store) as batch:
            for number, id in enumerate(sorted(ids)):
                battle, moment = store.battle(id), EARLIEST + timedelta(minutes=number)
                right = np.array([reply.text.startswith("right") for reply in battle.replies])
                ranks = 1 + (right[None, :] > right[:, None]).sum(1)
                if number % 3:
                    batch.cast(make_vote(battle, *ranks.tolist(), voter=f"v{number % 5}"))
                batch.verdicts += [
                    Verdict(f"{id}{i}{j}", id, "ann", i, j, outcome, "", None, LIKELY, moment)
                    for i, j in ((0, 1), (0, 2), (1, 2))
                    if (outcome := list(Outcome)[int(rng.integers(3))])
                ]
        with PendingSolutions(store, "bob") as pending:
            asked = [solution for page in pending.pages() for solution in page]
            pending.add([one.answered("bob", bool(rng.random() < 0.6), "") for one in asked])
        with store.cursor() as cursor:
            ((vote, voter, battle),) = cursor.execute(
                "select vote, voter, battle from votes order by seq limit 1"
            ).fetchall()
        why = Rationale("r", vote, (Criterion.STYLE,), "so")
        store.write(lambda cursor: votes.give_reasons(cursor, why, voter))
        again = make_vote(store.battle(battle), 1, 1, 1, id="again", voter=voter)
        second = repeats.SecondVote(again, (2, 1, 0), (Criterion.STYLE,), "so")
        store.write(lambda cursor: repeats.add(cursor, second))
        planned = gates.StoredGate(
            *("g", *MODELS[:2], "quiz", 0.02, 0.05, "ff", 1, tuple(sorted(ids)), EARLIEST)
        )
        store.write(lambda cursor: gates.add(cursor, planned))
        decision = exclusions.Decision("mistaken", "keeper", EARLIEST)
        rule = exclusions.Exclusion("x", voter, None, None, decision)
        store.write(lambda cursor: exclusions.exclude(cursor, rule))
        store.write(lambda cursor: exclusions.include(cursor, "x", decision))
        snapshot(store, snapshot_path(db))
    return db


@pytest.mark.parametrize(
    ("chapter", "kind", "unnamed"),
    [
        ("Tables of a store", "BASE TABLE", set()),
        ("Views worth reading", "VIEW", MADE_FOR_THE_PROGRAM),
    ],
)
def test_tables(chapter, kind, unnamed):
    with Store.in_memory() as store, store.cursor() as cursor:
        rows = cursor.execute(
            "select table_name, column_name, data_type "
            "from information_schema.columns join information_schema.tables using (table_name) "
            "where table_type = ? order by ordinal_position",
            [kind],
        ).fetchall()
    there = {}
    for table, column, type in rows:
        if table not in unnamed:
            there.setdefault(table, []).append((column, re.sub(r"^ENUM.*", "ENUM", type)))
    assert documented(chapter) == there


@pytest.mark.parametrize("format", ["parquet", "jsonl", "csv"])
def test_export_files(db, tmp_path, format):
    with Store.open(db, read_only=True) as store:
        files = export(store, tmp_path, format)
        if format == "jsonl":
            files += export(store, tmp_path, "arena")
    page = documented("Export files")
    assert {path.stem for path in files} >= {name.split()[0] for name in page} - {"arena"}
    for path in files:
        columns = duckdb.sql(f"select * from '{path}'").columns
        assert [name for name, _ in page[f"{path.stem} file"]] == columns, path.name


def test_no_list_of_columns_is_forgotten():
    of_analyses = (audit, coupling, experiments, flat, judge_tables, leaderboard)
    modules = (*of_analyses, closeness, first_divergence, risk, stored, style)
    for module in modules:
        for name, found in vars(module).items():
            public = name.isupper() and not name.startswith("_")
            if public and isinstance(found, tuple) and isinstance(found[0], Column):
                assert found in RESULTS.values(), name


def keys(value, beginning="") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            path = f"{beginning}.{key}".removeprefix(".")
            yield path
            yield from keys(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, f"{beginning}[]")


def pattern(key):
    """Return what a documented key stands for: capitals for any name, an ellipsis for the rest."""
    parts = re.split(r"([A-Z]{3,}|…)", key)
    meant = {"…": r"(\W.*)?"}
    return "".join(
        meant.get(part, r"[^.\[]+") if number % 2 else re.escape(part)
        for number, part in enumerate(parts)
    )


def check_keys(part, answers):
    there = {key for answer in answers for key in keys(answer)}
    known = {key: re.compile(pattern(key)) for key, _ in documented("JSON of the commands")[part]}
    unknown = [key for key in there if not any(form.fullmatch(key) for form in known.values())]
    gone = [key for key, form in known.items() if not any(map(form.fullmatch, there))]
    assert (sorted(unknown), gone) == ([], []), f"{part}: unknown to the page; gone from the answer"


@pytest.fixture
def answer(call):
    def ask(*arguments, expected=0):
        code, out, err = call(*arguments, "--json")
        assert code == expected, err
        return json.loads(out)

    return ask


BY_VOTES = "--by", "votes"
COMMANDS = {
    "leaderboard": ["--judge", "ann", "--bradley-terry", "--control", "style"],
    "audit": ["--judge", "ann", "--own", "able", "--control", "length"],
    "agreement": [],
    "annotators add": ["Ann"],
    "battles": ["?tab=battles&source=people", "--limit", "2"],
    "plan": ["able", "--judge", "ann"],
    "coupling": ["--error", "0.05", "--by-category", "--published"],
    "risk": ["--metrics", "quiz,length", "--judge", "ann", "--bootstraps", "50"],
    "resample": ["--judge", "ann", "--repeats", "2", "--plots", "plots"],
    "report": ["--out", "page"],
}

OTHERWISE = {
    "coupling": [["--by-sampling"]],
    "plan": [["able", "--against", "fair", "--margin", "0.1"]],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_json_of_analyses(answer, db, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    words = command.split()
    asked = [COMMANDS[command], *OTHERWISE.get(command, [])]
    check_keys(f"{command} json", [answer(*words, *more, "--db", db) for more in asked])


@pytest.mark.slow
def test_json_of_a_gate(call, db, tmp_path):
    """Its exit code is the verdict; costs are known of models that answered here."""
    with Store.open(tmp_path / "run.duckdb") as store:
        stored_run(store)
    answers = [call("gate", "able", "fair", *more, "--db", db, "--json") for more in ((), BY_VOTES)]
    drawn = "--plots", tmp_path / "plots"
    answers.append(call("gate", "base", "cand", *drawn, "--db", tmp_path / "run.duckdb", "--json"))
    assert {code for code, _, _ in answers} <= {0, 3, 4}
    check_keys("gate json", [json.loads(out) for _, out, _ in answers])


def test_json_of_voters(answer, db, tmp_path):
    """In one store nobody was told a name before a vote; in the other many were."""
    with Store.open(tmp_path / "told.duckdb") as store:
        campaign(store, 14)
    told = answer("voters", "--db", tmp_path / "told.duckdb")
    check_keys("voters json", [answer("voters", "--db", db), told])


def test_json_without_a_store(answer):
    check_keys("models json", [answer("models")])
    drawn = ("simulate", "--repeats", "1", "--human", "100")
    check_keys("simulate json", [answer(*drawn)])
    shared = {"world", "theta", "true_ranks", "repeats", "alpha", "covariance", "weighting"}
    shared |= {"tie_score", "seed"}
    watched = answer(*drawn, "--watch", "50")
    assert shared < set(watched)
    own = {key: value for key, value in watched.items() if key not in shared}
    check_keys("simulate watched json", [own])
    noisy = answer("simulate", "--repeats", "1", "--human", "100", "--judge-noise", "0.1")
    check_keys("simulate noisy json", [noisy])
    several = answer("simulate", "--repeats", "1", "--human", "100,200")
    check_keys(
        "simulate json",
        [{**each, "settings": several["settings"]} for each in several["simulations"]],
    )


@pytest.mark.slow
def test_json_of_transfers(answer, db, tmp_path, monkeypatch):
    out, wrong = tmp_path / "out", tmp_path / "wrong.csv"
    sent = Published("https://huggingface.co/datasets/lab/votes", private=True)
    hub = SimpleNamespace(publish=lambda *_: sent)
    monkeypatch.setattr("coupled_arena.store.transfer.targets.HubDataset", lambda *_, **__: hub)
    flat = ("--format", "flat", "--to-hub", "lab/votes", "--out", tmp_path / "flat")
    exported = [answer("export", *options, "--db", db) for options in (("--out", out), flat)]
    check_keys("export json", exported)
    wrong.write_text("model_a,model_b,winner\na,b,nobody\n")
    copy = tmp_path / "copy.duckdb"
    done = [
        answer("import", file, "--db", copy, expected=code) for file, code in ((out, 0), (wrong, 1))
    ]
    check_keys("import json", done)
    wrong.write_text("battle,model,kind\nnone,able,1\n")
    check_keys("import-scores json", [answer("import-scores", wrong, "--db", copy, expected=1)])


def test_json_of_annotators(answer, tmp_path):
    db = tmp_path / "arena.duckdb"
    answer("annotators", "add", "Ann", "--db", db)
    check_keys("annotators json", [answer("annotators", "--db", db)])


def test_json_of_exclusions(answer, db, tmp_path):
    copy = tmp_path / "arena.duckdb"
    copy.write_bytes(snapshot_path(db).read_bytes())
    why = ("--reason", "rigged", "--by", "keeper", "--db", copy)
    check_keys("exclude json", [answer("exclude", "--voter", "v1", *why)])
    check_keys("exclusions json", [answer("exclusions", "--db", copy)])


@pytest.mark.slow
def test_json_of_names(answer, tmp_path):
    db = tmp_path / "arena.duckdb"
    with Store.open(db) as store:
        whole.fill(store)
    check_keys("names json", [answer("names", "--db", db)])


def test_json_of_a_restoration(answer, db, tmp_path):
    path = tmp_path / "arena.duckdb"
    snapshot_path(path).write_bytes(snapshot_path(db).read_bytes())
    check_keys("restore json", [answer("restore", "--db", path)])


@pytest.mark.slow
def test_json_of_a_doctor(answer, tmp_path):
    path = tmp_path / "arena.duckdb"
    with Store.open(path) as store:
        whole.fill(store)
    check_keys("doctor json", [answer("doctor", path)])


@pytest.mark.parametrize(
    ("part", "kinds", "more"),
    [
        ("generate json", [Generated], {}),
        ("benchmark json", [Generated], {"task": "", "scores": [(Accuracy, Drawn)]}),
        ("replay json", [Replay], {}),
        ("judge json", [Judged], {}),
    ],
)
def test_json_of_what_takes_models(part, kinds, more):
    """Their answers are these records, which the tests of the commands see."""

    def answered(*kinds):
        return {field.name: None for kind in kinds for field in fields(kind)}

    told = {key: [answered(*kinds) for kinds in value] for key, value in more.items()}
    check_keys(part, [{**answered(kinds[0]), **told}])


def test_json_of_a_server_check():
    server = CheckedServer("http://a", "m", "0.32.0", "none", None, 1, 0, None)
    found = ServerCheck(4, 1, 0, 0.5, (server, server))
    answer = {"shared": found.shared, "noise_of": found.noise_of, **asdict(found)}
    check_keys("server-check json", [json.loads(json.dumps(answer))])


def test_json_of_closeness():
    left_out = {LeftOut.OTHER_TEXT: 1, LeftOut.UNREADABLE: 1}
    found = made_up_laws.made_up(left_out=left_out)
    answer = closeness_answer(found, going(found))
    check_keys("closeness json", [{**answer, "settings": {"temperature": 0.7}}])


def test_json_of_an_explanation():
    seen = Candidate(key=1, text="a", kind="text", probability=0.5, noise=0.1)
    option = Option("a", "text", (seen, None), (True, False))
    reason = Reason(
        Divergence(0, 3, "", (1, 2)), ("m", "n"), True, (option,), (0.0, 0.0), (True, True)
    )
    check_keys("explain json", [divergence_answer(reason)])


def test_a_rejected_row_is_what_the_page_says():
    named = [key for key, _ in documented("JSON of the commands")["import json"]]
    assert {f"rejected[].{field.name}" for field in fields(Rejected)} <= set(named)


@pytest.mark.parametrize(
    ("key", "meant", "other"),
    [
        ("by_metric.METRIC…", "by_metric.quiz.order1", "by_metrics"),
        ("models[].b", "models[].b", "models[].b_low"),
        ("risk.RISK.ranks", "risk.gini_tail.ranks", "risk.gini_tail.ranking"),
    ],
)
def test_a_key_stands_for_what_it_says(key, meant, other):
    assert re.fullmatch(pattern(key), meant)
    assert not re.fullmatch(pattern(key), other)
