"""The outermost layer: the client's address, the host name, and the headers of every response."""

import logging
from collections.abc import Callable
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.annotation.application.protection.address import Address
from evenhand.annotation.application.protection.refusals import RequestRefused
from evenhand.annotation.application.protection.untold import in_one_line, without_values

log = logging.getLogger("evenhand.annotation")

POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
"""Content security policy without scripts, because the pages have none."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    # with no-referrer, browsers send `Origin: null` with all forms, so own forms could not be recognised
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Robots-Tag": "noindex, nofollow",
}
HTTPS_ONLY = "max-age=31536000"
ANY_HOST = ("/health",)
"""Paths that accept any host name, because health checks use different ones."""
FAILED = RequestRefused(
    500,
    "Something went wrong on our side",
    "What you sent may not have been saved. Please try again in a minute.",
)


class Gate:
    """Middleware that checks proxy headers and hosts, handles uncaught errors and adds security headers."""

    def __init__(
        self, app: ASGIApp, address: Address, proxied: bool, refusal: Callable[[RequestRefused], Response]
    ):
        self.app = app
        self.address = address
        self.proxied = proxied
        self.refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        headers = Headers(scope=scope)
        if self.proxied:
            scope["client"] = _find_client(headers, scope.get("client"))
        begun = False

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._add(MutableHeaders(raw=message["headers"]))
            await send(message)

        host = headers.get("host", "")
        if self.proxied:
            host = _last(headers, "x-forwarded-host") or host
        if not self.address.is_host(host) and scope["path"] not in ANY_HOST:
            return await self.refusal(self._elsewhere())(scope, receive, with_headers)
        try:
            await self.app(scope, receive, with_headers)
        except Exception as error:
            # log the pattern, because the path itself may be an invitation link
            page = getattr(scope.get("route"), "path", "an unknown page")
            if (line := in_one_line(error)) is not None:
                log.error("%s %s: %s", scope["method"], page, line)
            else:
                log.error("%s %s\n%s", scope["method"], page, without_values(error))
            if begun:
                # this ends the connection; the server logs the new exception, and not the original one
                raise RuntimeError("an answer broke off") from None
            await self.refusal(FAILED)(scope, receive, with_headers)

    def _add(self, headers: MutableHeaders) -> None:
        for name, value in HEADERS.items():
            headers[name] = value
        headers.setdefault("Cache-Control", "no-store")
        if self.address.secure:
            headers["Strict-Transport-Security"] = HTTPS_ONLY

    def _elsewhere(self) -> RequestRefused:
        return RequestRefused(421, "This address is wrong", f"The study is at {self.address.origin}")


def _find_client(headers: Headers, client: object) -> object:
    try:
        return (str(ip_address(_last(headers, "x-forwarded-for"))), 0)
    except ValueError:
        return client


def _last(headers: Headers, name: str) -> str:
    """Return the proxy's own value: the last value of the last header line; the client may have
    written earlier ones.
    """
    return ",".join(headers.getlist(name)).rpartition(",")[2].strip()
