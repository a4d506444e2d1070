"""Files of prompts that people bring."""

from __future__ import annotations

import json

import duckdb
import pytest

from coupled_arena.core.errors import PromptError
from coupled_arena.core.prompts import read_prompts
from coupled_arena.core.records import Prompt

ROWS = [
    {"text": " Why?", "id": 7, "category": "maths", "system": "Be brief.", "prefix": "Well,"},
    {"prompt": "How\u2028so?", "language": "en", "note": "left out"},
]
PROMPTS = (
    Prompt(" Why?", "7", "maths", None, "Be brief.", "Well,"),
    Prompt("How\u2028so?", language="en"),
)


@pytest.fixture
def saved(tmp_path):
    def save(name, text):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return save


def test_a_prompt_a_line(saved):
    assert read_prompts(saved("a.txt", " Why? \n\n{How}\n")) == (Prompt("Why?"), Prompt("{How}"))


def test_rows_of_every_form(saved, tmp_path):
    lines = saved("a.jsonl", "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS))
    assert read_prompts(lines) == PROMPTS
    assert read_prompts(saved("a.json", json.dumps(ROWS))) == PROMPTS
    duckdb.read_json(str(lines)).write_parquet(str(tmp_path / "a.parquet"))
    assert read_prompts(tmp_path / "a.parquet") == PROMPTS


@pytest.mark.parametrize(("name", "cut"), [("a.CSV", ","), ("a.tsv", "\t")])
def test_a_table_of_a_spreadsheet(saved, name, cut):
    rows = [["text", "category"], ['"What is a lake, and why?"', "geo"], ['"Two\nlines"', ""]]
    text = "\ufeff" + "".join(f"{cut.join(row)}\n" for row in rows)
    told = (Prompt("What is a lake, and why?", category="geo"), Prompt("Two\nlines"))
    found = read_prompts(saved(name, text))
    assert [prompt.text for prompt in found] == [prompt.text for prompt in told]
    assert found[0] == told[0]


def test_endings_and_marks_of_windows(saved):
    why, how = Prompt("Why?"), Prompt("How?")
    assert read_prompts(saved("a.JSONL", '{"text": "Why?"}\n')) == (why,)
    assert read_prompts(saved("a.txt", "\ufeffWhy?\r\nHow?\r\n")) == (why, how)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.txt", "\n \n", "holds no prompt"),
        ("a.jsonl", "", "holds no prompt"),
        ("a.jsonl", '{"text": "x"}\n{"text": \n', "a.jsonl, line 2 is not JSON"),
        ("a.csv", "Why?\nHow?\n", 'line 2: needs a "text" (or "prompt")'),
        ("a.jsonl", "[1]\n", "row 1 is not a JSON object"),
        ("a.jsonl", '{"text": " "}\n', 'line 1: needs a "text" (or "prompt")'),
        ("a.jsonl", '{"text": 3}\n', 'line 1: needs a "text" (or "prompt")'),
    ],
)
def test_what_is_no_prompt_is_told(saved, name, text, complaint):
    with pytest.raises(PromptError) as caught:
        read_prompts(saved(name, text))
    assert complaint in str(caught.value)


@pytest.mark.parametrize("name", ["absent.txt", "absent.jsonl"])
def test_files_that_are_not_there(tmp_path, name):
    with pytest.raises(PromptError, match="cannot be read"):
        read_prompts(tmp_path / name)
