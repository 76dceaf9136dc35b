"""The start page: progress, agreement, sides chosen, and pausing the study."""

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.admin.memory import get_memory
from evenhand.annotation.application.admin.showing import admin_page
from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.protection import RequestRefused
from evenhand.annotation.application.sessions import BrowserSession, read_checked_form, single
from evenhand.annotation.store import administration

PATIENCE = 0.03
"""Seconds that the page waits for new numbers before it shows the last ones."""
LONGEST = 30.0


def overview(request: Request, session: BrowserSession) -> Response:
    """Return the page with the progress of the study."""
    context = get_context(request)
    memory = get_memory(request)
    live, seconds = memory.live.look(PATIENCE)
    progress, _ = memory.progress.look(PATIENCE)
    if progress is None:  # only the first result is waited for
        progress, _ = memory.progress.look(LONGEST)
    if progress is None:
        raise RequestRefused(503, "The database is busy", "Please wait a moment, then reload the page.")
    return admin_page(
        request,
        session,
        "admin_overview.html.j2",
        progress=progress,
        paused=administration.is_paused(context.store),
        questions={question.id: question.text for question in context.store.study.questions},
        live=live,
        seconds=seconds,
    )


def pause(request: Request, session: BrowserSession) -> Response:
    """Pause the assignment of new items, or resume it."""
    context = get_context(request)
    wanted = single(read_checked_form(request, session), "paused")
    if wanted not in ("yes", "no"):
        raise RequestRefused(
            400, "This form is not complete", "Please go back, reload the page and try again."
        )
    administration.pause(context.store, wanted == "yes", session.subject, context.clock())
    return RedirectResponse("/admin", 303)
