"""Signing in by the hub: Gradio's routes, on the application that the page is mounted on."""

from __future__ import annotations

from fastapi import FastAPI
from gradio.oauth import attach_oauth
from gradio.utils import get_space

from coupled_arena.core.errors import SettingsError
from coupled_arena.core.extras import require


def attach_hub(application: FastAPI) -> None:
    """Let the hub say who somebody is; the session that it opens is there for all that follows.

    Raises
    ------
    SettingsError
        This is no Space, or one that may not ask the hub, or a package is missing.
    """
    if get_space() is None:  # Gradio would take whoever runs the program for everybody
        raise SettingsError("sign_in = 'hub' works in a Space of the hub alone: use 'password'.")
    require("hub", "Signing in by the hub", SettingsError)
    try:
        attach_oauth(application)
    except ValueError as error:
        raise SettingsError(
            "The hub lets nobody sign in here: put hf_oauth: true into the Space's front matter."
        ) from error
