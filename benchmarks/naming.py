"""How many of real answers are said to name a model, to be read one by one.

    python -m benchmarks.naming FILE.json...

Files are those of AlpacaEval, `results/MODEL/model_outputs.json` of its repository: a JSON array of
objects with `instruction` and `output`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from coupled_arena.core.naming import known_names

AROUND = 80  # characters that are shown on either side


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("files", nargs="+", type=Path)
    names, answers, named = known_names(), 0, 0
    for file in arguments.parse_args().files:
        for row in json.loads(file.read_text(encoding="utf-8")):
            answer = row["output"]
            if not isinstance(answer, str):
                continue
            answers += 1
            if name := names.name_in(answer, row["instruction"]):
                named += 1
                at = max(answer.find(name), 0)
                shown = answer[max(at - AROUND, 0) : at + AROUND].replace("\n", " ")
                print(f"{file.parent.name}: {name}: {row['instruction'][:AROUND]!r}: ...{shown}")
    print(f"{named:,} of {answers:,} answers name a model")


if __name__ == "__main__":
    main()
