"""The table the statistics read, against what plain loops make of battles, votes and verdicts."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, product

import numpy as np
import pytest

from coupled_arena.core.choices import Flips, JudgeScore
from coupled_arena.core.errors import StoreError
from coupled_arena.core.records import Mode, Outcome, Prompt, Source
from coupled_arena.core.verdicts import Probabilities
from coupled_arena.store.database import Store
from coupled_arena.store.queries import clusters, comparisons, matched_comparisons
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.store.queries.matched_comparisons import (
    Comparisons,
    InfluenceCells,
    number_voters,
)
from tests.batches import at_once, judge
from tests.counted import pairwise
from tests.families import first_of

MODES, OUTCOMES = list(Mode), [outcome.value for outcome in Outcome]
FLIPPED = {"first": "second", "second": "first"}


class World:
    """What happened, remembered in plain Python beside the store."""

    def __init__(self, store, new_battle, new_vote, seed):
        self.store, self.new_vote = store, new_vote
        self.rng = np.random.default_rng(seed)
        self.battles, self.votes, self.verdicts = [], {}, {}
        self.likely = {}
        for event, times in (
            (lambda: self.fight(new_battle), 60),
            (self.vote, 80),
            (self.judge, 240),
        ):
            # The comparisons are kept up to date with every transaction, large or small.
            for size in (times - 9, *[1] * 9):
                with at_once(store) as self.batch:
                    for _ in range(size):
                        event()

    def pick(self, items):
        return items[self.rng.integers(len(items))]

    def fight(self, new_battle):
        models = self.rng.permutation(list("abcde"))[: self.rng.integers(2, 5)].tolist()
        battle = new_battle(
            *models,
            mode=self.pick(MODES),
            prompts=(
                Prompt(
                    self.pick(["", "Why?", "How?", "What?"]),
                    self.pick([None, "p1", "p2"]),
                    self.pick([None, "maths", "advice"]),
                    self.pick(["en", "de"]),
                ),
            ),
            replies=(),
        )
        self.batch.add_battle(battle)
        self.battles.append(battle)

    def vote(self):
        battle, voter = self.pick(self.battles), self.pick(["ann", "bob"])
        ranks = self.rng.integers(1, 4, len(battle.models))
        both_bad = bool(self.rng.random() < 0.2)
        ranks = (1,) * len(ranks) if both_bad else tuple((ranks - ranks.min() + 1).tolist())
        source = self.pick([Source.HUMAN, Source.HUMAN, Source.IDENTICAL])
        vote = self.new_vote(battle, *ranks, voter=voter, both_bad=both_bad, source=source)
        self.batch.cast(vote, reveal=False)
        self.votes[battle.id, voter] = vote

    def judge(self):
        battle, name = self.pick(self.battles), self.pick(["gpt", "other"])
        i, j = self.rng.permutation(len(battle.models))[:2].tolist()
        outcome = self.pick([*OUTCOMES, None])
        likely = Probabilities(*self.rng.dirichlet([1, 1, 1])) if self.rng.random() < 0.8 else None
        judge(self.batch, name, battle, i, j, outcome, likely)
        if outcome:
            self.verdicts[battle.id, name, i, j] = outcome
            self.likely[battle.id, name, i, j] = likely

    def verdict(self, battle, name, i, j):
        said = {
            self.verdicts.get((battle.id, name, i, j)),
            (lambda o: FLIPPED.get(o, o))(self.verdicts.get((battle.id, name, j, i))),
        } - {None}
        return None if not said else said.pop() if len(said) == 1 else "tie"

    def judged(self, battle, name, i, j):
        """Return the mean probabilities for i and j, None if unknown; and whether it flipped."""
        orders = [(i, j), (j, i)]
        asked = [order for order in orders if (battle.id, name, *order) in self.verdicts]
        likely = [self.likely[battle.id, name, *order] for order in asked]
        said = [
            self.verdicts[battle.id, name, *order].replace("both_bad", "tie") for order in asked
        ]
        if len(said) == 2:
            said[1] = FLIPPED.get(said[1], said[1])
        flipped = len(set(said)) > 1
        if None in likely:
            return None, flipped
        turned = [
            (p.first, p.second) if order == (i, j) else (p.second, p.first)
            for p, order in zip(likely, asked, strict=True)
        ]
        return tuple(np.mean(turned, axis=0).tolist()), flipped

    def rows(self, name=None):
        """Yield (battle, first, second, vote or None, human or None, verdict or None).

        Of several judges the verdict is a tuple of theirs, if all gave one.
        """
        for battle in self.battles:
            votes = [v for (b, _), v in self.votes.items() if b == battle.id] or [None]
            for vote in votes:
                for i, j in combinations(range(len(battle.models)), 2):
                    human = vote and pairwise(vote.ranks, both_bad=vote.both_bad)[i, j].value
                    verdict = name and self.verdict(battle, name, i, j)
                    if isinstance(name, tuple):
                        said = tuple(self.verdict(battle, one, i, j) for one in name)
                        verdict = said if all(said) else None
                    yield battle, battle.models[i], battle.models[j], vote, human, verdict

    def key(self, battle):
        prompt = battle.prompts[0]
        return prompt.text or prompt.id or battle.id


@pytest.fixture(scope="module", params=[1, 2])
def world(new_battle, new_vote, request):
    with Store.in_memory() as store:
        yield World(store, new_battle, new_vote, request.param)


@pytest.mark.slow
def test_votes_are_counted(world):
    with world.store.cursor() as cursor:
        found = comparisons.count(cursor, Selection())
    expected = Counter()
    for battle, a, b, vote, human, _ in world.rows():
        if human:
            identical = vote.source is Source.IDENTICAL
            expected[MODES.index(battle.mode), int(identical), a, b, OUTCOMES.index(human)] += 1
    assert found.models == tuple("abcde")
    assert not found.labelled.any()
    assert _sparse(found.votes, found.models, (2, 3)) == expected


BOTH = ("gpt", "other")


def of_judges(name):
    """Return the selection of one judge, of several together, or of none."""
    first, *more = name if isinstance(name, tuple) else (name,)
    return Selection(judge=first, more_judges=tuple(more))


def code_of(verdict):
    """Return the code of a verdict: of several, their digits to the base of four."""
    said = verdict if isinstance(verdict, tuple) else (verdict,)
    return int("".join(str(OUTCOMES.index(one)) for one in said), 4)


@pytest.mark.parametrize(
    "name", first_of("gpt", BOTH, "other", (BOTH[::-1],), (("gpt", "other", "gpt"),), keep=2)
)
def test_verdicts_meet_votes(world, name):
    with world.store.cursor() as cursor:
        found = comparisons.count(cursor, of_judges(name))
        assert (found.votes == comparisons.count(cursor, Selection()).votes).all()
    labelled, unlabelled = Counter(), Counter()
    for battle, a, b, _, human, verdict in world.rows(name):
        if verdict and human:
            place = MODES.index(battle.mode), a, b, OUTCOMES.index(human), code_of(verdict)
            labelled[place] += 1
        elif verdict:
            unlabelled[MODES.index(battle.mode), a, b, code_of(verdict)] += 1
    assert labelled
    assert unlabelled
    assert _sparse(found.labelled, found.models, (1, 2)) == labelled
    assert _sparse(found.unlabelled, found.models, (1, 2)) == unlabelled


def test_probabilities_and_flips_of_pairs(world):
    """What the table keeps of a judge beside its verdict, against plain loops."""
    expected = Counter()
    for battle, a, b, _, _, verdict in world.rows("gpt"):
        if verdict:
            places = battle.models.index(a), battle.models.index(b)
            likely, flipped = world.judged(battle, "gpt", *places)
            rounded = likely and tuple(round(p, 12) for p in likely)
            expected[battle.id, a, b, rounded, flipped] += 1
    with world.store.cursor() as cursor:
        found = cursor.execute(
            "select battle, a.model, b.model, round(p_first, 12), round(p_second, 12), flipped "
            "from comparisons join battles using (battle_no) join judges using (judge_no) "
            "join models as a on a.model_no = model_a join models as b on b.model_no = model_b "
            "where judge = 'gpt'"
        ).fetchall()
    kinds = {(likely is None, flipped) for *_, likely, flipped in expected}
    assert kinds == {(known, flipped) for known in (True, False) for flipped in (True, False)}
    assert expected == Counter(
        (battle, a, b, None if p is None else (p, q), flipped)
        for battle, a, b, p, q, flipped in found
    )


WAYS = list(product(JudgeScore, Flips))[1:]
MIDDLES = {4: (0, 1), 5: (0, 2), 6: (1, 2)}


def weights(world, battle, a, b, verdict, score, flips):
    """Return the weights of the codes that one comparison has, by the formula for one row."""
    places = battle.models.index(a), battle.models.index(b)
    likely, flipped = world.judged(battle, "gpt", *places)
    if flips is Flips.ABSTAIN and flipped:
        return {7: 1.0}
    if score is JudgeScore.VERDICT or likely is None:
        return {OUTCOMES.index(verdict): 1.0}
    p = (*likely, 1 - sum(likely))
    corners = {code: p[code] * (2 * p[code] - 1) for code in range(3)}
    return corners | {code: 4 * p[i] * p[j] for code, (i, j) in MIDDLES.items()}


@pytest.mark.parametrize(("score", "flips"), WAYS)
def test_mixtures_of_verdicts_are_counted(world, score, flips):
    selection = Selection("gpt", judge_score=score, flips=flips)
    expected = {kind: defaultdict(float) for kind in ("labelled", "unlabelled")}
    for battle, a, b, _, human, verdict in world.rows("gpt"):
        for code, n in (
            weights(world, battle, a, b, verdict, score, flips).items() if verdict else ()
        ):
            mode = MODES.index(battle.mode)
            if human:
                expected["labelled"][mode, a, b, OUTCOMES.index(human), code] += n
            elif code != 7:
                expected["unlabelled"][mode, a, b, code] += n
    with world.store.cursor() as cursor:
        found = comparisons.count(cursor, selection)
        assert (found.votes == comparisons.count(cursor, Selection()).votes).all()
    for kind, cells in expected.items():
        table = np.zeros_like(getattr(found, kind))
        for (mode, a, b, *codes), n in cells.items():
            table[mode, found.models.index(a), found.models.index(b), *codes] = n
        assert getattr(found, kind) == pytest.approx(table, abs=1e-10)


@pytest.mark.parametrize(("score", "flips"), WAYS)
def test_sums_over_prompts_by_mixtures(world, score, flips):
    """Of numbers that are linear in the probabilities, as influences are."""
    models, selection = (*tuple("bade"), "c"), Selection("gpt", judge_score=score, flips=flips)
    values = world.rng.normal(size=(5, 5, 5, 8, 2))  # a, b, vote, code, role
    for code, (i, j) in MIDDLES.items():
        values[..., code, :] = (values[..., i, :] + values[..., j, :]) / 2
    a, b, human, code = (axis.ravel() for axis in np.indices(values.shape[:4]))
    cells = InfluenceCells(a, b, *values.reshape(-1, 2).T, human=human - 1, verdict=code)
    added = defaultdict(lambda: np.zeros(5))
    for battle, one, other, _, human, verdict in world.rows("gpt"):
        # Where the judge is silent, a vote counts as if it had abstained.
        mixture = {7: 1.0} if human else {}
        if verdict:
            mixture = weights(world, battle, one, other, verdict, score, flips)
        i, j, vote = (
            models.index(one),
            models.index(other),
            OUTCOMES.index(human) + 1 if human else 0,
        )
        if not human and 7 in mixture:
            continue
        for code, n in mixture.items():
            added[world.key(battle)][[i, j]] += n * values[i, j, vote, code]
    with world.store.cursor() as cursor:
        gram = clusters.cluster_gram(cursor, selection, models, cells).sum
        prompts = clusters.pair_prompts(cursor, selection, models)
        plain = clusters.pair_prompts(cursor, selection.plain, models)
    assert gram == pytest.approx(sum(np.outer(s, s) for s in added.values()), abs=1e-10)
    assert (prompts.labelled <= plain.labelled).all()
    assert (prompts.alone <= plain.alone).all()


def test_mixtures_are_of_one_judge(world):
    with world.store.cursor() as cursor, pytest.raises(StoreError, match="need one judge"):
        comparisons.count(cursor, Selection("gpt", more_judges=("other",), flips=Flips.ABSTAIN))


def _sparse(table, models, model_axes):
    """Return the cells that are not empty, with names in place of model indices."""
    return {
        tuple(models[i] if axis in model_axes else int(i) for axis, i in enumerate(cell)): n
        for cell, n in zip(np.argwhere(table).tolist(), table[table > 0].tolist(), strict=True)
    }


@pytest.mark.parametrize(
    "selection",
    [
        Selection(mode=Mode.COUPLED),
        Selection(category="maths"),
        Selection(language="de", mode=Mode.INDEPENDENT),
        Selection(voter="ann"),
        Selection(models=("d", "b", "a")),
    ],
    ids=str,
)
def test_a_selection_counts_what_it_names(world, selection):
    def chosen(battle, a, b, vote):
        prompt = battle.prompts[0]
        return (
            selection.mode in (None, battle.mode)
            and selection.category in (None, prompt.category)
            and selection.language in (None, prompt.language)
            and selection.voter in (None, vote.voter)
            and (selection.models is None or {a, b} <= set(selection.models))
        )

    with world.store.cursor() as cursor:
        found = comparisons.count(cursor, selection)
    expected = sum(
        bool(human) and chosen(battle, a, b, vote) for battle, a, b, vote, human, _ in world.rows()
    )
    assert found.votes.sum() == expected > 0
    assert found.models == tuple(sorted(selection.models or "abcde"))


def random_cells(rng, k, judges):
    """Return cells with random numbers for every kind of comparison, as an array too."""
    shape = (3, k, k, 5, 1 + 4**judges) if judges else (3, k, k, 5)
    values = rng.normal(size=(*shape, 2))
    mode, a, b, human, *verdict = (axis.ravel() for axis in np.indices(shape))
    table = InfluenceCells(
        *(a, b, *values.reshape(-1, 2).T),
        mode=mode,
        human=human - 1,
        verdict=verdict[0] - 1 if judges else None,
    )
    return table, values


@pytest.mark.parametrize("name", [None, "gpt", BOTH])
def test_sums_over_prompts(world, name):
    """Gram matrix and squares against a loop over rows, for numbers without any structure."""
    models = ("b", "a", "d", "e", "c")
    cells, values = random_cells(world.rng, 5, len(of_judges(name).judges))
    added = defaultdict(lambda: np.zeros(5))
    pairs = defaultdict(lambda: np.zeros((5, 5)))
    voted = set()
    for battle, a, b, _, human, verdict in world.rows(name):
        if name and not verdict:
            continue
        code = [0 if label is None else code_of(label) + 1 for label in (human, verdict)]
        if human:
            voted.add(world.key(battle))
        i, j = models.index(a), models.index(b)
        place = (MODES.index(battle.mode), i, j, *code[: 2 if name else 1])
        for m, o, value in ((i, j, values[(*place, 0)]), (j, i, values[(*place, 1)])):
            added[world.key(battle)][m] += value
            pairs[world.key(battle)][m, o] += value
    with world.store.cursor() as cursor:
        assert clusters.clusters_overlap(cursor)
        selection = of_judges(name)
        gram, sums = clusters.Gram(cells, 5), clusters.PairSums(cells, 5)
        clusters.add_up(cursor, selection, models, cells, gram, sums)
    assert gram.sum == pytest.approx(sum(np.outer(s, s) for s in added.values()), rel=1e-9)
    assert sums.squares == pytest.approx(sum(s**2 for s in pairs.values()), rel=1e-9)
    assert sums.products == pytest.approx(sum(s * s.T for s in pairs.values()), rel=1e-9)
    assert gram.clusters == len(voted)
    met = sum((s != 0) | (s.T != 0) for s in pairs.values())
    assert (sums.clusters == met).all()


@pytest.mark.parametrize("name", ["gpt", BOTH])
@pytest.mark.parametrize("by_order", [False, True])
def test_prompts_of_pairs(world, by_order, name):
    """On how many prompts each pair was compared, against a loop over rows."""
    seen = defaultdict(set)
    for battle, a, b, _, human, verdict in world.rows(name):
        kinds = [
            *(["votes"] if human else []),
            *(["verdicts", "labelled" if human else "alone"] if verdict else []),
        ]
        for kind in kinds:
            seen[kind, a, b].add(world.key(battle))
            if not by_order:
                seen[kind, b, a].add(world.key(battle))
    models = ("b", "a", "d", "e", "c")
    with world.store.cursor() as cursor:
        found = clusters.pair_prompts(cursor, of_judges(name), models, by_order=by_order)
    for kind in ("votes", "labelled", "alone", "verdicts"):
        expected = [[len(seen[kind, a, b]) * (a != b) for b in models] for a in models]
        assert getattr(found, kind).tolist() == expected, kind


def test_the_table_is_what_the_view_says(world):
    """Kept up to date row by row, it is what a fresh computation gives."""
    with world.store.cursor() as cursor:
        kept = cursor.execute("select * from comparisons").fetchall()
        fresh = cursor.execute("select * exclude (battle) from comparison_rows").fetchall()
        counted = cursor.execute(
            "select prompt_no, count(*) from comparisons where judge_no = 0 group by all"
        ).fetchall()
        noted = cursor.execute(
            "select prompt_no, comparisons from prompts where comparisons > 0"
        ).fetchall()
    assert sorted(kept, key=str) == sorted(fresh, key=str)
    assert sorted(noted) == sorted(counted)


@pytest.mark.parametrize("name", ["gpt", BOTH])
def test_sums_over_all_votes_judged_or_not(world, name):
    """With one more code, votes that no judge has judged are found, each once."""
    models, silent = ("b", "a", "d", "e", "c"), 4 ** len(of_judges(name).judges)
    values = world.rng.normal(size=(5, 5, 5, silent + 1, 2))
    a, b, human, code = (axis.ravel() for axis in np.indices(values.shape[:4]))
    cells = InfluenceCells(a, b, *values.reshape(-1, 2).T, human=human - 1, verdict=code)
    added, voted, unjudged = defaultdict(lambda: np.zeros(5)), defaultdict(float), 0
    for battle, one, other, vote, human, verdict in world.rows(name):
        if not (human or verdict):
            continue
        i, j = models.index(one), models.index(other)
        said = silent if verdict is None else code_of(verdict)
        added[world.key(battle)][[i, j]] += values[i, j, code_of(human) + 1 if human else 0, said]
        unjudged += verdict is None
        if human:
            voted[vote.voter] += 1
    with world.store.cursor() as cursor:
        gram = clusters.cluster_gram(cursor, of_judges(name), models, cells)
        counted = Comparisons(cursor, of_judges(name), models, number_voters(cursor)).by_voter(
            models, cells
        )
        found = comparisons.count(cursor, of_judges(name))
    assert unjudged > 20
    assert found.votes.sum() - found.labelled.sum() == unjudged
    assert gram.sum == pytest.approx(sum(np.outer(s, s) for s in added.values()), rel=1e-9)
    assert sorted(counted.by_voter.sum(axis=1)) == sorted(voted.values())


def test_sums_over_all_verdicts_voted_or_not(world):
    """Of a board of the judge alone, where it does not matter what people said."""
    models = ("b", "a", "d", "e", "c")
    values = world.rng.normal(size=(5, 5, 4, 2))
    a, b, code = (axis.ravel() for axis in np.indices(values.shape[:3]))
    cells = InfluenceCells(a, b, *values.reshape(-1, 2).T, verdict=code)
    added, unvoted = defaultdict(lambda: np.zeros(5)), 0
    for battle, one, other, _, human, verdict in world.rows("gpt"):
        if verdict:
            i, j = models.index(one), models.index(other)
            added[world.key(battle)][[i, j]] += values[i, j, code_of(verdict)]
            unvoted += not human
    with world.store.cursor() as cursor:
        gram = clusters.cluster_gram(cursor, Selection("gpt"), models, cells)
    assert unvoted > 5
    assert gram.sum == pytest.approx(sum(np.outer(s, s) for s in added.values()), rel=1e-9)


@pytest.mark.parametrize("models", [1400, 1600])
def test_codes_of_very_many_kinds_are_the_places_of_a_table(models):
    """There are more of 1,600 models and three judges than numbers of 32 bits."""
    shape = len(Mode), models, models, len(Outcome) + 1, 4**3 + 1
    codes = matched_comparisons._Codes(models, shape[-1])
    places = [np.array([0, size // 2, size - 1], np.int32) for size in shape]
    found = codes.of(*places[:3], places[3] - 1, places[4])
    assert (codes.number > 2**31) == (models == 1600)
    assert found.tolist() == np.ravel_multi_index(places, shape).tolist()
    assert codes.vote(found).tolist() == (places[3] - 1).tolist()


def test_codes_that_no_table_holds_are_matched_likewise(world, monkeypatch):
    """As where there are many models and judges."""
    models = ("b", "a", "d", "e", "c")
    cells, _ = random_cells(world.rng, 5, 2)
    with world.store.cursor() as cursor:
        (table,) = Comparisons(cursor, of_judges(BOTH), models).blocks(models, cells)
        monkeypatch.setattr(matched_comparisons, "_TABLE", 0)
        (searched,) = Comparisons(cursor, of_judges(BOTH), models).blocks(models, cells)
    assert len(table.cell) > 20
    assert (table.cell == searched.cell).all()
    assert (table.prompt == searched.prompt).all()


@pytest.mark.parametrize("name", ["gpt", BOTH])
def test_votes_are_read_once_where_rows_with_verdicts_have_them_all(world, name, monkeypatch):
    models = ("b", "a", "d", "e", "c")
    silent = 4 ** len(of_judges(name).judges)
    a, b, human, code = (x.ravel() for x in np.indices((5, 5, 4, silent + 1)))
    judged = InfluenceCells(a, b, *np.zeros((2, len(a))), human=human, verdict=code)
    a, b, human = (x.ravel() for x in np.indices((5, 5, 4)))
    votes = InfluenceCells(a, b, *np.zeros((2, len(a))), human=human)
    fetched, fetch = [], Comparisons._fetch
    monkeypatch.setattr(
        Comparisons, "_fetch", lambda self, name: fetched.append(name) or fetch(self, name)
    )
    with world.store.cursor() as cursor:
        people = number_voters(cursor)
        alone = Comparisons(cursor, of_judges(name), models, people).by_voter(models, votes)
        read = Comparisons(cursor, of_judges(name), models, people)
        both = read.by_voter(models, judged)
        found = read.by_voter(models, votes)
    assert fetched == ["votes", "all"]
    assert (found.by_voter != alone.by_voter).nnz == 0
    assert both.by_voter.sum() == found.by_voter.sum() == alone.by_voter.sum() > 20
    again = [np.sort(x.repeated.sum(axis=1)) for x in (found, alone)]
    assert (again[0] == again[1]).all()
    assert len(again[0]) > 2


def test_a_judge_of_one_of_two_answers_of_a_model(store, new_battle, new_vote):
    """Votes on the other answer have no verdict, also where pairs have the same names."""
    battle = new_battle("a", "a", "b", prompts=(Prompt("Why?"),), replies=())
    store.add_battle(battle)
    store.cast(new_vote(battle, 1, 1, 2))
    judge(store, "x", battle, 0, 2, "first")
    a, b, human, code = (axis.ravel() for axis in np.indices((2, 2, 4, 5)))
    cells = InfluenceCells(a, b, *np.ones((2, len(a))), human=human, verdict=code)
    with store.cursor() as cursor:
        (block,) = Comparisons(cursor, Selection("x"), ("a", "b")).blocks(("a", "b"), cells)
    assert sorted(code[block.cell].tolist()) == [0, 4]


def test_judges_of_a_model_that_answered_twice(store, new_battle, new_vote):
    """Its answers are not told apart: who does not say the same of both calls it a tie."""
    battle = new_battle("a", "a", "b", prompts=(Prompt("Why?"),), replies=())
    store.add_battle(battle)
    store.cast(new_vote(battle, 1, 2, 3))
    for name, verdicts in {"x": ("first", "second"), "y": ("second", "second")}.items():
        for place, said in enumerate(verdicts):
            judge(store, name, battle, place, 2, said)
    with store.cursor() as cursor:
        found = comparisons.count(cursor, of_judges(("x", "y")))
    assert _sparse(found.labelled, found.models, (1, 2)) == {
        (MODES.index(battle.mode), "a", "b", 0, code_of(("tie", "second"))): 2
    }


def test_one_comparison_a_prompt_does_not_overlap(store, new_battle, new_vote):
    for text in ("one", "two"):
        battle = new_battle("a", "b", prompts=(Prompt(text),), replies=())
        store.add_battle(battle)
        store.cast(new_vote(battle, 1, 2))
    with store.cursor() as cursor:
        assert not clusters.clusters_overlap(cursor)
    store.cast(new_vote(battle, 2, 1, voter="bob"))
    with store.cursor() as cursor:
        assert clusters.clusters_overlap(cursor)


def test_names_that_nobody_knows(store, new_battle):
    store.add_battle(new_battle("a", "b"))
    with store.cursor() as cursor:
        with pytest.raises(StoreError, match=r"no judge 'gpt'.*none yet"):
            comparisons.count(cursor, Selection(judge="gpt"))
        with pytest.raises(StoreError, match=r"At most 3 judges .* not 4: a, b, c, d"):
            comparisons.count(cursor, Selection(judge="a", more_judges=("b", "c", "d")))
        with pytest.raises(StoreError, match=r"No battle has z.*a, b"):
            comparisons.count(cursor, Selection(models=("a", "z")))


def test_many_battles_of_few_models_use_up_no_numbers(store, new_battle):
    """Models have small integers: 32,767 battles must not need as many."""
    for _ in range(3):
        store.add_battle(new_battle("beta", "alpha"))
    store.add_battle(new_battle("gamma", "alpha", "beta"))
    with store.cursor() as cursor:
        numbers = dict(cursor.execute("select model, model_no from models").fetchall())
    assert numbers == {"alpha": 1, "beta": 2, "gamma": 3}


def test_a_database_whose_numbers_were_used_up_goes_on(store, new_battle, new_vote):
    """Earlier versions took some for each battle, and stopped in the middle of an arena's life."""
    store.write(lambda cursor: cursor.execute("select max(nextval('model_seq')) from range(32767)"))
    battle = new_battle("new", "newer")
    store.add_battle(battle)
    store.cast(new_vote(battle))
    with store.cursor() as cursor:
        counts = comparisons.count(cursor, Selection())
    assert counts.models == ("new", "newer")
    assert counts.votes.sum() == 1


def test_an_empty_store_has_no_models():
    with Store.in_memory() as store, store.cursor() as cursor:
        assert comparisons.count(cursor, Selection()).votes.shape == (3, 2, 0, 0, 4)
        assert not clusters.clusters_overlap(cursor)
