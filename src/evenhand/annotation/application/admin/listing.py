"""List the annotators, and review several of them at once."""

from collections.abc import Sequence

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.admin.person import DECISIONS, LONGEST_NOTE
from evenhand.annotation.application.admin.showing import (
    LONGEST_SEARCH,
    admin_page,
    asked_part,
    asked_text,
    make_list_page,
)
from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.protection import Form, RequestRefused
from evenhand.annotation.application.sessions import BrowserSession, read_checked_form, single
from evenhand.annotation.store import Store, administration, people

EACH = 50
STATES = ("invited", "agreed", "onboarding", "working", "done", "not passed", "blocked")
MOST = 1_000
"""Maximum number of annotators per review; more are on further pages."""
LISTED = 8


def everybody(request: Request, session: BrowserSession) -> Response:
    """Return one page of annotators, latest arrivals first, filtered by state, pseudonym, code or note."""
    number, search, state = asked_part(request), asked_text(request, "search"), asked_text(request, "state")
    if state not in STATES:
        state = ""
    total, rows = administration.persons(
        get_context(request).store, offset=(number - 1) * EACH, limit=EACH, state=state or None, search=search
    )
    return admin_page(
        request,
        session,
        "admin_people.html.j2",
        rows=rows,
        total=total,
        search=search,
        state=state,
        states=STATES,
        part=make_list_page("/admin/people", number, each=EACH, total=total, search=search, state=state),
    )


def review_several(request: Request, session: BrowserSession) -> Response:
    """Accept or reject the work of several annotators, or undo that; none of them if one does not exist."""
    context = get_context(request)
    form = read_checked_form(request, session)
    decision, note = single(form, "decision"), single(form, "note").strip()
    if decision not in DECISIONS:
        raise RequestRefused(
            400, "This form is not complete", "Please go back, reload the page and try again."
        )
    if len(note) > LONGEST_NOTE:
        raise RequestRefused(
            422, "This note is too long", f"Nothing was changed. {LONGEST_NOTE:,} characters at most."
        )
    chosen = _meant(context.store, form)
    if not chosen:
        raise RequestRefused(
            422,
            "Nobody was selected",
            "Nothing was changed. Select people in the list, or enter their names.",
        )
    administration.review(
        context.store, chosen, DECISIONS[decision], note or None, session.subject, context.clock()
    )
    return RedirectResponse("/admin/people", 303)


def _meant(store: Store, form: Form) -> Sequence[str]:
    whom = single(form, "whom")
    if whom == "ticked":
        return _check_names(store, list(form.get("person", ())))
    if whom == "named":
        return _check_names(store, single(form, "names").split())
    search = single(form, "search").strip()[:LONGEST_SEARCH] if whom == "found" else ""
    state = single(form, "state") if whom == "found" else ""
    if whom != "found" or state not in ("", *STATES):
        raise RequestRefused(
            400, "This form is not complete", "Please go back, reload the page and try again."
        )
    total, rows = administration.persons(store, limit=MOST, state=state or None, search=search)
    _refuse_too_many(total)
    if single(form, "total") != str(total):  # an annotator arrived or withdrew meanwhile
        raise RequestRefused(
            409,
            "The list has changed",
            "Nothing was changed. Check the list, then apply the change to all of it again.",
        )
    return [row.person for row in rows]


def _check_names(store: Store, names: Sequence[str]) -> Sequence[str]:
    _refuse_too_many(len(names))
    found = people.find_pseudonyms(store, names)
    if absent := [name for name in names if name not in found]:
        more = f" and {len(absent) - LISTED:,} more" if len(absent) > LISTED else ""
        raise RequestRefused(
            422,
            "Some annotators are not in this study",
            f"Nothing was changed. Unknown names: {', '.join(name[:100] for name in absent[:LISTED])}{more}.",
        )
    return list(dict.fromkeys(found.values()))


def _refuse_too_many(number: int) -> None:
    if number > MOST:
        raise RequestRefused(
            422,
            "Too many people",
            f"Nothing was changed. Select at most {MOST:,} people at once, not {number:,}.",
        )
