"""Tables as spreadsheets write them, with named columns; what is no table says how to save it."""

from __future__ import annotations

import gzip

import pytest

from coupled_arena.core.errors import StoreError
from coupled_arena.store.transfer.foreign_rows import ColumnMap
from coupled_arena.store.transfer.importing import import_files
from tests.store.test_foreign_votes import wins

HEAD = ["Frage Nr", "linkes Modell", "rechtes Modell", "wer gewinnt"]
SAID = dict(zip(("question_id", "model_a", "model_b", "winner"), HEAD, strict=True))
MAP = ColumnMap.of({**SAID, "1": "model_a", "2": "model_b", "0": "tie"})


def table(name, mark=";", *, head=HEAD, end="\n", behind="", more=""):
    """Return a CSV in which red beats blue, loses to it and ties with it."""
    rows = [("red", "blue", "1"), ("red", "blue", "2"), ("blue", "red", "0")]
    lines = [mark.join(head)]
    for n, (first, second, won) in enumerate(rows):
        lines.append(mark.join([f'"{name} {n}{more}"', first, second, won + behind]))
    return end.join([*lines, ""])


def test_what_spreadsheets_write_is_read(store, tmp_path):
    blanks = [f" {name.upper()} " for name in HEAD]
    written = {
        "semicolons": table("semicolons").encode(),
        "tabs": table("tabs", "\t").encode(),
        "bom": b"\xef\xbb\xbf" + table("bom", end="\r\n").encode(),
        "breaks": table("breaks", ",", more="\nand more; of it").encode(),
        "blanks": table("blanks", ",", head=blanks).encode(),
        "decimals": table("decimals", behind=",0").encode(),
        "packed.csv.gz": gzip.compress(table("packed").encode()),
    }
    for name, content in written.items():
        (tmp_path / name).write_bytes(content)
    done = import_files(store, [tmp_path / name for name in written], columns=MAP)
    assert (done.votes, done.rejected) == (3 * len(written), ())
    assert wins(store) == {"red": 1.5 * len(written), "blue": 1.5 * len(written)}
    assert not any("not read" in note for note in done.notes)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"PK\x03\x04[Content_Types].xml", "it is a workbook or a ZIP file: save the sheet as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "it is a workbook of old Excel: save the sheet as CSV"),
        (table("wide").encode("utf-16"), "it is in UTF-16: save it in UTF-8"),
        (b"sep=;\r\n" + table("hint").encode(), "its first line, sep=, is for Excel alone"),
        (b"\xef\xbb\xbfsep=;\r\n" + table("hint").encode(), "delete this line"),
    ],
)
def test_what_is_no_table_says_how_to_save_it(store, tmp_path, content, why):
    (tmp_path / "votes").write_bytes(content)
    with pytest.raises(StoreError, match=f"cannot be read: .*{why}"):
        import_files(store, [tmp_path / "votes"], columns=MAP)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("id,traceId,name,dataType,value,stringValue", "names no model and no item"),
        ("id,datasetItemId,traceId,datasetName", "items of Langfuse's runs without scores"),
        ("id,experimentItemId,experimentName,output", "give it to `leaderboard --scores`"),
    ],
)
def test_tables_of_langfuse_say_what_to_ask_for(store, tmp_path, names, said):
    (tmp_path / "votes.csv").write_text(f"{names}\n{',x' * names.count(',')}\n")
    with pytest.raises(StoreError, match=said):
        import_files(store, [tmp_path / "votes.csv"])
