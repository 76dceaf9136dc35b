"""Common parts of all admin pages: the menu, the token of forms, and pages of long lists."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse

from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.sessions import BrowserSession, form_token

LONGEST_NUMBER = 7
LONGEST_SEARCH = 200


@dataclass(frozen=True)
class ListPage:
    """The shown page of a long list, and links to the others."""

    number: int
    """Page number, from 1."""
    last: int | None
    """Number of the last page; None: not counted."""
    before: str | None
    after: str | None


def admin_page(
    request: Request, session: BrowserSession, template: str, *, status: int = 200, **values: Any
) -> HTMLResponse:
    """Return a page for an administrator with a session."""
    return get_context(request).page(
        template, status=status, form_token=form_token(request, session), admin=session.subject, **values
    )


def asked_part(request: Request) -> int:
    """Return the requested page number of a list, from 1; invalid values count as 1."""
    text = request.query_params.get("page", "")
    known = text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
    return max(1, int(text)) if known else 1


def asked_text(request: Request, name: str) -> str:
    """Return the text of a search or filter field."""
    return request.query_params.get(name, "").strip()[:LONGEST_SEARCH]


def make_list_page(
    path: str, number: int, *, each: int, total: int | None = None, more: bool = False, **kept: str
) -> ListPage:
    """Return a page of a list, with links to the previous and next ones.

    each: entries per page. total: total number of entries. more: whether there are further entries, if they are not
    counted. kept: further query parameters.

    >>> make_list_page("/admin/log", 2, each=100, total=250, word="a&b").after
    '/admin/log?word=a%26b&page=3'
    """
    last = None if total is None else max(1, -(-total // each))
    goes_on = more if last is None else number < last

    def address(to: int) -> str:
        return f"{path}?{urlencode({**{name: text for name, text in kept.items() if text}, 'page': to})}"

    return ListPage(
        number, last, address(number - 1) if number > 1 else None, address(number + 1) if goes_on else None
    )
