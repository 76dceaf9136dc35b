"""What all pages of the admin have: the menu, the token of their forms, and how long lists are cut into pages."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse

from evenhand.annotation.application.context import context_of
from evenhand.annotation.application.sessions import Session, form_token

LONGEST_NUMBER = 7
LONGEST_SEARCH = 200


@dataclass(frozen=True)
class Part:
    """Which part of a long list is shown, and where the others are."""

    number: int
    """Page number, from 1."""
    last: int | None
    """None: not counted."""
    before: str | None
    after: str | None


def admin_page(
    request: Request, session: Session, template: str, *, status: int = 200, **values: Any
) -> HTMLResponse:
    """A page for who is logged in."""
    return context_of(request).page(
        template, status=status, form_token=form_token(request, session), admin=session.subject, **values
    )


def asked_part(request: Request) -> int:
    """Which page of a list was asked for, from 1; anything else counts as the first."""
    text = request.query_params.get("page", "")
    known = text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
    return max(1, int(text)) if known else 1


def asked_text(request: Request, name: str) -> str:
    """What was typed to search or choose by."""
    return request.query_params.get(name, "").strip()[:LONGEST_SEARCH]


def part_of(
    path: str, number: int, *, each: int, total: int | None = None, more: bool = False, **kept: str
) -> Part:
    """A page of a list, and links to those before and after it.

    each: entries of a page. total: entries in all; more: whether there are others, where they are not counted. kept:
    what else was asked for.

    >>> part_of("/admin/log", 2, each=100, total=250, word="a&b").after
    '/admin/log?word=a%26b&page=3'
    """
    last = None if total is None else max(1, -(-total // each))
    goes_on = more if last is None else number < last

    def address(to: int) -> str:
        return f"{path}?{urlencode({**{name: text for name, text in kept.items() if text}, 'page': to})}"

    return Part(
        number, last, address(number - 1) if number > 1 else None, address(number + 1) if goes_on else None
    )
