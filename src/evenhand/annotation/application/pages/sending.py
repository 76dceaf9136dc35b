"""What forms do: each is checked, stored once, and followed by the next step."""

from collections.abc import Mapping, Sequence

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.context import context_of
from evenhand.annotation.application.pages import views
from evenhand.annotation.application.pages.present import person_of
from evenhand.annotation.application.pages.showing import BEFORE, LATE
from evenhand.annotation.application.protection import Form
from evenhand.annotation.application.sessions import Session, form_of, single
from evenhand.annotation.definition import Answer, Question, check_answers
from evenhand.annotation.store import AskSurvey, LeaseLost, Shown, Step, sittings

NO_QUESTION = {"": Answer(None)}
"""Nothing that could be stored: it only asks what became of a presentation."""
SKIP = "skip_all"
"""The button that leaves a page of the survey out."""
ASIDE = "aside"
"""The buttons that lead away from a page with a form, and keep what was typed."""
ELSEWHERE = {"leave": "/study/leave", "withdraw": "/study/withdraw"}
LONGEST_NAME = 200


def consent(request: Request) -> Response:
    """Agreed."""
    session, _ = _sent(request)
    context = context_of(request)
    sittings.agree(context.store, session.subject, context.clock())
    return _on()


def answer(request: Request) -> Response:
    """Answers to an item."""
    session, form = _sent(request)
    context = context_of(request)
    presentation, given = single(form, "presentation"), _without(form, "presentation", ASIDE)
    _keep(request, session, presentation, given, sent=ASIDE not in form)
    if ASIDE in form:
        return _aside(form)
    step = _step(request, session)
    if not isinstance(step, Shown) or step.presentation != presentation:
        return _not_current(request, session, presentation)
    questions = views.questions_of(context.store.study, step)
    answers, problems = check_answers(questions, step.item, given, step.left)
    if problems:
        return _on()  # to the page with what was typed: one that answers a form cannot be gone back to
    try:
        sittings.answer(context.store, session.subject, presentation, answers, context.clock())
    except LeaseLost:
        context.drafts.forget(session.subject)
        return _on(LATE)
    context.drafts.forget(session.subject)
    return _on()


def correction(request: Request) -> Response:
    """An explanation was read."""
    session, form = _sent(request)
    context = context_of(request)
    sittings.read_correction(context.store, session.subject, single(form, "presentation"), context.clock())
    return _on()


def survey(request: Request) -> Response:
    """Answers to a block of the survey, or none."""
    session, form = _sent(request)
    context = context_of(request)
    name, given = single(form, "survey"), _without(form, "survey", SKIP, ASIDE)
    _keep(request, session, name, given, sent=ASIDE not in form)
    if ASIDE in form:
        return _aside(form)
    step = _step(request, session)
    if not isinstance(step, AskSurvey) or step.survey != name:
        context.drafts.forget(session.subject)
        return _on(BEFORE)
    questions = views.survey_questions(step)
    answers: Mapping[str, Answer]
    problems: Mapping[str, str]
    if SKIP in form and all(not question.required for question in questions):
        answers, problems = _skipped(questions), {}
    else:
        answers, problems = check_answers(questions, None, given)
    if problems:
        return _on()
    sittings.answer_survey(context.store, session.subject, name, answers, context.clock())
    context.drafts.forget(session.subject)
    return _on()


def next_unit(request: Request) -> Response:
    """Another set is wanted."""
    session, _ = _sent(request)
    context = context_of(request)
    sittings.next_unit(context.store, session.subject, context.clock())
    return _on()


def _sent(request: Request) -> tuple[Session, Form]:
    session = person_of(request)
    return session, form_of(request, session)


def _step(request: Request, session: Session) -> Step:
    context = context_of(request)
    return sittings.step(context.store, session.subject, context.clock())


def _keep(request: Request, session: Session, page: str, given: Form, *, sent: bool) -> None:
    """Keep what was typed before anything can go wrong with it."""
    if len(page) <= LONGEST_NAME:
        context_of(request).drafts.keep(session.subject, page, given, sent=sent)


def _aside(form: Form) -> Response:
    return RedirectResponse(ELSEWHERE.get(single(form, ASIDE), "/study"), 303)


def _not_current(request: Request, session: Session, presentation: str) -> Response:
    """A form of something else: sent before, run out of time, or never this person's (then the database objects)."""
    context = context_of(request)
    context.drafts.forget(session.subject)
    try:
        sittings.answer(context.store, session.subject, presentation, NO_QUESTION, context.clock())
    except LeaseLost:
        return _on(LATE)
    return _on(BEFORE)


def _skipped(questions: Sequence[Question]) -> dict[str, Answer]:
    return {question.id: Answer(None) for question in questions}


def _without(form: Form, *names: str) -> dict[str, tuple[str, ...]]:
    return {name: values for name, values in form.items() if name not in names}


def _on(notice: str | None = None) -> Response:
    return RedirectResponse(f"/study?notice={notice}" if notice else "/study", 303)
