"""What the tabs of analyses offer, and say above it; translated where it is shown."""

from __future__ import annotations

from coupled_arena.core.language import N_

INTERVAL = (N_("An interval of its win rate"), "")
PLANNER = N_(
    "## How many more votes\n"
    "What an interval of a given width takes, or two models that the leaderboard is to separate "
    "with a given probability at their present distance, if more votes and verdicts are like those "
    "there are. The leaderboard keeps ties, whatever is chosen above."
)
PAIRINGS = [(N_("The same prompts"), ""), (N_("Independent samples"), "independent")]
REPLIES_HERE = N_(
    "The replies here, with their length, repetition and refusals, and whatever scores and "
    "verdicts they have. Rounds that nobody has voted on yet are left out, so that they stay blind."
)
SCORES_FILE = N_(
    "A CSV, JSON or Parquet file with the columns model, prompt, metric and score, or model, "
    "prompt and one for each metric."
)
NO_VERDICTS = N_(
    '<p class="headline">There are no verdicts here yet.</p><p class="hint">Let a judge judge the '
    "battles, or import verdicts with <code>coupled-arena import FILE --judge NAME</code>.</p>"
)
