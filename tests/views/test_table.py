"""One list of columns, and every face that comes from it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
import pytest

from coupled_arena.views.tables.table import BETWEEN, LEVEL, Column, Table, span, table_of
from tests.dictionary import RESULTS


class Kind(StrEnum):
    GOOD = "good"


@dataclass
class Fruit:
    name: str
    kind: Kind
    count: int | None
    price: float
    fresh: bool | None


COLUMNS = (
    Column("name", str, "What it is called", heading="Fruit"),
    Column("kind", str, "How good it is"),
    Column("count", int, "How many there are", heading="How\nmany"),
    Column("price", float, "In shillings", heading="Price", text=".2f", strong=True),
    Column("fresh", bool, "Whether it is fresh"),
    Column(
        "total",
        float,
        "In shillings",
        lambda row: np.float64(row.price) * (row.count or 0),
        "Total",
        lambda row: span(0, row.price, ".1f"),
    ),
)
ROWS = (
    Fruit("<b>apple</b>, [red]", Kind.GOOD, 1200, 0.5, True),
    Fruit("pear", Kind.GOOD, None, float("nan"), None),
)


@pytest.fixture
def table():
    return table_of(COLUMNS, iter(ROWS))


def test_json_holds_what_is_known_and_null(table):
    assert json.loads(json.dumps(table.records(), allow_nan=False)) == [
        {
            "name": "<b>apple</b>, [red]",
            "kind": "good",
            "count": 1200,
            "price": 0.5,
            "fresh": True,
            "total": 600.0,
        },
        {
            "name": "pear",
            "kind": "good",
            "count": None,
            "price": None,
            "fresh": None,
            "total": None,
        },
    ]


@pytest.mark.parametrize("rows", [ROWS, ROWS[:1], ()])
def test_a_data_frame_has_the_kinds_of_its_columns_even_without_rows(rows):
    frame = Table(COLUMNS, rows).to_frame()
    assert list(frame) == [column.name for column in COLUMNS]
    assert pd.api.types.is_integer_dtype(frame["count"])
    assert pd.api.types.is_bool_dtype(frame["fresh"])
    assert frame["price"].dtype == frame["total"].dtype == np.float64
    assert len(frame) == len(rows)


def test_what_is_unknown_is_missing_in_a_data_frame(table):
    assert table.to_frame().isna().sum().to_dict() == {
        "name": 0,
        "kind": 0,
        "count": 1,
        "price": 1,
        "fresh": 1,
        "total": 1,
    }


def test_csv_has_the_same_names_and_reads_back(table, tmp_path):
    table.to_csv(tmp_path / "fruit.csv")
    text = (tmp_path / "fruit.csv").read_bytes().decode()
    assert text == table.csv()
    assert text.splitlines()[0] == "name,kind,count,price,fresh,total"
    back = pd.read_csv(tmp_path / "fruit.csv", dtype={"count": "Int64", "fresh": "boolean"})
    pd.testing.assert_frame_equal(back, table.to_frame(), check_dtype=False)


def test_text_is_plain_aligned_and_whole(table):
    long = table_of(COLUMNS, [Fruit("n" * 300, Kind.GOOD, 1, 2.0, True), *ROWS])
    head, more, first, *rest = long.text().splitlines()
    assert head.split() == ["How"]
    assert more.split() == ["Fruit", "many", "Price", "Total"]
    assert first.split() == ["n" * 300, "1", "2.00", "0.0", "to", "2.0"]
    assert rest[0].startswith("<b>apple</b>, [red]  ")
    assert rest[0].split()[-5:] == ["1,200", "0.50", "0.0", "to", "0.5"]
    assert rest[1].split() == ["pear", "–", "–", "0.0", "to", "–"]
    assert "\x1b" not in long.text()


def test_text_is_the_same_in_a_notebook_and_on_a_terminal(table, monkeypatch):
    plain = table.text()
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert table.text() == plain


def test_markup_escapes_what_comes_from_outside(table):
    text = table.html()
    assert '<th scope="row">&lt;b&gt;apple&lt;/b&gt;, [red]</th>' in text
    assert '<th scope="col">How<br>many</th>' in text
    assert '<td data-value="0.5"><b>0.50</b></td>' in text
    assert text == table._repr_html_()
    assert Table(COLUMNS, ()).html() == ""


def test_some_columns_and_another_order_for_readers(table):
    chosen = table.only("price", "name")
    assert list(chosen.records()[1]) == ["price", "name"]
    shown = table.showing("price", "name")
    assert shown.records() == table.records()
    assert shown.text().splitlines()[0].split() == ["Price", "Fruit"]
    for wrong in (table.only, table.showing):
        with pytest.raises(KeyError):
            wrong("colour")


def test_headings_name_the_level_of_intervals():
    columns = (COLUMNS[0], Column("price", float, "", heading=LEVEL))
    made = table_of(columns, ROWS, alpha=0.1)
    for face in (made.text(), made.html(), made.only("price").text()):
        assert "90% interval" in face


@pytest.mark.parametrize("name", RESULTS)
def test_every_column_of_every_result_is_explained_and_named_once(name):
    names = [column.name for column in RESULTS[name]]
    assert len(set(names)) == len(names)
    plain = [each.replace("_NAME_", "_") for each in names]  # a column for each judge
    assert all(re.fullmatch("[a-z][a-z0-9_]*", each) for each in plain)
    assert all(column.meaning for column in RESULTS[name])


def test_names_that_stand_together_lead_each_to_its_own_place():
    names = ("name", "kind")
    pair = Column(*("name", str, "", None, "Both"), names=names)
    fruit = Fruit("<pear>", Kind.GOOD, 1, 1.0, True)
    table = table_of([pair], [fruit])
    led = table.html(address=lambda row, column: f"/{column}/{row.count}")
    name, kind = '<a href="/name/1">&lt;pear&gt;</a>', '<a href="/kind/1">good</a>'
    assert f'<th scope="row">{name}{BETWEEN}{kind}</th>' in led
    half = table.html(address=lambda _, column: None if column == "name" else "/")
    assert f'&lt;pear&gt;{BETWEEN}<a href="/">good</a>' in half
    assert f"&lt;pear&gt;{BETWEEN}good" in table.html()
