"""Send requests to one service, each with its own connection and deadline.

HTTP/1.1 responses do not identify their request. If a service sends an extra response on a reused connection, the
client takes it for the response to the next request, and no check can exclude that. Therefore no connection is used
twice. The implementation uses httpcore (HTTP/1.1, TLS, proxies), whose timeouts apply to single reads and writes. Each
connection therefore has its own network object, which limits each step to the remaining time of the attempt.
"""

import ipaddress
import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from importlib import import_module
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from evenhand.schema import EvenhandError, ResponseError, UsageError
from evenhand.services.responses import LARGEST, LostResponse, Response, too_large, unpack_response

AT_ONCE = 1 << 16  # bytes sent between two checks of the time


class Connections:
    """Makes connections to one service; several threads may use it at the same time.

    base_url: URL before every path. headers: sent with every request. timeout: maximum seconds of an attempt, to the
    last byte; only the system's name resolution cannot be interrupted. largest: maximum number of bytes of a response,
    packed and unpacked; a larger one is a LostResponse. Raises UsageError for an invalid URL, or an invalid proxy in
    the environment.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str], timeout: float, largest: int = LARGEST):
        try:
            self._url = httpx.URL(base_url)
        except httpx.InvalidURL as error:
            raise UsageError(
                f"{base_url!r} is not a valid URL of a service: {error}.",
                "Expected http://host:port/path or https://host/path.",
            ) from error
        self._base_url, self._timeout, self._largest = base_url, timeout, largest
        own = {
            "Host": self._url.netloc.decode(),
            "Accept": "*/*",
            "Accept-Encoding": "gzip",
            "Connection": "close",
        }
        self._headers = _encode_headers({**own, "User-Agent": "evenhand", **headers})
        self._proxy, self._tls = _proxy(self._url), _tls(self._url)

    def ask(self, method: str, path: str, content: bytes | None, headers: Mapping[str, str]) -> Response:
        """Make one attempt. path: after the base URL. content: request body; None: no body.

        Raises LostResponse, and EvenhandError for a certificate that is not trusted.
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
            headers=self._headers + _encode_headers({**length, **headers}),
            content=content or b"",
        )
        connection = _Connection(self._url, self._tls, self._proxy, time.monotonic() + self._timeout)
        try:
            response = connection.ask(request, self._largest)
            return Response(response.status, response.headers, unpack_response(response, self._largest))
        except httpcore.TimeoutException as error:
            reached = not isinstance(error, httpcore.ConnectTimeout)
            late = f"no answer within {self._timeout:g} s{self._route}"
            raise LostResponse(ResponseError.TIMED_OUT, late, connected=reached) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                raise EvenhandError(
                    f"{self._base_url}: the certificate is not trusted: {error.__cause__.verify_message}.",
                    "Check the host name. If the certificate is your own, set SSL_CERT_FILE to the file of your "
                    "certificate authority.",
                ) from error
            what = f"{type(error).__name__}: {error}".rstrip(": ") + self._route
            reached = not isinstance(error, httpcore.ConnectError)
            raise LostResponse(ResponseError.MODEL_ERROR, what, connected=reached) from error
        finally:
            connection.close()

    @property
    def _route(self) -> str:
        """Return the route to the service for messages, without a password in the URL of a proxy."""
        way = self._proxy and f"{self._proxy.host}:{self._proxy.port or 80}"
        return f", through the proxy {way} of the environment" if way else ""


class _Connection(httpcore.NetworkBackend):
    """One connection for one request, and its network. deadline: end of the attempt, by time.monotonic()."""

    def __init__(self, url: httpx.URL, tls: ssl.SSLContext | None, proxy: httpx.URL | None, deadline: float):
        self._deadline = deadline
        self._network = httpcore.SyncBackend()
        if proxy is None:
            pool = httpcore.ConnectionPool(tls, network_backend=self)
        else:
            address = str(proxy.copy_with(username=None, password=None))
            login = (proxy.username, proxy.password) if proxy.username or proxy.password else None
            kind = httpcore.SOCKSProxy if proxy.scheme.startswith("socks") else httpcore.HTTPProxy
            pool = kind(address, login, ssl_context=tls, network_backend=self)
        origin = httpcore.Origin(url.raw_scheme, url.raw_host, url.port or _usual_port(url))
        self._http = pool.create_connection(origin)

    def close(self) -> None:
        self._http.close()

    def ask(self, request: httpcore.Request, largest: int) -> Response:
        """Return the response as it was sent, not unpacked.

        Raises LostResponse as soon as more than `largest` bytes of content were received or announced.
        """
        response = self._http.handle_request(request)
        try:
            headers: dict[str, str] = {}
            for name, value in response.headers:
                key, text = name.decode("latin-1").lower(), value.decode("latin-1")
                headers[key] = f"{headers[key]}, {text}" if key in headers else text
            announced = headers.get("content-length")
            if "transfer-encoding" not in headers and announced is not None and int(announced) > largest:
                raise too_large(largest)
            content = bytearray()
            for piece in response.iter_stream():
                content += piece
                if len(content) > largest:
                    raise too_large(largest)
        finally:
            response.close()
        return Response(response.status, headers, bytes(content))

    def check_time_left(self, late: type[httpcore.TimeoutException]) -> float:
        """Return the remaining seconds of the attempt. Raise `late` if there are none."""
        seconds = self._deadline - time.monotonic()
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
            # a host with IPv6 and IPv4 may respond on only one of them, so each gets a share of the time
            share = self.check_time_left(httpcore.ConnectTimeout) / len(hosts)
            try:
                return _Stream(self._network.connect_tcp(hosts.pop(0), port, share), self)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not hosts:
                    raise


class _Stream(httpcore.NetworkStream):
    """The bytes of a connection; every step ends at the deadline of the attempt."""

    def __init__(self, stream: httpcore.NetworkStream, connection: _Connection):
        self._stream, self._connection = stream, connection

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._connection.check_time_left(httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), AT_ONCE):
            self._stream.write(
                buffer[start : start + AT_ONCE], self._connection.check_time_left(httpcore.WriteTimeout)
            )

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_Stream":
        left = self._connection.check_time_left(httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left), self._connection)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


def _encode_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
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
    """Return the proxy of the environment for a URL; None without one, and always for this machine."""
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
