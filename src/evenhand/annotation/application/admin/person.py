"""One annotator: judgements, broken rules, and the actions of the administrator."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.admin.entering import check_password
from evenhand.annotation.application.admin.memory import get_memory
from evenhand.annotation.application.admin.showing import admin_page, asked_part, make_list_page
from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.protection import Form, RequestRefused
from evenhand.annotation.application.sessions import BrowserSession, read_checked_form, single
from evenhand.annotation.definition import Choice, Conversation, Item, Marks, PairChoice, Question
from evenhand.annotation.quality import broken_rules
from evenhand.annotation.store import PersonRow, Review, administration, sittings
from evenhand.schema import VOTES

EACH = 10
"""Number of presentations per page."""
LONGEST_NOTE = 2000
DECISIONS: Mapping[str, Review | None] = {"accept": "accepted", "reject": "rejected", "none": None}


@dataclass(frozen=True)
class AnswerText:
    """One answer as text."""

    asked: str
    turn: int | None
    answer: str
    correct: bool | None
    expected: str
    reason: str | None


@dataclass(frozen=True)
class Showing:
    """One item as it was shown, or one block of the survey, with all answers."""

    item: Item | None
    role: str
    left: str | None
    seconds: float | None
    answered: Any
    answers: tuple[AnswerText, ...]

    @property
    def sides(self) -> tuple[tuple[str, Conversation], ...]:
        """Return both conversations of a pair in the positions in which they were shown."""
        if self.item is None or self.item.pair is None:
            return ()
        pair = self.item.pair if self.left == "a" else self.item.pair[::-1]
        return tuple(zip(("Left", "Right"), pair, strict=True))


def person(request: Request, session: BrowserSession) -> Response:
    """Return the page of one annotator."""
    context = get_context(request)
    who = _find_person(request)
    rows = list(administration.votes(context.store, person=who.person))
    frame = pl.DataFrame(rows, schema=dict(VOTES))
    questions = {question.id: question for question in context.store.study.questions}
    showings = _showings(rows, get_memory(request).items, questions)
    number = asked_part(request)
    return admin_page(
        request,
        session,
        "admin_person.html.j2",
        person=who,
        broken=broken_rules(frame, context.store.study.rules),
        total=len(showings),
        showings=showings[(number - 1) * EACH : number * EACH],
        first=(number - 1) * EACH + 1,
        part=make_list_page(f"/admin/people/{who.person}", number, each=EACH, total=len(showings)),
    )


def review(request: Request, session: BrowserSession) -> Response:
    """Accept or reject an annotator's work, or undo that."""
    context = get_context(request)
    who, form = _find_person(request), read_checked_form(request, session)
    decision, note = single(form, "decision"), single(form, "note").strip()
    if decision not in DECISIONS:
        raise RequestRefused(
            400, "This form is not complete", "Please go back, reload the page and try again."
        )
    if len(note) > LONGEST_NOTE:
        raise RequestRefused(
            422, "This note is too long", f"Nothing was changed. {LONGEST_NOTE:,} characters at most."
        )
    administration.review(
        context.store, who.person, DECISIONS[decision], note, session.subject, context.clock()
    )
    return _back(who)


def block(request: Request, session: BrowserSession) -> Response:
    """Block an annotator, or unblock them."""
    context = get_context(request)
    who, form = _find_person(request), read_checked_form(request, session)
    blocked = _yes_or_no(form, "blocked")
    administration.block(context.store, who.person, blocked, session.subject, context.clock())
    return _back(who)


def withdraw(request: Request, session: BrowserSession) -> Response:
    """Delete an annotator with all judgements, after confirmation by password."""
    context = get_context(request)
    who, form = _find_person(request), read_checked_form(request, session)
    check_password(request, session, form)
    sittings.withdraw(context.store, who.person, context.clock(), actor=session.subject)
    return RedirectResponse("/admin/people", 303)


def _find_person(request: Request) -> PersonRow:
    name = str(request.path_params["person"])[:100]
    _, rows = administration.persons(get_context(request).store, search=name, limit=50)
    for row in rows:
        if row.person == name:
            return row
    raise RequestRefused(
        404, "There is no participant with this name", "If they withdrew, all their data was deleted."
    )


def _back(who: PersonRow) -> Response:
    return RedirectResponse(f"/admin/people/{who.person}", 303)


def _yes_or_no(form: Form, name: str) -> bool:
    said = single(form, name)
    if said not in ("yes", "no"):
        raise RequestRefused(
            400, "This form is not complete", "Please go back, reload the page and try again."
        )
    return said == "yes"


def _showings(
    rows: Iterable[dict[str, Any]], items: Mapping[str, Item], questions: Mapping[str, Question]
) -> list[Showing]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["presentation"], []).append(row)
    return [
        Showing(
            items.get(first["item"]) if first["item"] else None,
            first["role"],
            first["shown_left"],
            first["seconds"],
            first["answered_at"],
            tuple(
                _describe_answer(row, questions.get(row["question"]), items.get(first["item"] or ""))
                for row in answers
            ),
        )
        for answers in found.values()
        for first in answers[:1]
    ]


def _describe_answer(row: Mapping[str, Any], question: Question | None, item: Item | None) -> AnswerText:
    return AnswerText(
        row["question"] if question is None else question.text,
        row["turn"],
        "(left out)"
        if row["answer"] is None
        else _in_words(row["answer"], question, item, row["shown_left"]),
        row["correct"],
        _in_words(row["expected"] or "", question, item, row["shown_left"]),
        row["reason"],
    )


def _in_words(answer: str, question: Question | None, item: Item | None, left: str | None) -> str:
    """Return an answer as its label; for a side of a pair, with the name of its speaker."""
    if isinstance(question, Choice | Marks):
        return next((option.label for option in question.options if option.id == answer), answer)
    if not isinstance(question, PairChoice) or item is None or item.pair is None:
        return answer
    if answer not in ("a", "b"):
        return question.tie or answer
    conversation = item.pair["ab".index(answer)]
    who = f"model {conversation.model}" if conversation.model else f"conversation {conversation.id}"
    return f"{'left' if answer == left else 'right'} ({who})"
