"""Fields of the page, filled as people fill them."""

from __future__ import annotations


def enter(field, text):
    """Write into a field once it stands where people see it.

    What a tab or a panel holds is made when it is first opened, and Gradio gives it its values in
    the next frame. People write into what they see, which is after that frame, and so does a
    pointer that waits until it stands still; to fill a field alone waits for none, and what was
    written is then overwritten. A press would do as well, but beside a slider it counts as one.
    """
    field.hover()
    field.fill(text)
