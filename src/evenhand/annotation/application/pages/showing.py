"""The one address of a study: whatever a person's next step is."""

from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.context import context_of
from evenhand.annotation.application.pages import views
from evenhand.annotation.application.pages.present import person_of
from evenhand.annotation.application.protection import Form
from evenhand.annotation.application.sessions import Session, form_token
from evenhand.annotation.application.wording import time_left
from evenhand.annotation.store import (
    AskConsent,
    AskSurvey,
    Corrected,
    Ended,
    Shown,
    Step,
    UnitDone,
    sittings,
)

LATE, BEFORE = "late", "before"
NOTICES = {
    LATE: "The time for that one had run out, and it went to somebody else. That is all right: here is the next.",
    BEFORE: "That one had been sent already. Here is where you are now.",
}


def study(request: Request) -> Response:
    """The next step."""
    session = person_of(request)
    context = context_of(request)
    step = sittings.step(context.store, session.subject, context.clock())
    return step_page(request, session, step, notice=NOTICES.get(request.query_params.get("notice", "")))


def back(request: Request) -> Response:
    """Where a form was sent to, opened as a page (a reload after a mistake, a bookmark)."""
    return RedirectResponse("/study", 303)


def step_page(
    request: Request,
    session: Session,
    step: Step,
    *,
    typed: Form | None = None,
    problems: Mapping[str, str] | None = None,
    notice: str | None = None,
) -> Response:
    """The page of a step. typed, problems: of a form that could not be taken, by field and by question."""
    context = context_of(request)
    defined = context.store.study
    values: dict[str, Any] = {
        "form_token": form_token(request, session),
        "status": 422 if problems else 200,
        "notice": notice,
        "step": step,
        "typed": typed or {},
        "problems": problems or {},
    }
    match step:
        case AskConsent():
            return context.page("consent.html.j2", **values)
        case Shown():
            questions = views.questions_of(defined, step)
            return context.page(
                "item.html.j2",
                **values,
                questions=questions,
                below=views.asked_below(questions),
                marks=views.marks_of(questions),
                conversations=views.conversations_of(defined, step),
                left=time_left(step.until - context.clock()),
            )
        case Corrected():
            asked = views.questions_of(defined, step.shown)
            return context.page(
                "correction.html.j2",
                **values,
                questions=[question for question in asked if question.id in step.wrong],
                conversations=views.conversations_of(defined, step.shown),
            )
        case AskSurvey():
            return context.page("survey.html.j2", **values, questions=views.survey_questions(step))
        case UnitDone():
            return context.page("done.html.j2", **values)
        case Ended():
            return context.page("ended.html.j2", **values)
