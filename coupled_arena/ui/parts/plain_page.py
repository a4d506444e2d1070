"""Pages beside Gradio's, such as signing in and loading: with the look of the arena.

This file knows nothing of what such a page says.
"""

from __future__ import annotations

from markupsafe import Markup

from coupled_arena.core.language import language
from coupled_arena.core.settings import resource

_PAGE = Markup("""<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="{icon}">
{head}<style>{style}</style><script>
try {{
  const theme = localStorage.getItem("coupled-arena-theme");
  if (theme) document.documentElement.dataset.theme = theme;
}} catch {{ /* a browser may forbid it */ }}
</script></head><body><main>
{body}
</main>{script}</body></html>""")


def plain_page(
    title: str,
    body: Markup,
    *,
    script: Markup | str = "",
    head: Markup | str = "",
    icon: str = "favicon.ico",
) -> str:
    """Return a page of the arena's look.

    Parameters
    ----------
    body : Markup
        What stands in its main part.
    script : Markup
        Elements after it.
    head : Markup
        Elements of its head.
    icon : str
        The address of the arena's icon, seen from the page.
    """
    return _PAGE.format(
        language=language(),
        title=title,
        head=head,
        style=Markup(resource("assets/plain.css").read_text(encoding="utf-8")),
        body=body,
        script=script,
        icon=icon,
    )
