"""Scores of stored replies, against the same read row by row; and the command on a real store."""

from __future__ import annotations

import json
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from coupled_arena.analysis.risk.replies import ScoredReplies, balanced, read_stored_scores
from coupled_arena.analysis.risk.result import KeptReports, RiskSettings
from coupled_arena.core.errors import ScoreError, StoreError
from coupled_arena.core.records import Finish, Mode, Origin, Outcome, Prompt, Reply, Score, new_id
from coupled_arena.core.verdicts import Matchup
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.tables import judges, scores
from tests.batches import at_once
from tests.families import first_of
from tests.store.conftest import make_battle, make_vote

MODELS = ("alpha", "beta", "gamma")
POINTS = {Outcome.FIRST: 2, Outcome.SECOND: -2, Outcome.TIE: 0, Outcome.BOTH_BAD: 0}
WORDS = "one two three four five six"


def answered(prompt, *texts, models=MODELS, **changes):
    """Return a battle of a batch run: what the models said to a prompt."""
    replies = tuple(Reply(0, place, text, (), Finish.STOP) for place, text in enumerate(texts))
    changes = {"id": new_id(), "origin": Origin.GENERATE, **changes}
    return make_battle(*models[: len(texts)], prompts=(Prompt(prompt),), replies=replies, **changes)


def verdict(battle, first, second, outcome, name="gpt"):
    matchup = Matchup(battle.id, first, second, ("",), ("",), ("",))
    return matchup.answered(name, outcome, "…")


@contextmanager
def new_store():
    with Store.in_memory() as opened:
        for name in ("gpt", "other"):
            opened.write(lambda cursor, name=name: bind_judge(cursor, name))
        yield opened


@pytest.fixture
def store():
    with new_store() as opened:
        yield opened


@pytest.fixture(scope="module", params=range(3))
def random_store(request):
    """A store and what it was filled with."""
    with new_store() as opened:
        yield opened, filled(opened, request.param)


def bind_judge(cursor, name):
    cursor.execute(
        "insert into judges (judge, model, prompt_hash, sampling) values (?, 'm', 'p', 's')", [name]
    )


def filled(store, seed, battles=60):
    """Write battles of three or fewer models on nine prompts; return them with what was said."""
    rng = np.random.default_rng(seed)
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    store.write(
        lambda cursor: scores.declare(cursor, "poison", source="import", higher_is_better=False)
    )
    written = []
    with at_once(store) as batch:
        for _ in range(battles):
            # The most are complete; a reply that was stopped, and one without scores, do not count.
            models = MODELS if rng.random() < 0.7 else tuple(rng.permutation(MODELS)[:2])
            texts = [" ".join(rng.choice(WORDS.split(), rng.integers(1, 9))) for _ in models]
            battle = answered(
                f"q{rng.integers(9)}",
                *texts,
                models=tuple(map(str, rng.permutation(models))),
                mode=Mode.COUPLED if rng.random() < 0.6 else Mode.INDEPENDENT,
            )
            if rng.random() < 0.1:
                stopped = replace(battle.replies[0], finish=Finish.CANCELLED)
                battle = replace(battle, replies=(stopped, *battle.replies[1:]))
            marks = [
                Score(0, place, metric, float(rng.integers(10)))
                for place in range(len(models))
                for metric, share in (("quiz", 0.95), ("poison", 0.9))
                if rng.random() < share
            ]
            batch.add_battle(battle, marks)
            said = {}
            for i in range(len(models)):
                for j in range(i + 1, len(models)):
                    if rng.random() < 0.95:
                        said[i, j] = list(Outcome)[rng.integers(4)]
                        batch.verdicts.append(verdict(battle, i, j, said[i, j]))
                    # Another judge changes nothing.
                    batch.verdicts.append(verdict(battle, j, i, Outcome.FIRST, "other"))
            written.append((battle, marks, said))
    return written


def ahead(battle, said, place, models):
    """Return s_i, or None where a pair of the models has no verdict."""
    total = 0
    places = [p for p, name in enumerate(battle.models) if name in models]
    if len(places) < len(models):
        return None
    for i in places:
        for j in places:
            if i < j and (i, j) not in said:
                return None
            if i < j and place in (i, j):
                total += POINTS[said[i, j]] * (1 if place == i else -1)
    return total


