"""Downloads from a server that misbehaves: cuts, lies, stumbles and refuses. All on the loopback, bounded."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from evenhand.prompts.download import download
from evenhand.schema import ChecksumMismatch, DataError, WriteError

CONTENT = bytes(range(256)) * 2000
SHA = hashlib.sha256(CONTENT).hexdigest()
Behaviour = Callable[[BaseHTTPRequestHandler, int], None]


class Server:
    """Answers request number k (from 0) with behaviours[k], the last one for all later ones."""

    def __init__(self) -> None:
        self.behaviours: list[Behaviour] = []
        self.ranges: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                number = len(outer.ranges)
                outer.ranges.append(self.headers.get("Range"))
                outer.behaviours[min(number, len(outer.behaviours) - 1)](self, number)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/data.bin"

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join(timeout=5)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Server()
    yield made
    made.close()


def well(request: BaseHTTPRequestHandler, _: int, content: bytes = CONTENT) -> None:
    start = int((request.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
    request.send_response(206 if start else 200)
    if start:
        request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
    request.send_header("Content-Length", str(len(content) - start))
    request.end_headers()
    request.wfile.write(content[start:])


def cut_after(count: int) -> Behaviour:
    """Announces everything that is left, sends `count` bytes of it and hangs up."""

    def behave(request: BaseHTTPRequestHandler, _: int) -> None:
        start = int((request.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        request.send_header("Content-Length", str(len(CONTENT) - start))
        request.end_headers()
        request.wfile.write(CONTENT[start : start + count])

    return behave


def status(code: int) -> Behaviour:
    def behave(request: BaseHTTPRequestHandler, _: int) -> None:
        request.send_response(code)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return behave


def whole(request: BaseHTTPRequestHandler, _: int) -> None:
    """Ignores ranges."""
    request.send_response(200)
    request.end_headers()
    request.wfile.write(CONTENT)


def wrong_range(request: BaseHTTPRequestHandler, number: int) -> None:
    if not request.headers.get("Range"):
        return well(request, number)
    request.send_response(206)
    request.send_header("Content-Range", f"bytes 5-{len(CONTENT) - 1}/{len(CONTENT)}")
    request.end_headers()
    request.wfile.write(CONTENT[5:])
    return None


def fetched(server: Server, folder: Path, **options: object) -> Path:
    target = folder / "data.bin"
    options = {"sha256": SHA, "size": len(CONTENT), "pause": 0.001, "timeout": 5.0} | options
    download(server.url, target, **options)
    return target


def test_a_good_server(server: Server, tmp_path: Path) -> None:
    server.behaviours = [well]
    seen: list[tuple[str, int, int | None]] = []
    target = fetched(server, tmp_path, progress=lambda *call: seen.append(call))
    assert target.read_bytes() == CONTENT
    assert seen[-1] == ("data.bin", len(CONTENT), len(CONTENT))
    assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})
    assert [p.name for p in tmp_path.iterdir()] == ["data.bin"]
    assert server.ranges == [None]


def test_cuts_are_resumed_within_one_call(server: Server, tmp_path: Path) -> None:
    server.behaviours = [cut_after(100_000), cut_after(150_000), well]
    assert fetched(server, tmp_path).read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=100000-", "bytes=250000-"]


def test_a_later_call_resumes(server: Server, tmp_path: Path) -> None:
    server.behaviours = [cut_after(70_000)]
    with pytest.raises(DataError, match="could not be downloaded in 1 attempts"):
        fetched(server, tmp_path, attempts=1)
    assert [p.name for p in tmp_path.iterdir()] == ["data.bin.part"]
    server.behaviours = [well]
    assert fetched(server, tmp_path, attempts=1).read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=70000-"]


@pytest.mark.parametrize("behaviours", [[whole], [status(416), well], [wrong_range]])
def test_servers_that_cannot_resume_start_again(server: Server, tmp_path: Path, behaviours: list) -> None:
    (tmp_path / "data.bin.part").write_bytes(CONTENT[:1000])
    server.behaviours = behaviours
    assert fetched(server, tmp_path).read_bytes() == CONTENT
    assert server.ranges[0] == "bytes=1000-"


def test_an_old_part_of_something_else_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.bin.part").write_bytes(b"x" * 1000)
    server.behaviours = [well]
    assert fetched(server, tmp_path).read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-", None]


def test_a_complete_part_needs_no_server(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.bin.part").write_bytes(CONTENT)
    assert fetched(server, tmp_path).read_bytes() == CONTENT
    assert server.ranges == []


@pytest.mark.parametrize("wrong", [b"<html>", CONTENT[:-1] + b"!", CONTENT + b"more" * 50_000])
def test_wrong_content_is_not_kept(server: Server, tmp_path: Path, wrong: bytes) -> None:
    server.behaviours = [lambda request, number: well(request, number, wrong)]
    with pytest.raises(
        ChecksumMismatch, match=f"data.bin from .*expected SHA-256 {SHA}, found [0-9a-f]{{64}}"
    ):
        fetched(server, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(server.ranges) == 1


def test_an_old_file_survives_wrong_content(server: Server, tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"old")
    server.behaviours = [lambda request, number: well(request, number, b"wrong")]
    with pytest.raises(ChecksumMismatch):
        fetched(server, tmp_path)
    assert (tmp_path / "data.bin").read_bytes() == b"old"


@pytest.mark.parametrize("code", [400, 403, 404])
def test_refusals_are_final(server: Server, tmp_path: Path, code: int) -> None:
    server.behaviours = [status(code)]
    with pytest.raises(DataError, match=f"data.bin: the server answered {code}") as caught:
        fetched(server, tmp_path)
    assert "--from DIR" in str(caught.value)
    assert len(server.ranges) == 1


@pytest.mark.parametrize("code", [429, 500, 503])
def test_stumbles_are_tried_again(server: Server, tmp_path: Path, code: int) -> None:
    server.behaviours = [status(code), status(code), well]
    assert fetched(server, tmp_path).read_bytes() == CONTENT
    assert len(server.ranges) == 3


def test_tries_end(server: Server, tmp_path: Path) -> None:
    server.behaviours = [status(500)]
    with pytest.raises(DataError, match="in 3 attempts; the last: the server answered 500"):
        fetched(server, tmp_path, attempts=3)
    assert len(server.ranges) == 3


def test_silence_ends_too(server: Server, tmp_path: Path) -> None:
    release = threading.Event()
    server.behaviours = [lambda request, number: (release.wait(10), None)[1]]
    with pytest.raises(DataError, match="in 2 attempts"):
        fetched(server, tmp_path, attempts=2, timeout=0.2)
    release.set()


def test_nobody_there(server: Server, tmp_path: Path) -> None:
    server.close()
    with pytest.raises(DataError, match="could not be downloaded"):
        fetched(server, tmp_path, attempts=2)


def test_a_folder_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    server.behaviours = [well]
    (tmp_path / "data.bin.part").mkdir()
    with pytest.raises(WriteError, match=r"Could not write .*data.bin.part"):
        fetched(server, tmp_path)
