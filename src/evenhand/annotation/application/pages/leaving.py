"""Stopping for now, and taking everything back."""

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.context import context_of
from evenhand.annotation.application.pages.present import person_of
from evenhand.annotation.application.sessions import end_session, forget_visitor, form_of, form_token
from evenhand.annotation.store import sittings


def ask_leave(request: Request) -> Response:
    """What stopping means, and a button."""
    session = person_of(request)
    return context_of(request).page("leave.html.j2", form_token=form_token(request, session))


def leave(request: Request) -> Response:
    """End the session; answers stay, and the personal link goes on with them."""
    form_of(request, person_of(request))
    response = RedirectResponse("/left", 303)
    end_session(request, response, "person")
    forget_visitor(request, response)  # who comes next in this browser is somebody else
    return response


def ask_withdraw(request: Request) -> Response:
    """What withdrawing means, and a button."""
    session = person_of(request)
    return context_of(request).page("withdraw.html.j2", form_token=form_token(request, session))


def withdraw(request: Request) -> Response:
    """Delete everything the person said."""
    context = context_of(request)
    session = person_of(request)
    form_of(request, session)
    sittings.withdraw(context.store, session.subject, context.clock())
    response = RedirectResponse("/withdrawn", 303)
    end_session(request, response, "person")
    forget_visitor(request, response)  # who comes next in this browser is somebody else
    return response


def left(request: Request) -> Response:
    """After stopping."""
    return context_of(request).page(
        "said.html.j2",
        heading="You have stopped for now",
        sentences=[
            "Your answers so far have been saved.",
            "To go on later, open your personal link again. You may close this page.",
        ],
    )


def withdrawn(request: Request) -> Response:
    """After withdrawing."""
    return context_of(request).page(
        "said.html.j2",
        heading="Your answers have been deleted",
        sentences=["You no longer take part in this study. You may close this page."],
    )
