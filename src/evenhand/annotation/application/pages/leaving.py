"""Stop for now, or withdraw all judgements."""

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.pages.present import get_person_session
from evenhand.annotation.application.sessions import (
    BrowserSession,
    end_session,
    find_returning_person,
    forget_place,
    forget_visitor,
    form_token,
    read_checked_form,
)
from evenhand.annotation.application.wording import minutes
from evenhand.annotation.store import sittings

FORGET = "forget"
"""Name of the button for a shared device."""
KNOWN_BY = {
    "link": "To continue later, open your link again, in any browser. You may close this page.",
    "browser": "To continue later, open your link again in this browser, within 30 days. Only this browser remembers "
    "which answers are yours, because several people have the same link. You may close this page.",
    "nothing": "This browser no longer remembers which answers are yours. Please do not open the same link again: you "
    "would be counted as a new participant. You may close this page.",
}
"""Ways in which a person who stopped can return, which the next page explains."""


def ask_leave(request: Request) -> Response:
    """Return a page that explains stopping, with a button."""
    context = get_context(request)
    session = get_person_session(request)
    return context.page(
        "leave.html.j2",
        form_token=form_token(request, session),
        by_browser=_by_browser(request, session),
        unsent=context.drafts.unsent(session.subject),
        within=minutes(context.store.study.assignment.lease_minutes),
    )


def leave(request: Request) -> Response:
    """End the session; answers are kept, and the link resumes the study (a shared link only in this browser)."""
    session = get_person_session(request)
    form = read_checked_form(request, session)
    known_by = "link"
    if _by_browser(request, session):
        known_by = "nothing" if FORGET in form else "browser"
    response = RedirectResponse(f"/left?{known_by}", 303)
    if known_by == "nothing":
        forget_place(request, response)
        get_context(request).drafts.forget(session.subject)
    end_session(request, response, "person")
    forget_visitor(request, response)  # the next person in this browser is another one
    return response


def ask_withdraw(request: Request) -> Response:
    """Return a page that explains withdrawing, with a button."""
    session = get_person_session(request)
    return get_context(request).page(
        "withdraw.html.j2",
        form_token=form_token(request, session),
        by_browser=_by_browser(request, session),
    )


def withdraw(request: Request) -> Response:
    """Delete everything that the person submitted."""
    context = get_context(request)
    session = get_person_session(request)
    read_checked_form(request, session)
    place = _by_browser(request, session)
    sittings.withdraw(context.store, session.subject, context.clock())
    context.drafts.forget(session.subject)
    response = RedirectResponse("/withdrawn", 303)
    if place:
        forget_place(request, response)
    end_session(request, response, "person")
    forget_visitor(request, response)  # the next person in this browser is another one
    return response


def show_stopped_page(request: Request) -> Response:
    """Return the page after stopping."""
    return get_context(request).page(
        "said.html.j2",
        heading="You have stopped for now",
        sentences=[
            "Your answers so far have been saved.",
            KNOWN_BY[next((name for name in KNOWN_BY if name in request.query_params), "link")],
        ],
    )


def withdrawn(request: Request) -> Response:
    """Return the page after withdrawing."""
    return get_context(request).page(
        "said.html.j2",
        heading="Your answers have been deleted",
        sentences=["You no longer take part in this study. You may close this page."],
    )


def _by_browser(request: Request, session: BrowserSession) -> bool:
    """Return whether only this browser can identify the person."""
    return find_returning_person(request) == session.subject
