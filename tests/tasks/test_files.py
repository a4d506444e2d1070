"""Where benchmark data comes from, and rubbish in its place."""

from __future__ import annotations

import gzip
import json

import duckdb
import pytest

from coupled_arena.core.errors import TaskError
from coupled_arena.tasks.data_files import locate
from coupled_arena.tasks.gsm8k import Gsm8k
from coupled_arena.tasks.mmlu import Mmlu
from coupled_arena.tasks.quiz import Quiz

PROBLEM = {"question": "How many?", "answer": "2 + 2 = <<2+2=4>>4\n#### 4"}
CHOICE = {"question": "Which?", "choices": ["w", "x", "y", "z"], "answer": 2, "subject": "things"}
ASKED = {"id": "a-1", "category": "sums", "question": "1 + 1?", "prefix": "=", "answer": "2"}


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values).encode()


@pytest.fixture
def saved(tmp_path):
    def save(content, name="data.jsonl"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return save


@pytest.fixture
def parquet(tmp_path):
    def save(select):
        path = tmp_path / "data.parquet"
        duckdb.sql(f"copy ({select}) to '{path}'")
        return path

    return save


def test_the_same_rows_as_lines_gzipped_and_in_parquet(saved, parquet):
    plain = Gsm8k().read(saved(b"\xef\xbb\xbf" + lines(PROBLEM) + b"\n\n"))
    packed = Gsm8k().read(saved(gzip.compress(lines(PROBLEM)), "data.jsonl.gz"))
    table = Gsm8k().read(parquet("select 'How many?' as question, '2 #### 4' as answer"))
    assert plain == packed == table
    (item,) = plain
    assert (item.prompt.text, item.prompt.id, item.reference) == ("How many?", "gsm8k/1", "4")
    assert "number" in item.prompt.system


def test_multiple_choice_as_published(saved, tmp_path, parquet):
    row = b'"Which, pray, is ""it""?",w,"x, y",z,"two\nlines",C\n'
    saved(row + row, "abstract_algebra_test.csv")
    saved(row, "virology_test.csv")
    items = Mmlu().read(tmp_path)
    assert [item.prompt.id for item in items] == [
        "abstract_algebra/1",
        "abstract_algebra/2",
        "virology/1",
    ]
    assert {item.prompt.category for item in items} == {"abstract_algebra", "virology"}
    assert items[0].prompt.text == 'Which, pray, is "it"?\nA. w\nB. x, y\nC. z\nD. two\nlines'
    assert items[0].reference == "C"
    (from_lines,) = Mmlu().read(saved(lines(CHOICE)))
    (from_table,) = Mmlu().read(
        parquet("select 'Which?' as question, ['w','x','y','z'] as choices, 2 as answer, "
                "'things' as subject")
    )  # fmt: skip
    assert from_lines == from_table
    assert (from_lines.prompt.id, from_lines.reference) == ("things/1", "C")


RUBBISH = [
    (Gsm8k(), b"", "holds no question"),
    (Gsm8k(), b"\n \n", "holds no question"),
    (Gsm8k(), b"\xff\x00q", "line 1 is not valid UTF-8"),
    (Gsm8k(), b"\xff\xfe\x00q", "it is in UTF-16: save it in UTF-8"),
    (Gsm8k(), b"question,answer\n", "holds no question"),
    (Gsm8k(), b"[" * 100_000, "cannot be read: maximum recursion depth"),
    (Gsm8k(), b"[1, 2]\n", "not a JSON object"),
    (Gsm8k(), lines(PROBLEM, {"question": "Q"}), "line 2 has no 'answer'"),
    (Gsm8k(), lines({"q": 1}), "its columns: q"),
    (Gsm8k(), lines(PROBLEM | {"answer": 4}), "answer is 4, not a text"),
    (Gsm8k(), lines(PROBLEM | {"answer": "4"}), "does not end with ####"),
    (Gsm8k(), lines(PROBLEM | {"answer": "#### none"}), "does not end with ####"),
    (Gsm8k(), lines(PROBLEM | {"question": "  "}), "question is '  ', not a text"),
    (Mmlu(), lines(CHOICE | {"choices": ["a", "b", "c"]}), "choices has 3 entries, not 4"),
    (Mmlu(), lines(CHOICE | {"choices": "abcd"}), "not a list of texts"),
    (Mmlu(), lines(CHOICE | {"choices": ["a", "b", "c", 4]}), "not a list of texts"),
    (Mmlu(), lines(CHOICE | {"answer": 4}), "the answer is 4"),
    (Mmlu(), lines(CHOICE | {"answer": True}), "the answer is True"),
    (Mmlu(), lines(CHOICE | {"answer": "E"}), "the answer is 'E'"),
    (Mmlu(), lines(CHOICE | {"answer": "AB"}), "the answer is 'AB'"),
    (Mmlu(), lines({"question": "Q"}), "has no 'choices'"),
    (Quiz(), lines(ASKED, ASKED), "two questions with the id 'a-1'"),
    (Quiz(), lines(ASKED | {"answer": "two"}), "must be a number"),
    (Quiz(), lines(ASKED | {"choices": ["3", "4"]}), "must be one of the choices"),
    (Quiz(), lines(ASKED | {"choices": ["2", "2"]}), "they differ"),
    (Quiz(), lines(ASKED | {"choices": ["2"]}), "has 1 entries"),
]


@pytest.mark.parametrize(("task", "content", "reason"), RUBBISH, ids=[r[2] for r in RUBBISH])
def test_rubbish_is_named(saved, task, content, reason):
    with pytest.raises(TaskError) as told:
        task.read(saved(content))
    assert reason in str(told.value)
    assert "data.jsonl" in str(told.value)
    assert len(str(told.value)) < 400


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"q,a,b,c,A\n", "5 columns"),
        (b"q,a,b,c,d,E\n", "the answer is 'E'"),
        (b"question,A,B,C,D,answer\n", "the answer is 'answer'"),
        (b"q,a,,c,d,A\n", "choice is empty"),
        (b'"q,a,b,c,d,A\n', "cannot be read"),
        (b"\xff\xff,a,b,c,d,A\n", "line 1 is not valid UTF-8"),
        (b"", "holds no question"),
    ],
)
def test_rubbish_tables_are_named(saved, content, reason):
    with pytest.raises(TaskError, match=reason):
        Mmlu().read(saved(content, "some_test.csv"))


