"""The person who sent a request."""

from fastapi import Request

from evenhand.annotation.application.protection import RequestRefused
from evenhand.annotation.application.sessions import BrowserSession, find_session


def get_person_session(request: Request) -> BrowserSession:
    """Return the session of the person who sent a request. Raise RequestRefused without one."""
    session = find_session(request, "person")
    if session is None:
        raise RequestRefused(
            403,
            "Please open your link again",
            "Your visit has ended, or you started in another browser. Your link takes you back to where you "
            "were. If many people share the link, use the browser in which you started. Everything you sent has "
            "been saved.",
        )
    return session
