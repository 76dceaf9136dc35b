"""Sessions of administrators. They end after a long time without a request, after half a day, or at logout."""

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from itsdangerous import Signer

from evenhand.annotation.application.admin.accounts import must_choose
from evenhand.annotation.application.context import Context, get_context
from evenhand.annotation.application.protection import RequestRefused
from evenhand.annotation.application.sessions import (
    BrowserSession,
    end_session,
    find_session,
    start_session,
)

LASTS = timedelta(hours=12)
"""Maximum duration of a session."""
IDLE = timedelta(minutes=30)
"""Maximum time without a request."""
STAMPED_ANEW = timedelta(minutes=1)
LOGIN, ACCOUNT, LOGOUT = "/admin/login", "/admin/account", "/admin/logout"

Endpoint = Callable[[Request, BrowserSession], Response]
"""Function that handles a request to an admin page or action; path parameters are in the request."""


def private(endpoint: Endpoint) -> Callable[[Request], Response]:
    """Restrict an endpoint to admins with a session; without a chosen password, only few pages are available."""

    def respond(request: Request) -> Response:
        context = get_context(request)
        session = find_admin_session(request)
        if session is None:
            if request.method != "GET":
                raise RequestRefused(
                    403, "You are not logged in", "Nothing was changed. Log in, and try again."
                )
            return RedirectResponse(LOGIN, 303)
        own = request.url.path in (ACCOUNT, LOGOUT)
        if not own and must_choose(context.store, session.subject):
            return RedirectResponse(ACCOUNT, 303)
        response = endpoint(request, session)
        if request.url.path != LOGOUT and "set-cookie" not in response.headers:
            _stamp_if_old(request, response, session)
        return response

    return respond


def find_admin_session(request: Request) -> BrowserSession | None:
    """Return the session of the administrator who sent a request; a session that was idle for too long is ended."""
    context = get_context(request)
    session = find_session(request, "admin")
    if session is None:
        return None
    seen = _read_last_use(request, session)
    if seen is None or context.clock() - seen > IDLE:
        end_session(request, Response(), "admin")
        return None
    return session


def log_in(request: Request, response: Response, name: str) -> None:
    """Start a new session after a correct password, and end the session that the browser had."""
    token = start_session(request, response, "admin", name, LASTS)
    _stamp(get_context(request), response, token)


def log_out(request: Request, response: Response) -> None:
    """End the session, here and in the browser."""
    end_session(request, response, "admin")
    context = get_context(request)
    response.delete_cookie(
        _name(context), path="/", secure=context.address.secure, httponly=True, samesite="lax"
    )


def _read_last_use(request: Request, session: BrowserSession) -> datetime | None:
    """Return when the session was last used, from its signed timestamp; None if that is from another session."""
    moment, _, signature = request.cookies.get(_name(get_context(request)), "").partition(".")
    signer = _signer(get_context(request))
    if not moment.isdecimal() or len(moment) > 12 or not moment.isascii():
        return None
    if not signer.verify_signature(f"{session.token}.{moment}", signature):
        return None
    return datetime.fromtimestamp(int(moment), UTC)


def _stamp_if_old(request: Request, response: Response, session: BrowserSession) -> None:
    context = get_context(request)
    seen = _read_last_use(request, session)
    if seen is None or context.clock() - seen > STAMPED_ANEW:
        _stamp(context, response, session.token)


def _stamp(context: Context, response: Response, token: str) -> None:
    moment = str(int(context.clock().timestamp()))
    signature = _signer(context).get_signature(f"{token}.{moment}").decode()
    response.set_cookie(
        _name(context),
        f"{moment}.{signature}",
        max_age=int(IDLE.total_seconds()),
        path="/",
        secure=context.address.secure,
        httponly=True,
        samesite="lax",
    )


def _signer(context: Context) -> Signer:
    return Signer(context.store.secret, salt="evenhand.admin.seen", digest_method=hashlib.sha256)


def _name(context: Context) -> str:
    return f"{'__Host-' if context.address.secure else ''}evenhand-seen-{context.store.study.name}"