def expected(written, metrics, models, mode=None):
    """Return the replies with all metrics, by prompt and model, in the order of the battles."""
    rows = defaultdict(list)
    for battle, marks, said in written:
        if mode not in (None, battle.mode):
            continue
        for reply in battle.replies:
            name = battle.models[reply.place]
            if name not in models or reply.finish is Finish.CANCELLED:
                continue
            found = {mark.metric: mark.score for mark in marks if mark.place == reply.place}
            found["length"] = len(reply.text)
            found["verdicts"] = ahead(battle, said, reply.place, models)
            if all(found.get(metric) is not None for metric in metrics):
                rows[battle.prompts[0].text, name].append([found[metric] for metric in metrics])
    return rows


@pytest.mark.parametrize("metrics", [("length",), ("quiz", "length"), ("poison", "verdicts")])
@pytest.mark.parametrize("models", first_of(MODELS, (("alpha", "gamma"),)))
@pytest.mark.parametrize("mode", [None, Mode.COUPLED])
def test_the_store_says_what_its_rows_say(random_store, metrics, models, mode):
    store, written = random_store
    rows = expected(written, metrics, models, mode)
    selection = Selection("gpt" if "verdicts" in metrics else None, mode, models)
    table = read_stored_scores(store, selection, metrics)
    prompts = {prompt for prompt, _ in rows}
    least = {prompt: min(len(rows[prompt, model]) for model in models) for prompt in prompts}
    r = table.repetitions
    gain = {
        n: sum(count >= n for count in least.values()) * n / (n + 1)
        for n in range(1, max(least.values()) + 1)
    }
    assert gain[r] == max(gain.values())
    kept = {prompt for prompt, count in least.items() if count >= r}
    assert table.models == models
    assert table.metrics == metrics
    assert table.lower_is_better == {"length", "poison"} & set(metrics)
    assert table.unjudged == {"length"} & set(metrics)
    assert table.paired
    assert table.size == len(kept)
    for model, values in zip(models, table.values, strict=True):
        blocks = values.reshape(len(kept), r, len(metrics)).tolist()
        assert sorted(blocks) == sorted(rows[prompt, model][:r] for prompt in kept)
    of_prompt = {}  # the same prompt stands at the same place for all models
    for prompt in kept:
        of_prompt[tuple(map(tuple, rows[prompt, models[0]][:r]))] = prompt
    if len(of_prompt) == len(kept):
        for at, block in enumerate(table.values[0].reshape(len(kept), r, len(metrics))):
            prompt = of_prompt[tuple(map(tuple, block.tolist()))]
            for model, values in zip(models, table.values, strict=True):
                assert values.reshape(len(kept), r, -1)[at].tolist() == rows[prompt, model][:r]
    incomplete = len(prompts) - len(kept)
    assert any(f"{incomplete} of {len(prompts)} prompts" in note for note in table.notes) == (
        incomplete > 0
    )


@pytest.mark.parametrize(
    ("counts", "repetitions", "prompts"),
    [
        ([3, 3, 3, 3], 3, 4),
        ([3, 3, 3, 2], 2, 4),  # 4 · 2/3 is more than 3 · 3/4
        ([1, 1, 1, 9], 1, 4),
        ([0, 9, 9, 9], 9, 3),
        ([1, 9, 9, 9], 9, 3),
    ],
)
def test_how_many_replies_to_a_prompt_count(counts, repetitions, prompts):
    model, prompt = np.array(
        [(m, p) for p, count in enumerate(counts) for m in range(2) for _ in range(count + m)]
    ).T
    values = np.arange(len(model), dtype=float)[:, None]
    table = balanced(ScoredReplies(("a", "b"), ("x",), model, prompt, values))
    assert (table.repetitions, table.size) == (repetitions, prompts)
    left = len(counts) - prompts
    assert any("prompts are left out" in note for note in table.notes) == (left > 0)
    assert any("further ones are left out" in note for note in table.notes)


