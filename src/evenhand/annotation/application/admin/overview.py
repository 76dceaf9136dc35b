"""The first page: how far the study is, how well people agree, which sides they choose; and the pause."""

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.admin.memory import memory_of
from evenhand.annotation.application.admin.showing import admin_page
from evenhand.annotation.application.context import context_of
from evenhand.annotation.application.protection import Refused
from evenhand.annotation.application.sessions import Session, form_of, single
from evenhand.annotation.store import administration


def overview(request: Request, session: Session) -> Response:
    """How far the study is."""
    context = context_of(request)
    live, seconds = memory_of(request).live.look()
    return admin_page(
        request,
        session,
        "admin_overview.html.j2",
        progress=administration.progress(context.store, context.clock()),
        questions={question.id: question.text for question in context.store.study.questions},
        live=live,
        seconds=seconds,
    )


def pause(request: Request, session: Session) -> Response:
    """Give out nothing new, or go on."""
    context = context_of(request)
    wanted = single(form_of(request, session), "paused")
    if wanted not in ("yes", "no"):
        raise Refused(400, "This form is not complete", "Please go back, reload the page and try again.")
    administration.pause(context.store, wanted == "yes", session.subject, context.clock())
    return RedirectResponse("/admin", 303)
