"""A real HTTP server on this machine's own port that answers JSON and misbehaves on purpose.

The fixture `loopback` is this module:

    with LoopbackServer(lambda asked: (200, {"said": asked.body["text"]})) as server:
        ServiceClient(server.url, pause=0.01).post("/say", {"text": "hi"})
        assert server.answered == {"<what `identify` gives>": 1}

What no HTTP server says is said by a `RawServer`.
"""

import json
import random
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MISCHIEF = ("busy", "busy-date", "broken", "truncated", "cut", "garbage", "close", "hang", "slow")
"""429 with Retry-After in seconds, or as a date; 500; JSON that ends early; a body shorter than announced; what is
not JSON; a connection closed without a word; no answer until the server stops; an answer after `slowness`."""


@dataclass(frozen=True)
class Asked:
    """One request as it reached the server."""

    method: str
    path: str
    headers: Mapping[str, str]  # lower-case names
    body: Any  # parsed JSON; None without a body
    number: int  # of the tries of this same question, from 1


class LoopbackServer:
    """Answers `(status, JSON value)` or `(status, JSON value, headers)` of a function, unless mischief comes first.

    answer: called with what was asked. mischief: what goes wrong with a try, one of MISCHIEF, or None. identify:
    which question a try belongs to; by default the client's Idempotency-Key. slowness: seconds of "slow".
    """

    def __init__(
        self,
        answer: Callable[[Asked], tuple[Any, ...]],
        mischief: Callable[[Asked], str | None] = lambda asked: None,
        *,
        identify: Callable[[Asked], str] = lambda asked: asked.headers.get("idempotency-key", ""),
        slowness: float = 0.02,
    ):
        self.answer, self.mischief, self.identify, self.slowness = answer, mischief, identify, slowness
        self.tries: Counter[str] = Counter()  # by question
        self.answered: Counter[str] = Counter()  # good answers sent in full, by question
        self.suffered: Counter[str] = Counter()  # by mischief
        self.asked: list[Asked] = []
        self.at_once = 0  # most requests in work side by side
        self._now = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.loopback = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "LoopbackServer":
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()


def at_random(seed: int, share: float, kinds: tuple[str, ...] = MISCHIEF) -> Callable[[Asked], str | None]:
    """Mischief in a share of all tries, drawn from question and try: the same in any order of arrival."""

    def mischief(asked: Asked) -> str | None:
        dice = random.Random(f"{seed} {json.dumps(asked.body, sort_keys=True)} {asked.number}")
        return dice.choice(kinds) if dice.random() < share else None

    return mischief


def in_turn(*kinds: str | None) -> Callable[[Asked], str | None]:
    """The first mischief at a question's first try, and so on; none after the last."""
    return lambda asked: kinds[asked.number - 1] if asked.number <= len(kinds) else None


class RawServer:
    """Answers each request with bytes just as they are: an iterable of pieces, sent one by one as they are made.

    answer: called with the parsed body of a request (None without one) and its head. host: "::1" serves IPv6. tls:
    serves by TLS. only: said to whoever connects, without listening, and nothing else for ever.
    """

    def __init__(
        self,
        answer: Callable[[Any, bytes], Iterable[bytes]],
        *,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        only: bytes | None = None,
    ):
        self.answer, self.tls, self.only = answer, tls, only
        self.connections = 0
        self.closing = threading.Event()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=64)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'https' if tls else 'http'}://{shown}:{self._listener.getsockname()[1]}"

    def __enter__(self) -> "RawServer":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self.closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                if self.only is not None:
                    connection.sendall(self.only)
                    self.closing.wait(60)
                    return
                if self.tls is not None:
                    connection = self.tls.wrap_socket(connection, server_side=True)
                with connection, connection.makefile("rb") as asked:
                    while line := asked.readline():
                        head = line
                        while (line := asked.readline()).strip():
                            head += line
                        lengths = [
                            part for part in head.lower().split(b"\r\n") if part.startswith(b"content-length")
                        ]
                        content = asked.read(int(lengths[0].partition(b":")[2])) if lengths else b""
                        for piece in self.answer(json.loads(content) if content else None, head):
                            if self.closing.is_set():
                                return
                            connection.sendall(piece)
            except OSError:
                return  # the client has hung up


def response(content: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    """A response for a `RawServer`. headers: such as b"Content-Encoding: gzip"."""
    lines = (b"HTTP/1.1 " + status, b"Content-Length: %d" % len(content), *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + content


def chunked(*pieces: bytes) -> bytes:
    """A response in chunks for a `RawServer`."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256  # many clients knock at once
    loopback: LoopbackServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that hung up


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16  # head and body in one packet
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _serve(self) -> None:
        server = self.server.loopback
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(content) if content else None
        asked = Asked(self.command, self.path, {k.lower(): v for k, v in self.headers.items()}, body, 0)
        question = server.identify(asked)
        with server._lock:
            server.tries[question] += 1
            asked = Asked(asked.method, asked.path, asked.headers, body, server.tries[question])
            server.asked.append(asked)
            server._now += 1
            server.at_once = max(server.at_once, server._now)
        try:
            self._answer(server, question, asked)
        finally:
            with server._lock:
                server._now -= 1

    def _answer(self, server: LoopbackServer, question: str, asked: Asked) -> None:
        mischief = server.mischief(asked)
        if mischief is not None:
            with server._lock:
                server.suffered[mischief] += 1
        if mischief == "close":
            self.close_connection = True
            return
        if mischief == "hang":
            server._closing.wait(60)
            self.close_connection = True
            return
        if mischief == "busy":
            return self._send(429, {"error": {"message": "slow down"}}, {"Retry-After": "0.01"})
        if mischief == "busy-date":
            past = {"Retry-After": "Thu, 01 Jan 2026 00:00:00 GMT"}
            return self._send(429, {"error": {"message": "slow down"}}, past)
        if mischief == "broken":
            return self._send(500, {"error": "out of order"})
        status, value, *headers = server.answer(asked)
        whole = json.dumps(value).encode()
        if mischief == "truncated":
            return self._send_bytes(status, whole[: len(whole) // 2], {})
        if mischief == "cut":
            self.close_connection = True
            return self._send_bytes(status, whole[: len(whole) // 2], {"Content-Length": str(len(whole))})
        if mischief == "garbage":
            return self._send_bytes(status, b"<html>proxy</html>", {})
        if mischief == "slow":
            server._closing.wait(server.slowness)
        good = 200 <= status < 300
        with server._lock:  # before it is sent: who has received it may look at once
            server.answered[question] += good
        try:
            self._send(status, value, *headers)
        except OSError:
            with server._lock:
                server.answered[question] -= good
            raise

    def _send(self, status: int, value: Any, headers: Mapping[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(value).encode(), headers or {})

    def _send_bytes(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()