def test_both_orders_count_as_one_verdict(store):
    for q in range(2):
        battle = answered(f"q{q}", "a", "b")
        store.add_battle(battle)
        back = Outcome.SECOND if q else Outcome.FIRST
        both = [verdict(battle, 0, 1, Outcome.FIRST), verdict(battle, 1, 0, back)]
        store.write(partial(judges.add_verdicts, verdicts=both))
    table = read_stored_scores(store, Selection("gpt"), ["verdicts"])
    assert [values.ravel().tolist() for values in table.values] == [[0, 2], [0, -2]]


@pytest.mark.slow
def test_what_counts_by_default(store):
    filled(store, 5, 40)
    with_verdicts = read_stored_scores(store, Selection("gpt", models=MODELS))
    assert with_verdicts.metrics == (
        *("poison", "quiz", "length", "repetition", "refusal", "verdicts"),
    )
    assert with_verdicts.lower_is_better == {"poison", "length", "repetition", "refusal"}
    with at_once(store) as batch:
        for q in range(40):  # now most of the replies with scores have a quiz alone
            marks = [Score(0, place, "quiz", 1.0) for place in range(2)]
            batch.add_battle(answered(f"more {q}", "yes", "no"), marks)
    found = read_stored_scores(store)
    assert found.metrics == ("quiz", "length", "repetition", "refusal")
    assert found.unjudged == {"length", "repetition", "refusal"}
    settings = RiskSettings(bootstraps=2000)
    kept = KeptReports()
    assert kept.get(found, settings) is kept.get(read_stored_scores(store), settings)


def test_models_without_scores_are_left_out_or_complained_of(store):
    for q in range(3):
        store.add_battle(
            answered(f"q{q}", "a", "b", "c"), [Score(0, place, "quiz", 1.0) for place in range(2)]
        )
    store.write(lambda cursor: scores.declare(cursor, "quiz", source="benchmark"))
    table = read_stored_scores(store, metrics=["quiz", "length"])
    assert table.models == ("alpha", "beta")
    assert table.notes == (
        "There are models without any score by the metrics named: gamma (quiz); they are left out.",
    )
    with pytest.raises(ScoreError, match=r"gamma \(quiz\)\. Choose other models, metrics"):
        read_stored_scores(store, Selection(models=MODELS), ["quiz", "length"])
    with pytest.raises(ScoreError, match=r"alpha \(verdicts\); beta \(verdicts\)"):
        read_stored_scores(store, Selection("gpt", models=("alpha", "beta")), ["verdicts"])
    nowhere = Selection(mode=Mode.INDEPENDENT, models=("alpha", "beta"))
    with pytest.raises(ScoreError, match=r"alpha \(length, quiz\); beta \(length, quiz\)"):
        read_stored_scores(store, nowhere, ["length", "quiz"])


def test_what_cannot_be_read(store):
    with pytest.raises(ScoreError, match="two models at least"):
        read_stored_scores(store)
    store.add_battle(answered("q", "a", "b"))
    store.add_battle(answered("p", "a", "b", models=("delta", "alpha")))
    with pytest.raises(ScoreError, match="No prompt has a reply of each of alpha, beta, delta"):
        read_stored_scores(store)
    with pytest.raises(ScoreError, match="alpha has one prompt"):
        read_stored_scores(store, Selection(models=("alpha", "beta")))
    with pytest.raises(ScoreError, match="verdicts needs a judge"):
        read_stored_scores(store, metrics=["verdicts"])
    with pytest.raises(ScoreError, match="There is no metric 'wit' here, only length"):
        read_stored_scores(store, metrics=["wit"])
    with pytest.raises(StoreError, match="No battle has zeta"):
        read_stored_scores(store, Selection(models=("alpha", "zeta")))
    with pytest.raises(StoreError, match="There is no judge 'nobody'"):
        read_stored_scores(store, Selection("nobody"))


def test_rounds_that_are_still_blind_stay_so(store):
    played = [answered(f"q{q}", "a", "b" * q, origin=Origin.ARENA) for q in range(3)]
    for battle in played:
        store.add_battle(battle)
    assert read_stored_scores(store, metrics=["length"]).size == 3
    for battle in played[:2]:
        store.cast(make_vote(battle))
    shown = read_stored_scores(store, metrics=["length"], revealed_only=True)
    assert [values.ravel().tolist() for values in shown.values] == [[1, 1], [0, 1]]


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("risk") / "arena.duckdb"
    with Store.open(path) as opened:
        opened.write(lambda cursor: bind_judge(cursor, "gpt"))
        played = [
            answered(f"q{q}", "yes " * (1 + q % 7), "no " * (2 + q % 5), "well " * 9, id=f"b{q:02}")
            for q in range(40)
        ]
        pairs = ((0, 1), (0, 2), (1, 2))
        with at_once(opened) as batch:
            for battle in played:
                batch.add_battle(battle)
                batch.verdicts += [verdict(battle, *pair, Outcome.FIRST) for pair in pairs]
    return path


