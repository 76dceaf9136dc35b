"""Connections to one service: each try ends at its deadline, and no byte of one answer gets into another.

Built on httpcore (HTTP/1.1, TLS, proxies), whose time-outs are of single reads and whose parser keeps what comes behind
an answer. So each connection has a network of its own: whatever it does gets what is left of the try's time, and it
hands out one message at a time. A connection with bytes left over is not used again, and neither is one on which bytes
arrive before the next request is sent in full; a service that sent such bytes gets a new connection for every request.
What HTTP/1.1 cannot show remains: an extra answer that arrives while the service is working on the next request.
"""

import contextlib
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from importlib import import_module
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from evenhand.schema import EvenhandError, ResponseError, UsageError
from evenhand.services.responses import LARGEST, LostResponse, Response, too_large, unpack_response

IDLE = 4.0  # seconds that a connection is kept; many servers close it after 5
AT_ONCE = 1 << 16  # bytes sent between two looks at the clock
BLANK_LINE = re.compile(rb"\n\r?\n")
"""How a head ends, and what is sent in chunks."""


class UnrequestedBytes(Exception):
    """The service sent bytes on a kept connection before the next request was complete."""


class Connections:
    """The connections to one service, one for each thread that asks at the same time.

    base_url: in front of every path. headers: sent with every request. timeout: seconds a try may take, to the
    last byte; only the system's look-up of a host's name cannot be cut short. idle: connections kept for later.
    largest: bytes of an answer that are read at most, packed and unpacked; a larger one is a LostResponse.
    Raises UsageError for an address, or a proxy in the environment, that cannot be.
    """

    def __init__(
        self, base_url: str, headers: Mapping[str, str], timeout: float, idle: int, largest: int = LARGEST
    ):
        try:
            self._url = httpx.URL(base_url)
        except httpx.InvalidURL as error:
            raise UsageError(
                f"{base_url!r} is not a valid URL of a service: {error}.",
                "Expected http://host:port/path or https://host/path.",
            ) from error
        self._base_url, self._timeout, self._most_idle, self._largest = base_url, timeout, idle, largest
        own = {"Host": self._url.netloc.decode(), "Accept": "*/*", "Accept-Encoding": "gzip"}
        self._headers = _encoded({**own, "User-Agent": "evenhand", **headers})
        self._proxy, self._tls = _proxy(self._url), _tls(self._url)
        self._lock = threading.Lock()
        self._idle: list[_Connection] = []
        self._closed = 0  # times

    def ask(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> Response:
        """One try. path: behind the base URL. content: None sends no body.

        Raises LostResponse; EvenhandError for a certificate that is not trusted.
        """
        target = self._url.raw_path.rstrip(b"/") + f"/{path.strip('/')}".rstrip("/").encode()
        length = {} if content is None else {"Content-Length": str(len(content))}
        request = httpcore.Request(
            method,
            httpcore.URL(
                scheme=self._url.raw_scheme,
                host=self._url.raw_host,
                port=self._url.port,
                target=target or b"/",
            ),
            headers=self._headers + _encoded({**length, **headers}),
            content=content or b"",
        )
        deadline = time.monotonic() + self._timeout
        try:
            return self._ask(request, deadline)
        except UnrequestedBytes:  # so none is kept any more, and the next connection is a new one
            return self._ask(request, deadline)

    def _ask(self, request: httpcore.Request, deadline: float) -> Response:
        closed = self._closed
        connection = self._take()
        connection.deadline = deadline
        try:
            response = connection.ask(request, self._largest)
            return Response(response.status, response.headers, unpack_response(response, self._largest))
        except httpcore.TimeoutException as error:
            reached = not isinstance(error, httpcore.ConnectTimeout)
            late = f"no answer within {self._timeout:g} s{self._way}"
            raise LostResponse(ResponseError.TIMED_OUT, late, connected=reached) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                raise EvenhandError(
                    f"{self._base_url}: the certificate is not trusted: {error.__cause__.verify_message}.",
                    "Check the host name. If the certificate is your own, set SSL_CERT_FILE to the file of your "
                    "certificate authority.",
                ) from error
            what = f"{type(error).__name__}: {error}".rstrip(": ") + self._way
            reached = not isinstance(error, httpcore.ConnectError)
            raise LostResponse(ResponseError.MODEL_ERROR, what, connected=reached) from error
        finally:
            self._give_back(connection, closed)

    def close(self) -> None:
        """Close what is idle now, and what is at work when its answer has come; `ask` opens new ones."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._closed += 1
        for connection in idle:
            connection.close()

    def _take(self) -> "_Connection":
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return _Connection(self._url, self._tls, self._proxy)
            if connection.is_fit:
                return connection
            self._drop(connection)

    def _give_back(self, connection: "_Connection", closed: int) -> None:
        if connection.is_fit:
            with self._lock:
                if closed == self._closed and len(self._idle) < self._most_idle:
                    self._idle.append(connection)
                    return
        self._drop(connection)

    def _drop(self, connection: "_Connection") -> None:
        connection.close()
        if connection.has_unrequested:
            self._most_idle = 0
            self.close()

    @property
    def _way(self) -> str:
        """For messages; without the password that the address of a proxy may hold."""
        way = self._proxy and f"{self._proxy.host}:{self._proxy.port or 80}"
        return f", through the proxy {way} of the environment" if way else ""


class _Connection(httpcore.NetworkBackend):
    """One connection, used by one thread at a time, and its network."""

    def __init__(self, url: httpx.URL, tls: ssl.SSLContext | None, proxy: httpx.URL | None):
        self.deadline = 0.0
        self.stream: _Stream | None = None  # as last wrapped
        self._network = httpcore.SyncBackend()
        self._is_fit = False
        self.is_reused = False
        self.has_unrequested = False
        """Whether bytes came that belong to no request."""
        if proxy is None:
            pool = httpcore.ConnectionPool(tls, keepalive_expiry=IDLE, network_backend=self)
        else:
            address = str(proxy.copy_with(username=None, password=None))
            login = (proxy.username, proxy.password) if proxy.username or proxy.password else None
            kind = httpcore.SOCKSProxy if proxy.scheme.startswith("socks") else httpcore.HTTPProxy
            pool = kind(address, login, ssl_context=tls, keepalive_expiry=IDLE, network_backend=self)
        origin = httpcore.Origin(url.raw_scheme, url.raw_host, url.port or _usual_port(url))
        self._http = pool.create_connection(origin)

    @property
    def is_fit(self) -> bool:
        """Whether it can take another question: open, nothing left over, and nothing sent unasked."""
        if not (self._is_fit and self.stream is not None and self._http.is_available()):
            return False
        has_expired = self._http.has_expired()  # looks at the socket, so before anything is read from it
        self.has_unrequested = self.stream.has_arrived()
        return not (has_expired or self.has_unrequested)

    def close(self) -> None:
        self._http.close()

    def ask(self, request: httpcore.Request, largest: int) -> Response:
        """Return the response as it was sent, not unpacked.

        Raises LostResponse as soon as more than `largest` bytes of content came, or were announced; UnrequestedBytes
        if an earlier request was answered on this connection and bytes came before this one was sent.
        """
        self.is_reused, self._is_fit = self._is_fit, False
        response = self._http.handle_request(request)
        stream = self.stream
        assert stream is not None, "a response came by a stream"
        try:
            headers: dict[str, str] = {}
            for name, value in response.headers:
                key, text = name.decode("latin-1").lower(), value.decode("latin-1")
                headers[key] = f"{headers[key]}, {text}" if key in headers else text
            if "transfer-encoding" not in headers and "content-length" in headers:
                stream.wanted = int(headers["content-length"])
                if stream.wanted > largest:
                    raise too_large(largest)
            content = bytearray()
            for piece in response.iter_stream():
                content += piece
                if len(content) > largest:
                    raise too_large(largest)
        finally:
            response.close()
        self._is_fit, self.has_unrequested = not stream.has_more, stream.has_more
        stream.wanted = None
        return Response(response.status, headers, bytes(content))

    def left(self, late: type[httpcore.TimeoutException]) -> float:
        """Seconds of the try; raises `late` when there are none."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise late("timed out")
        return seconds

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> "_Stream":
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        hosts = list(dict.fromkeys(str(address[4][0]) for address in found))
        while True:
            # A host of IPv6 and IPv4 may answer on one of them alone: each has its share of the time.
            share = self.left(httpcore.ConnectTimeout) / len(hosts)
            try:
                return _Stream(self._network.connect_tcp(hosts.pop(0), port, share), self)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not hosts:
                    raise


class _Stream(httpcore.NetworkStream):
    """The bytes of a connection, handed out one message at a time.

    The parser never holds more than belongs to the response it reads: up to a blank line, or `wanted` bytes.
    """

    def __init__(self, stream: httpcore.NetworkStream, connection: _Connection):
        self._stream, self._connection = stream, connection
        connection.stream = self
        self._waiting = b""
        self._line_end = b""  # the last two bytes handed out: a blank line may be on its way
        self.wanted: int | None = None
        """Bytes of the content still to come, where the head says how many."""

    @property
    def has_more(self) -> bool:
        """Whether bytes came that nobody asked for."""
        return bool(self._waiting)

    def has_arrived(self) -> bool:
        """Return whether a byte can be read now; what a closed or broken connection gives is none."""
        if not self._waiting:
            # A read that does not wait sees what any layer of TLS holds, and takes what is no content out of its way.
            with contextlib.suppress(httpcore.NetworkError, httpcore.TimeoutException):
                self._waiting = self._stream.read(1, 0.0)
        return bool(self._waiting)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._connection.left(httpcore.ReadTimeout)
        if not self._waiting:
            self._waiting = self._stream.read(max_bytes, left)
        if self.wanted is not None:
            end = self.wanted
            self.wanted -= min(end, len(self._waiting))
        else:
            before = len(self._line_end)
            blank = BLANK_LINE.search(self._line_end + self._waiting)
            end = len(self._waiting) if blank is None else blank.end() - before
            self._line_end = (self._line_end + self._waiting)[-2:] if blank is None else b""
        piece, self._waiting = self._waiting[:end], self._waiting[end:]
        return piece

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), AT_ONCE):
            left = self._connection.left(httpcore.WriteTimeout)
            # On a new connection an early answer is the service's own refusal; on a kept one it may be anybody's.
            if self._connection.is_reused and self.has_arrived():
                self._connection.has_unrequested = True
                raise UnrequestedBytes
            self._stream.write(buffer[start : start + AT_ONCE], left)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_Stream":
        if self._waiting:
            raise httpcore.ConnectError("the proxy sent data after its answer")
        left = self._connection.left(httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._connection)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


