"""Process forms: each is checked, stored once, and followed by the next step."""

from collections.abc import Mapping, Sequence

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.pages import views
from evenhand.annotation.application.pages.present import get_person_session
from evenhand.annotation.application.pages.showing import BEFORE, LATE
from evenhand.annotation.application.protection import Form
from evenhand.annotation.application.sessions import BrowserSession, read_checked_form, single
from evenhand.annotation.definition import Answer, Question, check_answers
from evenhand.annotation.store import AskSurvey, LeaseLost, ShowItem, Step, sittings

NO_QUESTION = {"": Answer(None)}
"""Placeholder without a question; it only checks the state of a presentation."""
SKIP = "skip_all"
"""Name of the button that skips a page of the survey."""
ASIDE = "aside"
"""Names of the buttons that leave a page with a form and keep its content."""
ELSEWHERE = {"leave": "/study/leave", "withdraw": "/study/withdraw"}
LONGEST_NAME = 200


def consent(request: Request) -> Response:
    """Store consent."""
    session, _ = _read_submission(request)
    context = get_context(request)
    sittings.agree(context.store, session.subject, context.clock())
    return _redirect()


def answer(request: Request) -> Response:
    """Store the answers to an item."""
    session, form = _read_submission(request)
    context = get_context(request)
    presentation, given = single(form, "presentation"), _drop_fields(form, "presentation", ASIDE)
    _keep(request, session, presentation, given, sent=ASIDE not in form)
    if ASIDE in form:
        return _aside(form)
    step = _step(request, session)
    if not isinstance(step, ShowItem) or step.presentation != presentation:
        return _not_current(request, session, presentation)
    questions = views.get_questions(context.store.study, step)
    answers, problems = check_answers(questions, step.item, given, step.left)
    if problems:
        # redirect to the page with the draft, because the browser cannot go back to a response to a form
        return _redirect()
    try:
        sittings.answer(context.store, session.subject, presentation, answers, context.clock())
    except LeaseLost:
        context.drafts.forget(session.subject)
        return _redirect(LATE)
    context.drafts.forget(session.subject)
    return _redirect()


def correction(request: Request) -> Response:
    """Record that an explanation was read."""
    session, form = _read_submission(request)
    context = get_context(request)
    sittings.read_correction(context.store, session.subject, single(form, "presentation"), context.clock())
    return _redirect()


def survey(request: Request) -> Response:
    """Store the answers to a block of the survey, or that it was skipped."""
    session, form = _read_submission(request)
    context = get_context(request)
    name, given = single(form, "survey"), _drop_fields(form, "survey", SKIP, ASIDE)
    _keep(request, session, name, given, sent=ASIDE not in form)
    if ASIDE in form:
        return _aside(form)
    step = _step(request, session)
    if not isinstance(step, AskSurvey) or step.survey != name:
        context.drafts.forget(session.subject)
        return _redirect(BEFORE)
    questions = views.survey_questions(step)
    answers: Mapping[str, Answer]
    problems: Mapping[str, str]
    if SKIP in form and all(not question.required for question in questions):
        answers, problems = _skip_all(questions), {}
    else:
        answers, problems = check_answers(questions, None, given)
    if problems:
        return _redirect()
    sittings.answer_survey(context.store, session.subject, name, answers, context.clock())
    context.drafts.forget(session.subject)
    return _redirect()


def next_unit(request: Request) -> Response:
    """Request another task batch."""
    session, _ = _read_submission(request)
    context = get_context(request)
    sittings.next_unit(context.store, session.subject, context.clock())
    return _redirect()


def _read_submission(request: Request) -> tuple[BrowserSession, Form]:
    session = get_person_session(request)
    return session, read_checked_form(request, session)


def _step(request: Request, session: BrowserSession) -> Step:
    context = get_context(request)
    return sittings.step(context.store, session.subject, context.clock())


def _keep(request: Request, session: BrowserSession, page: str, given: Form, *, sent: bool) -> None:
    """Store the content of a form before anything can fail."""
    if len(page) <= LONGEST_NAME:
        get_context(request).drafts.keep(session.subject, page, given, sent=sent)


def _aside(form: Form) -> Response:
    return RedirectResponse(ELSEWHERE.get(single(form, ASIDE), "/study"), 303)


def _not_current(request: Request, session: BrowserSession, presentation: str) -> Response:
    """Handle a form for another step: already sent, expired, or of another person (which the database rejects)."""
    context = get_context(request)
    context.drafts.forget(session.subject)
    try:
        sittings.answer(context.store, session.subject, presentation, NO_QUESTION, context.clock())
    except LeaseLost:
        return _redirect(LATE)
    return _redirect(BEFORE)


def _skip_all(questions: Sequence[Question]) -> dict[str, Answer]:
    return {question.id: Answer(None) for question in questions}


def _drop_fields(form: Form, *names: str) -> dict[str, tuple[str, ...]]:
    return {name: values for name, values in form.items() if name not in names}


def _redirect(notice: str | None = None) -> Response:
    return RedirectResponse(f"/study?notice={notice}" if notice else "/study", 303)
