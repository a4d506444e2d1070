"""What the server keeps of each page that somebody has open, and for how long."""

from __future__ import annotations

from datetime import datetime, timedelta
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
        known = session_id in self
        session = super().__getitem__(session_id)
        if not known:
            # Copies of the settings of all components, for links to a page as it is (deep links),
            # which this page has none of. Gradio makes anew what it misses.
            session.config_values.clear()
        return session

    def delete_all_expired_state(self) -> None:
        """Forget values that have expired, and pages that were closed; Gradio asks every second."""
        super().delete_all_expired_state()
        before = datetime.now() - _AFTER_CLOSING  # noqa: DTZ005 (Gradio's times are local)
        with self.lock:
            for session_id, session in list(self.session_data.items()):
                if session.is_closed and self.time_last_used[session_id] < before:
                    del self.session_data[session_id], self.time_last_used[session_id]
