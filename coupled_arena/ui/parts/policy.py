"""What a browser may do for the page: ask this server alone, whatever a text gets it to try."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Gradio runs scripts that stand in the page.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors {frames}"
)


class ContentPolicy:
    """Middleware that tells browsers what they may do with what they get.

    Parameters
    ----------
    app : ASGI application
    frames : sequence of str
        Sites that may show the page in a frame, beside this one.
    """

    def __init__(self, app: ASGIApp, frames: Sequence[str]) -> None:
        self._app = app
        self._policy = _POLICY.format(frames=" ".join(["'self'", *frames]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def wrapped(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["x-content-type-options"] = "nosniff"
                headers.setdefault("referrer-policy", "same-origin")
                if headers.get("content-type", "").startswith("text/html"):
                    headers["content-security-policy"] = self._policy
            await send(message)

        await self._app(scope, receive, wrapped if scope["type"] == "http" else send)
