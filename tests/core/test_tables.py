"""One table in every form that a file can have, and files that are none."""

from __future__ import annotations

import gzip
import json

import duckdb
import pytest

from coupled_arena.core.errors import ScoreError
from coupled_arena.core.tables import read_frame, read_rows

ROWS = [{"model": "a", "score": 0.5}, {"model": 'b "é",\n', "score": -1e-7}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = 'model,score\na,0.5\n"b ""é"",\n",-1e-7\n'.encode()
BOM = b"\xef\xbb\xbf"


@pytest.fixture
def saved(tmp_path):
    def save(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return save


@pytest.mark.parametrize(
    ("name", "content", "numbers"),
    [
        ("a.csv", CSV, [2, 3]),
        ("a.csv", BOM + CSV.replace(b"a,", b"\n ,\na,"), [4, 5]),
        ("a.csv", CSV.replace(b"\na", b"\r\na"), [2, 3]),
        ("a.csv.gz", gzip.compress(CSV, mtime=0), [2, 3]),
        ("a.jsonl", LINES, [1, 2]),
        ("a.jsonl", BOM + LINES.replace(b"\n", b"\r\n \r\n"), [1, 3]),
        ("a.jsonl.gz", gzip.compress(LINES, mtime=0), [1, 2]),
        ("a.json", json.dumps(ROWS).encode(), [1, 2]),
        ("a.json", LINES, [1, 2]),
        ("scores", LINES, [1, 2]),
        ("scores", CSV, [2, 3]),
        ("a.tsv", CSV.replace(b",", b"\t").replace(b'\t\n"', b',\n"'), [2, 3]),
        ("a.csv", LINES, [1, 2]),
        ("a.jsonl", json.dumps(ROWS).encode(), [1, 2]),
    ],
)
def test_every_form_has_the_same_rows(saved, name, content, numbers):
    rows = list(read_rows(saved(name, content), ScoreError))
    assert [row.number for row in rows] == numbers
    assert [row.values | {"score": float(row.values["score"])} for row in rows] == ROWS


@pytest.mark.parametrize("form", ["{}\n", "[{}]"])
def test_half_a_character_of_a_text_cut_short_is_told_as_such(saved, form):
    line = '{"text": "\\ud83d\\ude00 \\uD83D", "\\udc00": NaN}'
    name = "a.json" if form[0] == "[" else "a.jsonl"
    (row,) = read_rows(saved(name, form.replace("{}", line).encode()), ScoreError)
    assert row.values["text"] == "\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}"
    assert set(row.values) == {"text", "\N{REPLACEMENT CHARACTER}"}
    assert len(read_frame(saved(name, form.replace("{}", line).encode()), ScoreError)) == 1


def test_parquet_has_the_same_rows(tmp_path):
    path = tmp_path / "it's [1] *.parquet"
    lines = tmp_path / "a.jsonl"
    lines.write_bytes(LINES)
    duckdb.read_json(str(lines)).write_parquet(str(path))
    assert [row.values for row in read_rows(path, ScoreError)] == ROWS
    first, _ = read_rows(path.rename(tmp_path / "no ending"), ScoreError, name="scores")
    assert (first.where, first.values) == ("scores, row 1", ROWS[0])


def test_a_record_is_where_it_begins(saved):
    rows = read_rows(saved("a.csv", b'a\n"1\n2"\n\n3\n'), ScoreError, name="it")
    assert [(row.where, row.values) for row in rows] == [
        ("it, line 2", {"a": "1\n2"}),
        ("it, line 5", {"a": "3"}),
    ]


def test_columns_without_names_have_numbers(saved):
    rows = read_rows(saved("a.csv", b"q,A\nr,B,C\n"), ScoreError, header=False)
    assert [row.values for row in rows] == [{0: "q", 1: "A"}, {0: "r", 1: "B", 2: "C"}]


def test_a_frame_knows_its_lines(saved):
    frame = read_frame(saved("a.csv", b"a,b\n\n1,x\n2,\n"), ScoreError)
    assert (frame.index.name, list(frame.index)) == ("line", [3, 4])
    assert frame.to_dict("list") == {"a": ["1", "2"], "b": ["x", ""]}
    frame = read_frame(saved("a.json", b'[{"a": 1}, {"a": 2, "b": true}]'), ScoreError)
    assert (frame.index.name, list(frame.index), list(frame["a"])) == ("row", [1, 2], [1, 2])


@pytest.mark.parametrize(("content", "columns"), [(b"a, b\n\n", ["a", "b"]), (b" \n", [])])
def test_a_frame_without_rows_has_its_columns(saved, content, columns):
    frame = read_frame(saved("a.csv", content), ScoreError)
    assert (len(frame), list(frame.columns)) == (0, columns)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.csv", b"a,a\n1,2\n", "line 1 must give each column its own name"),
        ("a.csv", b"\na,\n1,2\n", "line 2 must give each column"),
        ("a.csv", b",a,a\n1,2,3\n", "line 1 must give each column"),
        ("a.csv", b'a,b\n"1\n",2\n3\n', "line 4 has 1 columns, the first line 2"),
        ("a.csv", b'a,b\n1,"2\n3,4\n', "cannot be read as a CSV file: unexpected end of data"),
        ("a.csv", b"a\n\xff\n", ", line 2 is not valid UTF-8: save the file as UTF-8."),
        ("a.csv.gz", CSV, "cannot be read: Not a gzipped file"),
        (
            "a.csv.gz",
            gzip.compress(CSV * 99, mtime=0)[:-9],
            "cannot be read: Compressed file ended",
        ),
        ("a.csv.gz", gzip.compress(CSV, mtime=0)[:10] + b"\xff" * 30, "cannot be read: Error -3"),
        ("a.jsonl", b'{"a": 1}\n{"a": \n', "line 2 is not JSON: Expecting value"),
        ("a.jsonl", b"[" * 100_000, "cannot be read: "),
        ("a.jsonl", b"\n[1]\n", "row 1 is not a JSON object"),
        ("a.json", b'[{"a": 1}, 2]', "row 2 is not a JSON object"),
        ("a.json", b'[{"a": 1}', "cannot be read: Expecting ',' delimiter"),
        ("a.parquet", b"PAR1", "cannot be read: "),
        ("absent", None, "cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_table_is_told_on_one_line(saved, tmp_path, name, content, complaint):
    if content is not None:
        saved(name, content)
    with pytest.raises(ScoreError) as caught:
        read_frame(tmp_path / name, ScoreError)
    assert str(tmp_path / name) in str(caught.value)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_numbers_of_rows_without_a_name_are_no_column(tmp_path):
    """As pandas writes them before the first column."""
    (tmp_path / "a.csv").write_text(",model,score\n0,ann,1\n1,bob,\n")
    rows = list(read_rows(tmp_path / "a.csv", ScoreError))
    assert [row.values for row in rows] == [
        {"model": "ann", "score": "1"},
        {"model": "bob", "score": ""},
    ]
    (tmp_path / "b.csv").write_text(",model,score\n0,ann\n")
    with pytest.raises(ScoreError, match="has 2 columns, the first line 3"):
        list(read_rows(tmp_path / "b.csv", ScoreError))


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.csv", CSV.replace(b"\na,", b"\n\xe9,"), 2),
        ("a.csv", b"model\n" + b"a\n" * 20_000 + b"caf\xe9\n" + b"a\n" * 20_000, 20_002),
        ("a.csv.gz", gzip.compress(CSV + b"caf\xe9,1\n", mtime=0), 5),
        ("a.jsonl", LINES + b'{"model": "caf\xe9"}\n', 3),
        ("a.json", b'[\n{"model": "caf\xe9"}\n]', 2),
    ],
)
def test_a_byte_that_is_no_utf_8_is_named_by_its_line(saved, name, content, line):
    path = saved(name, content)
    with pytest.raises(ScoreError) as error:
        read_frame(path, ScoreError)
    assert str(error.value) == f"{path}, line {line} is not valid UTF-8: save the file as UTF-8."
