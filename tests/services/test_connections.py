"""Whatever comes over the wire: a try ends at its time, no answer is taken for another, none fills the memory."""

import contextlib
import gzip
import itertools
import json
import select
import socket
import ssl
import subprocess
import threading
import time
import tracemalloc

import pytest

from evenhand.schema import EvenhandError, ResponseError, UsageError
from evenhand.services.client import ServiceClient
from evenhand.services.responses import LARGEST

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def client(server, **options):
    return ServiceClient(server.url, **{"pause": 0.001, "longest_pause": 0.01, "timeout": 120, **options})


def slowly(first, piece):
    """Something, and then a little more now and then for ever."""
    yield first
    while True:
        time.sleep(0.02)
        yield piece


ENDLESS = {
    "a head, letter by letter": (HEAD + b"X: ", b"a"),
    "early hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
    "the file name in a gzip head": (
        HEAD + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"b\r\n\x1f\x8b\x08\x08\0\0\0\0\0\x03a\r\n",
        b"1\r\na\r\n",
    ),
    "content, letter by letter": (HEAD + b"Content-Length: 100000\r\n\r\n{", b" "),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "blank lines in chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"2\r\n\n\n\r\n"),
    "trailers": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"X: y\r\n"),
    "content without a length": (HEAD + b"\r\n{", b" "),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_trickle_is_a_hang(loopback, kind):
    """A byte now and then keeps a connection alive for ever; only the whole time of a try can end it."""
    with (
        loopback.RawServer(lambda asked, head: slowly(*ENDLESS[kind])) as server,
        client(server, attempts=1, timeout=0.5) as service,
    ):
        began = time.monotonic()
        answer = service.post("/", {})  # would never return
        assert time.monotonic() - began > 0.45
    assert answer.error is ResponseError.TIMED_OUT
    assert "no answer within 0.5 s" in answer.detail


def test_a_tls_handshake_without_answer_is_a_hang(loopback):
    with (
        loopback.RawServer(good, only=b"") as server,
        ServiceClient(server.url.replace("http:", "https:"), attempts=1, timeout=0.2) as service,
        pytest.raises(
            EvenhandError, match=r"no answer within 0\.2 s\.\nCheck the URL and that the server is"
        ),
    ):
        service.post("/", {})


def test_a_flood_of_early_hints_fills_nothing(loopback):
    flood = itertools.repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000)
    with (
        loopback.RawServer(lambda asked, head: flood) as server,
        client(server, attempts=1, timeout=0.5) as service,
    ):
        assert service.post("/", {}).error is ResponseError.TIMED_OUT


def bomb(layers):
    content = b'{"choices": "' + b"x" * 2 * LARGEST + b'"}'
    for _ in range(layers):
        content = gzip.compress(content, 1)
    return content


@pytest.mark.parametrize(
    ("encoding", "layers", "said"),
    [
        (b"gzip", 1, "larger than 16 MiB"),
        (b"gzip, gzip", 2, "at most one layer of gzip"),
        (b"gzip\r\nContent-Encoding: gzip", 2, "at most one layer of gzip"),
        (b"zstd", 0, "packed as 'zstd'"),
        (b"deflate", 0, "packed as 'deflate'"),
    ],
    ids=str,
)
def test_an_answer_that_unpacks_to_more_than_fits_is_an_error(loopback, encoding, layers, said):
    packed = loopback.response(bomb(layers) if layers else b"{}", b"Content-Encoding: " + encoding)
    with loopback.RawServer(lambda asked, head: [packed]) as server, client(server) as service:
        tracemalloc.start()
        answer = service.post("/", {})
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert (answer.error, answer.body, answer.attempts) == (ResponseError.MODEL_ERROR, None, 1)
    assert said in answer.detail
    assert most < 3 * LARGEST


@pytest.mark.parametrize("encoding", [b"gzip", b"X-GZIP", b"identity", b""])
def test_one_layer_of_gzip_and_none_are_read(loopback, encoding):
    content = b'{"said": "yes"}'
    packed = gzip.compress(content) if b"gz" in encoding.lower() else content
    sent = loopback.response(packed, b"Content-Encoding: " + encoding)
    with loopback.RawServer(lambda asked, head: [sent]) as server, client(server) as service:
        assert service.post("/", {}).body == {"said": "yes"}


