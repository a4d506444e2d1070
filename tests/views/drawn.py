"""All figures and tables of a small store, in the language in force."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import combinations

from markupsafe import Markup

import coupled_arena as ca
from coupled_arena.analysis.leaderboard.memory import against_memory
from coupled_arena.analysis.model_sizes import ModelSize
from coupled_arena.api.figures import drawings_of
from coupled_arena.battles.first_divergence import Divergence, Option, Reason
from coupled_arena.core.choices import Control
from coupled_arena.generation.draws import Candidate
from coupled_arena.stats.simulation.resampling import ResamplingPlan, resample
from coupled_arena.store.database import Store
from coupled_arena.store.queries.comparisons import Selection
from coupled_arena.ui.tabs.experiments import _figures
from coupled_arena.views.figures.drawing import closeness_drawings
from coupled_arena.views.figures.leaderboard import style_figure
from coupled_arena.views.figures.memory import memory_figure
from coupled_arena.views.tables import closeness
from coupled_arena.views.tables.audit import audit_differences, audit_models
from coupled_arena.views.tables.coupling import coupling_pairs, with_battles
from coupled_arena.views.tables.first_divergence import divergence_view
from coupled_arena.views.tables.leaderboard import pair_table
from coupled_arena.views.tables.memory import memory_table
from coupled_arena.views.tables.risk import risk_models
from coupled_arena.views.tables.style import style_effects, style_models
from tests.analysis.styled import TERSE, fill_styled
from tests.boards import read_style_board
from tests.stats.test_resampling import judged
from tests.views import rubbish, spoken_boards
from tests.views.made_up_laws import made_up


def results(path):
    """Return what is found out about a store of `tests.views.rubbish`."""
    store = ca.open(path)
    return {
        "board": ca.leaderboard(store),
        "judged board": ca.leaderboard(store, judge=rubbish.JUDGE),
        "rest": ca.leaderboard(store, mode="coupled", category="sums", language="en"),
        "audit": ca.audit(store, judge=rubbish.JUDGE),
        "graded": ca.audit(store, judge=rubbish.JUDGE, truth="benchmark"),
        "coupling": ca.coupling(store),
        "gate": ca.gate(*rubbish.MODELS[:2], store),
        "risk": ca.risk(store, bootstraps=50),
    }


@cache
def style():
    """Return what style does to votes, on a store of its own: replies have texts there."""
    with Store.in_memory() as store:
        fill_styled(store, TERSE, 150, markdown=True)
        return read_style_board(store, Selection(), Control.STYLE)


@cache
def sized():
    """Return a board with models that are surely behind, or surely ahead for their size."""
    names = spoken_boards.COLOURS[:4]
    clear = [(*pair, 990, 10) for pair in combinations(names, 2)]
    large = zip(names, (4.0, 2.0, 8.0), strict=False)
    sizes = {name: ModelSize(weights=int(1e9), bytes_per_weight=each) for name, each in large}
    return replace(spoken_boards.board_of(spoken_boards.duels(*clear)), model_sizes=sizes)


def experiment():
    """Return rankings of random subsets."""
    return resample(judged(), ResamplingPlan(120, (30, 60), 4))


def reason(coupled):
    """Return why two answers parted."""
    parting = Divergence(0, 3, "", (1, 2))
    seen = (Candidate(1, "so", "text", 0.7, 0.4), None)
    options = (
        Option("so", "text", seen, (True, False)),
        Option("v", "text", seen[::-1], (False, True)),
    )
    return Reason(parting, ("u", "v"), coupled, options, (0.01, 0.0), (True, True))


def figures(found, experiment):
    """Return every figure by name, as a page gets it."""
    drawn = {
        f"{name}: {figure.name}": json.loads(draw(dark=False).to_json())
        for name, result in found.items()
        for figure, draw in drawings_of(result).items()
    }
    drawn |= {
        f"closeness: {figure.name}": json.loads(draw(dark=False).to_json())
        for figure, draw in closeness_drawings(made_up()).items()
    }
    drawn["memory"] = json.loads(memory_figure(sized(), against_memory(sized())).to_json())
    drawn["style"] = json.loads(style_figure(style(), dark=False).to_json())
    for at, figure in enumerate(_figures(experiment, dark=False)[1::2]):
        drawn[f"experiment: {at}"] = json.loads(figure.plot)
    return drawn


def tables(found):
    """Return every table that a page shows, as markup."""
    pairs = coupling_pairs(found["coupling"].analysis)
    risk = found["risk"].analysis
    partings = [divergence_view(reason(coupled)) for coupled in (True, False)]
    return {
        "board": found["judged board"]._table(None).html(),
        "memory": memory_table(sized()).html(),
        "style": Markup().join(made(style()).html() for made in (style_models, style_effects)),
        "audit": audit_models(found["audit"].analysis).html(),
        "differences": audit_differences(found["audit"].analysis).html(),
        "coupling": with_battles(pairs, {}).html(),
        "gate": Markup().join(
            table.html() for name, table in found["gate"].tables.items() if name != "closing"
        ),
        "closeness": Markup().join(
            made(made_up()).html() for made in (closeness.places, closeness.kinds)
        ),
        "risk": Markup().join(risk_models(risk, view).html() for view in risk.views),
        "pairs": pair_table(found["board"].analysis, lambda *_: "/"),
        "parting": json.dumps([[each["heads"], each["rows"]] for each in partings]),
    }
