"""Create, list and revoke invitation links."""

from collections.abc import Mapping
from datetime import timedelta

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from evenhand.annotation.application.admin.showing import admin_page, asked_part, make_list_page
from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.protection import Form
from evenhand.annotation.application.sessions import BrowserSession, read_checked_form, single
from evenhand.annotation.store import administration, people

EACH = 50
MOST_MADE, MOST_USES, MOST_DAYS = 1000, 100_000, 3650
LONGEST_NOTE = 200
OFFERED = {"number": "20", "uses": "1", "days": "", "note": ""}
"""Default values of the form."""
MOST_TYPED = 2_000
"""Maximum number of characters of invalid input that is shown again."""


def links(request: Request, session: BrowserSession) -> Response:
    """Return the page with all links, newest first."""
    return _page(request, session, asked_part(request), OFFERED, None, 200)


def make(request: Request, session: BrowserSession) -> Response:
    """Create links."""
    context = get_context(request)
    form = read_checked_form(request, session)
    number = _parse_integer(form, "number", 1, MOST_MADE)
    uses = _parse_integer(form, "uses", 0, MOST_USES)
    days = _parse_integer(form, "days", 0, MOST_DAYS) if single(form, "days").strip() else 0
    note = single(form, "note").strip()
    if number is None or uses is None or days is None or len(note) > LONGEST_NOTE:
        wrong = (
            f"Nothing was made. 1 to {MOST_MADE:,} links; 0 (any number) to {MOST_USES:,} people each; up to "
            f"{MOST_DAYS:,} days; a note of up to {LONGEST_NOTE} characters."
        )
        typed = {name: single(form, name)[:MOST_TYPED] for name in OFFERED}
        return _page(request, session, 1, typed, wrong, 422)
    now = context.clock()
    lasts = timedelta(days=days) if days else None
    people.make_invites(context.store, number, now, uses=uses or None, note=note, lasts=lasts)
    administration.record(context.store, session.subject, "invites made", str(number), now, note)
    return RedirectResponse("/admin/links", 303)


def revoke(request: Request, session: BrowserSession) -> Response:
    """Revoke a link: it no longer gives access."""
    context = get_context(request)
    invite = single(read_checked_form(request, session), "invite")
    people.revoke(context.store, invite)
    administration.record(context.store, session.subject, "invite revoked", invite[:100], context.clock())
    return RedirectResponse("/admin/links", 303)


def _page(
    request: Request,
    session: BrowserSession,
    number: int,
    typed: Mapping[str, str],
    wrong: str | None,
    status: int,
) -> Response:
    context = get_context(request)
    made = people.invites(context.store)[::-1]
    shown = made[(number - 1) * EACH : number * EACH]
    origin = context.address.origin
    return admin_page(
        request,
        session,
        "admin_links.html.j2",
        status=status,
        typed=typed,
        wrong=wrong,
        now=context.clock(),
        total=len(made),
        links=[(one, f"{origin}/i/{context.signatures.invite_token(one.id)}") for one in shown],
        part=make_list_page("/admin/links", number, each=EACH, total=len(made)),
    )


def _parse_integer(form: Form, name: str, low: int, high: int) -> int | None:
    text = single(form, name).strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 6):
        return None
    return int(text) if low <= int(text) <= high else None
