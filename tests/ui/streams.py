"""Gradio's streams of events, as a page opens them."""

from __future__ import annotations

import json

from tests.patience import until

# The last of the handlers that run, one after another, whenever a tab is selected.
LAST_OF_A_TAB = """
() => {
  const { components, dependencies } = window.gradio_config;
  const tabs = components.find(({ type }) => type === "tabs").id;
  const chosen = ({ targets }) => targets.some(([id, event]) => id === tabs && event === "select");
  return Math.max(...dependencies.filter(chosen).map(({ id }) => id));
}
"""


class Streams:
    """The streams that a page opens from now on, and those that are over."""

    def __init__(self, page):
        self._page = page
        self._posted = []
        self._over = set()
        self.opened = []
        page.on("request", self._asked)
        for end in ("requestfinished", "requestfailed"):  # the server or the page hangs up first
            page.on(end, lambda request: self._over.add(request))

    def _asked(self, request):
        if "queue/data" in request.url:
            self.opened.append(request)
        if "queue/join" in request.url:
            self._posted.append(json.loads(request.post_data)["fn_index"])

    def over(self):
        """Return whether none is open."""
        self._page.wait_for_timeout(50)  # the page's events come in meanwhile
        return self._over.issuperset(self.opened)

    def wait_for_tab(self):
        """Return once all that the selection of a tab sets going has been posted, and has ended."""
        last = self._page.evaluate(LAST_OF_A_TAB)
        until(lambda: self.over() and last in self._posted)
        until(self.over)
