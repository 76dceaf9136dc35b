"""The person who sent a request."""

from fastapi import Request

from evenhand.annotation.application.protection import Refused
from evenhand.annotation.application.sessions import Session, session_of


def person_of(request: Request) -> Session:
    """Return the session of the person who sent a request. Raise Refused without one."""
    session = session_of(request, "person")
    if session is None:
        raise Refused(
            403,
            "Please open your link again",
            "Your visit has ended, or you started in another browser. Your link takes you back to where you "
            "were. If many people share the link, use the browser in which you started. Everything you sent has "
            "been saved.",
        )
    return session
