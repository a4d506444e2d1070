"""Colours and fonts of the page."""

from __future__ import annotations

from gradio.themes import Soft


def theme() -> Soft:
    """Return Gradio's Soft with contrasts of at least 4.5 to 1, the AA level of WCAG 2.2."""
    soft = Soft(font="sans-serif", font_mono="monospace")
    soft.set(
        block_label_text_color="*primary_700",
        block_title_text_color="*primary_700",
        body_text_color_subdued="*neutral_500",
        body_text_color_subdued_dark="*neutral_300",
        button_primary_background_fill="*primary_600",
        button_primary_background_fill_hover="*primary_700",
        button_primary_border_color="*primary_600",
        button_primary_border_color_hover="*primary_700",
        button_primary_background_fill_hover_dark="*primary_700",
        button_primary_border_color_hover_dark="*primary_700",
        checkbox_border_color="*neutral_400",
        checkbox_label_background_fill_selected="*primary_600",
        color_accent="*primary_600",
        button_border_width="1px",
        button_secondary_border_color="*neutral_300",
        button_secondary_border_color_dark="*neutral_600",
        input_border_color="*neutral_400",
        input_border_color_dark="*neutral_500",
        input_border_width="1px",
        input_placeholder_color="*neutral_500",
        link_text_color_dark="*secondary_300",
        link_text_color_hover_dark="*secondary_200",
        input_placeholder_color_dark="*neutral_300",
    )
    return soft
