"""Coming by a personal link: a page with a button, so that what only looks at links uses up none."""

import secrets
from collections.abc import Mapping

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.context import context_of
from evenhand.annotation.application.protection import Refused
from evenhand.annotation.application.sessions import (
    form_of,
    form_token,
    keep_place,
    returning_of,
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
    "It may have been copied only in part, have ended, been taken back or used up, or be that of somebody who "
    "withdrew from the study. Please ask those who sent it to you.",
)


def knock(request: Request, token: str) -> Response:
    """The page behind a link."""
    context = context_of(request)
    invite = _invite(request, token)
    if request.query_params.get("assignmentId") == PREVIEW:
        raise Refused(200, "This is a preview", "Accept the task first; then this page lets you in.")
    page = Response()
    visitor = visitor_of(request, page)
    named = {
        name: request.query_params[name][:LONGEST_NAME] for name in EXTERNAL if name in request.query_params
    }
    session = session_of(request, "person")
    here = session.subject if session else None
    returning = None if named else returning_of(request)
    try:
        door = people.look(context.store, invite, context.clock(), external=_name_elsewhere(named))
    except InviteRefused:
        if here is None and returning is None:
            raise Refused(403, *NOT_VALID) from None
        door = None  # who began here goes on, whatever became of the link
    shown = context.page(
        "arrive.html.j2",
        form_token=form_token(request, visitor),
        known=here is not None,
        returning=returning is not None and here is None and (door is None or not door.personal),
        others=door is not None,
        shared=door is not None and not door.personal and not named,
        another=secrets.token_urlsafe(16),
        external=named,
    )
    for cookie in page.headers.getlist("set-cookie"):
        shown.headers.append("set-cookie", cookie)
    return shown


def arrive(request: Request, token: str) -> Response:
    """Let the person in."""
    visitor = visitor_of(request)
    form = form_of(request, visitor)
    invite = _invite(request, token)
    within(request, "arrivals")
    named = _name_elsewhere({name: form[name][0][:LONGEST_NAME] for name in EXTERNAL if form.get(name)})
    again = form.get("another", ("",))[0][:LONGEST_NAME]
    # without a name from elsewhere the browser is one: a button pressed twice lets one person in, not two
    external = named or f"browser:{invite}:{visitor}:{again}"
    try:
        person, shared = _let_in(request, invite, external, by_name=named is not None, anew=bool(again))
    except InviteRefused:
        within(request, "wrong_invites")
        raise Refused(403, *NOT_VALID) from None
    response = RedirectResponse("/study", 303)
    start_session(request, response, "person", person)
    if shared:
        keep_place(request, response, person)
    return response


def _let_in(request: Request, invite: str, external: str, *, by_name: bool, anew: bool) -> tuple[str, bool]:
    """Who comes, and whether only this browser can know them again: many share the link, and nobody named them."""
    context = context_of(request)
    returning = None if by_name or anew else returning_of(request)
    try:
        personal = people.look(context.store, invite, context.clock(), external=external).personal
    except InviteRefused:
        if returning is None:
            raise
        return returning, True
    if returning is not None and not personal:
        return returning, True
    person = people.arrive(context.store, invite, context.clock(), external=external)
    return person, not (personal or by_name)


def _name_elsewhere(named: Mapping[str, str]) -> str | None:
    """What a recruiting service calls the person; None where it does not."""
    return next((f"{whose}:{named[name]}" for name, whose in EXTERNAL.items() if named.get(name)), None)


def _invite(request: Request, token: str) -> str:
    within(request, "wrong_invites", counts=False)
    invite = context_of(request).signatures.invite(token)
    if invite is None:
        within(request, "wrong_invites")
        raise Refused(403, *NOT_VALID)
    return invite
