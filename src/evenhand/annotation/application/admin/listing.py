"""Who takes part: the list."""

from fastapi import Request, Response

from evenhand.annotation.application.admin.showing import admin_page, asked_part, asked_text, part_of
from evenhand.annotation.application.context import context_of
from evenhand.annotation.application.sessions import Session
from evenhand.annotation.store import administration

EACH = 50
STATES = ("invited", "agreed", "onboarding", "working", "done", "not passed", "blocked")


def everybody(request: Request, session: Session) -> Response:
    """One part of those who take part, the last to come first; by state, or by pseudonym, code or note."""
    number, search, state = asked_part(request), asked_text(request, "search"), asked_text(request, "state")
    if state not in STATES:
        state = ""
    total, rows = administration.persons(
        context_of(request).store, offset=(number - 1) * EACH, limit=EACH, state=state or None, search=search
    )
    return admin_page(
        request,
        session,
        "admin_people.html.j2",
        rows=rows,
        total=total,
        search=search,
        state=state,
        states=STATES,
        part=part_of("/admin/people", number, each=EACH, total=total, search=search, state=state),
    )
