"""Files in a known form in which nobody voted: a line says what they hold, and what a vote is."""

from __future__ import annotations

import pytest

import coupled_arena as ca
from coupled_arena.core.errors import ArenaError, StoreError
from coupled_arena.store.database import Store
from coupled_arena.store.transfer.foreign_rows import FORMS
from coupled_arena.store.transfer.importing import import_files
from tests.store.foreign_files import (
    ARGILLA,
    ARGILLA_1,
    ARGILLA_FLAT,
    CHOSEN,
    COMPARIA,
    CROWD_KIT,
    EVALICA,
    FASTCHAT,
    FEEDBACK,
    GENAI,
    LABEL_STUDIO,
    LABEL_STUDIO_0,
    LABEL_STUDIO_MIN,
    LANGSMITH,
    MTEB,
    PANDA_LM,
    RENAMED,
    SEARCH,
    alpaca,
    feedback,
    reaction,
    task,
    write_array,
    write_csv,
    write_lines,
)


def lacking(row, *names):
    """Return a row without the columns that begin with these names."""
    return {name: value for name, value in row.items() if not name.startswith(names)}


PLAIN = lacking(ARGILLA_FLAT[0], "better.") | {"status": "pending", "_server_id": "s"}
UNRANKED = ARGILLA_1[0] | {"ranking": [], "ranking-suggestion-metadata": {}}
# By form: rows without a vote, and the words that are counted.
SILENT = [
    (
        "Open WebUI, feedback export",
        [feedback(1, None, "red", "blue"), feedback(2, 1, "red")],
        "1 1",
    ),
    ("compar:IA, votes", COMPARIA[3:], ""),
    ("compar:IA, votes with other names", RENAMED[3:], ""),
    ("compar:IA, reactions", [reaction("p", "a", None), reaction("p", "b", None)], ""),
    ("FastChat, raw logs", [*FASTCHAT[:1] * 3, FASTCHAT[0] | {"type": "flag"}], "chat 3, flag 1"),
    ("MTEB Arena, raw logs", MTEB[4:], "share 1"),
    ("Search Arena", SEARCH[3:], ""),
    ("evalica", EVALICA[4:] * 2, "ignore 2"),
    ("crowd-kit", [CROWD_KIT[0] | {"label": None}], ""),
    ("GenAI-Arena", [GENAI[0] | {"vote_type": ""}], ""),
    ("Label Studio, JSON", LABEL_STUDIO[5:] * 2, ""),
    ("Label Studio, JSON", [task(4, "left", was_cancelled=True)], ""),
    ("Label Studio, JSON before 1.0", LABEL_STUDIO_0[5:], ""),
    ("Label Studio, JSON-MIN and CSV", [LABEL_STUDIO_MIN[0] | {"pw": None}], ""),
    ("Argilla 2, records", [ARGILLA[0] | {"responses": {}}], ""),
    ("Argilla 2, flat records", [PLAIN] * 2, ""),
    (
        "Argilla 2, flat records",
        [PLAIN | lacking(ARGILLA_FLAT[0], "p") | {"better.responses": None}],
        "",
    ),
    ("Argilla 1, data set", [UNRANKED], ""),
    ("LangSmith, pairs of experiments", LANGSMITH[4:], ""),
    ("LangSmith, feedback", FEEDBACK[8:], ""),
    ("PandaLM, people's labels", [lacking(PANDA_LM[0], "annotator")], ""),
    ("Preferences with models", [CHOSEN[0] | {"chosen_model": None}], ""),
    ("AlpacaEval annotations", [alpaca(n, None) for n in range(3)], ""),
]


@pytest.fixture(scope="module")
def empty():
    with Store.in_memory() as store:
        yield store


def refused(store, *paths):
    with pytest.raises(StoreError) as error:
        import_files(store, paths)
    return str(error.value)


@pytest.mark.parametrize(("title", "given", "words"), SILENT)
def test_a_file_without_votes_says_what_it_holds(empty, tmp_path, title, given, words):
    path = tmp_path / "votes"
    write_array(path, given)
    rows = "1 row is" if len(given) == 1 else f"{len(given)} rows are"
    told = refused(empty, path)
    assert told.startswith(
        f"{path} holds no vote: its {rows} of {title}{words and f' ({words})'}. A "
    )
    assert told.endswith(".")


def test_every_form_has_such_a_case():
    assert {form.title for form in FORMS} <= {title for title, *_ in SILENT}


def test_controls_that_are_not_read_are_told(empty, tmp_path):
    ranked = task(1, "left")
    ranked["annotations"][0]["result"] = [
        {"type": "ranker", "from_name": "r", "value": {"ranker": {"rank": ["answer2", "answer1"]}}},
        {"type": "rating", "from_name": "s", "value": {"rating": 5}},
    ]
    write_array(tmp_path / "votes", [ranked])
    said = refused(empty, tmp_path / "votes")
    assert said.endswith("and other controls, such as Ranker and Rating, are not read.")
    assert "Export again" not in said


def test_the_same_is_said_of_a_csv_and_of_a_table(empty, tmp_path):
    import pandas as pd

    write_csv(tmp_path / "votes", FASTCHAT[:1] * 2)
    told = refused(empty, tmp_path / "votes")
    assert "holds no vote: its 2 rows are of FastChat, raw logs (chat 2). A vote is a row" in told
    with pytest.raises(ArenaError) as error:
        ca.rank(pd.DataFrame(FASTCHAT[:1] * 2))
    assert str(error.value) == told.replace(str(tmp_path / "votes"), "The table")


def test_a_file_without_votes_stops_no_other(empty, tmp_path):
    quiet, torn, voted = (tmp_path / name for name in ("quiet", "torn", "voted"))
    write_lines(quiet, FASTCHAT[:1] * 2)
    write_lines(torn, FASTCHAT[:1])
    torn.write_text(torn.read_text() + '{"type": "cha')
    write_lines(voted, FASTCHAT)
    assert refused(empty, quiet, torn).endswith(" No vote in 1 more file, either.")
    with Store.in_memory() as store:
        done = import_files(store, [quiet, voted, torn])
    assert (done.rows, done.votes, done.unvoted, len(done.rejected)) == (9, 4, 4, 1)
    assert not done.all_rejected
    assert "4 rows without a vote: left out." in done.notes
    assert sum("holds no vote: its 2 rows are of FastChat" in note for note in done.notes) == 1


def test_rows_without_a_vote_do_not_hide_those_that_are_refused(empty, tmp_path):
    write_lines(tmp_path / "votes", [FASTCHAT[0], FASTCHAT[1] | {"states": []}])
    assert refused(empty, tmp_path / "votes").endswith("votes, line 2: states must be two.")
