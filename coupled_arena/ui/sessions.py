"""What the server keeps of each page that somebody has open, and for how long."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import gradio as gr
from fastapi import FastAPI
from gradio.state_holder import SessionState, StateHolder

_AFTER_CLOSING = timedelta(hours=1)  # a laptop wakes up, and its page goes on


def keep_sessions(application: FastAPI, page: gr.Blocks) -> None:
    """Give a page, as it was mounted last on an application, sessions of this kind."""
    mounted: Any = application.routes[-1]
    mounted.app.state_holder = Sessions()
    mounted.app.state_holder.set_blocks(page)


class Sessions(StateHolder):
    """Gradio's sessions, small, and forgotten once their pages are closed and an hour unused.

    Gradio's own take 0.4 MB each and are kept until there are 10,000 of them, which is 4 GB.
    """

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self:
            self.session_data[session_id] = _Session(self.blocks)
        return super().__getitem__(session_id)

    def delete_all_expired_state(self) -> None:
        """Forget values that have expired, and pages that were closed; Gradio asks every second."""
        super().delete_all_expired_state()
        before = datetime.now() - _AFTER_CLOSING  # noqa: DTZ005 (Gradio's times are local)
        with self.lock:
            for session_id, session in list(self.session_data.items()):
                if session.is_closed and self.time_last_used[session_id] < before:
                    del self.session_data[session_id], self.time_last_used[session_id]


class _Session(SessionState):
    """A session without copies of the settings of all components.

    They are for links to a page as it is (deep links), which this page has none of. To make them
    took a twentieth of a second of the event loop for each name of a session that anybody made up.
    Gradio makes anew those that it misses.
    """

    def __init__(self, page: gr.Blocks) -> None:
        without: Any = SimpleNamespace(default_config=page.default_config, blocks=())
        super().__init__(without)
