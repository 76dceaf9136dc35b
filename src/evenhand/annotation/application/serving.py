"""Create the application, and serve it."""

import gc
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from evenhand.schema import EvenhandError, ServiceUnavailable, UsageError

try:
    import uvicorn
    from fastapi import APIRouter, FastAPI, Request, Response
    from starlette.exceptions import HTTPException
except ImportError as error:
    raise UsageError(
        "Serving a study requires FastAPI and uvicorn.", "Install them: pip install 'evenhand[annotate]'"
    ) from error

from evenhand.annotation.application import admin, pages
from evenhand.annotation.application.context import Context, get_context, templates
from evenhand.annotation.application.patience import PatientProtocol, SharingProtocol
from evenhand.annotation.application.protection import (
    Address,
    Gate,
    Limiter,
    Limits,
    RequestRefused,
    Signatures,
    WholeBodies,
)
from evenhand.annotation.application.serving_lock import sole_server
from evenhand.annotation.store import Store

BUSY = RequestRefused(
    503,
    "The server is busy",
    "What you sent was not saved. Please go back and send it again in a moment.",
    wait=5,
)
NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""Settings that prevent newer versions of FastAPI from sending telemetry to collectors in the environment."""
TURN = 0.0005
"""Seconds after which a computing thread yields to others; with the usual 5 ms, a page would wait dozens of times."""
SAID = {
    404: ("There is no such page", "Please use the link that you were given."),
    405: ("There is no such page", "Please use the link that you were given."),
}


def application(
    store: Store,
    *,
    address: str,
    proxied: bool = False,
    limits: Limits | None = None,
    clock: Callable[[], datetime] | None = None,
) -> FastAPI:
    """Create the ASGI application of one study.

    Raises UsageError for a URL with a path.

    Parameters
    ----------
    address
        Public URL (https://judge.example.org), used to create links and check forms.
    proxied
        Whether to trust the X-Forwarded-* headers of a proxy.
    limits
        Rate limits.
    clock
        Returns the time in UTC.
    """
    context = Context(
        store,
        Address.read(address),
        Signatures(store.secret),
        templates(),
        limits or Limits(),
        Limiter(),
        **({} if clock is None else {"clock": clock}),
    )
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # such redirects would use the Host header
        telemetry=NO_TELEMETRY,
    )
    app.state.context = context
    app.state.admin = admin.Memory.create(store, context.clock)
    for router in _routers():
        app.include_router(router)
    app.add_exception_handler(RequestRefused, _show_refusal)
    app.add_exception_handler(HTTPException, _no_such_page)
    app.add_exception_handler(EvenhandError, _not_possible)
    app.add_middleware(WholeBodies, refusal=context.refusal)
    app.add_middleware(
        Gate, address=context.address, proxied=proxied, refusal=context.refusal
    )  # the outermost
    return app


def invite_link(store: Store, address: str, invite: str) -> str:
    """Return the URL of an invite. Raise a UsageError for a base URL with a path."""
    return f"{Address.read(address).origin}/i/{Signatures(store.secret).invite_token(invite)}"


def serve(
    store: Store,
    *,
    address: str,
    host: str,
    port: int,
    proxied: bool = False,
    announce: Callable[[], None] | None = None,
) -> None:
    """Serve until interrupted with uvicorn: one process with threads; forms in progress are finished first.

    Raises UsageError if another process serves the study, the port is in use or the interface is not on this machine.

    Parameters
    ----------
    announce
        Called once this process holds the lock of the study and the port.
    """
    app = application(store, address=address, proxied=proxied)
    listening = listen(host, port)
    try:
        with sole_server(store, address):
            if announce is not None:
                announce()
            _run(app, listening, proxied=proxied)
    finally:
        listening.close()


def _run(app: FastAPI, listening: socket.socket, *, proxied: bool) -> None:
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            # behind a proxy, all connections come from its address
            http=PatientProtocol if proxied else SharingProtocol,
            ws="none",
            log_level="warning",
            access_log=False,  # it would store addresses of people, and invitation links
            server_header=False,
            proxy_headers=False,  # Gate reads these headers, and only the last value
            limit_concurrency=1000,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=20,
            h11_max_incomplete_event_size=64 * 1024,
        )
    )
    try:
        with steady():
            server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # how serving ends


@contextmanager
def steady() -> Iterator[None]:
    """Keep pages fast while other threads of the process work.

    Garbage collection over 10,000 items in memory would stop all pages for a quarter of a second. Objects that exist
    at the start are therefore excluded from it. Exports and agreement yield to pages more often.
    """
    before = sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()


def _routers() -> tuple[APIRouter, ...]:
    return (pages.router, admin.router)


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # with this protocol, asyncio does not wait for acknowledgement between two parts of a response (40 ms)
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(1024)
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(
            f"Cannot listen on {host}, port {port}: {getattr(error, 'strerror', None) or error}.",
            "Another program may already use this port. Try another --port (1024 or higher).",
        ) from error
    return listening


def _show_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)
    return get_context(request).refusal(error)


def _no_such_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    heading, sentence = SAID.get(error.status_code, ("This did not work", "Please go back and try again."))
    return get_context(request).refusal(RequestRefused(error.status_code, heading, sentence))


def _not_possible(request: Request, error: Exception) -> Response:
    """Return the page for an error of the database, without its message, which may contain private data."""
    assert isinstance(error, EvenhandError)
    if isinstance(error, ServiceUnavailable):
        return get_context(request).refusal(BUSY)
    if not isinstance(error, UsageError):
        raise error
    return get_context(request).refusal(
        RequestRefused(
            403,
            "This is not possible",
            "Please open your link again, or continue the study.",
        )
    )