@pytest.mark.parametrize("content", [b"not gzip", gzip.compress(b'{"said": "yes"}', mtime=0)[:-9]])
def test_gzip_that_is_none_is_asked_for_again(loopback, content):
    sent = iter([loopback.response(content, b"Content-Encoding: gzip"), loopback.response(b"{}")])
    with loopback.RawServer(lambda asked, head: [next(sent)]) as server, client(server) as service:
        answer = service.post("/", {})
    assert (answer.body, answer.attempts) == ({}, 2)


SURPLUS = {
    "an answer": b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"value": 666}',
    "half a head": b"HTTP/1.1 200 OK\r\nX: ",
    "a head": b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n",
    "half an answer": b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"value',
    "an answer in chunks": b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n{"value": 666}\r\n0\r\n\r\n',
    "early hints": b"HTTP/1.1 103 Early Hints\r\n\r\n",
    "a blank line": b"\r\n\r\n",
    "letters": b"more",
}
FORMS = ["length", "chunks", "gzip", "refusal"]


def formed(loopback, form, value):
    content = json.dumps({"value": value}).encode()
    if form == "chunks":
        return loopback.chunked(content[:3], content[3:] + b"\n\n", b"\r\n")
    if form == "gzip":
        return loopback.response(gzip.compress(content), b"Content-Encoding: gzip")
    return loopback.response(content, status=b"400 Bad" if form == "refusal" else b"200 OK")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("surplus", SURPLUS)
def test_what_stands_behind_an_answer_is_nobodys(loopback, form, surplus):
    """Two responses in one segment: the second is not the answer to the next question."""
    with (
        loopback.RawServer(
            lambda asked, head: [formed(loopback, form, asked["value"]) + SURPLUS[surplus]]
        ) as server,
        client(server, concurrency=1, attempts=1) as service,
    ):
        for value in range(4):
            assert service.post("/", {"value": value}).body == {"value": value}
        assert server.connections == 4


STRAY = b'HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"value": 666}'


@pytest.mark.parametrize("over_tls", [False, True])
def test_an_extra_answer_while_no_request_is_open_is_not_taken(
    loopback, own_certificate, monkeypatch, over_tls
):
    tls, file = own_certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    late = threading.Event()

    def answer(asked, head):
        yield formed(loopback, "length", asked["value"])
        late.wait(60)
        yield STRAY

    with (
        loopback.RawServer(answer, tls=tls if over_tls else None) as server,
        client(server, concurrency=1, attempts=1) as service,
    ):
        assert service.post("/", {"value": 0}).body == {"value": 0}
        late.set()
        time.sleep(0.1)  # the extra answer is in the socket by now
        for value in range(1, 4):
            assert service.post("/", {"value": value}).body == {"value": value}
        assert server.connections == 4


@pytest.mark.parametrize("over_tls", [False, True])
def test_an_extra_answer_while_the_next_request_is_open_is_not_taken(
    loopback, own_certificate, monkeypatch, over_tls
):
    """The service works on each answer for longer than the extra copy of the last one is late."""
    tls, file = own_certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    last = {}  # what was last answered, by connection

    def answer(asked, head):
        connection = threading.current_thread()
        if connection in last:
            time.sleep(0.02)
            yield formed(loopback, "length", last[connection])  # the extra copy of the answer before
            time.sleep(0.02)
        last[connection] = asked["value"]
        yield formed(loopback, "length", asked["value"])

    with (
        loopback.RawServer(answer, tls=tls if over_tls else None) as server,
        client(server, concurrency=1, attempts=1) as service,
    ):
        for value in range(6):
            assert service.post("/", {"value": value}).body == {"value": value}


def test_an_answer_that_comes_before_the_request_is_sent_is_not_taken(loopback):
    """The service reads the body only after it has sent an extra answer, so the client is still sending."""

    def serve(connection):
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as asked:
            for number in itertools.count():
                head = asked.readline()
                while line := asked.readline().strip():
                    head += line + b"\r\n"
                if not head:
                    return
                if number:
                    connection.sendall(STRAY)
                    time.sleep(0.05)
                length = int(head.lower().partition(b"content-length:")[2].split()[0])
                content = asked.read(length)
                if len(content) < length:
                    return
                value = json.loads(content)["value"]
                connection.sendall(formed(loopback, "length", value))

    def accept(listener):
        for _ in range(4):
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    large = "x" * (16 << 20)  # more than the buffers of both sockets take
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with ServiceClient(url, timeout=120, concurrency=1, attempts=1) as service:
            for value in range(4):
                body = {"value": value, "large": large}
                assert service.post("/", body).body == {"value": value}


