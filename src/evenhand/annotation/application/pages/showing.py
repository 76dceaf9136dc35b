"""The URL of a study, which shows each person's next step."""

from typing import Any

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.context import Context, get_context
from evenhand.annotation.application.drafts import Typed
from evenhand.annotation.application.pages import views
from evenhand.annotation.application.pages.present import get_person_session
from evenhand.annotation.application.sessions import BrowserSession, form_token
from evenhand.annotation.application.wording import minutes
from evenhand.annotation.definition import Item, check_answers
from evenhand.annotation.store import (
    AskConsent,
    AskSurvey,
    EndVisit,
    ShowCorrection,
    ShowItem,
    Step,
    UnitDone,
    sittings,
)

LATE, BEFORE = "late", "before"
NOTICES = {
    LATE: "The time for the last item had run out, so somebody else gets it. You did nothing wrong. Here is the next "
    "item.",
    BEFORE: "You had already sent that page. Here is the page where you are now.",
}


def study(request: Request) -> Response:
    """Return the page for the next step."""
    session = get_person_session(request)
    context = get_context(request)
    step = sittings.step(context.store, session.subject, context.clock())
    return _page(request, session, step, notice=NOTICES.get(request.query_params.get("notice", "")))


def back(request: Request) -> Response:
    """Redirect from the URL of a form that is opened as a page (a bookmark)."""
    return RedirectResponse("/study", 303)


def _page(request: Request, session: BrowserSession, step: Step, notice: str | None) -> Response:
    context = get_context(request)
    defined = context.store.study
    typed, problems = _read_draft(context, session, step)
    values: dict[str, Any] = {
        "form_token": form_token(request, session),
        "status": 422 if problems else 200,
        "notice": notice,
        "step": step,
        "typed": typed,
        "problems": problems,
        "ahead": views.outline_study(defined),
    }
    match step:
        case AskConsent():
            return context.page("consent.html.j2", **values)
        case ShowItem():
            questions = views.get_questions(defined, step)
            return context.page(
                "item.html.j2",
                **values,
                questions=questions,
                below=views.asked_below(defined, step),
                marks=views.find_inline_marks(defined, step),
                turns=views.turns_below(step),
                conversations=views.build_conversations(defined, step),
                within=minutes(defined.assignment.lease_minutes),
            )
        case ShowCorrection():
            asked = views.get_questions(defined, step.shown)
            return context.page(
                "correction.html.j2",
                **values,
                questions=[question for question in asked if question.id in step.wrong],
                conversations=views.build_conversations(defined, step.shown),
            )
        case AskSurvey():
            return context.page("survey.html.j2", **values, questions=views.survey_questions(step))
        case UnitDone():
            return context.page("done.html.j2", **values)
        case EndVisit():
            return context.page("ended.html.j2", **values)


def _read_draft(context: Context, session: BrowserSession, step: Step) -> tuple[Typed, dict[str, str]]:
    """Return the person's draft for this page, by field, and its errors if it was submitted."""
    item: Item | None = None
    left = "a"
    match step:
        case ShowItem():
            page, questions = step.presentation, views.get_questions(context.store.study, step)
            item, left = step.item, step.left
        case AskSurvey():
            page, questions = step.survey, views.survey_questions(step)
        case _:
            return {}, {}
    draft = context.drafts.of(session.subject, page)
    if draft is None:
        return {}, {}
    return draft.typed, check_answers(questions, item, draft.typed, left)[1] if draft.sent else {}
