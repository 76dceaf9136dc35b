"""Sessions in cookies, and the forms that belong to them."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from fastapi import Request, Response

from evenhand.annotation.application.context import Context, context_of
from evenhand.annotation.application.protection import (
    BODY,
    TOKEN,
    Form,
    Rate,
    Refused,
    network_of,
    read_form,
    sent_from_here,
)
from evenhand.annotation.store import people

Kind = Literal["person", "admin"]
PERSON_LASTS = timedelta(days=7)
RETURNS_WITHIN = timedelta(days=30)
"""How long a browser knows who it let in by a link that many share."""
LONGEST_TOKEN = 200


@dataclass(frozen=True)
class Session:
    """The session of a request: its person or admin."""

    token: str
    kind: Kind
    subject: str
    """A person's pseudonym, or the name of an admin's account."""


def session_of(request: Request, kind: Kind) -> Session | None:
    """The session that the browser's cookie stands for; None without one, or after its end."""
    context = context_of(request)
    token = request.cookies.get(_cookie(context, kind), "")
    if not token or len(token) > LONGEST_TOKEN:
        return None
    known = people.session(context.store, token, context.clock())
    return Session(token, kind, known[1]) if known is not None and known[0] == kind else None


def start_session(
    request: Request, response: Response, kind: Kind, subject: str, lasts: timedelta = PERSON_LASTS
) -> str:
    """Give the browser a new session, and forget the one it had; returns its token."""
    context = context_of(request)
    _forget(request, kind)
    token = people.open_session(context.store, kind, subject, context.clock(), lasts)
    _set(context, response, kind, token, lasts)
    return token


def end_session(request: Request, response: Response, kind: Kind) -> None:
    """Forget a session, here and in the browser."""
    context = context_of(request)
    _forget(request, kind)
    _delete(context, response, kind)


def returning_of(request: Request) -> str | None:
    """Return the person who used a shared link in this browser, even after they stopped; None if none or withdrawn."""
    context = context_of(request)
    token = request.cookies.get(_cookie(context, "returning"), "")
    if not token or len(token) > LONGEST_TOKEN:
        return None
    known = people.session(context.store, token, context.clock())
    return known[1] if known is not None and known[0] == "person" else None


def keep_place(request: Request, response: Response, subject: str) -> None:
    """Have the browser know a person for as long as RETURNS_WITHIN: the link they came by does not."""
    context = context_of(request)
    _forget(request, "returning")
    token = people.open_session(context.store, "person", subject, context.clock(), RETURNS_WITHIN)
    _set(context, response, "returning", token, RETURNS_WITHIN)


def forget_place(request: Request, response: Response) -> None:
    """Have the browser forget whom it let in, here and there."""
    _forget(request, "returning")
    _delete(context_of(request), response, "returning")


def visitor_of(request: Request, response: Response | None = None) -> str:
    """A random value in a cookie that ties a form to a browser before there is a session; set where it is missing.

    Raises Refused without a response to set it in: then the browser took no cookie.
    """
    context = context_of(request)
    visitor = request.cookies.get(_cookie(context, "visitor"), "")
    if 20 <= len(visitor) <= LONGEST_TOKEN:
        return visitor
    if response is None:
        raise Refused(
            403,
            "Your browser sent no cookie",
            "This study needs one small cookie, to know your answers from those of others. "
            "Please allow cookies for this address and open your link again.",
        )
    visitor = secrets.token_urlsafe(32)
    _set(context, response, "visitor", visitor, PERSON_LASTS)
    return visitor


def forget_visitor(request: Request, response: Response) -> None:
    """Take the visitor's cookie out of the browser."""
    _delete(context_of(request), response, "visitor")


def form_token(request: Request, owner: Session | str) -> str:
    """The token for the forms of a session, or of a visitor."""
    secret = owner.token if isinstance(owner, Session) else owner
    return context_of(request).signatures.form_token(secret)


def form_of(request: Request, owner: Session | str) -> Form:
    """What a form sent, without its token; raises Refused unless a page made for this session or visitor sent it."""
    context = context_of(request)
    secret = owner.token if isinstance(owner, Session) else owner
    _within(context, "posts_of_session", secret, context.limits.posts_of_session)
    form = dict(read_form(request.headers, request.scope[BODY]))
    tokens = form.pop(TOKEN, ())
    if (
        not sent_from_here(request.headers, context.address)
        or len(tokens) != 1
        or not context.signatures.is_form_token(secret, tokens[0])
    ):
        if not isinstance(owner, Session):
            within(request, "posts_of_address")
        raise Refused(
            403,
            "This form does not belong to this page",
            "Nothing was saved. Please go back, reload the page and try again.",
        )
    return form


def within(request: Request, what: str) -> None:
    """Count a try of this network (`what` is a field of Limits); raises Refused where it is one too many."""
    context = context_of(request)
    _within(context, what, client_of(request), getattr(context.limits, what))


def spent(request: Request, invite: str, *, counts: bool = True) -> None:
    """Count a try by this network of a valid link that is no longer open; raises Refused for that link only."""
    context = context_of(request)
    who = f"{client_of(request)} {invite}"
    _within(context, "spent_invites", who, context.limits.spent_invites, counts=counts)


def client_of(request: Request) -> str:
    """Return the client that a request counts for."""
    return network_of(request.client.host if request.client else "unknown")


def single(form: Mapping[str, tuple[str, ...]], name: str) -> str:
    """A field that must be there once; raises Refused otherwise."""
    values = form.get(name, ())
    if len(values) != 1:
        raise Refused(400, "This form is not complete", "Please go back, reload the page and try again.")
    return values[0]


def _within(context: Context, what: str, who: str, rate: Rate, *, counts: bool = True) -> None:
    wait = (context.limiter.take if counts else context.limiter.wait)(what, who, rate)
    if wait > 0:
        raise Refused(
            429, "That was a little fast", "Please wait a moment, then go back and try again.", wait=wait
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
    context = context_of(request)
    token = request.cookies.get(_cookie(context, kind), "")
    if token and len(token) <= LONGEST_TOKEN:
        people.close_session(context.store, token)
