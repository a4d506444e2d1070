"""From a table of votes to rank-sets and a figure: ``python docs/from_votes_to_a_figure.py``.

`votes.csv` is made up: five models, 240 comparisons that twelve people decided, and a judge's
verdict on these and on 960 more. Give another file of the same columns as argument.
"""

# %% Read the votes: any table with model_a, model_b and winner will do.
import sys
from pathlib import Path

import pandas as pd

import coupled_arena as ca

HERE = Path(__file__).parent
votes = pd.read_csv(sys.argv[1] if len(sys.argv) > 1 else HERE / "votes.csv")
people = votes[votes.winner.notna()]

# %% Who is better, by people alone? `low` and `high` bound the win-rate; the true rank of every
# model lies between `rank_low` and `rank_high`, for all models at once, in 95% of such tables.
alone = ca.rank(people.drop(columns="verdict"))
print(alone)

# %% The same with the judge: its verdicts on what nobody voted on, corrected by the votes.
powered = ca.rank(votes)
print(powered)

# %% Which ranks did the judge save?
ranks = ["rank_low", "rank_high"]
both = (
    alone.to_frame()
    .set_index("model")[ranks]
    .join(powered.to_frame().set_index("model")[ranks], suffixes=("", "_with_judge"))
)
print(both)

# %% The figure of the app. In a notebook it shows itself; a script writes it.
figure = ca.plot(powered, "rank_sets")
out = Path("rank_sets.html")
figure.write_html(out, include_plotlyjs="cdn")
print(f"{out} has the figure.")
