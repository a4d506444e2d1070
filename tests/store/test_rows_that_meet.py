"""Which rows of a file are one battle, one vote; which words name a winner; what is said of it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import coupled_arena as ca
from coupled_arena.api.checks import selection_of
from coupled_arena.api.rankings import BoardSettings
from coupled_arena.core.choices import (
    BoardSource,
    Covariance,
    Cutoff,
    Scope,
    TieScore,
    Voters,
    Weighting,
)
from coupled_arena.core.records import Outcome
from coupled_arena.core.vote_columns import WINNERS, outcome_of
from coupled_arena.store.transfer.importing import import_files
from tests.families import first_of
from tests.stats.real_votes import FOLDER, golden, needs_real_votes
from tests.store.given_rows import NOBODY, counts
from tests.stored import rows

DOCS = Path(__file__).parents[2] / "docs"
FIRST, SECOND, TIE, BOTH_BAD = range(4)
BOTH_ORDERS = """question_id,model_a,model_b,winner
q1,red,blue,model_a
q1,blue,red,model_b
q2,red,blue,model_a
q2,blue,red,model_a
q3,red,blue,model_a
q3,blue,red,model_a
q4,red,blue,model_b
q4,blue,red,model_a
"""
PEOPLE = """question_id,model_a,model_b,winner
q1,red,blue,model_a
q2,red,blue,model_a
q3,red,blue,model_b
q4,red,blue,tie
"""


@pytest.fixture
def file(tmp_path):
    """Write a file: a text, or rows as CSV."""

    def write(content, name="rows.csv"):
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content)
        else:
            with path.open("w", newline="") as stream:
                table = csv.DictWriter(stream, list(content[0]))
                table.writeheader()
                table.writerows(content)
        return path

    return write


def told(done):
    return (done.rows, done.battles, done.votes, done.verdicts, len(done.rejected))


def board_of(store, source="human", judge=None):
    settings = (0.05, Cutoff.MAX_T, Scope.JOINT, TieScore.HALF, Voters.LIKE)
    settings += (Covariance.CORRECTED, Weighting.STRATIFIED, False)
    return BoardSettings(BoardSource(source), *settings).board(
        store, selection_of(store, judge=judge)
    )


def vote(winner="model_a", **more):
    return {"model_a": "red", "model_b": "blue", "winner": winner, **more}


# A judge in both orders


@pytest.mark.parametrize("people_first", [True, False])
def test_a_judge_asked_in_both_orders_meets_people_and_itself(store, file, people_first):
    people, judge = file(PEOPLE, "people.csv"), file(BOTH_ORDERS, "judge.csv")
    for path, name in [(people, None), (judge, "j")][:: 1 if people_first else -1]:
        assert import_files(store, [path], judge=name).rejected == ()
    assert store.version() == (4, 4, 8, 0)
    labelled = counts(store, "j").labelled[2]
    # In the order of the alphabet blue is the first: red, tie, tie and blue are the judge's words.
    assert labelled.sum() == 4
    assert labelled[1, 0, FIRST, FIRST] + labelled[0, 1, SECOND, SECOND] == 1
    assert labelled[..., TIE].sum() == 2
    assert counts(store, "j").unlabelled.sum() == 0


def test_what_the_audit_says_of_both_orders(call, tmp_path, file):
    db = tmp_path / "arena.duckdb"
    assert call("import", file(PEOPLE, "people.csv"), "--db", db)[0] == 0
    code, out, _ = call(
        "import", file(BOTH_ORDERS, "judge.csv"), "--judge", "j", "--db", db, "--json"
    )
    assert (code, json.loads(out)["battles"], json.loads(out)["verdicts"]) == (0, 0, 8)
    _, out, _ = call("audit", "--judge", "j", "--db", db)
    assert "Judge and people say the same of 25.0% of the 4 comparisons that have both." in out
    assert "names the other model in 50.0% of 4 pairs" in out
    _, out, _ = call("audit", "--judge", "j", "--db", db, "--json")
    bias = {each["model"]: each["judge_bias"] for each in json.loads(out)["models"]}
    assert bias["red"] == pytest.approx(-0.25)


def test_a_third_verdict_in_one_order_is_a_battle_of_its_own_and_told(store, file):
    third = BOTH_ORDERS + "q1,red,blue,tie\n"
    done = import_files(store, [file(third)], judge="j")
    assert told(done) == (9, 5, 0, 9, 0)
    assert done.notes == (
        "1 row with the question, the models and the voter of an earlier row: each is a battle of "
        "its own.",
    )


def test_people_who_were_asked_in_both_orders_have_voted_twice(store, file):
    shown = [vote(question_id="q"), {**vote("model_b", question_id="q"), "model_a": "blue"}]
    shown[1]["model_b"] = "red"
    done = import_files(store, [file([{**each, "voter": "ann"} for each in shown])])
    assert told(done) == (2, 2, 2, 0, 0)
    assert counts(store).votes.sum() == 2


def test_rows_with_verdicts_for_both_orders_stay_apart(store, tmp_path):
    pair = {"question_id": 1, "g1_winner": "model_1", "g2_winner": "tie"}
    shown = [("red", "blue"), ("blue", "red")]
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        "".join(json.dumps({**pair, "model_1": a, "model_2": b}) + "\n" for a, b in shown)
    )
    assert told(import_files(store, [path], judge="j")) == (2, 2, 0, 4, 0)


def test_a_judge_that_meets_no_vote_is_told(store, file):
    people = file(PEOPLE, "people.csv")
    other = file([vote(prompt=f"Question {n}?") for n in range(2)], "judge.csv")
    said = "No verdict is on a battle that was here before"
    assert not any(note.startswith(said) for note in import_files(store, [other], judge="j").notes)
    assert import_files(store, [people]).notes == (f"4 rows {NOBODY}",)
    done = import_files(store, [file(BOTH_ORDERS, "both.csv")], judge="j")
    assert not any(note.startswith(said) for note in done.notes)
    again = file([vote(prompt="Another?")], "again.csv")
    (note,) = import_files(store, [again], judge="j").notes
    assert note.startswith(said)


def test_names_that_differ_in_case_or_blanks_are_told(store, file):
    made = [vote(id=1), vote(id=2) | {"model_a": " red "}, vote(id=3) | {"model_b": "Blue"}]
    done = import_files(store, [file(made)])
    assert (done.notes, done.rejected) == (
        ("These names count as different models: Blue and blue.", f"3 rows {NOBODY}"),
        (),
    )
    done = import_files(store, [file([vote(id=4) | {"model_a": "RED"}])])
    assert done.notes == ("These names count as different models: Blue and blue; RED and red.",)


# Columns


def prompts_and_voters():
    """Return eight prompts with fifteen voters each, who agree about most of them."""
    won = [13, 13, 12, 2, 12, 13, 3, 15]
    return [
        vote("model_a" if v < won[p] else "model_b", id=15 * p + v, prompt=f"p{p}", voter=f"v{v}")
        for p in range(8)
        for v in range(15)
    ]


@pytest.mark.parametrize("without", first_of((), ("id",)))
def test_import_and_rank_say_the_same_of_one_file(store, file, without):
    made = [{k: v for k, v in row.items() if k not in without} for row in prompts_and_voters()]
    path = file(made)
    assert import_files(store, [path]).votes == 120
    shown = "select count(distinct prompt_no), count(distinct voter) from comparisons"
    assert rows(store, shown) == [(8, 15)]
    ranked = ca.rank(pd.read_csv(path)).to_frame()
    assert ranked.rank_low.tolist() == [1, 1]
    pd.testing.assert_frame_equal(board_of(store).to_frame(), ranked)


@pytest.mark.parametrize(
    "columns",
    first_of(
        {"question_id": "q{n}"},
        {"question_id": "q{p}", "num": "{n}"},
        {"question_id": "q{p}", "judge": "v{v}"},
        {"id": "{n}", "prompt": "p{p}", "annotator": "v{v}"},
        {"prompt": "p{p}", "voter": "v{v}", "judge_hash": "h"},
        {"prompt": "p{p}"},
        {"voter": "v{v}"},
        {},
        keep=2,
    ),
    ids=str,
)
def test_columns_mean_the_same_to_import_and_rank(store, file, columns):
    made = [
        vote(
            ["model_a", "model_b", "tie"][(p * v) % 3],
            **{name: text.format(n=5 * p + v, p=p, v=v) for name, text in columns.items()},
        )
        for p in range(6)
        for v in range(5)
    ]
    path = file(made)
    assert import_files(store, [path]).votes == 30
    ranked = ca.rank(pd.read_csv(path)).to_frame().set_index("model")
    own = rows(store, "select count(*) from (select prompt_no from comparisons group by all)")[0][0]
    asked_again = "prompt" in columns or columns.get("question_id") == "q{p}"
    assert own == (6 if asked_again else 30)
    stored = board_of(store).to_frame().set_index("model")
    pd.testing.assert_frame_equal(stored.loc[ranked.index], ranked)


@pytest.mark.slow
@needs_real_votes
def test_a_question_that_is_asked_again_is_one_prompt_on_every_face(call, tmp_path):
    db, models = tmp_path / "arena.duckdb", golden()["models"]
    files = [FOLDER / name for name in ("human.json", "gpt-4-0125-preview.json")]
    call("import", files[0], "--db", db)
    call("import", files[1], "--judge", "gpt-4", "--db", db)
    chosen = ("--models", ",".join(models), "--json")
    given = ("--db", db, "--out", tmp_path, "--figures", "html", *chosen)
    _, out, _ = call("reproduce", "prediction-powered-ranking", "figure-5", *given)
    stated = {row["what"]: row["made"] for row in json.loads(out)["published"]}
    assert stated["prompts"] == 14_942
    _, out, _ = call("audit", "--db", db, "--judge", "gpt-4", *chosen)
    assert json.loads(out)["clusters"] == 14_942
    frame = pd.read_json(files[0], lines=True)
    frame = frame[frame.model_a.isin(models) & frame.model_b.isin(models)]
    assert len(frame) == 14_947
    _, out, _ = call("leaderboard", "--db", db, "--cutoff", "bonferroni", *chosen)
    stored = [row["standard_error"] for row in json.loads(out)["models"]]
    # By hand: residuals of each pair's wins, added up over rows with one question.
    assert stored == pytest.approx(errors_by_hand(frame), rel=1e-9)
    assert ca.rank(frame).to_frame().standard_error.tolist() == pytest.approx(stored, rel=1e-9)
    alone = ca.rank(frame.drop(columns="question_id")).to_frame().standard_error
    assert max(abs(alone - stored)) > 1e-6


def errors_by_hand(frame):
    """Return standard errors of mean win rates, best model first, clustered by question."""
    models = sorted({*frame.model_a, *frame.model_b})
    k, sums = len(models), {}
    low = [min(pair) for pair in zip(frame.model_a, frame.model_b, strict=True)]
    high = [max(pair) for pair in zip(frame.model_a, frame.model_b, strict=True)]
    rates = np.zeros(k)
    for pair, met in frame.groupby([low, high]):
        for model in pair:
            sides = [np.where(met[f"model_{side}"] == model, f"model_{side}", "") for side in "ab"]
            tied = ~met.winner.isin(["model_a", "model_b"])
            won = ((met.winner == sides[0]) | (met.winner == sides[1])) + tied / 2
            rates[models.index(model)] += won.mean() / (k - 1)
            groups = met.question_id.nunique()
            left = (won - won.mean()) / len(met) / (k - 1) * np.sqrt(groups / (groups - 1))
            for question, residual in left.groupby(met.question_id).sum().items():
                place = sums.setdefault(question, np.zeros(k))
                place[models.index(model)] += residual
    errors = np.sqrt(np.sum(np.square(list(sums.values())), axis=0))
    return errors[np.argsort(-rates)].tolist()


def test_rows_without_an_id_are_taken_once(store, file):
    path = file([vote(), vote(), vote("tie")])
    done = import_files(store, [path])
    assert told(done) == (3, 3, 3, 0, 0)
    assert done.notes == (
        "3 rows without an id and without texts: each is a battle of its own, and meets no row of "
        "another file.",
        f"3 rows {NOBODY}",
    )
    assert told(import_files(store, [path])) == (3, 0, 0, 0, 0)
    grown = file([vote(), vote(), vote("tie"), vote("model_b")])
    assert told(import_files(store, [grown])) == (4, 1, 1, 0, 0)
    assert told(import_files(store, [file([vote()], "other.csv")])) == (1, 1, 1, 0, 0)
    assert rows(store, "select count(distinct prompt_no) from comparisons") == [(5,)]


def test_rows_without_an_id_meet_by_their_texts(store, file):
    said = {"prompt": "Why?", "response_a": "So.", "response_b": "Because."}
    turned = {"model_a": "blue", "model_b": "red", "prompt": "Why?"}
    turned |= {"response_a": "Because.", "response_b": "So.", "winner": "model_b"}
    import_files(store, [file([vote(**said, voter="ann")], "one.csv")])
    done = import_files(store, [file([turned], "two.csv")], judge="j")
    assert told(done) == (1, 0, 0, 1, 0)
    other = file([vote(**said | {"response_a": "Well."}, voter="ann")], "three.csv")
    assert told(import_files(store, [other])) == (1, 1, 1, 0, 0)
    assert rows(store, "select text from replies where model = 'red' order by text") == [
        ("So.",),
        ("Well.",),
    ]


def test_columns_that_are_not_read_are_named(store, file, call, tmp_path):
    path = file([vote(id=1, verdict="tie", strength=3, voter="ann")])
    done = import_files(store, [path])
    assert done.notes[0] == "Columns that are not read: strength."
    code, out, _ = call("import", path, "--db", tmp_path / "arena.duckdb")
    assert (code, done.notes[0] in out.splitlines()) == (0, True)
    (note,) = import_files(store, [path], judge="j").notes
    assert note == "Columns that are not read: strength, verdict."


# A judge's verdict beside the vote


@pytest.mark.slow
def test_our_own_table_of_votes_says_the_same_to_import_and_rank(store):
    path = DOCS / "votes.csv"
    done = import_files(store, [path])
    assert (done.votes, done.verdicts, done.rejected) == (240, 1200, ())
    assert done.notes == (
        "1,200 rows with a verdict: it is kept as that of a judge called verdict.",
    )
    ranked = ca.rank(pd.read_csv(path))
    stored = board_of(store, "ppr", "verdict")
    pd.testing.assert_frame_equal(stored.to_frame(), ranked.to_frame())
    again = import_files(store, [path])
    assert (again.battles, again.votes, again.verdicts, again.rejected) == (0, 0, 0, ())


def test_a_verdict_is_on_the_battle_of_its_vote(store, file):
    made = [vote(id=n, voter=v, verdict="red") for n in range(3) for v in ("ann", "bob")]
    made += [vote("", id=7, verdict="model_b"), vote("tie", id=8), vote("tie", id=0, voter="ann")]
    done = import_files(store, [file(made)])
    assert told(done) == (9, 6, 8, 4, 0)
    found = counts(store, "verdict")
    assert found.labelled.sum() == 6
    assert found.unlabelled.sum() == 1
    assert rows(store, "select judge from judges") == [("verdict",)]


def test_a_verdict_counts_however_its_name_is_written(store, file):
    lines = "\n".join(map(json.dumps, [vote(id=1, verdict="red"), vote(id=2)]))
    path = file(lines.replace('"verdict"', '"verdic\\u0074"'), "rows.jsonl")
    assert told(import_files(store, [path])) == (2, 2, 2, 1, 0)


def test_rows_of_one_question_with_verdicts_and_no_answers_are_battles_of_their_own(store, file):
    made = [vote(w, prompt="p", verdict=v) for w in ("model_a", "tie", "") for v in ("a", "b")]
    done = import_files(store, [file(made)])
    assert told(done) == (6, 6, 4, 6, 0)
    assert not any("voter of an earlier row" in note for note in done.notes)
    ranked = ca.rank(pd.DataFrame(made).replace("", None)).to_frame()
    pd.testing.assert_frame_equal(board_of(store, "ppr", "verdict").to_frame(), ranked)


@pytest.mark.parametrize("winner", ["tie", ""])
def test_a_verdict_that_is_no_word_rejects_its_row(store, file, winner):
    done = import_files(store, [file([vote(winner, id=1, verdict="left"), vote(id=2)])])
    assert [each.reason for each in done.rejected] == ["unknown verdict 'left'"]
    assert (done.votes, done.verdicts, done.notes[0][:17]) == (1, 0, "Known winners are")


def test_verdicts_beside_votes_do_not_join_another_judge_s(store, file):
    store.write(
        lambda cursor: cursor.execute(
            "insert into judges (judge, model, prompt_hash, sampling) values (?, 'm', 'h', 's')",
            ["verdict"],
        )
    )
    with pytest.raises(ca.ArenaError, match="The judge 'verdict' is m here"):
        import_files(store, [file([vote(id=1, verdict="tie")])])
    assert store.version() == (0, 0, 0, 0)


def test_votes_in_place_of_scores_are_recognised(call, file):
    code, out, _ = call("leaderboard", "--scores", file(PEOPLE))
    assert (code, out.splitlines()[0]) == (0, "These files hold votes.")
    code, _, err = call("risk", file(PEOPLE))
    told = "is a table of votes, not of scores: bring it in with `import`."
    assert (code, told in err) == (1, True)


# Pasted again


@pytest.mark.parametrize("key", first_of({"id": 1}, {"prompt": "p"}, {}))
def test_pasted_rows_are_counted_once_and_told(store, file, key):
    row = vote(**key, response_a="yes", response_b="no", voter="ann", category="one")
    made = [row, {**row, "winner": "tie", "voter": "bob"}, {**row, "category": "other"}]
    done = import_files(store, [file(made)])
    assert (told(done), done.repeated) == ((3, 1, 2, 0, 0), 1)
    assert done.notes == (
        "1 row repeats another row (same voter, same texts, same choice): counted once.",
    )
    board = ca.rank(pd.DataFrame(made))
    assert board.to_frame().comparisons.tolist() == [2, 2]
    assert board.warnings[0] == done.notes[0]
    assert done.notes[0] not in ca.rank(pd.DataFrame(made[:2])).warnings


def test_a_file_pasted_below_itself_says_no_more(store, file):
    done = import_files(store, [file(prompts_and_voters() * 2)])
    assert (done.battles, done.votes, done.repeated) == (120, 120, 120)
    once, twice = (
        ca.rank(pd.DataFrame(prompts_and_voters() * times)).to_frame() for times in (1, 2)
    )
    pd.testing.assert_frame_equal(once, twice)


@pytest.mark.parametrize(
    "changes",
    first_of(
        {"voter": ""},
        {"winner": "tie"},
        {"response_a": "maybe"},
        {"timestamp": "2026-01-02 00:00:00"},
        keep=2,
    ),
    ids=str,
)
def test_rows_that_may_be_other_votes_all_count(store, file, changes):
    row = vote(id=1, response_a="yes", voter="ann", timestamp="2026-01-01 00:00:00")
    pasted = [row, {**row, **changes}] if changes != {"voter": ""} else [{**row, "voter": ""}] * 2
    done = import_files(store, [file(pasted)])
    assert (done.votes, done.repeated) == (2, 0)
    assert ca.rank(pd.DataFrame(pasted)).to_frame().comparisons.tolist() == [2, 2]


def test_a_judge_s_pasted_verdicts_count_once_where_texts_show_it(store, file):
    row = vote(id=1, response_a="yes", response_b="no")
    done = import_files(store, [file([row, row])], judge="j")
    assert (done.verdicts, done.repeated) == (1, 1)


# Words for winners


def test_names_of_the_row_s_models_are_winners(store, file):
    made = [vote(w, id=n) for n, w in enumerate(["red", "blue", "tie", " Red", "BLUE "])]
    done = import_files(store, [file(made)])
    assert (done.votes, done.rejected) == (5, ())
    assert counts(store).votes[2, 0].sum(axis=(0, 1)).tolist()[TIE] == 1
    board = ca.rank(pd.DataFrame(made)).to_frame().set_index("model")
    assert board.wins.to_dict() == {"red": 2, "blue": 2}


@pytest.mark.parametrize(
    ("models", "winner", "outcome"),
    first_of(
        (("GPT-4", "gpt-4"), "gpt-4", "second"),
        (("GPT-4", "gpt-4"), "Gpt-4", None),
        (("tie", "red"), "tie", None),
        (("tie", "red"), "red", "second"),
        (("b", "a"), "a", None),
        (("a", "b"), "a", "first"),
        (("draw", "model b"), "model_b", "second"),
        keep=3,
    ),
)
def test_a_name_counts_where_it_leaves_no_doubt(store, file, models, winner, outcome):
    row = {"id": 1, "model_a": models[0], "model_b": models[1], "winner": winner}
    done = import_files(store, [file([row])])
    found = rows(store, "select ranks from votes")
    assert found == ([([1, 2] if outcome == "first" else [2, 1],)] if outcome else [])
    assert len(done.rejected) == (outcome is None)
    if outcome is None:
        with pytest.raises(ca.ArenaError):
            ca.rank(pd.DataFrame([row]))
    else:
        wins = ca.rank(pd.DataFrame([row])).to_frame().set_index("model").wins
        assert wins[models[outcome == "second"]] == 1


SURE = {
    Outcome.FIRST: ["model_a", "A", "Model A", "model-a", "response_a", "A is better"],
    Outcome.SECOND: ["model_b", "b", "MODEL B", "B is better"],
    Outcome.TIE: ["tie", "Draw", "both good", "tie (both good)", "Equal", "Both are equally good"],
    Outcome.BOTH_BAD: [
        "both bad",
        "Both are bad",
        "Both_Bad",
        "bothbad",
        "tie (bothbad)",
        "tie (both bad)",
    ],
}
UNSURE = ["left", "right", "1", "2", "0", "first", "neither", "c", "model_a wins", "both"]


def test_words_mean_the_same_to_import_and_rank(store, file):
    meant = [(word, outcome) for outcome, words in SURE.items() for word in words]
    meant += [(word, None) for word in UNSURE]
    assert [outcome_of(word) for word, _ in meant] == [outcome for _, outcome in meant]
    done = import_files(store, [file([vote(word, id=n) for n, (word, _) in enumerate(meant)])])
    unsure = [line for line, (_, outcome) in enumerate(meant, start=2) if outcome is None]
    assert [each.line for each in done.rejected] == unsure
    ranks = {Outcome.FIRST: [1, 2], Outcome.SECOND: [2, 1]}
    assert rows(store, "select ranks, both_bad from votes order by seq") == [
        (ranks.get(outcome, [1, 1]), outcome is Outcome.BOTH_BAD)
        for _, outcome in meant
        if outcome is not None
    ]


def test_a_word_means_one_outcome():
    words = [word for each in WINNERS.values() for word in each]
    assert len(words) == len(set(words))


def test_unknown_winners_are_listed_with_those_that_are_known(store, file):
    made = [vote(w, id=n) for n, w in enumerate(["left", "left", "right", "tie"])]
    done = import_files(store, [file(made)])
    assert [each.reason for each in done.rejected] == [
        "unknown winner 'left'",
        "unknown winner 'left'",
        "unknown winner 'right'",
    ]
    assert done.notes == (
        "Known winners are model_a (or a), model_b (or b), tie, draw, both good, both_bad, "
        "tie (bothbad), and the names of the row's two models.",
    )


# Exit codes


@pytest.mark.parametrize(
    ("winners", "code"),
    [(["model_a", "tie"], 0), (["left", "tie"], 3), (["left", "right"], 1)],
)
def test_the_exit_code_tells_of_rejected_rows(call, tmp_path, file, winners, code):
    path = file([vote(w, id=n) for n, w in enumerate(winners)])
    found, out, err = call("import", path, "--db", tmp_path / "arena.duckdb", "--json")
    answer = json.loads(out)
    assert found == code
    assert set(answer) >= {"rows", "battles", "votes", "verdicts", "rejected"}
    assert [set(each) for each in answer["rejected"]] == [
        {"file", "line", "reason"} for word in winners if word in ("left", "right")
    ]
    assert ("Error: Nothing was imported: every row was rejected." in err) == (code == 1)


def test_reasons_are_told_once_each(call, tmp_path, file):
    made = [vote("left" if n % 3 else "right", id=n) for n in range(30)] + [vote(id=31)]
    code, out, _ = call("import", file(made), "--db", tmp_path / "arena.duckdb")
    assert code == 3
    assert [line.partition(": ")[2] for line in out.splitlines()[1:3]] == [
        "unknown winner 'left' (19 more such rows)",
        "unknown winner 'right' (9 more such rows)",
    ]


def test_scores_that_are_rejected_have_the_same_codes(call, tmp_path, file):
    path = file([{"battle": "none", "model": "x", "quality": 1}])
    code, _, err = call("import-scores", path, "--db", tmp_path / "arena.duckdb")
    assert (code, "every row was rejected" in err) == (1, True)
