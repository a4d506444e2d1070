"""The reproduce command: what it lists, writes, keeps and leaves out, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import kaleido
import numpy as np
import pytest
from kaleido.errors import ChromeNotFoundError

from coupled_arena.core.errors import ArenaError
from coupled_arena.papers import making
from coupled_arena.papers.item import Item, Made, Needs, Paper
from coupled_arena.papers.making import OutputFolder, make_paper
from coupled_arena.papers.source import PaperSettings, PaperSource, fingerprint
from coupled_arena.views.tables.table import Column, table_of

MAGIC = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.fixture
def votes(tmp_path):
    """Files of votes and verdicts on the same forty battles of two models."""
    rng = np.random.default_rng(1)
    files = {}
    for name, share in (("human", 0.7), ("gpt", 0.6)):
        rows = [
            {
                "num": number,
                "question_id": number,
                "model_a": "able",
                "model_b": "baker",
                "winner": "model_a" if rng.random() < share else "model_b",
            }
            for number in range(40)
        ]
        files[name] = tmp_path / f"{name}.jsonl"
        files[name].write_text("\n".join(map(json.dumps, rows)))
    return ["--votes", files["human"], "--verdicts", f"gpt={files['gpt']}"]


@pytest.fixture
def two_alike(monkeypatch):
    """A paper of two figures that are made alike, one of other data, and one that is not made."""
    asked = []
    columns = (Column("x", int, "A number"),)

    def make(source):
        list(source.track(range(3)))
        asked.append(source.settings)
        return Made({"numbers": table_of(columns, [{"x": 1}])}, values={"mean": 2.0})

    def needs_more(source):
        raise ArenaError("Give more.")

    items = (
        Item("figure-1", "One", Needs.NOTHING, make, {"mean": 1.5}),
        Item("figure-2", "Two", Needs.NOTHING, make, {"mean of others": 3.0}),
        Item("table-1", "Three", Needs.VOTES, needs_more),
        Item("table-2", "Four", Needs.NOTHING, reason="It is a text."),
    )
    monkeypatch.setattr(making, "PAPERS", (Paper("made-up", "Made up", items),))
    return asked


def test_every_item_is_made_or_says_why_not(call):
    code, out, _ = call("reproduce", "--list", "--json")
    listed = json.loads(out)["items"]
    assert code == 0
    assert [(one["paper"], one["item"]) for one in listed] == [
        (paper.name, item.name) for paper in making.PAPERS for item in paper.items
    ]
    assert all(one["made"] or one["reason"] for one in listed)
    assert len({(one["paper"], one["item"]) for one in listed}) == len(listed)


@pytest.mark.slow
def test_pictures_tables_and_numbers(call, votes, tmp_path):
    out = tmp_path / "out"
    code, text, err = call("reproduce", "judge", "Figure 3", *votes, "--out", out)
    assert code == 0, err
    assert "able" in text
    assert "models worth more than two labels" not in text  # a number of the paper's own models
    stem = out / "judge-figure-3"
    for kind, magic in MAGIC.items():
        assert stem.with_suffix(f".{kind}").read_bytes().startswith(magic)
    answer = json.loads(stem.with_suffix(".json").read_text())
    assert {*answer["files"], stem.with_suffix(".json").name} == {p.name for p in out.iterdir()}
    (rows,) = answer["tables"].values()
    header, *lines = stem.with_suffix(".csv").read_text().splitlines()
    assert header.split(",") == list(rows[0])
    assert len(lines) == len(rows) == 2
    assert answer["settings"]["alpha"] == []


@pytest.mark.slow
def test_pictures_ask_no_host_outside(call, votes, tmp_path, monkeypatch):
    pages = []

    def draw(figures, *, kopts, cancel_on_error):
        pages.append(kaleido.PageGenerator(**kopts).generate_index())

    monkeypatch.setattr(kaleido, "write_fig_from_object_sync", draw)
    code, *_ = call("reproduce", "judge", "figure-3", *votes, "--out", tmp_path / "out")
    assert code == 0
    assert "http" not in pages[0]


@pytest.mark.slow
def test_without_a_browser_there_are_pages(call, votes, tmp_path, monkeypatch, caplog):
    def draw(*_, **__):
        raise ChromeNotFoundError

    monkeypatch.setattr(kaleido, "write_fig_from_object_sync", draw)
    out = tmp_path / "out"
    code, *_ = call("reproduce", "judge", "figure-3", *votes, "--out", out)
    assert code == 0
    assert "install chromium" in caplog.text
    assert "plotly" in (out / "judge-figure-3.html").read_text()


@pytest.mark.slow
def test_a_browser_that_fails_is_told(call, votes, tmp_path, monkeypatch):
    def draw(*_, **__):
        raise RuntimeError("it died\nat once")

    monkeypatch.setattr(kaleido, "write_fig_from_object_sync", draw)
    monkeypatch.setattr("kaleido.errors.BrowserFailedError", RuntimeError)
    out = tmp_path / "out"
    code, _, err = call("reproduce", "judge", "figure-3", *votes, "--out", out)
    assert code == 1
    assert "(it died): take --figures html." in err
    assert not (out / "judge-figure-3.json").exists()


def test_a_paper_is_made_as_far_as_the_data_go(call, two_alike, tmp_path):
    code, out, err = call("reproduce", "made-up", "--out", tmp_path, "--json")
    assert code == 0, err
    answer = json.loads(out)
    (one,) = answer["items"]
    assert (one["item"], one["also"]) == ("figure-1", ["figure-2"])
    assert one["published"] == [
        {"what": "mean", "published": 1.5, "made": 2.0, "difference": 0.5},
        {"what": "mean of others", "published": 3.0, "made": None, "difference": None},
    ]
    unnamed, said = answer["left_out"]
    assert said == {"item": "table-2", "reason": "It is a text."}
    assert unnamed["item"] == "table-1"
    assert unnamed["reason"].startswith("it is made from votes: a store, or --votes. ")
    assert "arena.duckdb cannot be opened" in unnamed["reason"]
    assert f"made-up table-1 is left out: {unnamed['reason']}" in err


def test_what_a_paper_states_stands_beside_ours(call, two_alike, tmp_path):
    code, out, err = call("reproduce", "made-up", "--out", tmp_path)
    assert code == 0, err
    rows = [line.split() for line in out.splitlines()]
    assert ["mean", "1.5", "2", "+0.5"] in rows
    assert "mean of others" not in out  # these data do not have it


def test_what_is_missing_is_told_before_anything_is_simulated(two_alike):
    (paper,) = making.PAPERS
    told = []

    def missing():
        raise ArenaError("There is none.")

    source = PaperSource(PaperSettings(), missing, has_store=False)
    place = OutputFolder(Path("nowhere"), (), "", again=True)

    def stop(name):
        assert name == "figure-1 (3 of 3)"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_paper(paper, source, place, told.append, stop)
    assert told == [
        "made-up table-1 is left out: it is made from votes: a store, or --votes. There is none."
    ]
    assert not two_alike


def test_what_is_there_is_kept_until_something_changes(call, two_alike, tmp_path):
    again = ["reproduce", "made-up", "--out", tmp_path, "--json"]
    for _ in range(2):
        code, out, _ = call(*again)
        assert code == 0
    assert len(two_alike) == 1
    assert json.loads(out)["kept"] == ["figure-1"]
    call(*again, "--repeats", "3")
    call(*again, "--repeats", "3", "--again")
    (tmp_path / "made-up-figure-1.json").write_text('{"paper": ')  # cut off by a full disk
    call(*again, "--repeats", "3")
    assert len(two_alike) == 4


def test_a_fingerprint_changes_with_its_files(tmp_path):
    path = tmp_path / "votes.csv"
    seen = {fingerprint([path])}
    for text in ("a", "ab"):
        path.write_text(text)
        seen.add(fingerprint([path]))
    assert len(seen) == 3
    assert fingerprint([path]) in seen


def test_a_fingerprint_changes_with_what_a_folder_holds_and_with_names(tmp_path):
    inside = tmp_path / "runs" / "a.jsonl"
    inside.parent.mkdir()
    seen = set()
    for text in ("a", "ab"):
        inside.write_text(text)
        seen |= {fingerprint([tmp_path], (name,)) for name in (None, "small")}
    assert len(seen) == 4


def test_an_item_alone_bears_its_own_numbers(call, two_alike, tmp_path):
    code, out, _ = call("reproduce", "made-up", "figure-2", "--out", tmp_path, "--json")
    assert code == 0
    answer = json.loads(out)
    assert (answer["item"], answer["also"]) == ("figure-2", [])
    assert [one["what"] for one in answer["published"]] == ["mean of others"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "Name a paper"),
        (["novel"], "There is no paper 'novel'"),
        (["made-up", "figure-9"], "made-up has no 'figure-9'; it has: figure-1"),
        (["made-up", "table-2"], "made-up table-2 is not made here: It is a text."),
        (["made-up", "table-1"], "Give more."),
        (["made-up", "--figures", "gif"], "--figures gif: give some of svg, png, pdf, html."),
        (["made-up", "--alpha", "0.05,2"], "--alpha is an error level between 0 and 1"),
        (["made-up", "--sizes", "many"], "separated by commas, not 'many'"),
        (["made-up", "--verdicts", "gpt=x"], "name that file, too"),
        (["made-up", "--votes", "v", "--verdicts", "x"], "give NAME=FILE"),
        (["made-up", "--votes", "v", "--db", "x"], "leave one of them out"),
    ],
)
def test_what_is_refused(call, two_alike, tmp_path, monkeypatch, arguments, told):
    monkeypatch.chdir(tmp_path)
    code, _, err = call("reproduce", *arguments)
    assert code == 1
    assert told in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(call, two_alike, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = call("reproduce", "made-up", "figure-1", "--out", tmp_path / "file")
    assert code == 1
    assert "cannot be written" in err


def test_nothing_to_make_it_from(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rubbish.csv").write_text("a\n1\n")
    for arguments in (["judge", "figure-2"], ["judge", "figure-3", "--votes", "rubbish.csv"]):
        code, _, err = call("reproduce", *arguments, "--out", "out")
        assert code == 1, arguments
        assert "Error: " in err
    assert not (tmp_path / "out").exists()


def test_a_paper_of_nothing_but_reasons(call, two_alike, tmp_path, monkeypatch):
    (paper,) = making.PAPERS
    monkeypatch.setattr(making, "PAPERS", (replace(paper, items=paper.items[2:]),))
    code, _, err = call("reproduce", "made-up", "--out", tmp_path)
    assert code == 1
    assert "Nothing of made-up can be made from this" in err
