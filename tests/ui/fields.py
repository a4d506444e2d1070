"""Fields of the page, filled as people fill them."""

from __future__ import annotations


def enter(field, text):
    """Press a field, then write into it.

    What a tab or a panel holds is made when it is first opened, and Gradio gives it its values in
    the next frame. People write into what they see, which is after that frame, as a press is; to
    fill a field alone waits for none, and what was written is then overwritten.
    """
    field.click()
    field.fill(text)
