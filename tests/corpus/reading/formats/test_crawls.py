"""Crawls: records of WARC, ARC and WET; pages as browsers decode them, without what is not read."""

import gzip
import html.parser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.corpus.reading.formats import warc
from evenhand.corpus.reading.formats.html import decode_page, page_text
from tests.helpers.growth import assert_grows_linearly

Read = Callable[..., Any]


def record(kind: str, content: bytes, media: str) -> bytes:
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\nContent-Type: {media}\r\nContent-Length: {len(content)}\r\n"
    return f"{head}WARC-Target-URI: http://x.org\r\n\r\n".encode() + content + b"\r\n\r\n"


def response(content: bytes, media: str, status: str = "200 OK") -> bytes:
    http = f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\n\r\n".encode()
    return record("response", http + content, "application/http; msgtype=response")


def crawl(*, packed: bool) -> bytes:
    """A warcinfo, ten pages, each with its text behind it, and four answers more; each record a member if packed."""
    records = [record("warcinfo", b"software: test", "application/warc-fields")]
    for number in range(10):
        page = f"<title>Page {number}</title><p>caf\xe9<script>no()</script>"
        latin = number % 2
        media = "text/html; charset=ISO-8859-1" if latin else "text/html"
        records.append(response(page.encode("latin-1" if latin else "utf-8"), media))
        records.append(record("conversion", f"text {number}: é".encode(), "text/plain"))
    records.append(response(b"\x89PNG", "image/png"))
    records.append(response(b"gone", "text/html", "404 Not Found"))
    records.append(response(b"<p>caf\xe9", "text/html"))
    records.append(response("plain é".encode(), "text/plain"))
    return b"".join(gzip.compress(each) if packed else each for each in records)


EXPECTED = [text for n in range(10) for text in (f"Page {n}\ncafé", f"text {n}: é")] + ["plain é"]


@pytest.mark.parametrize("name", ["a.warc", "a.warc.gz", "one-member.warc.gz", "a.warc.wet.gz"])
def test_texts_and_pages_of_a_crawl(tmp_path: Path, read: Read, name: str) -> None:
    content = (
        gzip.compress(crawl(packed=False)) if name.startswith("one") else crawl(packed=name.endswith(".gz"))
    )
    (tmp_path / name).write_bytes(content)
    found = read(tmp_path / name)
    assert found.texts == EXPECTED
    assert found.places == [*range(1, 21), 24]
    assert found.skipped == {"other_record": 3, "invalid_utf8": 1}
    assert found.bytes_read == len(content)


def test_a_crawl_cut_anywhere_keeps_its_whole_records(tmp_path: Path, read: Read) -> None:
    for packed in (False, True):
        content = crawl(packed=packed)
        path = tmp_path / ("a.warc.gz" if packed else "a.warc")
        for cut in range(500, len(content), 997):
            path.write_bytes(content[:cut])
            found = read(path)
            assert found.texts == EXPECTED[: len(found.texts)], cut
            assert found.skipped.pop("truncated", 0) == 1, (cut, content[:cut][-300:])
            assert set(found.skipped) <= {"other_record", "invalid_utf8"}
            assert "it ends" in found.damage[0]


def test_what_is_no_record_ends_a_crawl(tmp_path: Path, read: Read) -> None:
    (tmp_path / "a.warc").write_bytes(crawl(packed=False) + b"no record\r\n\r\n" * 50)
    found = read(tmp_path / "a.warc")
    assert found.texts == EXPECTED
    assert found.skipped == {"other_record": 3, "invalid_utf8": 1, "unreadable": 1}
    (tmp_path / "b.warc").write_bytes(b"this is no crawl\n" * 100)
    assert read(tmp_path / "b.warc").skipped == {"unreadable": 1}


