"""Read request bodies completely before anything else happens, with limits of size and time."""

import asyncio
from collections.abc import Callable

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evenhand.annotation.application.protection.refusals import RequestRefused

MOST_BYTES = 1024 * 1024
MOST_SECONDS = 20.0
BODY = "evenhand.body"
"""Key of the ASGI scope with the request body, for endpoints that are not coroutines."""

TOO_LARGE = RequestRefused(413, "This text is too long", "Nothing was saved. Please shorten what you wrote.")
TOO_SLOW = RequestRefused(
    408, "This took too long to arrive", "Nothing was saved. Please send the form again."
)


class WholeBodies:
    """Middleware that reads each request body before the application is called. It refuses bodies that are too large or
    slow.
    """

    def __init__(self, app: ASGIApp, refusal: Callable[[RequestRefused], Response]):
        self.app = app
        self.refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        try:
            body = await asyncio.wait_for(_read_body(scope, receive), MOST_SECONDS)
        except TimeoutError:
            return await self.refusal(TOO_SLOW)(scope, receive, send)
        except RequestRefused as refused:
            return await self.refusal(refused)(scope, receive, send)
        if body is None:
            return None  # the client has disconnected
        scope[BODY] = body
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return messages.pop() if messages else await receive()

        await self.app(scope, replay, send)


async def _read_body(scope: Scope, receive: Receive) -> bytes | None:
    said = dict(scope["headers"]).get(b"content-length", b"0")
    if not said.isdigit() or int(said) > MOST_BYTES:
        raise TOO_LARGE
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            raise TOO_LARGE
        if not message.get("more_body", False):
            return bytes(body)