def _tls(url: httpx.URL) -> ssl.SSLContext | None:
    if url.scheme != "https":
        return None
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise UsageError(
            f"The trusted certificates cannot be read: {error.strerror or error}.",
            "Set SSL_CERT_FILE and SSL_CERT_DIR to existing paths, or unset them.",
        ) from error


def _usual_port(url: httpx.URL) -> int:
    return 443 if url.scheme == "https" else 80


def _proxy(url: httpx.URL) -> httpx.URL | None:
    """The proxy that the environment names for an address; None also for this machine, to which none has a way."""
    if _is_loopback(url.host) or proxy_bypass(url.netloc.decode()):
        return None
    named = getproxies()
    address = named.get(url.scheme) or named.get("all")
    if not address:
        return None
    try:
        proxy = httpx.URL(address if "://" in address else f"http://{address}")
        if proxy.scheme not in ("http", "https", "socks5", "socks5h") or not proxy.host:
            raise ValueError("expected a URL such as http://host:port")
        if proxy.scheme.startswith("socks"):
            import_module("socksio")
    except (httpx.InvalidURL, ValueError, ImportError) as error:
        raise UsageError(
            f"The proxy for {url.host} that is set in the environment cannot be used: {error}.",
            f"Set {url.scheme.upper()}_PROXY to http://host:port, or add {url.host} to NO_PROXY.",
        ) from error
    return proxy


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
