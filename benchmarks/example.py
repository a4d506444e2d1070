"""Not speed: make the example that `serve --example` shows.

    python -m benchmarks.example [--work FOLDER] [--out data/example]

The demo's three models answer questions of the quiz and prompts of the library, coupled and
independent. These answers and scores are real, and so is what gates say of them. Votes and a
judge's verdicts are made up: by people with tastes of their own, who like the answers of the full
model better than those of the 4-bit one.
`--work` keeps the database, so that a stopped run goes on.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

import numpy as np

from coupled_arena.analysis.gate.order import drawn_order
from coupled_arena.core.records import Battle, Outcome, Vote, new_id
from coupled_arena.core.settings import resource
from coupled_arena.core.verdicts import Verdict
from coupled_arena.store.database import Store
from coupled_arena.store.tables import gates, judges
from coupled_arena.store.tables.gates import StoredGate
from coupled_arena.store.transfer.export import ExportFormat, export
from coupled_arena.store.transfer.snapshots import open_for_writing

MODELS = ("SmolLM2-135M", "SmolLM2-135M-bnb-8bit", "SmolLM2-135M-bnb-4bit")
QUALITY = {"SmolLM2-135M": 0.25, "SmolLM2-135M-bnb-8bit": 0.2, "SmolLM2-135M-bnb-4bit": -0.9}
PEOPLE, SHARE, TASTE = 24, 0.75, 0.25
JUDGE = "made-up-judge"
EACH_CATEGORY = 4
GATES = (("SmolLM2-135M-bnb-4bit", 0.1), ("SmolLM2-135M-bnb-8bit", 0.1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path, default=Path("data/example"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = given.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        answered(work)
        copy = Path(folder) / "example.duckdb"
        shutil.copyfile(work / "arena.duckdb", copy)
        with open_for_writing(copy) as store:
            make_up(store)
            add_gates(store)
            shutil.rmtree(given.out, ignore_errors=True)
            export(store, given.out, ExportFormat.PARQUET)
    size = sum(path.stat().st_size for path in given.out.iterdir())
    print(f"{given.out} holds {size / 1e3:,.0f} kB")


def answered(work: Path) -> None:
    """Let the models answer; what is there already is not asked again."""
    prompts = work / "prompts.jsonl"
    prompts.write_text("".join(chosen_prompts()), encoding="utf-8")
    both = ("--models", ",".join(MODELS), "--mode", "both", "--seed", "7", "--at-once", "16")
    where = ("--preset", "demo", "--db", str(work / "arena.duckdb"))
    for command in (
        ("benchmark", "--task", "quiz", "--limit", "60", "--seeds", "2"),
        ("generate", "--prompts", str(prompts), "--seeds", "1", "--max-new-tokens", "64"),
    ):
        subprocess.run([sys.executable, "-m", "coupled_arena", *command, *both, *where], check=True)


def chosen_prompts() -> list[str]:
    """Return lines of the library: some of each category, in English."""
    by_category: dict[str, list[str]] = {}
    for line in resource("data/prompts.jsonl").read_text(encoding="utf-8").splitlines(True):
        prompt = json.loads(line)
        if prompt["language"] == "en":
            by_category.setdefault(prompt["category"], []).append(line)
    return [line for lines in by_category.values() for line in lines[1::5][:EACH_CATEGORY]]


def make_up(store: Store) -> None:
    """Let made-up people and a judge compare the answers to the library's prompts."""
    rng = np.random.default_rng(3)
    with store.cursor() as cursor:
        found = cursor.execute(
            "select battle from battles anti join scores using (battle) order by battle_no"
        ).fetchall()
    battles = [battle for (id,) in found if (battle := store.battle(id))]
    luck = {(each.id, model): rng.normal() for each in battles for model in each.models}
    # No vote is older than its battle, or from the future.
    moment = max(battle.created_at for battle in battles)
    step = (datetime.now(UTC) - moment) / (PEOPLE * len(battles))
    for number in range(1, PEOPLE + 1):
        taste = {model: rng.normal(0, TASTE) for model in MODELS}
        for battle in rng.permutation(np.array(battles, dtype=object)):
            if rng.random() > SHARE:
                continue
            moment += step
            store.cast(vote_of(battle, f"person {number}", taste, luck, moment, rng))
    store.write(lambda cursor: judges.bind(cursor, JUDGE, JUDGE, "", "{}"))
    verdicts = [each for battle in battles for each in verdicts_of(battle, luck, rng)]
    store.write(lambda cursor: judges.add_verdicts(cursor, verdicts))


def add_gates(store: Store) -> None:
    """Ask of the others whether they are as good as the full model, by the real scores."""
    for gate in planned_gates(store):
        store.write(lambda cursor, gate=gate: gates.add(cursor, gate))


def planned_gates(store: Store) -> list[StoredGate]:
    """Return the runs, as the app would have planned them."""
    with store.cursor() as cursor:
        rows = cursor.execute(
            "select experiment, turns.prompt, list(battle order by battle_no), min(created_at) "
            "from battles join turns using (battle) semi join scores using (battle) "
            "where mode = 'coupled' group by all order by min(battle_no)"
        ).fetchall()
    seed, answers = rows[0][0], len(rows[0][2])
    drawn = drawn_order([prompt for _seed, prompt, *_ in rows], int(seed, 16))
    battles = tuple(id for at in drawn for id in rows[at][2])
    begun = min(moment for *_, moment in rows)
    return [
        StoredGate(
            *(f"{at:032x}", MODELS[0], candidate, "quiz", margin, 0.05, seed, answers, battles),
            begun + timedelta(minutes=at),
        )
        for at, (candidate, margin) in enumerate(GATES, 1)
    ]


def vote_of(
    battle: Battle,
    voter: str,
    taste: dict[str, float],
    luck: dict[tuple[str, str], float],
    moment: datetime,
    rng: np.random.Generator,
) -> Vote:
    liked = [
        QUALITY[model] + taste[model] + luck[battle.id, model] + rng.normal(0, 0.7)
        for model in battle.models
    ]
    steps = np.round(np.array(liked) / 0.9)  # what is nearly as good is a tie
    order = sorted(set(steps), reverse=True)
    bad = max(liked) < -1.2
    ranks = tuple(1 if bad else 1 + order.index(step) for step in steps)
    return Vote(new_id(), battle.id, voter, ranks, both_bad=bad, cast_at=moment)


def verdicts_of(
    battle: Battle, luck: dict[tuple[str, str], float], rng: np.random.Generator
) -> list[Verdict]:
    seen = [0.6 * (QUALITY[m] + luck[battle.id, m]) + rng.normal(0, 0.8) for m in battle.models]
    found: list[Verdict] = []
    for i, j in combinations(range(len(seen)), 2):
        for first, second in ((i, j), (j, i)):
            gap = seen[first] - seen[second] + 0.15  # it likes what it reads first
            better = Outcome.FIRST if gap > 0 else Outcome.SECOND
            outcome = Outcome.TIE if abs(gap) < 0.3 else better
            found.append(Verdict(new_id(), battle.id, JUDGE, first, second, outcome, "made up"))
    return found


if __name__ == "__main__":
    main()
