"""Addresses, as browsers write them."""

import pytest

from evenhand.annotation.application.protection import Address, sent_from_here
from evenhand.schema import UsageError


@pytest.mark.parametrize(
    ("text", "origin", "netloc"),
    [
        ("https://judge.example.org", "https://judge.example.org", "judge.example.org"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000", "[::1]:8000"),
        ("https://x.org:8443", "https://x.org:8443", "x.org:8443"),
    ],
)
def test_read(text, origin, netloc):
    address = Address.read(text)
    assert (address.origin, address.netloc) == (origin, netloc)
    assert (
        address.is_host(netloc)
        and address.is_origin(origin)
        and address.is_referer(origin + "/study?x=http://y")
    )
    assert not address.is_host("evil.org") and not address.is_origin(origin + ".evil.org")


@pytest.mark.parametrize(
    "text",
    ["", "judge.example.org", "ftp://x.org", "https://", "https://x.org/judge", "https://x.org?x", "https://a@x.org",
     "https://x.org:99999", "https://x.org#x", "javascript:alert(1)", "https://[::1"],
)  # fmt: skip
def test_unreadable(text):
    with pytest.raises(UsageError, match="is not a valid URL of a study"):
        Address.read(text)


def test_default_ports_are_the_same_host():
    address = Address.read("https://x.org")
    assert address.is_host("x.org:443") and address.is_host("X.ORG") and not address.is_host("x.org:80")
    assert not address.is_origin("http://x.org") and address.is_origin("https://x.org:443")


@pytest.mark.parametrize("more", ["#", "?", "/", "/x", "#/", " ", "\t", "@evil.org", ".", ":", ":443#", "\n"])
def test_an_origin_is_held_against_the_address_letter_by_letter(more):
    address = Address.read("https://x.org")
    assert not address.is_origin("https://x.org" + more)
    assert not address.is_origin("http:" + more) and not address.is_referer("https://x.org#" + more)


@pytest.mark.parametrize(
    ("headers", "ours"),
    [
        ({"origin": "https://x.org"}, True),
        ({"origin": "https://x.org", "sec-fetch-site": "same-origin"}, True),
        ({"referer": "https://x.org/study"}, True),
        ({"origin": "null", "referer": "https://x.org/study"}, False),
        ({}, False),
        ({"origin": "https://x.org", "sec-fetch-site": "cross-site"}, False),
        ({"origin": "https://evil.org", "referer": "https://x.org/"}, False),
    ],
)
def test_sent_from_here(headers, ours):
    assert sent_from_here(headers, Address.read("https://x.org")) is ours