@pytest.mark.parametrize("announced", [True, False])
def test_an_answer_above_the_cap_is_not_read_to_its_end(loopback, announced):
    sent = []

    def answer(asked, head):
        yield HEAD + (
            b"Content-Length: 9000000\r\n\r\n" if announced else b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(9000):
            sent.append(1)
            yield b" " * 1000 if announced else b"3e8\r\n" + b" " * 1000 + b"\r\n"

    with loopback.RawServer(answer) as server, client(server, largest=1 << 16) as service:
        answer = service.post("/", {})
    assert (answer.error, answer.attempts) == (ResponseError.MODEL_ERROR, 1)
    assert answer.detail == "the answer is larger than 64 KiB"
    time.sleep(0.05)
    assert len(sent) < 9000, "the client should hang up before the answer is complete"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cut", [1, 7, 10**6])
def test_each_request_has_its_own_connection(loopback, form, cut):
    """However many pieces an answer comes in."""
    heads = []

    def answer(asked, head):
        heads.append(head.lower())
        whole = formed(loopback, form, asked["value"])
        for start in range(0, len(whole), cut):
            yield whole[start : start + cut]

    with loopback.RawServer(answer) as server, client(server, concurrency=1, attempts=1) as service:
        for value in range(4):
            assert service.post("/", {"value": value}).body == {"value": value}
        assert server.connections == 4
        service.close()
        assert service.post("/", {"value": 9}).body == {"value": 9}
    assert all(b"connection: close" in head for head in heads)


def test_a_switch_of_protocols_is_a_refusal(loopback):
    switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nmore"
    with loopback.RawServer(lambda asked, head: [switch]) as server, client(server, attempts=1) as service:
        answer = service.post("/", {})
    assert (answer.error, answer.body) == (ResponseError.MODEL_ERROR, None)


def good(asked, head):
    content = b'{"path": "%s"}' % head.split()[1]
    return [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)]


