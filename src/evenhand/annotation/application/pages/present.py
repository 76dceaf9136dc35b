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
            "This page does not know who you are: your visit has ended, or it began in another browser. "
            "The link that you came by takes you back to where you were; if it is one that many people share, in the "
            "browser in which you began. Everything you sent has been saved.",
        )
    return session
