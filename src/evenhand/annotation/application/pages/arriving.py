"""Coming by a personal link: a page with a button, so that what only looks at links uses up none."""

import secrets

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.context import context_of
from evenhand.annotation.application.protection import Refused
from evenhand.annotation.application.sessions import (
    form_of,
    form_token,
    session_of,
    start_session,
    visitor_of,
    within,
)
from evenhand.annotation.store import InviteRefused, people

EXTERNAL = {"PROLIFIC_PID": "prolific", "workerId": "mturk"}
"""How services name a person in the address, and whose name it is."""
LONGEST_NAME = 200
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
NOT_VALID = (
    "This link does not let anybody in",
    "It may have been copied only in part, have ended, or been withdrawn. Please ask those who sent it to you.",
)


def knock(request: Request, token: str) -> Response:
    """The page behind a link."""
    context = context_of(request)
    _invite(request, token)
    if request.query_params.get("assignmentId") == PREVIEW:
        raise Refused(200, "This is a preview", "Accept the task first; then this page lets you in.")
    page = Response()
    visitor = visitor_of(request, page)
    shown = context.page(
        "arrive.html.j2",
        form_token=form_token(request, visitor),
        known=session_of(request, "person") is not None,
        another=secrets.token_urlsafe(16),
        external={
            name: request.query_params[name][:LONGEST_NAME]
            for name in EXTERNAL
            if name in request.query_params
        },
    )
    for cookie in page.headers.getlist("set-cookie"):
        shown.headers.append("set-cookie", cookie)
    return shown


def arrive(request: Request, token: str) -> Response:
    """Let the person in."""
    context = context_of(request)
    visitor = visitor_of(request)
    form = form_of(request, visitor)
    invite = _invite(request, token)
    within(request, "arrivals")
    named = (f"{whose}:{form[name][0][:LONGEST_NAME]}" for name, whose in EXTERNAL.items() if form.get(name))
    again = form.get("another", ("",))[0][:LONGEST_NAME]
    # without a name from elsewhere the browser is one: a button pressed twice lets one person in, not two
    external = next(named, f"browser:{invite}:{visitor}:{again}")
    try:
        person = people.arrive(context.store, invite, context.clock(), external=external)
    except InviteRefused:
        within(request, "wrong_invites")
        raise Refused(403, *NOT_VALID) from None
    response = RedirectResponse("/study", 303)
    start_session(request, response, "person", person)
    return response


def _invite(request: Request, token: str) -> str:
    within(request, "wrong_invites", counts=False)
    invite = context_of(request).signatures.invite(token)
    if invite is None:
        within(request, "wrong_invites")
        raise Refused(403, *NOT_VALID)
    return invite