def test_an_address_of_ipv6(loopback):
    try:
        server = loopback.RawServer(good, host="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    with server, client(server, attempts=1) as service:
        assert service.post("/a", {}).body == {"path": "/a"}


@pytest.fixture(scope="module")
def own_certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    command += [
        "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout",
        "key.pem",
        "-out",
        "own.pem",
    ]
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no openssl here")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "own.pem", folder / "key.pem")
    return tls, folder / "own.pem"


def test_a_certificate_that_is_not_trusted_ends_the_work_at_once(loopback, own_certificate, monkeypatch):
    tls, file = own_certificate
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with loopback.RawServer(good, tls=tls) as server:
        with (
            client(server) as service,
            pytest.raises(EvenhandError, match="the certificate is not trusted") as caught,
        ):
            service.post("/", {})
        assert "SSL_CERT_FILE" in caught.value.hint
        assert server.connections == 1
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        with client(server) as service:
            assert [service.post("/a", {}).body for _ in range(3)] == [{"path": "/a"}] * 3
        assert server.connections == 4


def test_a_file_of_certificates_that_is_not_there(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/own.pem")
    with (
        ServiceClient("https://localhost:1") as service,
        pytest.raises(UsageError, match="The trusted certificates cannot be read"),
    ):
        service.post("/", {})


def test_tls_spoken_to_what_does_not_speak_it(loopback):
    with (
        loopback.RawServer(good, only=b"HTTP/1.1 400 Bad\r\n\r\n") as server,
        ServiceClient(server.url.replace("http:", "https:"), attempts=2, pause=0.001, timeout=60) as service,
        pytest.raises(
            EvenhandError, match=r"ConnectError: \[SSL: WRONG_VERSION_NUMBER\] wrong version number"
        ),
    ):
        service.post("/", {})


@pytest.fixture
def no_proxies(monkeypatch):
    for name, where in itertools.product(("http", "https", "all", "no"), (str.lower, str.upper)):
        monkeypatch.delenv(where(f"{name}_proxy"), raising=False)


@pytest.mark.usefixtures("no_proxies")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_proxy_is_not_asked_for_this_machine(loopback, monkeypatch, host):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with (
        loopback.RawServer(good) as server,
        ServiceClient(server.url.replace("127.0.0.1", host), attempts=1) as service,
    ):
        assert service.post("/a", {}).body == {"path": "/a"}


@pytest.mark.usefixtures("no_proxies")
def test_a_proxy_that_is_not_there_is_named_without_its_password(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://me:secretive@127.0.0.1:9")
    with (
        ServiceClient("http://model.example/v1", attempts=2, pause=0.001, timeout=60) as service,
        pytest.raises(EvenhandError, match=r"through the proxy 127\.0\.0\.1:9 of the environment") as caught,
    ):
        service.post("/", {})
    assert "secretive" not in f"{caught.value} {caught.value.hint}"


def unknown(host, *where, **how):
    raise OSError(f"{host} is not known")


@pytest.mark.usefixtures("no_proxies")
def test_a_proxy_is_asked_and_told_its_password(loopback, monkeypatch):
    heads = []

    def answer(asked, head):
        heads.append(head)
        return good(asked, head)

    with loopback.RawServer(answer) as server:
        monkeypatch.setenv("http_proxy", server.url.replace("//", "//me:word@"))
        with ServiceClient("http://model.example/v1", attempts=1) as service:
            assert service.post("/a", {}).body == {"path": "http://model.example/v1/a"}
        assert b"Proxy-Authorization: Basic bWU6d29yZA==" in heads[0]
        monkeypatch.setenv("no_proxy", "model.example")
        monkeypatch.setattr("socket.getaddrinfo", unknown)
        with (
            ServiceClient("http://model.example/v1", attempts=1) as service,
            pytest.raises(EvenhandError, match=r"model\.example is not known"),
        ):
            service.post("/a", {})


@pytest.mark.usefixtures("no_proxies")
def test_a_proxy_that_hangs_at_a_tunnel_is_a_hang_and_one_that_refuses_says_so(loopback, monkeypatch):
    with loopback.RawServer(lambda asked, head: slowly(b"HTTP/1.1 200 OK\r\nX: ", b"a")) as server:
        monkeypatch.setenv("HTTPS_PROXY", server.url)
        with ServiceClient("https://model.example/v1", attempts=1, timeout=0.5) as service:
            answer = service.post("/", {})
    assert answer.error is ResponseError.TIMED_OUT
    refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    with loopback.RawServer(lambda asked, head: [refusal]) as server:
        monkeypatch.setenv("HTTPS_PROXY", server.url)
        with ServiceClient("https://model.example/v1", attempts=1, timeout=60) as service:
            answer = service.post("/", {})
    assert answer.detail.startswith(
        "ProxyError: 407 Proxy Authentication Required, through the proxy 127.0.0.1:"
    )


def tunnel(connection):
    """A proxy: after CONNECT, whatever comes goes on."""
    with connection, connection.makefile("rb", buffering=0) as asked:
        method, target, _ = asked.readline().split()
        assert method == b"CONNECT"
        while asked.readline().strip():
            pass
        with socket.create_connection(("127.0.0.1", int(target.rpartition(b":")[2]))) as there:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            while ready := select.select([connection, there], [], [], 5)[0]:
                for source in ready:
                    data = source.recv(1 << 16)
                    (there if source is connection else connection).sendall(data)
                    if not data:
                        return


@pytest.mark.usefixtures("no_proxies")
def test_tls_through_a_proxy(loopback, own_certificate, monkeypatch):
    tls, file = own_certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with loopback.RawServer(good, tls=tls) as server, socket.create_server(("127.0.0.1", 0)) as proxy:

        def serve():
            for _ in range(3):
                tunnel(proxy.accept()[0])

        threading.Thread(target=serve, daemon=True).start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.setattr("evenhand.services.connections._is_loopback", lambda host: False)
        with client(server, attempts=1) as service:
            assert [service.post("/a", {}).body for _ in range(3)] == [{"path": "/a"}] * 3
        assert server.connections == 3


@pytest.mark.usefixtures("no_proxies")
@pytest.mark.parametrize("proxy", ["ftp://host:1", "http://", "socks5://host:1", "http://host:port"])
def test_proxies_that_cannot_be(monkeypatch, proxy):
    monkeypatch.setenv("ALL_PROXY", proxy)
    with (
        ServiceClient("http://model.example/v1") as service,
        pytest.raises(UsageError, match=r"The proxy for model\.example that is set in the environment"),
    ):
        service.post("/", {})
