"""Where a visitor comes from: the address that is counted, and stored nowhere."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import gradio as gr
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

_log = logging.getLogger(__name__)
_LONGEST = 64  # characters of what a proxy calls an address and is none
_HOME = 64  # bits of an IPv6 address that one connection to the internet has
_MAPPED = 96  # bits before an IPv4 address in an IPv6 one


def address_of(request: gr.Request | HTTPConnection) -> str:
    """Return where a request comes from; of IPv6 the /64, for whoever has one has all of it."""
    client = request.client
    return place_of(client.host if client else "")


def place_of(host: str) -> str:
    """Return what is counted as one address."""
    try:
        found = ip_address(host)
    except ValueError:
        return host[:_LONGEST]
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(IPv6Network((int(found), _HOME), strict=False))
    return str(found)


def trusted(proxies: Sequence[str]) -> list[str]:
    """Return proxies for uvicorn, IPv4 ones also as a socket that takes both kinds sees them."""
    networks = list(map(ip_network, proxies))
    mapped = [
        str(IPv6Network((f"::ffff:{each.network_address}", _MAPPED + each.prefixlen)))
        for each in networks
        if isinstance(each, IPv4Network)
    ]
    return [*map(str, networks), *mapped]


class UnnamedProxy:
    """Says once that a proxy near by speaks for visitors, and that the settings name none."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._told = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if not self._told and scope["type"] == "http" and _is_forwarded(HTTPConnection(scope)):
            self._told = True
            _log.warning(
                "A proxy speaks for visitors, and `proxies` of [limits] names none: all who come "
                "through it count as one address."
            )
        await self._app(scope, receive, send)


def _is_forwarded(request: HTTPConnection) -> bool:
    if "x-forwarded-for" not in request.headers or request.client is None:
        return False
    try:
        return ip_address(request.client.host).is_private
    except ValueError:
        return False
