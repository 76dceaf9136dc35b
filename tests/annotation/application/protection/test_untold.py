"""The log says where something failed and of which kind, and nothing that people wrote."""

import logging

import pytest
from starlette.responses import PlainTextResponse, Response
from starlette.testclient import TestClient

from evenhand.annotation.application.protection import (
    Address,
    Gate,
    RequestRefused,
    in_one_line,
    without_values,
)
from evenhand.schema import WriteError

SECRET = "Sesquipedalian reason"


def refusal(refused: RequestRefused) -> Response:
    return PlainTextResponse(refused.heading, refused.status)


def fails(error: Exception):
    async def app(scope, receive, send):
        raise error

    return app


def breaks_off(error: Exception):
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise error

    return app


def client(app) -> TestClient:
    gate = Gate(app, Address.read("http://testserver"), False, refusal)
    return TestClient(gate, raise_server_exceptions=False)


def test_a_traceback_has_places_and_kinds_alone() -> None:
    try:
        try:
            int(SECRET)
        except ValueError as error:
            raise KeyError(SECRET) from error
    except KeyError as error:
        told = without_values(error)
    assert SECRET not in told
    assert "test_untold.py" in told
    assert told.index("builtins.ValueError") < told.index("builtins.KeyError")


def test_an_error_that_causes_itself_comes_to_an_end() -> None:
    first, second = ValueError(SECRET), TypeError(SECRET)
    first.__context__, second.__context__ = second, first
    assert SECRET not in without_values(first)


@pytest.mark.parametrize("way", [fails, breaks_off])
def test_what_nobody_caught_is_logged_without_values(caplog: pytest.LogCaptureFixture, way) -> None:
    caplog.set_level(logging.DEBUG)
    client(way(ValueError(SECRET))).get("/")
    assert "ValueError" in caplog.text
    assert SECRET not in caplog.text


def test_a_full_disk_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    error = WriteError("study.db cannot be written:\nthe disk is full.", "Make room.")
    answered = client(fails(error)).get("/")
    assert answered.status_code == 500
    (line,) = [record.getMessage() for record in caplog.records if record.name == "evenhand.annotation"]
    assert line.endswith("study.db cannot be written: the disk is full.")
    assert "\n" not in line
    assert in_one_line(ValueError(SECRET)) is None