def test_records_that_are_too_long_are_counted(
    tmp_path: Path, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warc, "LONGEST", 60)
    (tmp_path / "a.warc").write_bytes(crawl(packed=False))
    found = read(tmp_path / "a.warc")
    assert found.texts == [text for text in EXPECTED if "Page" not in text]
    assert found.skipped == {"other_record": 3, "invalid_utf8": 1, "too_long": 10}


def test_arc_of_older_crawls_is_read(tmp_path: Path, read: Read) -> None:
    head = b"filedesc://a.arc 0.0.0.0 20060101000000 text/plain 69\n1 1 Internet Archive\n"
    head += b"URL IP-address Archive-date Content-type Archive-length\n"
    head = head.replace(b" 69\n", b" %d\n" % (len(head) - head.index(b"\n") - 1)) + b"\n"
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>an old page</p>"
    record = b"http://x.org/ 127.0.0.1 20060101000000 text/html %d\n" % len(page) + page + b"\n"
    (tmp_path / "a.arc").write_bytes(head + record * 3)
    found = read(tmp_path / "a.arc")
    assert found.texts == ["an old page"] * 3
    (tmp_path / "a.arc").write_bytes((head + record * 3)[:-12])
    assert read(tmp_path / "a.arc").texts == ["an old page"] * 2


class Plain(html.parser.HTMLParser):
    """The standard library's parser as a second opinion on which characters are text."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.unread = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.unread += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.unread -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self.unread:
            self.parts.append(data)


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html><html><head><title>A &lt; B</title><style>p{}</style></head><body class='x>y'><p>one<br>two",
        "<a href=\"a>b\" title='c>d'>link</a> 1 < 2 and 3 > 2 &amp; &eacute;&#233;&nbsp;x",
        "<p>a<!-- <p>hidden</p> -->b<SCRIPT type='x'>if (a<b) {}</SCRIPT >c",
        "<table><tr><td>1</td><td>2</td></tr></table><ul><li>x<li>y</ul>",
        "R&D, AT&T; &notanentity; 5<6",
    ],
)
def test_pages_hold_what_another_parser_finds(page: str) -> None:
    parser = Plain()
    parser.feed(page)
    parser.close()
    assert "".join(page_text(page).split()) == "".join("".join(parser.parts).split())


def test_blocks_are_lines_and_words_stay_whole() -> None:
    page = "<h1>Ti<b>tle</b></h1>\n<p>one\n  two</p><div>three<br/>four</div><td>5</td><td>6</td>"
    assert page_text(page) == "Title\none two\nthree\nfour\n5\n6"


@pytest.mark.parametrize(
    "part", ["<!--", "<script>", "<a '", '<a "', "<", "<a <", "<a b=", "&amp", "<p>x</p>", "<!["]
)
def test_the_time_for_a_page_is_linear_in_its_length(part: str) -> None:
    assert_grows_linearly(page_text, lambda size: part * (size // len(part)), 400_000)


@pytest.mark.parametrize(
    ("page", "declared", "text"),
    [
        ("é女".encode(), None, "é女"),
        ("é".encode("latin-1"), "iso-8859-1", "é"),
        (b"\x93quoted\x94", "iso-8859-1", "\u201cquoted\u201d"),  # as browsers take it: windows-1252
        (b'<meta charset="gb2312">' + "女性".encode("gb18030"), None, '<meta charset="gb2312">女性'),
        (b"<meta http-equiv=x content='text/html; charset=Shift_JIS'>" + "女".encode("shift_jis"), None,
         "<meta http-equiv=x content='text/html; charset=Shift_JIS'>女"),
        ("é".encode("utf-16"), "ascii", "é"),
        ("é".encode(), "no-such-charset", "é"),
        (b"plain", "base64", "plain"),
    ],
)  # fmt: skip
def test_pages_are_decoded_as_they_declare(page: bytes, declared: str | None, text: str) -> None:
    assert decode_page(page, declared) == text


def test_a_page_that_is_not_what_it_declares_is_not_guessed_at() -> None:
    with pytest.raises(UnicodeDecodeError):
        decode_page(b"caf\xe9")
