"""A page with the arena's two scripts and a view full of markup."""

from __future__ import annotations

import gradio as gr

from coupled_arena.ui.parts.panel import comparison_panel
from coupled_arena.ui.parts.round_panel import round_panel
from tests.ui.hostile_texts import hostile_texts
from tests.ui.mounting import serve

HOSTILE = (
    "def f(x):\n    if x < 1 && x > 0:\n\treturn `x`\n\n"
    "<think>hm</think> <script>window.hacked=1</script> "
    '<img src=x onerror="window.hacked=1"> <b>bold</b> &lt;i&gt; \\n \\\\ '
    "${window.hacked=1} `${window.hacked=1}` {{value}} {{window.hacked=1}} "
    "</div></pre>'\" javascript:window.hacked=1 # 1. * _a_ $x^2$ e\u0301 \u202e 🐋"
)
REVEAL = {
    **dict.fromkeys(("vote", "battle", "mode", "seed", "nonce", "commitment", "source"), HOSTILE),
    "models": [HOSTILE, HOSTILE],
    "ranks": [1, 2],
    "both_bad": False,
    "early": False,
    "same": [],
}
ROUND = {
    "size": 2,
    "turns": [{"system": HOSTILE, "prompt": HOSTILE, "answers": [HOSTILE, f"second {HOSTILE}"]}],
    "running": False,
    "commitment": HOSTILE,
    "reveal": REVEAL,
    "reasons": {"criteria": ["style"], "comment": HOSTILE},
    "criteria": [["style", HOSTILE]],
    "longest": 500,
    "error": None,
}
COMPARISON = {
    "id": HOSTILE,
    "note": HOSTILE,
    "answers": [
        {"model": HOSTILE, "common": HOSTILE, "divergence": HOSTILE, "rest": HOSTILE},
        {"model": HOSTILE, "common": HOSTILE, "divergence": "", "rest": ""},
    ],
}
# Two hundred more, as the answers of so many turns.
MANY = hostile_texts(200)
MANY_TURNS = [
    {"system": "", "prompt": "And now?", "answers": list(pair)}
    for pair in zip(MANY[::2], MANY[1::2], strict=True)
]


def build() -> gr.Blocks:
    """Return a page that shows the views at once, and again when asked to."""
    with gr.Blocks() as page:
        panels = [round_panel(ROUND | {"reveal": None}), comparison_panel(COMPARISON)]
        button = gr.Button("Show again", elem_id="again")
        button.click(lambda: (ROUND, COMPARISON), None, panels)
        many = gr.Button("Show many", elem_id="many")
        many.click(lambda: ROUND | {"reveal": None, "turns": MANY_TURNS}, None, panels[0])
    return page


def launch(port: int) -> None:
    """Serve the page."""
    serve(port, build())
