"""What coupling saves, from the store: against the rows, and by the command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from itertools import product

import gradio as gr
import numpy as np
import pytest

from coupled_arena.analysis.battles import read_battle, read_battles
from coupled_arena.analysis.coupling.savings import (
    StoredScores,
    coupling,
    curves_of,
    read_protocol_scores,
)
from coupled_arena.analysis.coupling.score_tables import read_subject_scores
from coupled_arena.analysis.gate.store_scores import read_paired
from coupled_arena.core.errors import ScoreError
from coupled_arena.core.records import Mode, Origin, Prompt, Score
from coupled_arena.stats.coupling.score_tables import ScoreTable, compare_scores
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import scores
from coupled_arena.ui.tabs.coupling import CouplingTab
from coupled_arena.views.addresses import read_address
from coupled_arena.views.words.coupling import calculator_findings, coupling_verdict
from tests.batches import at_once
from tests.store.conftest import make_battle

MODELS = ("ann", "bob", "cat")
RATES = (0.7, 0.6, 0.3)


def fill(store, prompts=9, seeds=4, metric="quiz"):
    """Store scores that models reach with one luck, or each with its own; return them by mode."""
    rng = np.random.default_rng(8)
    store.write(lambda cursor: scores.declare(cursor, metric, source="benchmark"))
    shape = (prompts, seeds, len(MODELS))
    drawn = {mode: np.zeros(shape) for mode in (Mode.COUPLED, Mode.INDEPENDENT)}
    with at_once(store) as batch:
        for q in range(prompts):
            for s in range(seeds):
                for mode, table in drawn.items():
                    luck = rng.random() if mode is Mode.COUPLED else rng.random(len(MODELS))
                    table[q, s] = np.asarray(luck) < RATES
                    order = rng.permutation(len(MODELS))
                    battle = make_battle(
                        *(MODELS[m] for m in order),
                        mode=mode,
                        origin=Origin.GENERATE,
                        prompts=(Prompt(f"Question {q}?", f"q{q}", "even" if q % 2 else "odd"),),
                        repetition=s,
                    )
                    marks = [
                        Score(0, i, metric, float(table[q, s, m])) for i, m in enumerate(order)
                    ]
                    batch.add_battle(battle, marks)
    return drawn


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    db = tmp_path_factory.mktemp("scores") / "arena.duckdb"
    with Store.open(db) as store:
        drawn = fill(store)
        # An unfinished prompt, and battles that are no part of it.
        late = make_battle(*MODELS, mode=Mode.COUPLED, prompts=(Prompt("Late?", "late", "rare"),))
        store.add_battle(late, [Score(0, i, "quiz", 1.0) for i in range(3)])
        store.add_battle(make_battle("ann", "bob", mode=Mode.COUPLED))
    return db, drawn


def by_prompt(table):
    return sorted(map(str, table.tolist()))


def test_the_table_is_that_of_the_rows(filled):
    db, drawn = filled
    with Store.open(db, read_only=True) as store:
        stored = read_protocol_scores(store)
        odd = read_protocol_scores(store, category="odd")
        pair = read_protocol_scores(store, models=("cat", "ann"))
    assert (stored.metric, stored.table.models, stored.left_out) == ("quiz", MODELS, 1)
    assert by_prompt(stored.table.coupled) == by_prompt(drawn[Mode.COUPLED])
    assert by_prompt(stored.table.independent) == by_prompt(drawn[Mode.INDEPENDENT])
    assert by_prompt(odd.table.coupled) == by_prompt(drawn[Mode.COUPLED][::2])
    assert by_prompt(pair.table.coupled) == by_prompt(drawn[Mode.COUPLED][..., [2, 0]])


def test_the_command_and_its_file(filled, call, tmp_path):
    db, drawn = filled
    code, out, _ = call("coupling", "--db", db, "--by-category", "--json")
    answer = json.loads(out)
    assert (code, answer["metric"], answer["prompts_left_out"]) == (0, "quiz", 1)
    differences = {mode: table[..., 0] - table[..., 1] for mode, table in drawn.items()}
    pair = answer["pairs"][0]
    assert (pair["model_a"], pair["model_b"], pair["prompts"], pair["seeds"]) == (
        *("ann", "bob", 9, 4),
    )
    coupled, independent = (
        differences[mode].var(ddof=1) for mode in (Mode.COUPLED, Mode.INDEPENDENT)
    )
    assert pair["savings"] == pytest.approx(1 - coupled / independent, abs=1e-12)
    counted = {name: [p["prompts"] for p in pairs] for name, pairs in answer["by_category"].items()}
    assert counted == {"even": [4] * 3, "odd": [5] * 3, "rare": []}
    path = tmp_path / "scores.csv"
    code, out, err = call("coupling", "--db", db, "--out", path)
    assert (code, out) == (0, "")
    assert "holds 72 rows" in err
    table = read_subject_scores(path, 4).table
    assert by_prompt(table.coupled) == by_prompt(drawn[Mode.COUPLED])
    code, out, _ = call("coupling", "--scores", path, "--seeds", 4, "--json")
    assert json.loads(out)["pairs"] == answer["pairs"]
    code, out, _ = call("coupling", "--db", db, "--by-category")
    assert code == 0
    assert "\neven, 4 prompts\n" in out
    assert "Too few scores to compare in: rare." in out
    assert "Left out because repetitions are missing: 1 prompt." in out


def test_categories_are_compared_as_each_by_itself(filled, call):
    options = ("coupling", "--db", filled[0], "--alpha", 0.3, "--seed", 5, "--json")
    _, out, _ = call(*options, "--by-category")
    _, odd, _ = call(*options, "--category", "odd")
    assert json.loads(out)["by_category"]["odd"] == json.loads(odd)["pairs"]


def test_curves_need_no_more_than_half_of_the_samples(filled):
    with Store.open(filled[0], read_only=True) as store:
        table = read_protocol_scores(store).table
    curves = curves_of(table, repeats=50)
    assert curves.sizes[-1] == 18
    assert curves.pairs[0] == ("ann", "bob")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--metric", "mmlu"], "Choose scores with --metric: quiz."),
        (["--models", "ann,dan"], "dan has no score by quiz under both protocols"),
        (["--category", "none"], "Choose other --models, or let the benchmark run on"),
        (["--models", "ann"], "There must be two models"),
        (["--alpha", "2"], "--alpha is an error level between 0 and 1"),
        (["--out", "/nowhere/scores.csv"], "cannot be written"),
    ],
)
def test_bad_input(filled, call, words, told):
    code, out, err = call("coupling", "--db", filled[0], *words)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert told in err


def test_a_store_without_scores():
    with Store.in_memory() as store, pytest.raises(ScoreError, match="run the benchmark command"):
        read_protocol_scores(store)


def test_prompts_with_more_repetitions_count_as_the_others():
    with Store.in_memory() as store:
        fill(store, prompts=3, seeds=2)
        for mode in (Mode.COUPLED, Mode.INDEPENDENT):
            more = make_battle(*MODELS, mode=mode, prompts=(Prompt("Question 0?", "q0", "odd"),))
            more = replace(more, repetition=2)
            store.add_battle(more, [Score(0, i, "quiz", 1.0) for i in range(3)])
        stored = read_protocol_scores(store)
    assert stored.table.coupled.shape == (3, 2, 3)
    assert stored.left_out == 0
    assert len(compare_scores(stored.table)) == 3


def fill_ways(store, *ways):
    """Store answers to a quiz that were drawn in several ways, in both modes, twice a prompt."""
    modes = (Mode.COUPLED, Mode.INDEPENDENT)
    store.write(lambda c: scores.declare(c, "quiz", source="benchmark"))
    with at_once(store) as batch:
        for way, q, s, mode in product(ways, range(3), range(2), modes):
            battle = make_battle(*MODELS, mode=mode, prompts=(Prompt(f"Question {q}?"),))
            sampling = replace(battle.sampling, **way)
            battle = replace(battle, sampling=sampling, origin=Origin.GENERATE, repetition=s)
            batch.add_battle(battle, [Score(0, i, "quiz", float(i == q)) for i in range(3)])


@pytest.fixture(scope="module")
def two_temperatures(tmp_path_factory):
    db = tmp_path_factory.mktemp("temperatures") / "arena.duckdb"
    with Store.open(db) as store:
        fill_ways(store, {"temperature": 0.7}, {"temperature": 1.0})
    return db


def test_answers_of_different_samplings_are_not_mixed(two_temperatures, call):
    db = two_temperatures
    code, out, err = call("coupling", "--db", db)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "Choose one way with --temperature, --top-p or --sampler" in err
    assert "drawn in different ways (temperature 0.7, " in err
    code, out, _ = call("coupling", "--db", db, "--temperature", 1.0, "--json")
    assert (code, json.loads(out)["pairs"][0]["seeds"]) == (0, 2)


def test_noise_of_servers_is_not_mixed_with_the_arena_s(tmp_path, call):
    """Neither by `coupling` nor in a gate; each by itself is compared."""
    db = tmp_path / "arena.duckdb"
    with Store.open(db) as store:
        fill_ways(store, {"coupling": "token"}, {"coupling": "servers"})
        with pytest.raises(ScoreError, match=r"cannot mix|different ways"):
            read_paired(store, MODELS[:2], "quiz", Selection())
    code, out, err = call("coupling", "--db", db)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "servers sampler" in err
    code, out, _ = call("coupling", "--db", db, "--sampler", "servers", "--json")
    assert (code, json.loads(out)["pairs"][0]["seeds"]) == (0, 2)


def test_the_tab_offers_the_temperatures_that_there_are(two_temperatures):
    with Store.open(two_temperatures, read_only=True) as store, gr.Blocks():
        tab = CouplingTab(store, "rounds")
        tab.build()
        chosen, offered = tab._offered(dict.fromkeys(tab._inputs))
        stored = tab._read(chosen)
        chosen, _ = tab._offered({**dict.fromkeys(tab._inputs), tab._fields["temperature"]: 1.0})
        hot = tab._read(chosen)
        values = {each: each.value for each in tab._inputs} | {tab._fields["temperature"]: 1.0}
        table = tab._refresh(values)[tab._table]
        (listed, *_) = re.findall(r'href="([^"]*mode=coupled[^"]*)">([\d,]+)<', table)
        found = read_battles(store, read_address(unescape(listed[0])).wanted, "rounds", size=500)
        assert len(found.battles) == int(listed[1]) > 0
        assert {
            read_battle(store, each.battle, "rounds").battle.sampling.temperature
            for each in found.battles
        } == {1.0}
        given = tab._refresh(values | {tab._uploaded: hot})
        assert "href" not in given[tab._table]  # what comes from a file has no battles
    shown = offered[tab._fields["temperature"]]
    assert ([value for _, value in shown.choices], shown.value) == ([0.7, 1.0], 0.7)
    assert shown.visible
    assert stored.table.coupled.shape == hot.table.coupled.shape == (3, 2, 3)


def test_too_few_scores_under_one_sampling_do_not_hide_the_others(tmp_path, call):
    db = tmp_path / "arena.duckdb"
    modes = (Mode.COUPLED, Mode.INDEPENDENT)
    with Store.open(db) as store:
        store.write(lambda c: scores.declare(c, "quiz", source="benchmark"))
        with at_once(store) as batch:
            for top_p, q, s, mode in product((0.5, 1.0), range(3), range(2), modes):
                if top_p == 1 and q:
                    continue
                battle = make_battle(*MODELS, mode=mode, prompts=(Prompt(f"Question {q}?"),))
                sampling = replace(battle.sampling, top_p=top_p)
                battle = replace(battle, sampling=sampling, origin=Origin.GENERATE, repetition=s)
                marks = [Score(0, i, "quiz", float((i + s) % 3 == q)) for i in range(3)]
                batch.add_battle(battle, marks)
    code, out, _ = call("coupling", "--db", db, "--by-sampling", "--json")
    answer = json.loads(out)
    assert (code, [row["top_p"] for row in answer["pairs"]]) == (0, [0.5] * 3)
    (few,) = answer["too_few"]
    assert "top-p 1," in few
    assert few in answer["warnings"][-1]
    code, _, err = call("coupling", "--db", db, "--by-sampling", "--top-p", 1)
    assert (code, err.count("\n")) == (1, 1)
    assert "Let the benchmark run on" in err
    for words in (["--by-category"], ["--error", 0.1], ["--out", tmp_path / "x.csv"]):
        code, _, err = call("coupling", "--db", db, "--by-sampling", *words)
        assert (code, err.count("\n")) == (1, 1)
        assert "is for one sampling: leave it out with --by-sampling." in err


def test_what_is_for_the_store_is_refused_beside_a_table(call, tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(
        "Noise,a,b,c\n" + "".join(f"{n},1,0,1\n{n},0,0,1\n" * 2 for n in ("Coupled", "Independent"))
    )
    table = ("coupling", "--scores", path, "--seeds", 2)
    for words in (
        ["--metric", "quiz"],
        ["--top-p", 1],
        ["--by-sampling"],
        ["--db", tmp_path / "x.duckdb"],
    ):
        code, out, err = call(*table, *words)
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert f"{words[0]} is for a store: leave it out with " in err
    code, out, _ = call(*table, "--models", "c,a", "--json")
    (pair,) = json.loads(out)["pairs"]
    assert (code, pair["model_a"], pair["model_b"]) == (0, "c", "a")
    code, _, err = call(*table, "--models", "c,dan")
    assert code == 1
    assert "The table has no dan. Its models: a, b, c." in err


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.04, 0.31, "Too early to say whether coupling saves samples to compare a and b: 15.2%"),
        (
            -1.0,
            1.0,
            "Too few prompts to say whether coupling saves samples to compare a and b: the",
        ),
        (0.05, 0.25, "To compare a and b, coupling saves 15.2% of the samples (5.0% to 25.0%, 95%"),
    ],
)
def test_savings_are_said_as_far_as_they_are_known(low, high, said):
    rng = np.random.default_rng(0)
    table = ScoreTable(("a", "b"), *rng.integers(0, 2, (2, 20, 4, 2)).astype(float))
    (pair,) = compare_scores(table)
    pair = replace(pair, savings=0.152, savings_low=low, savings_high=high)
    assert said in coupling_verdict(coupling(StoredScores("quiz", table)), pair)
    share = "too early to say" in calculator_findings(pair, 0.05, 4, 0.05)
    assert share == (low < 0)


def shown_first(pairs, savings):
    """Return what faces say of pairs with these savings, and which of them come first."""
    rng = np.random.default_rng(0)
    table = ScoreTable(("a", "b", "c"), *rng.integers(0, 2, (2, 20, 4, 3)).astype(float))
    found = coupling(StoredScores("quiz", table))
    assert len(found.pairs) == pairs == len(savings)
    changed = zip(found.pairs, savings, strict=True)
    found = replace(found, pairs=tuple(replace(pair, savings=each) for pair, each in changed))
    return found, [found.pairs.index(pair) for pair in found.by_saving]


def test_the_pair_with_the_largest_saving_comes_first_and_is_not_alone_in_the_headline():
    found, order = shown_first(3, (-0.108, 0.093, 0.559))
    assert order == [2, 1, 0]
    first = coupling_verdict(found, found.by_saving[0])
    assert "This pair has the largest saving of 3 pairs; the range is -10.8% to 55.9%." in first
    other = coupling_verdict(found, found.pairs[0])
    assert "largest" not in other
    assert "The savings of all 3 pairs range from -10.8% to 55.9%." in other


def test_pairs_without_an_estimate_come_last_and_are_no_part_of_the_range():
    found, order = shown_first(3, (np.nan, 0.1, 0.2))
    assert order == [2, 1, 0]
    assert "of 2 pairs; the range is 10.0% to 20.0%." in coupling_verdict(found, found.pairs[2])
    found, order = shown_first(3, (np.nan, np.nan, np.nan))
    assert order == [0, 1, 2]
    assert "pairs" not in coupling_verdict(found, found.pairs[0])
