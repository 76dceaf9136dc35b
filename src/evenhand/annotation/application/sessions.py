"""Sessions in cookies, and the forms that belong to them."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from fastapi import Request, Response

from evenhand.annotation.application.context import Context, get_context
from evenhand.annotation.application.protection import (
    BODY,
    TOKEN,
    Form,
    Rate,
    RequestRefused,
    find_network,
    read_form,
    sent_from_here,
)
from evenhand.annotation.store import people

Kind = Literal["person", "admin"]
PERSON_LASTS = timedelta(days=7)
RETURNS_WITHIN = timedelta(days=30)
"""Time for which a browser remembers the person who arrived by a shared link."""
LONGEST_TOKEN = 200


@dataclass(frozen=True)
class BrowserSession:
    """The session of a request: its person or admin."""

    token: str
    kind: Kind
    subject: str
    """A person's pseudonym, or the name of an administrator's account."""


def find_session(request: Request, kind: Kind) -> BrowserSession | None:
    """Return the session of the browser's cookie; None without one, or if it has expired."""
    context = get_context(request)
    token = request.cookies.get(_cookie(context, kind), "")
    if not token or len(token) > LONGEST_TOKEN:
        return None
    known = people.session(context.store, token, context.clock())
    return BrowserSession(token, kind, known[1]) if known is not None and known[0] == kind else None


def start_session(
    request: Request, response: Response, kind: Kind, subject: str, lasts: timedelta = PERSON_LASTS
) -> str:
    """Start a new session in the browser, end its previous one, and return the token."""
    context = get_context(request)
    _forget(request, kind)
    token = people.open_session(context.store, kind, subject, context.clock(), lasts)
    _set(context, response, kind, token, lasts)
    return token


def end_session(request: Request, response: Response, kind: Kind) -> None:
    """End a session, here and in the browser."""
    context = get_context(request)
    _forget(request, kind)
    _delete(context, response, kind)


def find_returning_person(request: Request) -> str | None:
    """Return the person who used a shared link in this browser, even after they stopped; None if none or withdrawn."""
    context = get_context(request)
    token = request.cookies.get(_cookie(context, "returning"), "")
    if not token or len(token) > LONGEST_TOKEN:
        return None
    known = people.session(context.store, token, context.clock())
    return known[1] if known is not None and known[0] == "person" else None


def keep_place(request: Request, response: Response, subject: str) -> None:
    """Make the browser remember a person for RETURNS_WITHIN, because a shared link does not identify them."""
    context = get_context(request)
    _forget(request, "returning")
    token = people.open_session(context.store, "person", subject, context.clock(), RETURNS_WITHIN)
    _set(context, response, "returning", token, RETURNS_WITHIN)


def forget_place(request: Request, response: Response) -> None:
    """Make the browser forget its person."""
    _forget(request, "returning")
    _delete(get_context(request), response, "returning")


def get_visitor(request: Request, response: Response | None = None) -> str:
    """Return a random value in a cookie that ties a form to a browser before there is a session; set it if missing.

    Raises RequestRefused if there is no response in which to set it, because the browser then accepts no cookies.
    """
    context = get_context(request)
    visitor = request.cookies.get(_cookie(context, "visitor"), "")
    if 20 <= len(visitor) <= LONGEST_TOKEN:
        return visitor
    if response is None:
        raise RequestRefused(
            403,
            "Your browser sent no cookie",
            "This study needs one small cookie to keep your answers separate from those of others. Please allow "
            "cookies for this address and open your link again.",
        )
    visitor = secrets.token_urlsafe(32)
    _set(context, response, "visitor", visitor, PERSON_LASTS)
    return visitor


def forget_visitor(request: Request, response: Response) -> None:
    """Remove the visitor's cookie from the browser."""
    _delete(get_context(request), response, "visitor")


def form_token(request: Request, owner: BrowserSession | str) -> str:
    """Return the token for the forms of a session or of a visitor."""
    secret = owner.token if isinstance(owner, BrowserSession) else owner
    return get_context(request).signatures.form_token(secret)


def read_checked_form(request: Request, owner: BrowserSession | str) -> Form:
    """Return the content of a form without its token. Raise RequestRefused unless it was made for this session
    or visitor.
    """
    context = get_context(request)
    secret = owner.token if isinstance(owner, BrowserSession) else owner
    _count_attempt(context, "posts_of_session", secret, context.limits.posts_of_session)
    form = dict(read_form(request.headers, request.scope[BODY]))
    tokens = form.pop(TOKEN, ())
    if (
        not sent_from_here(request.headers, context.address)
        or len(tokens) != 1
        or not context.signatures.is_form_token(secret, tokens[0])
    ):
        if not isinstance(owner, BrowserSession):
            count_attempt(request, "posts_of_address")
        raise RequestRefused(
            403,
            "This form does not belong to this page",
            "Nothing was saved. Please go back, reload the page and try again.",
        )
    return form


def count_attempt(request: Request, what: str) -> None:
    """Count an attempt of this network (`what` is a field of Limits). Raise RequestRefused if it exceeds the limit."""
    context = get_context(request)
    _count_attempt(context, what, get_client(request), getattr(context.limits, what))


def spent(request: Request, invite: str, *, counts: bool = True) -> None:
    """Count an attempt by this network with a valid link that is no longer open. Raise RequestRefused for that
    link only.
    """
    context = get_context(request)
    who = f"{get_client(request)} {invite}"
    _count_attempt(context, "spent_invites", who, context.limits.spent_invites, counts=counts)


def get_client(request: Request) -> str:
    """Return the client that a request counts for."""
    return find_network(request.client.host if request.client else "unknown")


def single(form: Mapping[str, tuple[str, ...]], name: str) -> str:
    """Return a field that must occur exactly once. Raise RequestRefused otherwise."""
    values = form.get(name, ())
    if len(values) != 1:
        raise RequestRefused(
            400, "This form is not complete", "Please go back, reload the page and try again."
        )
    return values[0]


def _count_attempt(context: Context, what: str, who: str, rate: Rate, *, counts: bool = True) -> None:
    wait = (context.limiter.take if counts else context.limiter.wait)(what, who, rate)
    if wait > 0:
        raise RequestRefused(
            429, "Too many requests", "Please wait a moment, then go back and try again.", wait=wait
        )


def _cookie(context: Context, kind: str) -> str:
    """Return a cookie name that includes the study's: cookies ignore ports, so two studies on a host would clash."""
    return f"{'__Host-' if context.address.secure else ''}evenhand-{kind}-{context.store.study.name}"


def _set(context: Context, response: Response, kind: str, value: str, lasts: timedelta) -> None:
    response.set_cookie(
        _cookie(context, kind),
        value,
        max_age=int(lasts.total_seconds()),
        path="/",
        secure=context.address.secure,
        httponly=True,
        samesite="lax",
    )


def _delete(context: Context, response: Response, kind: str) -> None:
    response.delete_cookie(
        _cookie(context, kind), path="/", secure=context.address.secure, httponly=True, samesite="lax"
    )


def _forget(request: Request, kind: str) -> None:
    context = get_context(request)
    token = request.cookies.get(_cookie(context, kind), "")
    if token and len(token) <= LONGEST_TOKEN:
        people.close_session(context.store, token)
