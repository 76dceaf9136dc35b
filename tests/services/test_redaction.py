"""A key that a service sends back, in whatever place and spelling, reaches nobody."""

import json

import pytest
from hypothesis import given, strategies as st

from evenhand.services.client import ServiceClient
from evenhand.services.redaction import EDGE, Redaction

KEY = "sk-very-secret-0123456789/abc+XYZ=end"
HEADERS = {"Authorization": f"Bearer {KEY}", "OpenAI-Organization": "org-public-name"}


def seen(answer):
    return json.dumps([answer.body, answer.detail, answer.code], ensure_ascii=False)


def holds(text, key=KEY):
    """Whether a piece of the key's beginning or end stands in a text."""
    return key[:EDGE] in text or key[-EDGE:] in text


def letter_by_letter(text, form="\\u%04x"):
    return "".join(form % ord(letter) for letter in text)


BODIES = {
    "model": {"model": KEY, "choices": []},
    "fingerprint": {"system_fingerprint": f"Bearer {KEY}"},
    "finish_reason": {"choices": [{"text": "a", "finish_reason": KEY}]},
    "refusal": {"choices": [{"message": {"content": "", "refusal": f"no: {KEY}."}}]},
    "text": {"choices": [{"text": f"it is {KEY}"}]},
    "an error called good": {"error": {"message": f"bad key {KEY}", "code": KEY}},
    "the name of a field": {KEY: {f"x{KEY}": 1}},
    "its beginning": {"error": f"bad key {KEY[:12]}..."},
    "its end": {"error": f"bad key ...{KEY[-12:]}"},
    "escaped in the string": {"error": letter_by_letter(KEY)},
    "escaped twice": {"error": letter_by_letter(letter_by_letter(KEY), "%%%02x")},
    "in a list of lists": {"detail": [[[KEY]]]},
}


@pytest.mark.parametrize("status", [200, 400, 429])
@pytest.mark.parametrize("kind", BODIES)
def test_the_key_is_taken_out_of_every_body(loopback, status, kind):
    with (
        loopback.LoopbackServer(lambda asked: (status, BODIES[kind])) as server,
        ServiceClient(server.url, headers=HEADERS, attempts=1) as service,
    ):
        shown = seen(service.post("/", {}))
    assert not holds(shown)
    assert "***" in shown
    assert letter_by_letter("very") not in shown


@pytest.mark.parametrize("before", range(455, 505, 3))
def test_a_message_that_is_cut_within_the_key(loopback, before):
    message = {"error": {"message": "x" * before + " " + KEY}}
    with (
        loopback.LoopbackServer(lambda asked: (400, message)) as server,
        ServiceClient(server.url, headers=HEADERS) as service,
    ):
        assert not holds(seen(service.post("/", {})))


def raw(content, *headers, status=b"400 Bad"):
    lines = (b"HTTP/1.1 " + status, b"Content-Length: %d" % len(content), *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + content


SENT = {
    "a page": raw(f"<html>{KEY}</html>".encode()),
    "a page cut within the key": raw(b"y" * 190 + KEY.encode()),
    "a page in escapes": raw(f"<{letter_by_letter(KEY)}>".encode()),
    "a page in entities": raw(letter_by_letter(KEY, "&#%d;").encode()),
    "an object as message, in escapes": raw(
        json.dumps({"error": {"message": {"a": "K"}}}).replace("K", letter_by_letter(KEY)).encode()
    ),
    "broken JSON": raw(b'{"a": "' + KEY.encode(), status=b"200 OK"),
    "broken JSON with an escaped slash": raw(b'{"a": "' + KEY.replace("/", "\\/").encode(), status=b"200 OK"),
    "a list": raw(json.dumps([KEY]).encode(), status=b"200 OK"),
    "where it moved": raw(b"", b"Location: http://x/?" + KEY.encode(), status=b"302 Go"),
    "where it moved, in escapes": raw(
        b"", b"Location: /" + letter_by_letter(KEY, "%%%02X").encode(), status=b"302 Go"
    ),
    "a status that is none": b"HTTP/1.1 2x " + KEY.encode() + b"\r\n\r\n",
    "an encoding": raw(b"{}", b"Content-Encoding: " + KEY.encode(), status=b"200 OK"),
}


@pytest.mark.parametrize("kind", SENT)
def test_the_key_is_taken_out_of_what_is_no_json(loopback, kind):
    with (
        loopback.RawServer(lambda asked, head: [SENT[kind]]) as server,
        ServiceClient(server.url, headers=HEADERS, attempts=1) as service,
    ):
        shown = seen(service.post("/", {}))
    assert not holds(shown) and "very" not in shown
    assert letter_by_letter("very") not in shown.replace("\\\\", "\\")


def test_what_is_no_secret_stays():
    redaction = Redaction(HEADERS)
    for text in (
        "The standard Bearer said: Authorization",
        "org-public-name",
        "sk-very",
        "100% & \\u0041",
        "",
    ):
        assert redaction.text(text) == text
    body = {"choices": [{"text": " kind", "index": 0, "logprobs": None}], "usage": {"n": 1.5, "ok": True}}
    assert redaction.value(body) == body
    assert Redaction({}).text(KEY) == KEY


@given(
    key=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=60),
    around=st.tuples(st.text(max_size=20), st.text(max_size=20)),
    cut=st.tuples(st.integers(0, 60), st.integers(0, 60)),
)
def test_beginnings_and_ends_of_any_key_are_the_key(key, around, cut):
    redaction = Redaction({"X-Key": key})
    beginning, end = key[: EDGE + cut[0]], key[-EDGE - cut[1] :]
    for part in (key, beginning, end, end + beginning):
        found = redaction.text(part.join(around))
        assert not holds(found, key) or holds("***".join(around), key) or holds("***", key)
