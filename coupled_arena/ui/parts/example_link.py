"""The way to the example of the package, which tabs that have nothing to show offer."""

from __future__ import annotations

from markupsafe import Markup

from coupled_arena.core.language import _

EXAMPLE = "example"  # the path below the arena's own
_LINK = Markup('<p class="to-example"><a href="{href}">{text}</a></p>')


def example_link() -> Markup:
    """Return the button that leads there."""
    return _LINK.format(**example_view())


def example_view() -> dict[str, str]:
    """Return the same as what a script draws."""
    return {"href": f"{EXAMPLE}/", "text": _("Look at an example")}