def test_broken_containers_are_named(saved, tmp_path):
    for name in ("data.parquet", "data.jsonl.gz"):
        with pytest.raises(TaskError, match="cannot be read"):
            Gsm8k().read(saved(b"not that", name))
    whole = gzip.compress(lines(*[PROBLEM] * 100))
    with pytest.raises(TaskError, match="cannot be read"):
        Gsm8k().read(saved(whole[:-20], "cut.jsonl.gz"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(TaskError, match="holds no CSV"):
        Mmlu().read(tmp_path / "empty")
    with pytest.raises(TaskError, match="cannot be read"):
        Gsm8k().read(tmp_path / "absent.jsonl")


def test_names_of_data(saved):
    path = saved(b"")
    assert locate(str(path), {}) == path
    with pytest.raises(TaskError, match="There is no file nowhere"):
        locate("nowhere.jsonl", {})


@pytest.mark.parametrize("name", ["hub:", "hub:mmlu", "hub:someone/something", "hub:/x/y"])
def test_a_data_set_needs_a_file(name):
    with pytest.raises(TaskError, match=r"Which file .* Known by name: hub:cais/mmlu\."):
        locate(name, Mmlu.published)


@pytest.mark.parametrize(
    "name", ["hub:cais/mmlu", "hub:cais/mmlu/dev.parquet@abc", "hub:a b/c/d.csv"]
)
def test_without_a_network_the_hub_is_named(name):
    with pytest.raises(TaskError, match="cannot be fetched from the hub"):
        locate(name, Mmlu.published)


def test_a_data_set_on_the_hub_is_fetched_by_its_file(monkeypatch, tmp_path):
    asked = []

    def download(*arguments, **options):
        asked.append((*arguments, options))
        return str(tmp_path / "file")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    assert locate("hub:openai/gsm8k", Gsm8k.published) == tmp_path / "file"
    locate("hub:one/two/three/four.parquet@v1", Gsm8k.published)
    assert asked == [
        ("openai/gsm8k", "main/test-00000-of-00001.parquet",
         {"repo_type": "dataset", "revision": None}),
        ("one/two", "three/four.parquet", {"repo_type": "dataset", "revision": "v1"}),
    ]  # fmt: skip
