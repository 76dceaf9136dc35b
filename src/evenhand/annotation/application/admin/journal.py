"""The audit log: actions with their actor and time."""

from fastapi import Request, Response

from evenhand.annotation.application.admin.showing import admin_page, asked_part, part_of
from evenhand.annotation.application.context import context_of
from evenhand.annotation.application.sessions import Session
from evenhand.annotation.store import administration

EACH = 100


def journal(request: Request, session: Session) -> Response:
    """Return one page of the log, newest entries first."""
    number = asked_part(request)
    # one additional row shows whether there is a next page
    lines = administration.audit_log(context_of(request).store, offset=(number - 1) * EACH, limit=EACH + 1)
    return admin_page(
        request,
        session,
        "admin_log.html.j2",
        lines=lines[:EACH],
        part=part_of("/admin/log", number, each=EACH, more=len(lines) > EACH),
    )
