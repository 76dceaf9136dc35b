"""The audit log: actions with their actor and time."""

from fastapi import Request, Response

from evenhand.annotation.application.admin.showing import admin_page, asked_part, make_list_page
from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.sessions import BrowserSession
from evenhand.annotation.store import administration

EACH = 100


def journal(request: Request, session: BrowserSession) -> Response:
    """Return one page of the log, newest entries first."""
    number = asked_part(request)
    # one additional row shows whether there is a next page
    lines = administration.audit_log(get_context(request).store, offset=(number - 1) * EACH, limit=EACH + 1)
    return admin_page(
        request,
        session,
        "admin_log.html.j2",
        lines=lines[:EACH],
        part=make_list_page("/admin/log", number, each=EACH, more=len(lines) > EACH),
    )
