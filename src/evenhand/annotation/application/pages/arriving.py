"""Arrive by a personal link. A page with a button comes first, so that link previews do not use up the link."""

import re
import secrets
from collections.abc import Mapping, Sequence

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.protection import RequestRefused
from evenhand.annotation.application.sessions import (
    count_attempt,
    find_returning_person,
    find_session,
    form_token,
    get_client,
    get_visitor,
    keep_place,
    read_checked_form,
    single,
    spent,
    start_session,
)
from evenhand.annotation.store import InviteRefused, people

EXTERNAL = {"PROLIFIC_PID": "prolific", "workerId": "mturk"}
"""Query parameters with which recruiting services name a person, by service."""
NAME = re.compile(r"[A-Za-z0-9_-]{1,200}")
"""Pattern of such a name: 24 hexadecimal digits for Prolific, A and letters or digits for MTurk, similar for others."""
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
NOT_VALID = (
    "This link is not valid",
    "It may be incomplete, expired, revoked or used up, or belong to somebody who withdrew from the study. "
    "Please ask those who sent it to you.",
)


def knock(request: Request, token: str) -> Response:
    """Return the page behind a link."""
    context = get_context(request)
    invite = _invite(request, token)
    if request.query_params.get("assignmentId") == PREVIEW:
        raise RequestRefused(200, "This is a preview", "Accept the task first; then this page lets you in.")
    external = _external({name: request.query_params.getlist(name) for name in EXTERNAL})
    page = Response()
    visitor = get_visitor(request, page)
    session = find_session(request, "person")
    here = session.subject if session else None
    returning = None if external else find_returning_person(request)
    try:
        door = people.look(context.store, invite, context.clock(), external=_find_external_name(external))
    except InviteRefused:
        if here is None and returning is None:
            spent(request, invite)
            raise RequestRefused(403, *NOT_VALID) from None
        door = None  # a person who started in this browser can continue, even if the link is no longer valid
    shown = context.page(
        "arrive.html.j2",
        form_token=form_token(request, visitor),
        known=here is not None,
        returning=returning is not None and here is None and (door is None or not door.personal),
        others=door is not None,
        shared=door is not None and not door.personal and not external,
        page=secrets.token_urlsafe(16),
        external=external,
    )
    for cookie in page.headers.getlist("set-cookie"):
        shown.headers.append("set-cookie", cookie)
    return shown


def arrive(request: Request, token: str) -> Response:
    """Admit the person."""
    context = get_context(request)
    visitor = get_visitor(request)
    form = read_checked_form(request, visitor)
    invite = _invite(request, token)
    spent(request, invite, counts=False)
    count_attempt(request, "arrivals")
    external = _external(form)
    session = find_session(request, "person")
    begun = session is not None and people.has_used_invite(context.store, session.subject, invite)
    if begun and not external and "another" not in form:
        # the page was opened before another person started in this browser
        return RedirectResponse("/study", 303)
    # without an external name, the page identifies the person, so that a double click admits only one; the visitor's
    # cookie is not sufficient, because somebody else could have set it, and both would be the same person
    page = f"browser:{invite}:{visitor}:{single(form, 'page')}:{get_client(request)}"
    called = _find_external_name(external)
    try:
        person, shared = _admit(
            request, invite, called or page, by_name=called is not None, anew="another" in form
        )
    except InviteRefused:
        spent(request, invite)
        raise RequestRefused(403, *NOT_VALID) from None
    response = RedirectResponse("/study", 303)
    start_session(request, response, "person", person)
    if shared:
        keep_place(request, response, person)
    return response


def _admit(request: Request, invite: str, external: str, *, by_name: bool, anew: bool) -> tuple[str, bool]:
    """Return the person, and whether only this browser can recognise them (a shared link without an external name)."""
    context = get_context(request)
    returning = None if by_name or anew else find_returning_person(request)
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


def _find_external_name(external: Mapping[str, str]) -> str | None:
    """Return the name of the person at a recruiting service; None without one."""
    return next((f"{EXTERNAL[name]}:{value}" for name, value in external.items()), None)


def _external(given: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the external name of a person, if there is one. Raise RequestRefused for an invalid one; it is
    never shortened.
    """
    found = [(name, value) for name in EXTERNAL for value in given.get(name, ())]
    if len(found) > 1 or not all(NAME.fullmatch(value) for _, value in found):
        raise RequestRefused(
            400,
            "This link is incomplete",
            f"After {found[0][0]}=, the link must contain the ID that your platform gave you: up to 200 letters "
            "and digits. Please open the study from the platform's own page. If you did, please report this to "
            "those who run the study.",
        )
    return dict(found)


def _invite(request: Request, token: str) -> str:
    """Return the invite of a link; only links without a valid signature count as guesses."""
    invite = get_context(request).signatures.invite(token)
    if invite is None:
        count_attempt(request, "wrong_invites")
        raise RequestRefused(403, *NOT_VALID)
    return invite
