"""Bodies that do not come to an end."""

import asyncio

import pytest
from starlette.responses import PlainTextResponse

from evenhand.annotation.application.protection import (
    WholeBodies,
    whole_bodies,  # its limits
)


def answered(receive, headers=()):
    """The status that a body is answered with, and whether the application was asked."""
    sent, asked = [], []

    async def app(scope, receive, send):
        asked.append(await receive())
        await PlainTextResponse("taken")(scope, receive, send)

    async def send(message):
        sent.append(message)

    guard = WholeBodies(app, lambda refused: PlainTextResponse(refused.heading, refused.status))
    scope = {"type": "http", "method": "POST", "headers": list(headers)}
    asyncio.run(guard(scope, receive, send))
    return [message["status"] for message in sent if "status" in message], asked


def pieces(*messages):
    left = list(messages)

    async def receive():
        return left.pop(0) if left else await asyncio.sleep(60)

    return receive


def piece(body, more):
    return {"type": "http.request", "body": body, "more_body": more}


def test_whole_in_pieces():
    statuses, asked = answered(pieces(piece(b"a", True), piece(b"", True), piece(b"bc", False)))
    assert statuses == [200] and asked == [piece(b"abc", False)]


def test_one_that_stops_in_the_middle(monkeypatch):
    monkeypatch.setattr(whole_bodies, "MOST_SECONDS", 0.1)
    assert answered(pieces(piece(b"a", True))) == ([408], [])


def test_one_whose_sender_is_gone():
    assert answered(pieces(piece(b"a", True), {"type": "http.disconnect"})) == ([], [])


@pytest.mark.parametrize("length", [b"-1", b"1048577", b"1e3", b"", b"0x10", "²".encode()])
def test_lengths_that_are_none_or_too_large(length):
    assert answered(pieces(), [(b"content-length", length)]) == ([413], [])


def test_the_last_byte_that_fits():
    limit = whole_bodies.MOST_BYTES
    assert answered(pieces(piece(b"x" * limit, False)))[0] == [200]
    assert answered(pieces(piece(b"x" * limit, True), piece(b"x", False))) == ([413], [])
