"""Downloads from a server that misbehaves: cuts, lies, stumbles and refuses. All on the loopback, bounded."""

import gzip
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from evenhand.prompts.datasets import download as downloads
from evenhand.prompts.datasets.download import download
from evenhand.schema import ChecksumMismatch, DataError, WriteError

CONTENT = bytes(range(256)) * 2000
SHA = hashlib.sha256(CONTENT).hexdigest()
Behaviour = Callable[[BaseHTTPRequestHandler, int], None]


class Server:
    """Answers request number k (from 0) with behaviours[k], the last one for all later ones."""

    def __init__(self) -> None:
        self.behaviours: list[Behaviour] = []
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                number = len(outer.asked)
                outer.asked.append(self.path)
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
    request.send_response(200)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)


def cut_after(count: int) -> Behaviour:
    """Announces everything, sends `count` bytes of it and hangs up."""

    def behave(request: BaseHTTPRequestHandler, _: int) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(CONTENT)))
        request.end_headers()
        request.wfile.write(CONTENT[:count])

    return behave


def status(code: int) -> Behaviour:
    def behave(request: BaseHTTPRequestHandler, _: int) -> None:
        request.send_response(code)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return behave


def unannounced(request: BaseHTTPRequestHandler, _: int) -> None:
    """Does not say how much will come."""
    request.send_response(200)
    request.end_headers()
    request.wfile.write(CONTENT)


def elsewhere(request: BaseHTTPRequestHandler, number: int) -> None:
    if request.path == "/moved":
        return well(request, number)
    request.send_response(302)
    request.send_header("Location", "/moved")
    request.send_header("Content-Length", "0")
    request.end_headers()
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
    assert len(server.asked) == 1


def test_a_file_gets_the_rights_that_others_get(server: Server, tmp_path: Path) -> None:
    server.behaviours = [well]
    (tmp_path / "other").touch()
    assert fetched(server, tmp_path).stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("behaviour", [unannounced, elsewhere])
def test_servers_of_other_kinds(server: Server, tmp_path: Path, behaviour: Behaviour) -> None:
    server.behaviours = [behaviour]
    assert fetched(server, tmp_path).read_bytes() == CONTENT


def test_a_file_that_is_not_pinned_is_fetched_anew(server: Server, tmp_path: Path) -> None:
    server.behaviours = [well]
    (tmp_path / "data.bin").write_bytes(b"old")
    assert fetched(server, tmp_path, sha256=None, size=None).read_bytes() == CONTENT


def test_cuts_are_tried_again_and_leave_nothing(server: Server, tmp_path: Path) -> None:
    server.behaviours = [cut_after(100_000), cut_after(150_000), well]
    assert fetched(server, tmp_path).read_bytes() == CONTENT
    (tmp_path / "data.bin").unlink()
    server.behaviours = [cut_after(70_000)]
    with pytest.raises(DataError, match="in 2 attempts; the last: the connection failed or was interrupted"):
        fetched(server, tmp_path, attempts=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [b"<html>", CONTENT[:-1] + b"!", CONTENT + b"more" * 50_000])
def test_wrong_content_is_not_kept(server: Server, tmp_path: Path, wrong: bytes) -> None:
    server.behaviours = [lambda request, number: well(request, number, wrong)]
    told = f"data.bin from .*expected SHA-256 {SHA}, got [0-9a-f]{{64}}"
    if len(wrong) > len(CONTENT):
        told = r"data\.bin: more than the expected 512,000 bytes were sent"
    with pytest.raises(ChecksumMismatch, match=told):
        fetched(server, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(server.asked) == 1


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
    assert len(server.asked) == 1


@pytest.mark.parametrize("code", [429, 500, 503])
def test_stumbles_are_tried_again(server: Server, tmp_path: Path, code: int) -> None:
    server.behaviours = [status(code), status(code), well]
    assert fetched(server, tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 3


def test_tries_end(server: Server, tmp_path: Path) -> None:
    server.behaviours = [status(500)]
    with pytest.raises(DataError, match="in 3 attempts; the last: the server answered 500"):
        fetched(server, tmp_path, attempts=3)
    assert len(server.asked) == 3


def test_silence_ends_too(server: Server, tmp_path: Path) -> None:
    release = threading.Event()
    server.behaviours = [lambda request, number: (release.wait(60), None)[1]]
    with pytest.raises(
        DataError, match=r"could not be downloaded in 2 attempts; the last: no data for 0\.2 seconds"
    ):
        fetched(server, tmp_path, attempts=2, timeout=0.2)
    release.set()


def test_nobody_there(server: Server, tmp_path: Path) -> None:
    server.close()
    with pytest.raises(
        DataError, match=r"could not be downloaded in 2 .*\(.*[Cc]onnection refused\)"
    ) as caught:
        fetched(server, tmp_path, attempts=2)
    assert "--from DIR" in str(caught.value)


def test_a_proxy_that_is_not_there(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.close()
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, server.url.removesuffix("/data.bin"))
    with pytest.raises(DataError, match=r"in 1 attempts; the last: the proxy .*HTTPS_PROXY"):
        download("http://data.invalid/data.bin", tmp_path / "data.bin", attempts=1)


def test_the_proxy_is_used(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.behaviours = [well]
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, server.url.removesuffix("/data.bin"))
    download("http://data.invalid/data.bin", tmp_path / "data.bin", sha256=SHA)
    assert server.asked == ["http://data.invalid/data.bin"]


@pytest.mark.parametrize("url", ["http://", "nonsense", "ftp://127.0.0.1/x"])
def test_addresses_that_are_none(tmp_path: Path, url: str) -> None:
    with pytest.raises(DataError, match="--from DIR"):
        download(url, tmp_path / "data.bin", attempts=1)


def test_a_folder_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    server.behaviours = [well]
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match=r"Could not write .*data\.bin"):
        fetched(server, tmp_path / "file")


def test_a_full_disk(server: Server, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")  # POSIX
    server.behaviours = [well]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(WriteError, match=r"data\.bin: File too large"):
            fetched(server, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


def test_nothing_is_printed(server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    server.behaviours = [well]
    fetched(server, tmp_path)
    assert capfd.readouterr() == ("", "")


def test_a_file_without_a_known_size_may_not_unpack_to_anything(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "MOST_UNPINNED", 1 << 20)

    def packed(request: BaseHTTPRequestHandler, number: int) -> None:
        content = gzip.compress(bytes(1 << 24))
        request.send_response(200)
        request.send_header("Content-Encoding", "gzip")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    server.behaviours = [packed]
    with pytest.raises(DataError, match="a: more than 1,048,576 bytes were sent, which is too large for"):
        download(server.url, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_server_that_drips_is_given_up(server: Server, tmp_path: Path) -> None:
    sent: list[bytes] = []

    def drips(request: BaseHTTPRequestHandler, number: int) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "100")
        request.end_headers()
        with suppress(OSError):
            for _ in range(100):
                request.wfile.write(b"x")
                request.wfile.flush()
                sent.append(b"x")
                time.sleep(0.03)

    server.behaviours = [drips]
    with pytest.raises(
        DataError, match="in 1 attempts; the last: the download was slower than 10 KB per second"
    ):
        download(server.url, tmp_path / "a", attempts=1, timeout=0.2)
    assert len(sent) < 100
