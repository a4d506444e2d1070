"""Tables of scores as nobody expects them: right numbers, or one line that says what is wrong."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from coupled_arena.core.errors import ArenaError
from coupled_arena.papers.item import Made
from coupled_arena.papers.making import item_of, paper_of
from coupled_arena.papers.source import PaperSettings, PaperSource

RISK = ("figure-1", "figure-3", "figure-4", "figure-7", "figure-8", "figure-11", "table-7")
COUPLED = ("figure-9", "figure-8")
JUDGE = ("figure-1a", "figure-1b", "figure-2", "figure-4", "figure-5")


def risk(k=3, n=12, draw=None):
    rng = np.random.default_rng(1)
    parts = [
        pd.DataFrame(
            {
                "model": f"m{m}",
                "prompt": [f"p{i}" for i in range(n)],
                "one": rng.normal(m, 1, n) if draw is None else draw(rng, n),
                "two": rng.normal(m, 1, n) if draw is None else draw(rng, n),
                "judge": rng.integers(0, 11, n),
            }
        )
        for m in range(k)
    ]
    return pd.concat(parts, ignore_index=True)


def coupled(k=3, prompts=4, draw=None, **more):
    rng = np.random.default_rng(1)
    shape = prompts * 3, k
    parts = []
    for noise in ("Coupled", "Independent"):
        scores = rng.integers(0, 2, shape).astype(float) if draw is None else draw(rng, shape)
        columns = {f"m{m}": scores[:, m] for m in range(k)}
        parts.append(pd.DataFrame({"Noise": noise, **columns, **more}))
    return pd.concat(parts, ignore_index=True)


def grades(k=3, n=12, **more):
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(
        [
            {
                "model": f"m{m}",
                "prompt": f"p{i}",
                "truth": int(rng.random() < 0.6),
                "judge": int(rng.random() < 0.6),
                "probability": float(rng.random()),
            }
            for m in range(k)
            for i in range(n)
        ]
    )
    return rows.assign(**more)


RISKS = {
    "one model": risk(1),
    "one prompt": risk(n=1),
    "constant": risk(draw=lambda _, n: np.ones(n)),
    "huge": risk(draw=lambda rng, n: 1e300 * rng.normal(size=n)),
    "tiny": risk(draw=lambda rng, n: 1e-300 * rng.normal(size=n)),
    "endless": risk(draw=lambda _, n: np.full(n, np.inf)),
    "no number": risk().assign(one="x"),
    "gaps": risk().assign(one=lambda d: d.one.where(d.index % 5 > 0)),
    "twice": pd.concat([risk(), risk().head(3)]),
    "unequal prompts": risk().drop(index=[0, 1, 20]),
    "other prompts": risk().assign(prompt=lambda d: d.model + d.prompt),
    "odd names": risk().assign(model=lambda d: d.model + "/../模型 <b>|\N{ROBOT FACE}"),
    "empty": risk().head(0),
}
PROTOCOLS = {
    "one model": coupled(1),
    "one prompt": coupled(prompts=1),
    "two prompts": coupled(prompts=2),
    "constant": coupled(draw=lambda _, shape: np.ones(shape)),
    "huge": coupled(draw=lambda rng, shape: 1e300 * rng.normal(size=shape)),
    "tiny": coupled(draw=lambda rng, shape: 1e-300 * rng.normal(size=shape)),
    "many models": coupled(200, 2),
    "one protocol": coupled().head(12),
    "unequal": coupled().head(-3),
    "odd names": coupled().rename(columns={"m0": "a/../b", "m1": "模型 <b>|\N{ROBOT FACE}"}),
    "subjects": coupled(prompts=6, Subject=list("aaaaaabbbbbbaaaaab")),
    "empty": coupled().head(0),
}
GRADES = {
    "one model": grades(1),
    "one prompt": grades(n=1),
    "all right": grades(truth=1),
    "all called wrong": grades(judge=0),
    "no grade": grades(judge=np.nan),
    "no number": grades(truth=0.5),
    "unlikely": grades(probability=3),
    "many models": grades(60, 3),  # 1,770 pairs, five times
    "answers": grades(answer="A", truth="A", judge="B"),
    "odd names": grades().assign(model=lambda d: d.model + "/../模型 <b>|\N{ROBOT FACE}"),
    "empty": grades().head(0),
}


def cases():
    for paper, items, tables in (
        ("risk", RISK, RISKS),
        ("coupled-generation", COUPLED, PROTOCOLS),
        ("judge", JUDGE, GRADES),
    ):
        for name, frame in tables.items():
            yield pytest.param(paper, items, frame, id=f"{paper}, {name}")


def made_or_told(paper, name, source):
    """Return an item, or an empty one where a line says why it cannot be made."""
    try:
        return item_of(paper_of(paper), name).make(source)
    except ArenaError as error:
        if not str(error) or "\n" in str(error):
            raise AssertionError(f"{name}: {error}") from error
        return Made({})


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "items", "frame"), list(cases()))
def test_numbers_or_one_line(tmp_path, paper, items, frame):
    path = tmp_path / "scores.csv"
    frame.to_csv(path, index=False)
    judges = ("judge",) if paper == "risk" else ()
    settings = PaperSettings(judges=judges, seeds=3, repeats=2)
    for name in items:
        source = PaperSource(settings, lambda: pytest.fail("a store"), (path,), has_store=False)
        made = made_or_told(paper, name, source)
        for table in made.tables.values():
            assert table.rows, name
            json.dumps(table.records(), allow_nan=False)
            table.text()
        for figure in made.figures.values():
            json.loads(figure.to_json())


def test_more_pairs_than_anybody_looks_at_are_not_drawn(tmp_path):
    path = tmp_path / "scores.csv"
    PROTOCOLS["many models"].to_csv(path, index=False)
    source = PaperSource(PaperSettings(seeds=3), lambda: None, (path,))
    with pytest.raises(ArenaError, match="200 models make 19,900 pairs"):
        item_of(paper_of("coupled-generation"), "figure-9").make(source)


def test_an_empty_table_of_grades_says_so(tmp_path):
    path = tmp_path / "grades.csv"
    GRADES["empty"].to_csv(path, index=False)
    source = PaperSource(PaperSettings(), lambda: None, (path,))
    with pytest.raises(ArenaError, match="has no row"):
        item_of(paper_of("judge"), "figure-2").make(source)
