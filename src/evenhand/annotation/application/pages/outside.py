"""Public pages: the front page, static files, and the health check."""

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse
from sqlalchemy import text

from evenhand.annotation.application.context import get_context
from evenhand.annotation.application.protection import RequestRefused
from evenhand.annotation.application.static_files import FILES

FOR_A_YEAR = "public, max-age=31536000, immutable"


def front(request: Request) -> Response:
    """Return the front page, which does not describe the study."""
    return get_context(request).page("front.html.j2")


def health(request: Request) -> Response:
    """Return whether the process and its database respond."""
    with get_context(request).store.engine.connect() as connection:
        connection.execute(text("SELECT 1"))
    return PlainTextResponse("ok\n")


def static(request: Request, name: str) -> Response:
    """Return one of the application's static files."""
    if name not in FILES:
        raise RequestRefused(404, "There is no such page", "Please use the link that you were given.")
    content, kind = FILES[name]
    return Response(content, media_type=kind, headers={"Cache-Control": FOR_A_YEAR})
