"""What the tabs of analyses offer, and say above it; translated where it is shown."""

from __future__ import annotations

from coupled_arena.core.choices import Control, Copula, Ties, Truth
from coupled_arena.core.language import N_

TRUTHS = [
    (N_("People's votes"), Truth.VOTES.value),
    (N_("A benchmark's right answers"), Truth.BENCHMARK.value),
]
TIES = [(N_("Ties as losses"), Ties.LOSS.value), (N_("Ties left out"), Ties.DROP.value)]
INTERVAL = (N_("An interval of its win rate"), "")
PLANNER = N_(
    "## How many more votes\n"
    "What an interval of a given width takes, or two models that the leaderboard is to separate "
    "with a given probability at their present distance, if more votes and verdicts are like those "
    "there are. The leaderboard keeps ties, whatever is chosen above."
)
CONTROLS = [
    (N_("Nothing"), Control.NONE.value),
    (N_("Length"), Control.LENGTH.value),
    (N_("Length and Markdown"), Control.STYLE.value),
]
PAIRINGS = [(N_("The same prompts"), ""), (N_("Independent samples"), "independent")]
COPULAS = [
    (N_("Independent copula"), Copula.INDEPENDENT.value),
    (N_("Empirical copula"), Copula.EMPIRICAL.value),
]
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
