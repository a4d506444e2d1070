"""Texts that try to run a script, to ask the network for something, or to break the page."""

from __future__ import annotations

import random

RUN = "window.hacked=1"
OUTSIDE = "//outside.invalid/x"

_ADDRESSES = (
    *(f"javascript:{RUN}", f"JaVaScRiPt:{RUN}", f"java\tscript:{RUN}", f"&#106;avascript:{RUN}"),
    *(f"\x01javascript:{RUN}", f"vbscript:{RUN}", f"data:text/html,<script>{RUN}</script>"),
    *("data:image/svg+xml;base64,PHN2Zz48L3N2Zz4=", f"blob:{OUTSIDE}", f"file://{OUTSIDE}"),
    *(f"https:{OUTSIDE}", OUTSIDE, "/rounds", "#", f"mailto:a@b.c?subject={RUN}"),
)
_LINKS = (
    *(
        "[a]({0})",
        "[a](<{0}>)",
        "<{0}>",
        "[a][r]\n\n[r]: {0}",
        "[r]: <{0}> 'x\"onclick={1}'\n\n[r]",
    ),
    *("![a]({0})", "[![a]({0})]({0})", '[a]({0} "onmouseover={1}")', "{0}", "[a]({0}\n\n"),
    *(r"$\href{{{0}}}{{x}}$", r"$\url{{{0}}}$", r"\(\includegraphics{{{0}}}\)"),
    "| a |\n| - |\n| [b]({0}) |",
)
_TAGS = (
    *("<script>{1}</script>", "<img src=x onerror={1}>", "<svg onload={1}>", "<iframe src='{0}'>"),
    *(
        "<svg><script>{1}</script></svg>",
        "<svg><a xlink:href='{0}'><text>x",
        "<details ontoggle={1} open>",
    ),
    "<math><mi xlink:href='{0}'>x</mi></math>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror={1}>'>",
    *(
        "<object data='{0}'></object>",
        "<embed src='{0}'>",
        "<base href='{0}'>",
        "<link href='{0}'>",
    ),
    *(
        "<form action='{0}'><button>x",
        "<style>@import '{0}';</style>",
        "<p style='background:url({0})'>",
    ),
    *("</div></pre></article><script>{1}</script>", "<!-- --!><img src=x onerror={1}> -->"),
    *(
        "<meta http-equiv=refresh content='0;url={0}'>",
        "<noscript><p title='</noscript><img src=x onerror={1}>'>",
    ),
    *("{{{{{1}}}}} ${{{1}}} `${{{1}}}`", "<template><img src=x onerror={1}></template>"),
)
_FORMULAS = (
    *(
        r"$\def\a{{\a\a}}\a$",
        r"$$\def\a#1{{\a{{#1#1}}}}\a{{x}}$$",
        r"$\htmlClass{{answer clickable}}{{x}}$",
    ),
    *(r"$\htmlData{{onclick={1}}}{{x}}$", r"$\htmlStyle{{background:url({0})}}{{x}}$"),
    *(r"$\rule{{9999em}}{{9999em}}$", r"$\text{{<img src=x onerror={1}>}}$", r"\[\unicode{{x}}\]"),
    *(r"$\textcolor{{red;background:url({0})}}{{x}}$", r"$$x^{{2}}$", r"\(x", "$", "$$", "$$$$$$$"),
    *(r"\[ \begin{{matrix}} a & b", r"$\gdef\x{{\x}}$ $\x$", r"$\kern9999em x$", r"\[<b>\]"),
)
_FENCES = (
    *(
        "```{0}\n{1}\n```",
        "```html onload={1}\n<script>{1}</script>\n```",
        "````\n```js\n{1}\n```\n````",
    ),
    *(
        "~~~\n```\n</code></pre><script>{1}</script>",
        "```\"onclick='{1}'\nx",
        "    <script>{1}</script>",
    ),
    *("> ```\n> {1}\n\n```", "1. ```js\n   {1}\n2. <b>"),
)
_BREAKERS = (
    *(
        "\u202e txet \u2066 {1}",
        "a\u200b\u200c\u200d\ufeff\u2060b",
        "e\u0301" * 50,
        "\x00\x07\x1b[31m",
    ),
    *("\ud83d lone", "\r\na\rb\n", "\u2028\u2029", "&lt;script&gt; &#60;b&#62; &amp;amp;"),
    *(
        "**" * 400,
        "[" * 400 + "](x)",
        "*_" * 400,
        "`" * 401,
        "![" * 300,
        "|" * 400 + "\n" + "|-" * 400,
    ),
    *("> " * 200 + "deep", "- " * 200 + "deep", "(" * 400, "<" * 400, "\\" * 401, "$x$ " * 150),
    *(
        "# " * 60,
        "1. a\n" * 300,
        "a\n===\n" * 60,
        r"\[" + "\n" + r"\[a" * 300,
        "&" * 400,
        "~~" * 400,
    ),
)
_LONG = ("word " * 200_000, "x" * 1_000_000, "*[$`<|" * 30_000, "> " * 90_000, "\\(\n" * 30_000)


def hostile_texts(number: int, seed: int = 7) -> list[str]:
    """Return so many texts: each kind by itself first, then mixtures of them; none twice."""
    rng = random.Random(seed)
    kinds = (*_TAGS, *_FORMULAS, *_FENCES, *_LINKS, *_BREAKERS)
    texts = dict.fromkeys(_LONG)
    texts |= dict.fromkeys(_filled(kind, _ADDRESSES[0]) for kind in kinds)
    texts |= dict.fromkeys(_filled(_LINKS[0], address) for address in _ADDRESSES)
    while len(texts) < number:
        joint = rng.choice(("\n\n", "\n", " ", "", "\n- ", "\n> "))
        mixture = (_filled(kind, rng.choice(_ADDRESSES)) for kind in rng.choices(kinds, k=4))
        texts[joint.join(mixture)] = None
    return list(texts)[:number]


def _filled(kind: str, address: str) -> str:
    # The breakers have braces of nobody's; only what names a place is a template.
    text = kind.format(address, RUN) if "{0}" in kind or "{1}" in kind or "{{" in kind else kind
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