def test_the_command(call, db, tmp_path):
    table = tmp_path / "toxicity.csv"
    rows = [
        f"b{q:02},{model},{(7 * q + 3 * at) % 40}"
        for q in range(40)
        for at, model in enumerate(MODELS)
    ]
    table.write_text("battle,model,toxicity\n" + "\n".join([*rows, "b99,alpha,1"]))
    command = ("import-scores", table, "--lower-is-better", "toxicity", "--db", db)
    for fresh in (120, 0):
        code, out, err = call(*command, "--json")
        assert code == 3, err
        done = json.loads(out)
        assert (done["rows"], done["scores"], done["metrics"]) == (121, fresh, ["toxicity"])
        assert [(row["line"], row["reason"]) for row in done["rejected"]] == [
            (122, "there is no battle b99")
        ]
    code, out, _ = call(*command)
    assert out.splitlines() == [
        "121 rows: 0 new scores by toxicity; 1 rejected.",
        f"{table}, line 122: there is no battle b99",
    ]
    ask = ("risk", "--db", db, "--metrics", "toxicity,length", "--bootstraps", 999, "--json")
    code, out, err = call(*ask, "--judge", "gpt")
    assert code == 0, err
    found = json.loads(out)
    assert found["models"] == list(MODELS)
    assert found["metrics"] == ["toxicity", "length", "verdicts"]
    assert found["lower_is_better"] == ["length", "toxicity"]
    assert found["unjudged"] == ["length"]
    assert any("No direction is set for length" in w for w in found["warnings"])
    assert (found["judge"], found["mode"]) == ("gpt", "all")
    assert (found["prompts"], found["repetitions"], found["paired"]) == ([40] * 3, 1, True)
    assert found["by_metric"]["verdicts"]["mean_risk"]["mean"] == [4, 0, -4]
    assert found["by_metric"]["verdicts"]["order1"]["ranks"] == [1, 2, 3]
    means = [
        np.mean([4 * (1 + q % 7) for q in range(40)]),
        np.mean([3 * (2 + q % 5) for q in range(40)]),
        45,
    ]
    assert found["by_metric"]["length"]["mean_risk"]["mean"] == pytest.approx([-m for m in means])
    code, out, err = call(*ask, "--higher-is-better", "length", "--models", "alpha,beta")
    turned = json.loads(out)
    assert turned["models"] == ["alpha", "beta"]
    assert turned["lower_is_better"] == ["toxicity"]
    assert turned["unjudged"] == []
    assert turned["by_metric"]["length"]["mean_risk"]["mean"] == pytest.approx(means[:2])
    code, out, err = call("risk", "--db", db, "--metrics", "verdicts", "--json")
    assert json.loads(out)["mean_risk"]["mean"] == [4, 0, -4]  # the only judge


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--mode", "independent"), "choose other models or battles"),
        (("--models", "alpha"), "two models at least"),
        (("--metrics", "wit"), "There is no metric 'wit' here"),
        (("--judge", "nobody"), "There is no judge 'nobody'"),
        (("--lower-is-better", "length", "--higher-is-better", "length"), "choose one"),
        (("--higher-is-better", "wit"), "There is no metric 'wit'"),
    ],
)
def test_options_that_fit_nothing(call, db, options, complaint):
    code, out, err = call("risk", "--db", db, *options)
    assert (code, out) == (1, "")
    assert complaint in err
    assert len(err.splitlines()) == 1


def test_a_file_needs_no_store(call, db, tmp_path):
    code, _, err = call("risk", tmp_path / "scores.csv", "--judge", "gpt")
    assert code == 1
    assert "--judge is for a store: leave it out with scores" in err
    code, _, err = call("risk", "--db", tmp_path / "absent.duckdb")
    assert code == 1
    assert "does not exist yet" in err
